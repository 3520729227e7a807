//! Data that nobody would wish for: a hundred thousand sets that are equal, empty, or alike in one slot.
//! Inserts work, answers are right, and what a query does and takes is bounded. Work is counted, not timed.

use testkit::allocations;
use testkit::random::word_at;

use std::path::Path;
use std::sync::Arc;

use allocations::taking;
use ringer::internals::format::signature_page;
use ringer::scheme::{CardinalityField, Sampler, Slots};
use ringer::{
    Answer, Database, Explanation, Like, Options, Parameters, Plan, Query, Scheme, Signature,
    Sketcher, Snapshot, presets,
};

const SETS: u64 = 100_000;

/// Distinct signatures that a slot value leads to before an answer is cut short.
const DEFAULT_MAX: usize = 100_000;

/// What a query may take beside its candidates: counters of a window and blocks of lists, and 64 pages of
/// signatures that are compared in one go where the cache has no room for them.
const BESIDE: usize = 4 << 20;

/// Keys that come in no order.
fn key(i: u64) -> [u8; 8] {
    (i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes()
}

/// All keys in order.
fn keys() -> Vec<[u8; 8]> {
    let mut keys: Vec<_> = (0..SETS).map(key).collect();
    keys.sort_unstable();
    keys
}

/// A database of `SETS` sets that came in commits of a thousand.
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

/// Checks something with rows in memtables and segments as they came, in one segment, and with no cache.
fn wherever_rows_live(
    signature: impl Fn(&Database, u64) -> Signature,
    check: impl Fn(&Database, &str),
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let options = Options { memtable_rows: 30_000, background: false, ..Options::default() };
    let db = filled(&path, options, signature);
    check(&db, "as it came");
    db.compact().unwrap();
    check(&db, "compacted");
    db.close().unwrap();
    let options = Options { cache_bytes: 0, ..Options::default() };
    check(&Database::open(&path, options).unwrap(), "no cache");
}

fn found(answer: &Answer) -> Vec<&[u8]> {
    answer.matches.iter().map(|found| &*found.key).collect()
}

/// Runs a query and checks what it took: at most `most` bytes beside its answer.
fn bounded(query: &Query<'_>, most: usize, at: &str) -> Explanation {
    // Once before: pages that stay in the cache are not the query's.
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
                    // One signature in each part, in 21 lists at most.
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
                // Itself left out.
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
                        // A scan looks at the one signature of each segment.
                        assert!(work.compared <= parts, "{at}: {work:?}");
                    }
                }
            }
        },
    );
}

/// Random signatures that have the same samples in their first slot: with 64 samples, bits 0 to 2 of each
/// of the 8 planes. One in a thousand shares the second slot, too.
fn alike_in_one_slot(scheme: &Arc<Scheme>, i: u64) -> Signature {
    assert_eq!((scheme.samples, scheme.bits, scheme.slots.samples_per_slot), (64, 8, 3));
    let (mask, shared) = if i % 1000 == 1 { (63, 0o35) } else { (7, 0o5) };
    let planes =
        (0..8).map(|plane| word_at(8 * i + plane) & !mask | (shared ^ plane) & mask).collect();
    signature_page::signature(scheme, planes, 1 + (i % 100) as u32).unwrap()
}

/// The best by definition: every signature is compared.
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
fn sets_alike_in_one_slot_are_cut_short_above_the_limit_only() {
    let scheme = Arc::new(Scheme::near_duplicate());
    wherever_rows_live(
        |_, i| alike_in_one_slot(&scheme, i),
        |db, at| {
            let snapshot = db.snapshot();
            // One that is not stored: all stored ones share its first slot, one in a thousand its second.
            let query = alike_in_one_slot(&scheme, SETS + 1);
            let expected = best(&snapshot, &query, 10);
            let ask = || snapshot.query(Like::Signature(&query)).top(10);
            let close = |answer: &Answer| {
                let values = answer.matches.iter().map(|m| m.similarity().value);
                assert!(values.eq(expected.iter().map(|(value, _)| *value)), "{at}");
                let ten: Vec<Vec<u8>> = answer.matches.iter().map(|m| m.key.to_vec()).collect();
                // Those as alike as the last are ranked by slots, which brute force does not look at here.
                let last = expected[9].0;
                for (value, key) in expected.iter().filter(|(value, _)| *value > last) {
                    assert!(ten.contains(key), "{at}: {value}");
                }
            };
            let chosen = bounded(&ask(), BESIDE + 40 * DEFAULT_MAX, &format!("alike, {at}"));
            close(&chosen.answer);
            assert!(!chosen.answer.truncated, "{at}");
            assert!(chosen.work.compared <= SETS, "{at}: {:?}", chosen.work);

            let probe = |most: usize| {
                // 8 bytes a candidate, twice as many before they are cut, and arrays that grow by doubling.
                let query = ask().plan(Plan::Probe).max_candidates(most);
                bounded(&query, BESIDE + 40 * most, &format!("alike, {at}, at most {most}"))
            };
            let whole = probe(DEFAULT_MAX);
            close(&whole.answer);
            assert!(!whole.answer.truncated, "{at}: as many candidates as allowed");
            assert_eq!(whole.candidates_by_lists.iter().sum::<u64>(), SETS, "{at}");
            assert_eq!(whole.work.candidates, SETS, "{at}");
            for most in [DEFAULT_MAX - 1, 1000, 10, 0] {
                let cut = probe(most);
                assert!(cut.answer.truncated, "{at}: {most}");
                // Candidates of the short lists are looked at before those of all.
                assert!(cut.work.compared <= 2 * most as u64, "{at}: {most}, {:?}", cut.work);
                // Lists are read to their ends, the short ones twice; those of a memtable hold some others.
                assert!(cut.work.postings <= SETS + SETS / 20, "{at}: {most}, {:?}", cut.work);
                assert!(cut.answer.matches.len() <= most.min(10), "{at}: {most}");
            }
            // Two slots in common: few candidates, so nothing is cut short.
            let two = ask().plan(Plan::Probe).min_matches(2).max_candidates(1000);
            let two = bounded(&two, BESIDE + 40 * 1000, &format!("alike, {at}, two slots"));
            assert!(!two.answer.truncated && two.work.compared < 200, "{at}: {:?}", two.work);
        },
    );
}

/// A scan of a few strangers would read the slots of each, since none of them fills the ranking.
#[test]
fn strangers_that_share_no_slot_are_not_looked_at() {
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

/// A stream that never ends and says the same again and again is remembered once, by the samplers that do so.
#[test]
fn repeats_of_a_stream_take_no_memory() {
    for sampler in [Sampler::Lazy, Sampler::OnePermutation, Sampler::Independent] {
        for cardinality in [CardinalityField::None, CardinalityField::Log8] {
            let parameters = Parameters { sampler, cardinality, samples: 32, ..presets::PRECISE };
            let parameters = Parameters { slots: Slots::NONE, ..parameters };
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
