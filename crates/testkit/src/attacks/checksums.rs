//! Recomputes checksums, of single records and of a whole database file from its pages up to its superblocks.
//!
//! In: bytes that were changed. Out: the same bytes with a correct checksum wherever the structure leads. A reader
//! then meets forged values that a checksum would otherwise have caught. Nothing else is repaired.

use std::collections::BTreeSet;
use std::ops::Range;

use ringer::internals::format::bytes::{Seal, round_up};
use ringer::internals::format::duplicates_page;
use ringer::internals::format::fence_page::FencePage;
use ringer::internals::format::log_part::{LogId, PART_HEADER};
use ringer::internals::format::manifest::Manifest;
use ringer::internals::format::page::{HEADER_BYTES, Page, PageKind, PagePlace};
use ringer::internals::format::segment_header::{self, Region, SegmentHeader};
use ringer::internals::format::signature_page::SignatureShape;
use ringer::internals::format::superblock::{self, Slot, Superblock};
use ringer::internals::format::tombstone_page;

/// Returns the first N bytes of a slice.
fn start<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.first_chunk::<N>().copied()
}

/// Computes the CRC-32 of bytes without a seal. It equals that of the rest, sealed with the first sixteen bytes.
fn plain(bytes: &[u8]) -> u32 {
    let (id, rest) = bytes.split_first_chunk::<16>().expect("no record is so short");
    Seal::of(*id).checksum(rest)
}

/// Sets the checksum of a superblock.
pub fn superblock(block: &mut [u8; 4096]) {
    let checksum = plain(&block[..4092]).to_le_bytes();
    block[4092..].copy_from_slice(&checksum);
}

/// Sets the checksum of a commit mark.
pub fn mark(bytes: &mut [u8], seal: Seal) {
    if bytes.len() >= 32 {
        let checksum = seal.checksum(&bytes[..28]).to_le_bytes();
        bytes[28..32].copy_from_slice(&checksum);
    }
}

/// Sets and returns the checksum of a manifest.
pub fn manifest(bytes: &mut [u8]) -> Option<u32> {
    let id: [u8; 16] = start(bytes.get(16..)?)?;
    let (body, last) = bytes.split_last_chunk_mut::<4>()?;
    let checksum = Seal::of(id).checksum(body);
    *last = checksum.to_le_bytes();
    Some(checksum)
}

/// Sets the checksum of a log id.
pub fn log_id(bytes: &mut [u8]) {
    if bytes.len() >= 44 {
        let database: [u8; 16] = start(&bytes[16..]).expect("it is long enough");
        let covered = [&bytes[32..40], &bytes[..40]].concat();
        let checksum = Seal::of(database).checksum(&covered).to_le_bytes();
        bytes[40..44].copy_from_slice(&checksum);
    }
}

/// Sets the checksums of consecutive commit parts.
pub fn log_parts(mut bytes: &mut [u8], id: LogId) {
    while bytes.len() >= PART_HEADER {
        let length = u32::from_le_bytes(start(&bytes[4..]).expect("it is long enough")) as usize;
        let Some(whole) = length.checked_add(PART_HEADER).filter(|w| *w <= bytes.len()) else {
            return;
        };
        let (part, rest) = bytes.split_at_mut(whole);
        let covered = [&id.number.to_le_bytes(), &part[4..]].concat();
        let checksum = Seal::of(id.database).checksum(&covered).to_le_bytes();
        part[..4].copy_from_slice(&checksum);
        bytes = rest;
    }
}

/// Sets all checksums of a file. Returns the places of all records and pages that it visited.
pub fn file(bytes: &mut [u8]) -> Vec<Range<usize>> {
    let mut file = File { bytes, places: Vec::new(), segments: BTreeSet::new() };
    for slot in 0..2 {
        file.superblock(slot);
    }
    for slot in 0..2 {
        if let Some(found) = file.valid(slot) {
            file.state(&found);
        }
    }
    file.other_segments();
    file.places
}

