//! Finds versions of files by their chunks through the database, compared with exact resemblances.
//!
//! The data is not part of the repository: published crates, which are archives of a few hundred files. Set
//! `RINGER_DATA` to the folder that contains `crates-small/`; the default is `../shared/data`. Without the data this
//! test says so and passes. `cargo test --test query file_versions -- --nocapture` prints the figures.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use ringer::features::{DEFAULT_HORIZON, chunks};
use ringer::{Database, Like, Options, Scheme, Snapshot};

/// A file of one version of a crate.
struct Stored {
    /// `crate-version/path`.
    key: String,
    /// The crate without its version, and the path. It is the same for all versions of the file.
    file: (String, String),
    bytes: usize,
    /// Its features, sorted and distinct.
    set: Vec<u64>,
}

fn folder() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let data = std::env::var_os("RINGER_DATA").map_or(default, PathBuf::from);
    let folder = data.join("crates-small");
    if !folder.is_dir() {
        println!("skipped: no data at {} (set RINGER_DATA)", folder.display());
        return None;
    }
    Some(folder)
}

/// Returns all nonempty files of all crates.
fn files(folder: &Path, horizon: u32) -> Vec<Stored> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.extension().is_none_or(|ending| ending != "crate") {
            continue;
        }
        let packed = BufReader::new(File::open(&path).expect("a readable file"));
        let mut archive = tar::Archive::new(flate2::bufread::GzDecoder::new(packed));
        for entry in archive.entries().expect("an archive") {
            let mut entry = entry.expect("an entry");
            let key = String::from_utf8(entry.path_bytes().to_vec()).expect("a name in ASCII");
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("a whole entry");
            let mut set = chunks(&bytes, horizon).expect("a horizon in range");
            set.sort_unstable();
            set.dedup();
            let (version, path) = key.split_once('/').expect("a folder in the archive");
            let (name, _) = version.rsplit_once('-').expect("a crate with a version");
            let file = (name.to_string(), path.to_string());
            if !bytes.is_empty() {
                files.push(Stored { file, bytes: bytes.len(), set, key });
            }
        }
    }
    files.sort_by(|a, b| a.key.cmp(&b.key));
    files
}

/// Returns the exact resemblance of each file to all files that share a chunk with it.
fn brute_force(files: &[Stored]) -> Vec<HashMap<usize, f64>> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (i, file) in files.iter().enumerate() {
        file.set.iter().for_each(|chunk| places.entry(*chunk).or_default().push(i));
    }
    let resemblances = files.par_iter().enumerate().map(|(i, file)| {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        let others = file.set.iter().flat_map(|chunk| &places[chunk]).filter(|j| **j != i);
        others.for_each(|j| *shared.entry(*j).or_default() += 1);
        let of = |(j, both): (usize, usize)| {
            (j, both as f64 / (file.set.len() + files[j].set.len() - both) as f64)
        };
        shared.into_iter().map(of).collect()
    });
    resemblances.collect()
}

/// Returns whether the best match of a stored file is another version of it. The second result also accepts a tie
/// with other files, because several crates contain the same licence.
fn top_is_version(
    files: &[Stored],
    snapshot: &Snapshot,
    i: usize,
    exhaustive: bool,
) -> (bool, bool) {
    let query = snapshot.query(Like::Key(files[i].key.as_bytes())).top(100);
    let answer = if exhaustive { query.exhaustive().run() } else { query.run() }.unwrap();
    let Some(best) = answer.matches.first() else { return (false, false) };
    let same =
        answer.matches.iter().take_while(|m| m.similarity().value == best.similarity().value);
    let mut versions = same.map(|found| {
        let at = files.binary_search_by(|file| file.key.as_bytes().cmp(&found.key));
        files[at.expect("a stored key")].file == files[i].file
    });
    let first = versions.next().unwrap_or(false);
    (first, first || versions.any(|is_version| is_version))
}

#[test]
fn another_version_is_the_top_match() {
    let Some(folder) = folder() else { return };
    let files = files(&folder, DEFAULT_HORIZON);
    assert!(files.len() > 3000, "only {} files", files.len());
    let exact = brute_force(&files);
    let mut versions: BTreeMap<&(String, String), Vec<usize>> = BTreeMap::new();
    for (i, file) in files.iter().enumerate() {
        versions.entry(&file.file).or_default().push(i);
    }
    let best_version = |i: usize| {
        let others = versions[&files[i].file].iter().filter_map(|j| exact[i].get(j));
        others.fold(0.0_f64, |best, r| best.max(*r))
    };
    let asked: Vec<usize> = (0..files.len()).filter(|i| best_version(*i) >= 0.3).collect();
    let share = |count: usize| count as f64 / asked.len() as f64;
    let bytes: usize = files.iter().map(|file| file.bytes).sum();
    let mut sizes: Vec<usize> = files.iter().map(|file| file.set.len()).collect();
    sizes.sort_unstable();
    println!(
        "{} files, {bytes} bytes, {} chunks in half of them and more; {} with a version at .3 or more",
        files.len(),
        sizes[sizes.len() / 2],
        asked.len(),
    );
    let ceiling = asked.iter().filter(|i| exact[**i].values().all(|r| *r <= best_version(**i)));
    println!("no other file resembles more, exactly: {:.4}", share(ceiling.count()));

    for (name, scheme, exhaustive) in [
        ("near-duplicate", Scheme::near_duplicate(), false),
        ("near-duplicate, exhaustive", Scheme::near_duplicate(), true),
        ("precise", Scheme::precise(), false),
        ("rdc", Scheme::rdc(), false),
    ] {
        let home = tempfile::tempdir().unwrap();
        let db = Database::create(home.path().join("x"), &scheme, Options::default()).unwrap();
        let mut load = db.bulk_load();
        let rows: Vec<(&String, &Vec<u64>)> = files.iter().map(|f| (&f.key, &f.set)).collect();
        load.put_many(&rows).unwrap();
        load.commit().unwrap();
        let snapshot = db.snapshot();
        let found: Vec<(bool, bool)> =
            asked.par_iter().map(|i| top_is_version(&files, &snapshot, *i, exhaustive)).collect();
        let alone = share(found.iter().filter(|(first, _)| *first).count());
        let tied = share(found.iter().filter(|(_, tied)| *tied).count());
        println!("{name}: a version is the first {alone:.4}, or as good as the first {tied:.4}");
        assert!(alone >= 0.95 && tied >= 0.98, "{name}: {alone}, {tied}");
    }
}
