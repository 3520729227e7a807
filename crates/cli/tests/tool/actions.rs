//! What `dedup` does with files that repeat others: `--delete`, `--link`, `--move`, and the lists for other programs. The
//! kept file is never touched, a file that changes meanwhile is left alone, and links replace identical files only.
#![cfg(unix)]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::run::{Ran, Tool, words};

/// `in/a.txt`, an identical copy, a similar file, and another one.
fn folder() -> Tool {
    let tool = Tool::new();
    tool.write("in/a.txt", words(1)).write("in/copy.txt", words(1));
    tool.write("in/near.txt", words(1) + "and a few words more").write("in/other.txt", words(2));
    tool
}

/// Returns all files below a folder with their contents, and links with their targets.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_symlink() {
            found.push((name, format!("-> {}", fs::read_link(&path).unwrap().display())));
        } else if path.is_dir() {
            let below =
                files(&path).into_iter().map(|(below, text)| (format!("{name}/{below}"), text));
            found.extend(below);
        } else {
            found.push((name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()));
        }
    }
    found.sort();
    found
}

fn names(tool: &Tool) -> Vec<String> {
    files(tool.folder.path()).into_iter().map(|(name, _)| name).collect()
}

/// Runs the tool on a terminal. When it asks, calls `meanwhile` and answers.
fn on_a_terminal(
    tool: &Tool,
    arguments: &[&str],
    answer: &str,
    meanwhile: impl FnOnce(),
) -> Option<Ran> {
    let quoted: Vec<String> = arguments.iter().map(|argument| format!("'{argument}'")).collect();
    let line = format!("'{}' {}", env!("CARGO_BIN_EXE_ringer"), quoted.join(" "));
    let mut script = Command::new("script");
    script.args(["-qefc", &line, "/dev/null"]).current_dir(tool.folder.path());
    let Ok(mut child) = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        println!("skipped: there is no `script` here to make a terminal");
        return None;
    };
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut shown, mut byte) = (Vec::new(), [0]);
    while !shown.ends_with(b"[y/N] ") {
        assert_eq!(output.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&shown));
        shown.push(byte[0]);
    }
    meanwhile();
    writeln!(input, "{answer}").unwrap();
    output.read_to_end(&mut shown).unwrap();
    let status = child.wait().unwrap().code();
    Some(Ran { status, out: String::from_utf8_lossy(&shown).into_owned(), err: String::new() })
}

#[test]
fn actions_touch_the_files_that_are_not_kept() {
    let tool = folder();
    let before = files(tool.folder.path());
    let ran = tool.run(&["dedup", "in", "--delete"]).with_status(2);
    assert!(ran.err.contains("add --yes to delete these files"), "{}", ran.err);
    assert!(
        ran.err.contains("1 is identical to a file that is kept, 1 is only similar to one"),
        "{}",
        ran.err
    );
    assert!(
        ran.out.contains("in/a.txt  (kept)") && ran.out.contains("near.txt  (to be deleted)"),
        "{}",
        ran.out
    );
    assert!(files(tool.folder.path()) == before);
    let ran = tool.run(&["dedup", "in", "--delete", "--yes"]).with_status(0);
    assert!(ran.err.contains("deleted 2 files"), "{}", ran.err);
    assert_eq!(names(&tool), ["in/a.txt", "in/other.txt"]);
    let tool = folder();
    tool.run(&["dedup", "in", "--delete", "--identical", "--yes"]).with_status(0);
    assert_eq!(names(&tool), ["in/a.txt", "in/near.txt", "in/other.txt"]);
    let tool = folder();
    let ran = tool.run(&["dedup", "in", "--move", "gone/there", "--yes", "--json"]).with_status(0);
    assert_eq!(
        names(&tool),
        ["gone/there/in/copy.txt", "gone/there/in/near.txt", "in/a.txt", "in/other.txt"]
    );
    assert_eq!(ran.json()[1], serde_json::json!({ "moved": "in/copy.txt", "kept": "in/a.txt" }));
    // The folder that files were moved to is not searched in the next run.
    let again = tool.run(&["dedup", ".", "--move", "gone/there", "--yes"]).with_status(0);
    assert!(again.err.contains("nothing to move"), "{}", again.err);
    let nothing = tool.run(&["dedup", "in", "--delete", "--yes"]).with_status(0);
    assert!(nothing.err.contains("nothing to delete"), "{}", nothing.err);
    for wrong in [
        &["--delete", "--link", "hard"][..],
        &["--yes"],
        &["--delete", "--estimate"],
        &["--keep", "last"],
    ] {
        tool.run(&[&["dedup", "in"], wrong].concat()).with_status(2);
    }
    tool.run(&["dedup", "--jsonl", "x", "--delete"]).with_status(2);
    tool.run(&["dedup", "--jsonl", "x", "--out", "y", "--keep", "newest"]).with_status(2);
}

