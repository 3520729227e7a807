//! A file on a failing disk: blocks that cannot be read are zeros, and are counted.
//!
//! For salvage alone: whatever lies in such a block does not verify, and is given up like other damage, while the
//! rest of the file is saved. Everybody else gets the error.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::format::BLOCK;
use crate::store::file_layer::{File, Identity, Rights};

/// A file to be read only.
#[derive(Debug)]
pub(super) struct FailingDisk {
    file: Arc<dyn File>,
    refused: Mutex<Refused>,
}

/// What could not be read.
#[derive(Debug, Default)]
struct Refused {
    blocks: BTreeSet<u64>,
    first: Option<io::Error>,
}

impl FailingDisk {
    pub(super) fn new(file: Arc<dyn File>) -> FailingDisk {
        FailingDisk { file, refused: Mutex::default() }
    }

    /// Bytes of blocks that could not be read so far.
    pub(super) fn unreadable(&self) -> u64 {
        self.refused().blocks.len() as u64 * BLOCK as u64
    }

    /// Why the first of them could not be read.
    pub(super) fn first_error(&self) -> Option<io::Error> {
        self.refused().first.take()
    }

    fn refused(&self) -> MutexGuard<'_, Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a part of one block, as zeros if it cannot be read.
    fn read_block(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.file.read_at(buffer, offset) {
            Err(error) if is_of_the_disk(error.kind()) => {
                let left = self.file.length()?.saturating_sub(offset);
                let length = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                buffer[..length].fill(0);
                let mut refused = self.refused();
                refused.blocks.insert(offset / BLOCK as u64);
                refused.first.get_or_insert(error);
                Ok(length)
            }
            other => other,
        }
    }
}

/// Whether a read that failed like this may have met a bad block. What the process lacks, or has to wait for, is none.
pub(super) fn is_of_the_disk(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{Interrupted, OutOfMemory, PermissionDenied, WouldBlock};
    !matches!(kind, Interrupted | OutOfMemory | PermissionDenied | WouldBlock)
}

impl File for FailingDisk {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.file.read_at(buffer, offset) {
            Err(error) if is_of_the_disk(error.kind()) => {}
            other => return other,
        }
        // Each block once: a disk takes its time over those that it cannot read.
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let length = BLOCK - (at % BLOCK as u64) as usize;
            let end = buffer.len().min(done + length);
            match self.read_block(&mut buffer[done..end], at)? {
                0 => break,
                read => done += read,
            }
        }
        Ok(done)
    }

    fn write_all_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_len(&self, _length: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn identity(&self) -> io::Result<Identity> {
        self.file.identity()
    }

    fn rights(&self) -> io::Result<Option<Rights>> {
        self.file.rights()
    }
}
