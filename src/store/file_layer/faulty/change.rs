//! What a run did to the disk, one change after the other.
//!
//! Files and directories go by their numbers, because a write belongs to a file whatever its names become.

use std::ffi::OsString;
use std::sync::Arc;

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The number of the directory.
    pub directory: u64,
    /// The name there.
    pub name: OsString,
}

/// A change that was made, in the order in which changes were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Bytes were written to a file.
    Write {
        /// The number of the file.
        inode: u64,
        /// Where.
        offset: u64,
        /// What.
        bytes: Arc<[u8]>,
    },
    /// A file was cut or extended.
    SetLen {
        /// The number of the file.
        inode: u64,
        /// Its new length.
        length: u64,
    },
    /// A file was synced.
    Sync {
        /// The number of the file.
        inode: u64,
    },
    /// A sync of a file failed. What was not durable by then may never become so: systems forget that
    /// such pages were to be written, so that a second sync says nothing about them.
    FailedSync {
        /// The number of the file.
        inode: u64,
    },
    /// A file was made.
    CreateFile {
        /// Its name.
        at: Place,
        /// Its number.
        inode: u64,
    },
    /// A file got one more name.
    Link {
        /// The new name.
        at: Place,
        /// The number of the file.
        inode: u64,
    },
    /// A file or directory got another name.
    Rename {
        /// The name it had.
        from: Place,
        /// The name it has.
        to: Place,
        /// Its number.
        inode: u64,
    },
    /// A name of a file was removed.
    RemoveFile {
        /// The name.
        at: Place,
    },
    /// A directory was made.
    CreateDir {
        /// Its name.
        at: Place,
        /// Its number.
        inode: u64,
    },
    /// An empty directory was removed. A removal of a whole directory is one such change or
    /// [`Change::RemoveFile`] for each name in it, so that a crash can fall in between.
    RemoveDir {
        /// The name.
        at: Place,
    },
    /// The names in a directory were synced.
    SyncDir {
        /// The number of the directory.
        directory: u64,
    },
}
