//! Reads the key, text, order and value columns of Parquet files.

use std::fs::File;
use std::result::Result as Outcome;

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};
use ringer::features;
use ringer::scheme::Features;
use serde_json::Value as Json;

use super::{Records, Result, batch_rows, too_few};
use crate::dataset::{Fields, Row, Value, named};
use crate::input::Content;
use crate::show;

/// The wanted columns of one row.
#[derive(Debug)]
pub(crate) struct ColumnRow {
    pub(crate) key: Option<Vec<u8>>,
    /// The text or set, or what is wrong with it.
    pub(crate) content: Outcome<Content<'static>, String>,
    pub(crate) order: Value,
    /// What is stored with the key.
    pub(crate) value: Option<Vec<u8>>,
}

impl ColumnRow {
    /// The row, borrowed, or what is wrong with it.
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
    Boolean(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    /// The digits of a decimal. All decimals of a column have the same scale.
    Decimal(i128),
    List(Vec<Cell>),
}

/// The indexes of the wanted columns in a file, if they exist.
struct Wanted {
    key: Option<usize>,
    text: Option<usize>,
    order: Option<usize>,
    value: Option<usize>,
}

impl Wanted {
    fn of(reader: &SerializedFileReader<File>, fields: &Fields) -> Wanted {
        let leaf = |name: &str| leaf(reader, name);
        Wanted {
            key: leaf(&fields.key),
            text: leaf(&fields.text),
            order: fields.order.as_deref().and_then(leaf),
            value: fields.value.as_deref().and_then(leaf),
        }
    }
}

/// Whether a file has a column of this name that can be used.
pub(crate) fn has(reader: &SerializedFileReader<File>, name: &str) -> bool {
    leaf(reader, name).is_some()
}

/// The index of a column, or of one inside of groups: `a.b` is the column `b` of the group `a`. A name with a dot comes before
/// a nested one. Nested lists and groups of several columns cannot be used.
fn leaf(reader: &SerializedFileReader<File>, name: &str) -> Option<usize> {
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    // How many parts of the column's path make up the name.
    let parts_of_name = |column: &ColumnDescriptor| {
        let parts = column.path().parts();
        (1..=parts.len()).find(|n| parts[..*n].join(".") == name)
    };
    let named = |(place, column): (usize, &ColumnDescPtr)| {
        Some((parts_of_name(column)?, place, column.max_rep_level()))
    };
    let found: Vec<_> = columns.iter().enumerate().filter_map(named).collect();
    let fewest = found.iter().map(|(parts, ..)| *parts).min()?;
    let mut leaves = found.iter().filter(|(parts, ..)| *parts == fewest);
    let (_, place, repeated) = leaves.next()?;
    (*repeated <= 1 && leaves.next().is_none()).then_some(*place)
}

/// A column of a row group. Without a reader, all its cells are null.
struct Column<'a>(Option<(ColumnReader, &'a ColumnDescriptor)>);

impl Column<'_> {
    fn cells(&mut self, records: usize) -> Result<Vec<Cell>> {
        match &mut self.0 {
            Some((reader, descriptor)) => cells_of(reader, descriptor, records),
            None => Ok(vec![Cell::Null; records]),
        }
    }
}

/// Reads the wanted columns of all rows and passes them to `visit` in blocks, until it returns `false`.
pub(crate) fn read(
    reader: &SerializedFileReader<File>,
    fields: &Fields,
    features: Features,
    visit: &mut dyn FnMut(Vec<ColumnRow>) -> bool,
) -> Result<()> {
    let wanted = Wanted::of(reader, fields);
    for i in 0..reader.num_row_groups() {
        let group = reader.get_row_group(i)?;
        if !read_group(&*group, &wanted, fields, features, visit)? {
            break;
        }
    }
    Ok(())
}

