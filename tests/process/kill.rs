//! A process is killed while it commits, repeatedly. Every acknowledged commit is there completely, and the one in
//! progress completely or not at all (STEP-3, STEP-5).

use testkit::child;
use testkit::folder;
use testkit::random::Random;
use testkit::scale::cases;
use testkit::unprivileged::image;

use std::path::Path;
use std::time::Duration;

use child::{Known, Said, Task};
use ringer::{Database, LogKind, Options};

/// Not a test by itself: `.ci/power-cut` runs it after a cut. It opens the database of a process whose output is in a
/// file. The database must have everything that was acknowledged before the cut, and at most one commit more than was
/// ever acknowledged. `LEAST` and `MOST` are these bounds from the previous cut, for a process that printed nothing.
#[test]
fn verify() {
    let Some(path) = std::env::var_os("RINGER_VERIFY_PATH") else { return };
    let output = std::env::var_os("RINGER_VERIFY_OUTPUT").unwrap();
    let mut said = Said::default();
    std::fs::read_to_string(output).unwrap().lines().for_each(|line| said.hear(line));
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().ok();
    let least = number("RINGER_VERIFY_LEAST").unwrap();
    let most = number("RINGER_VERIFY_MOST").unwrap();
    let before = number("RINGER_VERIFY_BEFORE").unwrap_or(least);
    let acknowledged = said.last().unwrap_or(most);
    let path = Path::new(&path);
    let expected = least..=most + 1;
    assert!(said.opened.is_none_or(|found| expected.contains(&found)), "{expected:?}: {said:?}");
    if !path.exists() {
        assert_eq!((said.opened, least), (None, 0), "the database is gone");
        return println!("verified: no database yet");
    }
    let db = Database::open(path, Options::default()).unwrap();
    let found = Known::new().check(&db.snapshot());
    let report = db.open_report();
    println!("verified: {found} of {acknowledged}, {report:?}");
    assert!(found >= before, "{before} were acknowledged before the cut, {found} are there");
    assert!(found <= acknowledged + 1, "{found} are there, {acknowledged} were acknowledged");
}

/// Runs the process and kills it some time after its start, after opening, or after its first commits.
fn run_and_kill(path: &Path, random: &mut Random, log: LogKind) -> Said {
    let task = Task { seed: random.below(1 << 30), commits: u64::MAX, calm: 20, log };
    let process = child::command(path, task).spawn().unwrap();
    let (lines_first, at_most) = match random.below(5) {
        0 => (0, 10_000),
        1 => (1, 30_000),
        _ => (2 + random.below(10), 60_000),
    };
    let wait = Duration::from_micros(random.below(at_most));
    let said = child::kill_after(process, lines_first, wait, |_| {});
    assert!(said.failures.is_empty(), "{:?}", said.failures);
    said
}

/// Opens what a kill left, first read-only, then for writing. Reading changes no byte and no time of any file.
fn check(path: &Path, acknowledged: u64, known: &mut Known) -> u64 {
    let before = image(path.parent().unwrap());
    let in_sled = path.with_file_name("corpus.ringer-hot/sled").exists();
    let reader = Database::open_read_only(path, Options::default()).unwrap();
    let read = known.check(&reader.snapshot());
    // The mark survives a kill.
    let told = read + reader.hidden_commits();
    assert!(told >= acknowledged, "{acknowledged} were acknowledged, a reader knows of {told}");
    reader.refresh().unwrap();
    assert_eq!(reader.snapshot().sequence(), read);
    assert!(image(path.parent().unwrap()) == before, "reading changed something");
    let db = Database::open(path, Options::default()).unwrap();
    let found = known.check(&db.snapshot());
    assert!(found >= acknowledged, "{acknowledged} were acknowledged, {found} are there");
    assert!(found <= acknowledged + 1, "{acknowledged} were acknowledged, {found} are there");
    assert_eq!(db.open_report().commits_lost, None);
    assert!(in_sled || read == found, "a reader sees {read} commits, a writer {found}");
    db.close().unwrap();
    found
}

/// Kills `cycles` processes, each with the kind of log that `choose` returns.
fn kill(cycles: u64, seed: u64, choose: impl Fn(&mut Random) -> LogKind) {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("database");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("corpus.ringer");
    let (mut random, mut known) = (Random(seed), Known::new());
    let (mut acknowledged, mut opened, mut replayed) = (0, 0, 0);
    for cycle in 0..cycles {
        let log = choose(&mut random);
        let said = run_and_kill(&path, &mut random, log);
        opened += u64::from(said.opened.is_some());
        if let Some(found) = said.opened {
            assert!((acknowledged..=acknowledged + 1).contains(&found), "cycle {cycle}: {found}");
        }
        acknowledged = said.last().unwrap_or(acknowledged);
        if !path.exists() {
            assert_eq!(said.opened, None, "cycle {cycle}");
            continue;
        }
        replayed += u64::from(folder.join("corpus.ringer-hot").exists());
        // Every other time the next process opens what this one left, and may be killed during that recovery. A copy
        // shows what it will find.
        if random.below(2) == 0 {
            let found = check(&path, acknowledged, &mut known);
            acknowledged = found;
            let names = folder::names(&folder);
            assert!(names.iter().all(|n| n == "corpus.ringer" || n.contains("-new")), "{names:?}");
        } else {
            let copy = top.path().join("copy");
            std::fs::create_dir(&copy).unwrap();
            folder::copy(&folder, &copy);
            check(&copy.join("corpus.ringer"), acknowledged, &mut known);
            std::fs::remove_dir_all(&copy).unwrap();
        }
    }
    println!(
        "{cycles} kills, {opened} after opening, {replayed} with a log, {acknowledged} commits"
    );
    assert!(opened > cycles / 2 && acknowledged > 3 * cycles);
}

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    kill(cases(20, 120), 2024, |_| LogKind::Plain);
}

/// Each process may find the kind of log that another one left.
#[test]
fn a_killed_process_of_either_kind_of_log_loses_nothing() {
    kill(
        cases(12, 60),
        2025,
        |random| {
            if random.below(3) == 0 { LogKind::Plain } else { LogKind::Sled }
        },
    );
}
