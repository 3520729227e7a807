//! The sources of a database, read again: files, or lines of sets or JSON.
//!
//! In: what the command line says the keys came from. Out: [`Originals`], with which pairs, clusters and queries are decided
//! by counting common elements. Of lines, 16 bytes each are kept: where the line of a key starts.

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
use crate::{interrupt, show};

/// Keys that are named when their sources are gone or have changed. Further ones are counted.
const MOST_NAMED: usize = 20;

/// Where the original sets can be read again.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Sources {
    /// Keys are paths of files: read those again, and decide by exact counts instead of estimates.
    #[arg(long, help_heading = "Exact answers", conflicts_with_all = ["verify_sets", "verify_jsonl"])]
    pub(crate) verify_files: bool,
    /// Decide by exact counts: sets are read again from this file, as `add --sets` reads them.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Exact answers",
        conflicts_with = "verify_jsonl"
    )]
    pub(crate) verify_sets: Option<PathBuf>,
    /// Decide by exact counts: texts are read again from this file, as `add --jsonl` reads them.
    #[arg(long, value_name = "FILE", help_heading = "Exact answers")]
    pub(crate) verify_jsonl: Option<PathBuf>,
    /// The field of the key in JSON and Parquet.
    #[arg(long, value_name = "NAME", default_value = "id", help_heading = "Exact answers")]
    pub(crate) key_field: String,
    /// The field of the text in JSON and Parquet.
    #[arg(long, value_name = "NAME", default_value = "text", help_heading = "Exact answers")]
    pub(crate) text_field: String,
}

/// Sources that are ready to be read.
pub(crate) enum Opened {
    Files(DocumentLimits),
    Lines(LineIndex),
}

impl Sources {
    /// Opens the sources, if the command line names any.
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
                // What was stored was within the limits of that time.
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
            "elements can be counted in sets only, and this database has the measure `{other}`: leave out --verify-.."
        ))),
    }
}

impl Opened {
    /// The sets, by their keys.
    pub(crate) fn originals<'a>(&'a self, sketcher: &'a Sketcher) -> Originals<'a> {
        Originals::new(move |key| {
            let set = match self {
                // What cannot be read, or is no text any more, is gone.
                Opened::Files(limits) => {
                    let mut worker = Worker::new(sketcher).limited(*limits);
                    worker.set_of_file(path_of(key)).ok().flatten()
                }
                Opened::Lines(lines) => {
                    let mut worker = Worker::new(sketcher).limited(DocumentLimits::NONE);
                    lines.set(key, &mut worker)?
                }
            };
            // What was given up halfway is not gone.
            if interrupt::asked() { Err(Error::Interrupted) } else { Ok(set) }
        })
    }
}

/// The path that a key is.
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

fn compare_bytes(a: &Path, b: &Path) -> io::Result<bool> {
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
    /// Goes through a file once and remembers where each key is.
    fn new(path: &Path, records: Records) -> Result<LineIndex, Failure> {
        let unreadable = |problem: Problem| Failure::Io(problem.message);
        let mut lines = Lines::open(path, None).map_err(unreadable)?;
        if lines.bytes().is_none() {
            return Err(Failure::Usage(format!(
                "{} cannot be read twice: give a file that is not compressed",
                lines.name()
            )));
        }
        let mut places = Vec::new();
        while let Some(block) = lines.next_block().map_err(unreadable)? {
            if interrupt::asked() {
                return Err(Failure::Interrupted);
            }
            // A line that was refused when it was added is the source of nothing.
            for line in (0..block.len()).map(|i| block.line(i)) {
                if let Ok(Some((key, _))) = records.parse(line.text) {
                    places.push((hash(&key), line.start));
                }
            }
        }
        places.sort_unstable();
        let file = File::open(path)
            .map_err(|error| Failure::Io(format!("cannot read {}: {error}", show::path(path))))?;
        Ok(LineIndex { file: Mutex::new(file), records, places })
    }

    /// The set of a key. The last line of several is the one that was stored.
    fn set(&self, key: &[u8], worker: &mut Worker<'_>) -> Result<Option<Vec<u64>>, Error> {
        let hash = hash(key);
        let end = self.places.partition_point(|(other, _)| *other <= hash);
        for (_, start) in self.places[..end].iter().rev().take_while(|(other, _)| *other == hash) {
            // A line that cannot be read, or is another one by now, is gone.
            let Ok(line) = self.line(*start) else { continue };
            if let Ok(Some((found, content))) = self.records.parse(&line)
                && *found == *key
            {
                return worker.set_of_content(&content).map(Some);
            }
        }
        Ok(None)
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

/// Says which sources could not be used.
pub(crate) fn report_lost(originals: &Originals<'_>) {
    let lost = originals.lost();
    for (why, what) in [
        (Lost::Gone, "cannot be read any more, and was not compared"),
        (Lost::Changed, "has changed since it was stored, and was not compared"),
    ] {
        let keys: Vec<_> = lost.iter().filter(|(_, other)| *other == why).collect();
        for (key, _) in keys.iter().take(MOST_NAMED) {
            exit::say(&format!("warning: {} {what}", show::key(key)));
        }
        if keys.len() > MOST_NAMED {
            exit::say(&format!("warning: {} more {what}", keys.len() - MOST_NAMED));
        }
    }
}
