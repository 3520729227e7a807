//! The posterior distribution of the resemblance, given the count of equal samples and the sizes of both sets.
//!
//! In: an [`Evidence`]. Out: its most likely value, and a [`Posterior`] with intervals and probabilities.
//!
//! Sets of f1 and f2 elements share a whole number `a` of elements. So the resemblance is one of the values `a / (f1 +
//! f2 - a)`, and at most the smaller size over the larger one. If both sizes are known, the posterior has one atom for
//! each a. If a stored size is only a range, or the sets are large, it is a density on a grid between 0 and the largest
//! possible resemblance. The prior is uniform in the resemblance.
//!
//! The likelihood of x equal samples of k is that of n independent samples with the same share of agreement: `n^(1/2)
//! exp(-n KL(x/k, P))`, where P is the chance that a sample agrees. n is k divided by the factor by which dependence
//! changes the variance ([`dependence`]).

use super::confidence::Confidence;
use super::dependence;
use super::law::Law;
use super::pair::{Agreement, Sampling};
use super::sizes::Sizes;
use super::small_sets::ln_unseen;

/// If the smaller set has up to this many elements, each possible intersection is an atom.
const MOST_ATOMS: f64 = 512.0;

/// Cells of the grid. The log-likelihood falls by [`REACH`] from its maximum to either end.
const CELLS: usize = 128;

/// Cells if the likelihood may have two maxima. Then the grid covers all possible values.
const WIDE_CELLS: usize = 1024;

/// The grid ends where the log-likelihood is this far below its maximum.
const REACH: f64 = 20.0;

/// A 95 % interval is a single value only if all other values together are less likely than this.
const CERTAIN: f64 = 1e-9;

/// Smaller differences between thresholds and resemblances are rounding errors.
pub(crate) const TOLERANCE: f64 = 1e-9;

/// The evidence about two sets: the count of equal samples, and the sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Evidence {
    pub(crate) agreement: Agreement,
    pub(crate) sizes: Sizes,
}

impl Evidence {
    /// The possible resemblance with the largest likelihood. Never decreases when more samples agree.
    pub(crate) fn most_likely(&self) -> f64 {
        let unbiased = self.agreement.value().clamp(0.0, self.most());
        match self.sizes.known() {
            Some(sizes) => self.nearest_possible(unbiased, sizes),
            None => unbiased,
        }
    }

    /// The more likely of the two possible values around a resemblance.
    fn nearest_possible(&self, resemblance: f64, (f1, f2): (f64, f64)) -> f64 {
        let (total, law) = (f1 + f2, self.agreement.law);
        let of = |a: f64| a / (total - a);
        let below = (resemblance / (1.0 + resemblance) * total).floor().clamp(0.0, f1.min(f2));
        // Without equal samples, a lower resemblance is always more likely.
        if below >= f1.min(f2) || self.agreement.equal == 0 {
            return of(below);
        }
        let above = below + 1.0;
        let (p, q) = (law.agreement(of(below)), law.agreement(of(above)).min(1.0));
        // The rate at which both values are equally likely.
        let less = ((1.0 - p) / (1.0 - q)).ln();
        let even = if q >= 1.0 { 1.0 } else { less / (less + (q / p).ln()) };
        if self.agreement.rate() + TOLERANCE >= even { of(above) } else { of(below) }
    }

    /// The largest resemblance that the sets can have.
    fn most(&self) -> f64 {
        let most = self.sizes.most_resemblance();
        // If a sample differs, the sets differ in an element.
        let differ = self.agreement.equal < self.agreement.samples;
        if differ { most.min(1.0 - 1.0 / self.sizes.largest().max(1.0)) } else { most }
    }

    /// The number of independent samples with the same variance, for sets of this resemblance.
    pub(super) fn effective_samples(&self, resemblance: f64) -> f64 {
        let Agreement { samples, law, sampling, .. } = self.agreement;
        let k = f64::from(samples);
        let (Some(total), Law::Minwise(chance)) = (sampling.total_size(), law) else { return k };
        // At 1 both variances are 0, but their ratio has a limit.
        let r = resemblance.clamp(0.0, 1.0 - 1e-9);
        let factor = dependence::variance_factor(sampling, total / (1.0 + r), samples);
        let independent = chance.variance(chance.agreement(r));
        let excess = 1.0 + (factor - 1.0) * r * (1.0 - r) / independent;
        match sampling {
            Sampling::OnePermutation { .. } => k / excess.max(1.0),
            Sampling::EveryBin { .. } | Sampling::Independent => k / excess.max(0.01),
        }
    }

