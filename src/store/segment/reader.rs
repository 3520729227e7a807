//! An open segment, read page by page.
//!
//! In: keys, rows and signature ids. Out: rows, keys and signatures, from verified pages. It must not know about
//! other segments or tombstones.
//!
//! A lookup by key reads one fence page for each level below the root (which stays in memory), one leaf if the
//! filter lets the key pass, and one signature page. That is three pages up to tens of millions of rows.

use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::format::bytes::{Seal, broken};
use crate::format::duplicates_page::{self, DuplicatesDirectory, DuplicatesPage, Pair};
use crate::format::fence_page::{Child, FencePage, INNER_BYTES};
use crate::format::filter::{self, KeyHash};
use crate::format::leaf_page::LeafPage;
use crate::format::manifest::SegmentEntry;
use crate::format::page::{Page, PageKind, PagePlace};
use crate::format::record_pages::RecordShape;
use crate::format::segment_header::{HEADER_PAGE_BYTES, Region, SegmentHeader};
use crate::format::signature_page::{SignaturePage, SignatureShape};
use crate::scheme::Scheme;
use crate::sketch::Signature;
use crate::store::page_source::{CachedPage, Extent, Keep, PageSource, Pinned, View};
use crate::store::page_table::PageTable;

/// An open segment.
#[derive(Debug)]
pub struct Segment {
    id: u64,
    offset: u64,
    header: SegmentHeader,
    header_checksum: u32,
    scheme: Arc<Scheme>,
    shape: SignatureShape,
    source: PageSource,
    root: OnceLock<Pinned<FencePage>>,
    tables: Tables,
}

/// Units of the key region that share a position in their table.
const UNITS_PER_PLACE: u64 = 64;

/// The resident pages, of the kinds of which a query reads many.
#[derive(Debug)]
pub struct Tables {
    /// Signature pages.
    pub signatures: Arc<PageTable<CachedPage>>,
    /// Directory pages of the postings.
    pub directory: Arc<PageTable<CachedPage>>,
    /// Short pages of the postings.
    pub short: Arc<PageTable<CachedPage>>,
    /// Pages of kept sets, and of their directory.
    pub sets: RecordTables,
    /// Pages of values, and of their directory.
    pub values: RecordTables,
    /// Leaf and fence pages. Their lengths vary, so they are found by the 4 KiB range in which they start. If two
    /// start in one range, only one is in the table.
    keys: Arc<PageTable<CachedPage>>,
}

/// The resident pages of a region of records.
#[derive(Debug)]
pub struct RecordTables {
    /// Pages of records.
    pub pages: Arc<PageTable<CachedPage>>,
    /// Pages of the directory.
    pub directory: Arc<PageTable<CachedPage>>,
}

impl RecordTables {
    fn new(shape: Option<RecordShape>) -> RecordTables {
        RecordTables {
            pages: table(shape.map_or(0, RecordShape::pages)),
            directory: table(shape.map_or(0, |shape| shape.directory_pages().into())),
        }
    }
}

/// Makes a table for this many pages.
fn table(pages: u64) -> Arc<PageTable<CachedPage>> {
    Arc::new(PageTable::new(u32::try_from(pages).unwrap_or(u32::MAX)))
}

impl Tables {
    fn new(header: &SegmentHeader, shape: SignatureShape) -> Tables {
        let postings = header.posting_shape();
        let short = header.short_postings.div_ceil(postings.short_per_page());
        Tables {
            signatures: table(header.ids.div_ceil(shape.per_page()).into()),
            directory: table(postings.directory_pages()),
            short: table(short),
            sets: RecordTables::new(header.elements_shape()),
            values: RecordTables::new(header.values_shape()),
            keys: table(header.keys.length.div_ceil(UNITS_PER_PLACE * 64)),
        }
    }
}

/// A row of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its row number.
    pub row: u32,
    /// The id of its signature.
    pub id: u32,
    /// The commit that wrote it.
    pub sequence: u64,
}

/// What a search in the fences looks for.
#[derive(Clone, Copy)]
enum Target<'a> {
    Key(&'a [u8]),
    Row(u32),
    Id(u32),
}

impl Segment {
    /// Opens the segment of a manifest entry. Reads its header page.
    pub fn open(source: PageSource, entry: &SegmentEntry, scheme: &Arc<Scheme>) -> Result<Segment> {
        let segment = Segment::open_at(source, entry.id, entry.offset, scheme)?;
        let header = &segment.header;
        let fits = header.rows == entry.rows
            && header.length == entry.length
            && segment.header_checksum == entry.header_checksum;
        if !fits {
            let detail = format!("the header of segment {} is not the manifest's", entry.id);
            return Err(broken("segment header", "SEG-6", entry.offset, detail));
        }
        Ok(segment)
    }

