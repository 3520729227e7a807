//! Attacks with pages of every kind, both as raw bytes and as a payload behind a valid header.
//!
//! A view that accepts a page must answer any question, in and out of range. If a page has one form, it encodes to
//! the same bytes; otherwise the encoded page must mean the same.

use ringer::internals::format::bytes::Seal;
use ringer::internals::format::duplicates_page::{DuplicatesDirectory, DuplicatesPage};
use ringer::internals::format::fence_page::{self, FenceBuilder, FencePage};
use ringer::internals::format::filter::{self, KeyHash};
use ringer::internals::format::kept_set::KeptShape;
use ringer::internals::format::leaf_page::{LeafBuilder, LeafPage};
use ringer::internals::format::page::{Line, Page, PageKind, PagePlace, encode};
use ringer::internals::format::posting_directory::{
    BitWriter, Bucket, PostingDirectory, ShortPage,
};
use ringer::internals::format::posting_lists::{
    ListPage, ListPageBuilder, ListPlace, ListTable, TableEntry,
};
use ringer::internals::format::posting_shape::PostingShape;
use ringer::internals::format::record_pages::{RecordDirectory, RecordPage, RecordShape, Records};
use ringer::internals::format::segment_header::SegmentHeader;
use ringer::internals::format::signature_page::{self, SignaturePage, SignatureShape};
use ringer::internals::format::tombstone_page::{self, TombstonePage};
use ringer::internals::format::value;

use ringer::scheme::Slots;
use ringer::{Scheme, presets};

use super::input::Input;
use super::records::scheme;

/// The kinds that the first byte selects. The kinds of values are 252 and 253 instead, those of kept sets 254 and 255.
const KINDS: [PageKind; 11] = [
    PageKind::SegmentHeader,
    PageKind::Signatures,
    PageKind::Leaf,
    PageKind::Fence,
    PageKind::Tombstones,
    PageKind::Duplicates,
    PageKind::DuplicatesDirectory,
    PageKind::PostingDirectory,
    PageKind::ShortPostings,
    PageKind::PostingTable,
    PageKind::PostingList,
];

/// What the page claims to belong to.
#[derive(Clone, Copy)]
struct Claims {
    scheme: u8,
    /// Rows of the segment, or rows, pairs or ids of the page.
    rows: u32,
    ids: u32,
    /// An arbitrary number to ask with.
    any: u32,
}

/// Runs the attack. The first byte is the kind and the next bytes are the claims. The rest is tried as a page and as
/// a payload.
pub fn pages(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let kind = match input.byte() {
        252 => PageKind::Values,
        253 => PageKind::ValuesDirectory,
        254 => PageKind::Elements,
        255 => PageKind::ElementsDirectory,
        choice => KINDS[usize::from(choice) % KINDS.len()],
    };
    let (scheme, rows, ids, any) = (input.byte(), input.word(), input.word(), input.word());
    let claims = Claims { scheme, rows, ids, any };
    let place = PagePlace { kind, extent: 5, number: 0 };
    let seal = Seal::of([7; 16]);
    if let Ok(page) = Page::verify(input.rest().into(), place, seal) {
        look(kind, page, claims);
    }
    let payload = &input.rest()[..input.rest().len().min(kind.max_payload())];
    let page = Page::verify(encode(place, payload, seal)[..].into(), place, seal);
    let page = page.expect("what is encoded verifies");
    assert_eq!(page.payload(), payload);
    look(kind, page, claims);
}

fn look(kind: PageKind, page: Page, claims: Claims) {
    // The reference counters take one line.
    assert!(page.memory() <= kind.max_bytes() + size_of::<Line>() + size_of::<Page>());
    match kind {
        PageKind::SegmentHeader => drop(SegmentHeader::decode(page.payload())),
        PageKind::Signatures => signatures(page, claims),
        PageKind::Leaf => leaf(page, claims),
        PageKind::Fence => fence(page, claims),
        PageKind::Tombstones => tombstones(page, claims),
        PageKind::Duplicates => duplicates(page, claims),
        PageKind::DuplicatesDirectory => directory(page, claims),
        PageKind::PostingDirectory => posting_directory(page, claims),
        PageKind::ShortPostings => short_postings(page, claims),
        PageKind::PostingTable => list_table(page, claims),
        PageKind::PostingList => posting_list(page, claims),
        PageKind::Elements => sets(&page, claims),
        PageKind::ElementsDirectory => directory_of(Records::Sets, page, claims),
        PageKind::Values => values(&page, claims),
        PageKind::ValuesDirectory => directory_of(Records::Values, page, claims),
    }
}

