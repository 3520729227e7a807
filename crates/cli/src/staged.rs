//! Output files and folders that appear complete or not at all.
//!
//! Output is written and synced under a temporary name beside its final one. Then it is renamed. A run that is killed leaves
//! at most the temporary file or folder behind. A run that fails or is interrupted removes it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::exit::Failure;
use crate::interrupt;
use crate::show;

/// A file or folder that still has its temporary name.
#[derive(Debug)]
pub(crate) struct Staged {
    temporary: PathBuf,
    target: PathBuf,
    done: bool,
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        // Creating the folder above fails in this way, too.
        io::ErrorKind::AlreadyExists if parent(path).is_file() => Failure::Io(format!(
            "cannot write {}: {} is not a folder; choose another name",
            show::path(path),
            show::path(parent(path))
        )),
        io::ErrorKind::StorageFull => Failure::Io(format!(
            "cannot write {}: the disk is full; free some space and run again",
            show::path(path)
        )),
        _ => Failure::Io(format!("cannot write {}: {error}", show::path(path))),
    }
}

/// Rejects a target that exists, unless it is an empty folder or `--force` is given.
pub(crate) fn check_target(target: &Path, force: bool) -> Result<(), Failure> {
    let empty = || fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
    if force || !target.exists() || empty() {
        return Ok(());
    }
    let name = show::path(target);
    Err(Failure::Usage(format!(
        "{name} already exists: choose another name, or replace it with --force"
    )))
}

impl Staged {
    /// A new folder.
    pub(crate) fn folder(target: &Path) -> Result<Staged, Failure> {
        let staged = Staged::new(target);
        fs::create_dir_all(parent(target)).map_err(|error| failed(target, &error))?;
        fs::create_dir(&staged.temporary).map_err(|error| failed(target, &error))?;
        Ok(staged)
    }

    /// A new file, open for writing.
    pub(crate) fn file(target: &Path) -> Result<(Staged, File), Failure> {
        let staged = Staged::new(target);
        fs::create_dir_all(parent(target)).map_err(|error| failed(target, &error))?;
        let file = create(&staged.temporary).map_err(|error| failed(target, &error))?;
        Ok((staged, file))
    }

    fn new(target: &Path) -> Staged {
        let mut name = std::ffi::OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        let unique = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.subsec_nanos());
        name.push(format!(".partial-{}-{unique}", std::process::id()));
        let temporary = parent(target).join(name);
        interrupt::remove_at_exit(&temporary);
        Staged { temporary, target: target.into(), done: false }
    }

    /// A new file below a staged folder.
    pub(crate) fn create(&self, name: &Path) -> Result<File, Failure> {
        let path = self.temporary.join(name);
        let made = fs::create_dir_all(parent(&path)).and_then(|()| create(&path));
        made.map_err(|error| failed(&self.target.join(name), &error))
    }

    /// Renames the output to its final name.
    pub(crate) fn publish(mut self) -> Result<(), Failure> {
        let target = self.target.clone();
        let published = sync_folders(&self.temporary)
            .and_then(|()| self.replace())
            .and_then(|()| File::open(parent(&target))?.sync_all());
        published.map_err(|error| failed(&target, &error))?;
        self.done = true;
        Ok(())
    }

    fn replace(&self) -> io::Result<()> {
        match fs::rename(&self.temporary, &self.target) {
            // A rename cannot replace a folder that is not empty.
            Err(_) if self.target.is_dir() && self.temporary.is_dir() => {
                if exchange(&self.temporary, &self.target).is_ok() {
                    return fs::remove_dir_all(&self.temporary);
                }
                let mut aside = self.temporary.clone().into_os_string();
                aside.push("-replaced");
                fs::rename(&self.target, &aside)?;
                if let Err(error) = fs::rename(&self.temporary, &self.target) {
                    fs::rename(&aside, &self.target)?;
                    return Err(error);
                }
                fs::remove_dir_all(&aside)
            }
            renamed => renamed,
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.done {
            let _ =
                fs::remove_dir_all(&self.temporary).or_else(|_| fs::remove_file(&self.temporary));
        }
    }
}

/// Swaps two names atomically, where the system supports it.
#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// The parent folder of a path.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Syncs a folder and all folders below it. The files are synced by their writers.
fn sync_folders(path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn output_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        for round in 0..2 {
            let staged = Staged::folder(&target).unwrap_or_else(|_| panic!("a folder"));
            let mut file = staged.create(Path::new("sub/a")).unwrap_or_else(|_| panic!("a file"));
            write!(file, "{round}").unwrap();
            assert_eq!(target.join("sub/a").exists(), round > 0);
            staged.publish().unwrap_or_else(|_| panic!("published"));
            assert_eq!(fs::read_to_string(target.join("sub/a")).unwrap(), round.to_string());
            assert_eq!(names(folder.path()), ["out"]);
        }
        drop(Staged::folder(&target).unwrap_or_else(|_| panic!("a folder")));
        assert_eq!(names(folder.path()), ["out"]);
        assert!(check_target(&target, false).is_err() && check_target(&target, true).is_ok());
    }
}
