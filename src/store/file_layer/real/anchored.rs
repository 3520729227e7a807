//! The operating system's files, relative to one directory that is kept open.
//!
//! In: paths that start with the directory's path. Out: the files in that directory, even if it is moved. Links are not
//! followed in any component of a path.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::super::{Access, File, FileLayer, Identity, Kind, Lock, Rights};
use super::system::Folder;
use super::{check_regular, kind_of, lock, opened, shown, taken};

/// The files in and below a directory.
#[derive(Debug)]
pub(super) struct AnchoredFiles {
    /// The path of the directory, with which all paths start.
    prefix: PathBuf,
    folder: Arc<Folder>,
}

impl AnchoredFiles {
    pub(super) fn new(folder: &Path) -> io::Result<AnchoredFiles> {
        // `strip_prefix` does not recognise `.` as a prefix of a bare name.
        let prefix = if folder == Path::new(".") { Path::new("") } else { folder };
        Ok(AnchoredFiles { prefix: prefix.into(), folder: Arc::new(Folder::open(shown(folder))?) })
    }

    /// Returns the components of a path below the directory.
    fn names_to<'a>(&self, path: &'a Path) -> io::Result<Vec<&'a OsStr>> {
        let outside = || io::Error::new(io::ErrorKind::InvalidInput, "outside of the folder");
        let below = path.strip_prefix(&self.prefix).map_err(|_| outside())?;
        let name = |part: Component<'a>| match part {
            Component::Normal(name) => Some(Ok(name)),
            Component::CurDir => None,
            _ => Some(Err(outside())),
        };
        below.components().filter_map(name).collect()
    }

    /// Opens the parent directory of a path, and returns it with the last name.
    fn place<'a>(&self, path: &'a Path) -> io::Result<(Arc<Folder>, &'a OsStr)> {
        let names = self.names_to(path)?;
        let (name, above) = names.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((self.walk(above)?, name))
    }

    fn walk(&self, names: &[&OsStr]) -> io::Result<Arc<Folder>> {
        let enter = |folder: Arc<Folder>, name: &&OsStr| folder.sub(name).map(Arc::new);
        names.iter().try_fold(Arc::clone(&self.folder), enter)
    }
}

impl FileLayer for AnchoredFiles {
    fn is_real(&self) -> bool {
        true
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let (folder, name) = self.place(path)?;
        if access != Access::CreateNew
            && let Some(found) = folder.look(name)?
        {
            check_regular(found.kind)?;
        }
        opened(folder.open_file(name, access)?)
    }

    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        let found = self.place(path).and_then(|(folder, name)| folder.look(name));
        kind_of(found.map(|found| found.map(|found| found.kind)))
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        match self.kind(path)? {
            Some(_) => Ok(path.to_path_buf()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let ((from, name), (to, new_name)) = (self.place(from)?, self.place(to)?);
        from.link(name, &to, new_name)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let ((from, name), (to, new_name)) = (self.place(from)?, self.place(to)?);
        from.rename(name, &to, new_name)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let ((from, name), (to, new_name)) = (self.place(from)?, self.place(to)?);
        from.rename_new(name, &to, new_name)
    }

    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        let (folder, name) = self.place(path)?;
        let found = folder.look(name)?;
        Ok(found.map(|found| found.identity))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.place(path)?;
        folder.remove_file(name)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.place(path)?;
        folder.create_dir(name)
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.walk(&self.names_to(path)?)?.names()
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.place(path)?;
        folder.remove_dir_all(name)
    }

    fn set_dir_rights(&self, path: &Path, rights: &Rights) -> io::Result<()> {
        self.walk(&self.names_to(path)?)?.set_rights(rights)
    }

    fn longest_name(&self, folder: &Path) -> io::Result<usize> {
        self.walk(&self.names_to(folder)?)?.longest_name()
    }

    fn free_bytes(&self, folder: &Path) -> io::Result<Option<u64>> {
        self.walk(&self.names_to(folder)?)?.free_bytes()
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.walk(&self.names_to(path)?)?.sync()
    }

    fn is_locked(&self, path: &Path) -> io::Result<bool> {
        let (folder, name) = self.place(path)?;
        lock::is_locked(&folder, name)
    }

    fn try_lock(&self, path: &Path, rights: Option<&Rights>) -> io::Result<Option<Box<dyn Lock>>> {
        let (folder, name) = self.place(path)?;
        taken(lock::try_lock(&folder, name, rights))
    }
}
