//! `ringer dedup`: near-duplicate files in folders, in one go.
//!
//! Reads and sketches every file in parallel, compares every signature with every other in memory, and
//! prints the connected groups. The work grows with the square of the number of files.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;
use ringer::estimate::Chance;
use ringer::scheme::Features;
use ringer::{Estimate, Parameters, Scheme, Signature, Signatures, Sketcher, features, presets};
use serde_json::{Value, json};
use walkdir::{DirEntry, WalkDir};

use crate::exit::{self, Failure};

/// Words in a shingle of text.
const SHINGLE_WORDS: u16 = 5;

/// Larger files are left out: they would have to be in memory whole.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A file with a zero byte this early is not text.
const BINARY_CHECK_BYTES: u64 = 8 << 10;

/// Find near-duplicate text files.
///
/// Compares all files below the given paths by their 5-word shingles, ignoring case and punctuation,
/// and prints groups of look-alikes. Binary files and files without words are left out and counted.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer dedup ~/notes
  ringer dedup --min 0.6 --json src docs > groups.jsonl")]
pub(crate) struct Dedup {
    /// Files and folders (searched recursively; symbolic links are not followed).
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Least resemblance of two files that belong together, above 0 and at most 1.
    #[arg(long, default_value_t = 0.8, value_name = "R")]
    min: f64,
    /// One JSON object a line for each group.
    #[arg(long)]
    json: bool,
    /// No progress bar and no summary.
    #[arg(long)]
    quiet: bool,
    /// Stop at the first file that cannot be read.
    #[arg(long)]
    strict: bool,
}

/// What became of the files that were not compared.
#[derive(Default)]
struct LeftOut {
    binary: usize,
    without_words: usize,
    unreadable: usize,
}

impl Dedup {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if !(self.min > 0.0 && self.min <= 1.0) {
            return Err(Failure::Usage(format!(
                "--min {} is no resemblance: give a number above 0 and at most 1",
                self.min
            )));
        }
        let mut left_out = LeftOut::default();
        let files = self.find_files(&mut left_out)?;
        let features = Features::TEXT;
        let scheme = Scheme::new(Parameters { features, ..presets::PRECISE })?;
        let (keys, signatures) = self.sketch(files, &scheme, &mut left_out)?;
        let groups = self.group(&signatures)?;
        self.print(&keys, &signatures, &groups)?;
        if !self.quiet {
            let grouped: usize = groups.iter().map(Vec::len).sum();
            let LeftOut { binary, without_words, unreadable } = left_out;
            exit::say(&format!(
                "{} groups with {grouped} of {} files; left out: {binary} binary, {without_words} \
                 without words, {unreadable} unreadable",
                groups.len(),
                keys.len(),
            ));
        }
        Ok(())
    }

    /// A bar on standard error, if that is a terminal and nobody asked for quiet.
    fn progress(&self, what: &'static str, steps: usize) -> ProgressBar {
        let bar = ProgressBar::new(steps as u64).with_message(what);
        if self.quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let template = "{msg} {wide_bar} {pos}/{len} ({per_sec}, {eta} left)";
        bar.with_style(
            ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar()),
        )
    }

    /// A file that cannot be used: an error with `--strict`, otherwise a message and a count.
    fn unreadable(&self, message: &str, left_out: &mut LeftOut) -> Result<(), Failure> {
        if self.strict {
            return Err(Failure::Io(message.to_string()));
        }
        exit::say(&format!("warning: {message}"));
        left_out.unreadable += 1;
        Ok(())
    }

    fn find_files(&self, left_out: &mut LeftOut) -> Result<Vec<PathBuf>, Failure> {
        let mut files = Vec::new();
        for root in &self.paths {
            if let Err(error) = root.symlink_metadata() {
                // A path that was named and is not there is a mistake, not a file to leave out.
                return Err(Failure::Io(format!("cannot read {}: {error}", root.display())));
            }
            if !root.is_dir() && !root.is_file() {
                let message =
                    format!("cannot read {}: it is neither file nor folder", root.display());
                self.unreadable(&message, left_out)?;
                continue;
            }
            for entry in WalkDir::new(root).sort_by_file_name() {
                match entry {
                    Ok(entry) if entry.file_type().is_file() || is_named_file(&entry) => {
                        files.push(entry.into_path());
                    }
                    Ok(_) => {}
                    Err(error) => self.unreadable(&format!("cannot read {error}"), left_out)?,
                }
            }
        }
        files.sort();
        // One file by two ways is one file.
        let mut seen = HashSet::new();
        files.retain(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
        Ok(files)
    }

    fn sketch(
        &self,
        files: Vec<PathBuf>,
        scheme: &Scheme,
        left_out: &mut LeftOut,
    ) -> Result<(Vec<PathBuf>, Signatures), Failure> {
        let sketcher = Sketcher::new(scheme);
        let bar = self.progress("reading", files.len());
        let sketch_one = |file: &PathBuf| -> Result<Outcome, Failure> {
            let outcome = match read_text(file) {
                Ok(Some(text)) => {
                    let shingles = features::shingles(&text, SHINGLE_WORDS)?;
                    match shingles.is_empty() {
                        true => Outcome::WithoutWords,
                        false => Outcome::Sketched(sketcher.sketch(&shingles)?),
                    }
                }
                Ok(None) => Outcome::Binary,
                Err(error) => {
                    Outcome::Unreadable(format!("cannot read {}: {error}", file.display()))
                }
            };
            bar.inc(1);
            Ok(outcome)
        };
        let outcomes: Result<Vec<_>, Failure> = files.par_iter().map(sketch_one).collect();
        bar.finish_and_clear();
        let mut signatures = Signatures::new(scheme);
        let mut keys = Vec::new();
        for (file, outcome) in files.into_iter().zip(outcomes?) {
            match outcome {
                Outcome::Sketched(signature) => {
                    signatures.push(&signature)?;
                    keys.push(file);
                }
                Outcome::Binary => left_out.binary += 1,
                Outcome::WithoutWords => left_out.without_words += 1,
                Outcome::Unreadable(message) => self.unreadable(&message, left_out)?,
            }
        }
        Ok((keys, signatures))
    }

    /// The connected groups of at least two signatures, each in order, the first one first.
    fn group(&self, signatures: &Signatures) -> Result<Vec<Vec<usize>>, Failure> {
        let scheme = signatures.scheme();
        let chance = Chance::sparse(u32::from(scheme.bits));
        // The least count of equal samples whose estimate reaches the threshold.
        let samples = scheme.samples as u16;
        let reaches =
            |x: &u16| chance.resemblance(f64::from(*x) / f64::from(samples)) >= self.min - 1e-12;
        let least = (0..=samples).find(reaches).unwrap_or(samples);
        let bar = self.progress("comparing", signatures.len());
        let groups = Mutex::new(Groups((0..signatures.len()).collect()));
        (0..signatures.len()).into_par_iter().try_for_each(|i| -> Result<(), Failure> {
            let Some(signature) = signatures.get(i) else { return Ok(()) };
            let mut similar = Vec::new();
            signatures.for_each_count(&signature, i + 1, least, |j, _| similar.push(j))?;
            if !similar.is_empty() {
                let mut groups = groups.lock().unwrap_or_else(PoisonError::into_inner);
                similar.into_iter().for_each(|j| groups.join(i, j));
            }
            bar.inc(1);
            Ok(())
        })?;
        bar.finish_and_clear();
        Ok(groups.into_inner().unwrap_or_else(PoisonError::into_inner).of_two_or_more())
    }

    fn print(
        &self,
        keys: &[PathBuf],
        signatures: &Signatures,
        groups: &[Vec<usize>],
    ) -> Result<(), Failure> {
        let mut out = BufWriter::new(stdout().lock());
        for (number, group) in groups.iter().enumerate() {
            let to_first = resemblance_to_first(signatures, group)?;
            // Of all members with the first, which is the one that a reader would keep.
            let lowest = to_first.iter().map(Estimate::clamped).fold(1.0, f64::min);
            if self.json {
                let keys: Vec<Value> = group.iter().map(|i| json_key(&keys[*i])).collect();
                let line =
                    json!({ "cluster": number + 1, "keys": keys, "min_resemblance": lowest });
                writeln!(out, "{line}")?;
                continue;
            }
            writeln!(out, "group {}: {} files", number + 1, group.len())?;
            writeln!(out, "                 {}", shown(&keys[group[0]]))?;
            for (i, estimate) in group[1..].iter().zip(&to_first) {
                let (value, error) = (estimate.clamped(), estimate.std_error);
                writeln!(out, "  {value:.3} ± {error:.3}  {}", shown(&keys[*i]))?;
            }
        }
        Ok(out.flush()?)
    }
}

