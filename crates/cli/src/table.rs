//! Tables of results as CSV, JSON lines or Parquet.
//!
//! In: columns, then rows of cells. Out: a file, or standard output. In JSON, keys that are not UTF-8 become objects with
//! hexadecimal digits. In the other formats, invalid bytes become the replacement character.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Map, Value};

use crate::exit::Failure;
use crate::show;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
}

/// The name and the type of a column.
pub(crate) type Column = (&'static str, Kind);

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    /// A key or another text.
    Text(Vec<u8>),
    Integer(u64),
    Number(f64),
    Boolean(bool),
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableFormat {
    Csv,
    Jsonl,
    Parquet,
}

impl TableFormat {
    /// The format that a file extension stands for.
    pub(crate) fn of_name(path: &Path, option: &str) -> Result<TableFormat, Failure> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(TableFormat::Csv),
            Some("jsonl") => Ok(TableFormat::Jsonl),
            Some("parquet") => TableFormat::Parquet.checked(),
            _ => Err(Failure::Usage(format!(
                "{option} {}: the name of the file must end in .parquet, .csv or .jsonl",
                show::path(path)
            ))),
        }
    }

    /// Rejects a format that this build cannot write.
    pub(crate) fn checked(self) -> Result<TableFormat, Failure> {
        match self == TableFormat::Parquet && !cfg!(feature = "parquet") {
            true => Err(crate::dataset::no_parquet()),
            false => Ok(self),
        }
    }
}

/// A table that rows are added to.
pub(crate) struct TableWriter<W: Write + Send> {
    names: Vec<&'static str>,
    form: Form<W>,
}

enum Form<W: Write + Send> {
    Csv(BufWriter<W>),
    Jsonl(BufWriter<W>),
    #[cfg(feature = "parquet")]
    Parquet(Box<crate::parquet::table::ParquetTable<BufWriter<W>>>),
}

impl<W: Write + Send> TableWriter<W> {
    pub(crate) fn new(
        file: W,
        format: TableFormat,
        columns: &[Column],
    ) -> io::Result<TableWriter<W>> {
        let mut file = BufWriter::with_capacity(1 << 18, file);
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let form = match format {
            TableFormat::Csv => {
                writeln!(file, "{}", names.join(","))?;
                Form::Csv(file)
            }
            TableFormat::Jsonl => Form::Jsonl(file),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                Form::Parquet(Box::new(crate::parquet::table::ParquetTable::new(file, columns)?))
            }
            #[cfg(not(feature = "parquet"))]
            TableFormat::Parquet => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(TableWriter { names, form })
    }

    /// Adds a row, with a cell for each column.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(clippy::needless_pass_by_value, reason = "Parquet keeps it")
    )]
    pub(crate) fn add(&mut self, row: Vec<Cell>) -> io::Result<()> {
        debug_assert_eq!(row.len(), self.names.len());
        match &mut self.form {
            Form::Csv(file) => {
                let fields: Vec<String> = row.iter().map(csv_field).collect();
                writeln!(file, "{}", fields.join(","))
            }
            Form::Jsonl(file) => {
                let names = self.names.iter().map(ToString::to_string);
                let object: Map<String, Value> = names.zip(row.iter().map(json_value)).collect();
                writeln!(file, "{}", Value::Object(object))
            }
            #[cfg(feature = "parquet")]
            Form::Parquet(table) => table.add(row),
        }
    }

    /// Writes the rest, and returns the file.
    pub(crate) fn finish(self) -> io::Result<W> {
        let mut file = match self.form {
            Form::Csv(file) | Form::Jsonl(file) => file,
            #[cfg(feature = "parquet")]
            Form::Parquet(table) => table.finish()?,
        };
        file.flush()?;
        file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

fn json_value(cell: &Cell) -> Value {
    match cell {
        Cell::Text(text) => show::json_key(text),
        Cell::Integer(number) => (*number).into(),
        Cell::Number(number) => (*number).into(),
        Cell::Boolean(value) => (*value).into(),
    }
}

fn csv_field(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => quoted(&String::from_utf8_lossy(text)).into_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Number(number) => number.to_string(),
        Cell::Boolean(value) => value.to_string(),
    }
}

/// A field of CSV, quoted if necessary.
fn quoted(field: &str) -> Cow<'_, str> {
    let needs = field.contains([',', '"', '\n', '\r']) || field.trim() != field || field.is_empty();
    match needs {
        true => format!("\"{}\"", field.replace('"', "\"\"")).into(),
        false => field.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[("key", Kind::Text), ("n", Kind::Integer), ("x", Kind::Number)];

    fn written(format: TableFormat) -> String {
        let mut table = TableWriter::new(Vec::new(), format, COLUMNS).unwrap();
        let row =
            |key: &[u8], n, x| vec![Cell::Text(key.to_vec()), Cell::Integer(n), Cell::Number(x)];
        table.add(row(b"plain", 1, 0.5)).unwrap();
        table.add(row(b"a, \"b\"\n", 2, 1.0)).unwrap();
        table.add(row(b"\xff", 3, 0.25)).unwrap();
        String::from_utf8(table.finish().unwrap()).unwrap()
    }

    #[test]
    fn fields_are_quoted_where_they_need_it() {
        let expected = "key,n,x\nplain,1,0.5\n\"a, \"\"b\"\"\n\",2,1\n\u{fffd},3,0.25\n";
        assert_eq!(written(TableFormat::Csv), expected);
    }

    #[test]
    fn json_lines_have_the_columns_in_order() {
        let expected = "{\"key\":\"plain\",\"n\":1,\"x\":0.5}\n{\"key\":\"a, \\\"b\\\"\\n\",\"n\":2,\"x\":1.0}\n\
                        {\"key\":{\"hex\":\"ff\"},\"n\":3,\"x\":0.25}\n";
        assert_eq!(written(TableFormat::Jsonl), expected);
    }
}
