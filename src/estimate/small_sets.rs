//! The variance of one-permutation samples compared with independent ones.
//!
//! In: the size f of the union and the number k of bins. Out: the factor F on the variance of full-width agreement. f
//! elements occupy m of k bins. Empty bins copy, which adds variance (F up to 1.6 for a few elements). Bins sample
//! without replacement, which reduces it (F down to .77 near f = 3k).

/// Below this union size the distribution of m is computed exactly, above it from its moments.
const EXACT_BELOW: f64 = 64.0;

/// Up to this many bins four moments are used, above it only two. The higher ones are differences of huge numbers,
/// and are not needed there.
const FOUR_MOMENTS_UP_TO: f64 = 4096.0;

/// `F(f, k) = 1 - (k-1)/(f-1) + f/(f-1) ((k-1) E[1/m] - (E[m]-1)/k)`, and 1 for a single element.
///
/// ```
/// use ringer::internals::estimate::small_sets::variance_factor;
/// assert!((variance_factor(400.0, 128) - 0.770661).abs() < 1e-6);
/// ```
pub fn variance_factor(union: f64, samples: u32) -> f64 {
    if !union.is_finite() || union <= 1.0 || samples <= 1 {
        return 1.0;
    }
    if union >= EXACT_BELOW {
        return combine(union, samples, &moments(union, f64::from(samples)));
    }
    // A union size is itself an estimate, so it is interpolated between whole numbers.
    let (whole, part) = (union.floor(), union.fract());
    let at = |f: f64| if f <= 1.0 { 1.0 } else { combine(f, samples, &exact(f as u32, samples)) };
    at(whole) + if part > 0.0 { part * (at(whole + 1.0) - at(whole)) } else { 0.0 }
}

/// How many elements of a union may all be unseen with a probability of at least 2.5 %. An element is seen only if it
/// is the least of its bin, which has probability `E[m]/f`.
///
/// One given element of twenty is unseen in 7 % of all permutations at k = 128. If it is the only shared one, the
/// sets seem disjoint. If it is the only one that is not shared, they seem equal. For large unions this is the usual
/// bound for "none of k", a share of 3.7/k.
pub fn unseen(union: f64, samples: u32) -> f64 {
    unseen_at(union, samples, 0.025)
}

/// The same for another probability than 2.5 %.
pub(crate) fn unseen_at(union: f64, samples: u32, probability: f64) -> f64 {
    if !union.is_finite() || union <= 1.0 {
        return 0.0;
    }
    (probability.ln() / ln_unseen(union, samples)).floor()
}

/// The logarithm of the probability that a given element of a union is unseen, because it is the least of no bin.
pub(crate) fn ln_unseen(union: f64, samples: u32) -> f64 {
    let k = f64::from(samples);
    let seen = -k * (union.max(1.0) * (-1.0 / k).ln_1p()).exp_m1() / union.max(1.0);
    // A single element is always seen. The bound avoids rounding errors.
    (-seen.min(1.0)).ln_1p().max(-700.0)
}

/// `E[m]` and `E[1/m]`.
struct Occupied {
    mean: f64,
    mean_inverse: f64,
}

fn combine(f: f64, samples: u32, m: &Occupied) -> f64 {
    let k = f64::from(samples);
    let copies = (k - 1.0) * m.mean_inverse - (m.mean - 1.0) / k;
    1.0 - (k - 1.0) / (f - 1.0) + f / (f - 1.0) * copies
}

/// From the distribution of m, element by element.
fn exact(balls: u32, samples: u32) -> Occupied {
    let k = f64::from(samples);
    let most = balls.min(samples) as usize;
    let mut p = vec![0.0; most + 1];
    p[0] = 1.0;
    for _ in 0..balls {
        for m in (0..=most).rev() {
            let joins = if m == 0 { 0.0 } else { p[m - 1] * (k - (m as f64 - 1.0)) / k };
            p[m] = p[m] * m as f64 / k + joins;
        }
    }
    let terms = || p.iter().enumerate().skip(1).map(|(m, p)| (m as f64, *p));
    Occupied {
        mean: terms().map(|(m, p)| m * p).sum(),
        mean_inverse: terms().map(|(m, p)| p / m).sum(),
    }
}

/// From the first four moments of the number of empty bins X, whose factorial moments are
/// `k(k-1)..(k-j+1) (1 - j/k)^f`: `E[1/(k - X)]` expanded around the mean.
fn moments(f: f64, k: f64) -> Occupied {
    let fall = |j: f64| if j < k { (f * (-j / k).ln_1p()).exp() } else { 0.0 };
    let f1 = k * fall(1.0);
    let f2 = k * (k - 1.0) * fall(2.0);
    let f3 = k * (k - 1.0) * (k - 2.0) * fall(3.0);
    let f4 = k * (k - 1.0) * (k - 2.0) * (k - 3.0) * fall(4.0);
    let (raw1, raw2) = (f1, f2 + f1);
    let (raw3, raw4) = (f3 + 3.0 * f2 + f1, f4 + 6.0 * f3 + 7.0 * f2 + f1);
    let centred2 = raw2 - raw1 * raw1;
    let centred3 = raw3 - 3.0 * raw1 * raw2 + 2.0 * raw1.powi(3);
    let centred4 = raw4 - 4.0 * raw1 * raw3 + 6.0 * raw1 * raw1 * raw2 - 3.0 * raw1.powi(4);
    let mean = k - raw1;
    let mut terms = 1.0 + centred2 / mean.powi(2);
    if k <= FOUR_MOMENTS_UP_TO {
        terms += centred3 / mean.powi(3) + centred4 / mean.powi(4);
    }
    Occupied { mean, mean_inverse: terms / mean }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways agree where they meet and beyond, for every k that a scheme may have.
    #[test]
    fn moments_agree_with_the_exact_distribution() {
        for k in [2, 3, 12, 30, 64, 84, 128, 256, 1000, 4096, 16_384] {
            for f in [64, 65, 100, 200, 500, 1500] {
                let by_moments = combine(f64::from(f), k, &moments(f64::from(f), f64::from(k)));
                let by_counting = combine(f64::from(f), k, &exact(f, k));
                assert!(
                    (by_moments - by_counting).abs() < 2e-4,
                    "{f} {k}: {by_moments} {by_counting}"
                );
            }
        }
    }

    #[test]
    fn odd_sizes_are_harmless() {
        for union in [f64::NAN, -1.0, 0.0, 0.5, 1.0, 1e300, f64::INFINITY] {
            let factor = variance_factor(union, 128);
            assert!((0.7..1.7).contains(&factor), "{union}: {factor}");
        }
        assert_eq!(variance_factor(50.0, 1), 1.0);
    }
}
