//! How much the samples of a set depend on each other, by sampler and set size.
//!
//! In: how samples were drawn, their number k, and the size of the union of two sets. Out: the factor F on the
//! variance of full-width agreement, `Var = F R (1-R) / k`. F is 1 for k independent permutations. For
//! [`Sampling::OnePermutation`] it is [`small_sets::variance_factor`]. For [`Sampling::EveryBin`] each element visits
//! every bin once, so bins rarely see the same element by accident, and F is a third to a half for sets of up to
//! about k elements.
//!
//! Both factors are sums over all bins. A comparison needs them many times, so for each k they are computed once at
//! about 150 union sizes and interpolated.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use super::pair::Sampling;
use super::small_sets;

/// Union sizes up to this are all tabulated.
const EACH_UP_TO: usize = 64;

/// Larger sizes have this many entries per doubling.
const PER_DOUBLING: f64 = 8.0;

/// From this many elements per bin on, samples are practically independent.
const INDEPENDENT_FROM: f64 = 256.0;

/// The variance factor of the every-bin sampler, for a union of at least two elements:
///
/// `F(u) = 1 - sum over l = 1..k-1 of l^u ((l+1)^u + (l-1)^u - 2 l^u) / ((k-1)^(u-1) k^u (u-1))`.
///
/// A union of one element has no variance; F is stated as for two.
///
/// ```
/// use ringer::internals::estimate::dependence::every_bin_factor;
/// assert!((every_bin_factor(2.0, 64) - 0.34).abs() < 0.005);
/// assert!((every_bin_factor(1333.0, 64) - 0.95).abs() < 0.005);
/// ```
pub fn every_bin_factor(union: f64, samples: u32) -> f64 {
    let k = f64::from(samples);
    if samples <= 1 || !union.is_finite() || union >= INDEPENDENT_FROM * k {
        return 1.0;
    }
    let u = union.max(2.0);
    // With g(l) = (l/k)^u this is the sum of g(l) (g(l+1) - 2 g(l) + g(l-1)). The first factor includes
    // (k/(k-1))^(u-1), which could overflow alone.
    let grow = (u - 1.0) * (-1.0 / k).ln_1p();
    let ln = |l: u32| u * (f64::from(l) / k).ln();
    let (mut before, mut here) = (0.0, ln(1).exp());
    let mut sum = 0.0;
    for l in 1..samples {
        let next = ln(l + 1).exp();
        sum += (ln(l) - grow).exp() * (next - 2.0 * here + before);
        (before, here) = (here, next);
    }
    1.0 - k * sum / (u - 1.0)
}

/// The factor on the variance of samples drawn this way, interpolated.
pub(crate) fn variance_factor(sampling: Sampling, union: f64, samples: u32) -> f64 {
    let kind = match sampling {
        Sampling::Independent => return 1.0,
        Sampling::OnePermutation { .. } => Kind::OnePermutation,
        Sampling::EveryBin { .. } => Kind::EveryBin,
    };
    if union.is_nan() || union >= INDEPENDENT_FROM * f64::from(samples) {
        return 1.0;
    }
    LAST.with_borrow_mut(|last| match last {
        Some((known, table)) if *known == (kind, samples) => table.at(union),
        _ => last.insert(((kind, samples), table(kind, samples))).1.at(union),
    })
}

/// A table, with its sampling and k.
type Known = ((Kind, u32), Arc<Table>);

thread_local! {
    /// The table that this thread used last. It is nearly always the next one too, and needs no lock.
    static LAST: RefCell<Option<Known>> = const { RefCell::new(None) };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    OnePermutation,
    EveryBin,
}

/// F at the union sizes 1, 2, .. [`EACH_UP_TO`], and then at increasing steps.
struct Table(Vec<f64>);

impl Table {
    fn new(kind: Kind, samples: u32) -> Table {
        let factor = |union: f64| match kind {
            Kind::OnePermutation => small_sets::variance_factor(union, samples),
            Kind::EveryBin => every_bin_factor(union, samples),
        };
        let most = INDEPENDENT_FROM * f64::from(samples);
        let doublings = (most / EACH_UP_TO as f64).log2().max(0.0);
        let more = (doublings * PER_DOUBLING).ceil() as usize + 1;
        Table((0..EACH_UP_TO + more).map(|i| factor(union_of(i))).collect())
    }