struct File<'a> {
    bytes: &'a mut [u8],
    places: Vec<Range<usize>>,
    /// Offsets of the segments that were visited.
    segments: BTreeSet<u64>,
}

impl File<'_> {
    fn superblock(&mut self, slot: usize) {
        let (at, magic) = (4096 * slot, superblock::MAGIC);
        let Some(block) = self.bytes.get_mut(at..).and_then(|b| b.first_chunk_mut::<4096>()) else {
            return;
        };
        if block.starts_with(&magic) {
            superblock(block);
            self.place(at..at + 104);
        }
    }

    fn place(&mut self, place: Range<usize>) {
        if !self.places.contains(&place) {
            self.places.push(place);
        }
    }

    fn valid(&self, slot: usize) -> Option<Superblock> {
        let block = self.bytes.get(4096 * slot..4096 * (slot + 1))?;
        match Superblock::decode(block) {
            Slot::Valid(superblock) => Some(superblock),
            _ => None,
        }
    }

    /// Visits everything that one superblock refers to.
    fn state(&mut self, state: &Superblock) {
        let seal = Seal::of(state.database);
        let place = self.bytes.get_mut(8192..8224);
        if let Some(bytes) = place.filter(|bytes| bytes.starts_with(b"RINGMARK")) {
            mark(bytes, seal);
            self.place(8192..8224);
        }
        let at = usize::try_from(state.manifest_offset).unwrap_or(usize::MAX);
        let range = at..at.saturating_add(state.manifest_length as usize);
        let Some(bytes) = self.bytes.get_mut(range.clone()) else { return };
        manifest(bytes);
        let decoded = Manifest::decode(bytes, state.end_of_data);
        self.place(range.start..range.end.min(range.start + 112));
        for (i, entry) in decoded.iter().flat_map(|m| &m.segments).enumerate() {
            let entry_at = range.start + 112 + 64 * i;
            self.place(entry_at..entry_at + 64);
            if let Some(checksum) = self.segment(entry.offset, entry.id, seal) {
                self.bytes[entry_at + 24..][..4].copy_from_slice(&checksum.to_le_bytes());
            }
            for i in 0..tombstone_page::page_count(entry.rows) {
                let Some(tombstones) = entry.tombstones else { break };
                let place = tombstone_page::place(tombstones.id, i);
                let at = tombstones.offset.saturating_add(u64::from(place.number) * 64);
                if self.page(at, place.kind, seal).is_none() {
                    break;
                }
            }
        }
        let Some(checksum) = manifest(&mut self.bytes[range]) else { return };
        for slot in 0..2 {
            if self.valid(slot).is_some_and(|s| s.manifest_offset == state.manifest_offset) {
                self.bytes[4096 * slot + 68..][..4].copy_from_slice(&checksum.to_le_bytes());
                self.superblock(slot);
            }
        }
    }

    /// Visits segments that no manifest names. A salvage may still find them.
    fn other_segments(&mut self) {
        for at in (12_288..self.bytes.len()).step_by(64) {
            let Some(head) = self.bytes.get(at..).and_then(start::<96>) else { break };
            if head[24..32] == segment_header::MAGIC && !self.segments.contains(&(at as u64)) {
                let own = start(&head[32..]).expect("it is long enough");
                let id = u64::from_le_bytes(start(&head[8..]).expect("it is long enough"));
                self.segment(at as u64, id, Seal::of(own));
            }
        }
    }

    /// Sets and returns the checksum of the page at an offset.
    fn page(&mut self, at: u64, kind: PageKind, seal: Seal) -> Option<u32> {
        let at = usize::try_from(at).ok()?;
        let header: [u8; HEADER_BYTES] = start(self.bytes.get(at..)?)?;
        let length = u32::from_le_bytes(start(&header[20..])?) as usize;
        let whole = round_up(HEADER_BYTES.saturating_add(length));
        if whole > kind.max_bytes() || whole > self.bytes.len() - at {
            return None;
        }
        let checksum = seal.checksum(&self.bytes[at + 4..at + whole]);
        self.bytes[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
        self.place(at..at + HEADER_BYTES + length);
        Some(checksum)
    }

    /// Sets the checksums of a segment. Returns that of its header.
    fn segment(&mut self, offset: u64, id: u64, seal: Seal) -> Option<u32> {
        self.segments.insert(offset);
        let checksum = self.page(offset, PageKind::SegmentHeader, seal)?;
        let at = usize::try_from(offset).ok()?;
        let length = u32::from_le_bytes(start(&self.bytes[at + 20..])?) as usize;
        let payload = self.bytes.get(at + HEADER_BYTES..at + HEADER_BYTES + length)?;
        let Ok(header) = SegmentHeader::decode(payload) else { return Some(checksum) };
        let shape = SignatureShape::of(&header.scheme);
        let start = offset.saturating_add(header.signatures.offset);
        for page in 0..header.ids.div_ceil(shape.per_page()) {
            let at = start.saturating_add(u64::from(page) * shape.page_bytes(shape.per_page()));
            if self.page(at, PageKind::Signatures, seal).is_none() {
                break;
            }
        }
        self.run(offset, header.keys, PageKind::Fence, seal);
        let root = (header.root_page, header.root_level);
        self.fences(offset.saturating_add(header.keys.offset), id, root, seal);
        let start = offset.saturating_add(header.duplicates.offset);
        let duplicates = header.duplicate_count();
        let pairs =
            (0..duplicates_page::page_count(duplicates)).map(|i| duplicates_page::place(id, i));
        let directory = (0..duplicates_page::directory_count(duplicates))
            .map(|i| duplicates_page::directory_place(id, duplicates, i));
        for place in pairs.chain(directory) {
            let at = start.saturating_add(u64::from(place.number) * 64);
            if self.page(at, place.kind, seal).is_none() {
                break;
            }
        }
        self.run(offset, header.postings, PageKind::PostingList, seal);
        if let Some(kept) = header.elements {
            self.run(offset, kept.region, PageKind::Elements, seal);
        }
        if let Some(values) = header.values {
            self.run(offset, values.region, PageKind::Values, seal);
        }
        Some(checksum)
    }

    /// Visits the consecutive pages of a region: leaves, and pages of kind `other`.
    fn run(&mut self, segment: u64, region: Region, other: PageKind, seal: Seal) {
        let mut at = segment.saturating_add(region.offset);
        let end = at.saturating_add(region.length).min(self.bytes.len() as u64);
        while at < end {
            let kind = self.bytes.get(at as usize + 4).copied();
            let kind = if kind == Some(3) { PageKind::Leaf } else { other };
            at += match self.page(at, kind, seal) {
                Some(_) => {
                    let length = &self.bytes[at as usize + 20..][..4];
                    let length = length.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
                    round_up(HEADER_BYTES + length) as u64
                }
                None => 64,
            };
        }
    }

    /// Visits the fences from the root down and the leaves below them, wherever they point.
    fn fences(&mut self, region: u64, id: u64, root: (u32, u8), seal: Seal) {
        let mut seen = BTreeSet::new();
        let mut open = vec![root];
        while let Some((number, level)) = open.pop() {
            let at = region.saturating_add(u64::from(number) * 64);
            if !seen.insert((number, level)) || seen.len() > 4096 {
                continue;
            }
            let kind = if level == 0 { PageKind::Leaf } else { PageKind::Fence };
            let place = PagePlace { kind, extent: id, number };
            let bytes = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..));
            let bytes = bytes.map(|bytes| &bytes[..bytes.len().min(kind.max_bytes())]);
            let page = bytes.map(|bytes| Page::verify(bytes.into(), place, seal));
            match page {
                None => {}
                Some(Err(_)) => drop(self.page(at, kind, seal)),
                Some(Ok(page)) if level > 0 => {
                    if let Ok(fence) = FencePage::new(page, level) {
                        let children = (0..fence.count()).filter_map(|i| fence.child(i));
                        open.extend(children.map(|child| (child.page, level - 1)));
                    }
                }
                Some(Ok(_)) => {}
            }
        }
    }
}
