//! Feature extraction: documents become sets of 64-bit features.
//!
//! In: tokens, text, HTML pages, files or URLs. Out: features as `format-spec/features.md` defines them. Nothing
//! here knows about signatures. The features are the input of [`crate::Sketcher`], or of anything else that needs a
//! set of numbers.

mod ascii;
mod buffer;
mod characters;
mod chunks;
#[cfg(any(test, feature = "internals"))]
#[doc(hidden)]
pub mod definition;
mod extractor;
mod grams;
pub mod html;
mod limits;
mod normal;
mod pieces;
pub mod rabin;
mod shingles;
mod spots;
mod tokens;
mod url;
mod weights;
mod words;
#[cfg(test)]
mod words_tests;

pub use crate::scheme::Ends;
pub use chunks::{Chunk, Chunker, DEFAULT_HORIZON, chunks};
pub use extractor::{Extractor, Media};
pub use grams::{GramReader, grams, plain_grams};
pub use limits::Limits;
pub use shingles::{ShingleReader, plain_shingles, shingles};
pub use spots::{SpotReader, spots};
pub use tokens::{token, tokens};
pub use url::{UrlReader, url};
pub use weights::{DocumentFrequencies, Weighting, vector};
