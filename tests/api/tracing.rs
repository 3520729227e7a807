//! With the feature `tracing`, what the engine does reaches a subscriber.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Once;

use ringer::{Database, Like, Options, Scheme};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

thread_local! {
    /// The spans and events of this thread, if it records them.
    static LINES: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Keeps each span and event as a line: its name or message, then its fields.
///
/// It is the subscriber of the whole process. `tracing` caches for each place in the code whether anybody listens, and
/// would ask the thread that comes there first, which may be that of another test.
struct Lines;

/// A line that is being written.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.0.insert_str(0, &format!("{value:?}")),
            name => self.0.push_str(&format!(" {name}={value:?}")),
        }
    }
}

impl Lines {
    /// Starts to record this thread.
    fn start() {
        static GLOBAL: Once = Once::new();
        GLOBAL.call_once(|| {
            tracing::subscriber::set_global_default(Lines).unwrap();
            // Forgets what another thread cached before the subscriber was set.
            tracing::callsite::rebuild_interest_cache();
        });
        LINES.set(Some(Vec::new()));
    }

    /// The lines since the last call.
    fn take() -> Vec<String> {
        LINES.replace(Some(Vec::new())).expect("a thread that records")
    }

    fn push(line: Line) {
        LINES.with_borrow_mut(|lines| {
            if let Some(lines) = lines {
                lines.push(line.0);
            }
        });
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "ringer"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(format!("[{}]", span.metadata().name()));
        span.record(&mut line);
        Lines::push(line);
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        Lines::push(line);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The value of a field in a line.
fn number(line: &str, field: &str) -> u64 {
    let value = line.split(' ').find_map(|word| word.strip_prefix(field)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {field} in {line}")).parse().unwrap()
}

/// Every step gives its span, then its event with numbers that are known here. Without background threads, all of them
/// come from this thread.
#[test]
fn every_step_gives_a_span_and_an_event() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let options = Options::default().with_background(false).with_merge(false);
    let set = |i: u64| (i..i + 40).collect::<Vec<u64>>();
    Lines::start();
    let db = Database::create(&path, &Scheme::precise(), options).unwrap();
    Lines::take();

    db.put("secret key", &set(1)).unwrap();
    let commit = Lines::take();
    assert!(!commit.concat().contains("secret"), "{commit:?}");
    assert_eq!(commit[0], "[commit] group=1");
    assert!(commit[1].starts_with("committed commits=1 bytes="), "{commit:?}");
    assert!(number(&commit[1], "bytes") > 64, "{commit:?}");
    assert_eq!((number(&commit[1], "sequence"), commit.len()), (1, 2));

    db.put("b", &set(2)).unwrap();
    Lines::take();
    db.checkpoint().unwrap();
    let expected = ["[checkpoint] versions=2", "checkpointed rows=2 tombstones=0 sequence=2"];
    assert_eq!(Lines::take(), expected);

    db.put("b", &set(3)).unwrap();
    db.checkpoint().unwrap();
    assert_eq!(Lines::take().pop().unwrap(), "checkpointed rows=1 tombstones=1 sequence=3");

    db.compact().unwrap();
    let steps = Lines::take();
    assert!(steps.iter().any(|line| line == "[merge] segments=2"), "{steps:?}");
    let merged = "merged segments_in=2 segments_out=1 rows=2";
    assert!(steps.iter().any(|line| line == merged), "{steps:?}");
    let vacuumed = steps.iter().find(|line| line.starts_with("vacuumed ")).unwrap();
    let file = std::fs::metadata(&path).unwrap().len();
    assert_eq!(number(vacuumed, "bytes_after"), file);
    assert!(number(vacuumed, "bytes_before") > file);

    let mut load = db.bulk_load();
    load.put("c", &set(100)).unwrap();
    load.commit().unwrap();
    let loaded = ["[bulk load] segments=1", "bulk load committed segments=1 rows=1 sequence=4"];
    assert_eq!(Lines::take(), loaded);

    let answer = db.snapshot().query(Like::Key(b"b")).min_resemblance(0.5).run().unwrap();
    assert_eq!(answer.matches.len(), 1);
    assert_eq!(Lines::take(), ["[query] segments=2", "answered matches=1 truncated=false"]);
    db.close().unwrap();
}

/// Opening after a crash says how many commits it took from the log. A copy made while a writer is open is what a crash
/// would leave.
#[test]
fn an_open_says_how_many_commits_it_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let db = Database::create(&path, &Scheme::precise(), Options::default()).unwrap();
    (0..5_u64).try_for_each(|i| db.put(format!("{i}"), &[i, 7, 8]).map(drop)).unwrap();
    let copy = folder.path().join("copy.ringer");
    std::fs::copy(&path, &copy).unwrap();
    let (log, log_copy) =
        (folder.path().join("x.ringer-hot"), folder.path().join("copy.ringer-hot"));
    std::fs::create_dir(&log_copy).unwrap();
    for entry in std::fs::read_dir(&log).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), log_copy.join(entry.file_name())).unwrap();
    }
    Lines::start();
    Database::open(&copy, Options::default()).unwrap();
    let lines = Lines::take();
    assert_eq!(lines[0], "[open]");
    assert!(
        lines.iter().any(|l| l.starts_with("opened clean=false commits_replayed=5")),
        "{lines:?}"
    );
}
