//! Worst-case data: a hundred thousand sets that are equal, empty, or similar in one slot. Inserts work, answers are
//! correct, and the work and memory of a query are bounded. Work is counted, not timed.

use testkit::allocations;
use testkit::random::word_at;

use std::path::Path;
use std::sync::Arc;

use allocations::taking;
use ringer::internals::format::signature_page;
use ringer::scheme::{CardinalityField, Sampler, Slots};
use ringer::{
    Answer, Database, Explanation, Like, Options, Plan, Query, Scheme, Signature, Sketcher,
    Snapshot, presets,
};

const SETS: u64 = 100_000;

/// The default limit of distinct candidate signatures, above which an answer is truncated.
const DEFAULT_MAX: usize = 100_000;

/// The memory that a query may use in addition to its candidates: the counters of a window, blocks of lists, and 64
/// pages of signatures that are compared at once if the cache has no room for them.
const BESIDE: usize = 4 << 20;

/// Returns keys in pseudo-random order.
fn key(i: u64) -> [u8; 8] {
    (i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes()
}

/// Returns all keys, sorted.
fn keys() -> Vec<[u8; 8]> {
    let mut keys: Vec<_> = (0..SETS).map(key).collect();
    keys.sort_unstable();
    keys
}

/// Builds a database of `SETS` sets in commits of a thousand.
fn filled(
    path: &Path,
    options: Options,
    signature: impl Fn(&Database, u64) -> Signature,
) -> Database {
    let db = Database::create(path, &Scheme::near_duplicate(), options).unwrap();
    for first in (0..SETS).step_by(1000) {
        let mut batch = db.batch();
        for i in first..first + 1000 {
            batch.put_signature(key(i), signature(&db, i)).unwrap();
        }
        db.commit(batch).unwrap();
    }
    assert_eq!(db.snapshot().len().unwrap(), SETS);
    db
}

/// Runs a check with rows in memtables and segments as inserted, in one segment, and without a cache.
fn wherever_rows_live(
    signature: impl Fn(&Database, u64) -> Signature,
    check: impl Fn(&Database, &str),
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let options = Options::default().with_memtable_rows(30_000).with_background(false);
    let db = filled(&path, options, signature);
    check(&db, "as it came");
    db.compact().unwrap();
    check(&db, "compacted");
    db.close().unwrap();
    let options = Options::default().with_cache_bytes(0);
    check(&Database::open(&path, options).unwrap(), "no cache");
}

fn found(answer: &Answer) -> Vec<&[u8]> {
    answer.matches.iter().map(|found| &*found.key).collect()
}

/// Runs a query and asserts that it uses at most `most` bytes in addition to its answer.
fn bounded(query: &Query<'_>, most: usize, at: &str) -> Explanation {
    // A first run warms the cache, whose pages do not count as the query's memory.
    query.run().unwrap();
    let (explanation, taken) = taking(|| query.explain().unwrap());
    let answer: usize =
        explanation.answer.matches.iter().map(|m| size_of_val(m) + m.key.len()).sum();
    println!("{at}: {taken} bytes, answer {answer}, {:?}", explanation.work);
    assert!(taken <= most + 4 * answer, "{at}: {taken} bytes, {most} allowed");
    explanation
}

#[test]
fn equal_documents_are_one_candidate() {
    let document: Vec<u64> = (0..50).collect();
    let sketched = Database::create(
        tempfile::tempdir().unwrap().path().join("x"),
        &Scheme::near_duplicate(),
        Options::default(),
    );
    let signature = sketched.unwrap().sketcher().sketch(&document).unwrap();
    let keys = keys();
    wherever_rows_live(
        |_, _| signature.clone(),
        |db, at| {
            let snapshot = db.snapshot();
            for plan in [None, Some(Plan::Probe), Some(Plan::Scan)] {
                let put = |query: Query<'_>, top| {
                    let query = plan.map_or(query.clone(), |plan| query.plan(plan)).top(top);
                    let at = format!("equal, {at}, {plan:?}, top {top}");
                    let explanation = bounded(&query, BESIDE, &at);
                    // There is one signature in each part, in at most 21 lists.
                    let (work, parts) = (explanation.work, explanation.parts.len() as u64);
                    assert!(work.candidates <= parts && work.compared <= parts, "{at}: {work:?}");
                    assert!(work.postings <= 21 * parts, "{at}: {work:?}");
                    assert!(!explanation.answer.truncated, "{at}");
                    explanation.answer
                };
                for top in [1, 10, 1000] {
                    let answer = put(snapshot.query(Like::Features(&document)), top);
                    assert!(found(&answer).into_iter().eq(&keys[..top]), "{at}");
                    assert!(answer.matches.iter().all(|m| m.similarity().value == 1.0));
                }
                // The key itself is left out.
                let answer = put(snapshot.query(Like::Key(&keys[3])), 10);
                let others = keys[..3].iter().chain(&keys[4..11]);
                assert!(found(&answer).into_iter().eq(others), "{at}");
            }
            let all = snapshot.query(Like::Features(&document)).min_resemblance(0.9);
            assert!(found(&all.run().unwrap()).into_iter().eq(&keys), "{at}");
            let parts = all.explain().unwrap().parts.len();
            let least = all.clone().plan(Plan::Probe).max_candidates(parts);
            assert!(!least.run().unwrap().truncated, "{at}: one candidate a part");
            let less = all.plan(Plan::Probe).max_candidates(parts - 1).run().unwrap();
            assert!(less.truncated, "{at}: one candidate a part, and one less was allowed");
        },
    );
}

