//! Writes tables of results as Parquet files.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::Result;
use crate::table::{Cell, Column, Kind};

/// The number of rows in a row group.
const GROUP_ROWS: usize = 1 << 16;

/// A Parquet file that rows are added to.
pub(crate) struct ParquetTable<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    kinds: Vec<Kind>,
    waiting: Vec<Vec<Cell>>,
}

fn schema(columns: &[Column]) -> Result<Type> {
    let field = |(name, kind): &Column| {
        let (physical, logical) = match kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Integer => (Physical::INT64, None),
            Kind::Number => (Physical::DOUBLE, None),
            Kind::Boolean => (Physical::BOOLEAN, None),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    Type::group_type_builder("table").with_fields(fields).build()
}

impl<W: Write + Send> ParquetTable<W> {
    pub(crate) fn new(file: W, columns: &[Column]) -> io::Result<ParquetTable<W>> {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let schema = Arc::new(schema(columns).map_err(io::Error::other)?);
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties));
        let kinds = columns.iter().map(|(_, kind)| *kind).collect();
        Ok(ParquetTable { writer: writer.map_err(io::Error::other)?, kinds, waiting: Vec::new() })
    }

    pub(crate) fn add(&mut self, row: Vec<Cell>) -> io::Result<()> {
        self.waiting.push(row);
        if self.waiting.len() < GROUP_ROWS {
            Ok(())
        } else {
            self.write_group().map_err(io::Error::other)
        }
    }

    fn write_group(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        let mut group = self.writer.next_row_group()?;
        for (i, kind) in self.kinds.iter().enumerate() {
            let cells = rows.iter().map(|row| &row[i]);
            match kind {
                Kind::Text => write::<ByteArrayType, _>(&mut group, cells.map(text)),
                Kind::Integer => write::<Int64Type, _>(&mut group, cells.map(integer)),
                Kind::Number => write::<DoubleType, _>(&mut group, cells.map(number)),
                Kind::Boolean => {
                    write::<BoolType, _>(&mut group, cells.map(|c| *c == Cell::Boolean(true)))
                }
            }?;
        }
        group.close().map(|_| ())
    }

    /// Writes the end of the file.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if !self.waiting.is_empty() {
            self.write_group().map_err(io::Error::other)?;
        }
        self.writer.into_inner().map_err(io::Error::other)
    }
}

fn text(cell: &Cell) -> ByteArray {
    match cell {
        Cell::Text(text) => String::from_utf8_lossy(text).into_owned().into_bytes().into(),
        _ => ByteArray::default(),
    }
}

fn integer(cell: &Cell) -> i64 {
    match cell {
        Cell::Integer(number) => i64::try_from(*number).unwrap_or(i64::MAX),
        _ => 0,
    }
}

fn number(cell: &Cell) -> f64 {
    match cell {
        Cell::Number(number) => *number,
        _ => f64::NAN,
    }
}

fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = T::T>,
) -> Result<()> {
    let values: Vec<T::T> = values.collect();
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns than the table".into()));
    };
    column.typed::<T>().write_batch(&values, None, None)?;
    column.close()
}
