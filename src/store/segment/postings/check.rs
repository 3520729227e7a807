//! Checks the postings of a segment as a whole: every page, and that the pages agree with each other.
//!
//! In: a segment. Out: the first rule that its postings break, if any. Implements POST-2 to POST-10 of
//! `format-spec/postings.md`.

use super::writer::PostingsWriter;
use crate::error::Result;
use crate::format::bytes::broken;
use crate::format::posting_directory::Bucket;
use crate::format::posting_shape::{PostingShape, TABLE_PER_PAGE};
use crate::store::page_source::Pinned;
use crate::store::segment::Segment;
use crate::store::segment::rows::SignatureCursor;
use crate::store::spill::SpillPlace;

impl Segment {
    /// Checks POST-2 to POST-5: the directory counts the short entries, and these ascend in each bucket.
    pub fn check_short_postings(&self) -> Result<()> {
        let shape = self.header().posting_shape();
        let mut entries = 0;
        let mut page: Option<(u64, Pinned<_>)> = None;
        for number in 0..shape.directory_pages() {
            let directory = self.posting_directory(shape, number)?;
            // The page's start is checked too, because a page with only long buckets has no other count.
            if directory.start() != Some(entries) {
                let detail =
                    format!("directory page {number} does not start where the one before ends");
                return Err(self.lost("POST-3", detail));
            }
            for i in 0..shape.buckets_in_page(number) {
                let Bucket::Short { first, count } = directory.bucket(i) else { continue };
                if first != entries {
                    let detail =
                        format!("directory page {number} does not count what is before it");
                    return Err(self.lost("POST-3", detail));
                }
                let mut last = None;
                for entry in entries..entries + u64::from(count) {
                    let (short, place) = shape.short_page(entry);
                    if page.as_ref().is_none_or(|(held, _)| *held != short) {
                        page = Some((short, self.short_page(shape, short)?));
                    }
                    let found = page.as_ref().map(|(_, page)| page.entry(place));
                    if last.is_some() && last >= found {
                        let detail = format!("entry {entry} does not rise in its bucket");
                        return Err(self.lost("POST-5", detail));
                    }
                    last = found;
                }
                entries += u64::from(count);
            }
        }
        if entries == self.header().short_postings {
            return Ok(());
        }
        Err(self.lost("POST-3", format!("the directory counts {entries} short entries")))
    }

    /// Checks POST-6 to POST-9: the list table ascends, lists have the lengths it gives, and they follow each other
    /// without gaps to the end of the region.
    pub fn check_long_postings(&self) -> Result<()> {
        let header = self.header();
        let shape = header.posting_shape();
        let (_, first) = shape.table_bytes(header.short_postings, header.long_lists);
        let mut next = u32::try_from(first / 64).unwrap_or(u32::MAX);
        let mut last = None;
        for number in 0..header.long_lists.div_ceil(TABLE_PER_PAGE) {
            let table = self.list_table(shape, number)?;
            for entry in table.entries() {
                if last.replace(entry.order()).is_some_and(|last| last >= entry.order()) {
                    let detail = format!("page {number} of the list table goes back");
                    return Err(self.lost("POST-6", detail));
                }
                if entry.page() != next {
                    let detail =
                        format!("the list at page {} does not follow another", entry.page());
                    return Err(self.lost("POST-9", detail));
                }
                next = self.check_list(shape, entry.order(), entry.length(), next)?;
            }
        }
        if shape.slots() == 0 || u64::from(next) * 64 == header.postings.length {
            return Ok(());
        }
        Err(self.lost("POST-9", "bytes behind the last list".into()))
    }

    /// Checks one list from its first page, and returns the number of the page after it.
    fn check_list(
        &self,
        shape: PostingShape,
        of: (u32, u32),
        length: u32,
        start: u32,
    ) -> Result<u32> {
        let (mut left, mut number, mut last) = (length, start, None);
        while left > 0 {
            let page = self.list_page(shape, number)?;
            let rises = last.replace(page.last()).is_none_or(|last| last < page.first());
            if page.of() != of || page.count() > left || !rises {
                let detail = format!("page {number} does not go on with its list");
                return Err(self.lost("POST-9", detail));
            }
            left -= page.count();
            number = number.saturating_add(page.units());
        }
        Ok(number)
    }

    /// Checks POST-10: rebuilds the postings from the signatures and compares the bytes. What does not fit in
    /// memory is spilled to `place`.
    pub fn check_postings_anew(&self, place: &SpillPlace) -> Result<()> {
        let header = self.header();
        let mut writer = PostingsWriter::new(self.scheme(), place);
        let mut signatures = SignatureCursor::new(self);
        let mut planes = Vec::new();
        for id in 0..header.ids {
            signatures.read(id, &mut planes)?;
            writer.push(&planes)?;
        }
        let anew = writer.finish(self.id(), self.source().seal(), header.ids, header.empty_id)?;
        let counts = (anew.length(), anew.short, anew.lists);
        if counts != (header.postings.length, header.short_postings, header.long_lists) {
            return Err(self.lost("POST-10", "the signatures give other postings".into()));
        }
        let mut at = self.offset() + header.postings.offset;
        let mut stored = Vec::new();
        for part in &anew.parts {
            part.pieces(&mut |piece| {
                for piece in piece.chunks(1 << 16) {
                    stored.resize(piece.len(), 0);
                    let read = self.source().read_up_to(&mut stored, at)?;
                    let same =
                        piece.iter().zip(&stored[..read]).take_while(|(a, b)| a == b).count();
                    at += same as u64;
                    if same < piece.len() {
                        let detail = format!(
                            "segment {}: these are not the postings of its signatures",
                            self.id()
                        );
                        return Err(broken("postings", "POST-10", at, detail));
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
