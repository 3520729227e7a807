//! Leaf pages: the keys of consecutive rows in order, each with its sequence and its signature id. Implements
//! `format-spec/segment.md`.
//!
//! In: a verified page, or the rows of a new one. Out: a checked view, or a payload. Rows of a segment are numbered in
//! key order, so the position of a key in the leaves is its row. A page stores the common prefix of its keys once, and
//! a table of the ends of their suffixes only if these differ in length. This module must not know signatures and
//! tombstones.

use std::cmp::Ordering;

use byteorder::{ByteOrder, LittleEndian};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, PutBytes, broken, index, low_number};
use super::page::Page;
use crate::error::Result;
use crate::limits::MAX_KEY_BYTES;

const WHAT: &str = "leaf page";

/// Replaces the suffix length if suffixes differ in length. A table of their ends follows.
const MIXED: u16 = u16::MAX;

/// The layout of the start of the payload.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    pub(super) first_row: U32,
    pub(super) first_id: U32,
    pub(super) count: U16,
    pub(super) prefix_length: U16,
    pub(super) suffix_length: U16,
    pub(super) duplicates: U16,
    pub(super) sequence_width: u8,
    pub(super) zero: [u8; 7],
}

/// A duplicate row: a row of the page that shares its id with an earlier row of the segment.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug, Clone, Copy)]
#[repr(C)]
pub struct Duplicate {
    place: U16,
    id: U32,
}

/// A checked leaf page.
#[derive(Debug, Clone)]
pub struct LeafPage {
    page: Page,
    first_row: u32,
    count: usize,
    prefix: (usize, usize),
    suffixes: usize,
    /// `Ok`: the length of every suffix. `Err`: the offset of the table of their ends.
    ends: Result<usize, usize>,
    sequences: usize,
    sequence_width: usize,
    first_id: u32,
    /// The id of each row, if the page has duplicate rows. Otherwise ids count up from the first.
    ids: Option<Box<[u32]>>,
}

impl LeafPage {
    /// Checks a page of a segment that has `rows` rows and `ids` ids.
    pub fn new(page: Page, rows: u32, ids: u32) -> Result<LeafPage> {
        let payload = page.payload();
        let short = || broken(WHAT, "LEAF-1", 24, "it is cut short");
        let mut cursor = Cursor::new(payload);
        let layout = cursor.layout::<Layout>().ok_or_else(short)?;
        let count = usize::from(layout.count.get());
        let at = |cursor: &Cursor<'_>| payload.len().saturating_sub(cursor.rest().len());
        let prefix_at = at(&cursor);
        let prefix = cursor.take(layout.prefix_length.get().into()).ok_or_else(short)?.len();
        let ends_at = at(&cursor);
        let mixed = layout.suffix_length == MIXED;
        let table: &[U16] =
            if mixed { cursor.layouts(count).ok_or_else(short)? } else { Default::default() };
        let sequences = at(&cursor);
        let sequence_width = usize::from(layout.sequence_width);
        cursor.take(count.saturating_mul(sequence_width)).ok_or_else(short)?;
        let duplicates =
            cursor.layouts::<Duplicate>(layout.duplicates.get().into()).ok_or_else(short)?;
        let (suffixes, left) = (at(&cursor), cursor.rest().len());
        if count == 0 || sequence_width > 8 || layout.zero != [0; 7] {
            return Err(broken(WHAT, "LEAF-2", 32, "impossible counts"));
        }
        let in_rows = layout.first_row.get().checked_add(layout.count.get().into());
        if in_rows.is_none_or(|end| end > rows) {
            return Err(broken(WHAT, "LEAF-3", 24, "it has rows past the last"));
        }
        check_lengths(layout, table, count, prefix, left)?;
        let first_id = layout.first_id.get();
        let row_ids = row_ids(first_id, count, duplicates)?;
        let last_id = match &row_ids {
            Some(row_ids) => row_ids.iter().copied().max(),
            None => first_id.checked_add(u32::from(layout.count.get()).saturating_sub(1)),
        };
        if last_id.is_none_or(|last| last >= ids) {
            return Err(broken(WHAT, "LEAF-5", 28, "it has ids past the last"));
        }
        let (first_row, mixed_at) = (layout.first_row.get(), ends_at);
        let ends = if mixed { Err(mixed_at) } else { Ok(layout.suffix_length.get().into()) };
        let prefix = (prefix_at, prefix);
        Ok(LeafPage {
            first_row,
            count,
            prefix,
            suffixes,
            ends,
            sequences,
            sequence_width,
            first_id,
            ids: row_ids,
            page,
        })
    }

    /// The row number of the first key.
    pub fn first_row(&self) -> u32 {
        self.first_row
    }

    /// The first new id of the page. The first row has it, unless that is a duplicate row.
    pub fn first_id(&self) -> u32 {
        self.first_id
    }

    /// The number of rows in the page.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The bytes that all keys start with.
    fn prefix(&self) -> &[u8] {
        let (at, length) = self.prefix;
        self.page.payload().get(at..).and_then(|p| p.get(..length)).unwrap_or_default()
    }

