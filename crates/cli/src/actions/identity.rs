//! Which file a path leads to, and in which state: enough to notice that it was replaced or changed.

use std::fs::Metadata;
use std::io;
use std::path::Path;

/// A file in one state. Two identities are equal only if the file is the same and nothing was written to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    /// The device and the number of the file.
    file: (u64, u64),
    pub(super) bytes: u64,
    /// When the content was changed last, and when the file was.
    times: [(i64, i64); 2],
}

impl Identity {
    /// The state of a regular file. Links are not followed, and are not regular files.
    pub(super) fn of(path: &Path) -> io::Result<Identity> {
        let found = path.symlink_metadata()?;
        match found.is_file() {
            true => Ok(Identity::new(&found)),
            false => Err(io::Error::other("it is not a regular file")),
        }
    }

    #[cfg(unix)]
    fn new(found: &Metadata) -> Identity {
        use std::os::unix::fs::MetadataExt;
        let times = [(found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec())];
        Identity { file: (found.dev(), found.ino()), bytes: found.len(), times }
    }

    #[cfg(not(unix))]
    fn new(found: &Metadata) -> Identity {
        let changed =
            found.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let changed =
            changed.map_or((0, 0), |time| (time.as_secs() as i64, i64::from(time.subsec_nanos())));
        Identity { file: (0, 0), bytes: found.len(), times: [changed; 2] }
    }

    /// Whether both are one file, by two names.
    pub(super) fn is_same_file(&self, other: &Identity) -> bool {
        cfg!(unix) && self.file == other.file
    }
}