fn signatures(page: Page, claims: Claims) {
    let scheme = scheme(claims.scheme);
    let shape = SignatureShape::of(&scheme);
    let empty = (claims.any != 0).then_some(claims.any - claims.any.min(1));
    let empty = empty.filter(|empty| *empty < claims.rows);
    let payload = page.payload().to_vec();
    let Ok(view) = SignaturePage::new(page, shape, claims.rows, empty) else { return };
    assert_eq!(view.count(), claims.rows as usize);
    let mut all = Vec::new();
    for i in 0..view.count() {
        let is_empty = empty == Some(i as u32);
        let set = || scheme.elements.are_kept().then(|| [].into());
        let signature = view.signature(i, &scheme, is_empty, set()).expect("it is in range");
        let mut planes = Vec::new();
        assert_eq!(view.copy_planes(i, &mut planes), Some(()));
        assert_eq!(planes, signature.planes());
        assert!(shape.fits(&planes, view.code(i).expect("it is in range")));
        let _ = (signature.cardinality(), signature.sample(0));
        all.push(signature);
    }
    let again = all.iter().map(|s| (s.planes(), s.cardinality_code()));
    assert_eq!(signature_page::encode(shape, again), payload);
    for i in
        [view.count(), claims.any as usize, usize::MAX].into_iter().filter(|i| *i >= view.count())
    {
        assert_eq!((view.code(i), view.signature(i, &scheme, false, None)), (None, None));
    }
    let _ = (view.rows(&scheme), view.memory());
}

fn leaf(page: Page, claims: Claims) {
    let Ok(view) = LeafPage::new(page, claims.rows, claims.ids) else { return };
    let key_of = |view: &LeafPage, i| {
        let (prefix, suffix) = view.key(i);
        [prefix, suffix].concat()
    };
    let keys: Vec<Vec<u8>> = (0..view.count()).map(|i| key_of(&view, i)).collect();
    let rising = keys.is_sorted_by(|a, b| a < b);
    let mut builder = LeafBuilder::new(view.first_row(), view.first_id());
    let mut next = view.first_id();
    let mut bytes = 0;
    for (i, key) in keys.iter().enumerate() {
        assert!((1..=4096).contains(&key.len()) && view.id(i) < claims.ids);
        assert!(view.first_row() as usize + i < claims.rows as usize);
        let found = view.find(key);
        assert!(!rising || found == Ok(i));
        let duplicate = (view.id(i) < next).then(|| view.id(i));
        assert_eq!(view.is_new(i), duplicate.is_none());
        next += u32::from(duplicate.is_none());
        bytes = builder.payload_bytes_with(key, view.sequence_offset(i), duplicate.is_some());
        builder.push(key, view.sequence_offset(i), duplicate);
    }
    for i in [view.count(), claims.any as usize, usize::MAX] {
        let _ = (view.key(i), view.id(i), view.sequence_offset(i), view.is_new(i));
    }
    let _ = (view.first_with_id(claims.any), view.find(&claims.any.to_be_bytes()), view.find(b""));
    // Writers never produce keys that are not ascending (LEAF-7).
    if !rising {
        return;
    }
    // A page may have a shorter prefix and wider sequences than necessary. Encoding it again never makes it longer.
    let payload = builder.encode();
    assert_eq!(payload.len(), bytes);
    let place = PagePlace { kind: PageKind::Leaf, extent: 5, number: 0 };
    let seal = Seal::of([7; 16]);
    let page = Page::verify(encode(place, &payload, seal)[..].into(), place, seal);
    let again = LeafPage::new(page.expect("it is no longer"), claims.rows, claims.ids);
    let again = again.expect("what was written can be read");
    for (i, key) in keys.iter().enumerate() {
        assert_eq!(key_of(&again, i), *key);
        assert_eq!((again.id(i), again.sequence_offset(i)), (view.id(i), view.sequence_offset(i)));
    }
}

