//! The lists of one query, found and read together.
//!
//! Each list is a few cache lines somewhere in memory. Asking for all of them before looking at the first
//! costs about as much as waiting for one. Chunks of page tables are taken before that: taking one is an
//! atomic operation, which waits for all that was asked for before it.

use super::reader::{Place, PostingList};
use crate::error::{Error, Result};
use crate::format::posting_directory::{Bucket, PostingDirectory, ShortPage};
use crate::format::posting_shape::PostingShape;
use crate::store::page_source::{CachedPage, View};
use crate::store::page_table::PageTableView;
use crate::store::segment::Segment;

/// Reads several lists of a segment.
#[derive(Debug)]
pub struct ListReader<'a> {
    segment: &'a Segment,
    shape: PostingShape,
    directory: PageTableView<'a, CachedPage>,
    short: PageTableView<'a, CachedPage>,
}

impl<'a> ListReader<'a> {
    /// For a segment.
    pub fn new(segment: &'a Segment) -> ListReader<'a> {
        let (tables, shape) = (segment.tables(), segment.header().posting_shape());
        let (directory, short) = (tables.directory.view(), tables.short.view());
        ListReader { segment, shape, directory, short }
    }

    /// The lists of some values, each given with its slot, that are not empty.
    pub fn find(&mut self, wanted: &[(usize, u32)]) -> Result<Vec<PostingList>> {
        let mut buckets = Vec::with_capacity(wanted.len());
        for (slot, value) in wanted {
            let slot = u32::try_from(*slot).unwrap_or(u32::MAX);
            if !self.shape.holds(slot, *value) {
                let limit = "a slot and a value that the scheme has";
                return Err(Error::invalid(format!("value {value} of slot {slot}"), limit));
            }
            let spread = self.shape.spread(*value);
            let (page, i) = PostingShape::directory_page(self.shape.bucket(slot, spread).0);
            let page = u32::try_from(page).unwrap_or(u32::MAX);
            self.directory.take(page);
            buckets.push((page, i));
        }
        for (page, i) in &buckets {
            if let Some(resident) = resident::<PostingDirectory>(&self.directory, *page) {
                resident.prefetch(*i);
            }
        }
        let mut lists = Vec::with_capacity(wanted.len());
        for ((slot, value), (page, i)) in wanted.iter().zip(buckets) {
            let known =
                resident::<PostingDirectory>(&self.directory, page).map(|page| page.bucket(i));
            let list = match known {
                Some(Bucket::Short { first, count }) => PostingList {
                    slot: *slot as u32,
                    value: self.shape.spread(*value),
                    length: count.into(),
                    place: Place::Short(first),
                },
                _ => self.segment.posting_list(*slot, *value)?,
            };
            if !list.is_empty() {
                lists.push(list);
            }
        }
        Ok(lists)
    }

    /// Appends the ids of all of these lists, one list after the other.
    pub fn read(&mut self, lists: &[PostingList], ids: &mut Vec<u32>) -> Result<()> {
        for list in lists {
            if let Some((page, ..)) = self.in_one_page(list) {
                self.short.take(page);
            }
        }
        for list in lists {
            if let Some((page, first, end)) = self.in_one_page(list)
                && let Some(resident) = resident::<ShortPage>(&self.short, page)
            {
                resident.prefetch(first, end);
            }
        }
        for list in lists {
            let place = self.in_one_page(list);
            let page = place.and_then(|(page, ..)| resident::<ShortPage>(&self.short, page));
            match (page, place) {
                (Some(page), Some((_, first, end))) if end <= page.count() => {
                    let (_, low) = self.shape.bucket(list.slot, list.value);
                    page.push_ids(first, end, low, ids);
                }
                _ => self.segment.read_postings(list, ids)?,
            }
        }
        Ok(())
    }

    /// The page of a short list and its entries there, unless it goes on in the next.
    fn in_one_page(&self, list: &PostingList) -> Option<(u32, usize, usize)> {
        let Place::Short(entry) = list.place else { return None };
        let (page, first) = self.shape.short_page(entry);
        let end = first + list.length as usize;
        let inside = end as u64 <= self.shape.short_per_page();
        inside.then_some((u32::try_from(page).ok()?, first, end))
    }
}

/// A page that is in memory.
fn resident<'v, V: View>(view: &'v PageTableView<'_, CachedPage>, page: u32) -> Option<&'v V> {
    let page = view.get(page)?;
    page.mark_used();
    V::of(page)
}
