//! Fence pages: the inner pages of the key tree. Implements `format-spec/segment.md`.
//!
//! In: a verified page, or the children of a new one. Out: a checked view, or a payload. An entry has the page number
//! of a child, its separator, first row and first id, and, if the child is a leaf, a filter of its keys. The separator
//! is above all earlier keys and not above any key of the child. Writers choose the shortest one. The tree has at most
//! 32 levels.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, broken, index};
use super::page::Page;
use crate::error::Result;

const WHAT: &str = "fence page";

/// The length of the longest fence page that is not the root. The root may be as long as PAGE-5 allows.
pub const INNER_BYTES: usize = 16_384;

/// The layout of the start of the payload.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    level: u8,
    zero: [u8; 3],
    count: U16,
    zero2: U16,
}

/// The layout of the entry of a child.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct EntryLayout {
    page: U32,
    first_row: U32,
    first_id: U32,
    key_end: U32,
    filter_end: U32,
}

/// A child of a fence page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    /// The start of the child in the region of keys, in units of 64 bytes.
    pub page: u32,
    /// The row number of its first key.
    pub first_row: u32,
    /// The first new id of the child. All ids of earlier pages are below it.
    pub first_id: u32,
}

/// A checked fence page.
#[derive(Debug, Clone)]
pub struct FencePage {
    page: Page,
    level: u8,
    count: usize,
    keys: usize,
    filters: usize,
}

impl FencePage {
    /// Checks a page that must have this level.
    pub fn new(page: Page, level: u8) -> Result<FencePage> {
        let short = || broken(WHAT, "FENCE-1", 24, "it is cut short");
        let payload = page.payload();
        let mut cursor = Cursor::new(payload);
        let layout = cursor.layout::<Layout>().ok_or_else(short)?;
        let count = usize::from(layout.count.get());
        let entries = cursor.layouts::<EntryLayout>(count).ok_or_else(short)?;
        if layout.level != level || count == 0 || layout.zero != [0; 3] || layout.zero2 != 0 {
            return Err(broken(WHAT, "FENCE-2", 24, "impossible level or count"));
        }
        let ends_rise = entries.is_sorted_by_key(|e| e.key_end.get())
            && entries.is_sorted_by_key(|e| e.filter_end.get());
        let rows_rise = entries.is_sorted_by(|a, b| a.first_row < b.first_row)
            && entries.is_sorted_by_key(|e| e.first_id.get());
        if !ends_rise || !rows_rise {
            return Err(broken(WHAT, "FENCE-3", 32, "its children do not rise"));
        }
        let last = entries.last().ok_or_else(short)?;
        let keys_length = index(last.key_end.get());
        let keys = payload.len().saturating_sub(cursor.rest().len());
        cursor.take(keys_length).ok_or_else(short)?;
        let filters = payload.len().saturating_sub(cursor.rest().len());
        if cursor.rest().len() != index(last.filter_end.get()) {
            return Err(broken(WHAT, "FENCE-4", 24, "its filters do not fill the page"));
        }
        Ok(FencePage { page, level, count, keys, filters })
    }

    /// The level of the page: 1 if its children are leaf pages.
    pub fn level(&self) -> u8 {
        self.level
    }

    /// The number of children.
    pub fn count(&self) -> usize {
        self.count
    }

    fn entries(&self) -> &[EntryLayout] {
        let mut cursor = Cursor::new(self.page.payload());
        let _ = cursor.layout::<Layout>();
        cursor.layouts(self.count).unwrap_or_default()
    }

    /// Child `i`.
    pub fn child(&self, i: usize) -> Option<Child> {
        self.entries().get(i).map(|entry| Child {
            page: entry.page.get(),
            first_row: entry.first_row.get(),
            first_id: entry.first_id.get(),
        })
    }

    fn part(&self, start: usize, i: usize, end: fn(&EntryLayout) -> u32) -> &[u8] {
        let entries = self.entries();
        let low = i.checked_sub(1).and_then(|i| entries.get(i)).map_or(0, |e| index(end(e)));
        let high = entries.get(i).map_or(low, |e| index(end(e)));
        self.page.payload().get(start..).and_then(|part| part.get(low..high)).unwrap_or_default()
    }

