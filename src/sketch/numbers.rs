//! Uniform and normal random numbers from hashed words. Normative: `format-spec/hashing.md`.
//!
//! In: 64 random bits. Out: a double, the same on every machine. Uses only additions, multiplications, divisions and
//! square roots, which IEEE 754 defines to the last bit, and its own logarithm. There are hardly any branches, so
//! loops over these functions are vectorised.

/// A number between 0 and 1, exclusive (HASH-5).
#[inline(always)]
pub(crate) fn unit(word: u64) -> f64 {
    // The bits of 1 + floor(w / 2^12) / 2^52. All later steps are exact.
    let above_1 = f64::from_bits(0x3FF << 52 | word >> 12);
    above_1 - 1.0 + f64::EPSILON / 2.0
}

/// The product of two numbers between 0 and 1, one from each half of a word (HASH-5).
#[inline(always)]
pub(crate) fn product(word: u64) -> f64 {
    // The bits of 2^52 + x for x < 2^32. This conversion can be vectorised.
    let half = |x: u64| f64::from_bits(0x433 << 52 | x) - (4_503_599_627_370_496.0 - 0.5);
    const SCALE: f64 = 1.0 / 4_294_967_296.0;
    half(word >> 32) * SCALE * (half(word & 0xFFFF_FFFF) * SCALE)
}

/// The natural logarithm of a positive number that is not subnormal. Takes the same steps as [`libm::log`], so the
/// result has the same bits. It has no special cases, so it can be vectorised.
#[inline(always)]
#[expect(clippy::excessive_precision, reason = "as printed")]
pub(crate) fn ln(x: f64) -> f64 {
    const LN2: [f64; 2] = [6.93147180369123816490e-01, 1.90821492927058770002e-10];
    const ODD: [f64; 4] = [
        6.666666666666735130e-01,
        2.857142874366239149e-01,
        1.818357216161805012e-01,
        1.479819860511658591e-01,
    ];
    const EVEN: [f64; 3] =
        [3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01];
    // x = 2^k (1 + f), where 1 + f is between sqrt(1/2) and sqrt(2). The upper half of the latter is HALF_ROOT.
    const HALF_ROOT: u32 = 0x3FE6_A09E;
    let high = ((x.to_bits() >> 32) as u32).wrapping_add(0x3FF0_0000 - HALF_ROOT);
    let k = f64::from((high >> 20) as i32 - 0x3FF);
    let high = u64::from((high & 0xF_FFFF) + HALF_ROOT);
    let f = f64::from_bits(high << 32 | x.to_bits() & 0xFFFF_FFFF) - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (EVEN[0] + w * (EVEN[1] + w * EVEN[2]));
    let odd = z * (ODD[0] + w * (ODD[1] + w * (ODD[2] + w * ODD[3])));
    s * (half_square + (odd + even)) + k * LN2[1] - half_square + f + k * LN2[0]
}

/// The largest integer below a number of magnitude up to 2^51.
#[inline(always)]
pub(crate) fn floor(x: f64) -> f64 {
    // Near this number, doubles are integers.
    const INTEGERS: f64 = 6_755_399_441_055_744.0;
    let nearest = (x + INTEGERS) - INTEGERS;
    if nearest > x { nearest - 1.0 } else { nearest }
}

/// Most words whose normal deviates are computed together.
pub(crate) const DEVIATES: usize = 64;

/// Working memory for deviates that are not central: their indexes and probabilities.
pub(crate) struct Far {
    place: [usize; DEVIATES],
    p: [f64; DEVIATES],
}

impl Far {
    pub(crate) fn new() -> Far {
        Far { place: [0; DEVIATES], p: [0.0; DEVIATES] }
    }
}

/// Normally distributed numbers (HASH-6) for up to [`DEVIATES`] words. First all are computed as central ones. The
/// others, one in seven, are then collected and computed again.
#[inline(always)]
pub(crate) fn normals(words: &[u64], deviates: &mut [f64], far: &mut Far) {
    for (word, deviate) in words.iter().zip(&mut *deviates) {
        *deviate = central(unit(*word));
    }
    let mut count = 0;
    for (i, word) in words.iter().enumerate() {
        // The next one overwrites this one unless it is kept.
        let p = unit(*word);
        (far.place[count % DEVIATES], far.p[count % DEVIATES]) = (i, p);
        count += usize::from((p - 0.5).abs() > CENTRAL);
    }
    let count = count.min(DEVIATES);
    // A few too many, so that they are computed four at a time.
    let filled = count.next_multiple_of(4).min(DEVIATES);
    far.p[..filled].iter_mut().for_each(|p| *p = tail(*p));
    for (place, far) in far.place[..count].iter().zip(&far.p) {
        deviates[*place] = if far.is_finite() { *far } else { farthest(unit(words[*place])) };
    }
}

