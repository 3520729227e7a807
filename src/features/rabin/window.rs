//! The fingerprint of a window that slides along a text.
//!
//! In: the fingerprint of a window, the byte that leaves it and the byte that enters it. Out: the fingerprint of
//! the window moved by one byte (RABIN-4). Let the window have n bytes and the polynomial degree d. Appending the
//! new byte to `1 leaving rest` gives `1 leaving rest new`. The correction removes the 1 and the leaving byte, and
//! puts a 1 before the rest: `((x^8 + leaving + 1) * x^(8n)) * x^d`. A table holds it for each leaving byte.

use crate::error::{Error, Result};

use super::{Polynomial, Rabin};

/// A sliding window of a fixed number of bytes.
///
/// ```
/// use ringer::features::rabin::{Rabin, Window};
///
/// let rabin = Rabin::standard();
/// let window = Window::new(rabin, 4)?;
/// let text = b"abcdefgh";
/// let mut fingerprint = rabin.fingerprint(&text[..4]);
/// for i in 4..text.len() {
///     fingerprint = window.slide(fingerprint, text[i - 4], text[i]);
///     assert_eq!(fingerprint, rabin.fingerprint(&text[i - 3..=i]));
/// }
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Window<'a> {
    rabin: &'a Rabin,
    leaving: [u64; 256],
}

/// The corrections for each byte that leaves a window of this many bytes.
pub(crate) const fn leaving(polynomial: Polynomial, bytes: u64) -> [u64; 256] {
    let shift = polynomial.multiply(polynomial.power_of_bytes(bytes), polynomial.low());
    let byte_on = polynomial.power_of_bytes(1);
    let mut table = [polynomial.multiply(shift, byte_on) ^ shift; 256];
    let mut power = shift;
    let mut bit = 0;
    while bit < 8 {
        let mut byte = 0;
        while byte < 256 {
            if byte >> bit & 1 == 1 {
                table[byte] ^= power;
            }
            byte += 1;
        }
        power = polynomial.times_x(power);
        bit += 1;
    }
    table
}

impl<'a> Window<'a> {
    /// Makes a window of this many bytes, at least one.
    pub fn new(rabin: &'a Rabin, bytes: u64) -> Result<Window<'a>> {
        if bytes == 0 {
            return Err(Error::invalid("a window of 0 bytes", "a window has at least one byte"));
        }
        Ok(Window { rabin, leaving: leaving(rabin.polynomial(), bytes) })
    }

    /// The fingerprint of the window moved by one byte: without its oldest byte and with a new one.
    pub fn slide(&self, fingerprint: u64, oldest: u8, newest: u8) -> u64 {
        self.rabin.append(fingerprint, newest) ^ self.leaving[usize::from(oldest)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// RABIN-4 for every degree and window.
        #[test]
        fn sliding_is_fingerprinting_anew(
            degree in 1_u32..=64,
            low in any::<u64>(),
            n in 1_usize..40,
            text in prop::collection::vec(any::<u8>(), 40..120),
        ) {
            let rabin = Rabin::new(Polynomial::new(degree, low >> (64 - degree)).unwrap());
            let window = Window::new(&rabin, n as u64).unwrap();
            let mut fingerprint = rabin.fingerprint(&text[..n]);
            for i in n..text.len() {
                fingerprint = window.slide(fingerprint, text[i - n], text[i]);
                prop_assert_eq!(fingerprint, rabin.fingerprint(&text[i + 1 - n..=i]));
            }
        }
    }

    #[test]
    fn nothing_slides_out_of_nothing() {
        let refused = Window::new(Rabin::standard(), 0).unwrap_err();
        assert_eq!(refused.to_string(), "a window of 0 bytes: a window has at least one byte");
    }
}
