//! Polynomials over GF(2), and arithmetic modulo one of them.
//!
//! In: coefficients as bits; bit i is the coefficient of `x^i`. Out: products and powers of residues, and whether a
//! polynomial is irreducible or primitive. Addition is exclusive or. Nothing here knows about strings.

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};

/// For d = 1, 2, ..., 64, the primes that divide `2^d - 1` but no `2^e - 1` with a smaller e. The prime factors of
/// `2^d - 1` are those in the entries of all divisors of d.
const NEW_PRIMES: [&[u64]; 64] = [
    &[],
    &[3],
    &[7],
    &[5],
    &[31],
    &[],
    &[127],
    &[17],
    &[73],
    &[11],
    &[23, 89],
    &[13],
    &[8191],
    &[43],
    &[151],
    &[257],
    &[131_071],
    &[19],
    &[524_287],
    &[41],
    &[337],
    &[683],
    &[47, 178_481],
    &[241],
    &[601, 1801],
    &[2731],
    &[262_657],
    &[29, 113],
    &[233, 1103, 2089],
    &[331],
    &[2_147_483_647],
    &[65_537],
    &[599_479],
    &[43_691],
    &[71, 122_921],
    &[37, 109],
    &[223, 616_318_177],
    &[174_763],
    &[79, 121_369],
    &[61_681],
    &[13_367, 164_511_353],
    &[5419],
    &[431, 9719, 2_099_863],
    &[397, 2113],
    &[631, 23_311],
    &[2_796_203],
    &[2351, 4513, 13_264_529],
    &[97, 673],
    &[4_432_676_798_593],
    &[251, 4051],
    &[103, 2143, 11_119],
    &[53, 157, 1613],
    &[6361, 69_431, 20_394_401],
    &[87_211],
    &[881, 3191, 201_961],
    &[15_790_321],
    &[32_377, 1_212_847],
    &[59, 3_033_169],
    &[179_951, 3_203_431_780_337],
    &[61, 1321],
    &[2_305_843_009_213_693_951],
    &[715_827_883],
    &[92_737, 649_657],
    &[641, 6_700_417],
];

/// A polynomial over GF(2) of degree 1 to 64, and the ring of residues modulo it.
///
/// A residue has a bit for each power of x below the degree. Higher bits of arguments are ignored.
///
/// ```
/// use ringer::features::rabin::Polynomial;
///
/// let p = Polynomial::new(8, 0b11101)?; // x^8 + x^4 + x^3 + x^2 + 1
/// assert!(p.is_primitive());
/// assert_eq!(p.multiply(0b1000_0000, 0b10), 0b11101); // x^7 * x = x^8, which is p without its x^8
/// let aes = Polynomial::new(8, 0b11011)?;
/// assert!(aes.is_irreducible() && !aes.is_primitive());
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Polynomial {
    degree: u32,
    low: u64,
}

impl Polynomial {
    /// The default polynomial of fingerprints (RABIN-1): [`Polynomial::primitive_from_seed`] of the seed 0. It is
    /// primitive and has degree 64.
    pub const STANDARD: Polynomial = Polynomial { degree: 64, low: 0x76C9_0A81_3047_4C05 };

    /// Makes `x^degree + low`. Bit i of `low` is the coefficient of `x^i`. The degree is 1 to 64, and `low` has no
    /// bit at or above it.
    pub fn new(degree: u32, low: u64) -> Result<Polynomial> {
        if !(1..=64).contains(&degree) {
            return Err(Error::invalid(
                format!("a polynomial of degree {degree}"),
                "the degree must be 1 to 64",
            ));
        }
        let polynomial = Polynomial { degree, low };
        if low & !polynomial.mask() != 0 {
            return Err(Error::invalid(
                format!("coefficients {low:#x} below x^{degree}"),
                format!("only bits 0 to {} may be set", degree - 1),
            ));
        }
        Ok(polynomial)
    }

    /// The degree, 1 to 64.
    pub const fn degree(&self) -> u32 {
        self.degree
    }

    /// The coefficients below the highest one. Bit i is the coefficient of `x^i`.
    pub const fn low(&self) -> u64 {
        self.low
    }