#[test]
fn links_replace_identical_files_only() {
    let tool = folder();
    fs::create_dir(tool.path("in/sub")).unwrap();
    let long = "n".repeat(255);
    tool.write(&format!("in/sub/{long}"), words(1));
    let ran = tool.run(&["dedup", "in", "--link", "hard", "--yes"]).with_status(0);
    assert!(ran.out.contains("near.txt  (stays: it is not identical)"), "{}", ran.out);
    let number = |name: &str| fs::symlink_metadata(tool.path(name)).unwrap().ino();
    assert_eq!(number("in/copy.txt"), number("in/a.txt"));
    assert_eq!(number(&format!("in/sub/{long}")), number("in/a.txt"));
    assert_ne!(number("in/near.txt"), number("in/a.txt"));
    assert_eq!(names(&tool).len(), 5);
    // Several names of one file count as one file.
    let again = tool.run(&["dedup", "in", "--link", "hard", "--yes"]).with_status(0);
    assert!(
        again.err.contains("found 1 group with 2 of 3 files\nnothing to link"),
        "{}",
        again.err
    );
    let tool = folder();
    tool.write("in/sub/deep/copy.txt", words(1));
    tool.run(&["dedup", "in", "--link", "symbolic", "--yes"]).with_status(0);
    assert_eq!(fs::read_link(tool.path("in/copy.txt")).unwrap(), Path::new("a.txt"));
    assert_eq!(fs::read_link(tool.path("in/sub/deep/copy.txt")).unwrap(), Path::new("../../a.txt"));
    assert_eq!(
        fs::read_to_string(tool.path("in/near.txt")).unwrap(),
        words(1) + "and a few words more"
    );
    fs::rename(tool.path("in"), tool.path("elsewhere")).unwrap();
    assert_eq!(fs::read_to_string(tool.path("elsewhere/sub/deep/copy.txt")).unwrap(), words(1));
}

#[test]
fn the_kept_file_is_the_one_that_was_asked_for() {
    let tool = Tool::new();
    tool.write("z/first.txt", words(1)).write("a/b/deep.txt", words(1) + "one more word");
    tool.write("a/new.txt", words(1) + "some words more than the others");
    for (name, age) in [("z/first.txt", 20), ("a/b/deep.txt", 30), ("a/new.txt", 10)] {
        let file = fs::File::options().write(true).open(tool.path(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age)).unwrap();
    }
    for (keep, kept) in [
        ("first", "z/first.txt"),
        ("newest", "a/new.txt"),
        ("oldest", "a/b/deep.txt"),
        ("largest", "a/new.txt"),
        ("smallest", "z/first.txt"),
        ("shortest-path", "a/new.txt"),
    ] {
        let ran = tool.run(&["dedup", "z", "a", "--keep", keep, "--json"]).with_status(0);
        assert_eq!(ran.json()[0]["representative"], kept, "{keep}");
        let ran = tool.run(&["dedup", "z", "a", "--keep", keep, "--print"]).with_status(0);
        assert_eq!(ran.out.lines().count(), 2, "{keep}");
        assert!(!ran.out.contains(kept), "{keep}: {}", ran.out);
    }
    // Without two named paths, the first name counts.
    let ran = tool.run(&["dedup", ".", "--json"]).with_status(0);
    assert_eq!(ran.json()[0]["representative"], "./a/b/deep.txt");
}

