//! Crashes and failures with known results.

mod crashes;
mod failures;
mod names;
mod random_runs;

use super::*;

/// Creates a file with these bytes. Does not sync.
fn make(files: &FaultyFiles, path: &str, bytes: &[u8]) -> Arc<dyn File> {
    let file = files.open(Path::new(path), Access::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file
}

/// Returns a file system with a durable file `/f`, and a handle to it.
fn with_durable(bytes: &[u8]) -> (FaultyFiles, Arc<dyn File>) {
    let files = FaultyFiles::resume(MemoryFiles::new().with_file("/f", bytes));
    let file = files.open(Path::new("/f"), Access::Write).unwrap();
    (files, file)
}

/// Returns the disk after a crash at the end of the run.
fn crash(files: &FaultyFiles, kind: CrashKind) -> MemoryFiles {
    files.crash_image(files.operations(), kind)
}

fn sync_dir(files: &FaultyFiles, path: &str) {
    files.sync_dir(Path::new(path)).unwrap();
}

fn rename(files: &FaultyFiles, from: &str, to: &str) {
    files.rename(Path::new(from), Path::new(to)).unwrap();
}

fn create_dirs(files: &FaultyFiles, paths: &[&str]) {
    for path in paths {
        files.create_dir(Path::new(path)).unwrap();
    }
}

/// Returns the names of all files, as text.
fn names(files: &MemoryFiles) -> Vec<String> {
    files.files().into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
}
