//! `--report FILE.html`: one self-contained page about the groups of a run.
//!
//! In: groups, one member at a time. Out: a page that needs no network and no other file. Memory is bounded: listed groups go
//! to a temporary file at once ([`group`]), and only counts and the most interesting groups stay in memory ([`tally`]). When
//! all groups are known, [`diff`] compares some of their texts, and [`page`] writes the page under a temporary name.

mod diff;
mod group;
mod page;
mod tally;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use ringer::{Comparison, Estimate, Scheme};

pub(crate) use group::Mark;

use crate::exit::Failure;
use crate::show;
use crate::staged::{self, Staged};
use group::{Group, Member};
use tally::Tally;

/// The most groups that a page lists. Further ones are only counted.
const MOST_GROUPS: u64 = 200_000;

/// Every report has this in its first bytes, so that `--report` replaces reports only.
const GENERATOR: &str = "<meta name=\"generator\" content=\"ringer";

/// How many bytes of an existing file are searched for [`GENERATOR`].
const HEAD_BYTES: u64 = 2048;

/// Why a report about a database may show no differences.
pub(crate) const NO_TEXTS_STORED: &str = "A database stores signatures, not texts. To see differences, name the texts with \
                                          --verify-files or --verify-jsonl.";

/// What a report is about.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// The command, for the title.
    pub(crate) command: &'static str,
    /// What a group is called: `group` or `query`.
    pub(crate) group: &'static str,
    /// What a member is called: `file`, `row`, `set` or `match`.
    pub(crate) thing: &'static str,
    /// The threshold. Without one, no group is doubtful.
    pub(crate) min: Option<f64>,
    /// Whether all pairs were compared, so that no answer depends on the index.
    pub(crate) exhaustive: bool,
    pub(crate) min_matches: Option<u32>,
    pub(crate) within_one_bit: bool,
    /// Why there may be no texts to compare, as advice.
    pub(crate) no_texts: &'static str,
}

/// Where a member's text is: its key and, for rows, the number of the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) key: Vec<u8>,
    pub(crate) row: Option<u64>,
}

/// A similarity to the first member of the group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Similarity {
    pub(crate) value: f64,
    /// The ends of the interval; `None` if the value is exact.
    pub(crate) interval: Option<(f64, f64)>,
}

impl Similarity {
    pub(crate) fn new(estimate: &Estimate, exact: bool) -> Similarity {
        let interval = (!exact).then_some((estimate.low, estimate.high));
        Similarity { value: estimate.value, interval }
    }

    pub(crate) fn of(comparison: &Comparison) -> Similarity {
        Similarity::new(&comparison.similarity(), comparison.is_exact())
    }
}

/// A report that is being collected.
pub(crate) struct Report {
    target: PathBuf,
    about: About,
    scheme: Scheme,
    listed: BufWriter<File>,
    listed_groups: u64,
    open: Option<Group>,
    tally: Tally,
}

impl Report {
    /// Starts a report. Refuses to replace a file that is not a report.
    pub(crate) fn new(target: &Path, scheme: &Scheme, about: About) -> Result<Report, Failure> {
        check(target)?;
        let failed = |error: io::Error| unwritable(target, &error);
        let folder = staged::parent(target);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let listed = BufWriter::new(tempfile::tempfile_in(folder).map_err(failed)?);
        let tally = Tally::new(scheme.measure, about.min);
        let scheme = scheme.clone();
        Ok(Report {
            target: target.into(),
            about,
            scheme,
            listed,
            listed_groups: 0,
            open: None,
            tally,
        })
    }

    /// Starts a group with its first member, which the others are compared with. `text` is its text, if no other source has it.
    pub(crate) fn begin(&mut self, first: Place, mark: Mark, text: Option<&[u8]>) {
        self.open = Some(Group::new(self.tally.groups + 1, first, mark, text));
    }

    /// Adds a member to the group.
    pub(crate) fn member(&mut self, place: Place, mark: Mark, similarity: Similarity) {
        self.tally.pair(similarity.value);
        if let Some(group) = &mut self.open {
            group.add(Member { place, mark, similarity }, self.about.min);
        }
    }

    /// Ends the group.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        let Some(group) = self.open.take() else { return Ok(()) };
        if self.listed_groups < MOST_GROUPS {
            let comma = if self.listed_groups == 0 { "" } else { "," };
            let line = format!("{comma}\n{}", page::json(&group.json()));
            let written = self.listed.write_all(line.as_bytes());
            written.map_err(|error| unwritable(&self.target, &error))?;
            self.listed_groups += 1;
        }
        self.tally.group(&group);
        Ok(())
    }

    /// Writes the page under a temporary name. `totals` are shown at its top. `texts` returns the texts of the places, where
    /// they are known.
    pub(crate) fn finish(
        self,
        totals: &[(&str, u64)],
        texts: impl FnOnce(&[Place]) -> Result<Vec<Option<Vec<u8>>>, Failure>,
    ) -> Result<Staged, Failure> {
        let chosen = self.tally.chosen();
        let places: Vec<Place> =
            chosen.iter().flat_map(|(group, other)| [group.first.clone(), other.clone()]).collect();
        let mut found = texts(&places)?.into_iter();
        let mut diffs = Vec::new();
        for (group, _) in &chosen {
            let (first, other) = (found.next().flatten(), found.next().flatten());
            let first = first.or_else(|| group.text.clone());
            diffs.push(first.zip(other).map(|(a, b)| diff::words(&a, &b)));
        }
        let failed = |error: io::Error| unwritable(&self.target, &error);
        let listed = self.listed.into_inner().map_err(|error| failed(error.into_error()))?;
        let (staged, file) = Staged::file(&self.target)?;
        let page = page::Page {
            about: &self.about,
            scheme: &self.scheme,
            tally: &self.tally,
            totals,
            chosen: &chosen,
            diffs: &diffs,
            listed_groups: self.listed_groups,
        };
        page.write(listed, file).map_err(failed)?;
        Ok(staged)
    }
}

/// The start of a text, as long as differences need it. One byte more than is compared shows that the text was cut.
pub(crate) fn start(text: &[u8]) -> Vec<u8> {
    text[..text.len().min(group::TEXT_BYTES + 1)].to_vec()
}

/// Rejects a target that exists and is not a report. An empty file may be replaced.
pub(crate) fn check(target: &Path) -> Result<(), Failure> {
    let name = show::path(target);
    let found = match target.metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unwritable(target, &error)),
    };
    if found.is_dir() {
        return Err(Failure::Usage(format!("--report {name} is a folder: name a file")));
    }
    // Opening a pipe could wait for ever.
    let mut head = Vec::new();
    if found.is_file() && found.len() > 0 {
        let opened = File::open(target).map_err(|error| unwritable(target, &error))?;
        opened
            .take(HEAD_BYTES)
            .read_to_end(&mut head)
            .map_err(|error| unwritable(target, &error))?;
    }
    let empty = found.is_file() && found.len() == 0;
    match empty || String::from_utf8_lossy(&head).contains(GENERATOR) {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "{name} exists and is not a report of ringer: choose another name for --report"
        ))),
    }
}

fn unwritable(target: &Path, error: &io::Error) -> Failure {
    Failure::Io(format!("cannot write {}: {error}", show::path(target)))
}
