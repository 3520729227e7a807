//! The error type of the crate.
//!
//! Each variant is one situation that a caller may want to handle differently. Its message says what happened, to what,
//! and, after a semicolon, what to do about it. `tests/api/messages.txt` lists an example of each.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::scheme::{Features, Scheme};

/// An error of any call of this crate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is outside its limits. Nothing was changed.
    #[error("{what}: {limit}")]
    InvalidArgument {
        /// The argument and its value.
        what: String,
        /// The limit that it breaks, as a clause.
        limit: String,
    },

    /// Signatures of different schemes cannot be compared.
    #[error("signatures of different schemes cannot be compared ({}); sketch both sets with the same scheme", stored.differences_text(requested))]
    SchemeMismatch {
        /// The scheme of the database, or of the first signature.
        stored: Box<Scheme>,
        /// The scheme of the other signature.
        requested: Box<Scheme>,
    },

    /// The signatures of the scheme are made of sketches of another program ([`Scheme::is_foreign`]). Nothing was changed.
    #[error(
        "texts and sets cannot be compared with sketches of another program, because their hash functions differ; give \
         signatures that were made of its sketches, or keys of stored ones"
    )]
    ForeignScheme,

    /// Stored signatures cannot become those of the scheme without the sets. Nothing was changed.
    #[error(
        "the {field} of stored signatures cannot change from {stored} to {requested}, because only slots \
         can change and bits become fewer; add the sets to a new database with the other scheme"
    )]
    NotDerivable {
        /// The field of the scheme.
        field: &'static str,
        /// Its value for the stored signatures.
        stored: String,
        /// The value that was asked for.
        requested: String,
    },

    /// Stored bytes have a value that this version does not know. They are not damaged.
    #[error(
        "{what} {found} is not supported: this version reads {oldest} to {newest} ({rule}); \
         use the version of ringer that wrote it, or a newer one"
    )]
    UnsupportedFormat {
        /// What the value is.
        what: &'static str,
        /// The value found.
        found: u64,
        /// The smallest value that this version reads.
        oldest: u64,
        /// The largest value that this version reads.
        newest: u64,
        /// The rule of `format-spec/` that rejects the value.
        rule: &'static str,
    },

    /// Stored bytes break a rule of the format.
    #[error(
        "the {what} is damaged at byte {offset} ({rule}): {detail}; restore it from a backup, or \
         save the readable rows with salvage"
    )]
    Corrupt {
        /// What was being read.
        what: &'static str,
        /// The place of the damage, in bytes from the start of what was being read.
        offset: u64,
        /// The rule of `format-spec/` that is broken.
        rule: &'static str,
        /// What was found.
        detail: String,
    },

    /// The measure is 0/0 for these sets.
    #[error(
        "{measure} is undefined (0/0) because a set is empty; decide what that means for your \
         data before you compare"
    )]
    Undefined {
        /// What was asked for.
        measure: &'static str,
    },

    /// The measure needs set sizes, and the scheme does not store suitable ones.
    #[error(
        "{measure} needs set sizes, but the cardinality field of this scheme is `{field}`; \
         sketch with `log8` or `exact`"
    )]
    NoCardinality {
        /// What was asked for.
        measure: &'static str,
        /// The cardinality field of the scheme.
        field: &'static str,
    },

    /// The signatures were made for another measure.
    #[error(
        "{requested} cannot be computed from signatures of the measure `{measure}`; use a scheme of \
         another measure"
    )]
    OtherMeasure {
        /// What was asked for.
        requested: &'static str,
        /// The measure of the signatures.
        measure: &'static str,
    },

    /// The samples have too few bits to compare so many sets.
    #[error(
        "the resemblance of {sets} sets needs samples of at least {needed} bits, but these have \
         {bits}; use a scheme with more bits"
    )]
    TooFewBits {
        /// The number of sets to be compared.
        sets: usize,
        /// Bits of a sample.
        bits: u8,
        /// Bits that a sample needs.
        needed: u8,
    },

    /// The call needs more memory than its limit. Nothing was changed.
    #[error(
        "{what} needs about {needed} bytes of memory, but the limit is {limit}; raise the limit"
    )]
    OverLimit {
        /// What needs the memory.
        what: String,
        /// About how many bytes it needs.
        needed: u64,
        /// The limit in bytes.
        limit: u64,
    },

    /// No set is stored under the key.
    #[error("no set is stored under the key `{}`", key.escape_ascii())]
    NoSuchKey {
        /// The key.
        key: Box<[u8]>,
    },

    /// The operating system reported a failure.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb: `read`, `sync`, `rename`.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: IoCause,
    },

    /// The device is full, or a size limit of the system is reached. Committed data is safe, and reads still work.
    #[error("no space left to {operation} {}; free some space and try again", path.display())]
    NoSpace {
        /// The operation, as a verb.
        operation: &'static str,
        /// The file.
        path: PathBuf,
    },

    /// The disk has less free space than the work takes. Nothing was changed.
    #[error(
        "{what} {} takes up to {needed} bytes beside it, but only {free} are free; free some space and \
         try again", path.display()
    )]
    TooLittleSpace {
        /// The work, as a noun: `reindexing`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The most bytes that the work takes.
        needed: u64,
        /// The bytes that are free.
        free: u64,
    },

    /// The file is not a Ringer database.
    #[error("{} is not a ringer database; check the path", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },

    /// The path of a new file is taken. What is there was not changed.
    #[error("{} already exists; choose another path, or remove it first", path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },

    /// A file or directory has the name of a companion file of the database but does not belong to it. Neither was
    /// changed.
    #[error(
        "{} has the name of a companion file of the database {} but does not belong to it; move it away",
        path.display(), database.display()
    )]
    NotOurs {
        /// The file or directory.
        path: PathBuf,
        /// The database.
        database: PathBuf,
    },

    /// Another database uses the name for a companion file. Nothing was created or changed.
    #[error(
        "{} is a name that the database {} uses for a companion file; choose another name",
        path.display(), database.display()
    )]
    ReservedName {
        /// The name that was asked for.
        path: PathBuf,
        /// The database beside it.
        database: PathBuf,
    },

    /// The database file was removed, renamed or replaced while it was open. The handle no longer changes anything at
    /// that path. Reads of the file that was opened still work.
    #[error(
        "{} is no longer the file that was opened, because it was removed, renamed or replaced; \
         open the database again at its current path",
        path.display()
    )]
    Replaced {
        /// The path of the file when it was opened.
        path: PathBuf,
    },

    /// The handle was opened in the process from which this one was forked. Nothing was done.
    #[error(
        "{} was opened before this process was forked; open it again in this process",
        path.display()
    )]
    Forked {
        /// The database.
        path: PathBuf,
    },

    /// The scheme takes sets from the caller and does not extract them from documents. Nothing was changed.
    #[error("a scheme with features `{features}` takes sets, not documents; {instead}")]
    NotDocuments {
        /// The features of the scheme.
        features: Features,
        /// What to do instead.
        instead: &'static str,
    },

    /// A document exceeds a limit of its extractor.
    #[error("the document has more than {limit} {what}; leave it out, or raise the limit")]
    DocumentTooLarge {
        /// What the document has too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
    },

    /// The caller interrupted the work. Nothing was changed.
    #[error("the work was interrupted by the caller; nothing was changed")]
    Interrupted,

    /// Another process, or another handle of this process, has the database open for writing.
    #[error("{} is open for writing elsewhere; close it there, or open it read-only", path.display())]
    Locked {
        /// The database.
        path: PathBuf,
    },

    /// The database was closed, by this handle or by a clone of it. Nothing was done.
    #[error("{} was closed; open it again", path.display())]
    Closed {
        /// The database.
        path: PathBuf,
    },

    /// An earlier write or sync failed, so the state on disk is unknown. Reads still work.
    #[error(
        "writing is disabled after an earlier failure ({reason}); close the database and open it again"
    )]
    Poisoned {
        /// The message of the earlier failure.
        reason: String,
    },

    /// The write-ahead log is missing, and with it the commits since the last checkpoint.
    #[error(
        "the write-ahead log is missing, and with it the commits after {checkpointed}{}; restore the \
         `-hot` directory beside the database, or open with salvage to go on without them",
        marked.map_or(String::new(), |m| format!(" (the last known is {m})"))
    )]
    LogMissing {
        /// The last commit that is in the database file.
        checkpointed: u64,
        /// The last acknowledged commit, if the commit mark tells.
        marked: Option<u64>,
    },

    /// The write-ahead log does not have all acknowledged commits.
    #[error(
        "the write-ahead log is damaged ({detail}), and only commits up to {readable}{} can be \
         read; restore the `-hot` directory beside the database, or open with salvage to go on \
         with those",
        marked.map_or(String::new(), |m| format!(" of {m}"))
    )]
    LogDamaged {
        /// The last commit that can be read.
        readable: u64,
        /// The last acknowledged commit, if the commit mark tells.
        marked: Option<u64>,
        /// What was found.
        detail: String,
    },
}

