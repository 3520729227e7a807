//! The scripts of steps: every operation on a database, with every kind of row.

use super::{Operation, Step};

fn put(key: &str, n: u64) -> Operation {
    (key.as_bytes().to_vec(), Some(n))
}

fn delete(key: &str) -> Operation {
    (key.as_bytes().to_vec(), None)
}

/// A key that takes most of a log part.
fn long(n: u8) -> Operation {
    (vec![n; 4096], Some(n.into()))
}

fn commit(operations: impl Into<Vec<Operation>>) -> Step {
    Step::Commit(operations.into())
}

/// A bulk load of several segments, with one key in two of them.
fn bulk(prefix: &str, first: u64, rows: u64) -> Step {
    let mut all: Vec<(Vec<u8>, u64)> =
        (0..rows).map(|i| (format!("{prefix}{i:02}").into_bytes(), first + i % 11)).collect();
    all.push((format!("{prefix}01").into_bytes(), first + 900));
    Step::Bulk(all)
}

/// Creation (STEP-2), the first and later commits (STEP-4, STEP-5), a requested checkpoint and an automatic one
/// (STEP-6).
pub fn beginning() -> Vec<Step> {
    vec![
        Step::Create,
        commit([put("k00", 1), put("k01", 2), put("k02", 0), put("k03", 1)]),
        commit([put("k04", 3), put("k01", 4), delete("k02"), delete("absent")]),
        commit([put("k05", 5), put("k06", 0)]),
        // The memtable is full, so this commit first turns it into a segment.
        commit([long(7), long(8), put("k02", 6)]),
        commit([delete("k00")]),
        Step::Checkpoint,
    ]
}

/// Commits and bulk loads replace and delete rows of segments; then come merges (STEP-7) and a vacuum (STEP-9).
pub fn middle() -> Vec<Step> {
    vec![
        commit([put("k01", 8), delete("k03"), put("y", 9)]),
        bulk("k", 20, 30),
        commit([put("k11", 31), delete("k12")]),
        Step::Checkpoint,
        commit([delete("k05"), put("z", 32)]),
        Step::Checkpoint,
        commit([put("k07", 33), delete("k08")]),
        Step::Vacuum,
        commit([put("k08", 34)]),
    ]
}

/// A copy, a compaction and a close (STEP-8), then more commits that end with a kill.
pub fn end() -> Vec<Step> {
    vec![
        Step::Pack,
        Step::Compact,
        commit([put("k09", 35), delete("z")]),
        Step::Close,
        Step::Open,
        bulk("m", 40, 12),
        commit([put("k10", 36), delete("m03")]),
        Step::Vacuum,
        Step::Kill,
        Step::Open,
        commit([put("m03", 37), delete("k10")]),
        commit([put("m04", 38)]),
        Step::Kill,
    ]
}

/// A few more steps after a kill at any point.
pub fn afterwards() -> Vec<Step> {
    vec![bulk("k", 60, 5), commit([put("k01", 61), delete("k04")]), Step::Close]
}

/// Many commits that replace and delete each other's rows, with bulk loads between them.
pub fn many(count: u64, seed: u64) -> Vec<Step> {
    let step = |i: u64| {
        let n = 1 + i + 100 * seed;
        let key = |n: u64| format!("k{:02}", n * 7 % 30);
        match i % 20 {
            19 => bulk("k", n, 6),
            i if i % 3 == 0 => commit([put(&key(n), n), delete(&key(n + 1))]),
            _ => commit([put(&key(n), n), put(&key(n + 9), n % 2)]),
        }
    };
    (0..count).map(step).collect()
}

/// All of the above in order.
pub fn all() -> Vec<Step> {
    [beginning(), middle(), end()].concat()
}
