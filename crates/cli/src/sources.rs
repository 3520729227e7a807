//! Reads the sources of a database again: files, or lines of sets or JSON.
//!
//! In: the `--verify-..` options. Out: [`Originals`], which decide pairs, clusters and queries by counting common elements.
//! For line files, 16 bytes per line are kept in memory: the hash of the key, and where the line starts.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ringer::scheme::Measure;
use ringer::{Error, Lost, Originals, Scheme, Sketcher};

use crate::exit::{self, Failure};
use crate::input::{DocumentLimits, Lines, MAX_LINE_BYTES, Records, Worker, content};
use crate::problems::Problem;
use crate::report::Place;
use crate::{interrupt, show};

/// How many keys with missing or changed sources are listed. Further ones are only counted.
const MOST_NAMED: usize = 20;

/// The options that name the original sets.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Sources {
    /// Compare exactly: keys are paths of files, which are read again.
    #[arg(long, help_heading = "Exact answers", conflicts_with_all = ["verify_sets", "verify_jsonl"])]
    pub(crate) verify_files: bool,
    /// Compare exactly: read the sets again from this file, as `add --sets` does.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Exact answers",
        conflicts_with = "verify_jsonl"
    )]
    pub(crate) verify_sets: Option<PathBuf>,
    /// Compare exactly: read the texts again from this file, as `add --jsonl` does.
    #[arg(long, value_name = "FILE", help_heading = "Exact answers")]
    pub(crate) verify_jsonl: Option<PathBuf>,
    /// The JSON field or Parquet column that holds the key.
    #[arg(long, value_name = "NAME", default_value = "id", help_heading = "Exact answers")]
    pub(crate) key_field: String,
    /// The JSON field or Parquet column that holds the text.
    #[arg(long, value_name = "NAME", default_value = "text", help_heading = "Exact answers")]
    pub(crate) text_field: String,
}

/// Sources that are ready to be read.
pub(crate) enum Opened {
    Files(DocumentLimits),
    Lines(LineIndex),
}

impl Sources {
    /// Opens the sources that the command line names, if any.
    pub(crate) fn open(&self, scheme: &Scheme) -> Result<Option<Opened>, Failure> {
        let (path, records) = match (&self.verify_sets, &self.verify_jsonl) {
            (Some(path), _) => (path, Records::Sets { weighted: false }),
            (None, Some(path)) => {
                let records = Records::Json {
                    key_field: self.key_field.clone(),
                    text_field: self.text_field.clone(),
                    features: scheme.features,
                    weighted: false,
                };
                (path, records)
            }
            (None, None) if self.verify_files => {
                check_measure(scheme)?;
                // Stored documents were within the limits when they were added.
                return Ok(Some(Opened::Files(DocumentLimits::NONE)));
            }
            (None, None) => return Ok(None),
        };
        check_measure(scheme)?;
        Ok(Some(Opened::Lines(LineIndex::new(path, records)?)))
    }
}

fn check_measure(scheme: &Scheme) -> Result<(), Failure> {
    match scheme.measure {
        Measure::Jaccard => Ok(()),
        other => Err(Failure::Usage(format!(
            "exact comparison works for resemblance only, and this database has the measure `{other}`: \
             leave out --verify-files, --verify-sets and --verify-jsonl"
        ))),
    }
}

impl Opened {
    /// The original sets by key.
    pub(crate) fn originals<'a>(&'a self, sketcher: &'a Sketcher) -> Originals<'a> {
        Originals::new(move |key| {
            let set = match self {
                // A file that cannot be read, or is no longer text, counts as gone.
                Opened::Files(limits) => {
                    let mut worker = Worker::new(sketcher).limited(*limits);
                    worker.set_of_file(path_of(key)).ok().flatten()
                }
                Opened::Lines(lines) => {
                    let mut worker = Worker::new(sketcher).limited(DocumentLimits::NONE);
                    lines.set(key, &mut worker)?
                }
            };
            // A set that was not read because of an interrupt is not gone.
            if interrupt::requested() { Err(Error::Interrupted) } else { Ok(set) }
        })
    }
}

impl Opened {
    /// The text of a key, for people to read; `None` if there is none.
    pub(crate) fn text(&self, key: &[u8], sketcher: &Sketcher) -> Option<Vec<u8>> {
        match self {
            Opened::Files(_) => Worker::new(sketcher).text_of_file(path_of(key)),
            Opened::Lines(lines) => lines.text(key),
        }
    }

    /// The texts of members of groups, for a report.
    pub(crate) fn texts(
        &self,
        places: &[Place],
        sketcher: &Sketcher,
    ) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        let text = |place: &Place| match interrupt::requested() {
            true => Err(Failure::Interrupted),
            false => Ok(self.text(&place.key, sketcher)),
        };
        places.iter().map(text).collect()
    }
}

