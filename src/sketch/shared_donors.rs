//! How often samples of one slot come from the same bin.
//!
//! In: the orders in which the samples of a one-permutation signature look for an element, and the slots. Out: the
//! probability that two or three samples of a slot find the same bin, for any number of elements.
//!
//! If a set has fewer elements than samples, most samples are copies. The orders of donors are the same for all sets.
//! On average over all seeds, all pairs of samples find the same bin equally often. Under one seed they do not: a few
//! dozen pairs of orders decide how often the samples of a slot are copies of each other, and that changes recall by
//! a few hundredths. So this file examines the orders of the scheme itself.

use super::donors::Donors;
use crate::scheme::Slots;

/// Most words of bitmaps to examine, which takes a few milliseconds per sketcher. Larger schemes have so many pairs
/// of samples that the average over all seeds is accurate.
const MOST_WORDS: u64 = 1 << 23;

/// Most bins. More are not worth the memory, since hardly any set is small compared with them.
const MOST_BINS: usize = 1024;

/// How often the samples of one slot find the same bin, over all slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedDonors {
    pairs: Chances,
    triples: Option<Chances>,
}

impl SharedDonors {
    /// `None` if slots have one sample each, or there are too many pairs of samples to examine.
    pub(super) fn new(donors: &Donors, slots: Slots) -> Option<SharedDonors> {
        let (bins, count) = (donors.bins(), u64::from(slots.count));
        let g = u64::from(slots.samples_per_slot);
        let pairs = count * (g * g.saturating_sub(1) / 2);
        let triples = pairs * g.saturating_sub(2) / 3;
        let may_look_at = |subsets: u64| {
            let words = (bins * bins.div_ceil(64)) as u64;
            subsets > 0 && subsets.saturating_mul(words) <= MOST_WORDS
        };
        if bins > MOST_BINS || !may_look_at(pairs) {
            return None;
        }
        let mut pairs = Chances::new(bins);
        let mut triples = may_look_at(triples).then(|| Chances::new(bins));
        for slot in 0..count {
            let samples = (slot * g) as usize..((slot + 1) * g) as usize;
            let orders: Vec<Order> = samples.map(|i| Order::new(donors, i)).collect();
            for (j, second) in orders.iter().enumerate() {
                for (i, first) in orders[..j].iter().enumerate() {
                    let either = first.or(second);
                    pairs.add(&either);
                    if let Some(triples) = &mut triples {
                        orders[..i].iter().for_each(|third| triples.add(&either.or(third)));
                    }
                }
            }
        }
        Some(SharedDonors { pairs, triples })
    }

    /// The probability that two samples of a slot find the same bin, averaged over all slots, when this many elements
    /// (at least one) fall into the bins at random.
    pub fn of_two(&self, elements: f64) -> f64 {
        self.pairs.probability(elements)
    }

    /// The same for three samples of a slot. `None` if slots have fewer, or if there are too many triples to examine.
    pub fn of_three(&self, elements: f64) -> Option<f64> {
        self.triples.as_ref().map(|triples| triples.probability(elements))
    }
}

/// How often samples find the same bin, over many groups of samples.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chances {
    /// Entry s counts the pairs of group and bin for which all samples find the bin if it is occupied and s others
    /// are empty.
    by_others: Vec<u64>,
    groups: u64,
}

impl Chances {
    fn new(bins: usize) -> Chances {
        Chances { by_others: vec![0; bins], groups: 0 }
    }

    /// Adds a group of samples, given the bins before each bin in any of their orders.
    fn add(&mut self, before: &Order) {
        for others in before.words.chunks_exact(before.words_per_bin) {
            let others: u32 = others.iter().map(|word| word.count_ones()).sum();
            self.by_others[others as usize] += 1;
        }
        self.groups += 1;
    }

    /// All samples find a bin if it is occupied and all bins before it, in any of the orders, are empty. s given bins
    /// are empty with probability `(1 - s/k)^n`.
    fn probability(&self, elements: f64) -> f64 {
        let bins = self.by_others.len() as f64;
        let empty = |s: usize| (1.0 - s as f64 / bins).powf(elements);
        let counts = self.by_others.iter().enumerate().filter(|(_, n)| **n > 0);
        let sum: f64 = counts.map(|(s, n)| *n as f64 * (empty(s) - empty(s + 1))).sum();
        sum / self.groups as f64
    }
}

/// The order in which one or several samples look for an element: for each bin, a bitmap of the bins before it.
struct Order {
    words: Vec<u64>,
    words_per_bin: usize,
}