#[test]
fn empty_sets_are_never_found_and_cost_nothing() {
    wherever_rows_live(
        |db, _| db.sketcher().sketch(&[]).unwrap(),
        |db, at| {
            let snapshot = db.snapshot();
            let (key, set) = (key(7), [1, 2, 3]);
            for like in [Like::Key(&key), Like::Features(&[]), Like::Features(&set)] {
                for plan in [Plan::Probe, Plan::Scan] {
                    let query = snapshot.query(like).min_resemblance(0.0).plan(plan);
                    for query in [query.clone(), query.exhaustive()] {
                        let explanation =
                            bounded(&query, BESIDE, &format!("empty, {at}, {like:?}"));
                        assert!(explanation.answer.matches.is_empty(), "{at}");
                        assert!(!explanation.answer.truncated, "{at}");
                        let (work, parts) = (explanation.work, explanation.parts.len() as u64);
                        assert_eq!((work.postings, work.candidates), (0, 0), "{at}");
                        // A scan compares the one signature of each segment.
                        assert!(work.compared <= parts, "{at}: {work:?}");
                    }
                }
            }
        },
    );
}

/// Returns random signatures with the same samples in the first slot: with 64 samples, bits 0 to 2 of each of the 8
/// planes. One in a thousand also shares the second slot.
fn alike_in_one_slot(scheme: &Arc<Scheme>, i: u64) -> Signature {
    assert_eq!((scheme.samples, scheme.bits, scheme.slots.samples_per_slot), (64, 8, 3));
    let (mask, shared) = if i % 1000 == 1 { (63, 0o35) } else { (7, 0o5) };
    let planes =
        (0..8).map(|plane| word_at(8 * i + plane) & !mask | (shared ^ plane) & mask).collect();
    signature_page::signature(scheme, planes, 1 + (i % 100) as u32).unwrap()
}

/// Returns the best matches by comparing every signature.
fn best(snapshot: &Snapshot, query: &Signature, top: usize) -> Vec<(f64, Vec<u8>)> {
    let mut all: Vec<_> = snapshot
        .range::<&[u8]>(..)
        .map(|row| {
            let (key, stored) = row.unwrap();
            let value = query.compare(&stored.signature).unwrap().similarity().value;
            (value, key.to_vec())
        })
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    all.truncate(top);
    all
}

