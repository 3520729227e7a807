//! Anything becomes a set of 64-bit features.
//!
//! In: tokens, text, pages or addresses. Out: features, as `format-spec/features.md` fixes them. Knows nothing of
//! signatures: the features are the input of [`crate::Sketcher`], and of anything else that wants a set
//! of numbers.

mod ascii;
mod characters;
#[cfg(any(test, feature = "internals"))]
#[doc(hidden)]
pub mod definition;
mod grams;
pub mod html;
mod normal;
mod pieces;
mod shingles;
mod spots;
mod tokens;
mod url;
mod words;
#[cfg(test)]
mod words_tests;

pub use grams::{GramReader, grams, plain_grams};
pub use shingles::{Ends, ShingleReader, plain_shingles, shingles};
pub use spots::{SpotReader, spots};
pub use tokens::{token, tokens};
pub use url::{UrlReader, url};
