//! A hundred thousand sets that are equal, empty, or similar in one slot: the cost of storing them, and of finding
//! all pairs, clusters and triples. Work and memory are counted, not timed.

use testkit::allocations;
use testkit::random::word_at;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use allocations::taking;
use ringer::internals::format::signature_page;
use ringer::{Database, Found, Options, Scheme, Signature, Snapshot};

const SETS: u64 = 100_000;

/// Sets per commit.
const COMMIT: u64 = 1000;

/// The memory that a request may use in addition to its sets.
const BESIDE: usize = 24 << 20;

/// The bytes that pairs use per set, and clusters in addition: keys, groups, places.
const EACH: usize = 200;

fn scheme() -> Arc<Scheme> {
    Arc::new(Scheme::near_duplicate())
}

/// Commits the sets. A commit uses memory for its own rows only, however many equal ones came before.
fn filled(path: &Path, signature: impl Fn(&Database, u64) -> Signature) -> Database {
    let options = Options::default().with_memtable_rows(30_000).with_background(false);
    let db = Database::create(path, &scheme(), options).unwrap();
    let mut most = 0;
    for first in (0..SETS).step_by(COMMIT as usize) {
        let mut batch = db.batch();
        for i in first..first + COMMIT {
            batch.put_signature(format!("{i:08}"), signature(&db, i)).unwrap();
        }
        most = most.max(taking(|| db.commit(batch).unwrap()).1);
    }
    // Some commits build a segment of 30,000 rows of 64 bytes, or merge a few segments.
    assert!(most < 64 << 20, "a commit took {most} bytes");
    let (_, taken) = taking(|| db.compact().unwrap());
    assert!(taken < 64 << 20, "a merge took {taken} bytes");
    println!("a commit took {most} bytes, a merge {taken}");
    assert_eq!(db.snapshot().len().unwrap(), SETS);
    db
}

/// The result of a request.
#[derive(Debug, Default)]
struct Gave {
    groups: Vec<usize>,
    pairs: u64,
    compared: u64,
    truncated: bool,
}

fn bounded<T>(what: &str, call: impl FnOnce() -> T) -> T {
    let (given, taken) = taking(call);
    println!("{what}: {taken} bytes");
    assert!(taken < BESIDE + EACH * SETS as usize, "{what}: {taken} bytes");
    given
}

fn pairs(snapshot: &Snapshot, least: f64) -> Gave {
    bounded("pairs", || {
        let mut gave = Gave::default();
        let report = snapshot.pairs(least).run(|found| {
            match found {
                Found::Group(group) => gave.groups.push(group.len()),
                Found::Pair(_) => gave.pairs += 1,
            }
            ControlFlow::Continue(())
        });
        let report = report.unwrap();
        (gave.compared, gave.truncated) = (report.compared, report.truncated);
        gave
    })
}

fn clusters(snapshot: &Snapshot, least: f64) -> Vec<usize> {
    bounded("clusters", || {
        let mut sizes = Vec::new();
        let clusters = snapshot.clusters(least).run(|cluster| {
            sizes.push(cluster.keys.len());
            ControlFlow::Continue(())
        });
        clusters.unwrap();
        sizes
    })
}

fn triples(snapshot: &Snapshot, least: f64) -> u64 {
    bounded("triples", || {
        let mut count = 0;
        let triples = snapshot.triples(least).run(|_| {
            count += 1;
            // A hundred thousand equal sets can form very many triples, so the visitor stops early.
            if count < 1000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        triples.unwrap();
        count
    })
}

#[test]
fn equal_sets_are_one_group() {
    let folder = tempfile::tempdir().unwrap();
    let set: Vec<u64> = (0..50).collect();
    let db = filled(&folder.path().join("x.ringer"), |db, _| db.sketcher().sketch(&set).unwrap());
    let snapshot = db.snapshot();
    let gave = pairs(&snapshot, 0.9);
    assert_eq!((gave.groups, gave.pairs), (vec![SETS as usize], 0));
    assert!(gave.compared <= 1 && !gave.truncated, "{}", gave.compared);
    assert_eq!(clusters(&snapshot, 0.9), [SETS as usize]);
    triples(&snapshot, 0.9);
    // There is one signature, however many rows.
    let bytes = std::fs::metadata(folder.path().join("x.ringer")).unwrap().len();
    assert!(bytes < 40 * SETS, "{bytes}");
}

#[test]
fn empty_sets_are_in_no_group() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(&folder.path().join("x.ringer"), |db, _| db.sketcher().sketch(&[]).unwrap());
    let snapshot = db.snapshot();
    let gave = pairs(&snapshot, 0.1);
    assert_eq!((gave.groups, gave.pairs, gave.compared), (vec![], 0, 0));
    assert_eq!(clusters(&snapshot, 0.1), [0_usize; 0]);
    assert_eq!(triples(&snapshot, 0.1), 0);
}

/// All sets share the first slot: three samples of 64, and others only by chance.
#[test]
fn sets_similar_in_one_slot_are_compared_a_bounded_number_of_times() {
    let folder = tempfile::tempdir().unwrap();
    let scheme = scheme();
    let db = filled(&folder.path().join("x.ringer"), |_, i| {
        let planes = (0..8).map(|plane| word_at(8 * i + plane) & !7 | (5 ^ plane) & 7).collect();
        signature_page::signature(&scheme, planes, 1 + (i % 100) as u32).unwrap()
    });
    let snapshot = db.snapshot();
    // This similarity is far below the threshold, which is known before the list is compared.
    let gave = pairs(&snapshot, 0.8);
    assert_eq!((gave.groups, gave.pairs, gave.truncated), (vec![], 0, false));
    assert!(gave.compared < SETS * SETS / 40, "{}", gave.compared);
    // At a low threshold each set is compared with the allowed number of others, and the report says so.
    let report = bounded("pairs, few candidates", || {
        let pairs = snapshot.pairs(0.01).max_candidates(100);
        pairs.run(|_| ControlFlow::Continue(())).unwrap()
    });
    assert!(report.truncated && report.compared < 21 * 100 * SETS, "{report:?}");
}
