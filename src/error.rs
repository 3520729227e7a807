//! The one error type of the crate.
//!
//! A variant stands for one thing that the caller can do about it; the text is a sentence that says
//! what went wrong and what to do next.

use crate::scheme::Scheme;

/// What can go wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is outside its limit. Nothing was changed.
    #[error("{what}: {limit}")]
    InvalidArgument {
        /// Which argument, and the value it had.
        what: String,
        /// The limit that it broke, as a sentence.
        limit: String,
    },

    /// Two signatures of different schemes cannot be compared.
    #[error("signatures of different schemes cannot be compared: {}; sketch both with one scheme", stored.differences_text(asked))]
    SchemeMismatch {
        /// The scheme of the signature or database that was there first.
        stored: Box<Scheme>,
        /// The scheme of what it was to be compared with.
        asked: Box<Scheme>,
    },

    /// Stored bytes use a value that this version does not know. They are not damaged.
    #[error(
        "{what} {found} is not known to this version, which reads {oldest} to {newest} ({rule}): \
         use the version of ringer that wrote it, or a newer one"
    )]
    UnsupportedFormat {
        /// What the value is.
        what: &'static str,
        /// The value found.
        found: u64,
        /// The smallest value this version reads.
        oldest: u64,
        /// The largest value this version reads.
        newest: u64,
        /// The rule of `format-spec/` that refuses it.
        rule: &'static str,
    },

    /// Stored bytes break a rule of the format.
    #[error("damaged {what} at byte {offset} ({rule}): {detail}; restore it from a copy")]
    Corrupt {
        /// What was being read.
        what: &'static str,
        /// Where in it, in bytes from its start.
        offset: u64,
        /// The rule of `format-spec/` that is broken.
        rule: &'static str,
        /// What was found.
        detail: String,
    },

    /// The measure is 0/0 for these sets.
    #[error(
        "{measure} is undefined here (0/0, because of an empty set): decide what that means for \
         your data before comparing"
    )]
    Undefined {
        /// What was asked for.
        measure: &'static str,
    },

    /// The measure needs set sizes, and the scheme stores none that would do.
    #[error(
        "{measure} needs set sizes, which a scheme with cardinality field `{field}` does not keep: \
         sketch with `log8` or `exact`"
    )]
    NoCardinality {
        /// What was asked for.
        measure: &'static str,
        /// The cardinality field of the scheme.
        field: &'static str,
    },

    /// Signatures of so few bits cannot tell apart so many sets.
    #[error(
        "the resemblance of {sets} sets needs samples of at least {needed} bits, and these have \
         {bits}: sketch with more bits"
    )]
    TooFewBits {
        /// How many sets were to be compared.
        sets: usize,
        /// Bits a sample has.
        bits: u8,
        /// Bits a sample needs.
        needed: u8,
    },
}

impl Error {
    /// An argument outside its limit: `what` names it with its value, `limit` says what is allowed.
    pub(crate) fn invalid(what: impl Into<String>, limit: impl Into<String>) -> Error {
        Error::InvalidArgument { what: what.into(), limit: limit.into() }
    }
}

/// The result of a fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