    /// The log-likelihood of a resemblance, up to a constant.
    fn ln_likelihood(&self, resemblance: f64) -> f64 {
        let seen = self.ln_if_seen(resemblance, self.effective_samples(resemblance));
        let Agreement { equal, samples, sampling, .. } = self.agreement;
        let Sampling::OnePermutation { total_size: Some(total) } = sampling else { return seen };
        // One permutation may miss a few elements. If it misses all shared ones, only chance agreements remain. If it
        // misses all others, all samples agree.
        let union = total / (1.0 + resemblance);
        let (shared, ln_missed) = (union * resemblance, ln_unseen(union, samples));
        let mut all = ln_sum(seen, shared * ln_missed + self.ln_if_seen(0.0, f64::from(samples)));
        if equal >= samples {
            all = ln_sum(all, (union - shared) * ln_missed);
        }
        all
    }

    /// The log-likelihood if no element is missed, with n independent samples.
    fn ln_if_seen(&self, resemblance: f64, n: f64) -> f64 {
        let rate = self.agreement.rate();
        let p = self.agreement.law.agreement(resemblance).clamp(0.0, 1.0);
        let term = |x: f64, p: f64| if x > 0.0 { x * (x / p).ln() } else { 0.0 };
        let divergence = term(rate, p) + term(1.0 - rate, 1.0 - p);
        // At rate 1 it is exactly P^n, and at rate 0 (1 - P)^n: there is no factor n^(1/2).
        let spread = if rate > 0.0 && rate < 1.0 { 0.5 * n.ln() } else { 0.0 };
        spread - n * divergence
    }

    /// The posterior distribution of the resemblance.
    pub(crate) fn posterior(&self) -> Posterior {
        match self.sizes.known() {
            Some((f1, f2)) if f1.min(f2) <= MOST_ATOMS => Posterior::new(self.atoms(f1, f2)),
            _ => self.grid(),
        }
    }

    /// The probability that the resemblance is at least this. On the grid, the threshold is lowered by half an element
    /// of the intersection.
    pub(crate) fn probability(&self, threshold: f64) -> f64 {
        let has_atoms = matches!(self.sizes.known(), Some((f1, f2)) if f1.min(f2) <= MOST_ATOMS);
        let total = self.sizes.first.value + self.sizes.second.value;
        let element = (1.0 + threshold).powi(2) / total.max(1.0);
        let beyond = if has_atoms || threshold <= 0.0 { 0.0 } else { element / 2.0 };
        if threshold > self.sizes.most_resemblance() + TOLERANCE {
            return 0.0;
        }
        self.posterior().at_least(threshold - beyond)
    }

    fn atoms(&self, f1: f64, f2: f64) -> Vec<Cell> {
        let (total, most) = (f1 + f2, f1.min(f2));
        let of = |a: f64| a / (total - a);
        let atom = |a: u32| {
            let a = f64::from(a);
            let width = of((a + 0.5).min(most)) - of((a - 0.5).max(0.0));
            Cell { low: of(a), high: of(a), mass: width, ln_likelihood: self.ln_likelihood(of(a)) }
        };
        (0..=most as u32).map(atom).collect()
    }

    fn grid(&self) -> Posterior {
        let most = self.most();
        let ln_likelihood = |resemblance| self.ln_likelihood(resemblance);
        if matches!(self.agreement.law, Law::HalfBit(_)) {
            return Posterior::new(grid(0.0, most, WIDE_CELLS, &ln_likelihood));
        }
        let peak = self.agreement.value().clamp(0.0, most);
        Posterior::around(peak, 0.0, most, &ln_likelihood)
    }
}

/// Cells of equal width.
fn grid(low: f64, high: f64, cells: usize, ln_likelihood: &impl Fn(f64) -> f64) -> Vec<Cell> {
    let width = ((high - low) / cells as f64).max(f64::MIN_POSITIVE);
    let cell = |i: usize| {
        let start = low + width * i as f64;
        let ln_likelihood = ln_likelihood(start + width / 2.0);
        Cell { low: start, high: (start + width).min(high), mass: width, ln_likelihood }
    };
    (0..cells).map(cell).collect()
}

/// Where the likelihood becomes negligible between its maximum and an end.
fn reach(peak: f64, end: f64, ln_likelihood: &impl Fn(f64) -> f64) -> f64 {
    let least = ln_likelihood(peak) - REACH;
    if ln_likelihood(end) >= least {
        return end;
    }
    let (mut inside, mut outside) = (peak, end);
    for _ in 0..12 {
        let middle = 0.5 * (inside + outside);
        if ln_likelihood(middle) >= least { inside = middle } else { outside = middle }
    }
    outside
}

