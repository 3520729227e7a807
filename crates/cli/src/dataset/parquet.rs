//! Parquet shards: the columns that rows are compared by, and copies without the removed rows.
//!
//! Both work on the columns as they are stored, with their definition and repetition levels. So a copy has the schema of
//! its source to the last annotation, and no column is converted on the way. Memory holds one batch of one column.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{AsBytes, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnDescriptor;
use ringer::features;
use ringer::scheme::Features;

use super::row::{Fields, Row, Value};
use super::shards::{Shard, unreadable};
use crate::exit::Failure;
use crate::input::Content;
use crate::problems::{Problem, Problems, Reason};

/// Records that are read from a column at a time.
const BATCH: usize = 1024;

use std::result::Result as Outcome;

type Result<T> = Outcome<T, ParquetError>;

/// A row whose columns were read.
#[derive(Debug)]
pub(crate) struct ColumnRow {
    pub(crate) key: Option<Vec<u8>>,
    /// The text or set, or what is wrong with it.
    pub(crate) content: Outcome<Content<'static>, String>,
    pub(crate) order: Value,
}

impl ColumnRow {
    /// The same row, or what is wrong with it.
    pub(crate) fn borrowed(&self) -> Outcome<Row<'_>, String> {
        let content = self.content.as_ref().map_err(Clone::clone)?.borrowed();
        Ok(Row { key: self.key.as_deref().map(Into::into), content, order: self.order.clone() })
    }
}

/// The value of a column in one row.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    Bytes(Vec<u8>),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    List(Vec<Cell>),
}

/// Opens a file.
pub(crate) fn open(path: &Path) -> Result<SerializedFileReader<File>> {
    SerializedFileReader::new(File::open(path)?)
}

/// The number of rows of a file.
pub(crate) fn rows(reader: &SerializedFileReader<File>) -> u64 {
    u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0)
}

/// Looks at the schema of every shard, and takes note of those that differ from the first.
pub(crate) fn check_schemas(shards: &[Shard], problems: &mut Problems) -> Outcome<(), Failure> {
    let mut first = None;
    for shard in shards {
        let schema = super::guarded(shard, || {
            let reader = open(&shard.path).map_err(|error| unreadable(&shard.name, &error))?;
            Ok(reader.metadata().file_metadata().schema_descr().root_schema_ptr())
        })?;
        let (fields, name) = first.get_or_insert_with(|| (schema.clone(), &shard.name));
        if fields.get_fields() != schema.get_fields() {
            let message = format!("{} has other columns than {name}", shard.name);
            problems.note_about(Problem::new(Reason::OtherSchema, message))?;
        }
    }
    Ok(())
}