    /// Opens the segment at an offset, without a manifest.
    pub fn open_at(
        source: PageSource,
        id: u64,
        offset: u64,
        scheme: &Arc<Scheme>,
    ) -> Result<Segment> {
        let place = PagePlace { kind: PageKind::SegmentHeader, extent: id, number: 0 };
        let page = source.read(place, Extent { offset, length: HEADER_PAGE_BYTES })?;
        let header = SegmentHeader::decode(page.payload()).map_err(|e| e.shifted(offset))?;
        if header.scheme != **scheme {
            let detail = format!("segment {id} was made with another scheme");
            return Err(broken("segment header", "SEG-6", offset, detail));
        }
        if offset.checked_add(header.length).is_none() {
            let detail = format!("segment {id} claims {} bytes", header.length);
            return Err(broken("segment header", "SEG-4", offset, detail));
        }
        if Seal::of(header.database) != source.seal() {
            let detail = format!("segment {id} was made for another database");
            return Err(broken("segment header", "SEG-6", offset, detail));
        }
        let shape = SignatureShape::of(scheme);
        Ok(Segment {
            id,
            offset,
            header_checksum: page.checksum(),
            shape,
            tables: Tables::new(&header, shape),
            scheme: Arc::clone(scheme),
            header,
            source,
            root: OnceLock::new(),
        })
    }

    /// Returns the number of its extent.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns its offset in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns its header.
    pub fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// Returns the checksum of its header page, which a manifest repeats.
    pub fn header_checksum(&self) -> u32 {
        self.header_checksum
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.header.rows
    }