    /// The bytes of key `i` after the prefix.
    fn suffix(&self, i: usize) -> &[u8] {
        let suffixes = self.page.payload().get(self.suffixes..).unwrap_or_default();
        let (start, end) = match self.ends {
            Ok(length) => (i.saturating_mul(length), i.saturating_add(1).saturating_mul(length)),
            Err(table) => (i.checked_sub(1).map_or(0, |i| self.end(table, i)), self.end(table, i)),
        };
        suffixes.get(start..end).unwrap_or_default()
    }

    fn end(&self, table: usize, i: usize) -> usize {
        let at = table.saturating_add(i.saturating_mul(2));
        let end = self.page.payload().get(at..).and_then(|b| b.first_chunk::<2>());
        end.map_or(0, |end| usize::from(LittleEndian::read_u16(end)))
    }

    /// Key `i` as prefix and suffix.
    pub fn key(&self, i: usize) -> (&[u8], &[u8]) {
        (self.prefix(), self.suffix(i))
    }

    /// Finds a key: `Ok` with its place in the page, or `Err` with the place where it would be inserted.
    pub fn find(&self, key: &[u8]) -> Result<usize, usize> {
        let prefix = self.prefix();
        let Some(rest) = key.strip_prefix(prefix) else {
            return Err(if key < prefix { 0 } else { self.count });
        };
        let (mut low, mut high) = (0_usize, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.suffix(middle).cmp(rest) {
                Ordering::Less => low = middle.saturating_add(1),
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    /// The sequence of row `i`, relative to the first sequence of the segment.
    pub fn sequence_offset(&self, i: usize) -> u64 {
        let start = self.sequences.saturating_add(i.saturating_mul(self.sequence_width));
        let stored = self.page.payload().get(start..).and_then(|b| b.get(..self.sequence_width));
        low_number(stored.unwrap_or_default())
    }

    /// The signature id of row `i`.
    pub fn id(&self, i: usize) -> u32 {
        match &self.ids {
            Some(ids) => ids.get(i).copied().unwrap_or(0),
            None => self.first_id.saturating_add(u32::try_from(i).unwrap_or(u32::MAX)),
        }
    }

    /// True if row `i` is the first row of the segment with its id, not a duplicate row.
    pub fn is_new(&self, i: usize) -> bool {
        self.id(i) >= self.first_id && self.first_with_id(self.id(i)) == Some(i)
    }

    /// The place of the row that introduces this id, if it is in this page.
    pub fn first_with_id(&self, id: u32) -> Option<usize> {
        let past = id.checked_sub(self.first_id)?;
        match &self.ids {
            None => Some(index(past)).filter(|i| *i < self.count),
            Some(ids) => ids.iter().position(|of_row| *of_row == id),
        }
    }

    /// The bytes of memory that the page takes.
    pub fn memory(&self) -> usize {
        let ids = self.ids.as_ref().map_or(0, |ids| size_of_val(&**ids));
        self.page.memory().saturating_add(ids)
    }
}

/// Checks LEAF-4: the suffixes fill the rest of the page, only the first may be empty, and keys have 1 to 4,096 bytes.
fn check_lengths(
    layout: &Layout,
    table: &[U16],
    count: usize,
    prefix: usize,
    left: usize,
) -> Result<()> {
    let possible = |suffix: usize| (1..=MAX_KEY_BYTES).contains(&prefix.saturating_add(suffix));
    let good = if layout.suffix_length == MIXED {
        let mut start = 0;
        let each = table.iter().enumerate().all(|(i, end)| {
            let end = usize::from(end.get());
            let length = end.checked_sub(start);
            start = end;
            length.is_some_and(|length| possible(length) && (length > 0 || i == 0))
        });
        each && start == left
    } else {
        let suffix = usize::from(layout.suffix_length.get());
        possible(suffix) && (suffix > 0 || count == 1) && suffix.checked_mul(count) == Some(left)
    };
    if good { Ok(()) } else { Err(broken(WHAT, "LEAF-4", 36, "its keys do not fill the page")) }
}

/// Returns the id of each row, or `None` without duplicate rows. Checks LEAF-6: the places of duplicate rows ascend,
/// and each of them shares the id of an earlier row.
fn row_ids(first_id: u32, count: usize, duplicates: &[Duplicate]) -> Result<Option<Box<[u32]>>> {
    if duplicates.is_empty() {
        return Ok(None);
    }
    let mut ids = Vec::with_capacity(count);
    let (mut next, mut duplicates) = (first_id, duplicates.iter().peekable());
    for place in 0..count {
        match duplicates.next_if(|duplicate| usize::from(duplicate.place.get()) == place) {
            Some(duplicate) if duplicate.id.get() < next => ids.push(duplicate.id.get()),
            Some(_) => {
                return Err(broken(WHAT, "LEAF-6", 38, "a duplicate row precedes its original"));
            }
            None => {
                ids.push(next);
                next = next.saturating_add(1);
            }
        }
    }
    match duplicates.next() {
        Some(_) => Err(broken(WHAT, "LEAF-6", 38, "duplicate rows are out of order")),
        None => Ok(Some(ids.into_boxed_slice())),
    }
}

/// Collects the rows of one page and predicts the length of its payload.
#[derive(Debug, Default)]
pub struct LeafBuilder {
    first_row: u32,
    first_id: u32,
    keys: Vec<u8>,
    ends: Vec<usize>,
    prefix: usize,
    lengths: Option<(usize, usize)>,
    sequences: Vec<u64>,
    largest: u64,
    duplicates: Vec<Duplicate>,
}

impl LeafBuilder {
    /// Starts a page with the number of its first row and its first new id.
    pub fn new(first_row: u32, first_id: u32) -> LeafBuilder {
        LeafBuilder { first_row, first_id, ..LeafBuilder::default() }
    }

    /// The number of rows so far.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The number of the first row.
    pub fn first_row(&self) -> u32 {
        self.first_row
    }

    /// The first new id of the page.
    pub fn first_id(&self) -> u32 {
        self.first_id
    }

    /// Key `i`.
    pub fn key(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        let end = self.ends.get(i).copied().unwrap_or(start);
        self.keys.get(start..end).unwrap_or_default()
    }

    /// The length of the payload if this row were added.
    pub fn payload_bytes_with(&self, key: &[u8], sequence: u64, is_duplicate: bool) -> usize {
        let (prefix, lengths) = self.shape_with(key);
        let count = self.count().saturating_add(1);
        let table = if lengths.0 == lengths.1 { 0 } else { 2 };
        let width = width_of(self.largest.max(sequence));
        let duplicates = self.duplicates.len().saturating_add(is_duplicate.into());
        let suffixes = self.keys.len().saturating_add(key.len());
        size_of::<Layout>()
            .saturating_add(prefix)
            .saturating_add(count.saturating_mul(usize::saturating_add(table, width)))
            .saturating_add(duplicates.saturating_mul(size_of::<Duplicate>()))
            .saturating_add(suffixes.saturating_sub(prefix.saturating_mul(count)))
    }

    /// The lengths of the common prefix, the shortest key and the longest key if this key were added.
    fn shape_with(&self, key: &[u8]) -> (usize, (usize, usize)) {
        let Some((shortest, longest)) = self.lengths else {
            return (key.len(), (key.len(), key.len()));
        };
        let prefix = self.key(0).get(..self.prefix).unwrap_or_default();
        let shared = prefix.iter().zip(key).take_while(|(a, b)| a == b).count();
        (shared, (shortest.min(key.len()), longest.max(key.len())))
    }

    /// Adds a row. Its key must be above the last key. Its sequence is relative to the first sequence of the segment.
    /// For a duplicate row, `duplicate_of` is the id that it shares.
    pub fn push(&mut self, key: &[u8], sequence: u64, duplicate_of: Option<u32>) {
        let (prefix, lengths) = self.shape_with(key);
        (self.prefix, self.lengths) = (prefix, Some(lengths));
        if let Some(id) = duplicate_of {
            let place = u16::try_from(self.count()).unwrap_or(u16::MAX).into();
            self.duplicates.push(Duplicate { place, id: id.into() });
        }
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.sequences.push(sequence);
        self.largest = self.largest.max(sequence);
    }

    /// Encodes the payload.
    pub fn encode(&self) -> Vec<u8> {
        let width = width_of(self.largest);
        let short = |n: usize| U16::from(u16::try_from(n).unwrap_or(u16::MAX));
        let mixed = self.lengths.is_none_or(|(shortest, longest)| shortest != longest);
        let longest = self.lengths.map_or(0, |(_, longest)| longest);
        let suffix = longest.saturating_sub(self.prefix);
        let layout = Layout {
            first_row: self.first_row.into(),
            first_id: self.first_id.into(),
            count: short(self.count()),
            prefix_length: short(self.prefix),
            suffix_length: if mixed { MIXED.into() } else { short(suffix) },
            duplicates: short(self.duplicates.len()),
            sequence_width: u8::try_from(width).unwrap_or(8),
            zero: [0; 7],
        };
        let mut bytes = layout.as_bytes().to_vec();
        bytes.extend_from_slice(self.key(0).get(..self.prefix).unwrap_or_default());
        if mixed {
            for (i, end) in (1_usize..).zip(&self.ends) {
                let end = short(end.saturating_sub(i.saturating_mul(self.prefix)));
                bytes.extend_from_slice(end.as_bytes());
            }
        }
        for sequence in &self.sequences {
            bytes.put_low(*sequence, width);
        }
        bytes.extend_from_slice(self.duplicates.as_bytes());
        for i in 0..self.count() {
            bytes.extend_from_slice(self.key(i).get(self.prefix..).unwrap_or_default());
        }
        bytes
    }
}

/// The number of bytes that the largest relative sequence of a page needs.
fn width_of(largest: u64) -> usize {
    index(64_u32.saturating_sub(largest.leading_zeros()).div_ceil(8))
}

#[cfg(test)]
#[path = "leaf_page_tests.rs"]
mod tests;
