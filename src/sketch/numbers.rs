//! Random numbers from hashed words: uniform and normal ones. Normative: `format-spec/hashing.md`.
//!
//! In: 64 random bits. Out: a double, the same on every machine: nothing but additions, multiplications,
//! divisions and square roots, which IEEE 754 fixes to the last bit, and a logarithm in plain code.

/// A number between 0 and 1, neither of which it is (HASH-5).
#[inline]
pub(crate) fn unit(word: u64) -> f64 {
    const SCALE: f64 = 1.0 / 4_503_599_627_370_496.0;
    ((word >> 12) as f64 + 0.5) * SCALE
}

/// The product of two numbers between 0 and 1, one from each half of a word (HASH-5).
#[inline]
pub(crate) fn product(word: u64) -> f64 {
    const SCALE: f64 = 1.0 / 4_294_967_296.0;
    let high = ((word >> 32) as f64 + 0.5) * SCALE;
    let low = (f64::from(word as u32) + 0.5) * SCALE;
    high * low
}

/// The natural logarithm of a positive number.
#[inline]
pub(crate) fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// A normally distributed number (HASH-6).
#[inline]
pub(crate) fn normal(word: u64) -> f64 {
    let p = unit(word);
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let y = 0.180_625 - q * q;
        return q * horner(&A, y) / horner(&B, y);
    }
    tail(p, q)
}

/// The same for the seventh that is far from the middle.
fn tail(p: f64, q: f64) -> f64 {
    let y = (-ln(if q < 0.0 { p } else { 1.0 - p })).sqrt();
    let far = if y <= 5.0 {
        horner(&C, y - 1.6) / horner(&D, y - 1.6)
    } else {
        horner(&E, y - 5.0) / horner(&F, y - 5.0)
    };
    if q < 0.0 { -far } else { far }
}

#[inline]
fn horner(coefficients: &[f64; 8], y: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * y + c)
}

// Wichura, Algorithm AS 241: The Percentage Points of the Normal Distribution, PPND16. Its digits are kept as they
// were printed.
macro_rules! coefficients {
    ($($name:ident = [$($c:literal)+];)+) => {
        $(
            #[expect(clippy::excessive_precision, reason = "as printed")]
            const $name: [f64; 8] = [$($c),+];
        )+
    };
}

coefficients! {
    A = [2509.0809287301226727 33430.575583588128105 67265.770927008700853 45921.953931549871457
         13731.693765509461125 1971.5909503065514427 133.14166789178437745 3.387132872796366608];
    B = [5226.495278852854561 28729.085735721942674 39307.89580009271061 21213.794301586595867
         5394.1960214247511077 687.1870074920579083 42.313330701600911252 1.0];
    C = [7.7454501427834140764e-4 0.0227238449892691845833 0.24178072517745061177 1.27045825245236838258
         3.64784832476320460504 5.7694972214606914055 4.6303378461565452959 1.42343711074968357734];
    D = [1.05075007164441684324e-9 5.475938084995344946e-4 0.0151986665636164571966 0.14810397642748007459
         0.68976733498510000455 1.6763848301838038494 2.05319162663775882187 1.0];
    E = [2.01033439929228813265e-7 2.71155556874348757815e-5 0.0012426609473880784386 0.026532189526576123093
         0.29656057182850489123 1.7848265399172913358 5.4637849111641143699 6.6579046435011037772];
    F = [2.04426310338993978564e-15 1.4215117583164458887e-7 1.8463183175100546818e-5 7.868691311456132591e-4
         0.0148753612908506148525 0.13692988092273580531 0.59983220655588793769 1.0];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HASH-5.
    #[test]
    fn numbers_stay_between_their_ends() {
        for word in [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, u64::from(u32::MAX)] {
            assert!(unit(word) > 0.0 && unit(word) < 1.0);
            assert!(product(word) > 0.0 && product(word) < 1.0);
            assert!(normal(word).is_finite() && normal(word).abs() < 8.5);
        }
    }

    /// HASH-5 and HASH-6 by vectors of an independent implementation of the specification. Its logarithms may differ
    /// in the last place, and with them the tails of normal deviates.
    #[test]
    fn agree_with_the_vectors() {
        let mut checked = 0;
        for line in include_str!("../../format-spec/vectors/numbers.tsv").lines().skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            let [what, word, bits] = columns[..] else { panic!("{line}") };
            let hex = |text| u64::from_str_radix(text, 16).unwrap();
            let (word, expected) = (hex(word), f64::from_bits(hex(bits)));
            let found = match what {
                "unit" => unit(word),
                "product" => product(word),
                _ => normal(word),
            };
            let exact = what != "normal" || (unit(word) - 0.5).abs() <= 0.425;
            let off = if exact { 0.0 } else { 1e-15 * expected.abs() };
            assert!((found - expected).abs() <= off, "{line}: {found} {expected}");
            checked += 1;
        }
        assert!(checked > 200, "{checked}");
    }

    /// HASH-6 against the error function of another library: what is as far out as the deviate has the
    /// probability that it came from.
    #[test]
    fn deviates_belong_to_their_probabilities() {
        use statrs::distribution::{ContinuousCDF, Normal};
        let standard = Normal::standard();
        let steps = (1..2000_u64).map(|i| i * (u64::MAX / 2000));
        let tails = (0..40).flat_map(|shift| [u64::MAX >> shift >> 1, !(u64::MAX >> shift >> 1)]);
        for word in steps.chain(tails) {
            let (z, p) = (normal(word), unit(word));
            let back = standard.cdf(z);
            assert!((back - p).abs() < 1e-9 * p.min(1.0 - p).max(1e-7), "{word:x} {z} {p} {back}");
        }
    }
}
