#![doc = include_str!("../README.md")]
//!
//! # The rooms of the crate
//!
//! Data flows down: a module may use those above it.
//!
//! | module | question it answers |
//! |---|---|
//! | [`error`], [`limits`], [`options`], [`scheme`] | names and numbers: what makes two signatures comparable? |
//! | [`features`] | here is a document: which set is it? |
//! | [`kernel`] | here are words: what does this processor do fastest with them? |
//! | [`sketch`] | here is a set: what is its signature, and how many samples agree? |
//! | [`estimate`] | so many samples agree: how alike are the sets, and how sure is that? |

/// A room that users must not rely on: public only for this crate's own tests, benches and fuzz targets,
/// which turn on the feature `internals`.
macro_rules! room {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[cfg(feature = "internals")]
        #[doc(hidden)]
        pub mod $name;

        #[cfg(not(feature = "internals"))]
        #[allow(unreachable_pub, dead_code, reason = "reached with the feature `internals`")]
        mod $name;
    };
}

pub mod error;
pub mod limits;
pub mod options;
pub mod scheme;

pub mod features;

pub mod kernel;

pub mod sketch;

pub mod estimate;

room! {
    /// Bytes on disk and typed views of them.
    format
}

room! {
    /// Where bytes live.
    store
}

room! {
    /// How rows get in.
    ingest
}

#[cfg(test)]
mod spec_tables;

pub use error::{Error, Result};
pub use estimate::{Comparison, Estimate, resemblance_of};
pub use scheme::{Parameters, Scheme, presets};
pub use sketch::{Signature, Signatures, Sketcher, Stream};