/// A key as a path.
pub(crate) fn path_of(key: &[u8]) -> &Path {
    #[cfg(unix)]
    let text: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(key);
    #[cfg(not(unix))]
    let text = OsStr::new(std::str::from_utf8(key).unwrap_or_default());
    Path::new(text)
}

/// Whether two keys are paths of files with the same bytes.
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    compare_bytes(path_of(a), path_of(b)).unwrap_or(false)
}

/// Whether two files have the same bytes.
pub(crate) fn compare_bytes(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (File::open(a)?, File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut a, mut b) = (BufReader::new(a), BufReader::new(b));
    loop {
        let (first, second) = (a.fill_buf()?, b.fill_buf()?);
        let common = first.len().min(second.len());
        if first[..common] != second[..common] {
            return Ok(false);
        }
        if common == 0 {
            return Ok(first.is_empty() && second.is_empty());
        }
        a.consume(common);
        b.consume(common);
    }
}

/// Lines of a file, found by their keys.
pub(crate) struct LineIndex {
    file: Mutex<File>,
    records: Records,
    /// The hash of each key and where its line starts, sorted.
    places: Vec<(u64, u64)>,
}

impl LineIndex {
    /// Reads a file once and remembers where the line of each key starts.
    fn new(path: &Path, records: Records) -> Result<LineIndex, Failure> {
        let unreadable = |problem: Problem| Failure::Io(problem.message);
        let mut lines = Lines::open(path, None).map_err(unreadable)?;
        if lines.bytes().is_none() {
            return Err(Failure::Usage(format!(
                "{} cannot be read twice: name an uncompressed file",
                lines.name()
            )));
        }
        let (mut places, mut lines_read) = (Vec::new(), 0);
        while let Some(block) = lines.next_block().map_err(unreadable)? {
            if interrupt::requested() {
                return Err(Failure::Interrupted);
            }
            lines_read += block.len();
            // Lines that `add` rejected were never stored.
            for line in (0..block.len()).map(|i| block.line(i)) {
                if let Ok(Some((key, _))) = records.parse(line.text) {
                    places.push((hash(&key), line.start));
                }
            }
        }
        if places.is_empty() && lines_read > 0 {
            let (name, fields) = (lines.name(), records.needs());
            return Err(Failure::Usage(format!("no line of {name} can be compared: {fields}")));
        }
        places.sort_unstable();
        let file = File::open(path)
            .map_err(|error| Failure::Io(format!("cannot read {}: {error}", show::path(path))))?;
        Ok(LineIndex { file: Mutex::new(file), records, places })
    }

    /// The set of a key. If several lines have the key, the last one was stored.
    fn set(&self, key: &[u8], worker: &mut Worker<'_>) -> Result<Option<Vec<u64>>, Error> {
        let hash = hash(key);
        let end = self.places.partition_point(|(other, _)| *other <= hash);
        for (_, start) in self.places[..end].iter().rev().take_while(|(other, _)| *other == hash) {
            // A line that cannot be read, or has another key by now, counts as gone.
            let Ok(line) = self.line(*start) else { continue };
            if let Ok(Some((found, content))) = self.records.parse(&line)
                && *found == *key
            {
                return worker.set_of_content(&content).map(Some);
            }
        }
        Ok(None)
    }

    /// The text of a key.
    fn text(&self, key: &[u8]) -> Option<Vec<u8>> {
        let hash = hash(key);
        let end = self.places.partition_point(|(other, _)| *other <= hash);
        let same = self.places[..end].iter().rev().take_while(|(other, _)| *other == hash);
        same.filter_map(|(_, start)| self.line(*start).ok()).find_map(|line| {
            let (found, content) = self.records.parse(&line).ok()??;
            (*found == *key).then(|| content.text().map(<[u8]>::to_vec)).flatten()
        })
    }

    fn line(&self, start: u64) -> io::Result<Vec<u8>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        let mut line = Vec::new();
        let bounded = file.by_ref().take(MAX_LINE_BYTES as u64 + 2);
        BufReader::with_capacity(4096, bounded).read_until(b'\n', &mut line)?;
        if line.ends_with(b"\n") {
            line.pop();
        }
        let content = content(&line, start == 0);
        Ok(line[content].to_vec())
    }
}

fn hash(key: &[u8]) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    use std::sync::LazyLock;
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    STATE.hash_one(key)
}

/// Warns about sources that could not be used.
pub(crate) fn report_lost(originals: &Originals<'_>) {
    let lost = originals.lost();
    for (why, what) in [
        (Lost::Gone, "can no longer be read and was not compared"),
        (Lost::Changed, "has changed since it was stored and was not compared"),
    ] {
        let keys: Vec<_> = lost.iter().filter(|(_, other)| *other == why).collect();
        for (key, _) in keys.iter().take(MOST_NAMED) {
            exit::say(&format!("warning: {} {what}", show::key(key)));
        }
        if keys.len() > MOST_NAMED {
            exit::say(&format!("warning: the same holds for {} more", keys.len() - MOST_NAMED));
        }
    }
}
