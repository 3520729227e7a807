//! The options of `ringer dedup` for datasets. They are checked before anything is read.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use ringer::presets;
use ringer::scheme::{Features, Measure};

use super::no_parquet;
use crate::actions::KeepName;
use crate::exit::Failure;
use crate::grouping::LinkageName;
use crate::table::TableFormat;
use crate::{show, staged};

/// Datasets: rows in, kept rows out.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Datasets")]
pub(crate) struct DatasetArguments {
    /// Deduplicate rows of JSON, one object per line. IN is a file (also .gz or .zst), a folder, a pattern, or `-` for
    /// standard input.
    #[arg(long, value_name = "IN", num_args = 1.., conflicts_with_all = ["paths", "parquet"])]
    pub(crate) jsonl: Vec<PathBuf>,
    /// Deduplicate rows of Parquet files. IN is a file, a folder or a pattern.
    #[arg(long, value_name = "IN", num_args = 1.., conflicts_with = "paths")]
    pub(crate) parquet: Vec<PathBuf>,
    /// Write the kept rows into this folder, in files with the names and formats of the input. It must be new or empty.
    #[arg(long, value_name = "DIR", conflicts_with = "paths")]
    pub(crate) out: Option<PathBuf>,
    /// Write the removed rows into this folder, in the same way.
    #[arg(long, value_name = "DIR", conflicts_with = "paths")]
    pub(crate) removed: Option<PathBuf>,
    /// Write a list of the groups to this .parquet, .csv or .jsonl file: each row, its representative, and their resemblance.
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    pub(crate) clusters: Option<PathBuf>,
    /// Write a page about the groups to this HTML file: totals, charts, and differences of texts. An earlier report is replaced.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
    /// Replace existing output. With --db, rows of this input that an earlier run stored are kept again.
    #[arg(long, conflicts_with = "paths")]
    pub(crate) force: bool,
    /// The field that holds the text, or an array of tokens or ids.
    #[arg(long, value_name = "NAME", default_value = "text")]
    pub(crate) text_field: String,
    /// The field that holds the key. A row without it has the key FILE:ROW.
    #[arg(long, value_name = "NAME", default_value = "id")]
    pub(crate) key_field: String,
    /// The file or row of a group that is kept.
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        default_value = "first",
        help_heading = "Which one is kept"
    )]
    pub(crate) keep: KeepName,
    /// Keep the row with the largest value of this field; among equal values, --keep decides.
    #[arg(
        long,
        value_name = "FIELD",
        conflicts_with = "paths",
        help_heading = "Which one is kept"
    )]
    pub(crate) keep_by: Option<String>,
    /// The scheme of the signatures [default: near-duplicate, or the scheme of --db].
    #[arg(long, value_parser = preset_names(), conflicts_with = "paths")]
    pub(crate) preset: Option<String>,
    /// How groups are formed: strict compares each removed row with the kept one, connected follows chains of pairs.
    #[arg(long, value_enum, value_name = "KIND", default_value = "strict", conflicts_with_all = ["strict_linkage", "paths"])]
    pub(crate) linkage: LinkageName,
    /// Memory for signatures and comparisons, such as 512MiB or 4GiB.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = show::parse_bytes, conflicts_with = "paths")]
    pub(crate) memory: usize,
    /// The folder for temporary files [default: beside the output].
    #[arg(long, value_name = "DIR", conflicts_with = "paths")]
    pub(crate) spill: Option<PathBuf>,
}

/// Presets whose signatures estimate the resemblance of sets.
fn preset_names() -> PossibleValuesParser {
    let resemblance = presets::ALL.iter().filter(|(_, preset)| preset.measure == Measure::Jaccard);
    resemblance.map(|(name, _)| *name).collect::<Vec<_>>().into()
}

impl DatasetArguments {
    /// Whether the command has a dataset as its input.
    pub(crate) fn given(&self) -> bool {
        !(self.jsonl.is_empty() && self.parquet.is_empty())
    }

    /// Whether rows come from standard input.
    pub(super) fn reads_input(&self) -> bool {
        self.jsonl.iter().any(|path| path == Path::new("-"))
    }

    /// Whether kept rows go to standard output.
    pub(super) fn writes_output(&self) -> bool {
        self.reads_input() && self.out.is_none()
    }

    fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.out, &self.removed, &self.clusters].into_iter().flatten()
    }

    /// Whether output of an earlier run is replaced.
    pub(super) fn replaces_output(&self) -> bool {
        self.outputs().any(|target| staged::check_target(target, false).is_err())
    }

    /// Rejects options that contradict each other, and output that exists.
    pub(super) fn check(
        &self,
        features: Option<Features>,
        db: Option<&Path>,
    ) -> Result<(), Failure> {
        let usage = |message: &str| Err(Failure::Usage(message.into()));
        if !(self.parquet.is_empty() || cfg!(feature = "parquet")) {
            return Err(no_parquet());
        }
        if self.reads_input() && self.jsonl.len() > 1 {
            return usage(
                "standard input (-) cannot be combined with files: give only one of them",
            );
        }
        let outputs: Vec<&PathBuf> = self.outputs().collect();
        if !self.reads_input() && outputs.is_empty() && self.report.is_none() && db.is_none() {
            return usage(
                "there is no output: give --out DIR, --removed DIR, --clusters FILE or --report FILE",
            );
        }
        if self.report.as_ref().is_some_and(|report| outputs.contains(&report)) {
            return usage("--report must have another name than the other output");
        }
        for (i, target) in outputs.iter().enumerate() {
            if outputs[..i].contains(target) {
                return usage("--out, --removed and --clusters must have different names");
            }
            staged::check_target(target, self.force)?;
        }
        self.clusters
            .as_deref()
            .map_or(Ok(()), |path| TableFormat::of_name(path, "--clusters").map(|_| ()))?;
        match features {
            Some(Features::Chunks { .. } | Features::Url) => usage(
                "rows cannot be compared by these features: use --features text, grams, spots, tokens or ids",
            ),
            _ => Ok(()),
        }
    }

    /// The folder for a temporary file, which is about as large as the input. By default, the folder is on the disk of
    /// the output.
    pub(super) fn spill_place(&self, db: Option<&Path>) -> PathBuf {
        if let Some(place) = &self.spill {
            return place.clone();
        }
        let (out, removed) = (self.out.as_deref(), self.removed.as_deref());
        let outputs = [out, removed, self.clusters.as_deref(), db, self.report.as_deref()];
        let folder =
            outputs.into_iter().flatten().map(staged::parent).find(|folder| folder.is_dir());
        folder.map_or_else(std::env::temp_dir, Path::to_path_buf)
    }
}