    fn at(&self, union: f64) -> f64 {
        let place = place_of(union.max(1.0));
        let (i, part) = (place.floor() as usize, place.fract());
        match (self.0.get(i), self.0.get(i + 1)) {
            (Some(low), Some(high)) => low + part * (high - low),
            (Some(last), None) => *last,
            _ => 1.0,
        }
    }
}

/// The union size of an entry.
fn union_of(place: usize) -> f64 {
    if place < EACH_UP_TO {
        (place + 1) as f64
    } else {
        EACH_UP_TO as f64 * ((place + 1 - EACH_UP_TO) as f64 / PER_DOUBLING).exp2()
    }
}

/// The inverse, interpolated between entries.
fn place_of(union: f64) -> f64 {
    let each = EACH_UP_TO as f64;
    if union <= each { union - 1.0 } else { each - 1.0 + PER_DOUBLING * (union / each).log2() }
}

/// The tables so far.
type Tables = HashMap<(Kind, u32), Arc<Table>>;

fn table(kind: Kind, samples: u32) -> Arc<Table> {
    static TABLES: LazyLock<RwLock<Tables>> = LazyLock::new(RwLock::default);
    let known =
        TABLES.read().unwrap_or_else(PoisonError::into_inner).get(&(kind, samples)).cloned();
    known.unwrap_or_else(|| {
        let table = Arc::new(Table::new(kind, samples));
        let mut tables = TABLES.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tables.entry((kind, samples)).or_insert(table))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check values of the closed form, by whole numbers.
    #[test]
    fn every_bin_factors() {
        let expected = [
            (2.0, 0.3385),
            (3.0, 0.4047),
            (4.0, 0.4331),
            (7.0, 0.4661),
            (13.0, 0.4856),
            (27.0, 0.5015),
            (67.0, 0.5409),
            (133.0, 0.6278),
            (267.0, 0.7701),
            (1333.0, 0.9527),
        ];
        for (union, factor) in expected {
            let found = every_bin_factor(union, 64);
            assert!((found - factor).abs() < 0.0001, "{union}: {found}");
        }
    }

    /// The formula as it is printed, in whole powers, where they do not overflow.
    #[test]
    fn the_stable_form_is_the_printed_one() {
        for k in [2_u32, 5, 12, 64] {
            for u in [2_i32, 3, 7, 20, 60] {
                let power = |l: u32| f64::from(l).powi(u);
                let sum: f64 =
                    (1..k).map(|l| power(l) * (power(l + 1) + power(l - 1) - 2.0 * power(l))).sum();
                let below = f64::from(k - 1).powi(u - 1) * power(k) * f64::from(u - 1);
                let (found, printed) = (every_bin_factor(f64::from(u), k), 1.0 - sum / below);
                assert!((found - printed).abs() < 1e-9, "{k} {u}: {found} {printed}");
            }
        }
    }

    #[test]
    fn tables_agree_with_the_formulas() {
        let total_size = None;
        for k in [1, 2, 12, 64, 128, 1000] {
            for union in [1.0, 2.0, 2.5, 17.0, 64.0, 64.5, 100.0, 333.0, 5000.0, 1e6, 1e300] {
                let one = variance_factor(Sampling::OnePermutation { total_size }, union, k);
                let every = variance_factor(Sampling::EveryBin { total_size }, union, k);
                let expected = small_sets::variance_factor(union, k);
                assert!((one - expected).abs() < 0.003, "{k} {union}: {one} {expected}");
                let expected = every_bin_factor(union, k);
                let tolerance = if (2.0..=2.9).contains(&union) { 0.05 } else { 0.003 };
                assert!((every - expected).abs() < tolerance, "{k} {union}: {every} {expected}");
            }
        }
        for union in [f64::NAN, f64::INFINITY, -3.0, 0.0] {
            assert!(variance_factor(Sampling::EveryBin { total_size }, union, 64).is_finite());
        }
    }
}
