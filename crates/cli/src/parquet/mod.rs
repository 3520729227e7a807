//! Parquet files: reading columns, copying files without some rows, and writing tables of results.
//!
//! Columns are read and written as they are stored, without Arrow.

pub(crate) mod columns;
pub(crate) mod copy;
pub(crate) mod table;

use std::fs::File;
use std::path::Path;

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::TypePtr;

use crate::exit;

type Result<T> = std::result::Result<T, ParquetError>;

/// The most rows of a batch.
const BATCH_ROWS: usize = 1024;

/// The approximate bytes of a column in a batch.
const BATCH_BYTES: i64 = 4 << 20;

/// Opens a file and checks its row counts.
pub(crate) fn open(path: &Path) -> Result<SerializedFileReader<File>> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let groups = reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows);
    let rows = reader.metadata().file_metadata().num_rows();
    let counts = groups.clone().all(|rows| rows >= 0);
    match counts && groups.fold(0, i64::saturating_add) == rows {
        true => Ok(reader),
        false => Err(ParquetError::General(
            "the number of rows in its row groups is not that of its header".into(),
        )),
    }
}

/// The number of rows of a file.
pub(crate) fn rows(reader: &SerializedFileReader<File>) -> u64 {
    u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0)
}

/// The columns of a file.
pub(crate) fn schema(reader: &SerializedFileReader<File>) -> TypePtr {
    reader.metadata().file_metadata().schema_descr().root_schema_ptr()
}

/// Calls code that reads a file. The parquet crate may panic on damaged files.
pub(crate) fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    let damaged = || Err(ParquetError::General("it is damaged".into()));
    exit::without_panic(call).unwrap_or_else(damaged)
}

fn too_few() -> ParquetError {
    ParquetError::EOF("a column has fewer rows than its row group".into())
}

/// How many rows of a column to read at a time, so that long values do not fill the memory.
fn batch_rows(column: &ColumnChunkMetaData, rows: usize) -> usize {
    let bytes = column.uncompressed_size().max(column.compressed_size());
    let row_bytes = (bytes / i64::try_from(rows.max(1)).unwrap_or(i64::MAX)).max(1);
    usize::try_from(BATCH_BYTES / row_bytes).unwrap_or(1).clamp(1, BATCH_ROWS)
}

/// Values of consecutive records of a column, with their levels.
struct Records<T: DataType> {
    values: Vec<T::T>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    count: usize,
}

impl<T: DataType> Records<T> {
    fn read(reader: &mut ColumnReaderImpl<T>, most: usize) -> Result<Records<T>> {
        let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        let mut count = 0;
        // A reader stops at the end of a page.
        while count < most {
            let (records, _, levels) = reader.read_records(
                most - count,
                Some(&mut definition),
                Some(&mut repetition),
                &mut values,
            )?;
            if records == 0 && levels == 0 {
                break;
            }
            count += records;
        }
        Ok(Records { values, definition, repetition, count })
    }
}