    /// A mask of the bits of residues.
    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.degree)
    }

    /// The product of a residue and x.
    pub(super) const fn times_x(&self, a: u64) -> u64 {
        let carry = a >> (self.degree - 1) & 1;
        (a << 1) & self.mask() ^ carry.wrapping_neg() & self.low
    }

    /// The product of two residues.
    pub const fn multiply(&self, a: u64, b: u64) -> u64 {
        let mut product = 0;
        let mut bit = self.degree;
        while bit > 0 {
            bit -= 1;
            product = self.times_x(product) ^ (b >> bit & 1).wrapping_neg() & a;
        }
        product & self.mask()
    }

    /// The residue of `x^exponent`.
    pub const fn power_of_x(&self, exponent: u64) -> u64 {
        let mut power = 1;
        let mut bit = 64 - exponent.leading_zeros();
        while bit > 0 {
            bit -= 1;
            power = self.multiply(power, power);
            if exponent >> bit & 1 == 1 {
                power = self.times_x(power);
            }
        }
        power
    }

    /// The residue of `x^(8 bytes)`. Appending this many bytes multiplies a fingerprint by it.
    pub(super) const fn power_of_bytes(&self, bytes: u64) -> u64 {
        let mut power = self.power_of_x(bytes);
        let mut squarings = 3;
        while squarings > 0 {
            squarings -= 1;
            power = self.multiply(power, power);
        }
        power
    }

    /// `x^(2^squarings)`.
    fn repeated_square(&self, squarings: u32) -> u64 {
        (0..squarings).fold(self.times_x(1), |power, _| self.multiply(power, power))
    }

    /// True if the polynomial is not a product of two polynomials of lower degree. This is Rabin's test: p divides
    /// `x^(2^d) - x`, and has no common factor with `x^(2^(d/q)) - x` for any prime q that divides d.
    pub fn is_irreducible(&self) -> bool {
        let (d, x) = (self.degree, self.times_x(1));
        let mut primes = (2..=d).filter(|q| d % q == 0 && (2..*q).all(|r| q % r != 0));
        self.repeated_square(d) == x
            && primes.all(|q| self.is_prime_to(self.repeated_square(d / q) ^ x))
    }

    /// True if a residue and the polynomial have no common factor.
    fn is_prime_to(&self, residue: u64) -> bool {
        let (mut a, mut b) = (1_u128 << self.degree | u128::from(self.low), u128::from(residue));
        while b != 0 {
            while a != 0 && a.leading_zeros() <= b.leading_zeros() {
                a ^= b << (b.leading_zeros() - a.leading_zeros());
            }
            (a, b) = (b, a);
        }
        a == 1
    }

    /// True if the powers of x are all residues but 0, that is, if x has the order `2^degree - 1`. A primitive
    /// polynomial is irreducible. That many zero bits can be appended to a string before a fingerprint repeats.
    pub fn is_primitive(&self) -> bool {
        let all = self.mask();
        let divisors = (1..=self.degree).filter(|e| self.degree.is_multiple_of(*e));
        let mut primes = divisors.flat_map(|e| NEW_PRIMES[e as usize - 1]);
        self.power_of_x(all) == 1 && primes.all(|q| self.power_of_x(all / q) != 1)
    }

    /// Finds the primitive polynomial of degree 64 of a seed (RABIN-5). About one in 64 candidates is primitive, so
    /// this takes some hundred microseconds.
    ///
    /// ```
    /// use ringer::features::rabin::{Polynomial, Rabin};
    ///
    /// let own = Polynomial::primitive_from_seed(42);
    /// assert!(own.is_primitive() && own != Polynomial::STANDARD);
    /// let rabin = Rabin::new(own);
    /// assert_ne!(rabin.fingerprint(b"text"), Rabin::standard().fingerprint(b"text"));
    /// ```
    pub fn primitive_from_seed(seed: u64) -> Polynomial {
        let mut input = [0; 16];
        input[..8].copy_from_slice(&seed.to_le_bytes());
        let candidates = (0_u64..).map(|i| {
            input[8..].copy_from_slice(&i.to_le_bytes());
            Polynomial { degree: 64, low: xxh3_64(&input) | 1 }
        });
        // The search always succeeds: candidates are practically random, and their number is practically unlimited.
        candidates.into_iter().find(Polynomial::is_primitive).unwrap_or(Polynomial::STANDARD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product of two polynomials, not reduced.
    fn plain_product(a: u64, b: u64) -> u128 {
        (0..64).filter(|i| b >> i & 1 == 1).fold(0, |sum, i| sum ^ u128::from(a) << i)
    }

    fn of_degree(degree: u32) -> impl Iterator<Item = Polynomial> {
        (0..1_u64 << degree).map(move |low| Polynomial { degree, low })
    }

    /// The number of integers in 1..=n that have no common factor with n.
    fn totient(n: u64) -> u64 {
        let gcd = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        (1..=n).filter(|i| gcd(*i, n) == 1).count() as u64
    }

    #[test]
    fn irreducible_is_no_product() {
        for degree in 1..=10_u32 {
            let mut products = vec![false; 1 << (degree + 1)];
            for a in 2..1_u64 << degree {
                for b in 2..1_u64 << degree {
                    if a.ilog2() + b.ilog2() == degree {
                        products[plain_product(a, b) as usize] = true;
                    }
                }
            }
            for p in of_degree(degree) {
                let is_product = products[1 << degree | p.low as usize];
                assert_eq!(p.is_irreducible(), !is_product, "{p:?}");
            }
        }
    }

    /// Compares with the definition, and with the known number of primitive polynomials, phi(2^d - 1) / d.
    #[test]
    fn primitive_is_when_x_runs_through_all() {
        for degree in 1..=10_u32 {
            let mut count = 0;
            for p in of_degree(degree) {
                let mut power = p.times_x(1);
                let mut order = 1;
                while power != 1 && order < 1 << degree {
                    power = p.times_x(power);
                    order += 1;
                }
                let primitive = power == 1 && order == (1 << degree) - 1;
                assert_eq!(p.is_primitive(), primitive, "{p:?}");
                assert!(!primitive || p.is_irreducible(), "{p:?}");
                count += u64::from(primitive);
            }
            assert_eq!(count, totient((1 << degree) - 1) / u64::from(degree), "{degree}");
        }
    }

    /// The table of primes is complete for every degree.
    #[test]
    fn prime_factors() {
        for degree in 1..=64_u32 {
            let mut rest = u64::MAX >> (64 - degree);
            for e in (1..=degree).filter(|e| degree.is_multiple_of(*e)) {
                for q in NEW_PRIMES[e as usize - 1] {
                    assert_eq!(rest % q, 0, "{degree} {q}");
                    while rest.is_multiple_of(*q) {
                        rest /= q;
                    }
                }
            }
            assert_eq!(rest, 1, "{degree}");
        }
        let last: Vec<u64> =
            [2, 4, 8, 16, 32, 64].iter().flat_map(|d| NEW_PRIMES[d - 1]).copied().collect();
        assert_eq!(last, [3, 5, 17, 257, 65537, 641, 6_700_417]);
    }

    /// Primitive polynomials from published tables, and some that are not primitive.
    #[test]
    fn known_polynomials() {
        let p = |degree, low| Polynomial::new(degree, low).unwrap();
        assert!(p(64, 0b11011).is_primitive()); // x^64 + x^4 + x^3 + x + 1
        assert!(p(32, 0x0040_0007).is_primitive()); // x^32 + x^22 + x^2 + x + 1
        assert!(p(63, 0b11).is_primitive()); // x^63 + x + 1
        assert!(p(31, 0b1001).is_primitive()); // x^31 + x^3 + 1
        assert!(!p(64, 0b11).is_irreducible());
        assert!(!p(64, 0).is_irreducible());
        let ecma_182 = p(64, 0x42F0_E1EB_A9EA_3693);
        assert!(!ecma_182.is_primitive(), "a CRC's polynomial has the factor x + 1");
    }

    /// RABIN-1 and RABIN-5.
    #[test]
    fn the_standard_polynomial_is_the_first_of_its_search() {
        assert_eq!(Polynomial::primitive_from_seed(0), Polynomial::STANDARD);
        assert!(Polynomial::STANDARD.is_primitive() && Polynomial::STANDARD.is_irreducible());
        for seed in 1..20 {
            let found = Polynomial::primitive_from_seed(seed);
            assert!(found.is_primitive() && found.is_irreducible(), "{seed}");
        }
    }

    #[test]
    fn what_is_no_polynomial_is_refused() {
        for (degree, low) in [(0, 0), (65, 0), (u32::MAX, 1), (8, 0x100), (63, 1 << 63)] {
            let refused = Polynomial::new(degree, low);
            assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{degree} {low}");
        }
    }

    #[test]
    fn products_are_those_of_long_division() {
        let mut state = 1_u64;
        let mut next = || {
            state = xxh3_64(&state.to_le_bytes());
            state
        };
        for degree in 1..=64_u32 {
            for _ in 0..50 {
                let p = Polynomial { degree, low: next() >> (64 - degree) };
                let (a, b) = (next() >> (64 - degree), next() >> (64 - degree));
                let divisor = 1_u128 << degree | u128::from(p.low);
                let rest = (degree..128).rev().fold(plain_product(a, b), |rest, bit| {
                    if rest >> bit & 1 == 1 { rest ^ divisor << (bit - degree) } else { rest }
                });
                assert_eq!(u128::from(p.multiply(a, b)), rest, "{p:?} {a:x} {b:x}");
            }
        }
    }
}
