//! Reads the results of fuzzing: one corpus archive per target, and a single file per input that once failed.
//!
//! `.ci/corpus` packs and unpacks the archives.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Returns the folder of the fuzz targets.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns the named inputs of a target: its corpus, then its regressions, each sorted by name.
pub fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let mut inputs = corpus(target);
    inputs.extend(files_in(&folder().join("regressions").join(target)));
    inputs
}

/// Returns the files of a folder, sorted by name, or nothing if there is no such folder.
pub fn files_in(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let mut files: Vec<_> = paths
        .map(|path| (path.display().to_string(), fs::read(&path).expect("a readable file")))
        .collect();
    files.sort();
    files
}

fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let path = folder().join("corpus").join(format!("{target}.tar.gz"));
    let archive = File::open(&path)
        .unwrap_or_else(|error| panic!("{} has no corpus: {error}", path.display()));
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive));
    let mut inputs = Vec::new();
    for entry in archive.entries().expect("an archive") {
        let mut entry = entry.expect("a whole archive");
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = entry.path().expect("a path").display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("a whole archive");
        inputs.push((name, bytes));
    }
    assert!(!inputs.is_empty(), "{} is empty", path.display());
    inputs.sort();
    inputs
}