/// A chain of similar files is one group, but a file that does not resemble the kept one stays.
#[test]
fn the_end_of_a_chain_is_not_removed() {
    let tool = Tool::new();
    let all: Vec<String> = words(1).split(' ').map(str::to_string).collect();
    for (name, start) in [("a", 0), ("b", 40), ("c", 80)] {
        tool.write(&format!("in/{name}"), all[start..start + 200].join(" "));
    }
    let ran = tool.run(&["dedup", "in", "--min", "0.6", "--delete", "--yes"]).with_status(0);
    assert!(ran.out.starts_with("group 1: 3 files"), "{}", ran.out);
    assert!(
        ran.out.contains("in/c  (stays: it is less similar to the kept file than --min)"),
        "{}",
        ran.out
    );
    assert_eq!(names(&tool), ["in/a", "in/c"]);
}

#[test]
fn lists_hold_the_names_as_they_are() {
    use std::os::unix::ffi::OsStrExt;
    let tool = Tool::new();
    tool.write("in/a", words(1)).write("in/b\nnew line", words(1) + "one more word");
    fs::write(tool.path("in").join(std::ffi::OsStr::from_bytes(b"c\xff")), words(1)).unwrap();
    let run = |option| tool.command(&["dedup", "in", option]).output().unwrap().stdout;
    // Identical files come first.
    assert_eq!(run("--print0"), b"in/c\xff\0in/b\nnew line\0");
    assert_eq!(run("--print"), b"in/c\xff\nin/b\nnew line\n");
}

#[test]
fn nothing_happens_without_a_yes() {
    let tool = folder();
    let before = files(tool.folder.path());
    for answer in ["n", "", "yess", "no"] {
        let Some(ran) = on_a_terminal(&tool, &["dedup", "in", "--delete"], answer, || ()) else {
            return;
        };
        assert_eq!(ran.status, Some(1), "{}", ran.out);
        assert!(ran.out.contains("nothing was deleted"), "{}", ran.out);
        assert!(files(tool.folder.path()) == before);
    }
    let ran = on_a_terminal(&tool, &["dedup", "in", "--delete"], "y", || ()).unwrap();
    assert_eq!(
        (ran.status, names(&tool)),
        (Some(0), vec!["in/a.txt".into(), "in/other.txt".into()]),
        "{}",
        ran.out
    );
}

/// Files that change after they were compared stay, and so do all files of a group whose kept file changes.
#[test]
fn a_file_that_changes_meanwhile_is_left_alone() {
    let times = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    /// A change of a file while the tool waits for confirmation.
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("appended", |path| {
            fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b" more").unwrap();
        }),
        ("same bytes, other file", |path| {
            let copy = path.with_extension("new");
            fs::copy(path, &copy).unwrap();
            fs::rename(copy, path).unwrap();
        }),
        ("same size and time", |path| {
            let time = fs::metadata(path).unwrap().modified().unwrap();
            let text = fs::read_to_string(path).unwrap().replace('w', "v");
            fs::write(path, text).unwrap();
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        }),
        ("gone", |path| fs::remove_file(path).unwrap()),
        ("a link", |path| {
            fs::rename(path, path.with_extension("moved")).unwrap();
            symlink(path.with_extension("moved"), path).unwrap();
        }),
    ];
    for action in
        [&["--delete"][..], &["--link", "hard"], &["--link", "symbolic"], &["--move", "gone"]]
    {
        for (name, change) in changes {
            for (changed, left) in [("in/copy.txt", 1), ("in/a.txt", 2)] {
                let tool = folder();
                tool.write("in/x.txt", words(3))
                    .write("in/y.txt", words(3))
                    .write("in/z.txt", words(1));
                let mut after = Vec::new();
                let arguments = [&["dedup", "in", "--identical"], action].concat();
                let ran = on_a_terminal(&tool, &arguments, "y", || {
                    change(&tool.path(changed));
                    after = files(&tool.path("in"));
                });
                let Some(ran) = ran else { return };
                let place = format!("{action:?}, {changed} {name}: {}", ran.out);
                assert_eq!(ran.status, Some(3), "{place}");
                assert_eq!(ran.out.matches("warning: ").count(), left, "{place}");
                // The other group is processed, and every remaining file is unchanged.
                let shown = files(&tool.path("in"));
                let group = |name: &str| {
                    !["x.txt", "y.txt"].contains(&name) && (left == 2 || name != "z.txt")
                };
                let of_group = |all: &[(String, String)]| {
                    all.iter().filter(|(name, _)| group(name)).cloned().collect::<Vec<_>>()
                };
                assert!(of_group(&shown) == of_group(&after), "{place}");
                let y = tool.path("in/y.txt");
                let same = y.exists() && !y.is_symlink() && y.metadata().unwrap().nlink() == 1;
                assert!(!same, "{place}");
                assert!(times(&tool.path("in/x.txt")) <= SystemTime::now());
            }
        }
    }
}

