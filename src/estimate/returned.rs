//! The probability that a query returns a set: the index has to find it, and it has to pass the threshold.
//!
//! In: a scheme, the query's conditions, and the size of its set. Out: the probability that a set of a given
//! similarity is found, passes, and is returned.
//!
//! Both events depend on the number x of equal samples. Given x, each choice of equal samples is equally likely. So
//! the distribution of x, restricted to counts that pass, is weighted with the probability that enough slots are
//! completely equal. The latter is a product of one polynomial per slot, whose coefficients are the probabilities of
//! x equal samples. Dependent samples spread x more or less than independent ones
//! ([`dependence`](super::dependence)), so the distribution is raised to a power that has this spread and keeps its
//! mean. For one permutation, being found also depends on which bins copy each other ([`Recall`]), and the product is
//! scaled accordingly.

use super::comparison::Comparison;
use super::law::Law;
use super::pair::{Agreement, Sampling};
use super::planning;
use super::posterior::Evidence;
use super::recall::{Copies, Recall};
use super::sizes::Sizes;
use super::threshold::Accept;
use crate::scheme::{Cardinality, Sampler, Scheme};
use crate::sketch::SharedDonors;

/// Up to this many steps, the joint distribution of finding and passing is computed. Larger schemes have so many
/// samples that the two events are practically independent.
const MOST_STEPS: u64 = 1 << 22;

/// Up to this size, a set is searched for that can have the resemblance exactly.
const SMALL: f64 = 64.0;

/// The probability of being returned.
#[derive(Debug, Clone, Copy)]
pub struct Returned<'a> {
    /// The scheme.
    pub scheme: &'a Scheme,
    /// The least number of slots that must match, or 0 if all signatures are compared.
    pub min_matches: u32,
    /// Whether slot values that differ in one bit match, too.
    pub within_1: bool,
    /// The size of the query's set, if it is known. The wanted sets are assumed to be about as large.
    pub elements: Option<f64>,
    /// For one permutation, how often samples of a slot come from one bin.
    pub shared: Option<&'a SharedDonors>,
    /// The threshold, if there is one, and what must reach it.
    pub threshold: Option<(f64, Accept)>,
}

