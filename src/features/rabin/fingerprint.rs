//! Fingerprints of strings, eight bytes per step.
//!
//! In: bytes and a polynomial p of degree d. Out: the remainder modulo p of a 1, the bits of the string (the
//! highest of each byte first) and d zeros (RABIN-2). The 1 distinguishes strings of zeros. The zeros spread
//! strings that differ only in their last bits.
//!
//! Internally everything is multiplied by `x^(64-d)`, including the polynomial, so that the same code serves every
//! degree. Table k has the residues of `byte * x^(64 + 8k)`.

use super::polynomial::Polynomial;

/// Computes fingerprints modulo one polynomial (RABIN-2 to RABIN-4). It holds tables of 16 KiB.
#[derive(Debug, Clone)]
pub struct Rabin {
    polynomial: Polynomial,
    tables: [[u64; 256]; 8],
}

static STANDARD: Rabin = Rabin::new(Polynomial::STANDARD);

impl Rabin {
    /// Prepares fingerprints modulo a polynomial. It should be primitive, and hence irreducible, because the bound
    /// on collisions requires it. This is not checked.
    ///
    /// ```
    /// use ringer::features::rabin::{Polynomial, Rabin};
    ///
    /// let small = Rabin::new(Polynomial::new(8, 0b11101)?); // x^8 + x^4 + x^3 + x^2 + 1
    /// assert_eq!(small.fingerprint(b"A"), 0x42); // x^16 + x^14 + x^8 leaves x^6 + x
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub const fn new(polynomial: Polynomial) -> Rabin {
        let aligned = polynomial.low() << (64 - polynomial.degree());
        let mut tables = [[0; 256]; 8];
        let mut power = aligned; // x^64, x^65, ...
        let mut bit = 0;
        while bit < 64 {
            let (table, spine) = (bit / 8, 1 << (bit % 8));
            // Bytes below the spine are filled already. Those above are sums of one of them and the spine.
            let mut byte = 0;
            while byte < spine {
                tables[table][spine + byte] = tables[table][byte] ^ power;
                byte += 1;
            }
            power = power << 1 ^ (power >> 63).wrapping_neg() & aligned;
            bit += 1;
        }
        Rabin { polynomial, tables }
    }

