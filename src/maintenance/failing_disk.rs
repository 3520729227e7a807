//! A file on a failing disk, for salvage only.
//!
//! In: a file. Out: the same bytes, with zeros for disk blocks that cannot be read. These blocks are counted. The
//! zeros fail their checksums, so salvage treats them like other damage and saves the rest. Other modules get the
//! disk's error.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use crate::format::BLOCK;
use crate::store::file_layer::{File, Identity, Rights};
use crate::sync::lock_order::REFUSED_BLOCKS;
use crate::sync::{Ranked, RankedGuard};

/// A read-only file whose unreadable blocks read as zeros.
#[derive(Debug)]
pub(super) struct FailingDisk {
    file: Arc<dyn File>,
    refused: Ranked<REFUSED_BLOCKS, Refused>,
}

/// The blocks that could not be read, and the first error.
#[derive(Debug, Default)]
struct Refused {
    blocks: BTreeSet<u64>,
    first: Option<io::Error>,
}

impl FailingDisk {
    pub(super) fn new(file: Arc<dyn File>) -> FailingDisk {
        FailingDisk { file, refused: Ranked::default() }
    }

    /// The size of all blocks that could not be read so far.
    pub(super) fn unreadable(&self) -> u64 {
        self.refused().blocks.len() as u64 * BLOCK as u64
    }

    /// Takes the first error.
    pub(super) fn first_error(&self) -> Option<io::Error> {
        self.refused().first.take()
    }

    fn refused(&self) -> RankedGuard<'_, REFUSED_BLOCKS, Refused> {
        self.refused.lock()
    }

    /// Reads a part of one block. Gives zeros if the disk cannot read it.
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

/// Whether a read error may come from a bad block. Missing rights or memory, and interrupted or blocked calls, do
/// not.
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
        // Read block by block, each only once: disks are slow on blocks that they cannot read.
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
