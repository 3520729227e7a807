//! Cursors over the rows of a segment in key order, and over their signatures. Ranges and merges use them.
//!
//! In: a segment, and a row or id to start from. Out: keys, rows and signatures. They must not know about
//! tombstones.

use super::{Found, Segment};
use crate::error::Result;
use crate::format::leaf_page::LeafPage;
use crate::format::signature_page::SignaturePage;
use crate::store::page_source::{Keep, Pinned};

/// A cursor over rows. It is at a row, or past the last one.
#[derive(Debug)]
pub struct RowCursor<'a> {
    segment: &'a Segment,
    row: u32,
    leaf: Option<Pinned<LeafPage>>,
    key: Vec<u8>,
}

impl<'a> RowCursor<'a> {
    /// Starts at a row, or past the last one if there is no such row.
    pub fn at(segment: &'a Segment, row: u32) -> Result<RowCursor<'a>> {
        let mut cursor = RowCursor { segment, row, leaf: None, key: Vec::new() };
        cursor.settle()?;
        Ok(cursor)
    }

    /// Loads the leaf and the key of the current row.
    fn settle(&mut self) -> Result<()> {
        if self.row >= self.segment.rows() {
            self.leaf = None;
            return Ok(());
        }
        let inside = self.leaf.as_ref().is_some_and(|leaf| {
            let start = leaf.first_row();
            (start..start + leaf.count() as u32).contains(&self.row)
        });
        if !inside {
            self.leaf = Some(self.segment.leaf_of_row(self.row)?.0);
        }
        let leaf = self.leaf.as_ref().expect("set above");
        let (prefix, suffix) = leaf.key((self.row - leaf.first_row()) as usize);
        self.key.clear();
        self.key.extend_from_slice(prefix);
        self.key.extend_from_slice(suffix);
        Ok(())
    }

    /// Returns the current key and row, or `None` past the last row.
    pub fn current(&self) -> Option<(&[u8], Found)> {
        let leaf = self.leaf.as_ref()?;
        let i = (self.row - leaf.first_row()) as usize;
        Some((&self.key, self.segment.found(leaf, i)))
    }

    /// Moves to the next row.
    pub fn advance(&mut self) -> Result<()> {
        self.row = self.row.saturating_add(1);
        self.settle()
    }

    /// Returns the segment.
    pub fn segment(&self) -> &'a Segment {
        self.segment
    }
}

/// Reads signatures and holds the last page. Made for rows in order, whose ids mostly ascend.
#[derive(Debug)]
pub struct SignatureCursor<'a> {
    segment: &'a Segment,
    page: Option<(u32, Pinned<SignaturePage>)>,
}

impl<'a> SignatureCursor<'a> {
    /// Creates a cursor for a segment.
    pub fn new(segment: &'a Segment) -> SignatureCursor<'a> {
        SignatureCursor { segment, page: None }
    }

    /// Copies the planes of an id, and returns its cardinality code.
    pub fn read(&mut self, id: u32, planes: &mut Vec<u64>) -> Result<u32> {
        let number = id / self.segment.ids_per_page();
        if self.page.as_ref().is_none_or(|(held, _)| *held != number) {
            let (page, _) = self.segment.signature_page(id, Keep::IfRoom)?;
            self.page = Some((number, page));
        }
        let (_, page) = self.page.as_ref().expect("set above");
        let place = (id % self.segment.ids_per_page()) as usize;
        let lost = || self.segment.lost("SIGP-1", format!("id {id} is in no page"));
        page.copy_planes(place, planes).ok_or_else(lost)?;
        page.code(place).ok_or_else(lost)
    }
}
