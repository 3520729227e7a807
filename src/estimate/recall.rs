//! The chance to be found through slots, for sets of any size.
//!
//! In: a scheme, what is asked of its slots, and, where samples are copied, the size of the query's set. Out: the
//! probability that a set of a given similarity has enough slots in common with the query.
//!
//! With independent samples each agrees with probability P, a slot of g with `P^g`, and of L slots at least m do by the
//! binomial distribution: [`planning`]. One-permutation samples find elements in bins, and bins without
//! an element copy others. Whether a sample of two sets finds a common element is decided by the union of the sets, U
//! elements of which `I = U R` are common: it does if the least element of the bin that it finds is one of these. What
//! is not common agrees by chance, anew for each sample, since copies are mixed with the sample's number.
//!
//! - Samples of one bin find a common element together or not at all. Samples of different bins find different elements:
//!   draws without replacement. So two samples that come of one bin with probability s have the correlation
//!   `s - (1 - s)/(U - 1)`. On average over all pairs of samples it is `(F - 1)/(k - 1)`, F being the
//!   [factor on the variance](super::small_sets::variance_factor): above 0 for sets smaller than about .85 k, below for
//!   larger ones, and 0 in the end.
//! - All slots therefore see a share X of common elements instead of R, as if j of the U elements had been drawn
//!   and G of them were common: `X = G/j`, G by the hypergeometric distribution. j is such that the variance of X is the
//!   covariance of two samples, or somewhat more. Slots agree independently given X, and their number is averaged
//!   over X. What the spread of X changes is scaled to the covariance, sign and all: where the correlation is
//!   negative, as much is taken the other way.
//! - Samples of one slot differ from others by how often two and three of them come of one bin under the seed of the
//!   scheme ([`SharedDonors`]). A slot agrees more or less often by these moments: exactly so for slots of three
//!   samples, while higher moments of longer ones are left out.
//!
//! On average over all seeds this is within .002 of the exact probability, for the default and `precise` and sets of any
//! size, where independent samples are up to .02 off; under a given seed it is within about .015, and they are a few
//! hundredths off.

use super::law::Law;
use super::planning;
use super::small_sets::variance_factor;
use crate::scheme::Scheme;
use crate::sketch::SharedDonors;

/// Samples of sets as large as this, or of no known size, are independent.
const LARGE: f64 = 1e9;

/// Most draws j. More would only take longer: fewer spread X more than is needed, and that is made up by scaling.
const MOST_DRAWS: f64 = 128.0;

/// Terms of the distribution of X that are smaller than this share of the largest are left out.
const SMALLEST_TERM: f64 = 1e-9;

/// What samples of small sets have in common, as far as the query knows.
#[derive(Debug, Clone, Copy)]
pub struct Copies<'a> {
    /// The size of the query's set. The sets that are looked for are taken to be as large.
    pub elements: f64,
    /// How often samples of a slot come of one bin; without it, as often as any others.
    pub shared: Option<&'a SharedDonors>,
}

/// The chance to be found.
#[derive(Debug, Clone, Copy)]
pub struct Recall<'a> {
    /// The scheme.
    pub scheme: &'a Scheme,
    /// The least number of slots that must match.
    pub min_matches: u32,
    /// Whether slot values that differ in one bit match, too.
    pub within_1: bool,
    /// For one-permutation samples of a set whose size is known; other samples have nothing in common.
    pub copies: Option<Copies<'a>>,
}

impl Recall<'_> {
    /// The probability that a set of this resemblance, or cosine, is found. Sets are tiny against their universe.
    pub fn at(&self, similarity: f64) -> f64 {
        let differ = 0.0 < similarity && similarity < 1.0;
        match self.copies {
            Some(copies) if differ && copies.elements < LARGE && self.scheme.samples > 1 => {
                self.with_copies(similarity, copies)
            }
            _ => planning::found_by(self.scheme, similarity, self.min_matches, self.within_1),
        }
    }

    fn with_copies(&self, resemblance: f64, copies: Copies<'_>) -> f64 {
        let (k, r) = (self.scheme.samples, resemblance);
        // Different sets of one size, with anything in common, have no fewer.
        let union = (2.0 * copies.elements / (1.0 + r)).max(3.0);
        let correlation = (variance_factor(union, k) - 1.0) / (f64::from(k) - 1.0);
        let spread = Spread::new(union, r, correlation.abs());
        let scale = correlation * r * (1.0 - r) / spread.variance(r);
        let all = Together { two: correlation, three: scale * spread.skewness(union) };
        let slot = copies.shared.map_or(all, |shared| Together::of(shared, union, all));
        let excess = Together { two: slot.two - all.two, three: slot.three - all.three };
        let found = |x: f64| self.with_excess(x, excess);
        let plain = found(r);
        (plain + scale * (spread.mean(found) - plain)).clamp(0.0, 1.0)
    }

    /// The probability if slots agree independently and samples of a slot agree together by so much.
    fn with_excess(&self, resemblance: f64, excess: Together) -> f64 {
        let slots = &self.scheme.slots;
        let plain = planning::slot_found(self.scheme, resemblance, self.within_1);
        let slot = plain + self.by_agreeing_together(resemblance, excess);
        planning::at_least(self.min_matches, slots.count.into(), slot.clamp(0.0, 1.0))
    }

    /// How much more often a slot agrees for its samples agreeing together: the terms of second and third order. Each
    /// is a central moment of the agreements of two samples, or three, for all that there are, times the difference
    /// that so many samples make while the others agree by chance.
    fn by_agreeing_together(&self, resemblance: f64, Together { two, three }: Together) -> f64 {
        let (scheme, r) = (self.scheme, resemblance);
        let (law, g) = (Law::of(scheme), i32::from(scheme.slots.samples_per_slot));
        let (p, step) = (law.agreement(r), 1.0 - law.agreement(0.0));
        // If others agree, or, within one bit, all but one of them, or one of these samples differs.
        let near = if self.within_1 { planning::one_bit_of_different(scheme.bits) } else { 0.0 };
        let others = |these: i32| {
            let left = g - these;
            let one = f64::from(left) * (1.0 - p) * near * p.powi((left - 1).max(0));
            p.powi(left) * (1.0 - f64::from(these) * near) + one
        };
        let variance = r * (1.0 - r);
        let mut more = 0.0;
        if g >= 2 {
            let pairs = f64::from(g) * f64::from(g - 1) / 2.0;
            more += pairs * two * variance * step.powi(2) * others(2);
        }
        if g >= 3 {
            let triples = f64::from(g) * f64::from(g - 1) * f64::from(g - 2) / 6.0;
            more += triples * three * variance * (1.0 - 2.0 * r) * step.powi(3) * others(3);
        }
        more * (1.0 - planning::folded_alike(&scheme.slots, scheme.bits))
    }
}

