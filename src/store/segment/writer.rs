//! Writes a segment from rows in key order, in one pass and in bounded memory.
//!
//! In: rows. Out: the regions of a segment, ready to be copied into a file. It must not know about manifests or
//! syncs: the caller copies the regions into the database file and syncs them.
//!
//! Each region is spilled when it gets large. The header page describes all of them, so it is made last.

use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::duplicates::DuplicatesWriter;
use super::known::Known;
use super::postings::{PostingsWriter, place_at};
use super::records::RecordWriter;
use crate::error::{Error, Result};
use crate::format::DatabaseId;
use crate::format::bytes::{Seal, broken};
use crate::format::duplicates_page::Pair;
use crate::format::fence_page::{Child, FenceBuilder, INNER_BYTES, separator};
use crate::format::filter::{self, KeyHash};
use crate::format::leaf_page::LeafBuilder;
use crate::format::manifest::SegmentEntry;
use crate::format::page::{self, HEADER_BYTES, PageKind, PagePlace};
use crate::format::record_pages::Records;
use crate::format::segment_header::{
    HEADER_PAGE_BYTES, MAX_ROWS, RecordRegion, Region, SegmentHeader,
};
use crate::format::signature_page::{self, SignatureShape};
use crate::format::value;
use crate::scheme::Scheme;
use crate::store::file_layer::File;
use crate::store::sorted_spill::SortedSpill;
use crate::store::spill::{Spill, SpillPlace};

/// The identity of a new segment.
#[derive(Debug, Clone)]
pub struct SegmentPlan {
    /// The database.
    pub database: DatabaseId,
    /// Its scheme.
    pub scheme: Arc<Scheme>,
    /// The number of the new segment's extent.
    pub extent: u64,
    /// Where it may spill.
    pub spill: SpillPlace,
}

/// A row to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewRow<'a> {
    /// The key, above that of the previous row.
    pub key: &'a [u8],
    /// The planes of the signature.
    pub planes: &'a [u64],
    /// Its cardinality code.
    pub code: u32,
    /// Whether this is the empty set.
    pub empty: bool,
    /// The difference between its sequence and the segment's first sequence.
    pub sequence: u64,
    /// The encoded set, if the scheme keeps sets.
    pub set: &'a [u8],
    /// The value, if it has one.
    pub value: Option<&'a [u8]>,
}

/// A segment that is being written.
#[derive(Debug)]
pub struct SegmentWriter {
    plan: SegmentPlan,
    seal: Seal,
    shape: SignatureShape,
    signatures: Spill,
    /// The signatures of the page that is not full yet.
    planes: Vec<u64>,
    codes: Vec<u32>,
    known: Known,
    keys: Spill,
    leaf: LeafBuilder,
    hashes: Vec<KeyHash>,
    last_key: Vec<u8>,
    fences: Vec<Level>,
    duplicates: SortedSpill,
    postings: PostingsWriter,
    elements: Option<RecordWriter>,
    /// `None` until a row has a value.
    values: Option<RecordWriter>,
    /// An encoded value.
    encoded: Vec<u8>,
    rows: u32,
    ids: u32,
    empty_id: Option<u32>,
    last_sequence: u64,
    key_bytes: u64,
}

