//! What Windows calls the things that std leaves to each system.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::windows::fs::{FileExt, MetadataExt};
use std::path::Path;

use super::Identity;

pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

pub(super) fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            n => {
                bytes = &bytes[n..];
                offset += n as u64;
            }
        }
    }
    Ok(())
}

/// NTFS keeps names in its journal, and a directory cannot be flushed by a plain handle.
pub(super) fn sync_dir(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// File numbers are not in stable std: the time of creation, in 100 ns, stands for them.
pub(super) fn identity(found: &Metadata) -> Identity {
    Identity { device: 0, inode: found.creation_time(), links: 1 }
}

/// A folder has the permissions of the folder that it is in.
pub(super) fn of_folder(file: &Permissions) -> Permissions {
    file.clone()
}