    /// Fingerprints modulo [`Polynomial::STANDARD`]. The tables are compiled into the program.
    pub fn standard() -> &'static Rabin {
        &STANDARD
    }

    /// The polynomial of these fingerprints.
    pub const fn polynomial(&self) -> Polynomial {
        self.polynomial
    }

    /// The table that appends one byte to a residue of 64 bits.
    pub(crate) const fn byte_table(&self) -> &[u64; 256] {
        &self.tables[0]
    }

    /// The fingerprint of the empty string.
    pub const fn empty(&self) -> u64 {
        self.polynomial.low()
    }

    /// The fingerprint of a string.
    pub fn fingerprint(&self, bytes: &[u8]) -> u64 {
        self.extend(self.empty(), bytes)
    }

    /// The fingerprint of a string with one more byte, from that of the string.
    pub fn append(&self, fingerprint: u64, byte: u8) -> u64 {
        self.extend(fingerprint, &[byte])
    }

    /// The fingerprint of a string with more bytes, from that of the string.
    pub fn extend(&self, fingerprint: u64, bytes: &[u8]) -> u64 {
        let shift = 64 - self.polynomial.degree();
        let mut residue = fingerprint << shift;
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            let sum = (residue ^ u64::from_be_bytes(*word)).to_le_bytes();
            // Byte 0 of the sum was appended last, so it is multiplied by the lowest power.
            let terms = self.tables.iter().zip(sum);
            residue = terms.fold(0, |all, (table, byte)| all ^ table[usize::from(byte)]);
        }
        for byte in rest {
            let top = (residue >> 56) as u8 ^ byte;
            residue = residue << 8 ^ self.tables[0][usize::from(top)];
        }
        residue >> shift
    }

    /// The fingerprint of the concatenation of two strings, from their fingerprints and the length of the second in
    /// bytes (RABIN-3). It takes logarithmic time in the length.
    pub const fn concat(&self, first: u64, second: u64, second_bytes: u64) -> u64 {
        let shift = self.polynomial.power_of_bytes(second_bytes);
        self.polynomial.multiply(first ^ self.empty(), shift) ^ second
    }

    /// The fingerprint of the second of two strings, from that of their concatenation, that of the first, and the
    /// length of the second in bytes. It is the inverse of [`Rabin::concat`].
    ///
    /// ```
    /// let rabin = ringer::features::rabin::Rabin::standard();
    /// let whole = rabin.fingerprint(b"hello world");
    /// let first = rabin.fingerprint(b"hello ");
    /// assert_eq!(rabin.without_first(whole, first, 5), rabin.fingerprint(b"world"));
    /// ```
    pub const fn without_first(&self, both: u64, first: u64, second_bytes: u64) -> u64 {
        self.concat(first, both, second_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RABIN-2 by long division, bit by bit.
    pub(crate) fn divided(polynomial: Polynomial, bytes: &[u8]) -> u64 {
        let degree = polynomial.degree();
        let divisor = 1_u128 << degree | u128::from(polynomial.low());
        let string = bytes.iter().flat_map(|byte| (0..8).rev().map(move |i| byte >> i & 1 == 1));
        let bits = [true].into_iter().chain(string).chain((0..degree).map(|_| false));
        let rest = bits.fold(0_u128, |rest, bit| {
            let rest = rest << 1 | u128::from(bit);
            if rest >> degree & 1 == 1 { rest ^ divisor } else { rest }
        });
        rest as u64
    }

    fn any_polynomial() -> impl Strategy<Value = Polynomial> {
        let own = (1_u32..=64, any::<u64>())
            .prop_map(|(d, low)| Polynomial::new(d, low >> (64 - d)).unwrap());
        prop_oneof![Just(Polynomial::STANDARD), own]
    }

    #[test]
    fn the_example_of_the_source() {
        let p = Polynomial::new(8, 0b11101).unwrap();
        assert_eq!(divided(p, b"A"), 0x42);
        assert_eq!(Rabin::new(p).fingerprint(b"A"), 0x42);
        assert_eq!(Rabin::new(p).append(Rabin::new(p).empty(), b'A'), 0x42);
    }

    #[test]
    fn zeros_are_told_apart() {
        let rabin = Rabin::standard();
        let mut all: Vec<u64> = (0..1000).map(|n| rabin.fingerprint(&vec![0; n])).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1000);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn fingerprints_are_what_division_leaves(
            p in any_polynomial(),
            bytes in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            prop_assert_eq!(Rabin::new(p).fingerprint(&bytes), divided(p, &bytes));
        }

        /// RABIN-3 for any two strings: appended byte by byte, appended at once, concatenated and separated.
        #[test]
        fn strings_in_a_row(
            p in any_polynomial(),
            a in prop::collection::vec(any::<u8>(), 0..50),
            b in prop::collection::vec(any::<u8>(), 0..50),
        ) {
            let rabin = Rabin::new(p);
            let (fa, fb) = (rabin.fingerprint(&a), rabin.fingerprint(&b));
            let both = divided(p, &[&*a, &*b].concat());
            prop_assert_eq!(rabin.extend(fa, &b), both);
            prop_assert_eq!(b.iter().fold(fa, |f, byte| rabin.append(f, *byte)), both);
            prop_assert_eq!(rabin.concat(fa, fb, b.len() as u64), both);
            prop_assert_eq!(rabin.without_first(both, fa, b.len() as u64), fb);
        }

        /// The linearity that the module documentation warns of.
        #[test]
        fn fingerprints_are_linear(words in prop::array::uniform3(any::<[u8; 24]>())) {
            let f = |bytes: &[u8]| Rabin::standard().fingerprint(bytes);
            let fourth: Vec<u8> = (0..24).map(|i| words[0][i] ^ words[1][i] ^ words[2][i]).collect();
            prop_assert_eq!(f(&words[0]) ^ f(&words[1]) ^ f(&words[2]), f(&fourth));
        }
    }

    /// The burst property: strings that differ only within 64 successive bits have different fingerprints. By linearity, the
    /// fingerprint changes by the sum of the changes of single bits. So no burst goes unseen if the changes of 64 successive
    /// bits are linearly independent over GF(2), at every place.
    #[test]
    fn every_burst_of_64_bits_changes_the_fingerprint() {
        const BYTES: usize = 40;
        let polynomials = [Polynomial::STANDARD, Polynomial::primitive_from_seed(7)];
        for rabin in polynomials.map(Rabin::new) {
            let text = vec![0x5A; BYTES];
            let change = |bit: usize| {
                let mut changed = text.clone();
                changed[bit / 8] ^= 0x80 >> (bit % 8);
                rabin.fingerprint(&changed) ^ rabin.fingerprint(&text)
            };
            let changes: Vec<u64> = (0..8 * BYTES).map(change).collect();
            for (start, window) in changes.windows(64).enumerate() {
                // Elimination: one row for each leading bit.
                let mut rows = [0_u64; 64];
                for change in window {
                    let mut left = *change;
                    while left != 0 && rows[63 - left.leading_zeros() as usize] != 0 {
                        left ^= rows[63 - left.leading_zeros() as usize];
                    }
                    assert_ne!(left, 0, "a burst at bit {start} leaves the fingerprint as it is");
                    rows[63 - left.leading_zeros() as usize] = left;
                }
            }
            // 65 bits are too many: the polynomial itself is a burst that goes unseen.
            let burst = 1_u128 << 64 | u128::from(rabin.polynomial().low());
            let unseen =
                (0..65).filter(|i| burst >> i & 1 == 1).fold(0, |f, i| f ^ changes[100 - i]);
            assert_eq!(unseen, 0);
        }
    }

    /// Lengths near the largest possible: `x^(8 (a + b)) = x^(8a) x^(8b)`.
    #[test]
    fn huge_lengths() {
        let rabin = Rabin::standard();
        let f = rabin.fingerprint(b"x");
        let zeros = |bytes| rabin.concat(f, rabin.empty(), bytes) ^ rabin.concat(0, 0, bytes);
        let p = rabin.polynomial();
        let (a, b) = (u64::MAX / 3, u64::MAX / 3 * 2);
        let product = p.multiply(p.multiply(f, p.power_of_bytes(a)), p.power_of_bytes(b));
        assert_eq!(zeros(a + b) ^ rabin.empty(), product);
    }
}
