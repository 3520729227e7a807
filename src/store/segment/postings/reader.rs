//! Reads posting lists from pages, through the cache.
//!
//! In: a slot and a value. Out: the ids that have it. Finding a list reads one directory page. If its bucket is
//! long, it also reads a page of the list table, or a few where there are more than 510 long lists. Reading a list
//! reads one or two short pages, or the pages of the list. Nothing is allocated.

use super::many::Wanted;
use crate::error::Result;
use crate::format::page::{PageKind, PagePlace};
use crate::format::posting_directory::{Bucket, PostingDirectory, ShortPage};
use crate::format::posting_lists::{BLOCK_IDS, ListPage, ListPlace, ListTable, TableEntry};
use crate::format::posting_shape::{PostingShape, TABLE_PER_PAGE};
use crate::format::segment_header::Region;
use crate::store::page_source::{Extent, Keep, Pinned};
use crate::store::segment::Segment;

/// The position of a posting list, not yet read. Valid only for the segment that returned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostingList {
    pub(super) slot: u32,
    pub(super) value: u32,
    pub(super) length: u32,
    pub(super) place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The first entry of its bucket.
    Short(u64),
    /// The number of its first page.
    Long(u32),
}

impl PostingList {
    /// Returns the number of ids, without reading them. It is exact for long lists, and where each bucket has one
    /// value. Otherwise it is the number of entries in the bucket, an upper bound.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Whether the list certainly has no ids.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl Segment {
    fn posting_extent(&self, place: PagePlace) -> Extent {
        let most = place.kind.max_bytes() as u64;
        self.extent(self.header().postings, place.number, most)
    }

    /// Finds the list of ids that have this value in this slot.
    pub fn posting_list(&self, slot: usize, value: u32) -> Result<PostingList> {
        let wanted = Wanted::new(self.header().posting_shape(), slot, value)?;
        self.find_list(wanted.slot, wanted.value)
    }

    /// Like [`posting_list`](Segment::posting_list), for a valid slot and a value as postings store it.
    pub(super) fn find_list(&self, slot: u32, value: u32) -> Result<PostingList> {
        let shape = self.header().posting_shape();
        let (bucket, _) = shape.bucket(slot, value);
        let (page, block, i) = shape.block_of_bucket(bucket);
        let (length, place) = match self.posting_directory(shape, page)?.bucket_of(block, i) {
            Bucket::Short { first, count } => (count, Place::Short(first)),
            Bucket::Long => {
                let entry = self.long_list(shape, slot, value)?;
                entry.map_or((0, Place::Long(0)), |e| (e.length(), Place::Long(e.page())))
            }
        };
        Ok(PostingList { slot, value, length, place })
    }

    /// Returns page `i` of the posting directory.
    pub(super) fn posting_directory(
        &self,
        shape: PostingShape,
        i: u64,
    ) -> Result<Pinned<PostingDirectory>> {
        let place = shape.directory_place(self.id(), i);
        let (buckets, header) = (shape.buckets_in_page(i), self.header());
        let counts = (header.short_postings, header.long_lists);
        let table = (&self.tables().directory, u32::try_from(i).unwrap_or(u32::MAX));
        self.source().page_in(table, place, self.posting_extent(place), Keep::Recent, |page| {
            PostingDirectory::new(page, shape, buckets, counts)
        })
    }

    /// Returns page `i` of the short entries.
    pub(super) fn short_page(&self, shape: PostingShape, i: u64) -> Result<Pinned<ShortPage>> {
        let place = shape.short_place(self.id(), i);
        let count = shape.short_in_page(self.header().short_postings, i);
        let table = (&self.tables().short, u32::try_from(i).unwrap_or(u32::MAX));
        self.source().page_in(table, place, self.posting_extent(place), Keep::Recent, |page| {
            ShortPage::new(page, shape, count)
        })
    }

    /// Returns page `i` of the list table.
    pub(super) fn list_table(&self, shape: PostingShape, i: u32) -> Result<Pinned<ListTable>> {
        let header = self.header();
        let place = shape.table_place(self.id(), header.short_postings, i);
        let count = PostingShape::table_in_page(header.long_lists, i);
        let (_, first) = shape.table_bytes(header.short_postings, header.long_lists);
        let Region { length, .. } = header.postings;
        self.source().page(place, self.posting_extent(place), Keep::Recent, |page| {
            ListTable::new(page, shape, count, (first, length))
        })
    }

    /// Returns the list page with this number.
    pub(super) fn list_page(&self, shape: PostingShape, number: u32) -> Result<Pinned<ListPage>> {
        if u64::from(number) * 64 >= self.header().postings.length {
            return Err(self.lost("POST-9", format!("page {number} lies outside of the postings")));
        }
        let place = PagePlace { kind: PageKind::PostingList, extent: self.id(), number };
        self.source().page(place, self.posting_extent(place), Keep::Recent, |page| {
            ListPage::new(page, shape)
        })
    }

