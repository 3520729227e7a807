//! Which of my files should a remote file be built from, and how much of it must be sent?
//!
//! This is remote differential compression. This side has a folder of files, and the other side has a file. The other side
//! sends the signature of its file, a few dozen bytes. A Ringer database of the folder finds the most similar files. Only
//! the chunks that the best of them lacks have to be sent.
//!
//! ```sh
//! cargo run --example file_sync                  # on files that it makes up
//! cargo run --example file_sync -- FOLDER FILE   # find a base for FILE in FOLDER
//! ```

use std::collections::HashSet;
use std::error::Error;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use ringer::features::{Chunk, Chunker, DEFAULT_HORIZON};
use ringer::scheme::Features;
use ringer::{Database, Like, Parameters, Scheme};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The chunks of a file of any size, as feature and length, read piece by piece.
fn chunks_of(path: &Path) -> Outcome<Vec<(u64, usize)>> {
    let mut chunker = Chunker::new(DEFAULT_HORIZON)?;
    let mut chunks = Vec::new();
    let mut keep = |chunk: Chunk<'_>| chunks.push((chunk.feature(), chunk.bytes().len()));
    let mut file = File::open(path)?;
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            n => chunker.push(&piece[..n], &mut keep),
        }
    }
    chunker.finish(&mut keep);
    Ok(chunks)
}

fn features(chunks: &[(u64, usize)]) -> Vec<u64> {
    chunks.iter().map(|(feature, _)| *feature).collect()
}

/// All files below a folder.
fn files_in(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files.extend(files_in(&entry.path())?);
        } else if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    Ok(files)
}

fn sync(folder: &Path, remote: &Path) -> Outcome<()> {
    // This side: one signature for each file of the folder.
    let scheme = Scheme::new(Parameters::default().with_features(Features::CHUNKS))?;
    let db = Database::in_memory(&scheme)?;
    let local = files_in(folder)?;
    let mut load = db.bulk_load();
    for (number, path) in local.iter().enumerate() {
        load.put_bytes(number.to_be_bytes(), &fs::read(path)?)?;
    }
    load.commit()?;

    // The other side: the chunks of its file, and their signature, which is all that it sends at first.
    let wanted = chunks_of(remote)?;
    let signature = db.sketcher().sketch(&features(&wanted))?;
    let size: usize = wanted.iter().map(|(_, bytes)| bytes).sum();
    println!("{}: {size} bytes, {} chunks", remote.display(), wanted.len());

    // This side: which files are similar to it?
    let answer = db.snapshot().query(Like::Signature(&signature)).top(3).run()?;
    let mut best = None;
    for found in &answer.matches {
        let number = usize::from_be_bytes((&*found.key).try_into()?);
        println!("  {:.2}  {}", found.similarity(), local[number].display());
        best = best.or(Some(number));
    }
    let Some(best) = best else {
        println!("  no local file looks like it: all {size} bytes have to be sent");
        return Ok(());
    };

    // Which chunks does the best of them lack?
    let known: HashSet<u64> = features(&chunks_of(&local[best])?).into_iter().collect();
    let mut sent = HashSet::new();
    let missing =
        wanted.iter().filter(|(feature, _)| !known.contains(feature) && sent.insert(*feature));
    let missing: usize = missing.map(|(_, bytes)| bytes).sum();
    println!(
        "{missing} bytes have to be sent, {:.1} % of the file, and 8 bytes for each chunk to say where it goes",
        100.0 * missing as f64 / size.max(1) as f64
    );
    Ok(())
}

/// Makes up a story. Another seed gives another story.
fn story(seed: usize, sentences: usize) -> String {
    let who = ["The baker", "A sailor", "My aunt", "The old clerk", "Some child", "Nobody"];
    let does = ["painted", "forgot", "mended", "sold", "carried home", "dreamt of"];
    let what =
        ["a red door", "nine letters", "the clock", "an empty boat", "her best hat", "two lamps"];
    let line = |i: usize| {
        let dice = (i + 1).wrapping_mul(seed * 2_654_435_761 + 40_503) >> 7;
        let pick = |all: &[&'static str; 6], by: usize| all[dice / by % 6];
        format!("{} {} {} on day {i} of {seed}. ", pick(&who, 1), pick(&does, 6), pick(&what, 36))
    };
    (0..sentences).map(line).collect()
}

fn main() -> Outcome<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    match &arguments[..] {
        [folder, file] => sync(folder, file),
        [] => {
            let made = tempfile::tempdir()?;
            let folder = made.path().join("local");
            fs::create_dir(&folder)?;
            for seed in 1..=20 {
                fs::write(folder.join(format!("story-{seed}.txt")), story(seed, 300))?;
            }
            // A new version of one of them, with some words changed and a passage inserted.
            let mut new = story(7, 300).replacen("nine letters", "ten long letters", 3);
            new.insert_str(5000, "Here the author had second thoughts, and wrote a little more.\n");
            let remote = made.path().join("remote.txt");
            fs::write(&remote, new)?;
            sync(&folder, &remote)
        }
        _ => Err("usage: file_sync [FOLDER FILE]".into()),
    }
}