/// Reads the wanted columns of all rows, and gives them block by block to `visit`, until it returns `false`.
pub(crate) fn read(
    reader: &SerializedFileReader<File>,
    fields: &Fields,
    features: Features,
    visit: &mut dyn FnMut(Vec<ColumnRow>) -> bool,
) -> Result<()> {
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let leaf = |name: &str| {
        let mut leaves = columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.path().parts().first().is_some_and(|first| first == name));
        leaves.next().map(|(i, _)| i).filter(|_| leaves.next().is_none())
    };
    let [key, text] = [&fields.key, &fields.text].map(|name| leaf(name));
    let order = fields.order.as_deref().and_then(leaf);
    for i in 0..reader.num_row_groups() {
        let group = reader.get_row_group(i)?;
        let column = |leaf: Option<usize>| {
            let reader =
                |leaf| -> Result<_> { Ok((group.get_column_reader(leaf)?, &*columns[leaf])) };
            leaf.map(reader).transpose()
        };
        let (mut key, mut text, mut order) = (column(key)?, column(text)?, column(order)?);
        let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        while left > 0 {
            let some = left.min(BATCH);
            left -= some;
            let cells = |column: &mut Option<(ColumnReader, &ColumnDescriptor)>| match column {
                Some((reader, descriptor)) => cells_of(reader, descriptor, some),
                None => Ok(vec![Cell::Null; some]),
            };
            let (keys, orders) = (cells(&mut key)?, cells(&mut order)?);
            let missing = text.is_none();
            let texts = cells(&mut text)?;
            let rows =
                keys.into_iter().zip(texts).zip(orders).map(|((key, text), order)| ColumnRow {
                    key: key_of(&key),
                    content: match missing {
                        true => Err(format!("has no column `{}`", fields.text)),
                        false => content_of(text, &fields.text, features),
                    },
                    order: order_of(order),
                });
            if !visit(rows.collect()) {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn key_of(cell: &Cell) -> Option<Vec<u8>> {
    match cell {
        Cell::Bytes(bytes) => Some(bytes.clone()),
        Cell::Integer(number) => Some(number.to_string().into_bytes()),
        Cell::Unsigned(number) => Some(number.to_string().into_bytes()),
        Cell::Null | Cell::Float(_) | Cell::List(_) => None,
    }
}

fn order_of(cell: Cell) -> Value {
    match cell {
        Cell::Bytes(bytes) => Value::Text(bytes),
        Cell::Integer(number) => Value::Integer(number.into()),
        Cell::Unsigned(number) => Value::Integer(number.into()),
        Cell::Float(number) => Value::number(number),
        Cell::Null | Cell::List(_) => Value::None,
    }
}

fn content_of(cell: Cell, name: &str, features: Features) -> Outcome<Content<'static>, String> {
    let wrong = |what: &str| Err(format!("has a `{name}` that is {what}"));
    match (cell, features) {
        (Cell::Null, _) => wrong("null"),
        (Cell::Bytes(bytes), _) => match str::from_utf8(&bytes) {
            Ok(_) => Ok(Content::Document(bytes.into())),
            Err(_) => wrong("not UTF-8"),
        },
        (Cell::List(cells), Features::Tokens) => {
            let token = |cell: &Cell| match cell {
                Cell::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
                _ => None,
            };
            match cells.iter().map(token).collect::<Option<Vec<String>>>() {
                Some(tokens) => Ok(Content::Set(features::tokens(&tokens))),
                None => wrong("not a list of strings"),
            }
        }
        (Cell::List(cells), Features::Ids) => {
            let id = |cell: &Cell| match cell {
                Cell::Unsigned(number) => Some(*number),
                Cell::Integer(number) => u64::try_from(*number).ok(),
                _ => None,
            };
            match cells.iter().map(id).collect::<Option<Vec<u64>>>() {
                Some(set) => Ok(Content::Set(set)),
                None => wrong("not a list of unsigned integers"),
            }
        }
        (Cell::List(_), _) => wrong("a list: --features tokens or ids compares lists"),
        (Cell::Integer(_) | Cell::Unsigned(_) | Cell::Float(_), _) => wrong("a number, not a text"),
    }
}

/// The cells of the next records of a column.
fn cells_of(
    reader: &mut ColumnReader,
    descriptor: &ColumnDescriptor,
    records: usize,
) -> Result<Vec<Cell>> {
    let logical = descriptor.logical_type_ref();
    let unsigned = matches!(logical, Some(LogicalType::Integer(integer)) if !integer.is_signed)
        || matches!(
            descriptor.converted_type(),
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        );
    let bytes = |bytes: &[u8]| Cell::Bytes(bytes.to_vec());
    let cells = match reader {
        ColumnReader::BoolColumnReader(r) => {
            typed(r, descriptor, records, |v| Cell::Integer((*v).into()))
        }
        ColumnReader::Int32ColumnReader(r) => typed(r, descriptor, records, |v| match unsigned {
            true => Cell::Unsigned(u64::from(v.cast_unsigned())),
            false => Cell::Integer((*v).into()),
        }),
        ColumnReader::Int64ColumnReader(r) => typed(r, descriptor, records, |v| match unsigned {
            true => Cell::Unsigned(v.cast_unsigned()),
            false => Cell::Integer(*v),
        }),
        ColumnReader::Int96ColumnReader(r) => {
            typed(r, descriptor, records, |v| Cell::Integer(v.to_nanos()))
        }
        ColumnReader::FloatColumnReader(r) => {
            typed(r, descriptor, records, |v| Cell::Float((*v).into()))
        }
        ColumnReader::DoubleColumnReader(r) => typed(r, descriptor, records, |v| Cell::Float(*v)),
        ColumnReader::ByteArrayColumnReader(r) => {
            typed(r, descriptor, records, |v| bytes(v.data()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(r) => {
            typed(r, descriptor, records, |v| bytes(v.as_bytes()))
        }
    }?;
    match cells.len() == records {
        true => Ok(cells),
        false => Err(ParquetError::EOF("a column has fewer rows than its row group".into())),
    }
}

/// Values of some records of a column, with their levels.
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

fn typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    descriptor: &ColumnDescriptor,
    records: usize,
    cell: impl Fn(&T::T) -> Cell,
) -> Result<Vec<Cell>> {
    let (most_definition, repeated) = (descriptor.max_def_level(), descriptor.max_rep_level());
    if repeated > 1 {
        return Err(ParquetError::NYI(format!("{} has lists of lists", descriptor.path())));
    }
    let read = Records::read(reader, records)?;
    let mut values = read.values.iter();
    let mut next = || values.next().map_or(Cell::Null, &cell);
    if most_definition == 0 {
        return Ok((0..read.count).map(|_| next()).collect());
    }
    let mut cells = Vec::with_capacity(read.count);
    for (i, definition) in read.definition.iter().enumerate() {
        let present = *definition == most_definition;
        if repeated == 0 {
            cells.push(if present { next() } else { Cell::Null });
            continue;
        }
        if read.repetition.get(i) == Some(&0) {
            cells.push(if *definition == 0 { Cell::Null } else { Cell::List(Vec::new()) });
        }
        if present && let Some(Cell::List(list)) = cells.last_mut() {
            list.push(next());
        }
    }
    Ok(cells)
}

/// Copies the rows for which `keep` says so, with the schema, the metadata and the compression of the source.
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
            copy_column(reader, column_writer.untyped(), &kept)?;
            column_writer.close()?;
            column += 1;
        }
        group_writer.close()?;
    }
    writer.into_inner()
}

/// How the copy is written: as the first row group of the source is.
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

fn copy_column(reader: ColumnReader, writer: &mut ColumnWriter<'_>, kept: &[bool]) -> Result<()> {
    use {ColumnReader as R, ColumnWriter as W};
    match (reader, writer) {
        (R::BoolColumnReader(r), W::BoolColumnWriter(w)) => copy_typed(r, w, kept),
        (R::Int32ColumnReader(r), W::Int32ColumnWriter(w)) => copy_typed(r, w, kept),
        (R::Int64ColumnReader(r), W::Int64ColumnWriter(w)) => copy_typed(r, w, kept),
        (R::Int96ColumnReader(r), W::Int96ColumnWriter(w)) => copy_typed(r, w, kept),
        (R::FloatColumnReader(r), W::FloatColumnWriter(w)) => copy_typed(r, w, kept),
        (R::DoubleColumnReader(r), W::DoubleColumnWriter(w)) => copy_typed(r, w, kept),
        (R::ByteArrayColumnReader(r), W::ByteArrayColumnWriter(w)) => copy_typed(r, w, kept),
        (R::FixedLenByteArrayColumnReader(r), W::FixedLenByteArrayColumnWriter(w)) => {
            copy_typed(r, w, kept)
        }
        _ => Err(ParquetError::General("a column changed its type".into())),
    }
}

fn copy_typed<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    writer: &mut ColumnWriterImpl<'_, T>,
    kept: &[bool],
) -> Result<()> {
    let descriptor = writer.get_descriptor().clone();
    let (most_definition, repeated) = (descriptor.max_def_level(), descriptor.max_rep_level() > 0);
    for kept in kept.chunks(BATCH) {
        let read = Records::<T>::read(&mut reader, kept.len())?;
        if read.count != kept.len() {
            return Err(ParquetError::EOF("a column has fewer rows than its row group".into()));
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
