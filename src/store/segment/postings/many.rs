//! Finds and reads the posting lists of one query together.
//!
//! In: slots and values. Out: the ids of their lists. Lists are scattered in memory, but prefetching all of them takes
//! about as long as waiting for one. So there are three steps, and each prefetches what the next one reads. A query
//! should finish a step in all segments before it starts the next step.

use super::reader::{Place, PostingList};
use crate::error::{Error, Result};
use crate::format::page::Line;
use crate::format::posting_directory::{Bucket, PostingDirectory, ShortPage};
use crate::format::posting_shape::PostingShape;
use crate::kernel::prefetch;
use crate::store::page_source::CachedPage;
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

/// The directory entry of a list, if its page is in memory.
#[derive(Debug, Clone, Copy)]
pub struct DirectoryEntry<'r> {
    line: Option<&'r Line>,
    /// The position of its bucket in the line.
    place: u32,
}

/// A list that was found. Its entries are included if they are in memory and in one page.
#[derive(Debug, Clone, Copy)]
pub struct FoundList<'r> {
    /// The list.
    pub list: PostingList,
    lines: Option<&'r [Line]>,
    range: (u32, u32),
}

/// The slot and the value of a wanted list. The value is scrambled, as in the postings (POST-L2).
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub(super) slot: u32,
    pub(super) value: u32,
}

impl Wanted {
    /// Creates a request for a slot and value. Fails if the scheme does not have them.
    pub fn new(shape: PostingShape, slot: usize, value: u32) -> Result<Wanted> {
        let slot = u32::try_from(slot).unwrap_or(u32::MAX);
        if !shape.holds(slot, value) {
            let limit = "a slot and a value that the scheme has";
            return Err(Error::invalid(format!("value {value} of slot {slot}"), limit));
        }
        Ok(Wanted { slot, value: shape.spread(value) })
    }
}

impl<'a> ListReader<'a> {
    /// Creates a reader for a segment.
    pub fn new(segment: &'a Segment) -> ListReader<'a> {
        let (tables, shape) = (segment.tables(), segment.header().posting_shape());
        let (directory, short) = (tables.directory.view(), tables.short.view());
        ListReader { segment, shape, directory, short }
    }

    /// Returns the segment.
    pub fn segment(&self) -> &'a Segment {
        self.segment
    }

    /// Step one: looks up directory entries, and prefetches them.
    pub fn look_up<'r>(&'r self, wanted: &[Wanted], entries: &mut Vec<DirectoryEntry<'r>>) {
        for Wanted { slot, value } in wanted {
            let (page, block, place) =
                self.shape.block_of_bucket(self.shape.bucket(*slot, *value).0);
            let lines = u32::try_from(page).ok().and_then(|page| self.directory.lines(page));
            let line = lines.and_then(|lines| PostingDirectory::line(lines, block));
            if let Some(line) = line {
                prefetch(std::slice::from_ref(line));
            }
            entries.push(DirectoryEntry { line, place });
        }
    }

    /// Step two: appends the lists that are not empty, and prefetches their entries.
    pub fn find<'r>(
        &'r self,
        wanted: &[Wanted],
        entries: &[DirectoryEntry<'r>],
        lists: &mut Vec<FoundList<'r>>,
    ) -> Result<()> {
        let shape = self.shape;
        for (Wanted { slot, value }, DirectoryEntry { line, place }) in wanted.iter().zip(entries) {
            let list = match line.map(|line| PostingDirectory::bucket_in(line, shape, *place)) {
                Some(Bucket::Short { count: 0, .. }) => continue,
                Some(Bucket::Short { first, count }) => {
                    let place = Place::Short(first);
                    PostingList { slot: *slot, value: *value, length: count, place }
                }
                _ => self.segment.find_list(*slot, *value)?,
            };
            if list.is_empty() {
                continue;
            }
            let mut found = FoundList { list, lines: None, range: (0, 0) };
            if let Some((page, range)) = self.in_one_page(&list)
                && let Some(lines) = self.short.lines(page)
            {
                ShortPage::prefetch(lines, shape, range);
                (found.lines, found.range) = (Some(lines), (range.0 as u32, range.1 as u32));
            }
            lists.push(found);
        }
        Ok(())
    }

    /// Step three: appends the ids of these lists, one list after the other.
    pub fn read(&self, lists: &[FoundList<'_>], ids: &mut Vec<u32>) -> Result<()> {
        for FoundList { list, lines, range } in lists {
            match lines {
                Some(lines) => {
                    let (_, low) = self.shape.bucket(list.slot, list.value);
                    let range = (range.0 as usize, range.1 as usize);
                    ShortPage::push_ids(lines, self.shape, range, low, ids);
                }
                None => self.segment.read_postings(list, ids)?,
            }
        }
        Ok(())
    }

    /// Returns the page of a short list and its range of entries. Returns `None` if the list continues on the next
    /// page or claims more entries than there are.
    #[inline]
    fn in_one_page(&self, list: &PostingList) -> Option<(u32, (usize, usize))> {
        let Place::Short(entry) = list.place else { return None };
        let (page, first) = self.shape.short_page(entry);
        let end = first + list.length as usize;
        let count = self.shape.short_in_page(self.segment.header().short_postings, page);
        (end <= count).then_some((u32::try_from(page).ok()?, (first, end)))
    }
}
