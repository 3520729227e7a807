//! The lists of one query, found and read together.
//!
//! Each list is a few cache lines somewhere in memory. Asking for all of them before looking at the first costs about
//! as much as waiting for one, so there are three steps, each of which asks for what the next one looks at: a
//! query that takes each step for many segments before the next one waits the least.

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

/// Where the directory speaks of a list, if that is in memory.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'r> {
    line: Option<&'r Line>,
    /// The place of its bucket there.
    place: u32,
}

/// A list that was found, and its entries if they are in memory and in one page.
#[derive(Debug, Clone, Copy)]
pub struct FoundList<'r> {
    /// The list.
    pub list: PostingList,
    lines: Option<&'r [Line]>,
    range: (u32, u32),
}

/// A slot and a value, as postings have it, of which a list is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub(super) slot: u32,
    pub(super) value: u32,
}

impl Wanted {
    /// A slot and one of its values; an error if the scheme of these postings has none such.
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
    /// For a segment.
    pub fn new(segment: &'a Segment) -> ListReader<'a> {
        let (tables, shape) = (segment.tables(), segment.header().posting_shape());
        let (directory, short) = (tables.directory.view(), tables.short.view());
        ListReader { segment, shape, directory, short }
    }

    /// The segment.
    pub fn segment(&self) -> &'a Segment {
        self.segment
    }

    /// The first step: asks for some lists.
    pub fn ask<'r>(&'r self, wanted: &[Wanted], asked: &mut Vec<Asked<'r>>) {
        for Wanted { slot, value } in wanted {
            let (page, block, place) =
                self.shape.block_of_bucket(self.shape.bucket(*slot, *value).0);
            let lines = u32::try_from(page).ok().and_then(|page| self.directory.lines(page));
            let line = lines.and_then(|lines| PostingDirectory::line(lines, block));
            if let Some(line) = line {
                prefetch(std::slice::from_ref(line));
            }
            asked.push(Asked { line, place });
        }
    }

    /// The second step: appends the lists that were asked for and are not empty. Asks for what is in them.
    pub fn find<'r>(
        &'r self,
        wanted: &[Wanted],
        asked: &[Asked<'r>],
        lists: &mut Vec<FoundList<'r>>,
    ) -> Result<()> {
        let shape = self.shape;
        for (Wanted { slot, value }, Asked { line, place }) in wanted.iter().zip(asked) {
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

    /// The third step: appends the ids of all of these lists, one list after the other.
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

    /// The page of a short list and its entries there, unless it goes on in the next or claims more than there are.
    #[inline]
    fn in_one_page(&self, list: &PostingList) -> Option<(u32, (usize, usize))> {
        let Place::Short(entry) = list.place else { return None };
        let (page, first) = self.shape.short_page(entry);
        let end = first + list.length as usize;
        let count = self.shape.short_in_page(self.segment.header().short_postings, page);
        (end <= count).then_some((u32::try_from(page).ok()?, (first, end)))
    }
}
