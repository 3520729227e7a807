//! Files of weights: how documents become weighted sets, for `add --weights` and `query --weights`.
//!
//! A file has lines of a term, a tab and the number of documents that contain the term. Lines before them set `#documents`, the
//! number of all documents, and the weights `#title` and `#headings`. A file of `ringer weights` also has a line `#features`:
//! then terms are features, as 16 hexadecimal digits. Otherwise the features of the database turn terms into elements.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use ringer::Scheme;
use ringer::features::{DocumentFrequencies, Extractor, Media, Weighting};
use ringer::scheme::Measure;

use crate::exit::Failure;
use crate::input::Lines;
use crate::show;
use crate::staged::Staged;

/// The option of commands that weigh documents.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Weigh {
    /// Weigh the elements of documents by this file: by how rare they are, and by where in a page of HTML they are. It is a
    /// file of `ringer weights`, or has lines of a word, a tab and the number of documents with the word, after a line
    /// `#documents`, a tab and the number of all documents. The database does not remember the file: give the same one to
    /// each `add` and `query`.
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,
}

impl Weigh {
    /// Reads the file, if one is named.
    pub(crate) fn read(&self, scheme: &Scheme) -> Result<Option<Weighting>, Failure> {
        let Some(path) = &self.weights else { return Ok(None) };
        check_measure("--weights", scheme)?;
        read(path, scheme).map(Some)
    }
}

/// Rejects weights for a database whose sets have none.
pub(crate) fn check_measure(what: &str, scheme: &Scheme) -> Result<(), Failure> {
    match scheme.measure {
        Measure::Jaccard => Err(Failure::Usage(format!(
            "{what}: the sets of this database have no weights: create a database with --preset weighted or --preset cosine"
        ))),
        _ => Ok(()),
    }
}

/// What a file has said so far.
#[derive(Default)]
struct Table {
    documents: Option<u64>,
    /// Whether terms are features.
    hashed: bool,
    weighting: Weighting,
    counts: Vec<(u64, u64)>,
}

fn read(path: &Path, scheme: &Scheme) -> Result<Weighting, Failure> {
    let mut lines = Lines::open(path, None).map_err(|problem| Failure::Io(problem.message))?;
    let (mut table, mut extractor) = (Table::default(), Extractor::of_scheme(scheme));
    while let Some(block) = lines.next_block().map_err(|problem| Failure::Io(problem.message))? {
        if let Some(problem) = block.problems.first() {
            return Err(Failure::Usage(problem.message.clone()));
        }
        for line in (0..block.len()).map(|i| block.line(i)) {
            table.take(line.text, scheme, &mut extractor).map_err(|why| {
                Failure::Usage(format!("{}, line {}: {why}", lines.name(), line.number))
            })?;
        }
    }
    let frequencies = DocumentFrequencies::from_counts(table.documents.unwrap_or(0), table.counts)
        .map_err(|error| Failure::Usage(format!("{}: {error}", lines.name())))?;
    Ok(table.weighting.with_frequencies(frequencies))
}

impl Table {
    fn take(
        &mut self,
        line: &[u8],
        scheme: &Scheme,
        extractor: &mut Extractor,
    ) -> Result<(), String> {
        if line.is_empty() {
            return Ok(());
        }
        let Some(tab) = line.iter().rposition(|byte| *byte == b'\t') else {
            return Err("there is no tab: write a term, a tab and a number of documents".into());
        };
        let (term, value) = (&line[..tab], &line[tab + 1..]);
        let value = std::str::from_utf8(value).unwrap_or_default().trim();
        // A term may look like a setting, but settings come first.
        if self.counts.is_empty() && self.set(term, value, scheme)? {
            return Ok(());
        }
        let shown = show::key(&term[..term.len().min(40)]);
        let Ok(count) = value.parse::<u64>() else {
            return Err(format!("the number of documents with `{shown}` is not a whole number"));
        };
        let Some(documents) = self.documents else {
            return Err("the number of all documents is missing: begin with a line `#documents`, a tab and a number".into());
        };
        if count > documents {
            return Err(format!("`{shown}` is in {count} of {documents} documents"));
        }
        let feature = match self.hashed {
            true => hashed(term).ok_or_else(|| {
                format!("`{shown}` is not a feature of 16 hexadecimal digits")
            })?,
            false => single(term, extractor).map_err(|why| {
                format!(
                    "`{shown}` is {why}, where the elements are {}: count terms of this database with `ringer weights`",
                    scheme.features
                )
            })?,
        };
        self.counts.push((feature, count));
        Ok(())
    }

    /// Takes a setting. Returns false if the line is none.
    fn set(&mut self, name: &[u8], value: &str, scheme: &Scheme) -> Result<bool, String> {
        let number = || value.parse::<f64>().map_err(|_| format!("`{value}` is not a number"));
        let weighting = std::mem::take(&mut self.weighting);
        let weighting = match name {
            b"#title" => weighting.with_title(number()?),
            b"#headings" => weighting.with_headings(number()?),
            _ => Ok(weighting),
        };
        self.weighting = weighting.map_err(|error| error.to_string())?;
        match name {
            b"#title" | b"#headings" => {}
            b"#documents" => {
                let documents = value.parse();
                self.documents =
                    Some(documents.map_err(|_| format!("`{value}` is not a whole number"))?);
            }
            b"#features" if value == scheme.features.to_string() => self.hashed = true,
            b"#features" => {
                return Err(format!(
                    "the file counts elements of {value}, and this database has {}: count again with `ringer weights`",
                    scheme.features
                ));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A feature in hexadecimal.
fn hashed(term: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(term).ok().filter(|text| text.len() == 16)?;
    let all = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    all.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// The only feature of a term.
fn single(term: &[u8], extractor: &mut Extractor) -> Result<u64, String> {
    let mut features = Vec::new();
    let extracted = extractor.extract(term, Media::Plain, &mut features);
    extracted.map_err(|_| "no element".to_string())?;
    features.sort_unstable();
    features.dedup();
    match features[..] {
        [] => Err("no element".into()),
        [feature] => Ok(feature),
        _ => Err(format!("{} elements", features.len())),
    }
}

/// Writes a file that [`Weigh::read`] reads. It appears complete or not at all.
pub(crate) fn write(path: &Path, weighting: &Weighting, scheme: &Scheme) -> Result<(), Failure> {
    let (staged, file) = Staged::file(path)?;
    let mut out = BufWriter::new(file);
    let written = (|| {
        let frequencies = weighting.frequencies();
        writeln!(out, "#documents\t{}", frequencies.documents())?;
        writeln!(out, "#features\t{}", scheme.features)?;
        writeln!(out, "#title\t{}", weighting.title())?;
        writeln!(out, "#headings\t{}", weighting.headings())?;
        for (feature, count) in frequencies.counts() {
            writeln!(out, "{feature:016x}\t{count}")?;
        }
        out.flush()?;
        out.get_ref().sync_all()
    })();
    written.map_err(|error: std::io::Error| {
        Failure::Io(format!("cannot write {}: {error}", show::path(path)))
    })?;
    drop(out);
    staged.publish()
}