/// Whether this is a path of the command line that leads to a file through a symbolic link.
fn is_named_file(entry: &DirEntry) -> bool {
    entry.depth() == 0 && entry.path().is_file()
}

/// A path for the table: control characters would move the cursor, or start a new line.
fn shown(path: &Path) -> String {
    let visible = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    path.to_string_lossy().chars().map(visible).collect()
}

/// What became of one file.
enum Outcome {
    Sketched(Signature),
    Binary,
    WithoutWords,
    Unreadable(String),
}

/// The bytes of a file, or `None` if it is not text.
fn read_text(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    let mut head = file.take(BINARY_CHECK_BYTES);
    head.read_to_end(&mut bytes)?;
    if bytes.contains(&0) {
        return Ok(None);
    }
    let read = head.into_inner().take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if read as u64 > MAX_FILE_BYTES {
        let most = MAX_FILE_BYTES >> 20;
        return Err(io::Error::other(format!("it has more than {most} MiB")));
    }
    Ok(Some(bytes))
}

/// Resemblance of every member but the first with the first.
fn resemblance_to_first(
    signatures: &Signatures,
    group: &[usize],
) -> Result<Vec<Estimate>, ringer::Error> {
    let signature = |i: &usize| signatures.get(*i);
    let Some(first) = group.first().and_then(signature) else { return Ok(Vec::new()) };
    group[1..].iter().filter_map(signature).map(|other| first.resemblance(&other)).collect()
}

/// A path as JSON: text, or its bytes in hexadecimal if it is not UTF-8.
fn json_key(path: &Path) -> Value {
    match path.to_str() {
        Some(text) => Value::from(text),
        None => {
            let bytes = path.as_os_str().as_encoded_bytes();
            json!({ "hex": bytes.iter().map(|b| format!("{b:02x}")).collect::<String>() })
        }
    }
}

/// Union-find: entry i is an earlier member of i's group, or i itself.
struct Groups(Vec<usize>);

impl Groups {
    fn first(&mut self, mut i: usize) -> usize {
        while self.0[i] != i {
            self.0[i] = self.0[self.0[i]];
            i = self.0[i];
        }
        i
    }

    fn join(&mut self, i: usize, j: usize) {
        let (i, j) = (self.first(i), self.first(j));
        self.0[i.max(j)] = i.min(j);
    }

    fn of_two_or_more(mut self) -> Vec<Vec<usize>> {
        let mut groups = vec![Vec::new(); self.0.len()];
        (0..self.0.len()).for_each(|i| groups[self.first(i)].push(i));
        groups.retain(|group| group.len() > 1);
        groups
    }
}
