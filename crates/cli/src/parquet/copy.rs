//! Copies Parquet files without some of their rows.
//!
//! Columns are copied as they are stored, with their definition and repetition levels. So a copy has exactly the schema of its
//! source, and no value is converted. Memory holds one batch of one column, and the compressed part of the column that the
//! writer buffers.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;

use super::{Records, Result, batch_rows, too_few};
use crate::interrupt;

/// Copies the rows for which `keep` returns `true`, with the schema, the metadata and the compression of the source.
pub(crate) fn copy<W: Write + Send>(
    source: &SerializedFileReader<File>,
    target: W,
    keep: &dyn Fn(u64) -> bool,
) -> Result<W> {
    let metadata = source.metadata();
    let schema = metadata.file_metadata().schema_descr().root_schema_ptr();
    let mut writer = SerializedFileWriter::new(target, schema, Arc::new(properties(metadata)))?;
    let mut first = 0;
    for i in 0..source.num_row_groups() {
        let group = source.get_row_group(i)?;
        let rows = u64::try_from(group.metadata().num_rows()).unwrap_or(0);
        let kept: Vec<bool> = (first..first + rows).map(keep).collect();
        first += rows;
        if !kept.contains(&true) {
            continue;
        }
        let mut group_writer = writer.next_row_group()?;
        let mut column = 0;
        while let Some(mut column_writer) = group_writer.next_column()? {
            let reader = group.get_column_reader(column)?;
            let batch = batch_rows(group.metadata().column(column), kept.len());
            copy_column(reader, column_writer.untyped(), &kept, batch)?;
            column_writer.close()?;
            column += 1;
        }
        group_writer.close()?;
    }
    writer.into_inner()
}

/// Writer properties that follow the first row group of the source.
fn properties(metadata: &ParquetMetaData) -> WriterProperties {
    let file = metadata.file_metadata();
    let mut properties =
        WriterProperties::builder().set_key_value_metadata(file.key_value_metadata().cloned());
    if let Some(group) = metadata.row_groups().first() {
        properties = properties.set_sorting_columns(group.sorting_columns().cloned());
        for column in group.columns() {
            let path = column.column_path().clone();
            let dictionary = column.dictionary_page_offset().is_some();
            properties = properties
                .set_column_compression(path.clone(), column.compression())
                .set_column_dictionary_enabled(path.clone(), dictionary)
                .set_column_bloom_filter_enabled(path, column.bloom_filter_offset().is_some());
        }
    }
    properties.build()
}

fn copy_column(
    reader: ColumnReader,
    writer: &mut ColumnWriter<'_>,
    kept: &[bool],
    batch: usize,
) -> Result<()> {
    use {ColumnReader as R, ColumnWriter as W};
    match (reader, writer) {
        (R::BoolColumnReader(r), W::BoolColumnWriter(w)) => copy_typed(r, w, kept, batch),
        (R::Int32ColumnReader(r), W::Int32ColumnWriter(w)) => copy_typed(r, w, kept, batch),
        (R::Int64ColumnReader(r), W::Int64ColumnWriter(w)) => copy_typed(r, w, kept, batch),
        (R::Int96ColumnReader(r), W::Int96ColumnWriter(w)) => copy_typed(r, w, kept, batch),
        (R::FloatColumnReader(r), W::FloatColumnWriter(w)) => copy_typed(r, w, kept, batch),
        (R::DoubleColumnReader(r), W::DoubleColumnWriter(w)) => copy_typed(r, w, kept, batch),
        (R::ByteArrayColumnReader(r), W::ByteArrayColumnWriter(w)) => copy_typed(r, w, kept, batch),
        (R::FixedLenByteArrayColumnReader(r), W::FixedLenByteArrayColumnWriter(w)) => {
            copy_typed(r, w, kept, batch)
        }
        _ => Err(ParquetError::General("a column changed its type".into())),
    }
}

fn copy_typed<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    writer: &mut ColumnWriterImpl<'_, T>,
    kept: &[bool],
    batch: usize,
) -> Result<()> {
    let descriptor = writer.get_descriptor().clone();
    let (most_definition, repeated) = (descriptor.max_def_level(), descriptor.max_rep_level() > 0);
    for kept in kept.chunks(batch) {
        if interrupt::requested() {
            return Err(ParquetError::General("it was interrupted".into()));
        }
        let read = Records::<T>::read(&mut reader, kept.len())?;
        if read.count != kept.len() {
            return Err(too_few());
        }
        if most_definition == 0 {
            let values: Vec<T::T> = read
                .values
                .into_iter()
                .zip(kept)
                .filter_map(|(v, kept)| kept.then_some(v))
                .collect();
            writer.write_batch(&values, None, None)?;
            continue;
        }
        let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        let (mut record, mut all) = (0, read.values.into_iter());
        for (i, level) in read.definition.iter().enumerate() {
            if i > 0 && (!repeated || read.repetition[i] == 0) {
                record += 1;
            }
            let value = if *level == most_definition { all.next() } else { None };
            if !kept[record] {
                continue;
            }
            definition.push(*level);
            values.extend(value);
            if repeated {
                repetition.push(read.repetition[i]);
            }
        }
        writer.write_batch(&values, Some(&definition), repeated.then_some(&*repetition))?;
    }
    Ok(())
}
