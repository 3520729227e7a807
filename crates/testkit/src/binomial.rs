//! Counts of samples that agree, against the distribution that independent samples have.

/// Standard errors that a mean or a variance may be off.
pub const ERRORS: f64 = 4.0;

/// Each count is how many of k samples agree, under a seed of its own. Their mean and their variance are those of the
/// binomial distribution, within [`ERRORS`] standard errors.
#[track_caller]
pub fn check(counts: &[u32], k: u32, p: f64, what: &str) {
    let (k, repetitions) = (f64::from(k), counts.len() as f64);
    let mean = counts.iter().map(|x| f64::from(*x)).sum::<f64>() / repetitions;
    let variance =
        counts.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / (repetitions - 1.0);
    let expected = k * p * (1.0 - p);
    let off = mean - k * p;
    // Where next to nothing is left to chance, a few rare samples are no normal distribution.
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
