//! Chance agreements, and how they change the agreement rate.
//!
//! In: bits per sample, and the shares r1, r2 of the universe that the sets fill. Out: the line `P = C1 + (1 - C2) R`
//! between resemblance and agreement (equation 5), in both directions.

/// `A(r, b)`: the probability that the low b bits of a set's minimum equal those of a given other minimum beyond it.
/// It is `1/2^b` for r = 0, and decreases in r and b.
///
/// Uses `ln_1p` and `exp_m1`, so tiny r loses no digits.
pub fn a(r: f64, bits: u32) -> f64 {
    let m = f64::from(bits).exp2();
    if r <= 0.0 {
        return 1.0 / m;
    }
    let ln = (-r.min(1.0)).ln_1p();
    r.min(1.0) * ((m - 1.0) * ln).exp() / -(m * ln).exp_m1()
}

/// The chance agreements of two sets' b-bit samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance {
    /// The probability that samples of disjoint sets agree.
    pub c1: f64,
    /// How much chance agreements reduce the slope of the line.
    pub c2: f64,
}

impl Chance {
    /// For sets that are tiny compared with their universe.
    pub fn sparse(bits: u32) -> Chance {
        let c = a(0.0, bits);
        Chance { c1: c, c2: c }
    }

    /// For sets that fill the shares r1 and r2 of their universe.
    pub fn dense(bits: u32, r1: f64, r2: f64) -> Chance {
        let sum = r1 + r2;
        if sum <= 0.0 {
            return Chance::sparse(bits);
        }
        let (a1, a2) = (a(r1, bits), a(r2, bits));
        Chance { c1: (a1 * r2 + a2 * r1) / sum, c2: (a1 * r1 + a2 * r2) / sum }
    }

    /// P for a resemblance (equation 5).
    pub fn agreement(&self, resemblance: f64) -> f64 {
        self.c1 + (1.0 - self.c2) * resemblance
    }

    /// R for an agreement rate, unbiased and not clamped to 0..=1 (equation 9).
    pub fn resemblance(&self, agreement: f64) -> f64 {
        (agreement - self.c1) / (1.0 - self.c2)
    }

    /// k times the variance of the estimate, for independent samples (equation 11).
    pub fn variance(&self, agreement: f64) -> f64 {
        let slope = 1.0 - self.c2;
        agreement * (1.0 - agreement) / (slope * slope)
    }
}