#[test]
fn sets_similar_in_one_slot_are_truncated_only_above_the_limit() {
    let scheme = Arc::new(Scheme::near_duplicate());
    wherever_rows_live(
        |_, i| alike_in_one_slot(&scheme, i),
        |db, at| {
            let snapshot = db.snapshot();
            // The query is not stored. All stored signatures share its first slot, one in a thousand its second.
            let query = alike_in_one_slot(&scheme, SETS + 1);
            let expected = best(&snapshot, &query, 10);
            let request = || snapshot.query(Like::Signature(&query)).top(10);
            let close = |answer: &Answer| {
                let values = answer.matches.iter().map(|m| m.similarity().value);
                assert!(values.eq(expected.iter().map(|(value, _)| *value)), "{at}");
                let ten: Vec<Vec<u8>> = answer.matches.iter().map(|m| m.key.to_vec()).collect();
                // Matches that tie with the last are ranked by common slots, which this brute force ignores.
                let last = expected[9].0;
                for (value, key) in expected.iter().filter(|(value, _)| *value > last) {
                    assert!(ten.contains(key), "{at}: {value}");
                }
            };
            let chosen = bounded(&request(), BESIDE + 40 * DEFAULT_MAX, &format!("similar, {at}"));
            close(&chosen.answer);
            assert!(!chosen.answer.truncated, "{at}");
            assert!(chosen.work.compared <= SETS, "{at}: {:?}", chosen.work);

            let probe = |most: usize| {
                // 8 bytes per candidate, twice as many before truncation, in arrays that grow by doubling.
                let query = request().plan(Plan::Probe).max_candidates(most);
                bounded(&query, BESIDE + 40 * most, &format!("similar, {at}, at most {most}"))
            };
            let whole = probe(DEFAULT_MAX);
            close(&whole.answer);
            assert!(!whole.answer.truncated, "{at}: as many candidates as allowed");
            assert_eq!(whole.candidates_by_lists.iter().sum::<u64>(), SETS, "{at}");
            assert_eq!(whole.work.candidates, SETS, "{at}");
            for most in [DEFAULT_MAX - 1, 1000, 10, 0] {
                let cut = probe(most);
                assert!(cut.answer.truncated, "{at}: {most}");
                // Candidates from the short lists are compared before those from the long one.
                assert!(cut.work.compared <= 2 * most as u64, "{at}: {most}, {:?}", cut.work);
                // Lists are read to their ends, and the short ones twice. Chains of a memtable include a few other
                // entries.
                assert!(cut.work.postings <= SETS + SETS / 20, "{at}: {most}, {:?}", cut.work);
                assert!(cut.answer.matches.len() <= most.min(10), "{at}: {most}");
            }
            // With two common slots there are few candidates, so nothing is truncated.
            let two = request().plan(Plan::Probe).min_matches(2).max_candidates(1000);
            let two = bounded(&two, BESIDE + 40 * 1000, &format!("similar, {at}, two slots"));
            assert!(!two.answer.truncated && two.work.compared < 200, "{at}: {:?}", two.work);
        },
    );
}

/// No stranger can fill the ranking, so a scan would read the slots of each.
#[test]
fn strangers_that_share_no_slot_are_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let db = Database::create(path, &Scheme::near_duplicate(), Options::default()).unwrap();
    let mut batch = db.batch();
    (0..1000).for_each(|i| {
        batch.put(key(i), &[word_at(2 * i), word_at(2 * i + 1)]).unwrap();
    });
    db.commit(batch).unwrap();
    let query = [word_at(5000), word_at(5001)];
    for at in ["memtable", "segment"] {
        let explanation = db.snapshot().query(Like::Features(&query)).explain().unwrap();
        assert!(explanation.answer.matches.is_empty(), "{at}");
        // Chains of a memtable lead to a few others.
        assert!(explanation.work.compared < 100, "{at}: {:?}", explanation.work);
        db.checkpoint().unwrap();
    }
}

/// A sampler that remembers elements stores a repeated element of an endless stream once.
#[test]
fn repeats_of_a_stream_take_no_memory() {
    for sampler in [Sampler::Lazy, Sampler::OnePermutation, Sampler::Independent] {
        for cardinality in [CardinalityField::None, CardinalityField::Log8] {
            let parameters = presets::PRECISE
                .with_sampler(sampler)
                .with_cardinality(cardinality)
                .with_samples(32);
            let parameters = parameters.with_slots(Slots::NONE);
            let sketcher = Sketcher::new(&Scheme::new(parameters).unwrap());
            let (signature, taken) = taking(|| {
                let mut stream = sketcher.stream();
                (0..1_000_000).for_each(|i| stream.push(i % 3).unwrap());
                stream.finish().unwrap()
            });
            assert!(taken < 100_000, "{sampler} {cardinality}: {taken} bytes");
            assert_eq!(signature, sketcher.sketch(&[0, 1, 2]).unwrap());
        }
    }
}