/// How much samples find the same or not together: the central moments of two samples, and of three, as multiples of
/// the second and the third of one, `R (1 - R)` and `R (1 - R) (1 - 2 R)`.
#[derive(Debug, Clone, Copy)]
struct Together {
    two: f64,
    three: f64,
}

impl Together {
    /// That of two and three samples of a slot, for a union of U elements; what is not known is as for `all` samples.
    ///
    /// Samples of different bins are draws without replacement: a product of moments over different draws is that of
    /// one draw times `-1/(U - 1)` for two bins and `2/((U - 1)(U - 2))` for three.
    fn of(shared: &SharedDonors, union: f64, all: Together) -> Together {
        let same = shared.of_two(union);
        let two = same - (1.0 - same) / (union - 1.0);
        let three = shared.of_three(union).map_or(all.three, |one_bin| {
            let two_bins = 3.0 * (same - one_bin);
            let three_bins = 1.0 - one_bin - two_bins;
            one_bin - two_bins / (union - 1.0) + 2.0 * three_bins / ((union - 1.0) * (union - 2.0))
        });
        Together { two, three }
    }
}

/// The distribution of the share X that samples see: G common ones of j draws without replacement.
pub(super) struct Spread {
    /// The probability of G, for each.
    terms: Vec<f64>,
}

impl Spread {
    /// For a union of U elements, whose common share is R, with draws such that two samples have about this correlation,
    /// or a greater one. Sizes need not be whole: U is rounded, and `U R` lies between two whole numbers, either of
    /// which is taken, so that the mean is R.
    pub(super) fn new(union: f64, resemblance: f64, correlation: f64) -> Spread {
        let whole = union.round();
        let draws = union / (1.0 + correlation * (union - 1.0));
        let draws = draws.floor().min(whole - 1.0).clamp(1.0, MOST_DRAWS);
        let common = whole * resemblance;
        let mut spread = Spread { terms: vec![0.0; draws as usize + 1] };
        spread.add(whole, common.floor(), draws, 1.0 - common.fract());
        spread.add(whole, common.floor() + 1.0, draws, common.fract());
        spread
    }

    /// Adds a hypergeometric distribution, from its mode to both sides.
    fn add(&mut self, all: f64, common: f64, draws: f64, weight: f64) {
        let ratio =
            |g: f64| (common - g) * (draws - g) / ((g + 1.0) * (all - common - draws + g + 1.0));
        let mode = ((draws + 1.0) * (common + 1.0) / (all + 2.0)).floor().min(draws);
        let upwards = terms(mode, |g| (g < draws).then(|| (g + 1.0, ratio(g))));
        let downwards = terms(mode, |g| (g > 0.0).then(|| (g - 1.0, 1.0 / ratio(g - 1.0))));
        let all: Vec<(f64, f64)> = upwards.chain(downwards.skip(1)).collect();
        let sum: f64 = all.iter().map(|(_, term)| term).sum();
        all.iter().for_each(|(g, term)| self.terms[*g as usize] += weight * term / sum);
    }

    pub(super) fn draws(&self) -> f64 {
        (self.terms.len() - 1) as f64
    }

    pub(super) fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        let draws = self.draws();
        let terms = self.terms.iter().enumerate().filter(|(_, term)| **term > 0.0);
        terms.map(|(g, term)| term * of(g as f64 / draws)).sum()
    }

    pub(super) fn variance(&self, mean: f64) -> f64 {
        self.mean(|x| (x - mean) * (x - mean))
    }

    /// The third central moment as a multiple of that of one draw, from a union of U elements.
    pub(super) fn skewness(&self, union: f64) -> f64 {
        let draws = self.draws();
        (union - draws) * (union - 2.0 * draws) / (draws * draws * (union - 1.0) * (union - 2.0))
    }
}

/// The number g and its term, from 1 on, and all that follow by ratios until terms are negligible.
fn terms(start: f64, next: impl Fn(f64) -> Option<(f64, f64)>) -> impl Iterator<Item = (f64, f64)> {
    std::iter::successors(Some((start, 1.0)), move |(g, term)| {
        let (g, ratio) = next(*g)?;
        Some((g, term * ratio)).filter(|(_, term)| *term > SMALLEST_TERM && term.is_finite())
    })
}