    /// Returns the list table's entry for a value.
    fn long_list(&self, shape: PostingShape, slot: u32, value: u32) -> Result<Option<TableEntry>> {
        let lists = self.header().long_lists;
        if lists == 0 {
            return Err(self.lost("POST-9", "a long bucket without a list table".into()));
        }
        let (mut low, mut high) = (0, lists.div_ceil(TABLE_PER_PAGE));
        // Find the last page that does not start above the value.
        while high - low > 1 {
            let middle = low.midpoint(high);
            let page = self.list_table(shape, middle)?;
            let above = page.entries().first().is_some_and(|first| first.order() > (slot, value));
            if above { high = middle } else { low = middle }
        }
        let page = self.list_table(shape, low)?;
        let found = page.entries().binary_search_by_key(&(slot, value), TableEntry::order);
        Ok(found.ok().and_then(|i| page.entries().get(i).copied()))
    }

    /// Appends the ids of a list, in ascending order.
    pub fn read_postings(&self, list: &PostingList, ids: &mut Vec<u32>) -> Result<()> {
        let mut cursor = self.posting_cursor(list)?;
        loop {
            match cursor.next_block()? {
                [] => return Ok(()),
                block => ids.extend_from_slice(block),
            }
        }
    }

    /// Returns a cursor over the ids of a list.
    pub fn posting_cursor(&self, list: &PostingList) -> Result<PostingCursor<'_>> {
        let shape = self.header().posting_shape();
        let state = match list.place {
            Place::Short(first) => State::Short { next: first, page: None },
            Place::Long(number) => State::Long { number, place: ListPlace::default(), page: None },
        };
        Ok(PostingCursor {
            segment: self,
            shape,
            list: *list,
            left: list.length,
            last: None,
            state,
            buffer: [0; BLOCK_IDS],
        })
    }
}

/// Reads a list in blocks.
#[derive(Debug)]
pub struct PostingCursor<'a> {
    segment: &'a Segment,
    shape: PostingShape,
    list: PostingList,
    /// Entries of the bucket, or ids of the list, that were not read yet. Ids of the held list page do not count.
    left: u32,
    /// The last id so far. Every later id must be above it.
    last: Option<u32>,
    state: State,
    buffer: [u32; BLOCK_IDS],
}

#[derive(Debug)]
enum State {
    Short { next: u64, page: Option<(u64, Pinned<ShortPage>)> },
    Long { number: u32, place: ListPlace, page: Option<Pinned<ListPage>> },
}

impl PostingCursor<'_> {
    /// Returns the next ids, at least 1 and at most 128. They ascend, within and across blocks. Returns an empty
    /// block at the end and ever after. After an error the list ends.
    pub fn next_block(&mut self) -> Result<&[u32]> {
        let next = match self.state {
            State::Short { .. } => self.next_short(),
            State::Long { .. } => self.next_long(),
        };
        match next {
            Ok(count) => Ok(&self.buffer[..count]),
            Err(error) => {
                self.left = 0;
                self.state = State::Short { next: 0, page: None };
                Err(error)
            }
        }
    }

    fn next_short(&mut self) -> Result<usize> {
        let State::Short { next, page } = &mut self.state else { return Ok(0) };
        let (_, low) = self.shape.bucket(self.list.slot, self.list.value);
        let mut count = 0;
        while self.left > 0 && count < BLOCK_IDS {
            let (number, mut i) = self.shape.short_page(*next);
            let held = match page {
                Some((held, page)) if *held == number => &*page,
                _ => &page.insert((number, self.segment.short_page(self.shape, number)?)).1,
            };
            let here = (self.left as usize).min(held.count().saturating_sub(i));
            if here == 0 {
                return Err(self.segment.lost("POST-3", "a bucket past the last entry".into()));
            }
            let end = i + here;
            let start = i;
            while i < end && count < BLOCK_IDS {
                if let Some(id) = held.id_of(i, low) {
                    if self.last.is_some_and(|last| last >= id) {
                        let detail = "the ids of a bucket do not rise".into();
                        return Err(self.segment.lost("POST-5", detail));
                    }
                    self.last = Some(id);
                    self.buffer[count] = id;
                    count += 1;
                }
                i += 1;
            }
            *next += (i - start) as u64;
            self.left -= (i - start) as u32;
        }
        Ok(count)
    }

    fn next_long(&mut self) -> Result<usize> {
        let State::Long { number, place, page } = &mut self.state else { return Ok(0) };
        loop {
            if let Some(held) = page {
                if let Some(ids) = held.next_block(place, &mut self.buffer) {
                    return Ok(ids.len());
                }
                *page = None;
            }
            if self.left == 0 {
                return Ok(0);
            }
            let next = self.segment.list_page(self.shape, *number)?;
            let follows = next.of() == (self.list.slot, self.list.value)
                && next.count() <= self.left
                && self.last.is_none_or(|last| last < next.first());
            if !follows {
                let detail = format!("page {number} does not go on with its list");
                return Err(self.segment.lost("POST-9", detail));
            }
            self.left -= next.count();
            self.last = Some(next.last());
            *number = number.saturating_add(next.units());
            *place = ListPlace::default();
            *page = Some(next);
        }
    }
}
