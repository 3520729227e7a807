//! A row of a dataset: its key, its content, and its rank among the rows of a group.

use std::borrow::Cow;

use crate::input::Content;

/// The row of a group that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeepRow {
    First,
    Last,
    Longest,
    Shortest,
}

/// The names of the fields to read.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) key: String,
    pub(crate) text: String,
    /// The row with the largest value of this field is kept.
    pub(crate) order: Option<String>,
    /// The field that is stored with the key.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only Parquet needs it"))]
    pub(crate) value: Option<String>,
}

/// The name of a field with its article: a `text`, an `id`.
pub(crate) fn named(field: &str) -> String {
    let article = if field.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} `{field}`")
}

/// A parsed row.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    /// `None` if the row has no key field.
    pub(crate) key: Option<Cow<'a, [u8]>>,
    pub(crate) content: Content<'a>,
    pub(crate) order: Value,
}

/// A value of the field that rows are ordered by. `None` is the smallest, then come all numbers in their order, then texts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// No value, or one that has no order.
    None,
    /// A finite number or an infinity.
    Number(f64),
    /// An integer, exactly.
    Integer(i128),
    Text(Vec<u8>),
}

/// How many bytes of a text determine its order. Texts that differ only after them count as equal.
const TEXT_BYTES: usize = 64;

fn ordered_number(number: f64, rest: i128) -> Vec<u8> {
    // -0 and 0 are equal.
    let bits = (number + 0.0).to_bits();
    let mask = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
    let rest = rest.cast_unsigned() ^ (1 << 127);
    [&[1][..], &(bits ^ mask).to_be_bytes(), &rest.to_be_bytes()].concat()
}

impl Value {
    /// A number. NaN has no order.
    pub(crate) fn number(number: f64) -> Value {
        if number.is_nan() { Value::None } else { Value::Number(number) }
    }

    /// Bytes whose order is the order of the values.
    fn ordered(&self) -> Vec<u8> {
        match self {
            Value::None => vec![0],
            Value::Number(number) => ordered_number(*number, 0),
            // The rounding error distinguishes integers that round to the same number.
            Value::Integer(integer) => {
                let number = *integer as f64;
                ordered_number(number, integer.saturating_sub(number as i128))
            }
            // Padding makes all texts equally long, so that a prefix comes first.
            Value::Text(text) => {
                let mut bytes = vec![2];
                bytes.extend(text.iter().take(TEXT_BYTES));
                bytes.resize(1 + TEXT_BYTES, 0);
                bytes
            }
        }
    }
}

/// The key of a row in the working database. Preferred rows have smaller keys, so that the first row of each group is the one
/// to keep. The last eight bytes are the number of the row.
pub(crate) fn working_key(keep: KeepRow, order: Option<&Value>, length: u64, row: u64) -> Vec<u8> {
    let mut key = match order {
        Some(value) => value.ordered().iter().map(|byte| !byte).collect(),
        None => Vec::with_capacity(16),
    };
    match keep {
        KeepRow::First => {}
        KeepRow::Last => key.extend((!row).to_be_bytes()),
        KeepRow::Longest => key.extend((!length).to_be_bytes()),
        KeepRow::Shortest => key.extend(length.to_be_bytes()),
    }
    key.extend(row.to_be_bytes());
    key
}

/// The number of the row with this key.
pub(crate) fn row_of(working_key: &[u8]) -> u64 {
    let mut number = [0; 8];
    let start = working_key.len().saturating_sub(8);
    number[8 - (working_key.len() - start)..].copy_from_slice(&working_key[start..]);
    u64::from_be_bytes(number)
}

/// The length of a content, as `longest` and `shortest` measure it: bytes of a text, elements of a set.
pub(crate) fn length(content: &Content<'_>) -> u64 {
    let length = match content {
        Content::Document(text) | Content::Weighted(text) => text.len(),
        Content::Set(set) => set.len(),
        Content::WeightedSet(set) => set.len(),
    };
    length as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_rows_come_first() {
        let key = |keep, length, row| working_key(keep, None, length, row);
        assert!(key(KeepRow::First, 5, 1) < key(KeepRow::First, 9, 2));
        assert!(key(KeepRow::Last, 5, 2) < key(KeepRow::Last, 9, 1));
        assert!(key(KeepRow::Longest, 9, 2) < key(KeepRow::Longest, 5, 1));
        assert!(key(KeepRow::Longest, 9, 1) < key(KeepRow::Longest, 9, 2));
        assert!(key(KeepRow::Shortest, 5, 2) < key(KeepRow::Shortest, 9, 1));
        for keep in [KeepRow::First, KeepRow::Last, KeepRow::Longest, KeepRow::Shortest] {
            assert_eq!(row_of(&key(keep, 7, 123_456)), 123_456);
        }
    }

    #[test]
    fn the_largest_value_comes_first() {
        let text = |text: &str| Value::Text(text.into());
        let values = [
            text("2024-05"),
            text("2024-0"),
            text("2024"),
            text(""),
            Value::Number(f64::INFINITY),
            Value::Integer((1 << 60) + 1),
            Value::Integer(1 << 60),
            Value::Integer((1 << 60) - 1),
            Value::Number(7.5),
            Value::Integer(7),
            Value::Number(0.0),
            Value::Number(-1.0),
            Value::Number(-8.0),
            Value::None,
        ];
        let key = |value| working_key(KeepRow::First, Some(value), 0, 1);
        assert!(values.iter().map(key).is_sorted_by(|a, b| a < b));
        assert_eq!(key(&Value::Number(7.0)), key(&Value::Integer(7)));
        assert_eq!(key(&Value::Number(-0.0)), key(&Value::Integer(0)));
        assert_eq!(Value::number(f64::NAN), Value::None);
    }
}