/// Probabilities up to this distance from one half are central and have the simplest formula.
const CENTRAL: f64 = 0.425;

#[inline(always)]
fn central(p: f64) -> f64 {
    let q = p - 0.5;
    let y = 0.180_625 - q * q;
    q * horner(&A, y) / horner(&B, y)
}

/// The deviate of a probability that is not central. Infinite if [`farthest`] has to compute it.
#[inline(always)]
fn tail(p: f64) -> f64 {
    let y = (-ln(p.min(1.0 - p))).sqrt();
    let far = horner(&C, y - 1.6) / horner(&D, y - 1.6);
    (if y <= 5.0 { far } else { f64::INFINITY }).copysign(p - 0.5)
}

/// The deviate of a probability below 2^-36, or as close to 1.
#[cold]
fn farthest(p: f64) -> f64 {
    let y = (-ln(p.min(1.0 - p))).sqrt() - 5.0;
    (horner(&E, y) / horner(&F, y)).copysign(p - 0.5)
}

#[inline(always)]
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

    fn normal(word: u64) -> f64 {
        let mut deviates = [0.0; 3];
        normals(&[word; 3], &mut deviates, &mut Far::new());
        deviates[2]
    }

    /// HASH-6 for one word, as the specification writes it.
    #[test]
    fn many_deviates_are_those_of_each() {
        let one = |word: u64| {
            let p = unit(word);
            let q = p - 0.5;
            if q.abs() <= 0.425 {
                let y = 0.180_625 - q * q;
                return q * horner(&A, y) / horner(&B, y);
            }
            let y = (-libm::log(if q < 0.0 { p } else { 1.0 - p })).sqrt();
            let far = if y <= 5.0 {
                horner(&C, y - 1.6) / horner(&D, y - 1.6)
            } else {
                horner(&E, y - 5.0) / horner(&F, y - 5.0)
            };
            if q < 0.0 { -far } else { far }
        };
        let mut memory = Far::new();
        for turn in 0..2000_u64 {
            // Between none and all of the deviates are in the tails, on either side.
            let mut words = [0; DEVIATES];
            for (i, word) in words.iter_mut().enumerate() {
                let random = crate::sketch::hash::mix(turn * 64 + i as u64);
                let shift = [0, 0, 3, 20, 40, 60][(turn % 6) as usize];
                *word = if random % 5 < 3 { random >> shift } else { !(random >> shift) };
            }
            let count = turn as usize % (DEVIATES + 1);
            let mut deviates = [0.0; DEVIATES];
            normals(&words[..count], &mut deviates[..count], &mut memory);
            assert_eq!(deviates[..count], words.map(one)[..count], "{turn}");
        }
    }

    /// The logarithm equals [`libm::log`] to the last bit, also near the bounds of its cases.
    #[test]
    fn logarithms_are_those_of_the_library() {
        let mut x = f64::MIN_POSITIVE;
        while x < 1e307 {
            let (below, above) = (x.next_down().max(f64::MIN_POSITIVE), x.next_up());
            for x in [below, x, above, 1.0 / x] {
                assert_eq!(ln(x).to_bits(), libm::log(x).to_bits(), "{x}");
            }
            x *= 1.000_37;
        }
        for shift in 0..64 {
            for word in [u64::MAX >> shift, !(u64::MAX >> shift), 1 << shift, !(1 << shift)] {
                let x = product(word);
                assert_eq!(ln(x).to_bits(), libm::log(x).to_bits(), "{x}");
            }
        }
        let root = std::f64::consts::FRAC_1_SQRT_2;
        for i in 0..100_000 {
            let x = f64::from_bits(root.to_bits() - 50_000 + i);
            assert_eq!((ln(x), ln(1.0)), (libm::log(x), 0.0));
        }
    }

    #[test]
    fn numbers_are_rounded_down() {
        let mut x = 1e-300;
        while x < 2_f64.powi(51) {
            for x in [x, -x, x.round(), -x.round(), x.round().next_up(), x.round().next_down()] {
                assert_eq!(floor(x), x.floor(), "{x}");
            }
            x *= 1.37;
        }
        assert_eq!((floor(0.0), floor(0.5), floor(-0.5), floor(1.5)), (0.0, 0.0, -1.0, 1.0));
    }

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

    /// HASH-6 against the error function of another library: the tail beyond the deviate has the probability that the
    /// deviate was computed from.
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
