//! One file in memory: its bytes, its number and its link count. Also the handle to it.
//!
//! In: positions and bytes. Out: bytes. It must not know names.
//!
//! Bytes are shared until they are written. So a copy of a whole file system is almost free, which makes thousands
//! of crash images affordable.

use std::io;
use std::sync::Arc;

use super::super::{File, Identity};
use crate::sync::RankedRwLock;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::lock_order::MEMORY_BYTES;

/// The bytes of a file, shared with copies of the file system.
pub type Bytes = Arc<Vec<u8>>;

/// A file, independent of its names.
#[derive(Debug)]
pub(super) struct Inode {
    pub(super) number: u64,
    /// Changed only under the lock of the names.
    pub(super) links: AtomicU64,
    bytes: RankedRwLock<MEMORY_BYTES, Bytes>,
    locked: AtomicBool,
}

impl Inode {
    pub(super) fn new(number: u64, bytes: Bytes) -> Arc<Inode> {
        let (links, bytes) = (AtomicU64::new(1), RankedRwLock::new(bytes));
        Arc::new(Inode { number, links, bytes, locked: AtomicBool::new(false) })
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes::clone(&self.bytes.read())
    }

    pub(super) fn identity(&self) -> Identity {
        let links = self.links.load(Ordering::Relaxed);
        Identity { device: 0, inode: self.number, links }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        let mut bytes = self.bytes.write();
        change(Arc::make_mut(&mut bytes))
    }
}

/// An open file in memory.
#[derive(Debug)]
pub(super) struct MemoryFile {
    inode: Arc<Inode>,
    writable: bool,
    /// The largest length of a file.
    limit: Arc<AtomicU64>,
    /// Whether this handle holds the file's lock.
    holds: AtomicBool,
}

impl MemoryFile {
    pub(super) fn new(inode: Arc<Inode>, writable: bool, limit: Arc<AtomicU64>) -> MemoryFile {
        MemoryFile { inode, writable, limit, holds: AtomicBool::new(false) }
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.writable { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }

    /// Returns the length as an index, if a file may be that long.
    fn check_length(&self, length: Option<u64>) -> io::Result<usize> {
        let limit = self.limit.load(Ordering::Relaxed);
        length
            .filter(|&length| length <= limit)
            .and_then(|length| usize::try_from(length).ok())
            .ok_or_else(|| io::ErrorKind::StorageFull.into())
    }
}

impl File for MemoryFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.inode.bytes.read();
        let rest = usize::try_from(offset).ok().and_then(|start| bytes.get(start..)).unwrap_or(&[]);
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable()?;
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset.checked_add(bytes.len() as u64);
        self.inode.change(|all| {
            // A full device rejects growth, but not overwrites.
            let inside = end.is_some_and(|end| end <= all.len() as u64);
            let end = match end {
                Some(end) if inside => end as usize,
                end => self.check_length(end)?,
            };
            make_room(all, end)?;
            write(all, end - bytes.len(), bytes);
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.check_writable()?;
        self.inode.change(|all| {
            let shrinks = length <= all.len() as u64;
            let length = if shrinks { length as usize } else { self.check_length(Some(length))? };
            make_room(all, length)?;
            all.resize(length, 0);
            Ok(())
        })
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.inode.bytes.read().len() as u64)
    }

    fn identity(&self) -> io::Result<Identity> {
        Ok(self.inode.identity())
    }

    fn try_lock(&self) -> io::Result<bool> {
        let taken = !self.inode.locked.swap(true, Ordering::AcqRel);
        if taken {
            self.holds.store(true, Ordering::Release);
        }
        Ok(taken || self.holds.load(Ordering::Acquire))
    }

    fn unlock(&self) -> io::Result<()> {
        if self.holds.swap(false, Ordering::AcqRel) {
            self.inode.locked.store(false, Ordering::Release);
        }
        Ok(())
    }

    fn is_locked(&self) -> io::Result<bool> {
        let held = self.inode.locked.load(Ordering::Acquire);
        Ok(held && !self.holds.load(Ordering::Acquire))
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let _ = self.unlock();
    }
}

/// Reserves memory for a file of `length` bytes. A failed allocation counts as a full device. Capacity grows in
/// proportion, so a file that grows byte by byte is copied a constant number of times per byte.
fn make_room(all: &mut Vec<u8>, length: usize) -> io::Result<()> {
    let more = length.saturating_sub(all.len());
    all.try_reserve(more).map_err(|_| io::ErrorKind::StorageFull.into())
}

/// Writes `bytes` at `start`, and fills a gap after the old end with zeros.
pub(in super::super) fn write(all: &mut Vec<u8>, start: usize, bytes: &[u8]) {
    let end = start + bytes.len();
    if all.len() < end {
        all.resize(end, 0);
    }
    all[start..end].copy_from_slice(bytes);
}