/// The error of the operating system behind [`Error::Io`].
///
/// It shares an [`io::Error`], so that errors can be cloned. Two are equal if their kinds are equal.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct IoCause(Arc<io::Error>);

impl IoCause {
    /// Returns the kind of failure.
    pub fn kind(&self) -> io::ErrorKind {
        self.0.kind()
    }
}

impl From<io::Error> for IoCause {
    fn from(error: io::Error) -> IoCause {
        IoCause(Arc::new(error))
    }
}

impl PartialEq for IoCause {
    fn eq(&self, other: &IoCause) -> bool {
        self.kind() == other.kind()
    }
}

impl Error {
    /// Builds [`Error::InvalidArgument`]: `what` names the argument and its value, `limit` says what is allowed.
    pub(crate) fn invalid(what: impl Into<String>, limit: impl Into<String>) -> Error {
        Error::InvalidArgument { what: what.into(), limit: limit.into() }
    }

    /// Adds to the offset of [`Error::Corrupt`], for a caller whose data contains the damaged part at `by`.
    pub(crate) fn shifted(mut self, by: u64) -> Error {
        if let Error::Corrupt { offset, .. } = &mut self {
            *offset = offset.saturating_add(by);
        }
        self
    }

    /// Whether a sync failed. The state on disk is then unknown, and a second sync that succeeds proves nothing.
    pub(crate) fn is_failed_sync(&self) -> bool {
        matches!(
            self,
            Error::Io { operation: "sync", .. } | Error::NoSpace { operation: "sync", .. }
        )
    }

    /// Builds [`Error::Io`], or [`Error::NoSpace`] if the device is full.
    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Error {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Error::NoSpace { operation, path },
            _ => Error::Io { operation, path, source: IoCause(Arc::new(source)) },
        }
    }
}

/// The result of a call of this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;
