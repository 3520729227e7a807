//! Writes the list of groups (`--clusters`): one line per row of a group, as CSV, JSONL or Parquet.

use std::io;
use std::path::Path;

use ringer::Error;

use super::groups::{Decision, Decisions, Representative};
use super::shards::Shard;
use super::spill::Spill;
use crate::exit::Failure;
use crate::show;
use crate::staged::Staged;
use crate::table::{Cell, Column, Kind, TableFormat, TableWriter};

/// The columns. Rows are numbered from 1 within their file. A stored row, which is a row of the database of `--db`, has the
/// number 0.
const COLUMNS: &[Column] = &[
    ("key", Kind::Text),
    ("file", Kind::Text),
    ("row", Kind::Integer),
    ("group", Kind::Integer),
    ("representative", Kind::Text),
    ("resemblance", Kind::Number),
    ("low", Kind::Number),
    ("high", Kind::Number),
    ("kept", Kind::Boolean),
];

/// Writes the list to a file with a temporary name.
pub(crate) fn write(
    path: &Path,
    decisions: &Decisions,
    spill: &Spill,
    shards: &[Shard],
    starts: &[u64],
) -> Result<Staged, Failure> {
    let format = TableFormat::of_name(path, "--clusters")?;
    let (staged, file) = Staged::file(path)?;
    let failed =
        |error: io::Error| Failure::Io(format!("cannot write {}: {error}", show::path(path)));
    let mut table = TableWriter::new(file, format, COLUMNS).map_err(failed)?;
    for row in stored(decisions) {
        table.add(row).map_err(failed)?;
    }
    for row in rows(decisions, spill, shards, starts) {
        table.add(row?).map_err(failed)?;
    }
    table.finish().and_then(|file| file.sync_all()).map_err(failed)?;
    Ok(staged)
}

/// The stored rows that represent groups.
fn stored(decisions: &Decisions) -> impl Iterator<Item = Vec<Cell>> {
    decisions.stored.iter().map(|(key, group)| {
        let key = || Cell::Text(key.to_vec());
        let [one, low, high] = [1.0; 3].map(Cell::Number);
        let (file, row, group) = (Cell::Text(Vec::new()), Cell::Integer(0), Cell::Integer(*group));
        vec![key(), file, row, group, key(), one, low, high, Cell::Boolean(true)]
    })
}

/// The rows of the input that belong to groups, in order.
fn rows<'a>(
    decisions: &'a Decisions,
    spill: &'a Spill,
    shards: &'a [Shard],
    starts: &'a [u64],
) -> impl Iterator<Item = Result<Vec<Cell>, Error>> + 'a {
    decisions.rows.iter().map(move |decision| {
        let Decision { row, group, representative, resemblance, low, high } = *decision;
        let shard = starts.partition_point(|start| *start <= row) - 1;
        let key = |row| spill.key(row).map(|key| Cell::Text(key.unwrap_or_default()));
        let representative = match representative {
            Representative::Row(row) => key(row)?,
            Representative::Stored(place) => Cell::Text(decisions.stored[place].0.to_vec()),
        };
        let [resemblance, low, high] = [resemblance, low, high].map(Cell::Number);
        Ok(vec![
            key(row)?,
            Cell::Text(shards[shard].file.clone().into_bytes()),
            Cell::Integer(row - starts[shard] + 1),
            Cell::Integer(group),
            representative,
            resemblance,
            low,
            high,
            Cell::Boolean(!decisions.is_removed(row)),
        ])
    })
}