fn fence(page: Page, claims: Claims) {
    let level = claims.scheme;
    let payload = page.payload().to_vec();
    let Ok(view) = FencePage::new(page, level) else { return };
    assert_eq!((view.level(), view.count() > 0), (level, true));
    let mut builder = FenceBuilder::default();
    let hash = KeyHash::of(&claims.any.to_le_bytes());
    for i in 0..view.count() {
        let child = view.child(i).expect("it is in range");
        let _ = filter::may_contain(view.filter(i), hash);
        assert_eq!(view.child_for_row(child.first_row), i);
        assert!(view.child_for_key(view.separator(i)) < view.count());
        assert!(view.child_for_id(child.first_id) >= i);
        builder.push(child, view.separator(i), view.filter(i));
        if i > 0 {
            let (before, here) = (view.separator(i - 1), view.separator(i));
            let short = fence_page::separator(before, here);
            assert!(here.starts_with(short) && (before >= here || short > before));
        }
    }
    assert_eq!(builder.encode(level), payload);
    for i in [view.count(), claims.any as usize, usize::MAX] {
        let _ = (view.child(i), view.separator(i), view.filter(i));
    }
    let any = claims.any;
    for i in
        [view.child_for_row(any), view.child_for_id(any), view.child_for_key(&any.to_le_bytes())]
    {
        assert!(i < view.count());
    }
}

fn tombstones(page: Page, claims: Claims) {
    let payload = page.payload().to_vec();
    let Ok(view) = TombstonePage::new(page, claims.rows) else { return };
    let rows = claims.rows;
    let dead = (0..rows).filter(|row| view.contains(*row)).count();
    assert_eq!((view.count() as usize, view.bitmap()), (dead, &*payload));
    for row in
        [rows, claims.any, u32::MAX].into_iter().filter(|row| *row >= rows.next_multiple_of(8))
    {
        assert!(view.contains(row));
    }
    let bytes = tombstone_page::encode_bitmap(5, rows, &payload, Seal::of([7; 16]));
    assert_eq!(bytes.len() as u64, tombstone_page::bitmap_bytes(rows));
}

fn duplicates(page: Page, claims: Claims) {
    let count = (page.payload().len() / 8) as u32;
    let wrong = DuplicatesPage::new(page.clone(), claims.any, claims.ids, claims.rows);
    assert!(wrong.is_err() || claims.any == count);
    let Ok(view) = DuplicatesPage::new(page, count, claims.ids, claims.rows) else { return };
    assert_eq!(view.pairs().len(), count as usize);
    assert!(view.pairs().is_sorted_by_key(|pair| pair.order()));
    assert!(view.pairs().iter().all(|p| p.id() < claims.ids && p.row() < claims.rows));
}

fn directory(page: Page, claims: Claims) {
    let count = (page.payload().len() / 4) as u32;
    let wrong = DuplicatesDirectory::new(page.clone(), claims.any);
    assert!(wrong.is_err() || claims.any == count);
    if let Ok(view) = DuplicatesDirectory::new(page, count) {
        assert_eq!(view.first_ids().len(), count as usize);
    }
}

/// Returns the shape of postings with values of up to 32 bits.
fn posting_shape(claims: Claims) -> PostingShape {
    let (count, value_bits) = (u16::from(claims.scheme >> 5) + 1, claims.scheme % 32 + 1);
    let slots = Slots { count, samples_per_slot: 8, value_bits, min_matches: 1 };
    let p = presets::PRECISE.with_samples(64).with_bits(4).with_slots(slots);
    PostingShape::of(&Scheme::new(p).expect("a scheme that can be"), claims.ids.max(1), false)
}

fn posting_directory(page: Page, claims: Claims) {
    let (buckets, short) = (claims.any as usize % 23_000, u64::from(claims.rows));
    let counts = (short, claims.ids % 2);
    let Ok(view) = PostingDirectory::new(page, posting_shape(claims), buckets, counts) else {
        return;
    };
    let mut next = None;
    for i in 0..buckets {
        let Bucket::Short { first, count } = view.bucket(i) else { continue };
        assert!(next.is_none_or(|next| next == first), "entries follow each other");
        next = Some(first + u64::from(count));
        assert!(first + u64::from(count) <= short);
    }
    for i in [buckets, 22_860, usize::MAX] {
        assert!(!matches!(view.bucket(i), Bucket::Short { count: 1.., .. }));
    }
}

fn short_postings(page: Page, claims: Claims) {
    let (shape, count) = (posting_shape(claims), claims.any as usize % 70_000);
    let payload = page.payload().to_vec();
    let Ok(view) = ShortPage::new(page, shape, count) else { return };
    let mut bits = BitWriter::default();
    for i in 0..count {
        let entry = view.entry(i);
        bits.push(entry, shape.width());
        let low = entry >> shape.id_bits();
        assert!(view.id_of(i, low).is_some_and(|id| id < shape.ids()));
        assert_eq!(view.id_of(i, low + 1), None);
    }
    assert_eq!((bits.end(), view.count()), (&*payload, count));
    let _ = (view.entry(count), view.entry(usize::MAX), view.id_of(usize::MAX, 0));
}

