//! Rabin fingerprints: a string as a polynomial over GF(2), divided by a primitive one; what is left over.
//!
//! In: bytes. Out: 64-bit fingerprints that can be extended, joined, and slid along a text, which no other
//! hash of this crate can. `format-spec/chunks.md` fixes them; the method is M. O. Rabin's, *Fingerprinting
//! by random polynomials* (1981). Knows nothing of features or sets.
//!
//! # What they are for, and what not
//!
//! Two different strings of n bits have the same fingerprint under a random primitive polynomial of degree
//! 64 with a probability of at most about n / 2^63, whatever the strings; strings of one length that differ only within
//! 64 consecutive bits never have. But a fingerprint is *linear*: for strings of one length,
//! `f(a) ^ f(b) ^ f(c) ^ f(d)` is 0 whenever `a ^ b ^ c ^ d` is. Therefore
//!
//! - it is not cryptographic: who knows the polynomial makes collisions at will;
//! - never take the fingerprint of a fingerprint with the same polynomial: their differences are related to it,
//!   and collisions are far more common than chance;
//! - mix it before its bits are used as those of a hash. Features of this crate are XXH3 for that reason.
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