fn read_group(
    group: &dyn RowGroupReader,
    wanted: &Wanted,
    fields: &Fields,
    features: Features,
    visit: &mut dyn FnMut(Vec<ColumnRow>) -> bool,
) -> Result<bool> {
    let metadata = group.metadata();
    let columns = metadata.schema_descr().columns();
    let column = |place: Option<usize>| -> Result<Column<'_>> {
        let Some(place) = place else { return Ok(Column(None)) };
        Ok(Column(Some((group.get_column_reader(place)?, &*columns[place]))))
    };
    let (mut keys, mut texts) = (column(wanted.key)?, column(wanted.text)?);
    let (mut orders, mut values) = (column(wanted.order)?, column(wanted.value)?);
    let scale = wanted.value.map_or(0, |place| columns[place].type_scale());
    let mut left = usize::try_from(metadata.num_rows()).unwrap_or(0);
    // If there is no text column, another column verifies that the rows exist.
    let witness = wanted.text.unwrap_or(0);
    if left == 0 {
        return Ok(true);
    }
    if witness >= columns.len() {
        return Err(ParquetError::General("it has rows without columns".into()));
    }
    let mut counted = match wanted.text {
        None => Some(group.get_column_reader(witness)?),
        Some(_) => None,
    };
    let wide = [Some(witness), wanted.value].into_iter().flatten();
    let batch = wide.map(|place| batch_rows(metadata.column(place), left)).min().unwrap_or(1);
    while left > 0 {
        let some = left.min(batch);
        left -= some;
        counted.as_mut().map_or(Ok(()), |counted| skip(counted, some))?;
        let cells = keys.cells(some)?.into_iter().zip(texts.cells(some)?);
        let cells = cells.zip(orders.cells(some)?).zip(values.cells(some)?);
        let rows = cells.map(|(((key, text), order), value)| ColumnRow {
            key: key_of(&key),
            content: match wanted.text {
                None => Err(format!("has no text column `{}`", fields.text)),
                Some(_) => content_of(text, &fields.text, features),
            },
            order: order_of(order),
            value: value_of(value, scale),
        });
        if !visit(rows.collect()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Skips records of a column, and fails if it has fewer.
fn skip(reader: &mut ColumnReader, records: usize) -> Result<()> {
    let skipped = match reader {
        ColumnReader::BoolColumnReader(r) => r.skip_records(records),
        ColumnReader::Int32ColumnReader(r) => r.skip_records(records),
        ColumnReader::Int64ColumnReader(r) => r.skip_records(records),
        ColumnReader::Int96ColumnReader(r) => r.skip_records(records),
        ColumnReader::FloatColumnReader(r) => r.skip_records(records),
        ColumnReader::DoubleColumnReader(r) => r.skip_records(records),
        ColumnReader::ByteArrayColumnReader(r) => r.skip_records(records),
        ColumnReader::FixedLenByteArrayColumnReader(r) => r.skip_records(records),
    }?;
    if skipped == records { Ok(()) } else { Err(too_few()) }
}

fn key_of(cell: &Cell) -> Option<Vec<u8>> {
    match cell {
        Cell::Bytes(bytes) => Some(bytes.clone()),
        Cell::Boolean(value) => Some(u8::from(*value).to_string().into_bytes()),
        Cell::Integer(number) => Some(number.to_string().into_bytes()),
        Cell::Unsigned(number) => Some(number.to_string().into_bytes()),
        Cell::Decimal(number) => Some(number.to_string().into_bytes()),
        Cell::Float(number) => Some(number.to_string().into_bytes()),
        Cell::Null | Cell::List(_) => None,
    }
}

fn order_of(cell: Cell) -> Value {
    match cell {
        Cell::Bytes(bytes) => Value::Text(bytes),
        Cell::Boolean(value) => Value::Integer(value.into()),
        Cell::Integer(number) => Value::Integer(number.into()),
        Cell::Unsigned(number) => Value::Integer(number.into()),
        Cell::Decimal(number) => Value::Integer(number),
        Cell::Float(number) => Value::number(number),
        Cell::Null | Cell::List(_) => Value::None,
    }
}

/// A cell as the value of a key: a text as it is, and anything else as JSON. `scale` is that of a decimal.
fn value_of(cell: Cell, scale: i32) -> Option<Vec<u8>> {
    match cell {
        Cell::Null => None,
        Cell::Bytes(bytes) => Some(bytes),
        cell => Some(json_of(&cell, scale).into_bytes()),
    }
}

/// A cell as JSON.
fn json_of(cell: &Cell, scale: i32) -> String {
    match cell {
        Cell::Null => "null".into(),
        Cell::Bytes(bytes) => show::json_key(bytes).to_string(),
        Cell::Boolean(value) => value.to_string(),
        Cell::Integer(number) => number.to_string(),
        Cell::Unsigned(number) => number.to_string(),
        Cell::Float(number) => Json::from(*number).to_string(),
        Cell::Decimal(digits) => decimal(*digits, scale),
        Cell::List(cells) => {
            let cells: Vec<String> = cells.iter().map(|cell| json_of(cell, scale)).collect();
            format!("[{}]", cells.join(","))
        }
    }
}

/// A decimal with `scale` digits after the point.
fn decimal(digits: i128, scale: i32) -> String {
    let sign = if digits < 0 { "-" } else { "" };
    // 38 digits are the most that a decimal has here.
    let scale = usize::try_from(scale).unwrap_or(0).min(38);
    let padded = format!("{:0>width$}", digits.unsigned_abs(), width = scale + 1);
    let (whole, rest) = padded.split_at(padded.len() - scale);
    if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

fn content_of(cell: Cell, name: &str, features: Features) -> Outcome<Content<'static>, String> {
    let wrong = |what: &str| Err(format!("has {} that is {what}", named(name)));
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
            match there(&cells).map(token).collect::<Option<Vec<String>>>() {
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
            match there(&cells).map(id).collect::<Option<Vec<u64>>>() {
                Some(set) => Ok(Content::Set(set)),
                None => wrong("not a list of unsigned integers"),
            }
        }
        (Cell::List(_), _) => wrong("a list: use --features tokens or --features ids for lists"),
        (Cell::Boolean(_), _) => wrong("true or false, not a text"),
        (Cell::Integer(_) | Cell::Unsigned(_) | Cell::Float(_) | Cell::Decimal(_), _) => {
            wrong("a number, not a text")
        }
    }
}

/// The elements of a list that are not null.
fn there(list: &[Cell]) -> impl Iterator<Item = &Cell> {
    list.iter().filter(|cell| **cell != Cell::Null)
}

/// A big-endian two's complement number of at most 16 bytes.
fn decimal_of(bytes: &[u8]) -> Option<i128> {
    let negative = bytes.first().is_some_and(|first| first >> 7 == 1);
    let mut all = [if negative { 0xff } else { 0 }; 16];
    all.get_mut(16_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(all))
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
    let decimal = matches!(logical, Some(LogicalType::Decimal(_)))
        || descriptor.converted_type() == ConvertedType::DECIMAL;
    let bytes = |bytes: &[u8]| match decimal {
        true => decimal_of(bytes).map_or(Cell::Null, Cell::Decimal),
        false => Cell::Bytes(bytes.to_vec()),
    };
    let cells = match reader {
        ColumnReader::BoolColumnReader(r) => typed(r, descriptor, records, |v| Cell::Boolean(*v)),
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
        false => Err(too_few()),
    }
}

fn typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    descriptor: &ColumnDescriptor,
    records: usize,
    cell: impl Fn(&T::T) -> Cell,
) -> Result<Vec<Cell>> {
    let (most_definition, repeated) = (descriptor.max_def_level(), descriptor.max_rep_level());
    // From this level on, a list has an element. One level below, it is empty.
    let of_list = descriptor.repeated_ancestor_def_level();
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
            let is_null = *definition + 1 < of_list;
            cells.push(if is_null { Cell::Null } else { Cell::List(Vec::new()) });
        }
        if *definition >= of_list
            && let Some(Cell::List(list)) = cells.last_mut()
        {
            list.push(if present { next() } else { Cell::Null });
        }
    }
    Ok(cells)
}
