//! Anything becomes a set of 64-bit features.
//!
//! In: tokens or text. Out: features, as `format-spec/features.md` fixes them. Knows nothing of
//! signatures: the features are the input of [`crate::Sketcher`], and of anything else that wants a set
//! of numbers.

mod chunks;
mod extractor;
pub mod rabin;
mod shingles;
mod tokens;

pub use chunks::{Chunk, Chunker, DEFAULT_HORIZON, chunks};
pub use extractor::{Extractor, Media};
pub use shingles::shingles;
pub use tokens::{token, tokens};
