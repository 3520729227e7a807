//! Raw text to signatures: ringer beside gaoya, 128 samples of shingles of five words, one thread.
//!
//! 2,000 texts of 1,000 words w0 .. w49999 by Zipf's law. gaoya splits the line at spaces and makes signatures of
//! windows of five words; it does not normalise. Ringer normalises and finds words by Unicode's rules. It runs twice:
//! without set sizes, which gaoya does not keep either, and with them.

use std::hint::black_box;

use ::gaoya::minhash::{MinHasher, MinHasher32};
use ::ringer::features::{Ends, ShingleReader};
use ::ringer::scheme::CardinalityField;
use ::ringer::{Scheme, Sketcher, presets};

use crate::Result;
use crate::measure::Watch;
use crate::minwise::SAMPLES;
use testkit::random::Random;

const TEXTS: usize = 2000;
const WORDS: usize = 1000;
const VOCABULARY: usize = 50_000;
const SHINGLE: u16 = 5;
const ROUNDS: usize = 10;

fn texts() -> Vec<String> {
    let mut sums = vec![0.0; VOCABULARY];
    let mut total = 0.0;
    for (i, sum) in sums.iter_mut().enumerate() {
        total += 1.0 / (i + 1) as f64;
        *sum = total;
    }
    let mut random = Random::of(1, 0);
    let mut word = || {
        let at = (random.word() >> 11) as f64 / (1_u64 << 53) as f64 * total;
        format!("w{}", sums.partition_point(|sum| *sum < at).min(VOCABULARY - 1))
    };
    (0..TEXTS).map(|_| (0..WORDS).map(|_| word()).collect::<Vec<_>>().join(" ")).collect()
}

/// Prints millions of shingles per second of processor time, in the best round of each.
pub(crate) fn run() -> Result<()> {
    let texts = texts();
    let sizes = Sketcher::new(&Scheme::precise());
    let cardinality = CardinalityField::None;
    let no_sizes = Scheme::new(presets::PRECISE.with_cardinality(cardinality))?;
    let no_sizes = Sketcher::new(&no_sizes);
    let mut reader = ShingleReader::new(SHINGLE, Ends::Looped)?;
    let mut features = Vec::new();
    let peer = MinHasher32::new(SAMPLES);
    let (mut theirs, mut ours) = (0.0_f64, [0.0_f64; 2]);
    for _ in 0..ROUNDS {
        let mut watch = Watch::default();
        watch.time(|| {
            for text in &texts {
                let words: Vec<&str> = text.split(' ').collect();
                black_box(peer.create_signature(words.windows(SHINGLE.into())));
            }
        });
        let windows = TEXTS * (WORDS + 1 - usize::from(SHINGLE));
        theirs = theirs.max(watch.rates(windows as u64).1 / 1e3);
        for (ours, sketcher) in ours.iter_mut().zip([&no_sizes, &sizes]) {
            let mut watch = Watch::default();
            watch.time(|| -> Result<()> {
                for text in &texts {
                    features.clear();
                    reader.features_into(text.as_bytes(), &mut features);
                    black_box(sketcher.sketch(&features)?);
                }
                Ok(())
            })?;
            *ours = ours.max(watch.rates((TEXTS * WORDS) as u64).1 / 1e3);
        }
    }
    println!("raw text of {WORDS} words to signatures, {SAMPLES} samples, one thread");
    println!("  gaoya                 {theirs:8.1} M shingles/s");
    for (who, ours) in ["ringer", "ringer, sizes counted"].iter().zip(ours) {
        println!("  {who:21} {ours:8.1} M shingles/s, {:.1} times", ours / theirs);
    }
    Ok(())
}
