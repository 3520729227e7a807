//! What Unix calls the things that std leaves to each system.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;

use super::Identity;

pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

pub(super) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

pub(super) fn identity(found: &Metadata) -> Identity {
    Identity { device: found.dev(), inode: found.ino(), links: found.nlink() }
}

/// The permissions of a folder whose files are for those whom a file is for: who may read may look into it. Its owner
/// always may.
pub(super) fn of_folder(file: &Permissions) -> Permissions {
    let mode = file.mode() & 0o666;
    Permissions::from_mode(mode | (mode & 0o444) >> 2 | 0o700)
}
