//! Loops that are written once for each kind of processor.
//!
//! In: signatures as bit planes ([`Rows`]), samples to pack, or blocks of bytes. Out: counts and masks of equal
//! samples, planes, and masks of bytes ([`marks()`]). b-bit samples are compared by XOR, OR over the planes, and a bit
//! count. The same loop serves every b. Each loop has a [`portable`] version, and another version for each instruction
//! set with which it is faster. All versions give the same bits. A loop that only needs to be compiled for wider
//! instructions stays in the module that uses it, and is run from here ([`Work`]). This is the only module with unsafe
//! code: loads and stores of whole arrays, and calls of single instructions.
//!
//! This module must not know what sets, samples and counts mean.

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
