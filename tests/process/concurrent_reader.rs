//! Reads while another process writes. A reader sees the complete state after some commit, never an older one than
//! before, whatever the writer does (STEP-6, STEP-9). It sees every commit that was acknowledged before it began
//! (LOG-16 to LOG-20).

use testkit::child;
use testkit::folder;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use child::{Known, Said, Task};
use ringer::{Database, LogKind, Options};

/// Returns the inode that this name refers to now.
fn identity(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

#[test]
fn readers_beside_a_writing_process_see_complete_states_and_no_error() {
    const COMMITS: u64 = 150;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let (mut refreshes, mut states, mut moved, mut in_log) = (0_u64, 0_u64, 0_u64, 0_u64);
    for round in 1..=3_u64 {
        // Half of its steps are checkpoints, compactions and vacuums.
        let log = if round == 2 { LogKind::Sled } else { LogKind::Plain };
        let task = Task { seed: round, commits: COMMITS, calm: 6, log };
        let mut process = child::command(&path, task).spawn().unwrap();
        let out = process.stdout.take().unwrap();
        let (ended, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let tell = (Arc::clone(&ended), Arc::clone(&acknowledged));
        let listener = thread::spawn(move || {
            let mut said = Said::default();
            for line in BufReader::new(out).lines() {
                said.hear(&line.unwrap());
                tell.1.store(said.last().unwrap_or(0), Ordering::SeqCst);
            }
            tell.0.store(true, Ordering::SeqCst);
            said
        });
        while !path.exists() && !ended.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let mut known = Known::new();
        let options = || Options::default().with_cache_bytes(1 << (8 * round));
        let reader = Database::open_read_only(&path, options()).unwrap();
        let mut last = known.check(&reader.snapshot());
        let mut held = reader.snapshot();
        let mut inode = identity(&path);
        while !ended.load(Ordering::SeqCst) {
            let least = acknowledged.load(Ordering::SeqCst);
            reader.refresh().unwrap();
            let snapshot = reader.snapshot();
            let sequence = known.check(&snapshot);
            assert!(sequence >= last, "it went back from {last} to {sequence}");
            let told = sequence + reader.hidden_commits();
            assert!(told >= least, "{least} were acknowledged, a reader knows of {told}");
            assert!(log == LogKind::Sled || reader.hidden_commits() == 0);
            in_log += reader.commits_in_log();
            assert_eq!(reader.stat().unwrap().sequence, sequence);
            states += u64::from(sequence > last);
            last = sequence;
            if refreshes % 8 == 0 {
                known.check(&held);
                held = snapshot;
                // A newly opened reader sees no less.
                let least = acknowledged.load(Ordering::SeqCst);
                let other = Database::open_read_only(&path, options()).unwrap();
                let told = known.check(&other.snapshot());
                assert!(told >= last && told + other.hidden_commits() >= least);
            }
            moved += u64::from(std::mem::replace(&mut inode, identity(&path)) != inode);
            refreshes += 1;
        }
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = listener.join().unwrap();
        assert!(said.closed && said.failures.is_empty(), "{:?}", said.failures);
        reader.refresh().unwrap();
        assert_eq!(known.check(&reader.snapshot()), round * COMMITS);
        assert_eq!((reader.commits_in_log(), reader.is_clean()), (0, true));
        assert_eq!(folder::names(folder.path()), ["corpus.ringer"]);
    }
    println!(
        "{refreshes} refreshes, {states} states, {moved} other files, {in_log} commits in the log"
    );
    assert!(states > 50 && moved > 10 && in_log > 100);
}
