//! Splitting files into chunks, compared with other work on the same bytes.
//!
//! The ratio printed is what counts. All contenders run in turn in one process, and the best of many rounds counts.
//! 1.00 is XXH3 over the same bytes at once; a plain read sums their words. Rabin fingerprints, eight bytes per step,
//! are included.

#[path = "ratio/mod.rs"]
mod ratio;

use std::hint::black_box;

use ratio::Ratio;
use ringer::features::rabin::Rabin;
use ringer::features::{DEFAULT_HORIZON, chunks};
use testkit::random::Random;
use xxhash_rust::xxh3::xxh3_64;

const BYTES: usize = 4 << 20;

fn read(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks();
    words.iter().fold(0, |sum, word| u64::wrapping_add(sum, u64::from_le_bytes(*word)))
}

/// Returns this crate's own source, repeated.
fn source() -> Vec<u8> {
    let mut text = Vec::new();
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the source is there") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                text.extend(std::fs::read(path).expect("a readable file"));
            }
        }
    }
    text.into_iter().cycle().take(BYTES).collect()
}

fn main() {
    if !ratio::wanted() {
        return;
    }
    let mut random = Random(1);
    let noise: Vec<u8> = (0..BYTES / 8).flat_map(|_| random.word().to_le_bytes()).collect();
    let mut report = Ratio::new();
    for (name, bytes) in [("source", source()), ("random", noise), ("zeros", vec![0; BYTES])] {
        let count = |horizon| chunks(black_box(&bytes), horizon).expect("a horizon in range").len();
        let mean = |horizon| BYTES / count(horizon);
        println!("{name}: {} bytes a chunk, {} at 1024", mean(DEFAULT_HORIZON), mean(1024));
        let once = |work: &dyn Fn() -> u64| _ = black_box(work());
        report.compare(
            name,
            "MB/s",
            BYTES as f64 / 1e6,
            ("XXH3 at once", &mut || once(&|| xxh3_64(black_box(&bytes)))),
            &mut [
                ("plain read", &mut || once(&|| read(black_box(&bytes)))),
                ("Rabin fingerprint at once", &mut || {
                    once(&|| Rabin::standard().fingerprint(black_box(&bytes)));
                }),
                ("chunks, default horizon", &mut || once(&|| count(DEFAULT_HORIZON) as u64)),
                ("chunks, horizon 1024", &mut || once(&|| count(1024) as u64)),
            ],
        );
    }
}
