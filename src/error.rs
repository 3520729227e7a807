//! The one error type of the crate.
//!
//! A variant stands for one thing that the caller can do about it; the text is a sentence that says
//! what went wrong and what to do next.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::scheme::{Features, Scheme};

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

    /// Signatures of one measure do not tell what belongs to another.
    #[error(
        "{asked} cannot be told from signatures of the measure `{measure}`: sketch with a sampler for what you ask"
    )]
    OtherMeasure {
        /// What was asked for.
        asked: &'static str,
        /// What the signatures measure.
        measure: &'static str,
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

    /// What was asked for needs more memory than it may take. Nothing was changed.
    #[error("{what} would take {needed} bytes of memory, and may take {limit}: raise the limit")]
    OverLimit {
        /// What was to be done.
        what: String,
        /// Bytes that it needs, about.
        needed: u64,
        /// Bytes that it may take.
        limit: u64,
    },

    /// No set is stored under the key.
    #[error("no set is stored under the key `{}`", key.escape_ascii())]
    NoSuchKey {
        /// The key.
        key: Box<[u8]>,
    },

    /// The operating system refused an operation.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: `read`, `sync`, `rename`.
        operation: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: IoCause,
    },

    /// No room is left on the device, or a limit of sizes is reached. Committed data is safe, and reads go on.
    #[error("no space left to {operation} {}: free some and try again", path.display())]
    NoSpace {
        /// What was tried, as a verb.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
    },

    /// The file is no Ringer database.
    #[error("{} is not a ringer database: check the path", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },

    /// Something stands where a new file was to be made. It was left as it is.
    #[error("{} exists already: choose another path, or remove it first", path.display())]
    Exists {
        /// What is in the way.
        path: PathBuf,
    },

    /// Something that is not the database's own has the name of one of its companion files. It was left as it
    /// is, and so was the database.
    #[error(
        "{} has the name of a companion file of {} but does not belong to it: move it away",
        path.display(), database.display()
    )]
    NotOurs {
        /// What is in the way.
        path: PathBuf,
        /// The database.
        database: PathBuf,
    },

    /// The name is one that another database uses for a companion file. Nothing was made or changed.
    #[error(
        "{} is a name that the database {} uses for a companion file: choose another name",
        path.display(), database.display()
    )]
    ReservedName {
        /// The name that was asked for.
        path: PathBuf,
        /// The database beside it.
        database: PathBuf,
    },

    /// The database file was removed, renamed or replaced while it was open. Nothing at its name is touched any
    /// more; reads of what was open go on.
    #[error(
        "{} is no longer the file that was opened: it was removed, renamed or replaced; open the \
         database again where it is now",
        path.display()
    )]
    Replaced {
        /// The name that the file had.
        path: PathBuf,
    },

    /// The handle was opened by the process that this one was forked from. Nothing was done.
    #[error(
        "{} was opened before this process was forked: open it again in this process",
        path.display()
    )]
    Forked {
        /// The database.
        path: PathBuf,
    },

    /// The scheme's sets are given by the caller, not made of documents. Nothing was changed.
    #[error("a scheme of features `{features}` has sets, not documents: {instead}")]
    NotDocuments {
        /// The features of the scheme.
        features: Features,
        /// What to do instead.
        instead: &'static str,
    },

    /// A document is larger than the limits of its extractor allow.
    #[error("the document has more than {limit} {what}: leave it out, or raise the limit")]
    DocumentTooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
    },

    /// Work was given up because the caller asked for that. Nothing was changed.
    #[error("the work was interrupted, as asked")]
    Interrupted,

    /// Another process, or another handle of this one, writes to the database.
    #[error("{} is open for writing elsewhere: close it there, or open it read-only", path.display())]
    Locked {
        /// The database.
        path: PathBuf,
    },

    /// The database was closed, by this handle or by a clone of it. Nothing was done.
    #[error("{} was closed: open it again", path.display())]
    Closed {
        /// The database.
        path: PathBuf,
    },

    /// An earlier write or sync failed, so it is not known what is on disk. Reads go on.
    #[error(
        "writing stopped after an earlier failure ({reason}): close the database and open it again"
    )]
    Poisoned {
        /// The earlier failure.
        reason: String,
    },

    /// The commits since the last checkpoint are gone: their hot tier is not there.
    #[error(
        "the hot tier is missing: commits after {sealed} were in it{}; bring back the directory \
         beside the database, or open with salvage to go on without them",
        marked.map_or(String::new(), |m| format!(", the last known is {m}"))
    )]
    HotTierMissing {
        /// The last commit that is in the database file.
        sealed: u64,
        /// The last commit that was acknowledged, where the commit mark tells.
        marked: Option<u64>,
    },

    /// The hot tier does not hold all acknowledged commits.
    #[error(
        "the hot tier is damaged ({detail}): commits up to {readable} can be read{}; restore the \
         directory beside the database, or open with salvage to go on with those",
        marked.map_or(String::new(), |m| format!(" of {m}"))
    )]
    HotTierDamaged {
        /// The last commit that can be read.
        readable: u64,
        /// The last commit that was acknowledged, where the commit mark tells.
        marked: Option<u64>,
        /// What was found.
        detail: String,
    },
}

/// What the operating system said about a failed operation; a shared [`io::Error`], so that errors can
/// be cloned. Two are equal if their kinds are.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct IoCause(Arc<io::Error>);

impl IoCause {
    /// The kind of failure.
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
    /// An argument outside its limit: `what` names it with its value, `limit` says what is allowed.
    pub(crate) fn invalid(what: impl Into<String>, limit: impl Into<String>) -> Error {
        Error::InvalidArgument { what: what.into(), limit: limit.into() }
    }

    /// The same error, with the place of damage counted from further outside.
    pub(crate) fn shifted(mut self, by: u64) -> Error {
        if let Error::Corrupt { offset, .. } = &mut self {
            *offset = offset.saturating_add(by);
        }
        self
    }

    /// Whether a sync failed: then it is not known what is on disk, and trying again says nothing.
    pub(crate) fn is_failed_sync(&self) -> bool {
        matches!(
            self,
            Error::Io { operation: "sync", .. } | Error::NoSpace { operation: "sync", .. }
        )
    }

    /// A failed operation on a file. A full device has its own variant.
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

/// The result of a fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