#[test]
fn names_that_exist_are_not_replaced_and_paths_stay_inside() {
    let tool = folder();
    tool.write("gone/in/copy.txt", "mine");
    let ran = tool.run(&["dedup", "in", "--move", "gone", "--yes"]).with_status(3);
    assert!(ran.err.contains("in/copy.txt was left alone: gone/in/copy.txt exists"), "{}", ran.err);
    assert_eq!(
        names(&tool),
        ["gone/in/copy.txt", "gone/in/near.txt", "in/a.txt", "in/copy.txt", "in/other.txt"]
    );
    assert_eq!(fs::read_to_string(tool.path("gone/in/copy.txt")).unwrap(), "mine");
    // Neither an absolute path nor `..` leads out of the folder.
    let tool = folder();
    let place = tool.path("in").to_string_lossy().into_owned();
    tool.run(&["dedup", "in/../in/a.txt", &place, "--move", "gone", "--yes"]).with_status(0);
    assert!(tool.path("gone").join(place.trim_start_matches('/')).join("copy.txt").exists());
}

/// A folder on another file system than the temporary one.
fn elsewhere(tool: &Tool) -> Option<tempfile::TempDir> {
    let device = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
    let other = ["/dev/shm", "/tmp", "/var/tmp"].map(Path::new);
    let other = other
        .into_iter()
        .find(|place| device(place).is_some_and(|own| Some(own) != device(tool.folder.path())));
    if other.is_none() {
        println!("skipped: there is only one file system here");
    }
    other.and_then(|place| tempfile::tempdir_in(place).ok())
}

#[test]
fn files_move_to_another_file_system_and_links_do_not() {
    let tool = folder();
    let Some(other) = elsewhere(&tool) else { return };
    let there = other.path().join("copy.txt");
    fs::write(&there, words(1)).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let permissions = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o640);
    let near = fs::File::options().write(true).open(tool.path("in/near.txt")).unwrap();
    near.set_modified(time).unwrap();
    near.set_permissions(permissions.clone()).unwrap();
    let shown = there.to_str().unwrap();
    let ran = tool.run(&["dedup", "in/a.txt", shown, "--link", "hard", "--yes"]).with_status(3);
    assert!(ran.err.contains("on another file system: use --link symbolic"), "{}", ran.err);
    assert_eq!(files(other.path()), [("copy.txt".to_string(), words(1))]);
    tool.run(&["dedup", "in/a.txt", shown, "--link", "symbolic", "--yes"]).with_status(0);
    assert_eq!(fs::read_to_string(&there).unwrap(), words(1));
    fs::remove_file(&there).unwrap();
    let gone = other.path().join("gone");
    tool.run(&["dedup", "in", "--move", gone.to_str().unwrap(), "--yes"]).with_status(0);
    assert_eq!(names(&tool), ["in/a.txt", "in/other.txt"]);
    assert_eq!(files(&gone).len(), 2);
    let moved = fs::metadata(gone.join("in/near.txt")).unwrap();
    assert_eq!((moved.modified().unwrap(), moved.permissions().mode_bits()), (time, 0o640));
}

