//! Temporary bytes that are written once and read back.
//!
//! In: bytes to append. Out: the same bytes at any offset. They stay in memory while they are few, and then go to a
//! temporary file without a name. The system removes that file with its handle, even after a crash.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::file_layer::File;
use crate::error::{Error, Result};

/// Where spilled bytes go, and how many may stay in memory.
#[derive(Debug, Clone)]
pub struct SpillPlace {
    /// The directory for temporary files. Without one, everything stays in memory.
    pub directory: Option<Arc<PathBuf>>,
    /// Bytes that may stay in memory.
    pub memory: usize,
}

/// An append-only sequence of bytes.
#[derive(Debug)]
pub struct Spill {
    place: SpillPlace,
    /// The bytes that are not in the file yet.
    tail: Vec<u8>,
    file: Option<fs::File>,
    in_file: u64,
}

/// Bytes buffered before a write to the file.
const WRITE_BYTES: usize = 1 << 20;

impl Spill {
    /// Creates an empty spill.
    pub fn new(place: &SpillPlace) -> Spill {
        Spill { place: place.clone(), tail: Vec::new(), file: None, in_file: 0 }
    }

    /// Returns where its bytes go.
    pub fn place(&self) -> &SpillPlace {
        &self.place
    }

    /// Returns the number of bytes.
    pub fn length(&self) -> u64 {
        self.in_file + self.tail.len() as u64
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.tail.extend_from_slice(bytes);
        let limit = if self.file.is_some() { WRITE_BYTES } else { self.place.memory };
        if self.tail.len() <= limit {
            return Ok(());
        }
        let Some(directory) = self.place.directory.clone() else { return Ok(()) };
        let write = || -> io::Result<()> {
            if self.file.is_none() {
                self.file = Some(tempfile::tempfile_in(&*directory)?);
            }
            self.file.as_mut().expect("made above").write_all(&self.tail)
        };
        let mut write = write;
        write().map_err(|error| Error::io("spill to", &directory, error))?;
        self.in_file += self.tail.len() as u64;
        self.tail = Vec::with_capacity(WRITE_BYTES);
        Ok(())
    }

    /// Fills `buffer` with the bytes from `offset` on. They must have been pushed.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let from_file = self.in_file.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let (first, second) = buffer.split_at_mut(from_file);
        if let (Some(file), false) = (&self.file, first.is_empty()) {
            read_exact_at(file, first, offset).map_err(|error| {
                let directory = self.place.directory.clone().unwrap_or_default();
                Error::io("read back from", &directory, error)
            })?;
        }
        let start = (offset + from_file as u64).saturating_sub(self.in_file) as usize;
        second.copy_from_slice(&self.tail[start..start + second.len()]);
        Ok(())
    }

    /// Visits all bytes, in pieces.
    pub fn pieces(&self, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut buffer = vec![0; WRITE_BYTES.min(self.in_file as usize)];
        let mut offset = 0;
        while offset < self.in_file {
            let n = (self.in_file - offset).min(buffer.len() as u64) as usize;
            self.read(&mut buffer[..n], offset)?;
            visit(&buffer[..n])?;
            offset += n as u64;
        }
        if self.tail.is_empty() { Ok(()) } else { visit(&self.tail) }
    }

    /// Copies all bytes into a file at `offset`, and returns the offset after them.
    pub fn copy_to(&self, file: &dyn File, path: &std::path::Path, offset: u64) -> Result<u64> {
        let mut at = offset;
        self.pieces(&mut |piece| {
            file.write_all_at(piece, at).map_err(|error| Error::io("write to", path, error))?;
            at += piece.len() as u64;
            Ok(())
        })?;
        Ok(at)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        let at = offset + done as u64;
        match std::os::windows::fs::FileExt::seek_read(file, &mut buffer[done..], at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => done += n,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_memory_and_from_the_file() {
        let directory = tempfile::tempdir().unwrap();
        for memory in [0, 10, 3_000_000] {
            let place =
                SpillPlace { directory: Some(Arc::new(directory.path().to_path_buf())), memory };
            let mut spill = Spill::new(&place);
            let mut all = Vec::new();
            for i in 0..300_000_u32 {
                spill.push(&i.to_le_bytes()).unwrap();
                all.extend_from_slice(&i.to_le_bytes());
            }
            assert_eq!(spill.length(), all.len() as u64);
            for (offset, length) in [(0, 10), (1_048_570, 40), (all.len() - 7, 7), (5, 1_150_000)] {
                let mut buffer = vec![0; length];
                spill.read(&mut buffer, offset as u64).unwrap();
                assert_eq!(buffer, all[offset..offset + length], "{memory} {offset}");
            }
            let mut pieces = Vec::new();
            spill
                .pieces(&mut |piece| {
                    pieces.extend_from_slice(piece);
                    Ok(())
                })
                .unwrap();
            assert_eq!(pieces, all);
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "no name is left");
    }
}