/// `ln(e^a + e^b)`.
fn ln_sum(a: f64, b: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// A possible value, or a range of them, with its probability.
#[derive(Debug, Clone, Copy)]
struct Cell {
    low: f64,
    high: f64,
    mass: f64,
    ln_likelihood: f64,
}

/// For the interval of a reported pair, the prior density falls `e^UNLIKE`-fold from resemblance 0 to 1. In a real
/// corpus it falls, so reported pairs tend to be less similar than they seem. The figure was chosen on real data.
const UNLIKE: f64 = 32.0;

/// The distribution of a resemblance: cells in ascending order, whose masses sum to 1.
#[derive(Debug)]
pub(crate) struct Posterior {
    cells: Vec<Cell>,
    best: f64,
}

impl Posterior {
    /// From cells with their prior masses.
    fn new(mut cells: Vec<Cell>) -> Posterior {
        let best = cells.iter().map(|cell| cell.ln_likelihood).fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for cell in &mut cells {
            cell.mass *= (cell.ln_likelihood - best).exp();
            sum += cell.mass;
        }
        cells.iter_mut().for_each(|cell| cell.mass /= sum);
        Posterior { cells, best }
    }

    /// The distribution of values from `least` to `most`, for a uniform prior and a likelihood with one maximum.
    pub(super) fn around(
        peak: f64,
        least: f64,
        most: f64,
        ln_likelihood: &impl Fn(f64) -> f64,
    ) -> Posterior {
        let [low, high] = [least, most].map(|end| reach(peak, end, ln_likelihood));
        Posterior::new(grid(low, high, CELLS, ln_likelihood))
    }

    /// The standard deviation.
    pub(crate) fn deviation(&self) -> f64 {
        // Relative to the most likely cell, so that a tiny deviation is not lost in rounding.
        let mean_of = |of: &dyn Fn(&Cell) -> f64| -> f64 {
            self.cells.iter().map(|cell| cell.mass * of(cell)).sum()
        };
        let likeliest = self.cells.iter().max_by(|a, b| a.mass.total_cmp(&b.mass));
        let centre = likeliest.map_or(0.0, Cell::middle);
        let mean = mean_of(&|cell| cell.middle() - centre);
        let square = mean_of(&|cell| {
            let width = cell.high - cell.low;
            (cell.middle() - centre).powi(2) + width * width / 12.0
        });
        (square - mean * mean).max(0.0).sqrt()
    }

    /// The probability that the resemblance is at least this.
    pub(crate) fn at_least(&self, threshold: f64) -> f64 {
        let threshold = threshold - TOLERANCE;
        let above = self.cells.iter().map(|cell| {
            if cell.low >= threshold {
                cell.mass
            } else if cell.high > threshold {
                cell.mass * (cell.high - threshold) / (cell.high - cell.low)
            } else {
                0.0
            }
        });
        above.sum::<f64>().clamp(0.0, 1.0)
    }

    /// The values between the quantiles of both tails, and all others whose likelihood is near the maximum. At 95 %,
    /// the lower end assumes that most pairs are dissimilar ([`UNLIKE`]).
    pub(crate) fn interval(&self, confidence: Confidence) -> (f64, f64) {
        let likely = |cell: &&Cell| cell.ln_likelihood >= self.best - confidence.likelihood_drop();
        let low = self.cells.iter().find(likely).map_or(0.0, |cell| cell.low);
        let high = self.cells.iter().rfind(likely).map_or(1.0, |cell| cell.high);
        let tail = confidence.tail();
        let (low, high) =
            (low.min(self.quantile(tail, 0.0)), high.max(self.quantile(1.0 - tail, 0.0)));
        match confidence {
            Confidence::P999 => (low, high),
            Confidence::P95 => {
                let low = low.min(self.quantile(tail, UNLIKE));
                if low == high { self.two_values(low) } else { (low, high) }
            }
        }
    }

    /// A single value, with its more likely neighbour if the value is not certain.
    fn two_values(&self, value: f64) -> (f64, f64) {
        let Some(at) = self.cells.iter().position(|cell| cell.low >= value) else {
            return (value, value);
        };
        let others: f64 =
            self.cells.iter().map(|cell| cell.mass).sum::<f64>() - self.cells[at].mass;
        let below = at.checked_sub(1).map(|i| self.cells[i]);
        let above = self.cells.get(at + 1).copied();
        let likelier = below.into_iter().chain(above).max_by(|a, b| a.mass.total_cmp(&b.mass));
        match likelier {
            Some(other) if others > CERTAIN => (value.min(other.low), value.max(other.high)),
            _ => (value, value),
        }
    }

    /// The quantile of this probability, if the prior falls by `e^falls` from 0 to 1.
    fn quantile(&self, probability: f64, falls: f64) -> f64 {
        let last = self.cells.last().map_or(1.0, |cell| cell.high);
        let mass = |cell: &Cell| cell.mass * (falls * (last - cell.middle())).exp();
        let probability = probability * self.cells.iter().map(mass).sum::<f64>();
        let mut below = 0.0;
        for cell in &self.cells {
            let mass = mass(cell);
            if below + mass >= probability {
                let part = ((probability - below) / mass).clamp(0.0, 1.0);
                return cell.low + part * (cell.high - cell.low);
            }
            below += mass;
        }
        last
    }
}

impl Cell {
    fn middle(&self) -> f64 {
        0.5 * (self.low + self.high)
    }
}

#[cfg(test)]
#[path = "posterior_tests.rs"]
mod tests;
