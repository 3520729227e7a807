//! Every find of the fuzzers and every seed of theirs, replayed through the same entry functions.

#[path = "../fuzz/attacks/mod.rs"]
mod attacks;

use std::fs;
use std::path::{Path, PathBuf};

use attacks::allocations::{Counting, capped};
use attacks::{checksums, seeds};
use ringer::Depth;
use ringer::care::check;
use ringer::store::file_layer::memory::MemoryFiles;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// All files of a folder of the fuzzers, in order; none if it is not there.
fn files(folder: &str, attack: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(fuzz().join(folder).join(attack)) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.sort();
    files
}

/// Runs an attack with each of its files. A panic is shown with the file that led to it.
fn replay(name: &str) {
    let (_, attack) = attacks::ALL.iter().find(|(other, _)| *other == name).expect("an attack");
    let mut corpus = files("corpus", name);
    assert!(!corpus.is_empty(), "{name} has no corpus");
    corpus.extend(files("regressions", name));
    let fails = |path: &PathBuf| {
        let bytes = fs::read(path).expect("a readable file");
        std::panic::catch_unwind(|| capped(*attack, &bytes)).is_err()
    };
    let failed: Vec<_> = corpus.into_iter().filter(fails).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn records() {
    replay("records");
}

#[test]
fn pages() {
    replay("pages");
}

#[test]
fn database() {
    replay("database");
}

#[test]
fn hot_log() {
    replay("hot_log");
}

#[test]
fn model() {
    replay("model");
}

/// A regression that no attack replays would rest there unseen.
#[test]
fn every_folder_of_regressions_has_its_attack() {
    for path in files("regressions", "") {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let known = attacks::ALL.iter().any(|(attack, _)| *attack == name);
        assert!(known || name == "README.md", "{name}");
    }
}

/// The seeds have no damage, and all their checksums are found: making them right changes nothing.
#[test]
fn seeds_are_whole() {
    let made = seeds::make();
    if std::env::var_os("RINGER_MAKE_SEEDS").is_some() {
        for (name, bytes) in &made {
            fs::write(fuzz().join("attacks/seeds").join(name), bytes).expect("a writable folder");
        }
        return;
    }
    let made = made.iter().filter(|(name, _)| name.ends_with(".ringer"));
    let made = made.map(|(name, bytes)| (*name, &**bytes));
    let kept = seeds::CLOSED.into_iter().chain([("unclean", seeds::UNCLEAN)]);
    for (name, bytes) in made.chain(kept) {
        let layer = MemoryFiles::new().with_file(seeds::PATH, bytes);
        let report = check::check(&layer, Path::new(seeds::PATH), Depth::Deep);
        let report = report.expect("a file in memory can be read");
        assert_eq!((report.findings, report.rows > 0), (Vec::new(), true), "{name}");
        let mut repaired = bytes.to_vec();
        let places = checksums::file(&mut repaired);
        assert!(repaired == bytes && places.len() > 10, "{name}: {}", places.len());
    }
}
