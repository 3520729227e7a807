//! Answers queries by brute force: compares, filters and sorts every row.
//!
//! In: the live rows, a signature and the conditions. Out: the correct answer, and whether a snapshot returns it by
//! each plan.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ringer::internals::format::signature_page;
use ringer::sketch::SlotReader;
use ringer::{Answer, Comparison, Like, Plan, Query, Scheme, Signature, Snapshot};

/// Live rows by key.
pub type Rows = BTreeMap<Vec<u8>, Signature>;

/// Key, common slots and comparison of each match.
pub type Found = Vec<(Vec<u8>, u32, Comparison)>;

/// The automatic choice of a plan, and both explicit plans.
pub const PLANS: [Option<Plan>; 3] = [None, Some(Plan::Probe), Some(Plan::Scan)];

/// The conditions of a query, in a form that brute force can evaluate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request {
    pub top: Option<usize>,
    pub min: Option<f64>,
    pub matches: Option<u32>,
    pub exhaustive: bool,
    pub hamming: bool,
}

impl Request {
    /// Asks for the best n.
    pub fn top(n: usize) -> Request {
        Request { top: Some(n), ..Request::default() }
    }

    /// Asks for all with at least this resemblance.
    pub fn min(resemblance: f64) -> Request {
        Request { min: Some(resemblance), ..Request::default() }
    }

    /// Adds the conditions to a query.
    pub fn put(self, mut query: Query<'_>) -> Query<'_> {
        if let Some(top) = self.top {
            query = query.top(top);
        }
        if let Some(min) = self.min {
            query = query.min_similarity(min);
        }
        if let Some(matches) = self.matches {
            query = query.min_matches(matches);
        }
        if self.exhaustive {
            query = query.exhaustive();
        }
        if self.hamming { query.within_hamming_1() } else { query }
    }

    /// Returns the fewest common slots of a match.
    pub fn least(self, scheme: &Scheme) -> u32 {
        match self.matches {
            Some(matches) => matches,
            None if self.exhaustive => 0,
            None => u32::from(scheme.slots.min_matches),
        }
    }
}

/// A query by brute force: its slot values, and a cache of resemblances.
pub struct Brute<'a> {
    query: &'a Signature,
    slots: SlotReader,
    own: Vec<u32>,
    values: HashMap<(u32, u32), f64>,
}

impl<'a> Brute<'a> {
    pub fn new(query: &'a Signature) -> Brute<'a> {
        let slots = SlotReader::new(query.scheme());
        let mut own = vec![0; slots.count()];
        slots.read(query.planes(), &mut own);
        Brute { query, slots, own, values: HashMap::new() }
    }

    /// Returns how many slots another signature has in common with the query.
    pub fn slots(&self, other: &Signature, hamming: bool) -> u32 {
        let mut values = vec![0; self.slots.count()];
        self.slots.read(other.planes(), &mut values);
        let differ = values.into_iter().zip(&self.own).map(|(a, b)| (a ^ b).count_ones());
        differ.filter(|bits| *bits <= u32::from(hamming)).count() as u32
    }

    /// Returns the comparison with another signature and its resemblance.
    pub fn value(&mut self, other: &Signature) -> (Comparison, f64) {
        let comparison = self.query.compare(other).unwrap().without_order();
        let key = (comparison.equal_samples(), other.cardinality_code());
        (comparison, *self.values.entry(key).or_insert_with(|| comparison.similarity().value))
    }

    /// Returns all matches, best first.
    pub fn answer(&mut self, rows: &Rows, itself: Option<&[u8]>, request: Request) -> Found {
        let least = request.least(self.query.scheme());
        let mut found = Vec::new();
        if self.query.is_empty() {
            return Found::new();
        }
        for (key, signature) in rows {
            if signature.is_empty() || itself == Some(key) {
                continue;
            }
            let slots = self.slots(signature, request.hamming);
            let (comparison, value) = self.value(signature);
            if slots >= least && request.min.is_none_or(|min| value >= min - 1e-9) {
                found.push((value, slots, key, comparison));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then_with(|| a.2.cmp(b.2)));
        found.truncate(request.top.unwrap_or(if request.min.is_some() { usize::MAX } else { 10 }));
        found.into_iter().map(|(_, slots, key, how)| (key.clone(), slots, how)).collect()
    }
}

/// Returns the correct answer.
pub fn brute_force(
    rows: &Rows,
    query: &Signature,
    itself: Option<&[u8]>,
    request: Request,
) -> Found {
    Brute::new(query).answer(rows, itself, request)
}

/// Returns the matches of an answer, which must not be truncated.
pub fn found(answer: &Answer) -> Found {
    assert!(!answer.truncated);
    let matches = answer.matches.iter();
    matches.map(|m| (m.key.to_vec(), m.matching_slots, m.comparison)).collect()
}

/// Compares the answers of all plans with the correct one.
pub fn compare_plans(
    snapshot: &Snapshot,
    like: Like<'_>,
    request: Request,
    right: &Found,
    at: &str,
) {
    for plan in PLANS {
        let query = request.put(snapshot.query(like));
        let query = plan.map_or(query.clone(), |plan| query.plan(plan));
        let answer =
            query.run().unwrap_or_else(|error| panic!("{at} {request:?} {plan:?}: {error}"));
        assert_eq!(found(&answer), *right, "{at} {request:?} {plan:?} {}", snapshot.scheme());
    }
}

/// Compares the answers of all plans with brute force.
pub fn compare_all(
    snapshot: &Snapshot,
    rows: &Rows,
    query: &Signature,
    requests: &[Request],
    at: &str,
) {
    let mut brute = Brute::new(query);
    for request in requests {
        let right = brute.answer(rows, None, *request);
        compare_plans(snapshot, Like::Signature(query), *request, &right, at);
    }
}

/// Builds a signature from samples directly. It need not belong to any set.
pub fn crafted(scheme: &Arc<Scheme>, samples: &[u16]) -> Signature {
    assert_eq!(samples.len(), scheme.samples as usize);
    let words = scheme.words_per_plane();
    let mut planes = vec![0_u64; scheme.words_per_signature()];
    for (i, sample) in samples.iter().enumerate() {
        for plane in 0..usize::from(scheme.bits) {
            planes[plane * words + i / 64] |= u64::from(sample >> plane & 1) << (i % 64);
        }
    }
    signature_page::signature(scheme, planes.into(), 0).expect("it fits its scheme")
}
