//! The list of groups: one line for each row of a group, as CSV, JSONL or Parquet.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ringer::Error;
use serde_json::json;

use super::groups::{Decision, Decisions, Representative};
use super::shards::Shard;
use super::spill::Spill;
use super::staged::Staged;
use crate::exit::Failure;
use crate::show;

/// The columns, in order.
pub(crate) const COLUMNS: [&str; 9] =
    ["key", "file", "row", "group", "representative", "resemblance", "low", "high", "kept"];

/// The format of the list, by the name of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListFormat {
    Csv,
    Jsonl,
    Parquet,
}

impl ListFormat {
    pub(crate) fn of(path: &Path) -> Result<ListFormat, Failure> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(ListFormat::Csv),
            Some("jsonl") => Ok(ListFormat::Jsonl),
            Some("parquet") if cfg!(feature = "parquet") => Ok(ListFormat::Parquet),
            Some("parquet") => Err(super::no_parquet()),
            _ => Err(Failure::Usage(format!(
                "--clusters {}: the name must end in .parquet, .csv or .jsonl",
                show::path(path)
            ))),
        }
    }
}

/// One line of the list.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    /// Empty for a stored row.
    pub(crate) file: String,
    /// The number of the row in its file, from 1; 0 for a stored row.
    pub(crate) row: u64,
    pub(crate) group: u64,
    pub(crate) representative: Vec<u8>,
    pub(crate) resemblance: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) kept: bool,
}

/// Writes the list to a file that does not have its name yet.
pub(crate) fn write(
    path: &Path,
    decisions: &Decisions,
    spill: &Spill,
    shards: &[Shard],
    starts: &[u64],
) -> Result<Staged, Failure> {
    let format = ListFormat::of(path)?;
    let (staged, file) = Staged::file(path)?;
    let failed =
        |error: io::Error| Failure::Io(format!("cannot write {}: {error}", show::path(path)));
    let mut writer = ListWriter::new(file, format).map_err(failed)?;
    for entry in entries(decisions, spill, shards, starts) {
        writer.add(&entry?).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    Ok(staged)
}

/// The entries: first those of stored rows, then those of the input in order.
fn entries<'a>(
    decisions: &'a Decisions,
    spill: &'a Spill,
    shards: &'a [Shard],
    starts: &'a [u64],
) -> impl Iterator<Item = Result<Entry, Error>> + 'a {
    let stored = decisions.stored.iter().map(|(key, group)| {
        Ok(Entry {
            key: key.to_vec(),
            file: String::new(),
            row: 0,
            group: *group,
            representative: key.to_vec(),
            resemblance: 1.0,
            low: 1.0,
            high: 1.0,
            kept: true,
        })
    });
    let rows = decisions.rows.iter().map(move |decision| {
        let Decision { row, group, representative, resemblance, low, high } = *decision;
        let shard = starts.partition_point(|start| *start <= row) - 1;
        Ok(Entry {
            key: spill.key(row)?.unwrap_or_default(),
            file: shards[shard].file.clone(),
            row: row - starts[shard] + 1,
            group,
            representative: match representative {
                Representative::Row(row) => spill.key(row)?.unwrap_or_default(),
                Representative::Stored(place) => decisions.stored[place].0.to_vec(),
            },
            resemblance,
            low,
            high,
            kept: !decisions.is_removed(row),
        })
    });
    stored.chain(rows)
}

/// Writes entries in one of the formats.
pub(crate) enum ListWriter {
    Csv(BufWriter<File>),
    Jsonl(BufWriter<File>),
    #[cfg(feature = "parquet")]
    Parquet(Box<super::parquet_list::ParquetList>),
}

impl ListWriter {
    pub(crate) fn new(file: File, format: ListFormat) -> io::Result<ListWriter> {
        let mut file = BufWriter::with_capacity(1 << 18, file);
        Ok(match format {
            ListFormat::Csv => {
                writeln!(file, "{}", COLUMNS.join(","))?;
                ListWriter::Csv(file)
            }
            ListFormat::Jsonl => ListWriter::Jsonl(file),
            #[cfg(feature = "parquet")]
            ListFormat::Parquet => {
                ListWriter::Parquet(Box::new(super::parquet_list::ParquetList::new(file)?))
            }
            #[cfg(not(feature = "parquet"))]
            ListFormat::Parquet => return Err(io::ErrorKind::Unsupported.into()),
        })
    }

    pub(crate) fn add(&mut self, entry: &Entry) -> io::Result<()> {
        match self {
            ListWriter::Csv(file) => {
                let Entry { row, group, resemblance, low, high, kept, .. } = entry;
                let [key, representative] =
                    [&entry.key, &entry.representative].map(|key| text(key));
                writeln!(
                    file,
                    "{},{},{row},{group},{},{resemblance},{low},{high},{kept}",
                    quoted(&key),
                    quoted(&entry.file),
                    quoted(&representative),
                )
            }
            ListWriter::Jsonl(file) => {
                let line = json!({
                    "key": show::json_key(&entry.key),
                    "file": entry.file,
                    "row": entry.row,
                    "group": entry.group,
                    "representative": show::json_key(&entry.representative),
                    "resemblance": entry.resemblance,
                    "low": entry.low,
                    "high": entry.high,
                    "kept": entry.kept,
                });
                writeln!(file, "{line}")
            }
            #[cfg(feature = "parquet")]
            ListWriter::Parquet(list) => list.add(entry),
        }
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        let file = match self {
            ListWriter::Csv(file) | ListWriter::Jsonl(file) => file,
            #[cfg(feature = "parquet")]
            ListWriter::Parquet(list) => list.finish()?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

/// A key as text.
pub(crate) fn text(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

/// A field of CSV, in quotes where it needs them.
pub(crate) fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) || field.starts_with(' ') || field.ends_with(' ') {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_string(),
    }
}
