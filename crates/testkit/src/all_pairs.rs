//! Finds all similar pairs by brute force: every key is compared with every other key.
//!
//! In: the live rows and a threshold. Out: the correct pairs, and the pairs that the library finds, checked for order
//! and duplicates.

use crate::random::Random;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use ringer::{Found, Options, Pair, Pairs};

use crate::query_oracle::{Brute, Rows};

pub const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

pub fn options() -> Options {
    Options::default().with_background(false).with_merge(false)
}

/// Maps a pair of keys to its common slots, its equal samples, and whether reaching the threshold is uncertain.
pub type All = BTreeMap<(Vec<u8>, Vec<u8>), (u32, u32, bool)>;

/// Computes the correct answer by comparing all keys with all keys.
pub fn brute_force(rows: &Rows, least_slots: u32, min: f64) -> All {
    let mut all = All::new();
    // Estimates are costly and depend only on these values, so they are cached.
    let mut estimates = HashMap::new();
    let rows: Vec<_> = rows.iter().filter(|(_, signature)| !signature.is_empty()).collect();
    for (i, (a, signature)) in rows.iter().enumerate() {
        let brute = Brute::new(signature);
        for (b, other) in &rows[i + 1..] {
            let comparison = signature.compare(other).unwrap().without_order();
            let equal = comparison.equal_samples();
            let of = (equal, signature.cardinality_code(), other.cardinality_code());
            let (value, undecided) = *estimates.entry(of).or_insert_with(|| {
                (comparison.similarity().value, !comparison.certainly_at_least(min))
            });
            if value < min - 1e-9 {
                continue;
            }
            let slots = brute.slots(other, false);
            if slots >= least_slots {
                let what = (slots, equal, undecided);
                all.insert((a.to_vec(), b.to_vec()), what);
            }
        }
    }
    all
}

pub fn what(pair: &Pair) -> (u32, u32, bool) {
    (pair.matching_slots, pair.comparison.equal_samples(), pair.undecided)
}

/// Expands the library's answer into pairs of keys. Each pair must occur once, smaller key first.
pub fn expanded(pairs: Pairs<'_>) -> All {
    let mut all = All::new();
    let report = pairs
        .expand()
        .run(|found| {
            let Found::Pair(pair) = found else { panic!("a group where all are taken apart") };
            assert!(pair.a < pair.b && (pair.a_keys, pair.b_keys) == (1, 1));
            let old = all.insert((pair.a.to_vec(), pair.b.to_vec()), what(&pair));
            assert_eq!(old, None, "twice: {pair:?}");
            GO_ON
        })
        .unwrap();
    assert!(!report.truncated && !report.cancelled);
    all
}

/// Draws a set from one of several families. Members of a family are equal or differ a little; some sets are empty.
pub fn set(random: &mut Random, families: u64) -> Vec<u64> {
    let family = random.below(families);
    let size = [6, 70, 100, 400][(family % 4) as usize];
    match random.below(20) {
        0 => Vec::new(),
        1..=4 => (0..size).map(|i| family * 331 + i).collect(),
        _ => {
            let missing = random.below(size / 2);
            let mut set: Vec<u64> = (missing..size).map(|i| family * 331 + i).collect();
            set.extend((0..random.below(size / 2 + 1)).map(|_| random.below(1 << 14)));
            set
        }
    }
}
