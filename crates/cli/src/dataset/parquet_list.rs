//! The list of groups as a Parquet file.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::list::{Entry, text};

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 16;

const SCHEMA: &str = "message groups {
    REQUIRED BYTE_ARRAY key (UTF8);
    REQUIRED BYTE_ARRAY file (UTF8);
    REQUIRED INT64 row;
    REQUIRED INT64 group;
    REQUIRED BYTE_ARRAY representative (UTF8);
    REQUIRED DOUBLE resemblance;
    REQUIRED DOUBLE low;
    REQUIRED DOUBLE high;
    REQUIRED BOOLEAN kept;
}";

/// A Parquet file that entries are added to.
pub(crate) struct ParquetList {
    writer: SerializedFileWriter<BufWriter<File>>,
    waiting: Vec<Entry>,
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error.to_string())
}

impl ParquetList {
    pub(crate) fn new(file: BufWriter<File>) -> io::Result<ParquetList> {
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(failed)?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer =
            SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(failed)?;
        Ok(ParquetList { writer, waiting: Vec::new() })
    }

    pub(crate) fn add(&mut self, entry: &Entry) -> io::Result<()> {
        self.waiting.push(entry.clone());
        if self.waiting.len() < GROUP_ROWS { Ok(()) } else { self.write_group() }
    }

    fn write_group(&mut self) -> io::Result<()> {
        let entries = std::mem::take(&mut self.waiting);
        let mut group = self.writer.next_row_group().map_err(failed)?;
        let bytes = |key: &[u8]| ByteArray::from(text(key).into_bytes());
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        column::<ByteArrayType>(&mut group, entries.iter().map(|e| bytes(&e.key)))?;
        column::<ByteArrayType>(&mut group, entries.iter().map(|e| bytes(e.file.as_bytes())))?;
        column::<Int64Type>(&mut group, entries.iter().map(|e| number(e.row)))?;
        column::<Int64Type>(&mut group, entries.iter().map(|e| number(e.group)))?;
        column::<ByteArrayType>(&mut group, entries.iter().map(|e| bytes(&e.representative)))?;
        column::<DoubleType>(&mut group, entries.iter().map(|e| e.resemblance))?;
        column::<DoubleType>(&mut group, entries.iter().map(|e| e.low))?;
        column::<DoubleType>(&mut group, entries.iter().map(|e| e.high))?;
        column::<BoolType>(&mut group, entries.iter().map(|e| e.kept))?;
        group.close().map_err(failed)?;
        Ok(())
    }

    /// Writes the end of the file.
    pub(crate) fn finish(mut self) -> io::Result<BufWriter<File>> {
        if !self.waiting.is_empty() {
            self.write_group()?;
        }
        self.writer.into_inner().map_err(failed)
    }
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    values: impl Iterator<Item = T::T>,
) -> io::Result<()> {
    let values: Vec<T::T> = values.collect();
    let Some(mut column) = group.next_column().map_err(failed)? else {
        return Err(io::Error::other("the schema has fewer columns than the list"));
    };
    column.typed::<T>().write_batch(&values, None, None).map_err(failed)?;
    column.close().map_err(failed)
}
