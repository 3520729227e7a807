//! Stores the keys and sets of all rows in a temporary file.
//!
//! In: the rows of the first pass, in order. Out: the key and the set of any row. Groups are decided by these sets, so the
//! input is parsed only once. Eight bytes per row stay in memory: its offset in the file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ringer::Error;

use crate::exit::Failure;

/// Marks a row that cannot be compared.
const UNJUDGED: u64 = u64::MAX;

const BUFFER_BYTES: usize = 1 << 20;

/// The file while it is written.
pub(crate) struct SpillWriter {
    file: BufWriter<File>,
    end: u64,
    places: Vec<u64>,
}

/// The file when it is complete.
pub(crate) struct Spill {
    file: File,
    places: Vec<u64>,
}

fn failed(error: &io::Error) -> Failure {
    Failure::Io(format!(
        "cannot write a temporary file: {error}; choose another place with --spill DIR"
    ))
}

impl SpillWriter {
    /// Creates an unnamed file in a folder. It disappears with the process.
    pub(crate) fn new(folder: &Path) -> Result<SpillWriter, Failure> {
        let file = tempfile::tempfile_in(folder).map_err(|error| failed(&error))?;
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(SpillWriter { file, end: 0, places: Vec::new() })
    }

    /// The number of the next row.
    pub(crate) fn next_row(&self) -> u64 {
        self.places.len() as u64
    }

    /// Adds the next row: its key and its set, in ascending order without duplicates.
    pub(crate) fn add(&mut self, key: &[u8], set: &[u64]) -> Result<(), Failure> {
        self.places.push(self.end);
        let mut write = || {
            self.file.write_all(&(key.len() as u32).to_le_bytes())?;
            self.file.write_all(&(set.len() as u32).to_le_bytes())?;
            self.file.write_all(key)?;
            set.iter().try_for_each(|element| self.file.write_all(&element.to_le_bytes()))
        };
        write().map_err(|error| failed(&error))?;
        self.end += 8 + key.len() as u64 + 8 * set.len() as u64;
        Ok(())
    }

    /// Adds a row that cannot be compared.
    pub(crate) fn add_unjudged(&mut self) {
        self.places.push(UNJUDGED);
    }

    pub(crate) fn finish(self) -> Result<Spill, Failure> {
        let file = self.file.into_inner().map_err(|error| failed(error.error()))?;
        Ok(Spill { file, places: self.places })
    }
}

impl Spill {
    /// The number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.places.len() as u64
    }

    /// The key of a row; `None` if the row cannot be compared.
    pub(crate) fn key(&self, row: u64) -> Result<Option<Vec<u8>>, Error> {
        let Some((place, key, _)) = self.head(row)? else { return Ok(None) };
        let mut bytes = vec![0; key];
        self.read(&mut bytes, place + 8)?;
        Ok(Some(bytes))
    }

    /// The set of a row; `None` if the row cannot be compared.
    pub(crate) fn set(&self, row: u64) -> Result<Option<Vec<u64>>, Error> {
        let Some((place, key, elements)) = self.head(row)? else { return Ok(None) };
        let mut bytes = vec![0; 8 * elements];
        self.read(&mut bytes, place + 8 + key as u64)?;
        let element = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        Ok(Some(bytes.as_chunks().0.iter().map(element).collect()))
    }

    fn read(&self, bytes: &mut [u8], place: u64) -> Result<(), Error> {
        let failed = |error: io::Error| Error::Io {
            operation: "read",
            path: "a temporary file".into(),
            source: error.into(),
        };
        read_at(&self.file, bytes, place).map_err(failed)
    }

    /// The offset of a row, the length of its key, and the number of its elements.
    fn head(&self, row: u64) -> Result<Option<(u64, usize, usize)>, Error> {
        let place = self.places.get(row as usize).copied().unwrap_or(UNJUDGED);
        if place == UNJUDGED {
            return Ok(None);
        }
        let mut head = [0; 8];
        self.read(&mut head, place)?;
        let [a, b, c, d, e, f, g, h] = head;
        let (key, elements) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        Ok(Some((place, key as usize, elements as usize)))
    }
}

/// The resemblance of two sets, each in ascending order without duplicates.
pub(crate) fn resemblance(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut common) = (0, 0, 0_u64);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        common += u64::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    common as f64 / ((a.len() + b.len()) as u64 - common).max(1) as f64
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], place: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, place)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut place: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, place)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        (bytes, place) = (&mut bytes[read..], place + read as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = SpillWriter::new(folder.path()).unwrap_or_else(|_| panic!("a file"));
        let rows =
            [(&b"a"[..], vec![1, 2, u64::MAX]), (b"", vec![]), (b"key", (0..5000).collect())];
        for (key, set) in &rows {
            writer.add(key, set).unwrap_or_else(|_| panic!("a row"));
        }
        writer.add_unjudged();
        let spill = writer.finish().unwrap_or_else(|_| panic!("a file"));
        assert_eq!(spill.rows(), 4);
        for (i, (key, set)) in rows.iter().enumerate() {
            assert_eq!(spill.key(i as u64).unwrap().as_deref(), Some(*key));
            assert_eq!(spill.set(i as u64).unwrap().as_ref(), Some(set));
        }
        assert_eq!((spill.key(3).unwrap(), spill.set(3).unwrap()), (None, None));
    }
}
