//! Rabin fingerprints: the remainder of a string, read as a polynomial over GF(2), modulo a primitive polynomial.
//!
//! In: bytes. Out: 64-bit fingerprints that can be extended, concatenated and slid along a text. No other hash of
//! this crate can do that. `format-spec/chunks.md` defines them. The method is that of M. O. Rabin, *Fingerprinting
//! by random polynomials* (1981). Nothing here knows about features or sets.
//!
//! # Uses and limits
//!
//! Two different strings of n bits have the same fingerprint under a random primitive polynomial of degree 64 with
//! a probability of at most about n / 2^63, whatever the strings are. Strings of the same length that differ only
//! within 64 consecutive bits always have different fingerprints. But a fingerprint is *linear*: for strings of the
//! same length, `f(a) ^ f(b) ^ f(c) ^ f(d)` is 0 whenever `a ^ b ^ c ^ d` is. Therefore:
//!
//! - It is not cryptographic. Anyone who knows the polynomial can make collisions.
//! - Never take the fingerprint of a fingerprint with the same polynomial. Differences of fingerprints are related
//!   to it, and collisions become far more common than by chance.
//! - Mix it before you use its bits as those of a hash. The features of this crate are XXH3 for that reason.
//!
//! ```
//! use ringer::features::rabin::Rabin;
//!
//! let rabin = Rabin::standard();
//! let (hello, world) = (rabin.fingerprint(b"hello "), rabin.fingerprint(b"world"));
//! assert_eq!(rabin.concat(hello, world, 5), rabin.fingerprint(b"hello world"));
//! assert_eq!(rabin.extend(hello, b"world"), rabin.fingerprint(b"hello world"));
//! ```

mod fingerprint;
mod polynomial;
mod window;

pub use fingerprint::Rabin;
pub use polynomial::Polynomial;
pub use window::Window;

pub(crate) use window::leaving;
