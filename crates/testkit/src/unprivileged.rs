//! Programs that run without the rights of the system's owner, whom no permission stops. Where the test itself runs
//! without them, nothing needs to change.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

/// A program that anybody may run, in a folder that anybody may enter.
pub struct Unprivileged {
    place: tempfile::TempDir,
    program: PathBuf,
}

impl Unprivileged {
    /// A copy, because the way to the original may be closed to others.
    pub fn new(program: &Path) -> Unprivileged {
        let place = tempfile::tempdir().unwrap();
        let copy = place.path().join("program");
        // By another process: a program that anybody has open for writing is not started, and a process that a test
        // beside this one starts would have it open for a moment.
        assert!(Command::new("cp").arg(program).arg(&copy).status().unwrap().success());
        for path in [place.path(), &copy] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        Unprivileged { place, program: copy }
    }

    /// The program that anybody may run.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// A new folder beside the program.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.place.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    }

    /// The program, run by somebody without rights.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // Who made the folder is who runs the test.
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

/// Sets the permissions of a folder and all below it, for everybody.
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

/// All names below a folder, with what is in the files and when they were changed.
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
