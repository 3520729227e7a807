//! Runs the actions of `dedup` under `strace`. At each call that changes the disk, the tool is killed, finds no space, or
//! the device fails. The kept files are untouched, of identical files at least one is complete, and the next run finishes
//! the work.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use testkit::inject::{self, INJECTIONS, Injection};
use testkit::scale::cases;

use crate::run::{Tool, ran, words};

/// Two groups of identical files, and a similar file.
fn folder() -> Tool {
    let tool = Tool::new();
    for (name, text) in [("a", 1), ("b", 1), ("sub/c", 1), ("d", 2), ("e", 2)] {
        tool.write(&format!("in/{name}"), words(text));
    }
    tool.write("in/near", words(2) + "and a few words more");
    tool
}

/// Returns the contents of all files below a folder, except temporary files.
fn contents(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("a readable folder").path();
        match path.is_dir() {
            true => contents(&path, found),
            false => drop(found.insert(fs::read_to_string(&path).unwrap_or_default())),
        }
    }
}

/// Tries failures at calls of an action. `target` is the folder that files are moved to.
fn injected(action: &[&str], target: Option<&Path>, share: usize) {
    let arguments = [&["dedup", "in", "--yes"], action].concat();
    let clean = || target.map_or((), |target| drop(fs::remove_dir_all(target)));
    clean();
    let tool = folder();
    let (usual, calls) = inject::calls(&tool.command(&arguments), &tool.path("log"));
    assert_eq!(usual.status.code(), Some(0), "{}", String::from_utf8_lossy(&usual.stderr));
    let all = calls.iter().flat_map(|call| INJECTIONS.map(|how| (call, how)));
    let mut hits = 0;
    for (call, how) in all.step_by(share) {
        clean();
        let tool = folder();
        let (output, hit) = inject::run(&tool.command(&arguments), &tool.path("log"), call, how);
        hits += usize::from(hit);
        let ran = ran(&output);
        let place = format!(
            "{action:?}: {how:?} at {} {}: {:?} {}",
            call.name, call.n, ran.status, ran.err
        );
        assert!(!ran.err.contains("panicked") && !ran.err.contains("has a bug"), "{place}");
        match how {
            Injection::Kill => assert!(!hit || ran.status.is_none(), "{place}"),
            _ => assert!(matches!(ran.status, Some(0 | 3)), "{place}"),
        }
        let check = |place: &str| {
            for (kept, text) in [("a", 1), ("d", 2)] {
                let file = tool.path(&format!("in/{kept}"));
                assert!(!file.is_symlink(), "{place}");
                assert_eq!(fs::read_to_string(file).ok(), Some(words(text)), "{place}");
            }
            let mut found = BTreeSet::new();
            contents(&tool.path("in"), &mut found);
            target.into_iter().for_each(|target| contents(target, &mut found));
            let near = words(2) + "and a few words more";
            assert!(action == ["--delete"] || found.contains(&near), "{place}: a content is lost");
        };
        check(&place);
        // A file at the target is never replaced, so the next run may leave a file where it is.
        let again = tool.run(&arguments);
        let crossed =
            target.is_some() && again.status == Some(3) && again.err.contains(" exists; ");
        assert!(again.status == Some(0) || crossed, "{place}, then: {}", again.err);
        check(&place);
    }
    println!("{action:?}: {hits} injections at {} calls", calls.len());
    assert!(hits > 0);
    clean();
}

fn share() -> usize {
    cases(7, 1)
}

#[test]
fn actions_lose_no_content_when_a_call_fails() {
    if !inject::is_possible() {
        return;
    }
    for action in [&["--delete"][..], &["--link", "hard"], &["--link", "symbolic"]] {
        injected(action, None, share());
    }
}

#[test]
fn moves_lose_no_content_when_a_call_fails() {
    if !inject::is_possible() {
        return;
    }
    let place = tempfile::tempdir().expect("a temporary folder");
    let near = place.path().join("gone");
    injected(&["--move", near.to_str().expect("UTF-8")], Some(&near), share());
    let device = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
    let other = Path::new("/dev/shm");
    if device(other).is_none() || device(other) == device(place.path()) {
        println!("skipped: there is only one file system here");
        return;
    }
    let place = tempfile::tempdir_in(other).expect("a temporary folder");
    let far = place.path().join("gone");
    injected(&["--move", far.to_str().expect("UTF-8")], Some(&far), share());
}