impl Returned<'_> {
    /// The probability that the index finds a set of this similarity.
    pub fn seen(&self, similarity: f64) -> f64 {
        if self.min_matches == 0 {
            return 1.0;
        }
        let copied = self.scheme.sampler == Sampler::OnePermutation;
        let copies = self.elements.filter(|_| copied);
        let copies = copies.map(|elements| Copies { elements, shared: self.shared });
        let Returned { scheme, min_matches, within_1, .. } = *self;
        let independent = Recall { scheme, min_matches, within_1, copies }.at(similarity);
        if copied || within_1 || !self.is_tractable() {
            return independent;
        }
        self.joint(similarity, 0)
    }

    /// The probability that it passes the threshold.
    pub fn passes(&self, similarity: f64) -> f64 {
        self.counts(similarity)[self.fewest(similarity) as usize..].iter().sum::<f64>().min(1.0)
    }

    /// The probability that it is returned: found and passed.
    pub fn at(&self, similarity: f64) -> f64 {
        if self.min_matches == 0 {
            return self.passes(similarity);
        }
        let fewest = self.fewest(similarity);
        if fewest == 0 {
            return self.seen(similarity);
        }
        if self.within_1 || !self.is_tractable() {
            return self.seen(similarity) * self.passes(similarity);
        }
        let (joint, seen) = (self.joint(similarity, fewest), self.joint(similarity, 0));
        let scale = if seen > 0.0 { self.seen(similarity) / seen } else { 0.0 };
        (joint * scale).min(self.passes(similarity))
    }

    fn is_tractable(&self) -> bool {
        let slots = self.scheme.slots;
        let each = u64::from(self.min_matches) * (u64::from(slots.samples_per_slot) + 1);
        let steps = each.saturating_mul(u64::from(slots.count) * u64::from(self.scheme.samples));
        steps <= MOST_STEPS
    }

    /// The size of the query's set, and that of a typical wanted set.
    fn sizes(&self, similarity: f64) -> Option<(Cardinality, Cardinality)> {
        let (scheme, f1) = (self.scheme, self.elements?.round().max(1.0));
        let f2 = if f1 <= SMALL { partner(f1, similarity) } else { f1 };
        let field = |size: f64| {
            let code = scheme.cardinality.encode(size as u64, scheme.universe).ok()?;
            scheme.cardinality.decode(code, scheme.universe)
        };
        field(f1).zip(field(f2))
    }

    fn comparison(&self, similarity: f64, equal: u32) -> Comparison {
        Comparison::new(self.scheme, equal, self.sizes(similarity), false)
    }

    /// The least number of equal samples that passes, or one more than there are if none does.
    fn fewest(&self, similarity: f64) -> u32 {
        let Some((threshold, accept)) = self.threshold else { return 0 };
        let passes = |equal| accept.passes(&self.comparison(similarity, equal), threshold);
        let (mut low, mut high) = (0, self.scheme.samples + 1);
        while low < high {
            let middle = low.midpoint(high);
            if passes(middle) { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// The probability of each count of equal samples, 0 to k, followed by nothing.
    fn counts(&self, similarity: f64) -> Vec<f64> {
        let comparison = self.comparison(similarity, 0);
        let k = self.scheme.samples;
        let p = comparison.law().agreement(similarity).clamp(0.0, 1.0);
        let mut counts = binomial(k, p);
        let power = self.effective_samples(similarity, comparison.law()) / f64::from(k);
        if (power - 1.0).abs() > 1e-6 && p > 0.0 && p < 1.0 {
            counts = with_mean(&counts, power, f64::from(k) * p);
        }
        counts.push(0.0);
        counts
    }

    /// The number of independent samples with the same spread, by the true sizes of the sets.
    fn effective_samples(&self, similarity: f64, law: Law) -> f64 {
        let samples = self.scheme.samples;
        let Some(f1) = self.elements.map(|elements| elements.round().max(1.0)) else {
            return f64::from(samples);
        };
        let f2 = if f1 <= SMALL { partner(f1, similarity) } else { f1 };
        let sampling = Sampling::of(self.scheme.sampler, Some(f1 + f2));
        let [first, second] = [f1, f2].map(|f| Cardinality::exact(f as u64));
        let agreement = Agreement { equal: 0, samples, law, sampling };
        Evidence { agreement, sizes: Sizes { first, second } }.effective_samples(similarity)
    }

    /// The probability that enough slots match and at least this many samples are equal.
    fn joint(&self, similarity: f64, fewest: u32) -> f64 {
        let comparison = self.comparison(similarity, 0);
        let p = comparison.law().agreement(similarity).clamp(0.0, 1.0);
        let all = binomial(self.scheme.samples, p);
        let missed = self.missed(p);
        let counts = self.counts(similarity);
        let from = fewest as usize;
        let terms = counts.iter().zip(all.iter().zip(&missed)).skip(from);
        let seen = |(count, (all, missed)): (&f64, (&f64, &f64))| {
            if *all > 0.0 { count * (1.0 - missed / all).clamp(0.0, 1.0) } else { 0.0 }
        };
        terms.map(seen).sum::<f64>().clamp(0.0, 1.0)
    }

    /// For each count x, the probability that x independent samples are equal and too few slots match.
    fn missed(&self, p: f64) -> Vec<f64> {
        let (k, slots) = (self.scheme.samples as usize, self.scheme.slots);
        let (g, count) = (usize::from(slots.samples_per_slot), usize::from(slots.count));
        let folded = planning::folded_alike(&slots, self.scheme.bits);
        let slot = binomial(g as u32, p);
        let m = self.min_matches as usize;
        // ways[j][x]: j slots match so far, x samples are equal.
        let mut ways = vec![vec![0.0; k + 1]; m];
        ways[0][0] = 1.0;
        for i in 0..count {
            let mut next = vec![vec![0.0; k + 1]; m];
            for j in 0..m {
                for x in 0..=(i * g).min(k) {
                    let here = ways[j][x];
                    if here == 0.0 {
                        continue;
                    }
                    for (equal, chance) in slot.iter().enumerate() {
                        let matches = if equal == g { 1.0 } else { folded };
                        next[j][x + equal] += here * chance * (1.0 - matches);
                        if j + 1 < m {
                            next[j + 1][x + equal] += here * chance * matches;
                        }
                    }
                }
            }
            ways = next;
        }
        let together: Vec<f64> = (0..=k).map(|x| ways.iter().map(|of| of[x]).sum()).collect();
        let rest = binomial((k - count * g) as u32, p);
        let mut missed = vec![0.0; k + 1];
        for (x, here) in together.iter().enumerate().filter(|(_, here)| **here > 0.0) {
            for (more, chance) in rest.iter().enumerate() {
                missed[x + more] += here * chance;
            }
        }
        missed
    }
}

/// The size nearest to f of a set that can have this resemblance to one of f elements, or comes closest to it.
fn partner(f: f64, resemblance: f64) -> f64 {
    if resemblance <= 0.0 || resemblance > 1.0 {
        return f;
    }
    let (least, most) =
        ((resemblance * f).floor().max(1.0), (f / resemblance).ceil().min(4.0 * SMALL));
    let off = |other: f64| {
        let shared = (resemblance / (1.0 + resemblance) * (f + other)).round().min(f.min(other));
        (shared / (f + other - shared) - resemblance).abs()
    };
    let mut best = (off(f), f);
    for other in (least as u64..=most as u64).map(|other| other as f64) {
        let found = off(other);
        let nearer = (other - f).abs() < (best.1 - f).abs();
        if found < best.0 - 1e-9 || (found < best.0 + 1e-9 && nearer) {
            best = (found, other);
        }
    }
    best.1
}

/// The binomial distribution.
fn binomial(n: u32, p: f64) -> Vec<f64> {
    let n = n as usize;
    let mut all = vec![0.0; n + 1];
    if p <= 0.0 || p >= 1.0 {
        all[if p <= 0.0 { 0 } else { n }] = 1.0;
        return all;
    }
    let odds = p / (1.0 - p);
    let mode = (((n + 1) as f64 * p) as usize).min(n);
    all[mode] = 1.0;
    for x in mode..n {
        all[x + 1] = all[x] * odds * (n - x) as f64 / (x + 1) as f64;
    }
    for x in (0..mode).rev() {
        all[x] = all[x + 1] / odds * (x + 1) as f64 / (n - x) as f64;
    }
    let sum: f64 = all.iter().sum();
    all.iter_mut().for_each(|term| *term /= sum);
    all
}

/// A distribution raised to a power, and tilted to this mean.
fn with_mean(counts: &[f64], power: f64, mean: f64) -> Vec<f64> {
    let mut tilt = 0.0;
    let mut raised = Vec::new();
    for _ in 0..20 {
        let ln = |(x, count): (usize, &f64)| power * count.ln() + tilt * (x as f64 - mean);
        let most = counts.iter().enumerate().map(ln).fold(f64::NEG_INFINITY, f64::max);
        raised = counts.iter().enumerate().map(|term| (ln(term) - most).exp()).collect::<Vec<_>>();
        let sum: f64 = raised.iter().sum();
        raised.iter_mut().for_each(|term| *term /= sum);
        let of = |f: &dyn Fn(f64) -> f64| -> f64 {
            raised.iter().enumerate().map(|(x, term)| term * f(x as f64 - mean)).sum()
        };
        let (off, square) = (of(&|d| d), of(&|d| d * d));
        let variance = square - off * off;
        if off.abs() < 1e-9 || variance <= 1e-12 {
            break;
        }
        tilt -= off / variance;
    }
    raised
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::presets;

    fn returned(scheme: &Scheme, threshold: Option<(f64, Accept)>) -> Returned<'_> {
        Returned {
            scheme,
            min_matches: scheme.slots.min_matches.into(),
            within_1: false,
            elements: None,
            shared: None,
            threshold,
        }
    }

    /// With independent samples the polynomials add up to the binomial formula, for one slot and several.
    #[test]
    fn slots_are_seen_as_the_formula_says() {
        for preset in [presets::NEAR_DUPLICATE, presets::PRECISE, presets::BING, presets::RDC] {
            let parameters = crate::Parameters {
                sampler: Sampler::Independent,
                cardinality: crate::scheme::CardinalityField::None,
                ..preset
            };
            let scheme = Scheme::new(parameters).unwrap();
            for similarity in [0.0, 0.2, 0.5, 0.7, 0.95, 1.0] {
                let found = returned(&scheme, None).joint(similarity, 0);
                let expected = planning::found(&scheme, similarity);
                assert!((found - expected).abs() < 1e-9, "{similarity}: {found} {expected}");
            }
        }
    }

    /// Half of the sets at the threshold pass it, nearly all of them are possible, nearly none certain.
    #[test]
    fn what_passes_depends_on_what_must() {
        let scheme = Scheme::precise();
        let at = |accept| returned(&scheme, Some((0.7, accept))).passes(0.7);
        assert!((at(Accept::Estimate) - 0.5).abs() < 0.07, "{}", at(Accept::Estimate));
        assert!(at(Accept::Possible) > 0.998, "{}", at(Accept::Possible));
        assert!(at(Accept::Certain) < 0.002, "{}", at(Accept::Certain));
    }

    /// Seeing and passing go together, so both happen at least as often as the product says.
    #[test]
    fn a_set_is_returned_if_it_is_seen_and_passes() {
        let scheme = Scheme::near_duplicate();
        for similarity in [0.3, 0.4, 0.5, 0.6, 0.8] {
            let asked = returned(&scheme, Some((0.4, Accept::Estimate)));
            let (both, seen, passes) =
                (asked.at(similarity), asked.seen(similarity), asked.passes(similarity));
            assert!(
                both <= seen.min(passes) + 1e-9 && both >= seen * passes - 1e-9,
                "{similarity}"
            );
        }
    }

    #[test]
    fn partners_have_the_resemblance() {
        for (f, r, expected) in
            [(1.0, 0.5, 2.0), (3.0, 0.5, 3.0), (4.0, 0.8, 5.0), (10.0, 0.5, 11.0)]
        {
            assert_eq!(partner(f, r), expected, "{f} {r}");
        }
        assert_eq!(partner(7.0, 0.0), 7.0);
    }

    #[test]
    fn powers_keep_the_mean() {
        let counts = binomial(64, 0.9);
        for power in [0.5, 2.0, 3.0] {
            let raised = with_mean(&counts, power, 57.6);
            let mean: f64 = raised.iter().enumerate().map(|(x, term)| x as f64 * term).sum();
            let square = |x: usize| (x as f64 - mean).powi(2);
            let variance: f64 = raised.iter().enumerate().map(|(x, term)| square(x) * term).sum();
            assert!((mean - 57.6).abs() < 1e-6, "{mean}");
            assert!((variance * power / 5.76 - 1.0).abs() < 0.15, "{power}: {variance}");
        }
    }
}
