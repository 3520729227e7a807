//! An open file of a file system that can fail and crash.
//!
//! In: positions and bytes. Out: what the file in memory answers, or the armed failure.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::super::{File, Identity};
use super::{Change, Failure, FaultyFiles, State};

/// An open file whose changes are recorded.
#[derive(Debug)]
pub(super) struct FaultyFile {
    pub(super) files: FaultyFiles,
    pub(super) file: Arc<dyn File>,
    pub(super) inode: u64,
}

impl FaultyFile {
    fn write(&self, state: &mut State, bytes: &[u8], offset: u64) -> io::Result<()> {
        if !bytes.is_empty() {
            self.file.write_all_at(bytes, offset)?;
            state.changes.push(Change::Write { inode: self.inode, offset, bytes: bytes.into() });
        }
        Ok(())
    }
}

impl File for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = offset + buffer.len() as u64;
        let state = self.files.state();
        let bad = |(inode, bad): &(u64, Range<u64>)| {
            *inode == self.inode && offset < bad.end && bad.start < end
        };
        if state.unreadable.iter().any(bad) {
            return Err(Failure::Device.error());
        }
        drop(state);
        self.file.read_at(buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if bytes.is_empty() {
            return self.file.write_all_at(bytes, offset);
        }
        let mut state = self.files.state();
        if let Some(failure) = state.armed.trip(false) {
            if let Failure::ShortWrite(kept) = failure {
                self.write(&mut state, &bytes[..kept.min(bytes.len())], offset)?;
            }
            return Err(failure.error());
        }
        self.write(&mut state, bytes, offset)?;
        state.armed.count(false);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let (mut state, inode) = (self.files.state(), self.inode);
        if let Some(failure) = state.armed.trip(true) {
            state.changes.push(Change::FailedSync { inode });
            return Err(failure.error());
        }
        self.file.sync()?;
        state.changes.push(Change::Sync { inode });
        state.armed.count(true);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.files.change(|| {
            self.file.set_len(length)?;
            Ok(((), Change::SetLen { inode: self.inode, length }))
        })
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn identity(&self) -> io::Result<Identity> {
        self.file.identity()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn is_locked(&self) -> io::Result<bool> {
        self.file.is_locked()
    }
}