/// The permission bits of a file.
trait ModeBits {
    fn mode_bits(&self) -> u32;
}

impl ModeBits for fs::Permissions {
    fn mode_bits(&self) -> u32 {
        std::os::unix::fs::PermissionsExt::mode(self) & 0o777
    }
}

#[test]
fn folders_without_write_permission_are_left_alone() {
    let user = testkit::unprivileged::Unprivileged::new(Path::new(env!("CARGO_BIN_EXE_ringer")));
    for action in
        [&["--delete"][..], &["--link", "hard"], &["--link", "symbolic"], &["--move", "../gone"]]
    {
        let folder = user.folder(&format!(
            "{}-{}",
            action[0].trim_matches('-'),
            action.last().unwrap().len()
        ));
        for (name, text) in [("a.txt", words(1)), ("b.txt", words(1))] {
            fs::write(folder.join(name), text).unwrap();
        }
        let mode = |bits| <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(bits);
        fs::set_permissions(&folder, mode(0o555)).unwrap();
        let mut command = user.command();
        let ran = command
            .current_dir(&folder)
            .args(["dedup", ".", "--yes"])
            .args(action)
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(3), "{action:?}: {err}");
        assert!(err.contains("b.txt was left alone: "), "{action:?}: {err}");
        assert_eq!(files(&folder).len(), 2, "{action:?}");
        fs::set_permissions(&folder, mode(0o755)).unwrap();
    }
}

/// Links to the kept file are never treated as copies of it.
#[test]
fn links_are_neither_kept_nor_removed() {
    let tool = Tool::new();
    tool.write("in/file.txt", words(1));
    symlink("file.txt", tool.path("in/alias.txt")).unwrap();
    symlink("in", tool.path("door")).unwrap();
    fs::hard_link(tool.path("in/file.txt"), tool.path("in/name.txt")).unwrap();
    let before = files(tool.folder.path());
    for paths in
        [&["in", "--follow-links"][..], &["in", "in/alias.txt", "door/file.txt", "door/name.txt"]]
    {
        let ran = tool.run(&[&["dedup", "--delete", "--yes"], paths].concat()).with_status(0);
        assert!(ran.err.contains("with 0 of 1 file"), "{}", ran.err);
        assert!(files(tool.folder.path()) == before);
    }
    // A file of an earlier run may be the same file by another path.
    let db = ["dedup", "--db", "db.ringer"];
    tool.run(&[&db[..], &["in/file.txt"]].concat()).with_status(0);
    tool.run(&[&db[..], &["door", "--delete", "--yes", "--follow-links"]].concat());
    assert_eq!(fs::read_to_string(tool.path("in/file.txt")).unwrap(), words(1));
    tool.run(&[&db[..], &["in/alias.txt", "--delete", "--yes"]].concat());
    assert_eq!(fs::read_to_string(tool.path("in/file.txt")).unwrap(), words(1));
    assert!(tool.path("in/alias.txt").is_symlink());
}

#[test]
fn a_database_forgets_what_was_removed_and_files_of_earlier_runs_stay() {
    let tool = folder();
    tool.write("old/a.txt", words(1)).write("old/b.txt", words(1));
    tool.run(&["dedup", "old", "--db", "db.ringer"]).with_status(0);
    let ran =
        tool.run(&["dedup", "in", "--db", "db.ringer", "--keep", "largest", "--delete", "--yes"]);
    let ran = ran.with_status(0);
    assert!(ran.err.contains("deleted 2 files"), "{}", ran.err);
    let all = ["in/near.txt", "in/other.txt", "old/a.txt", "old/b.txt"];
    assert_eq!(tool.keys("db.ringer"), all);
    assert_eq!(names(&tool), [&["db.ringer"], &all[..]].concat());
}
