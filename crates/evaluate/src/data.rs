//! The public data sets of the experiments.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::GzDecoder;
use testkit::real;

use crate::Outcome;

/// The documents in `words65536`.
pub(crate) const DOCUMENTS: u64 = 65_536;

/// Words as sets of documents, in ascending order.
pub(crate) struct Words(HashMap<String, Vec<u64>>);

impl Words {
    /// Reads the named words, or `None` without the data.
    pub(crate) fn read(named: &[&str]) -> Option<Words> {
        let folder = real::folder("words65536")?;
        let text =
            String::from_utf8_lossy(&real::read(&folder.join("postings.txt.xz"))).into_owned();
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        let wanted = lines.filter(|(word, _)| named.contains(word));
        let sets = wanted.map(|(word, ids)| {
            let ids = ids.split(' ').filter_map(|id| id.parse().ok()).collect();
            (word.to_string(), ids)
        });
        Some(Words(sets.collect()))
    }

    /// The documents of a word.
    pub(crate) fn get(&self, word: &str) -> Outcome<&[u64]> {
        self.0
            .get(word)
            .map(Vec::as_slice)
            .ok_or_else(|| format!("no word `{word}` in the data").into())
    }
}

/// Numbers for words, from 0 on.
#[derive(Default)]
struct Numbers(HashMap<String, u64>);

impl Numbers {
    /// The runs of `length` words of a text.
    fn runs(&mut self, text: &str, length: usize) -> Vec<u64> {
        let lower = text.to_ascii_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let runs = words.windows(words.len().clamp(1, length)).map(|run| {
            let next = self.0.len() as u64;
            *self.0.entry(run.join(" ")).or_insert(next)
        });
        let mut set: Vec<u64> = runs.collect();
        set.sort_unstable();
        set.dedup();
        set
    }
}

/// A corpus for duplicate detection.
pub(crate) struct Corpus {
    pub(crate) name: &'static str,
    pub(crate) sets: Vec<Vec<u64>>,
}

/// Package descriptions as sets of words.
pub(crate) fn descriptions(most: usize) -> Option<Corpus> {
    let folder = real::folder("debian-desc-public")?;
    let text = real::read(&folder.join("Translation-en.bookworm.xz"));
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut numbers = Numbers::default();
    let described = text.split("\n\n").filter_map(|stanza| stanza.split_once("Description-en: "));
    let sets = described.map(|(_, text)| numbers.runs(text, 1)).filter(|set| !set.is_empty());
    Some(Corpus {
        name: "descriptions of packages, as sets of words",
        sets: sets.take(most).collect(),
    })
}

/// The files of crate versions as sets of runs of three words.
pub(crate) fn source_files(most: usize) -> Outcome<Option<Corpus>> {
    let Some(versions) = versions()? else { return Ok(None) };
    let mut numbers = Numbers::default();
    let files = versions.iter().flat_map(|version| &version.files);
    let sets = files.map(|file| numbers.runs(&String::from_utf8_lossy(&file.bytes), 3));
    let sets = sets.filter(|set| !set.is_empty()).take(most).collect();
    Ok(Some(Corpus { name: "source files of crate versions, as runs of three words", sets }))
}

/// A version of a crate.
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) files: Vec<File>,
}

pub(crate) struct File {
    /// The path below the folder of the version.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl Version {
    /// The crate's name and the numbers of its version.
    pub(crate) fn order(&self) -> (String, Vec<u64>) {
        let (name, version) = self.name.rsplit_once('-').unwrap_or((&self.name, ""));
        (name.to_string(), version.split('.').filter_map(|n| n.parse().ok()).collect())
    }
}

/// The crate versions in ascending order, or `None` without the data.
pub(crate) fn versions() -> Outcome<Option<Vec<Version>>> {
    let Some(folder) = real::folder("crates-small") else { return Ok(None) };
    let mut versions = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != "crate") {
            continue;
        }
        let mut archive = tar::Archive::new(GzDecoder::new(std::fs::File::open(&path)?));
        let mut files = Vec::new();
        for file in archive.entries()? {
            let mut file = file?;
            if !file.header().entry_type().is_file() {
                continue;
            }
            let path = file.path()?.to_string_lossy().into_owned();
            let path = path.split_once('/').map_or(path.clone(), |(_, rest)| rest.to_string());
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            files.push(File { path, bytes });
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        versions.push(Version { name, files });
    }
    versions.sort_by_key(Version::order);
    Ok(Some(versions))
}

/// The part of an experiment whose data is missing.
pub(crate) const NO_DATA: &str = "The data of this experiment was not found (set RINGER_DATA).";
