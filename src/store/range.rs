//! Walks the rows of a state in key order, merging segments and memtables as it reads.
//!
//! In: a state and bounds. Out: live rows, each key once, in its newest version. It must not know about files.

use std::ops::Bound;

use super::memtable::{Fresh, Memtable};
use super::segment::rows::RowCursor;
use super::segment::{Found, Segment};
use super::state::{SegmentView, State, Stored};
use crate::error::Result;

/// Keys fetched from a memtable at a time.
const CHUNK: usize = 256;

/// A walk over the live rows of a state.
#[derive(Debug)]
pub struct Walk<'a> {
    state: &'a State,
    to: Bound<Box<[u8]>>,
    /// Newest memtable first: for equal keys, the first one wins.
    fresh: Vec<FreshCursor<'a>>,
    segments: Vec<SegmentCursor<'a>>,
}

/// Where a row's signature is.
#[derive(Debug)]
pub enum Source<'a> {
    /// In a memtable. This is a copy.
    Fresh(Stored),
    /// In a segment: its index in the state, the segment, and the row.
    Row(usize, &'a Segment, Found),
}

impl<'a> Walk<'a> {
    /// Starts a walk from one bound to another.
    pub fn new(state: &'a State, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<Walk<'a>> {
        let fresh = state.memtables().map(|table| FreshCursor::new(table, from, state.sequence));
        let segments = state.segments.iter().map(|view| SegmentCursor::new(view, from));
        Ok(Walk {
            fresh: fresh.collect(),
            segments: segments.collect::<Result<_>>()?,
            to: to.map(Box::from),
            state,
        })
    }

    /// Returns the next row and where its signature is.
    pub fn next_source(&mut self) -> Result<Option<(Box<[u8]>, Source<'a>)>> {
        loop {
            let fresh = self.fresh.iter().filter_map(|cursor| cursor.key());
            let rows = self.segments.iter().filter_map(|cursor| cursor.key());
            let Some(key) = fresh.chain(rows).min().map(Box::<[u8]>::from) else {
                return Ok(None);
            };
            let inside = match &self.to {
                Bound::Included(to) => key <= *to,
                Bound::Excluded(to) => key < *to,
                Bound::Unbounded => true,
            };
            if !inside {
                return Ok(None);
            }
            let mut newest = None;
            for cursor in &mut self.fresh {
                if cursor.key() == Some(&key) {
                    let version = cursor.take(self.state.sequence);
                    newest = newest.or(version);
                }
            }
            let mut row = None;
            for (i, cursor) in self.segments.iter_mut().enumerate() {
                if cursor.key() == Some(&*key) {
                    let here = cursor.rows.current().map(|(_, found)| (i, cursor.view, found));
                    row = row.or(here);
                    cursor.advance()?;
                }
            }
            match (newest, row) {
                (Some((_, version)), _) => {
                    if let Some(stored) = version.into_stored() {
                        return Ok(Some((key, Source::Fresh(stored))));
                    }
                }
                (None, Some((i, view, found))) => {
                    return Ok(Some((key, Source::Row(i, &view.segment, found))));
                }
                (None, None) => {}
            }
        }
    }

    /// Returns the next row.
    pub fn next_row(&mut self) -> Result<Option<(Box<[u8]>, Stored)>> {
        let Some((key, source)) = self.next_source()? else { return Ok(None) };
        let stored = match source {
            Source::Fresh(stored) => stored,
            Source::Row(_, segment, found) => segment.stored(found)?,
        };
        Ok(Some((key, stored)))
    }

    /// Returns the key of the next row.
    pub fn next_key(&mut self) -> Result<Option<Box<[u8]>>> {
        Ok(self.next_source()?.map(|(key, _)| key))
    }
}

/// A walk over one memtable, a chunk at a time.
#[derive(Debug)]
struct FreshCursor<'a> {
    table: &'a Memtable,
    chunk: std::vec::IntoIter<Fresh>,
    current: Option<Fresh>,
}

impl<'a> FreshCursor<'a> {
    fn new(table: &'a Memtable, from: Bound<&[u8]>, sequence: u64) -> FreshCursor<'a> {
        let mut chunk = table.next(from, Bound::Unbounded, sequence, CHUNK).into_iter();
        let current = chunk.next();
        FreshCursor { table, chunk, current }
    }

    fn key(&self) -> Option<&[u8]> {
        self.current.as_ref().map(|(key, _)| &**key)
    }

    fn take(&mut self, sequence: u64) -> Option<Fresh> {
        let taken = self.current.take()?;
        self.current = self.chunk.next();
        if self.current.is_none() {
            let from = Bound::Excluded(&*taken.0);
            self.chunk = self.table.next(from, Bound::Unbounded, sequence, CHUNK).into_iter();
            self.current = self.chunk.next();
        }
        Some(taken)
    }
}

/// A walk over the live rows of one segment.
#[derive(Debug)]
pub struct SegmentCursor<'a> {
    view: &'a SegmentView,
    rows: RowCursor<'a>,
}

impl<'a> SegmentCursor<'a> {
    /// Starts at the first live row within a bound.
    pub fn new(view: &'a SegmentView, from: Bound<&[u8]>) -> Result<SegmentCursor<'a>> {
        let start = match from {
            Bound::Included(key) | Bound::Excluded(key) => view.segment.lower_bound(key)?,
            Bound::Unbounded => 0,
        };
        let mut cursor = SegmentCursor { view, rows: RowCursor::at(&view.segment, start)? };
        if let (Bound::Excluded(from), Some((key, _))) = (from, cursor.rows.current())
            && key == from
        {
            cursor.rows.advance()?;
        }
        cursor.skip_hidden()?;
        Ok(cursor)
    }

    /// Returns the current key.
    pub fn key(&self) -> Option<&[u8]> {
        self.rows.current().map(|(key, _)| key)
    }

    /// Returns the current row.
    pub fn found(&self) -> Option<Found> {
        self.rows.current().map(|(_, found)| found)
    }

    /// Returns the segment.
    pub fn segment(&self) -> &'a Segment {
        self.rows.segment()
    }

    /// Moves to the next live row.
    pub fn advance(&mut self) -> Result<()> {
        self.rows.advance()?;
        self.skip_hidden()
    }

    fn skip_hidden(&mut self) -> Result<()> {
        while let Some((_, found)) = self.rows.current() {
            if !self.view.tombstones.contains(found.row)? {
                break;
            }
            self.rows.advance()?;
        }
        Ok(())
    }
}
