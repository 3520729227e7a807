//! Counts of samples that agree, against the distribution that independent samples have; random numbers.

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

/// Random words, the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
