//! Runs programs without root privileges, because permissions do not stop root. If the test itself is unprivileged,
//! nothing changes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The user `nobody`.
const NOBODY: u32 = 65_534;

/// A program that everybody may run, in a folder that everybody may enter.
pub struct Unprivileged {
    place: tempfile::TempDir,
    program: PathBuf,
}

impl Unprivileged {
    /// Copies the program, because the path to the original may be closed to other users.
    pub fn new(program: &Path) -> Unprivileged {
        let place = tempfile::tempdir().unwrap();
        let copy = place.path().join("program");
        // Another process makes the copy. A program that is open for writing cannot be executed, and a process that a
        // concurrent test forks would briefly inherit the open file.
        assert!(Command::new("cp").arg(program).arg(&copy).status().unwrap().success());
        for path in [place.path(), &copy] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        Unprivileged { place, program: copy }
    }

    /// Returns the path of the copy.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Creates a folder beside the program.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.place.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    }

    /// Returns a command that runs the program as an unprivileged user.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // The owner of the folder is the user who runs the test.
        if fs::metadata(self.place.path()).unwrap().uid() == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

/// What may be written: nothing, the files, or the names in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writable {
    Nothing,
    Files,
    Names,
}

/// Sets the permissions of a folder and everything below it, for everybody.
pub fn allow(folder: &Path, what: Writable) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            allow(&entry.path(), what);
        } else {
            let mode = if what == Writable::Files { 0o666 } else { 0o444 };
            fs::set_permissions(entry.path(), Permissions::from_mode(mode)).unwrap();
        }
    }
    let mode = if what == Writable::Names { 0o777 } else { 0o555 };
    fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
}

/// Returns all names below a folder, with contents and modification times.
pub fn image(folder: &Path) -> Vec<(PathBuf, Vec<u8>, (i64, i64))> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::metadata(&path).unwrap();
            if found.is_dir() {
                folders.push(path.clone());
            }
            let bytes = if found.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
            all.push((path, bytes, (found.mtime(), found.mtime_nsec())));
        }
    }
    all.sort();
    all
}
