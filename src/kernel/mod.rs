//! The loops over words that are worth writing once for each kind of processor.
//!
//! In: signatures as bit planes ([`Rows`]), or samples on their way there; blocks of bytes. Out: counts of equal
//! samples, masks of which, planes; a bit for each byte ([`marks()`]). Equality of b-bit samples is XOR, OR over the planes, and a count of bits:
//! one loop for every b. Each loop is written for every machine ([`portable`]) and again for each
//! instruction set that does it faster; all give the same bits. Loops that only want to be compiled for wider instructions stay
//! where they belong, and are run from here ([`Work`]). This is the only folder with unsafe
//! code, and what little there is, is loads and stores of whole arrays, and calls of single instructions.
//!
//! What sets, samples and counts mean is no business of this folder.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_lanes;
#[cfg(target_arch = "x86_64")]
mod avx2_visits;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_early;
mod dispatch;
mod early;
mod least;
mod marks;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod prefetch;
mod rows;
mod visits;

pub use dispatch::Kernel;
pub(crate) use dispatch::Work;
pub(crate) use early::{FOUND, HASHES};
pub(crate) use least::{LANES, Least};
pub use marks::{BLOCK, marks};
pub use prefetch::prefetch;
pub use rows::{Row, Rows};
pub(crate) use visits::{Moment, VISITS, Visitors};

#[cfg(test)]
mod tests;
