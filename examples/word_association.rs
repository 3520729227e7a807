//! Which words go together? Two- and three-way associations from the documents that words are in.
//!
//! A word is the set of documents in which it occurs. Documents are numbered 0 to D - 1, and common words are in many of
//! them. So the universe is bounded, and estimates use the share of it that each set fills. The resemblance of three sets
//! tells phrases from words that only occur together in pairs.
//!
//! ```sh
//! cargo run --release --example word_association                    # on documents that it makes up
//! cargo run --release --example word_association -- POSTINGS D WORD [WORD WORD]
//! ```
//! A line of POSTINGS is a word, a tab, and the numbers of its documents.

use std::error::Error;

use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::{Database, Like, Options, Scheme, presets, resemblance_of};

/// A word and its documents.
type Posting = (String, Vec<u64>);

/// Returns a scheme of 256 samples of 4 bits with exact set sizes. It has no index: words that share a tenth of their
/// documents are already of interest, and only a scan finds them. A scan of 27,000 words takes a millisecond.
fn scheme(documents: u64) -> ringer::Result<Scheme> {
    Scheme::new(
        presets::PRECISE
            .with_sampler(Sampler::OnePermutation)
            .with_universe(Universe::Bounded(documents))
            .with_samples(256)
            .with_bits(4)
            .with_cardinality(CardinalityField::Exact)
            .with_slots(Slots::NONE),
    )
}

/// Makes up documents about three subjects. Words of a subject occur together more often than others.
fn made_up() -> (Vec<Posting>, u64) {
    const DOCUMENTS: u64 = 50_000;
    let subjects =
        [["credit", "card", "fraud"], ["hong", "kong", "dollar"], ["tea", "cup", "saucer"]];
    let mut postings: Vec<Posting> = Vec::new();
    for (s, subject) in subjects.iter().enumerate() {
        for (w, word) in subject.iter().enumerate() {
            let in_it = |document: &u64| {
                let mixed = (document * 3 + s as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                // All words of a subject are in one document of 16, and each word alone is in one more of 64.
                mixed.is_multiple_of(16) || (mixed + w as u64 * 7) % 64 == 1
            };
            postings.push((word.to_string(), (0..DOCUMENTS).filter(in_it).collect()));
        }
    }
    (postings, DOCUMENTS)
}

fn read(path: &str) -> Result<Vec<Posting>, Box<dyn Error>> {
    let mut postings = Vec::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let (word, documents) = line.split_once('\t').ok_or("a line without a tab")?;
        let documents: Result<Vec<u64>, _> = documents.split_whitespace().map(str::parse).collect();
        postings.push((word.to_string(), documents?));
    }
    Ok(postings)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (postings, documents) = match &arguments[..] {
        [] => made_up(),
        [path, documents, ..] => (read(path)?, documents.parse()?),
        _ => return Err("give POSTINGS, the number of documents, and one or three words".into()),
    };
    let words: Vec<&str> = match arguments.get(2..) {
        None => vec!["credit", "card", "fraud"],
        Some(words) => words.iter().map(String::as_str).collect(),
    };

    let folder = tempfile::tempdir()?;
    let path = folder.path().join("words.ringer");
    let db = Database::create(path, &scheme(documents)?, Options::default())?;
    let mut load = db.bulk_load();
    load.put_many(&postings)?;
    load.commit()?;
    println!("{} words in {documents} documents", postings.len());

    let snapshot = db.snapshot();
    for word in words.iter().take(1) {
        println!("\nwords that go with `{word}`:");
        let query = snapshot.query(Like::Key(word.as_bytes())).top(8);
        for found in query.run()?.matches {
            let name = String::from_utf8_lossy(&found.key);
            let together = found.comparison.intersection()?;
            println!("  {name:<16} {:.3}  together in {together:.0}", found.similarity());
        }
    }
    if let [a, b, c] = words[..] {
        let mut signatures = Vec::new();
        for word in [a, b, c] {
            let stored = snapshot.get(word)?.ok_or_else(|| format!("`{word}` is not there"))?;
            signatures.push(stored.signature);
        }
        let all: Vec<_> = signatures.iter().collect();
        println!("\n`{a}`, `{b}` and `{c}` in one document: {:.3}", resemblance_of(&all)?);
        for [x, y] in [[0, 1], [0, 2], [1, 2]] {
            let pair = signatures[x].resemblance(&signatures[y])?;
            println!("  {:<10} {:<10} {pair:.3}", words[x], words[y]);
        }
    }
    Ok(())
}
