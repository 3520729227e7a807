//! A view of a file with damage, without a copy of its bytes.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringer::internals::store::file_layer::{Access, File, FileLayer, Identity, Kind, Lock, Rights};

/// Bytes with some changed, cut off or appended. It is also a file system with this one file under every name.
#[derive(Debug, Clone)]
pub struct Damaged {
    pub bytes: Arc<Vec<u8>>,
    /// The bit that is flipped.
    pub flipped: Option<usize>,
    /// Bytes that replace those at an offset.
    pub patches: Vec<(usize, Vec<u8>)>,
    /// The length of the file. Bytes beyond the original end are 0xA5.
    pub length: usize,
}

impl Damaged {
    pub fn new(bytes: &Arc<Vec<u8>>) -> Damaged {
        Damaged {
            bytes: Arc::clone(bytes),
            flipped: None,
            patches: Vec::new(),
            length: bytes.len(),
        }
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.length);
        let n = buffer.len().min(self.length - start);
        let buffer = &mut buffer[..n];
        let from = self.bytes.get(start..).unwrap_or_default();
        let there = from.len().min(n);
        buffer[..there].copy_from_slice(&from[..there]);
        buffer[there..].fill(0xA5);
        for (at, patch) in &self.patches {
            let end = (start + n).min(at + patch.len());
            let from = start.max(*at);
            if from < end {
                buffer[from - start..end - start].copy_from_slice(&patch[from - at..end - at]);
            }
        }
        if let Some(bit) = self.flipped
            && let Some(byte) = (bit / 8).checked_sub(start).and_then(|i| buffer.get_mut(i))
        {
            *byte ^= 1 << (bit % 8);
        }
        n
    }
}

impl File for Damaged {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(self.read(buffer, offset))
    }

    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        panic!("a reader writes");
    }

    fn sync(&self) -> io::Result<()> {
        panic!("a reader syncs");
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        panic!("a reader cuts");
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.length as u64)
    }

    fn identity(&self) -> io::Result<Identity> {
        Ok(Identity { device: 0, inode: 1, links: 1 })
    }
}

impl FileLayer for Damaged {
    fn open(&self, _: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        assert_eq!(access, Access::Read);
        Ok(Arc::new(self.clone()))
    }

    fn kind(&self, _: &Path) -> io::Result<Option<Kind>> {
        Ok(Some(Kind::File))
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_path_buf())
    }

    fn link(&self, _: &Path, _: &Path) -> io::Result<()> {
        panic!("a reader links");
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        panic!("a reader renames");
    }

    fn remove_file(&self, _: &Path) -> io::Result<()> {
        panic!("a reader removes");
    }

    fn create_dir(&self, _: &Path) -> io::Result<()> {
        panic!("a reader makes a directory");
    }

    fn names(&self, _: &Path) -> io::Result<Vec<OsString>> {
        panic!("a reader looks into a directory");
    }

    fn remove_dir_all(&self, _: &Path) -> io::Result<()> {
        panic!("a reader removes a directory");
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        panic!("a reader syncs a directory");
    }

    fn try_lock(&self, _: &Path, _: Option<&Rights>) -> io::Result<Option<Box<dyn Lock>>> {
        panic!("a reader locks");
    }
}
