//! Equal samples and set sizes decide about similarity.
//!
//! In: how many samples two signatures have in common, and the cardinality codes of both. Out: an estimate, whether it
//! passes the threshold, and the fewest equal samples that can pass, so that most signatures are rejected by a count.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::memo::Memo;
use super::requirements::Conditions;
use crate::estimate::{Accept, Comparison, Law, TOLERANCE, half_bit};
use crate::scheme::{Cardinality, CardinalityField, Scheme, Universe};

/// With at most this many pairs of cardinality codes, the fewest equal samples are worked out for every pair. A pair takes
/// microseconds by estimate, and tens of times as long by interval.
const FEW_PAIRS: usize = 128 * 129 / 2;
const FEW_PAIRS_BY_INTERVAL: usize = 48 * 49 / 2;

/// With more distinct codes, their pairs are not even counted.
const FEW_CODES: usize = 512;

/// What two signatures must have in common, at least, to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Minimum {
    pub(crate) equal_samples: u32,
    /// Matching slots. With 0, slots do not matter.
    pub(crate) slots: u32,
}

/// The conditions applied to counts of equal samples. Remembers what is costly to decide.
#[derive(Debug)]
pub(crate) struct MatchRule {
    scheme: Arc<Scheme>,
    /// The law for sets that are tiny against their universe.
    law: Law,
    conditions: Conditions,
    /// How many equal samples are enough, by both codes, the smaller first.
    enough: Memo<(u32, u32), Enough>,
    /// Whether a count passes by its interval, by the count and both codes.
    accepted: Memo<(u32, u32, u32), bool>,
    /// Whether a count certainly reaches the threshold, by the count and both codes.
    certain: Memo<(u32, u32, u32), bool>,
}

/// How many equal samples are enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Enough {
    /// The fewest of 0 to k - 1; k if none of these are enough.
    fewest: u32,
    /// Whether k are enough. One permutation of a small set may miss the elements in which sets differ, so k equal
    /// samples can say less than k - 1.
    all: bool,
}

impl MatchRule {
    pub(crate) fn new(scheme: &Arc<Scheme>, conditions: Conditions) -> MatchRule {
        MatchRule {
            scheme: Arc::clone(scheme),
            law: Law::of(scheme),
            conditions,
            enough: Memo::default(),
            accepted: Memo::default(),
            certain: Memo::default(),
        }
    }

    pub(crate) fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Whether estimates depend on cardinality codes.
    pub(crate) fn needs_codes(&self) -> bool {
        self.scheme.cardinality != CardinalityField::None
    }

    fn size(&self, code: u32) -> Option<Cardinality> {
        self.scheme.cardinality.decode(code, self.scheme.universe)
    }

    /// All that so many equal samples say about sets with these cardinality codes.
    pub(crate) fn comparison(&self, equal: u32, a: u32, b: u32) -> Comparison {
        Comparison::new(&self.scheme, equal, self.size(a).zip(self.size(b)), false)
    }

    /// The estimate alone. It never falls when `equal` grows.
    pub(crate) fn estimate(&self, equal: u32, a: u32, b: u32) -> f64 {
        self.comparison(equal, a, b).similarity_value()
    }

    /// Whether a pair passes whose estimate is known to reach the threshold, or need not: only intervals are left to
    /// check. Queries ask this, since they rank by estimates anyway. Otherwise use [`passes`](MatchRule::passes).
    pub(crate) fn interval_passes(&mut self, equal: u32, a: u32, b: u32) -> bool {
        let Conditions { accept, threshold, .. } = self.conditions;
        match accept {
            Accept::Estimate => return true,
            Accept::Possible | Accept::Certain if !self.conditions.has_threshold() => return true,
            Accept::Possible | Accept::Certain => {}
        }
        let key = (equal, a, b);
        if let Some(passes) = self.accepted.get(&key) {
            return passes;
        }
        let passes = accept.passes(&self.comparison(equal, a, b), threshold);
        self.accepted.insert(key, passes)
    }

    /// Whether so many equal samples are enough for sets with these codes.
    pub(crate) fn passes(&mut self, equal: u32, a: u32, b: u32) -> bool {
        let Enough { fewest, all } = self.enough(a, b);
        if equal >= self.scheme.samples { all } else { equal >= fewest }
    }

    fn enough(&mut self, a: u32, b: u32) -> Enough {
        let (a, b) = (a.min(b), a.max(b));
        if let Some(enough) = self.enough.get(&(a, b)) {
            return enough;
        }
        let (k, Conditions { accept, threshold, .. }) = (self.scheme.samples, self.conditions);
        let passes = |equal: u32| accept.passes(&self.comparison(equal, a, b), threshold);
        let enough = Enough { fewest: fewest(k, passes), all: passes(k) };
        self.enough.insert((a, b), enough)
    }

