//! Tests that need private access: groups of commits, and panics during a commit.

use std::thread;

use super::*;
use crate::error::Error;
use crate::presets;
use crate::store::file_layer::faulty::{Failure, Fault, FaultyFiles};
use crate::store::file_layer::memory::MemoryFiles;

/// Batches that wait for an earlier commit form one group. Each batch sees the effects of those before it, and each has its
/// own sequence. That still holds after a checkpoint.
#[test]
fn a_group_of_batches_counts_as_one_after_the_other() {
    let layer: Arc<dyn FileLayer> = Arc::new(MemoryFiles::new());
    let path = Path::new("/corpus.ringer");
    let scheme = Scheme::new(presets::PRECISE).unwrap();
    let options = Options { background: false, ..Options::default() };
    let shared = Arc::clone(&layer);
    let db = Database::create_in(shared, path, &scheme, options.clone()).unwrap();
    let put = |key: &str, set: &[u64]| {
        let mut batch = db.batch();
        batch.put(key, set).unwrap();
        batch
    };
    let delete = |key: &str| {
        let mut batch = db.batch();
        batch.delete(key).unwrap();
        batch
    };
    assert_eq!(db.commit(put("first", &[1])).unwrap().sequence, 1);
    let batches = [
        put("a", &[1, 2]),
        delete("a"),
        delete("a"),
        db.batch(),
        put("a", &[3]),
        delete("first"),
        put("b", &[4]),
    ];
    let committed: Vec<Committed> = thread::scope(|scope| {
        let busy = db.open.any_writer().hold_up();
        let threads = batches.into_iter().enumerate().map(|(i, batch)| {
            let thread = scope.spawn(|| db.commit(batch).unwrap());
            while db.open.any_writer().waiting() <= i {
                thread::yield_now();
            }
            thread
        });
        let threads: Vec<_> = threads.collect();
        drop(busy);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let all = |c: &Committed| (c.sequence, c.stored, c.deleted, c.absent);
    assert_eq!(
        committed.iter().map(all).collect::<Vec<_>>(),
        [
            (2, 1, 0, 0),
            (3, 0, 1, 0),
            (4, 0, 0, 1),
            (4, 0, 0, 0),
            (5, 1, 0, 0),
            (6, 0, 1, 0),
            (7, 1, 0, 0),
        ]
    );
    db.checkpoint().unwrap();
    let reader = Reader::open_in(layer, path, options).unwrap();
    let get = |key: &str| reader.get(key).unwrap().map(|stored| stored.signature);
    let set_of = |n: u64| Some(db.sketcher().sketch(&[n]).unwrap());
    assert_eq!((get("first"), get("a"), get("b")), (None, set_of(3), set_of(4)));
    assert_eq!(reader.snapshot().sequence(), 7);
}

/// If the thread that commits a group panics, the other callers get an error, since the fate of their batches is unknown.
#[test]
fn a_panic_of_the_leader_is_an_error_of_its_followers() {
    let files = FaultyFiles::new();
    let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
    let path = Path::new("/corpus.ringer");
    let options = Options { background: false, ..Options::default() };
    let scheme = Scheme::precise();
    let db = Database::create_in(Arc::clone(&layer), path, &scheme, options.clone()).unwrap();
    db.put("first", &[1]).unwrap();
    let outcomes: Vec<_> = thread::scope(|scope| {
        let busy = db.open.any_writer().hold_up();
        let threads = (0..4_usize).map(|i| {
            let thread = scope.spawn({
                let db = &db;
                move || db.put(format!("key {i}"), &[1, 2])
            });
            while db.open.any_writer().waiting() <= i {
                thread::yield_now();
            }
            thread
        });
        let threads: Vec<_> = threads.collect();
        files.arm(Fault::after(0, Failure::Panic));
        drop(busy);
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let told = |outcome: &&thread::Result<Result<Committed>>| {
        matches!(outcome, Ok(Err(Error::Poisoned { .. })))
    };
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), 1, "the leader");
    assert_eq!(outcomes.iter().filter(told).count(), 3);
    files.disarm();
    assert!(matches!(db.put("later", &[1]), Err(Error::Poisoned { .. })));
    drop(db);
    let again = Database::open_in(layer, path, options).unwrap();
    assert!(again.get("first").unwrap().is_some());
}
