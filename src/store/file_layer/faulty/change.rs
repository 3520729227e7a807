//! The recorded changes of a run, from which the disk at any point can be rebuilt.
//!
//! Changes refer to files and directories by number, because a write belongs to a file whatever its names become.

use std::ffi::OsString;
use std::sync::Arc;

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The number of the directory.
    pub directory: u64,
    /// The name.
    pub name: OsString,
}

/// One change to the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Bytes were written to a file.
    Write {
        /// The number of the file.
        inode: u64,
        /// The offset.
        offset: u64,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// A file was truncated or extended.
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
    /// The sync of a file failed. What was not durable by then may never become durable: systems drop such pages
    /// from their list of dirty pages, so a later successful sync does not cover them.
    FailedSync {
        /// The number of the file.
        inode: u64,
    },
    /// A file was created.
    CreateFile {
        /// Its name.
        at: Place,
        /// Its number.
        inode: u64,
    },
    /// A file got another name.
    Link {
        /// The new name.
        at: Place,
        /// The number of the file.
        inode: u64,
    },
    /// A file or directory was renamed.
    Rename {
        /// The old name.
        from: Place,
        /// The new name.
        to: Place,
        /// Its number.
        inode: u64,
    },
    /// A name of a file was removed.
    RemoveFile {
        /// The name.
        at: Place,
    },
    /// A directory was created.
    CreateDir {
        /// Its name.
        at: Place,
        /// Its number.
        inode: u64,
    },
    /// An empty directory was removed. Removing a tree records this or [`Change::RemoveFile`] for each name in it,
    /// so that a crash can happen in between.
    RemoveDir {
        /// The name.
        at: Place,
    },
    /// A directory was synced.
    SyncDir {
        /// The number of the directory.
        directory: u64,
    },
}
