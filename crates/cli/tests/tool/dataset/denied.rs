//! What the system denies: shards that cannot be read, folders that cannot be written, and a full disk. The message names the
//! file, and nothing is left behind.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use testkit::unprivileged::Unprivileged;

use crate::run::{Ran, Tool, ran, words};

fn rows(count: u64) -> String {
    (0..count).map(|i| format!("{{\"text\": \"{}\"}}\n", words(i))).collect()
}

/// A folder that everybody may write, and the tool for an unprivileged user.
fn place() -> (Unprivileged, PathBuf) {
    let place = Unprivileged::new(Path::new(env!("CARGO_BIN_EXE_ringer")));
    let folder = place.folder("here");
    set(&folder, 0o777);
    (place, folder)
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn dedup(place: &Unprivileged, folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = place.command();
    command.arg("dedup").args(arguments).current_dir(folder).stdin(Stdio::null());
    ran(&command.output().unwrap())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_shard_that_may_not_be_read_is_named() {
    let (place, folder) = place();
    for (name, mode) in [("a.jsonl", 0o644), ("b.jsonl", 0), ("c.jsonl", 0o644)] {
        fs::write(folder.join(name), rows(20)).unwrap();
        set(&folder.join(name), mode);
    }
    for input in [&["a.jsonl", "b.jsonl", "c.jsonl"][..], &["."]] {
        let run = [&["--jsonl"], input, &["--out", "out", "--db", "seen.ringer"]].concat();
        let ran = dedup(&place, &folder, &run).with_status(3);
        let named = ran.err.replace("./b", "b");
        let expected = "error: cannot read b.jsonl: Permission denied";
        assert!(named.starts_with(expected), "{named}");
        let _ = fs::remove_file(folder.join("seen.ringer"));
        assert_eq!(names(&folder), ["a.jsonl", "b.jsonl", "c.jsonl"]);
    }
}

#[test]
fn a_folder_that_may_not_be_written_is_named() {
    let (place, folder) = place();
    fs::write(folder.join("a.jsonl"), rows(20)).unwrap();
    let closed = folder.join("closed");
    fs::create_dir(&closed).unwrap();
    set(&closed, 0o555);
    for (option, target) in [
        ("--out", "closed/out"),
        ("--removed", "closed/out"),
        ("--clusters", "closed/list.csv"),
        ("--report", "closed/page.html"),
        ("--db", "closed/seen.ringer"),
    ] {
        for spill in [&[][..], &["--spill", "."]] {
            let run = [&["--jsonl", "a.jsonl", option, target], spill].concat();
            let ran = dedup(&place, &folder, &run).with_status(3);
            assert!(ran.err.starts_with("error: cannot "), "{option}: {}", ran.err);
            assert!(ran.err.contains("ermission denied"), "{option}: {}", ran.err);
            assert!(spill.is_empty() || ran.err.contains(target), "{option}: {}", ran.err);
            assert_eq!(names(&folder), ["a.jsonl", "closed"]);
            assert!(names(&closed).is_empty());
        }
    }
}

/// Simulates a full disk by the shell's limit of file sizes. Its unit is 512 or 1024 bytes.
#[cfg(target_os = "linux")]
fn with_full_disk(tool: &Tool, arguments: &str) -> Ran {
    let mut command = std::process::Command::new("sh");
    let script = format!(
        "trap '' XFSZ; ulimit -f 1000; exec \"$0\" dedup {arguments} --seed 1 --spill /tmp"
    );
    command.args(["-c", &script, env!("CARGO_BIN_EXE_ringer")]).current_dir(tool.folder.path());
    ran(&command.output().unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_nothing_behind() {
    let tool = Tool::new();
    tool.write("d.jsonl", rows(2000));
    let ran = with_full_disk(&tool, "--jsonl d.jsonl --out out").with_status(3);
    assert!(ran.err.contains("cannot write"), "{}", ran.err);
    assert_eq!(tool.names(), ["d.jsonl"]);
}

/// The rows have short texts, so that the temporary file fits. Another column makes the output too large.
#[test]
#[cfg(all(target_os = "linux", feature = "parquet"))]
fn a_full_disk_leaves_nothing_behind_of_parquet() {
    use parquet::basic::Compression;
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use std::sync::Arc;

    use super::parquet_files::column;
    let tool = Tool::new();
    let schema = "message m { REQUIRED BYTE_ARRAY text (UTF8); REQUIRED BYTE_ARRAY picture; }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build();
    let file = fs::File::create(tool.path("d.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let texts = (0..300).map(|i| ByteArray::from(&*format!("this is the row {i} of 300 rows")));
    column::<ByteArrayType>(&mut group, &texts.collect::<Vec<_>>(), None, None);
    let pictures = (0..300_u32).map(|i| ByteArray::from(i.to_le_bytes().repeat(2500)));
    column::<ByteArrayType>(&mut group, &pictures.collect::<Vec<_>>(), None, None);
    group.close().unwrap();
    writer.close().unwrap();
    let run = ["dedup", "--parquet", "d.parquet", "--out", "out"];
    tool.run(&run).with_status(0);
    fs::remove_dir_all(tool.path("out")).unwrap();
    let ran = with_full_disk(&tool, "--parquet d.parquet --out out --removed gone").with_status(3);
    assert!(ran.err.starts_with("error: cannot copy d.parquet: "), "{}", ran.err);
    assert!(ran.err.contains("nothing was written"), "{}", ran.err);
    assert_eq!(tool.names(), ["d.parquet"]);
}
