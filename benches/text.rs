//! Raw text to signatures with one thread, compared with the minimum cost.
//!
//! A bare read counts spaces; `xxh3 alone` hashes the shingles of texts that were already split into words. All
//! contenders run in turn in one process, and the best of many rounds counts.

#[path = "ratio/mod.rs"]
mod ratio;

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use ratio::Ratio;
use ringer::features::{Ends, GramReader, ShingleReader, SpotReader, html};
use ringer::{Scheme, Sketcher};
use testkit::random::Random;
use xxhash_rust::xxh3::xxh3_64;

const WORDS: usize = 1000;

/// Returns texts of 1,000 words each, by Zipf's law over a vocabulary.
fn texts(vocabulary: &[String]) -> Vec<String> {
    let mut sums = Vec::new();
    (1..=vocabulary.len()).fold(0.0, |sum, i| {
        sums.push(sum + 1.0 / i as f64);
        sums[i - 1]
    });
    let (mut random, total) = (Random(1), sums[sums.len() - 1]);
    let mut word = || {
        let at = (random.word() >> 11) as f64 / (1_u64 << 53) as f64 * total;
        &*vocabulary[sums.partition_point(|sum| *sum < at).min(vocabulary.len() - 1)]
    };
    (0..1000).map(|_| (0..WORDS).map(|_| word()).collect::<Vec<_>>().join(" ")).collect()
}

/// Returns fifty thousand words of random letters, about as long as those of English. Some are capitalised, and some
/// are followed by punctuation.
fn letters(alphabet: &str) -> Vec<String> {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut random = Random(2);
    let mut word = || {
        let length = 1 + random.word() % 5 + random.word() % 6;
        let letters = (0..length).map(|_| alphabet[random.word() as usize % alphabet.len()]);
        let mut word: String = letters.collect();
        if random.word().is_multiple_of(8) {
            word = word.to_uppercase();
        }
        if random.word().is_multiple_of(8) {
            word.push(['.', ','][random.word() as usize % 2]);
        }
        word
    };
    (0..50_000).map(|_| word()).collect()
}

/// Returns the offsets of the words of a text with single spaces, and its end.
fn starts(text: &str) -> Vec<usize> {
    let spaces = text.bytes().enumerate().filter(|(_, byte)| *byte == b' ');
    std::iter::once(0).chain(spaces.map(|(at, _)| at + 1)).chain([text.len() + 1]).collect()
}

fn case(report: &mut Ratio, name: &str, vocabulary: &[String]) {
    let texts = texts(vocabulary);
    let cut: Vec<Vec<usize>> = texts.iter().map(|text| starts(text)).collect();
    let sketcher = Sketcher::new(&Scheme::precise());
    let mut shingles = ShingleReader::new(5, Ends::Looped).unwrap();
    let mut again = ShingleReader::new(5, Ends::Looped).unwrap();
    let mut sets = vec![Vec::new(); texts.len()];
    sets.iter_mut().zip(&texts).for_each(|(set, t)| shingles.features_into(t.as_bytes(), set));
    let (mut features, mut more, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
    report.compare(
        name,
        "M shingles/s",
        (texts.len() * WORDS) as f64 / 1e6,
        ("text to signatures", &mut || {
            for text in &texts {
                features.clear();
                shingles.features_into(text.as_bytes(), &mut features);
                drop(black_box(sketcher.sketch(&features)));
            }
        }),
        &mut [
            ("text to shingles", &mut || {
                for text in &texts {
                    more.clear();
                    again.features_into(text.as_bytes(), &mut more);
                    black_box(&more);
                }
            }),
            ("shingles to signatures", &mut || {
                sets.iter().for_each(|set| drop(black_box(sketcher.sketch(set))));
            }),
            ("xxh3 alone", &mut || {
                for (text, starts) in texts.iter().zip(&cut) {
                    hashes.clear();
                    let runs = starts.iter().zip(&starts[5..]);
                    hashes.extend(runs.map(|(s, e)| xxh3_64(&text.as_bytes()[*s..*e - 1])));
                    black_box(&hashes);
                }
            }),
            ("bare read", &mut || {
                let spaces = |text: &String| text.bytes().filter(|b| *b == b' ').count();
                black_box(texts.iter().map(spaces).sum::<usize>());
            }),
        ],
    );
}

/// The other kinds of features, in megabytes of text per second.
fn others(criterion: &mut Criterion) {
    let text = texts(&letters("etaoinshrdlucmf")).swap_remove(0);
    let page =
        format!("<html><body><p>{}</p>", text.replace(". ", ".</p><p>Tea &amp; <b>cakes</b> "));
    let mut group = criterion.benchmark_group("text of 1000 words");
    group.throughput(Throughput::Bytes(text.len() as u64));
    let mut features = Vec::new();
    let mut grams = GramReader::new(5, Ends::Looped).unwrap();
    group.bench_function("grams of 5", |b| {
        b.iter(|| {
            features.clear();
            grams.features_into(black_box(text.as_bytes()), &mut features);
        });
    });
    let mut spots = SpotReader::new(1, 2).unwrap();
    group.bench_function("spots", |b| {
        b.iter(|| {
            features.clear();
            spots.features_into(black_box(text.as_bytes()), &mut features);
        });
    });
    let mut reader = html::TextReader::new();
    group.bench_function("visible text of HTML", |b| {
        b.iter(|| reader.read(black_box(page.as_bytes())).len());
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    others(&mut criterion);
    if ratio::wanted() {
        let mut report = Ratio::new();
        let numbered: Vec<String> = (0..50_000).map(|i| format!("w{i}")).collect();
        case(&mut report, "words w0 .. w49999", &numbered);
        case(&mut report, "ASCII letters, cases, punctuation", &letters("etaoinshrdlucmf"));
        case(
            &mut report,
            "German: one word in three has an umlaut",
            &letters("etaoinshrdlucmfegasnirtdöü"),
        );
        case(&mut report, "Russian", &letters("оеаинтсрвлкмдпу"));
    }
}