    /// Returns the scheme of its signatures.
    pub fn scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }

    /// Returns the source of its pages.
    pub fn source(&self) -> &PageSource {
        &self.source
    }

    pub(super) fn extent(&self, region: Region, number: u32, most: u64) -> Extent {
        let start = u64::from(number) * 64;
        Extent {
            offset: self.offset + region.offset + start,
            length: region.length.saturating_sub(start).min(most),
        }
    }

    fn fence(&self, number: u32, level: u8, most: u64) -> Result<Pinned<FencePage>> {
        let place = PagePlace { kind: PageKind::Fence, extent: self.id, number };
        let extent = self.extent(self.header.keys, number, most);
        let fence = self.key_page(place, extent, |page| FencePage::new(page, level))?;
        // A forged file may refer to a cached fence page of another level. Fences that are their own children would
        // be followed forever.
        if fence.level() != level {
            return Err(self.lost("FENCE-2", format!("fences of level {level} have another")));
        }
        Ok(fence)
    }

    /// Returns a page of the key region.
    fn key_page<V: View>(
        &self,
        place: PagePlace,
        extent: Extent,
        view: impl FnOnce(Page) -> Result<V>,
    ) -> Result<Pinned<V>> {
        let table = (&self.tables.keys, place.number / UNITS_PER_PLACE as u32);
        self.source.page_in(table, place, extent, Keep::Recent, view)
    }

    /// Returns the root fence page. Once read, it stays in memory.
    pub fn root(&self) -> Result<&Pinned<FencePage>> {
        if let Some(root) = self.root.get() {
            return Ok(root);
        }
        let most = PageKind::Fence.max_bytes() as u64;
        let root = self.fence(self.header.root_page, self.header.root_level, most)?;
        Ok(self.root.get_or_init(|| root))
    }

    /// Returns a fence page that is a child of another.
    pub fn child_fence(&self, child: Child, level: u8) -> Result<Pinned<FencePage>> {
        self.check_inside(child)?;
        let fence = self.fence(child.page, level, INNER_BYTES as u64)?;
        let first = fence.child(0).map(|first| (first.first_row, first.first_id));
        if first != Some((child.first_row, child.first_id)) {
            return Err(self.lost("FENCE-5", "fences do not start where their parent says".into()));
        }
        Ok(fence)
    }

    /// Checks FENCE-5: a child is in the key region.
    fn check_inside(&self, child: Child) -> Result<()> {
        if u64::from(child.page) * 64 < self.header.keys.length {
            return Ok(());
        }
        Err(self.lost("FENCE-5", format!("page {} lies outside of the keys", child.page)))
    }

    /// Returns the leaf page that is a child of a fence page.
    pub fn leaf(&self, child: Child) -> Result<Pinned<LeafPage>> {
        self.check_inside(child)?;
        let place = PagePlace { kind: PageKind::Leaf, extent: self.id, number: child.page };
        let most = PageKind::Leaf.max_bytes() as u64;
        let extent = self.extent(self.header.keys, child.page, most);
        let (rows, ids) = (self.header.rows, self.header.ids);
        let leaf = self.key_page(place, extent, |page| LeafPage::new(page, rows, ids))?;
        if leaf.first_row() != child.first_row || leaf.first_id() != child.first_id {
            let detail = "a leaf does not start where its fence says";
            return Err(broken("leaf page", "FENCE-5", extent.offset, detail));
        }
        Ok(leaf)
    }

    /// Searches the fences for the leaf of a target. With a key and its hash, returns `None` if the filter excludes
    /// the key.
    fn descend(
        &self,
        target: Target<'_>,
        hash: Option<KeyHash>,
    ) -> Result<Option<Pinned<LeafPage>>> {
        let mut fence = self.root()?.clone();
        loop {
            let i = match target {
                Target::Key(key) => fence.child_for_key(key),
                Target::Row(row) => fence.child_for_row(row),
                Target::Id(id) => fence.child_for_id(id),
            };
            let child = fence.child(i).expect("a fence page has a child, and searches end in one");
            if fence.level() == 1 {
                let absent = hash.is_some_and(|hash| !filter::may_contain(fence.filter(i), hash));
                return if absent { Ok(None) } else { self.leaf(child).map(Some) };
            }
            fence = self.child_fence(child, fence.level() - 1)?;
        }
    }

    fn leaf_for(&self, target: Target<'_>) -> Result<Pinned<LeafPage>> {
        Ok(self.descend(target, None)?.expect("only a filter says no"))
    }

    /// Finds the row of a key.
    pub fn find(&self, key: &[u8], hash: KeyHash) -> Result<Option<Found>> {
        let Some(leaf) = self.descend(Target::Key(key), Some(hash))? else { return Ok(None) };
        Ok(leaf.find(key).ok().map(|i| self.found(&leaf, i)))
    }

    /// Returns row `i` of a leaf.
    pub fn found(&self, leaf: &LeafPage, i: usize) -> Found {
        Found {
            row: leaf.first_row() + i as u32,
            id: leaf.id(i),
            sequence: self.header.first_sequence.saturating_add(leaf.sequence_offset(i)),
        }
    }

    /// Returns the first row whose key is not below `key`, or the number of rows.
    pub fn lower_bound(&self, key: &[u8]) -> Result<u32> {
        let leaf = self.leaf_for(Target::Key(key))?;
        let (Ok(i) | Err(i)) = leaf.find(key);
        Ok(leaf.first_row() + i as u32)
    }

    /// Returns the leaf of a row, and the row's position in it.
    pub fn leaf_of_row(&self, row: u32) -> Result<(Pinned<LeafPage>, usize)> {
        let leaf = self.leaf_for(Target::Row(row))?;
        match row.checked_sub(leaf.first_row()).map(|i| i as usize) {
            Some(i) if i < leaf.count() => Ok((leaf, i)),
            _ => Err(self.lost("LEAF-3", format!("row {row} is in no leaf"))),
        }
    }

    /// Returns the key of a row.
    pub fn key_of_row(&self, row: u32) -> Result<Vec<u8>> {
        let (leaf, i) = self.leaf_of_row(row)?;
        let (prefix, suffix) = leaf.key(i);
        Ok([prefix, suffix].concat())
    }

    /// Visits all rows with an id, in ascending order, until `visit` returns `false`.
    pub fn rows_of_id(&self, id: u32, visit: &mut dyn FnMut(u32) -> Result<bool>) -> Result<()> {
        let leaf = self.leaf_for(Target::Id(id))?;
        let Some(i) = leaf.first_with_id(id) else {
            return Err(self.lost("LEAF-5", format!("id {id} is in no leaf")));
        };
        if !visit(leaf.first_row() + i as u32)? {
            return Ok(());
        }
        let duplicates = self.header.duplicate_count();
        let mut page = match self.first_duplicates_page(id)? {
            Some(page) => page,
            None => return Ok(()),
        };
        let least = Pair::new(id, 0).order();
        while page < duplicates_page::page_count(duplicates) {
            let pairs = self.duplicates_page(page)?;
            let start = pairs.pairs().partition_point(|pair| pair.order() < least);
            for pair in &pairs.pairs()[start..] {
                if pair.id() != id || !visit(pair.row())? {
                    return Ok(());
                }
            }
            page += 1;
        }
        Ok(())
    }

    /// Returns the page of duplicate rows in which those of an id start.
    fn first_duplicates_page(&self, id: u32) -> Result<Option<u32>> {
        let duplicates = self.header.duplicate_count();
        let (mut low, mut high) = (0, duplicates_page::directory_count(duplicates));
        // Find the last directory page that starts below the id, and then its last entry below the id.
        while high - low > 1 {
            let middle = low.midpoint(high);
            let first = self.duplicates_directory(middle)?.first_ids().first().map(|id| id.get());
            if first.is_some_and(|first| first < id) { low = middle } else { high = middle }
        }
        if duplicates == 0 {
            return Ok(None);
        }
        let directory = self.duplicates_directory(low)?;
        let below = directory.first_ids().partition_point(|first| first.get() < id) as u32;
        Ok(Some(low * duplicates_page::ENTRIES_PER_PAGE + below.saturating_sub(1)))
    }

    fn duplicates_page(&self, i: u32) -> Result<Pinned<DuplicatesPage>> {
        let (header, place) = (&self.header, duplicates_page::place(self.id, i));
        let extent =
            self.extent(header.duplicates, place.number, PageKind::Duplicates.max_bytes() as u64);
        let count = duplicates_page::pairs_in_page(header.duplicate_count(), i);
        self.source.page(place, extent, Keep::Recent, |page| {
            DuplicatesPage::new(page, count, header.ids, header.rows)
        })
    }

    fn duplicates_directory(&self, i: u32) -> Result<Pinned<DuplicatesDirectory>> {
        let duplicates = self.header.duplicate_count();
        let place = duplicates_page::directory_place(self.id, duplicates, i);
        let most = PageKind::DuplicatesDirectory.max_bytes() as u64;
        let extent = self.extent(self.header.duplicates, place.number, most);
        let count = duplicates_page::entries_in_page(duplicates, i);
        self.source.page(place, extent, Keep::Recent, |page| DuplicatesDirectory::new(page, count))
    }

    /// Visits all duplicate rows, for `check`.
    pub fn each_duplicate(&self, visit: &mut dyn FnMut(Pair) -> Result<()>) -> Result<()> {
        let duplicates = self.header.duplicate_count();
        for page in 0..duplicates_page::page_count(duplicates) {
            let pairs = self.duplicates_page(page)?;
            let first = self.duplicates_directory(page / duplicates_page::ENTRIES_PER_PAGE)?;
            let first =
                first.first_ids()[(page % duplicates_page::ENTRIES_PER_PAGE) as usize].get();
            if pairs.pairs()[0].id() != first {
                return Err(
                    self.lost("DUP-3", "the directory of duplicate rows does not fit them".into())
                );
            }
            pairs.pairs().iter().try_for_each(|pair| visit(*pair))?;
        }
        Ok(())
    }

    /// Whether an id is that of the empty set.
    pub fn is_empty_id(&self, id: u32) -> bool {
        self.header.empty_id == Some(id)
    }

    /// Returns the number of signatures per page. The last page may have fewer.
    pub fn ids_per_page(&self) -> u32 {
        self.shape.per_page()
    }

    /// Returns the page of a signature, and its position there.
    pub fn signature_page(&self, id: u32, keep: Keep) -> Result<(Pinned<SignaturePage>, usize)> {
        let per_page = self.shape.per_page();
        let (page, place_in_page) = (id / per_page, id % per_page);
        let bytes = self.shape.page_bytes(per_page);
        let first = page * per_page;
        let count = self.header.ids.saturating_sub(first).min(per_page);
        let start = u64::from(page) * bytes;
        let Ok(number) = u32::try_from(start / 64) else {
            return Err(self.lost("SEG-4", "it is too long for its page numbers".into()));
        };
        let place = PagePlace { kind: PageKind::Signatures, extent: self.id, number };
        let extent = self.extent(self.header.signatures, number, bytes);
        let empty =
            self.header.empty_id.and_then(|id| id.checked_sub(first)).filter(|i| *i < count);
        let view = |page| SignaturePage::new(page, self.shape, count, empty);
        let table = (&self.tables.signatures, page);
        Ok((self.source.page_in(table, place, extent, keep, view)?, place_in_page as usize))
    }

    /// Returns the tables of resident pages.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Returns the number of cache misses, in all segments of the file.
    pub fn cache_misses(&self) -> u64 {
        self.source.cache().misses()
    }

    /// Returns the signature of an id, with its set if the scheme keeps sets.
    pub fn signature(&self, id: u32) -> Result<Signature> {
        let (page, i) = self.signature_page(id, Keep::Recent)?;
        let elements = self.kept_elements(id)?;
        let signature = page.signature(i, &self.scheme, self.is_empty_id(id), elements);
        signature.ok_or_else(|| self.lost("SIGP-1", format!("id {id} is in no page")))
    }

    /// The error for damage that shows only when pages are compared with each other.
    pub(crate) fn lost(&self, rule: &'static str, detail: String) -> Error {
        broken("segment", rule, self.offset, detail)
    }
}
