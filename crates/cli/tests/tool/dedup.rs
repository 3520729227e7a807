//! `ringer dedup` as its users see it: what it prints, what it returns, and what it says of bad input.

use crate::run;

use std::fs;
use std::process::{Command, Output, Stdio};

use run::{path, text, words};

fn ringer(arguments: &[&str]) -> Output {
    run::ringer(arguments).output().expect("the tool runs")
}

/// Two near-duplicates, an exact copy in a subfolder, two others, a binary and an empty file.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    write("a.txt", words(1).as_bytes());
    write("b.txt", (words(1) + "and a few more words").as_bytes());
    write("sub/c.txt", words(1).to_uppercase().as_bytes());
    write("d.txt", words(2).as_bytes());
    write("e.txt", words(3).as_bytes());
    write("f.bin", &[1, 0, 2]);
    write("g.txt", b"");
    folder
}

#[test]
fn dedup_finds_the_look_alikes() {
    let folder = folder();
    let out = ringer(&["dedup", path(folder.path())]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let shown = text(&out.stdout);
    assert!(shown.starts_with("group 1: 3 files\n"), "{shown}");
    for name in ["a.txt", "b.txt", "c.txt"] {
        assert!(shown.contains(name), "{shown}");
    }
    assert!(!shown.contains("d.txt") && !shown.contains("e.txt"), "{shown}");
    assert!(shown.contains("1.000 exact"), "{shown}");
    let summary = text(&out.stderr);
    let expected = "1 group with 3 of 6 files (1 without words); skipped: 1 binary";
    assert!(summary.contains(expected), "{summary}");
}

#[test]
fn json_is_one_object_a_line() {
    let folder = folder();
    fs::remove_file(folder.path().join("f.bin")).unwrap();
    let out = ringer(&["dedup", "--json", "--quiet", path(folder.path())]);
    let lines: Vec<serde_json::Value> =
        text(&out.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["cluster"], 1);
    assert_eq!(lines[0]["keys"].as_array().map(Vec::len), Some(3));
    let lowest = lines[0]["min_resemblance"].as_f64().unwrap();
    assert!((0.8..=1.0).contains(&lowest), "{lowest}");
    assert!(out.stderr.is_empty(), "{}", text(&out.stderr));
}

#[test]
fn bad_usage_is_status_2_with_a_sentence() {
    for min in ["0", "-1", "1.5", "NaN", "inf", "much"] {
        let out = ringer(&["dedup", &format!("--min={min}"), "."]);
        assert_eq!(out.status.code(), Some(2), "--min {min}");
        assert!(text(&out.stderr).starts_with("error: "), "{}", text(&out.stderr));
    }
    assert_eq!(ringer(&["dedup"]).status.code(), Some(2));
    assert_eq!(ringer(&["frobnicate"]).status.code(), Some(2));
    assert_eq!(ringer(&["--help"]).status.code(), Some(0));
    assert!(text(&ringer(&["dedup", "--help"]).stdout).contains("Examples:"));
}

#[test]
fn a_path_that_is_not_there_is_status_3() {
    let out = ringer(&["dedup", "/no/such/folder"]);
    assert_eq!(out.status.code(), Some(3));
    assert!(
        text(&out.stderr).contains("error: cannot read /no/such/folder"),
        "{}",
        text(&out.stderr)
    );
}

#[test]
fn output_closed_early_is_no_error() {
    let folder = folder();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ringer"))
        .args(["dedup", "--quiet", path(&folder.path().join("sub"))])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool runs");
    drop(child.stdout.take());
    let out = child.wait_with_output().expect("it ends");
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(out.stderr.is_empty(), "{}", text(&out.stderr));
}

#[cfg(target_os = "linux")]
#[test]
fn standard_error_that_is_full_is_no_panic() {
    let folder = folder();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_ringer"))
        .args(["dedup", path(folder.path())])
        .stderr(full)
        .output()
        .expect("the tool runs");
    assert_eq!(out.status.code(), Some(0));
}

#[cfg(unix)]
#[test]
fn a_file_named_twice_is_no_duplicate_and_a_named_link_is_followed() {
    let folder = folder();
    let (file, link) = (folder.path().join("d.txt"), folder.path().join("link"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let again = folder.path().join("sub/../d.txt");
    let out = ringer(&["dedup", path(&file), path(&again), path(&link)]);
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(0), String::new()));
    assert!(text(&out.stderr).contains("0 of 1 file"), "{}", text(&out.stderr));
    let other = folder.path().join("copy.txt");
    fs::write(&other, words(2)).unwrap();
    let out = ringer(&["dedup", path(&other), path(&link)]);
    assert!(text(&out.stdout).contains("link"), "{}", text(&out.stdout));
}

#[cfg(unix)]
#[test]
fn odd_files_are_counted_and_the_rest_is_done() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    let folder = folder();
    let root = folder.path();
    symlink(root, root.join("loop")).unwrap();
    symlink(root.join("nowhere"), root.join("dangling")).unwrap();
    // A pipe without a writer: opening it would block for ever.
    let made = Command::new("mkfifo").arg(root.join("pipe")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    fs::write(root.join(OsStr::from_bytes(b"caf\xe9.txt")), words(1)).unwrap();
    fs::write(root.join("invalid.txt"), [words(2).as_bytes(), b" \xff\xfe"].concat()).unwrap();
    let out = ringer(&["dedup", "--json", path(root)]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let shown = text(&out.stdout);
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.contains(r#"{"hex":"#), "{shown}");
    assert!(shown.contains("invalid.txt"), "{shown}");
}

/// The database of `--db` accepts queries and more files.
#[test]
fn the_database_can_be_kept() {
    let folder = folder();
    let db = folder.path().join("kept.ringer");
    let dedup = |more: &[&str]| {
        let arguments = [&["dedup", "--db", path(&db), "--quiet"][..], more].concat();
        ringer(&arguments)
    };
    let first = dedup(&[path(&folder.path().join("a.txt")), path(&folder.path().join("d.txt"))]);
    assert_eq!((first.status.code(), text(&first.stdout)), (Some(0), String::new()));
    let second = dedup(&[path(&folder.path().join("sub"))]);
    assert!(text(&second.stdout).starts_with("group 1: 2 files\n"), "{}", text(&second.stdout));
    // Of the stored files, only those that resemble files of this run are listed. They are marked, since they may be gone.
    let shown = text(&second.stdout);
    assert!(shown.contains("a.txt  (from an earlier run)") && !shown.contains("d.txt"), "{shown}");
    let other = dedup(&["--json", path(&folder.path().join("e.txt"))]);
    assert_eq!(text(&other.stdout), "");
    fs::remove_file(folder.path().join("e.txt")).unwrap();
    let keys = ringer(&["keys", path(&db)]);
    assert_eq!(text(&keys.stdout).lines().count(), 4);
    let other = dedup(&["--features", "chunks", path(&folder.path().join("sub"))]);
    assert_eq!(other.status.code(), Some(2), "{}", text(&other.stderr));
}

/// Each database has its own random seed. With `--seed`, the output is always the same.
#[test]
fn seeds_are_random_unless_they_are_given() {
    let folder = folder();
    let create = |name: &str, seed: &[&str]| {
        let db = folder.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringer"));
        let made = command.args(["create", path(&db), "--json"]).args(seed).output().unwrap();
        assert_eq!(made.status.code(), Some(0));
        let made: serde_json::Value = serde_json::from_str(&text(&made.stdout)).unwrap();
        let scheme = made["scheme"].as_str().unwrap();
        scheme.split(", ").find_map(|part| part.strip_prefix("seed ")).unwrap().to_string()
    };
    assert_ne!(create("1.ringer", &[]), create("2.ringer", &[]));
    assert_eq!(create("3.ringer", &["--seed", "7"]), "7");
    for name in ["1.ringer", "2.ringer", "3.ringer"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    let shown = |seed: &str| {
        text(&ringer(&["dedup", "--min", "0.1", "--seed", seed, path(folder.path())]).stdout)
    };
    assert_eq!(shown("7"), shown("7"));
    let db = folder.path().join("kept.ringer");
    let kept = ringer(&["dedup", "--seed", "7", "--db", path(&db), path(folder.path())]);
    assert_eq!(kept.status.code(), Some(0));
    let other = ringer(&["dedup", "--seed", "8", "--db", path(&db), path(folder.path())]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("has the seed 7, not 8"), "{}", text(&other.stderr));
}