fn list_table(page: Page, claims: Claims) {
    let (shape, count) = (posting_shape(claims), page.payload().len() / 16);
    let lists = (u64::from(claims.rows), u64::from(claims.any) << 6);
    assert!(ListTable::new(page.clone(), shape, count + 1, lists).is_err());
    let Ok(view) = ListTable::new(page, shape, count, lists) else { return };
    assert_eq!(view.entries().len(), count);
    assert!(view.entries().is_sorted_by_key(TableEntry::order));
    assert!(view.entries().iter().all(|entry| (1..=shape.ids()).contains(&entry.length())));
    assert!(view.entries().iter().all(|entry| u64::from(entry.page()) * 64 < lists.1));
}

fn posting_list(page: Page, claims: Claims) {
    let shape = posting_shape(claims);
    let payload = page.payload().to_vec();
    let Ok(view) = ListPage::new(page, shape) else { return };
    let (mut place, mut buffer, mut ids) = (ListPlace::default(), [0; 128], Vec::new());
    while let Some(block) = view.next_block(&mut place, &mut buffer) {
        ids.extend_from_slice(block);
    }
    assert!(ids.is_sorted_by(|a, b| a < b) && ids.len() == view.count() as usize);
    assert_eq!((ids.first(), ids.last()), (Some(&view.first()), Some(&view.last())));
    assert!(view.last() < shape.ids());
    let (blocks, tail) = ids.as_chunks::<128>();
    let mut builder = ListPageBuilder::default();
    assert!(blocks.iter().all(|block| builder.push(block, 8_168)));
    let (slot, value) = view.of();
    assert_eq!(builder.take(slot as u16, value, tail, shape.id_bits()), payload);
}

/// Decodes consecutive sets, starting from any byte. What decodes has exactly one encoding.
fn sets(page: &Page, claims: Claims) {
    let length = page.payload().len() as u64;
    assert!(RecordPage::new(page.clone(), Records::Sets, length + 1).is_err());
    let Ok(view) = RecordPage::new(page.clone(), Records::Sets, length) else { return };
    let Some(shape) = KeptShape::of(&scheme(claims.scheme | 192)) else { return };
    let mut rest = view.bytes().get(claims.any as usize % 8..).unwrap_or_default();
    let (mut elements, mut again) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        elements.clear();
        let Ok(length) = shape.decode(rest, &mut elements) else { break };
        again.clear();
        shape.encode(&elements, &mut again);
        assert_eq!((&*again, shape.encoded_bytes(&elements)), (&rest[..length], length));
        assert!(elements.is_sorted_by(|a, b| a < b));
        rest = &rest[length..];
    }
}

/// Decodes consecutive values, starting from any byte. What decodes has exactly one encoding.
fn values(page: &Page, claims: Claims) {
    let length = page.payload().len() as u64;
    assert!(RecordPage::new(page.clone(), Records::Values, length + 1).is_err());
    let Ok(view) = RecordPage::new(page.clone(), Records::Values, length) else { return };
    let mut rest = view.bytes().get(claims.any as usize % 8..).unwrap_or_default();
    let mut again = Vec::new();
    while !rest.is_empty() {
        let Ok((value, length)) = value::decode(rest) else { break };
        again.clear();
        value::encode(value, &mut again);
        assert_eq!((&*again, value::encoded_bytes(value)), (&rest[..length], length));
        rest = &rest[length..];
    }
}

fn directory_of(records: Records, page: Page, claims: Claims) {
    let count = (page.payload().len() / 5) as u32;
    let (first, bytes) = (claims.any % 2, u64::from(claims.rows) << 8);
    let shape = RecordShape { records, bytes, count: claims.ids };
    let Ok(view) = RecordDirectory::new(page, first, shape) else { return };
    assert_eq!(shape.starts_in_page(first), count);
    let starts: Vec<u64> = (0..).map_while(|i| view.start(i)).collect();
    assert!(starts.len() == count as usize && starts.is_sorted_by(|a, b| a < b));
    assert!(starts.iter().all(|start| *start < bytes));
    assert_eq!(view.start(usize::MAX), None);
}
