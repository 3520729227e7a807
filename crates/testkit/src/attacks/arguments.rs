//! Turns arbitrary bytes into a command line of the tool, and prepares the folder that it runs in.
//!
//! An input is a list of arguments separated by zero bytes, then a byte 1, then the content of the file `lines`. A
//! one-byte argument of 128 or more selects a word from the tool's vocabulary, so a fuzzer need not spell it. No
//! argument can leave the folder: slashes and `..` are replaced.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use ringer::scheme::{CardinalityField, Features, Measure, Sampler, Slots};
use ringer::{Database, Options, Parameters, Scheme, presets};

/// The most arguments of a command line.
const MOST: usize = 24;

/// Words that mean something to the tool: commands, options, values, file names.
const WORDS: &str = "dedup create add query get delete keys estimate pairs clusters triples plan stat check repair \
    salvage compact pack dump completions man help tokens.ringer ids.ringer weighted.ringer text.ringer \
    broken.ringer new.ringer other.ringer lines words.txt page.html folder . a b nobody --sets --jsonl \
    --key --set --text --file --weighted --top --all --min --min-matches --exhaustive --within-one-bit \
    --explain --strict --json --quiet -q --commit-every --ack --key-field --text-field --prefix --preset \
    near-duplicate rdc alta-vista bing cosine --samples --bits --slots --samples-per-slot --value-bits \
    --sampler one-permutation independent lazy weighted sign-projection --packing xor-pairs --universe \
    --cardinality exact linear4 --seed --features chunks tokens ids text --db --follow-links \
    --strict-linkage --error --quick --deep --certain --dir --help --version bash - -- 0 1 -1 0.5 1e308 \
    NaN 18446744073709551615 4294967296";

/// Arguments that are not single words.
const OTHERS: [&str; 3] = ["", "a b c", "a:1 b:2.5"];

/// A decoded input.
#[derive(Debug)]
pub struct Given {
    pub arguments: Vec<OsString>,
    /// The content of the file `lines`.
    pub lines: Vec<u8>,
}

/// Decodes an input.
pub fn given(bytes: &[u8]) -> Given {
    let end = bytes.iter().position(|byte| *byte == 1);
    let (command, lines) = bytes.split_at(end.unwrap_or(bytes.len()));
    let arguments = command.split(|byte| *byte == 0).take(MOST).map(argument);
    let arguments = if command.is_empty() { Vec::new() } else { arguments.collect() };
    Given { arguments, lines: lines.get(1..).unwrap_or_default().to_vec() }
}

fn argument(bytes: &[u8]) -> OsString {
    if let [byte @ 128..=255] = bytes {
        let words: Vec<&str> = WORDS.split(' ').chain(OTHERS).collect();
        return words[usize::from(byte - 128) % words.len()].into();
    }
    let mut bytes = bytes.to_vec();
    for i in 0..bytes.len() {
        let two_dots = i > 0 && bytes[i - 1..=i] == *b"..";
        if bytes[i] == b'/' || two_dots {
            bytes[i] = b'_';
        }
    }
    OsString::from_vec(bytes)
}

/// The files to work on, created once.
#[derive(Debug)]
pub struct Files(Vec<(&'static str, Vec<u8>)>);

impl Files {
    pub fn new() -> ringer::Result<Files> {
        let small = Slots { count: 8, samples_per_slot: 2, value_bits: 8, min_matches: 1 };
        let plain = presets::PRECISE.with_samples(32).with_bits(4).with_slots(small);
        let weighted = plain
            .with_features(Features::Tokens)
            .with_sampler(Sampler::Weighted)
            .with_cardinality(CardinalityField::None);
        let mut files = Vec::new();
        for (name, parameters) in [
            ("tokens.ringer", plain.with_features(Features::Tokens)),
            ("ids.ringer", plain),
            ("text.ringer", plain.with_features(Features::TEXT)),
            ("weighted.ringer", weighted),
        ] {
            files.push((name, database(parameters)?));
        }
        let mut broken = files[0].1.clone();
        // Damages a few pages, but not the pages that lead to them.
        broken.iter_mut().skip(12_600).step_by(97).take(8).for_each(|byte| *byte ^= 1);
        files.push(("broken.ringer", broken));
        files.push(("words.txt", b"never put off till tomorrow what you can do today".repeat(9)));
        files.push(("page.html", b"<p>never put <b>off</b> till tomorrow &amp; so on".to_vec()));
        Ok(Files(files))
    }

    /// Writes the files into an empty folder.
    pub fn fill(&self, folder: &Path, lines: &[u8]) -> io::Result<()> {
        for (name, bytes) in &self.0 {
            fs::write(folder.join(name), bytes)?;
        }
        fs::write(folder.join("lines"), lines)?;
        fs::create_dir(folder.join("folder"))?;
        fs::write(folder.join("folder/words.txt"), b"never put off till tomorrow".repeat(20))
    }
}

/// Returns the bytes of a database with three sets.
fn database(parameters: Parameters) -> ringer::Result<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.ringer");
    let db = Database::create(&path, &Scheme::new(parameters)?, Options::default())?;
    for (key, first) in [("a", 0), ("b", 2), ("c", 500)] {
        let set: Vec<(u64, f64)> = (first..first + 40).map(|n| (n, 1.0)).collect();
        match parameters.measure {
            Measure::Jaccard => db.put(key, &set.iter().map(|(n, _)| *n).collect::<Vec<_>>())?,
            _ => db.put_weighted(key, &set)?,
        };
    }
    db.close()?;
    Ok(fs::read(path).expect("the file"))
}