    /// Whether a pair that passes does not certainly reach the threshold.
    pub(crate) fn undecided(&mut self, equal: u32, a: u32, b: u32) -> bool {
        // No interval goes below the least possible similarity, and intervals are costly.
        let threshold = self.conditions.threshold;
        if threshold <= self.law.least() {
            return false;
        }
        let key = (equal, a.min(b), a.max(b));
        if let Some(certain) = self.certain.get(&key) {
            return !certain;
        }
        let certain = self.comparison(equal, a, b).certainly_at_least(threshold);
        !self.certain.insert(key, certain)
    }

    /// A lower bound of the equal samples that sets need for an estimate of at least `similarity`; k + 1 if no count
    /// gives it. `smallest` is the size of the smallest set that is known exactly, if there is any.
    pub(crate) fn fewest_equal(&self, similarity: f64, smallest: Option<f64>) -> u32 {
        if similarity == f64::NEG_INFINITY {
            return 0;
        }
        // Where both sizes are known, an estimate is rounded to a possible value, by at most two elements of the union.
        let rounding = smallest.map_or(0.0, |size| 2.0 / (size + 1.0));
        let bound = similarity - TOLERANCE - rounding;
        if self.needs_codes() && bound <= 0.0 {
            return 0;
        }
        let k = self.scheme.samples;
        match (self.law, self.scheme.universe) {
            (Law::Sign, _) | (_, Universe::Open) => {
                fewest(k + 1, |equal| self.law.similarity(share(equal, k)) >= bound)
            }
            // In a bounded universe chance agreements depend on both sizes. But they only add: the share of equal
            // samples is at least the estimate.
            (Law::Minwise(_), Universe::Bounded(_)) => {
                fewest(k + 1, |equal| share(equal, k) >= bound)
            }
            // Any agreement of half bits may come from a resemblance of up to one half.
            (Law::HalfBit(_), Universe::Bounded(_)) if bound <= 0.5 => 0,
            (Law::HalfBit(_), Universe::Bounded(_)) => {
                let least = half_bit::agreement(bound) - TOLERANCE;
                fewest(k + 1, |equal| share(equal, k) >= least)
            }
        }
    }

    /// The same for one of the sets, whose code is known.
    pub(crate) fn fewest_equal_with(&self, similarity: f64, code: u32) -> u32 {
        self.fewest_equal(similarity, self.size(code).and_then(|size| size.known()))
    }

    /// The fewest equal samples with which any two sets of these codes match; k + 1 if none do.
    pub(crate) fn fewest_equal_among(&mut self, codes: &[u32]) -> u32 {
        let codes: BTreeSet<u32> = codes.iter().copied().collect();
        let Some(pairs) = self.few_pairs(&codes) else {
            let known = codes.iter().filter_map(|code| self.size(*code)?.known());
            let smallest = known.min_by(f64::total_cmp);
            return self.fewest_equal(self.conditions.least_estimate(), smallest);
        };
        let (k, Conditions { accept, threshold, .. }) = (self.scheme.samples, self.conditions);
        let mut least = k + 1;
        for (a, b) in pairs {
            // One comparison shows that most pairs do not need fewer than others.
            let fewer = least.saturating_sub(1);
            if least <= k
                && (least == 0 || !accept.passes(&self.comparison(fewer, a, b), threshold))
            {
                continue;
            }
            let Enough { fewest, all } = self.enough(a, b);
            if fewest < k || all {
                least = least.min(fewest);
            }
        }
        least
    }

    /// The pairs of codes of sets that can match, if there are few.
    fn few_pairs(&self, codes: &BTreeSet<u32>) -> Option<Vec<(u32, u32)>> {
        if codes.len() > FEW_CODES {
            return None;
        }
        let Conditions { accept, threshold, .. } = self.conditions;
        let most = match accept {
            Accept::Estimate => FEW_PAIRS,
            Accept::Possible | Accept::Certain => FEW_PAIRS_BY_INTERVAL,
        };
        // Only for possible matches, sizes alone decide before anything else does.
        let can_match = |a: u32, b: u32| {
            accept != Accept::Possible || self.comparison(0, a, b).sizes_allow(threshold)
        };
        let pairs = codes.iter().flat_map(|a| codes.range(a..).map(|b| (*a, *b)));
        let pairs: Vec<_> = pairs.filter(|(a, b)| can_match(*a, *b)).take(most + 1).collect();
        (pairs.len() <= most).then_some(pairs)
    }
}

fn share(equal: u32, k: u32) -> f64 {
    f64::from(equal) / f64::from(k)
}

