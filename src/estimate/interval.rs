//! Intervals for a proportion, and the beta distribution behind them.
//!
//! In: x of n agree. Both are real numbers, since dependent samples count as fewer. Out: bounds of the probability at
//! a confidence level: Wilson's interval for many samples, that of Clopper and Pearson for few.

use statrs::function::beta::{checked_beta_reg, checked_ln_beta};

use super::confidence::Confidence;

/// Below this many samples the exact bounds replace Wilson's approximation.
const FEW_SAMPLES: u32 = 64;

/// The distribution function of Beta(a, b) at x, for any a, b > 0.
fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        0.0
    } else if x >= 1.0 {
        1.0
    } else {
        // NaN and invalid parameters give NaN.
        checked_beta_reg(a, b, x).unwrap_or(f64::NAN)
    }
}

/// The probability that Beta(a, b) exceeds x. Accurate even if it is tiny.
pub(crate) fn beta_above(a: f64, b: f64, x: f64) -> f64 {
    beta_cdf(b, a, 1.0 - x)
}

/// `Pr[Bin(n, p) >= x]`, exactly.
pub(crate) fn binomial_at_least(x: u32, n: u32, p: f64) -> f64 {
    match x {
        0 => 1.0,
        x if x > n => 0.0,
        x => beta_cdf(f64::from(x), f64::from(n - x) + 1.0, p),
    }
}

/// So close to all samples the exact upper bound replaces Wilson's if it is higher. The distribution is far from
/// normal there, and the coverage would fall to .88.
const FEW_MISSING: f64 = 4.5;

/// Bounds of the probability behind x of n. `samples` selects the rule.
pub(crate) fn proportion(x: f64, n: f64, samples: u32, confidence: Confidence) -> (f64, f64) {
    let tail = confidence.tail();
    if samples < FEW_SAMPLES {
        return clopper_pearson(x, n, tail);
    }
    let (low, high) = wilson(x / n, n, confidence);
    if n - x < FEW_MISSING { (low, high.max(exact_high(x, n, tail))) } else { (low, high) }
}

/// Wilson's interval around the proportion p of n.
pub(crate) fn wilson(p: f64, n: f64, confidence: Confidence) -> (f64, f64) {
    let z = confidence.z();
    let scale = 1.0 + z * z / n;
    let centre = (p + z * z / (2.0 * n)) / scale;
    let half = z / scale * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).max(0.0).sqrt();
    (centre - half, centre + half)
}

/// The exact interval: neither tail exceeds this.
fn clopper_pearson(x: f64, n: f64, tail: f64) -> (f64, f64) {
    let low = if x <= 0.0 { 0.0 } else { beta_quantile(x, n - x + 1.0, tail) };
    (low, exact_high(x, n, tail))
}

/// Its upper end.
fn exact_high(x: f64, n: f64, tail: f64) -> f64 {
    if x >= n { 1.0 } else { beta_quantile(x + 1.0, n - x, 1.0 - tail) }
}

/// The x with `beta_cdf(a, b, x) = p`, by Newton's method. A step that would leave the bracket is replaced by a
/// bisection, so it always converges, and few steps are needed.
fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let Ok(ln_beta) = checked_ln_beta(a, b) else { return f64::NAN };
    let (mut low, mut high) = (0.0, 1.0);
    let mut x = a / (a + b);
    for _ in 0..60 {
        let beyond = beta_cdf(a, b, x) - p;
        if beyond < 0.0 {
            low = x;
        } else {
            high = x;
        }
        let density = ((a - 1.0) * x.ln() + (b - 1.0) * (-x).ln_1p() - ln_beta).exp();
        let step = beyond / density;
        let next = x - step;
        x = if low < next && next < high {
            if step.abs() <= 1e-14 * x {
                return next;
            }
            next
        } else {
            0.5 * (low + high)
        };
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tail by adding up the terms.
    fn tail_by_sum(x: u32, n: u32, p: f64) -> f64 {
        let mut term = (1.0 - p).powi(n as i32);
        let mut sum = 0.0;
        for i in 0..=n {
            if i >= x {
                sum += term;
            }
            term *= f64::from(n - i) / f64::from(i + 1) * p / (1.0 - p);
        }
        sum
    }

    #[test]
    fn the_tail_is_the_sum_of_its_terms() {
        for n in [1, 12, 64, 128] {
            for x in 0..=n {
                for p in [1e-5, 0.0625, 0.25, 0.5, 0.9] {
                    let (tail, sum) = (binomial_at_least(x, n, p), tail_by_sum(x, n, p));
                    assert!(
                        (tail - sum).abs() <= 1e-10 * sum + 1e-300,
                        "{x} {n} {p}: {tail} {sum}"
                    );
                }
            }
        }
    }

    /// Clopper and Pearson's bounds are where the tails have exactly the probability asked for.
    #[test]
    fn exact_bounds_have_exact_tails() {
        for confidence in [Confidence::P95, Confidence::P999] {
            let tail = confidence.tail();
            for (x, n) in [(1_u32, 12_u32), (6, 12), (12, 12), (30, 63), (0, 30)] {
                let (low, high) = proportion(f64::from(x), f64::from(n), n, confidence);
                if x > 0 {
                    assert!((tail_by_sum(x, n, low) - tail).abs() < 1e-9);
                }
                if x < n {
                    assert!((1.0 - tail_by_sum(x + 1, n, high) - tail).abs() < 1e-9);
                }
            }
        }
    }

    /// Bisection finds the same, only slower: also where samples count as less than one, or as thousands.
    #[test]
    fn quantiles_are_those_of_bisection() {
        let sizes = [0.01, 0.3, 1.0, 2.5, 12.0, 63.0, 127.5, 1000.0, 40_000.0];
        for (a, b) in sizes.iter().flat_map(|a| sizes.map(|b| (*a, b))) {
            for p in [0.0005, 0.025, 0.5, 0.975, 0.9995] {
                let (mut low, mut high) = (0.0, 1.0);
                for _ in 0..1100 {
                    let middle = 0.5 * (low + high);
                    *if beta_cdf(a, b, middle) < p { &mut low } else { &mut high } = middle;
                }
                let found = beta_quantile(a, b, p);
                assert!((found - high).abs() <= 1e-9 * high + 1e-15, "{a} {b} {p}: {found} {high}");
            }
        }
    }
}