    /// The separator of child `i`, which is not above any key of the child.
    pub fn separator(&self, i: usize) -> &[u8] {
        self.part(self.keys, i, |entry| entry.key_end.get())
    }

    /// The filter of child `i`.
    pub fn filter(&self, i: usize) -> &[u8] {
        self.part(self.filters, i, |entry| entry.filter_end.get())
    }

    /// The only child that can hold a key: the last one whose separator is not above the key.
    pub fn child_for_key(&self, key: &[u8]) -> usize {
        self.last_where(|i| self.separator(i) <= key)
    }

    /// The child that holds a row.
    pub fn child_for_row(&self, row: u32) -> usize {
        let entries = self.entries();
        self.last_where(|i| entries.get(i).is_some_and(|e| e.first_row.get() <= row))
    }

    /// The child that holds the first row with an id: the last one whose first id is not above it.
    pub fn child_for_id(&self, id: u32) -> usize {
        let entries = self.entries();
        self.last_where(|i| entries.get(i).is_some_and(|e| e.first_id.get() <= id))
    }

    /// The last child for which `holds` is true, by binary search; 0 if there is none. The children for which it is
    /// true must come first.
    fn last_where(&self, holds: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (0_usize, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if holds(middle) { low = middle.saturating_add(1) } else { high = middle }
        }
        low.saturating_sub(1)
    }

    /// The bytes of memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// Collects the children of one page and predicts the length of its payload.
#[derive(Debug, Default)]
pub struct FenceBuilder {
    children: Vec<Child>,
    keys: Vec<u8>,
    key_ends: Vec<usize>,
    filters: Vec<u8>,
    filter_ends: Vec<usize>,
}

impl FenceBuilder {
    /// The number of children so far.
    pub fn count(&self) -> usize {
        self.children.len()
    }

    /// The first child.
    pub fn first(&self) -> Option<Child> {
        self.children.first().copied()
    }

    /// The separator of the first child.
    pub fn first_separator(&self) -> &[u8] {
        let end = self.key_ends.first().copied().unwrap_or(0);
        self.keys.get(..end).unwrap_or_default()
    }

    /// The length of the payload if a child with this separator and filter were added.
    pub fn payload_bytes_with(&self, separator: &[u8], filter: &[u8]) -> usize {
        let entries = self.count().saturating_add(1).saturating_mul(size_of::<EntryLayout>());
        size_of::<Layout>()
            .saturating_add(entries)
            .saturating_add(self.keys.len())
            .saturating_add(separator.len())
            .saturating_add(self.filters.len())
            .saturating_add(filter.len())
    }

    /// Adds a child.
    pub fn push(&mut self, child: Child, separator: &[u8], filter: &[u8]) {
        self.children.push(child);
        self.keys.extend_from_slice(separator);
        self.key_ends.push(self.keys.len());
        self.filters.extend_from_slice(filter);
        self.filter_ends.push(self.filters.len());
    }

    /// Encodes the payload of a page of this level.
    pub fn encode(&self, level: u8) -> Vec<u8> {
        let count = u16::try_from(self.count()).unwrap_or(u16::MAX).into();
        let mut bytes = Layout { level, zero: [0; 3], count, zero2: 0.into() }.as_bytes().to_vec();
        let wide = |n: usize| U32::from(u32::try_from(n).unwrap_or(u32::MAX));
        let ends = self.key_ends.iter().zip(&self.filter_ends);
        for (child, (key_end, filter_end)) in self.children.iter().zip(ends) {
            let entry = EntryLayout {
                page: child.page.into(),
                first_row: child.first_row.into(),
                first_id: child.first_id.into(),
                key_end: wide(*key_end),
                filter_end: wide(*filter_end),
            };
            bytes.extend_from_slice(entry.as_bytes());
        }
        bytes.extend_from_slice(&self.keys);
        bytes.extend_from_slice(&self.filters);
        bytes
    }
}

/// The shortest prefix of `next` that is above `previous`.
pub fn separator<'a>(previous: &[u8], next: &'a [u8]) -> &'a [u8] {
    let shared = previous.iter().zip(next).take_while(|(a, b)| a == b).count();
    next.get(..=shared).unwrap_or(next)
}

#[cfg(test)]
#[path = "fence_page_tests.rs"]
mod tests;