/// The least number below `end` that is enough, where larger numbers are too; `end` if none is.
fn fewest(end: u32, mut enough: impl FnMut(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Packing, Parameters, Sampler, presets};

    fn schemes() -> Vec<Arc<Scheme>> {
        let bounded = Parameters {
            universe: Universe::Bounded(1 << 12),
            sampler: Sampler::Independent,
            cardinality: CardinalityField::Linear8,
            ..presets::PRECISE
        };
        let unsized_sets =
            Parameters { cardinality: CardinalityField::None, ..presets::NEAR_DUPLICATE };
        let exact = Parameters { cardinality: CardinalityField::Exact, ..presets::NEAR_DUPLICATE };
        let all = [
            presets::NEAR_DUPLICATE,
            presets::HALF_BIT,
            presets::COSINE,
            presets::WEIGHTED,
            exact,
            unsized_sets,
            bounded,
        ];
        assert_eq!(presets::HALF_BIT.packing, Packing::XorPairs);
        all.into_iter().map(|scheme| Arc::new(Scheme::new(scheme).unwrap())).collect()
    }

    fn codes(scheme: &Scheme) -> Vec<u32> {
        match scheme.cardinality {
            CardinalityField::None => vec![0],
            CardinalityField::Linear4 => vec![0, 3, 15],
            CardinalityField::Linear8 => vec![0, 1, 7, 90, 255],
            CardinalityField::Log8 | CardinalityField::Exact => vec![1, 2, 9, 20, 60, 110],
        }
    }

    fn rule(scheme: &Arc<Scheme>, threshold: f64, accept: Accept) -> MatchRule {
        let conditions = Conditions { threshold, accept, min_slots: 0, within_hamming_1: false };
        MatchRule::new(scheme, conditions)
    }

    /// No estimate that reaches a similarity comes from fewer equal samples than the bound says.
    #[test]
    fn no_count_below_the_bound_reaches_a_similarity() {
        for scheme in schemes() {
            let rule = rule(&scheme, f64::NEG_INFINITY, Accept::Estimate);
            for similarity in [f64::NEG_INFINITY, -0.4, 0.0, 0.05, 0.3, 0.5, 0.7, 0.9, 1.0] {
                for a in codes(&scheme) {
                    let bound = rule.fewest_equal_with(similarity, a);
                    for b in codes(&scheme) {
                        let reaches = |equal: &u32| rule.estimate(*equal, a, b) >= similarity;
                        let fewest = (0..=scheme.samples).find(reaches);
                        let fewest = fewest.unwrap_or(scheme.samples + 1);
                        assert!(bound <= fewest, "{scheme:?} {similarity} {a} {b}");
                    }
                }
            }
        }
    }

    /// Codes of many sizes: far apart, sets cannot be similar, so few pairs are left, and the bound is the best one.
    #[test]
    fn many_codes_have_the_best_bound() {
        let scheme = Arc::new(Scheme::new(presets::NEAR_DUPLICATE).unwrap());
        let codes: Vec<u32> = (1..=140).collect();
        let mut rule = rule(&scheme, 0.8, Accept::Possible);
        assert!(codes.len() * codes.len() / 2 > FEW_PAIRS_BY_INTERVAL);
        let mut least = scheme.samples + 1;
        for a in &codes {
            for b in &codes {
                let possible = |equal: &u32| rule.comparison(*equal, *a, *b).possibly_at_least(0.8);
                let fewest = (0..least).find(possible);
                least = fewest.unwrap_or(least);
            }
        }
        assert!(least > 10 && least < scheme.samples, "{least}");
        assert_eq!(rule.fewest_equal_among(&codes), least);
    }

    /// Remembered and searched counts decide as each comparison does by itself.
    #[test]
    fn counts_pass_as_their_comparisons_do() {
        for scheme in schemes() {
            for accept in [Accept::Estimate, Accept::Possible, Accept::Certain] {
                let mut rule = rule(&scheme, 0.6, accept);
                let fewest = rule.fewest_equal_among(&codes(&scheme));
                let mut least = scheme.samples + 1;
                for a in codes(&scheme) {
                    for b in codes(&scheme) {
                        for equal in (0..=scheme.samples).step_by(5).chain([scheme.samples]) {
                            let comparison = rule.comparison(equal, a, b);
                            let expected = accept.passes(&comparison, 0.6);
                            assert_eq!(rule.passes(equal, a, b), expected, "{scheme:?} {equal}");
                            let undecided = !comparison.certainly_at_least(0.6);
                            assert_eq!(rule.undecided(equal, a, b), undecided);
                            if accept != Accept::Estimate {
                                assert_eq!(rule.interval_passes(equal, a, b), expected);
                            }
                            least = if expected { least.min(equal) } else { least };
                        }
                    }
                }
                assert!(fewest <= least && least <= scheme.samples, "{scheme:?} {accept:?}");
            }
        }
    }
}
