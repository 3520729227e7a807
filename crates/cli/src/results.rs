//! Writes the results of `pairs`, `clusters` and `query` to standard output or a file, in the format asked for.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use ringer::scheme::Measure;
use ringer::{Comparison, Estimate};

use crate::exit::Failure;
use crate::show::{self, Output, Style};
use crate::staged::Staged;
use crate::table::{Cell, Column, Kind, TableFormat, TableWriter};

/// The options for results.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Written {
    /// The format of the results [default: the extension of --output, or table].
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// Write the results to this file instead of standard output. An existing file is replaced when they are complete.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The names of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatName {
    /// A table to read.
    Table,
    /// One JSON object per line.
    Json,
    Csv,
    Parquet,
}

/// An open destination for results: lines of text or JSON, or a table.
pub(crate) struct Results {
    /// The style of lines.
    pub(crate) style: Style,
    pub(crate) lines: Output,
    table: Option<TableWriter<Box<dyn Write + Send>>>,
    /// Whether the results are printed on a terminal.
    pub(crate) on_terminal: bool,
    /// The output file, and a handle to sync it.
    staged: Option<(Staged, File)>,
}

impl Written {
    fn format(&self, style: Style) -> Result<FormatName, Failure> {
        let of_name = || {
            let extension = self.output.as_ref()?.extension()?.to_str()?;
            match extension {
                "csv" => Some(FormatName::Csv),
                "json" | "jsonl" => Some(FormatName::Json),
                "parquet" => Some(FormatName::Parquet),
                _ => None,
            }
        };
        match (self.format, style.json) {
            (Some(FormatName::Json) | None, true) => Ok(FormatName::Json),
            (Some(_), true) => {
                Err(Failure::Usage("--json means --format json: leave out one of the two".into()))
            }
            (Some(format), false) => Ok(format),
            (None, false) => Ok(of_name().unwrap_or(FormatName::Table)),
        }
    }

    /// Opens the destination. Only tables use the columns.
    pub(crate) fn open(&self, style: Style, columns: &[Column]) -> Result<Results, Failure> {
        let format = self.format(style)?;
        let table_format = match format {
            FormatName::Table | FormatName::Json => None,
            FormatName::Csv => Some(TableFormat::Csv),
            FormatName::Parquet => Some(TableFormat::Parquet.checked()?),
        };
        let cannot = |error: io::Error| Failure::Io(format!("cannot write the results: {error}"));
        let (sink, staged): (Box<dyn Write + Send>, _) = match &self.output {
            None => (Box::new(io::stdout()), None),
            Some(path) => {
                let (staged, file) = Staged::file(path)?;
                let handle = file.try_clone().map_err(cannot)?;
                (Box::new(file), Some((staged, handle)))
            }
        };
        let style = Style { json: format == FormatName::Json, ..style };
        let (lines, table) = match table_format {
            None => (Output::to(sink), None),
            Some(format) => {
                let table = TableWriter::new(sink, format, columns)?;
                (Output::to(Box::new(io::sink())), Some(table))
            }
        };
        let on_terminal = staged.is_none() && io::stdout().is_terminal();
        Ok(Results { style, lines, table, on_terminal, staged })
    }
}

impl Results {
    /// Results as lines on standard output.
    pub(crate) fn on_output(style: Style) -> Results {
        let on_terminal = io::stdout().is_terminal();
        Results { style, lines: Output::new(), table: None, on_terminal, staged: None }
    }

    /// Results that nobody wants to see.
    pub(crate) fn nowhere(style: Style) -> Results {
        let lines = Output::to(Box::new(io::sink()));
        Results { style, lines, table: None, on_terminal: false, staged: None }
    }

    /// Whether results are added as rows, not as lines.
    pub(crate) fn is_table(&self) -> bool {
        self.table.is_some()
    }

    /// Adds a row to the table.
    pub(crate) fn row(&mut self, row: Vec<Cell>) -> Result<(), Failure> {
        Ok(self.table.as_mut().map_or(Ok(()), |table| table.add(row))?)
    }

    /// Completes the results, and renames the file to its final name.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.lines.flush()?;
        if let Some(table) = self.table {
            table.finish()?.flush()?;
        }
        let Some((staged, file)) = self.staged else { return Ok(()) };
        file.sync_all()?;
        staged.publish()
    }
}

/// The given columns, followed by those of a comparison.
pub(crate) fn columns(before: &[Column], measure: Measure) -> Vec<Column> {
    let mut columns = before.to_vec();
    columns.push((measure.similarity_name(), Kind::Number));
    columns.extend(["std_error", "low", "high"].map(|name| (name, Kind::Number)));
    columns.push(("exact", Kind::Boolean));
    columns
}

/// The cells of a comparison's columns.
pub(crate) fn cells(comparison: &Comparison) -> [Cell; 5] {
    estimate_cells(&comparison.similarity(), comparison.is_exact())
}

/// The cells of an estimate in the same columns.
pub(crate) fn estimate_cells(estimate: &Estimate, exact: bool) -> [Cell; 5] {
    let [value, error] = [estimate.value, estimate.std_error].map(Cell::Number);
    let [low, high] = [estimate.low, estimate.high].map(Cell::Number);
    [value, error, low, high, Cell::Boolean(exact)]
}

/// The name of a query as a cell.
pub(crate) fn name_cell(name: &serde_json::Value) -> Cell {
    Cell::Text(name.as_str().map_or_else(|| name.to_string(), str::to_string).into_bytes())
}

/// A key as a cell.
pub(crate) fn key_cell(key: &[u8]) -> Cell {
    match str::from_utf8(key) {
        Ok(_) => Cell::Text(key.to_vec()),
        Err(_) => Cell::Text(show::key(key).into_bytes()),
    }
}