impl SegmentWriter {
    /// Starts a segment.
    pub fn new(plan: SegmentPlan) -> SegmentWriter {
        SegmentWriter {
            seal: Seal::of(plan.database),
            shape: SignatureShape::of(&plan.scheme),
            signatures: Spill::new(&plan.spill),
            planes: Vec::new(),
            codes: Vec::new(),
            known: Known::default(),
            keys: Spill::new(&plan.spill),
            leaf: LeafBuilder::new(0, 0),
            hashes: Vec::new(),
            last_key: Vec::new(),
            fences: Vec::new(),
            duplicates: SortedSpill::new(&plan.spill),
            postings: PostingsWriter::new(&plan.scheme, &plan.spill),
            elements: RecordWriter::of_sets(&plan),
            values: None,
            encoded: Vec::new(),
            rows: 0,
            ids: 0,
            empty_id: None,
            last_sequence: 0,
            key_bytes: 0,
            plan,
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Adds a row.
    pub fn push(&mut self, row: NewRow<'_>) -> Result<()> {
        if self.rows == MAX_ROWS {
            return Err(Error::invalid("rows of a segment", format!("at most {MAX_ROWS}")));
        }
        // Rows of a merge or a repair come from a file, which may be forged, so the order is checked.
        let last = match self.leaf.count().checked_sub(1) {
            Some(last) => self.leaf.key(last),
            None => &self.last_key,
        };
        if row.key <= last {
            let detail = format!("row {} is out of order", self.rows);
            return Err(broken("leaf page", "LEAF-7", 0, detail));
        }
        let known = self.known_id(&row)?;
        let most = PageKind::Leaf.max_payload();
        if self.leaf.payload_bytes_with(row.key, row.sequence, known.is_some()) > most {
            self.flush_leaf()?;
        }
        self.leaf.push(row.key, row.sequence, known);
        self.hashes.push(KeyHash::of(row.key));
        match known {
            Some(id) => self.duplicates.push(Pair::new(id, self.rows).order())?,
            None => self.push_signature(&row)?,
        }
        self.push_value(row.value)?;
        self.last_sequence = self.last_sequence.max(row.sequence);
        self.key_bytes += row.key.len() as u64;
        self.rows += 1;
        Ok(())
    }

    fn leaf_key(&self) -> Vec<u8> {
        match self.leaf.count().checked_sub(1) {
            Some(last) => self.leaf.key(last).to_vec(),
            None => self.last_key.clone(),
        }
    }

    /// Returns the id of an equal signature that was written before.
    fn known_id(&self, row: &NewRow<'_>) -> Result<Option<u32>> {
        if row.empty {
            return Ok(self.empty_id);
        }
        let mut failed = Ok(());
        let found = self.known.find(hash_of(row), row.code, |id| match self.is_equal(id, row) {
            Ok(equal) => equal,
            Err(error) => {
                failed = Err(error);
                false
            }
        });
        failed.map(|()| found)
    }

    /// Compares a row with the signature and set of an earlier id.
    fn is_equal(&self, id: u32, row: &NewRow<'_>) -> Result<bool> {
        Ok(self.has_planes(id, row)?
            && self.elements.as_ref().map_or(Ok(true), |sets| sets.is_equal(id, row.set))?)
    }

    fn has_planes(&self, id: u32, row: &NewRow<'_>) -> Result<bool> {
        let words = self.shape.words();
        let first_open = self.ids - self.codes.len() as u32;
        if let Some(i) = id.checked_sub(first_open).map(|i| i as usize) {
            let planes = &self.planes[i * words..][..words];
            return Ok(planes == row.planes);
        }
        let per_page = self.shape.per_page();
        let bytes = self.shape.page_bytes(per_page);
        let start = u64::from(id / per_page) * bytes + HEADER_BYTES as u64;
        let (first, rest) = self.shape.place_in_page(id % per_page, per_page);
        let mut planes = vec![0_u64; words];
        let (a, b) = planes.split_at_mut(first.1 / 8);
        self.signatures.read(a.as_mut_bytes(), start + first.0 as u64)?;
        self.signatures.read(b.as_mut_bytes(), start + rest.0 as u64)?;
        Ok(planes.iter().zip(row.planes).all(|(a, b)| u64::from_le(*a) == *b))
    }

    fn push_signature(&mut self, row: &NewRow<'_>) -> Result<()> {
        if row.empty {
            self.empty_id = Some(self.ids);
        } else {
            self.known.insert(hash_of(row), row.code, self.ids);
        }
        self.planes.extend_from_slice(row.planes);
        self.codes.push(row.code);
        self.postings.push(row.planes)?;
        if let Some(elements) = &mut self.elements {
            elements.push(row.set)?;
        }
        self.ids += 1;
        if self.codes.len() == self.shape.per_page() as usize {
            self.flush_signatures()?;
        }
        Ok(())
    }

    /// Adds the value of the next row. Rows before the first value have none.
    fn push_value(&mut self, value: Option<&[u8]>) -> Result<()> {
        self.encoded.clear();
        if self.values.is_none() && value.is_some() {
            let mut values = RecordWriter::new(&self.plan, Records::Values);
            value::encode(None, &mut self.encoded);
            (0..self.rows).try_for_each(|_| values.push(&self.encoded))?;
            self.encoded.clear();
            self.values = Some(values);
        }
        let Some(values) = &mut self.values else { return Ok(()) };
        value::encode(value, &mut self.encoded);
        values.push(&self.encoded)
    }

    fn flush_signatures(&mut self) -> Result<()> {
        if self.codes.is_empty() {
            return Ok(());
        }
        let planes = self.planes.chunks_exact(self.shape.words());
        let payload = signature_page::encode(self.shape, planes.zip(self.codes.iter().copied()));
        let place = self.place(PageKind::Signatures, self.signatures.length())?;
        self.signatures.push(&page::encode(place, &payload, self.seal))?;
        self.planes.clear();
        self.codes.clear();
        Ok(())
    }

    /// Returns the place of a page that starts at byte `start` of its region.
    fn place(&self, kind: PageKind, start: u64) -> Result<PagePlace> {
        place_at(kind, self.plan.extent, start)
    }

    /// Writes the leaf page and adds it to the fences.
    fn flush_leaf(&mut self) -> Result<()> {
        let place = self.place(PageKind::Leaf, self.keys.length())?;
        self.keys.push(&page::encode(place, &self.leaf.encode(), self.seal))?;
        let child = Child {
            page: place.number,
            first_row: self.leaf.first_row(),
            first_id: self.leaf.first_id(),
        };
        let first = child.first_row == 0;
        let bound = if first { &[][..] } else { separator(&self.last_key, self.leaf.key(0)) };
        let fence = Fence { child, separator: bound.into(), filter: filter::build(&self.hashes) };
        self.last_key = self.leaf_key();
        self.leaf = LeafBuilder::new(self.rows, self.ids);
        self.hashes.clear();
        self.push_fence(1, fence)
    }

    /// Adds a child to a level of fences. A level that outgrows one root page is split into inner pages, which
    /// become children of the level above.
    fn push_fence(&mut self, level: usize, fence: Fence) -> Result<()> {
        if self.fences.len() < level {
            self.fences.push(Level::default());
        }
        let open = &mut self.fences[level - 1];
        open.bytes += fence.bytes();
        open.pending.push(fence);
        let most =
            if open.cut { INNER_BYTES } else { PageKind::Fence.max_bytes() } - HEADER_BYTES - 8;
        if open.bytes <= most {
            return Ok(());
        }
        open.cut = true;
        let last = open.pending.pop().expect("just pushed");
        let pending = std::mem::take(&mut open.pending);
        open.bytes = last.bytes();
        open.pending.push(last);
        self.write_fences(level, pending)
    }

    /// Writes fences of a level as inner pages, and adds those to the level above.
    fn write_fences(&mut self, level: usize, fences: Vec<Fence>) -> Result<()> {
        let mut open = FenceBuilder::default();
        for fence in fences {
            let bytes = open.payload_bytes_with(&fence.separator, &fence.filter);
            if bytes > INNER_BYTES - HEADER_BYTES {
                self.write_fence_page(level, &std::mem::take(&mut open))?;
            }
            open.push(fence.child, &fence.separator, &fence.filter);
        }
        self.write_fence_page(level, &open)
    }

    fn write_fence_page(&mut self, level: usize, page: &FenceBuilder) -> Result<()> {
        let number = self.write_root(level, page)?;
        let first = page.first().expect("a page of fences has a child");
        let child = Child { page: number, ..first };
        let separator = page.first_separator().into();
        self.push_fence(level + 1, Fence { child, separator, filter: Vec::new() })
    }

    fn write_root(&mut self, level: usize, fences: &FenceBuilder) -> Result<u32> {
        let place = self.place(PageKind::Fence, self.keys.length())?;
        let payload = fences.encode(level as u8);
        self.keys.push(&page::encode(place, &payload, self.seal))?;
        Ok(place.number)
    }

    /// Finishes the segment. Returns `None` if it has no rows.
    pub fn finish(mut self) -> Result<Option<NewSegment>> {
        if self.rows == 0 {
            return Ok(None);
        }
        // No more rows will be compared, so free the table before postings need memory.
        self.known = Known::default();
        self.flush_signatures()?;
        self.flush_leaf()?;
        let mut level = 1;
        let root_page = loop {
            let open = std::mem::take(&mut self.fences[level - 1]);
            if !open.cut {
                let mut root = FenceBuilder::default();
                open.pending.iter().for_each(|f| root.push(f.child, &f.separator, &f.filter));
                break self.write_root(level, &root)?;
            }
            self.fences[level - 1].cut = true;
            self.write_fences(level, open.pending)?;
            level += 1;
        };
        let duplicates =
            std::mem::replace(&mut self.duplicates, SortedSpill::new(&self.plan.spill));
        let duplicates =
            DuplicatesWriter::new(&self.plan, self.seal, self.rows - self.ids).write(duplicates)?;
        let postings =
            self.postings.finish(self.plan.extent, self.seal, self.ids, self.empty_id)?;
        let elements = self.elements.map(RecordWriter::finish).transpose()?;
        let values = self.values.map(RecordWriter::finish).transpose()?;
        let signatures = Region { offset: HEADER_PAGE_BYTES, length: self.signatures.length() };
        let keys = Region { offset: signatures.end(), length: self.keys.length() };
        let duplicates_region = Region { offset: keys.end(), length: duplicates.length() };
        let postings_region = Region { offset: duplicates_region.end(), length: postings.length() };
        let mut end = postings_region.end();
        let [kept, valued] = [&elements, &values].map(|records| {
            let records = records.as_ref()?;
            let region = Region { offset: end, length: records.pages.length() };
            end = region.end();
            Some(RecordRegion { region, bytes: records.bytes })
        });
        let header = SegmentHeader {
            database: self.plan.database,
            scheme: (*self.plan.scheme).clone(),
            length: end,
            first_sequence: 0,
            last_sequence: self.last_sequence,
            rows: self.rows,
            ids: self.ids,
            empty_id: self.empty_id,
            signatures,
            keys,
            duplicates: duplicates_region,
            key_bytes: self.key_bytes,
            root_page,
            root_level: level as u8,
            postings: postings_region,
            short_postings: postings.short,
            long_lists: postings.lists,
            elements: kept,
            values: valued,
        };
        let parts = [self.signatures, self.keys, duplicates].into_iter().chain(postings.parts);
        let records = elements.into_iter().chain(values).map(|records| records.pages);
        let parts = parts.chain(records).collect();
        Ok(Some(NewSegment { extent: self.plan.extent, seal: self.seal, header, parts }))
    }
}

/// Hashes the planes and the set of a row.
fn hash_of(row: &NewRow<'_>) -> u64 {
    let planes = xxh3_64(row.planes.as_bytes());
    if row.set.is_empty() { planes } else { planes ^ xxh3_64(row.set).rotate_left(32) }
}

/// A child of a fence page that is not written yet.
#[derive(Debug)]
struct Fence {
    child: Child,
    separator: Box<[u8]>,
    filter: Vec<u8>,
}

impl Fence {
    fn bytes(&self) -> usize {
        20 + self.separator.len() + self.filter.len()
    }
}

/// One level of fences. It becomes the root unless it is split.
#[derive(Debug, Default)]
struct Level {
    pending: Vec<Fence>,
    bytes: usize,
    cut: bool,
}

/// A finished segment without an offset. Its first sequence can still be set.
#[derive(Debug)]
pub struct NewSegment {
    extent: u64,
    seal: Seal,
    header: SegmentHeader,
    /// All regions, in order.
    parts: Vec<Spill>,
}

impl NewSegment {
    /// Returns the number of its extent.
    pub fn extent(&self) -> u64 {
        self.extent
    }

    /// Returns its length in bytes.
    pub fn length(&self) -> u64 {
        self.header.length
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.header.rows
    }

    /// Sets the sequence that the sequence offsets of its rows are relative to.
    pub fn set_first_sequence(&mut self, first: u64) {
        self.header.last_sequence += first - self.header.first_sequence;
        self.header.first_sequence = first;
    }

    /// Writes the segment into a file at `offset`, and returns its manifest entry. Does not sync.
    pub fn write_to(&self, file: &dyn File, path: &Path, offset: u64) -> Result<SegmentEntry> {
        let place = PagePlace { kind: PageKind::SegmentHeader, extent: self.extent, number: 0 };
        let header = page::encode(place, &self.header.encode(), self.seal);
        file.write_all_at(&header, offset).map_err(|error| Error::io("write to", path, error))?;
        let mut at = offset + header.len() as u64;
        for part in &self.parts {
            at = part.copy_to(file, path, at)?;
        }
        debug_assert_eq!(at, offset + self.header.length);
        Ok(SegmentEntry {
            id: self.extent,
            offset,
            length: self.header.length,
            header_checksum: page::checksum_of(&header),
            rows: self.header.rows,
            live_rows: self.header.rows,
            tombstones: None,
        })
    }
}
