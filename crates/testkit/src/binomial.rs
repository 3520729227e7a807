//! Compares counts of equal samples with the binomial distribution of independent samples.

/// How many standard errors a mean or a variance may be off.
pub const ERRORS: f64 = 4.0;

/// Asserts that mean and variance of the counts are binomial within [`ERRORS`] standard errors. Each count is the
/// number of equal samples among k, under a seed of its own.
#[track_caller]
pub fn check(counts: &[u32], k: u32, p: f64, what: &str) {
    let (k, repetitions) = (f64::from(k), counts.len() as f64);
    let mean = counts.iter().map(|x| f64::from(*x)).sum::<f64>() / repetitions;
    let variance =
        counts.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / (repetitions - 1.0);
    let expected = k * p * (1.0 - p);
    let off = mean - k * p;
    // If almost nothing is random, a few rare samples are not normally distributed.
    let few = if p * (1.0 - p) > 0.0 { 1.0 / repetitions } else { 1e-12 };
    let error = (expected / repetitions).sqrt() + few;
    assert!(off.abs() <= ERRORS * error, "{what}: mean {mean} for {}, error {error}", k * p);
    // The kurtosis of the binomial distribution is 3 + excess.
    let excess = if expected > 0.0 { (1.0 - 6.0 * p * (1.0 - p)) / expected } else { 0.0 };
    let error = expected * ((2.0 + excess) / repetitions).sqrt() + 2.0 * few;
    assert!(
        (variance - expected).abs() <= ERRORS * error,
        "{what}: variance {variance} for {expected}, error {error}"
    );
}