impl Order {
    fn new(donors: &Donors, sample: usize) -> Order {
        let words_per_bin = donors.bins().div_ceil(64);
        let mut words = vec![0; donors.bins() * words_per_bin];
        let mut before = vec![0_u64; words_per_bin];
        for bin in donors.order(sample) {
            words[bin * words_per_bin..][..words_per_bin].copy_from_slice(&before);
            before[bin / 64] |= 1 << (bin % 64);
        }
        Order { words, words_per_bin }
    }

    /// The bins before each bin in either order.
    fn or(&self, other: &Order) -> Order {
        let words = self.words.iter().zip(&other.words).map(|(a, b)| a | b).collect();
        Order { words, words_per_bin: self.words_per_bin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, Scheme, presets};
    use crate::sketch::hash::mix;

    fn counted(samples: u32, count: u16, samples_per_slot: u16) -> (Donors, Option<SharedDonors>) {
        let slots = Slots { count, samples_per_slot, value_bits: 16, min_matches: 1 };
        let parameters = Parameters { samples, bits: 16, slots, ..presets::PRECISE };
        let donors = Donors::new(&Scheme::new(parameters).unwrap());
        let shared = SharedDonors::new(&donors, slots);
        (donors, shared)
    }

    /// Against throwing elements: 10,000 times, within 5 standard errors, a throw being one trial, and 1e-5 for
    /// what is too rare to be seen.
    #[test]
    fn probabilities_are_shares_of_throws() {
        const THROWS: usize = 10_000;
        for (k, count, g) in [(10, 3, 3), (64, 21, 3), (100, 9, 11), (130, 60, 2)] {
            let (donors, shared) = counted(k, count, g);
            let (shared, bins) = (shared.unwrap(), k as usize);
            let orders: Vec<Vec<usize>> = (0..bins).map(|i| donors.order(i).collect()).collect();
            let mut word = u64::from(k);
            for elements in [1, 2, 7, 40, 300] {
                let (mut pairs, mut triples) = (Shares::default(), Shares::default());
                for _ in 0..THROWS {
                    let mut occupied = vec![false; bins];
                    for _ in 0..elements {
                        word = mix(word.wrapping_add(0x9E37_79B9_7F4A_7C15));
                        occupied[word as usize % bins] = true;
                    }
                    let find = |order: &Vec<usize>| *order.iter().find(|b| occupied[**b]).unwrap();
                    let found: Vec<usize> = orders.iter().map(find).collect();
                    let (mut two, mut three) = (0, 0);
                    for slot in found.chunks_exact(g.into()).take(count.into()) {
                        for bin in 0..bins {
                            let n = slot.iter().filter(|found| **found == bin).count();
                            two += n * n.saturating_sub(1) / 2;
                            three += n * n.saturating_sub(1) * n.saturating_sub(2) / 6;
                        }
                    }
                    let g = usize::from(g);
                    let all = usize::from(count) * g * (g - 1) / 2;
                    pairs.add(two as f64 / all as f64);
                    triples.add(three as f64 / (all * (g - 2) / 3).max(1) as f64);
                }
                let at = format!("{k} {elements}");
                pairs.check(shared.of_two(elements.into()), &at);
                match shared.of_three(elements.into()) {
                    Some(probability) => triples.check(probability, &at),
                    None => assert_eq!(g, 2),
                }
            }
        }
    }

    /// Shares seen in many throws.
    #[derive(Default)]
    struct Shares {
        n: f64,
        sum: f64,
        squares: f64,
    }

    impl Shares {
        fn add(&mut self, share: f64) {
            self.n += 1.0;
            self.sum += share;
            self.squares += share * share;
        }

        fn check(&self, expected: f64, at: &str) {
            let mean = self.sum / self.n;
            let error = ((self.squares / self.n - mean * mean).max(0.0) / self.n).sqrt();
            assert!(
                (mean - expected).abs() <= 5.0 * error + 1e-5,
                "{at}: {mean}, {expected}, {error}"
            );
        }
    }

    #[test]
    fn what_has_no_pairs_or_too_many_is_not_looked_at() {
        assert_eq!(counted(64, 64, 1).1, None);
        assert_eq!(counted(1025, 1, 2).1, None);
        assert_eq!(counted(1000, 10, 100).1, None);
        // Too many triples only.
        assert_eq!(counted(512, 32, 11).1.map(|shared| shared.of_three(5.0)), Some(None));
    }
}
