//! Reads the rows of a Parquet file as documents.

use std::fs::File;
use std::path::Path;

use ::parquet::file::reader::SerializedFileReader;
use ringer::scheme::Features;

use super::records::Record;
use crate::dataset::Fields;
use crate::parquet::{self, columns};
use crate::problems::{Problem, Reason};
use crate::show;

/// A Parquet file, and the columns to read.
pub(crate) struct Columns {
    name: String,
    reader: SerializedFileReader<File>,
    fields: Fields,
    features: Features,
}

/// Consecutive rows of the file.
pub(crate) struct ColumnBlock {
    /// The number of the first row, from 1.
    pub(crate) first: u64,
    rows: Vec<columns::ColumnRow>,
    key_field: String,
}

impl Columns {
    pub(crate) fn open(
        path: &Path,
        [key, text]: [&str; 2],
        value: Option<&str>,
        features: Features,
    ) -> Result<Columns, Problem> {
        let name = show::path(path);
        let reader = parquet::guarded(|| parquet::open(path)).map_err(|error| {
            Problem::new(Reason::Unreadable, format!("cannot read {name}: {error}"))
        })?;
        if let Some(value) = value.filter(|value| !columns::has(&reader, value)) {
            let message = format!(
                "{name} has no column `{value}` with single values or lists of them: name another one with --value-field"
            );
            return Err(Problem::new(Reason::Malformed, message));
        }
        let value = value.map(str::to_string);
        let fields = Fields { key: key.into(), text: text.into(), order: None, value };
        Ok(Columns { name, reader, fields, features })
    }

    /// The name of the file in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> u64 {
        parquet::rows(&self.reader)
    }

    /// Reads all rows and passes them to `visit`, until it returns `false`.
    pub(crate) fn read(&self, visit: &mut dyn FnMut(ColumnBlock) -> bool) -> Result<(), Problem> {
        let key_field = &self.fields.key;
        let mut next = 1;
        let mut block = |rows: Vec<_>| {
            let first = next;
            next += rows.len() as u64;
            visit(ColumnBlock { first, rows, key_field: key_field.clone() })
        };
        parquet::guarded(|| columns::read(&self.reader, &self.fields, self.features, &mut block))
            .map_err(|error| {
                let message = format!("cannot read {}: {error}", self.name);
                Problem::new(Reason::Unreadable, message)
            })
    }
}

impl ColumnBlock {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// A row as a record, or what is wrong with it.
    pub(crate) fn record(&self, i: usize) -> Result<Record<'_>, String> {
        let row = self.rows[i].borrowed()?;
        match row.key {
            Some(key) if !key.is_empty() => Ok((key, row.content)),
            _ => Err(format!("has no value in the key column `{}`", self.key_field)),
        }
    }

    /// What is stored with the key of a row.
    pub(crate) fn value(&self, i: usize) -> Option<Vec<u8>> {
        self.rows[i].value.clone()
    }
}
