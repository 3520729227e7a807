//! The databases that attacks start from. They are stored as files, so that edits of them keep their meaning.
//! `RINGER_MAKE_SEEDS=1 cargo test --test forged fuzz_findings` writes them again, which changes the meaning of
//! existing edits.
//!
//! Closed databases: `segments` (three segments, hidden rows, equal and empty sets), `tall` (one segment of tiny
//! pages under three levels of fences, which no writer makes but every reader must accept), `odd` (a bounded
//! universe, 12 samples of 3 bits, sizes of 4 bits, long keys, long posting lists), `kept` (kept sets, one of them
//! over several pages). `unclean` was left by a killed writer: a segment, and commits in the write-ahead log. Its log
//! is a separate seed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ringer::internals::format::bytes::Seal;
use ringer::internals::format::duplicates_page::{self, Pair};
use ringer::internals::format::fence_page::{Child, FenceBuilder, separator};
use ringer::internals::format::filter::{self, KeyHash};
use ringer::internals::format::leaf_page::LeafBuilder;
use ringer::internals::format::manifest::{ExtentEntry, Manifest, SegmentEntry};
use ringer::internals::format::page::{self, PageKind, PagePlace};
use ringer::internals::format::segment_header::{Region, SegmentHeader};
use ringer::internals::format::signature_page::{self, SignatureShape};
use ringer::internals::format::superblock::Superblock;
use ringer::internals::format::tombstone_page;
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::internals::store::segment::postings::PostingsWriter;
use ringer::internals::store::spill::SpillPlace;
use ringer::scheme::{CardinalityField, Elements, Sampler, Slots, Universe};
use ringer::{Database, Options, Scheme, Signature, Sketcher, presets};

/// The closed databases by name.
pub const CLOSED: [(&str, &[u8]); 4] = [
    ("segments", include_bytes!("seeds/segments.ringer")),
    ("tall", include_bytes!("seeds/tall.ringer")),
    ("odd", include_bytes!("seeds/odd.ringer")),
    ("kept", include_bytes!("seeds/kept.ringer")),
];

/// The file that a killed writer left.
pub const UNCLEAN: &[u8] = include_bytes!("seeds/unclean.ringer");

/// The write-ahead log beside it.
pub const UNCLEAN_LOG: &[u8] = include_bytes!("seeds/unclean.log");

/// The path of the database under attack.
pub const PATH: &str = "/corpus.ringer";

/// The options of attacks: little memory and no threads.
pub fn options() -> Options {
    Options::default()
        .with_cache_bytes(1 << 20)
        .with_build_bytes(1 << 20)
        .with_memtable_rows(500)
        .with_background(false)
        .with_merge(false)
}

/// Returns key `n` of the seeds.
pub fn key(n: u64) -> Vec<u8> {
    let mut key = format!("key{:03}", n * 7 % 500).into_bytes();
    key.extend(std::iter::repeat_n(b'x', [0, 3, 40][n as usize % 3]));
    key
}

/// Returns set `n` of the seeds. Some are empty, some are equal.
fn set(n: u64) -> Vec<u64> {
    match n % 10 {
        0 => Vec::new(),
        1 => vec![7, 8, 9],
        _ => (n * 100..n * 100 + 5 + n % 5).collect(),
    }
}

fn plain_scheme() -> Scheme {
    let slots = Slots { count: 16, samples_per_slot: 2, value_bits: 4, min_matches: 1 };
    let p = presets::PRECISE.with_samples(64).with_bits(2).with_slots(slots);
    Scheme::new(p).expect("a scheme that can be")
}

fn create(scheme: &Scheme) -> (MemoryFiles, Database) {
    let layer = MemoryFiles::new();
    let shared: Arc<dyn FileLayer> = Arc::new(layer.clone());
    let db = Database::create_in(shared, Path::new(PATH), scheme, options());
    (layer, db.expect("a new database"))
}

/// Builds all seeds again: file name and bytes.
pub fn make() -> Vec<(&'static str, Vec<u8>)> {
    let (unclean, log) = unclean();
    vec![
        ("segments.ringer", segments()),
        ("tall.ringer", tall()),
        ("odd.ringer", odd()),
        ("kept.ringer", kept()),
        ("unclean.ringer", unclean),
        ("unclean.log", log),
    ]
}

fn segments() -> Vec<u8> {
    let (layer, db) = create(&plain_scheme());
    for part in 0..3 {
        let mut batch = db.batch();
        for n in part * 25..part * 25 + 30 {
            batch.put(key(n), &set(n + part)).expect("a set");
        }
        for n in (0..part * 20).step_by(6) {
            batch.delete(key(n)).expect("a key");
        }
        db.commit(batch).expect("a commit");
        db.checkpoint().expect("a checkpoint");
    }
    db.close().expect("a close");
    layer.contents(PATH).expect("the file")
}

fn odd() -> Vec<u8> {
    let p = presets::PRECISE
        .with_sampler(Sampler::Independent)
        .with_universe(Universe::Bounded(1 << 16))
        .with_samples(12)
        .with_bits(3)
        .with_cardinality(CardinalityField::Linear4)
        .with_slots(Slots { count: 2, samples_per_slot: 2, value_bits: 1, min_matches: 1 });
    let (layer, db) = create(&Scheme::new(p).expect("a scheme that can be"));
    let mut load = db.bulk_load();
    for n in 0..13 {
        load.put(key(n), &set(n)).expect("a set");
        load.put([key(n), vec![b'y'; 500 + n as usize]].concat(), &set(n + 50)).expect("a set");
    }
    for n in 0..600_u16 {
        load.put(n.to_be_bytes(), &set(u64::from(n))).expect("a set");
    }
    load.commit().expect("a load");
    db.put(key(3), &set(77)).expect("a commit");
    db.delete(key(5)).expect("a commit");
    db.close().expect("a close");
    layer.contents(PATH).expect("the file")
}

fn kept() -> Vec<u8> {
    let slots = Slots { count: 2, samples_per_slot: 2, value_bits: 2, min_matches: 1 };
    let elements = Elements::EXACT;
    let p =
        presets::PRECISE.with_samples(12).with_bits(2).with_slots(slots).with_elements(elements);
    let (layer, db) = create(&Scheme::new(p).expect("a scheme that can be"));
    let mut load = db.bulk_load();
    for n in 0..20 {
        load.put(key(n), &set(n)).expect("a set");
    }
    // The elements are far apart, so the set needs more than a page.
    let large: Vec<u64> = (0..1500).map(|i: u64| (i << 53) | (i * i)).collect();
    load.put("large", &large).expect("a set");
    load.commit().expect("a load");
    db.put(key(3), &[1, u64::MAX]).expect("a commit");
    db.delete(key(5)).expect("a commit");
    db.put("fewer", &large[..700]).expect("a commit");
    db.close().expect("a close");
    layer.contents(PATH).expect("the file")
}

fn unclean() -> (Vec<u8>, Vec<u8>) {
    let (layer, db) = create(&plain_scheme());
    for n in 0..12 {
        db.put(key(n), &set(n)).expect("a commit");
    }
    db.checkpoint().expect("a checkpoint");
    db.put(key(2), &set(99)).expect("a commit");
    db.delete(key(4)).expect("a commit");
    let mut batch = db.batch();
    for n in 20..170 {
        batch.put(key(n), &set(n)).expect("a set");
    }
    db.commit(batch).expect("a commit");
    db.put(key(30), &[]).expect("a commit");
    let log = layer.contents(format!("{PATH}-hot/log")).expect("the log");
    (layer.contents(PATH).expect("the file"), log)
}

/// A row of the tall segment.
struct Row {
    key: Vec<u8>,
    id: u32,
    is_duplicate: bool,
}

/// The parts of the tall segment before its header.
struct Tall {
    scheme: Scheme,
    seal: Seal,
    rows: Vec<Row>,
    signatures: Vec<Signature>,
    keys: Vec<u8>,
}

const DATABASE: [u8; 16] = *b"a tall database.";
const BLOCK: u64 = 1;

impl Tall {
    fn new() -> Tall {
        let (scheme, seal) = (plain_scheme(), Seal::of(DATABASE));
        let sketcher = Sketcher::new(&scheme);
        let mut names: Vec<Vec<u8>> = (0..26).map(key).collect();
        names.sort();
        let (mut rows, mut signatures) = (Vec::new(), Vec::new());
        let mut ids: BTreeMap<u64, u32> = BTreeMap::new();
        for (i, key) in (0..).zip(names) {
            let variant = i * 5 % 17;
            let is_duplicate = ids.contains_key(&variant);
            let id = *ids.entry(variant).or_insert(signatures.len() as u32);
            if !is_duplicate {
                let set: Vec<u64> = (variant * 9..variant * 11).collect();
                signatures.push(sketcher.sketch(&set).expect("a set"));
            }
            rows.push(Row { key, id, is_duplicate });
        }
        Tall { scheme, seal, rows, signatures, keys: Vec::new() }
    }

    fn push(&mut self, kind: PageKind, payload: &[u8]) -> u32 {
        let number = (self.keys.len() / 64) as u32;
        let place = PagePlace { kind, extent: BLOCK, number };
        self.keys.extend(page::encode(place, payload, self.seal));
        number
    }

    /// Writes leaves of three rows and fences of two children. Returns the root's page and level.
    fn tree(&mut self) -> (u32, u8) {
        let mut children = Vec::new();
        let (mut first_row, mut next_id, mut last) = (0, 0, Vec::new());
        for rows in std::mem::take(&mut self.rows).chunks(3) {
            let mut leaf = LeafBuilder::new(first_row, next_id);
            let first_id = next_id;
            for row in rows {
                leaf.push(&row.key, u64::from(row.id % 4), row.is_duplicate.then_some(row.id));
                next_id += u32::from(!row.is_duplicate);
            }
            let page = self.push(PageKind::Leaf, &leaf.encode());
            let hashes: Vec<KeyHash> = rows.iter().map(|row| KeyHash::of(&row.key)).collect();
            let bound = separator(&last, leaf.key(0));
            let bound = if first_row == 0 { Vec::new() } else { bound.to_vec() };
            children.push((Child { page, first_row, first_id }, bound, filter::build(&hashes)));
            first_row += rows.len() as u32;
            last = leaf.key(rows.len() - 1).to_vec();
        }
        for level in 1.. {
            let mut above = Vec::new();
            for group in children.chunks(2) {
                let mut fence = FenceBuilder::default();
                group.iter().for_each(|(child, bound, filter)| fence.push(*child, bound, filter));
                let page = self.push(PageKind::Fence, &fence.encode(level));
                above.push((Child { page, ..group[0].0 }, group[0].1.clone(), Vec::new()));
            }
            if let [(root, ..)] = &*above {
                return (root.page, level);
            }
            children = above;
        }
        unreachable!("there are fewer children in each level");
    }
}

/// Builds one segment of tiny pages with two hidden rows.
fn tall() -> Vec<u8> {
    let mut tall = Tall::new();
    let (rows, ids) = (tall.rows.len() as u32, tall.signatures.len() as u32);
    let key_bytes = tall.rows.iter().map(|row| row.key.len() as u64).sum();
    let mut pairs: Vec<Pair> = (0..)
        .zip(&tall.rows)
        .filter(|(_, row)| row.is_duplicate)
        .map(|(i, row)| Pair::new(row.id, i))
        .collect();
    pairs.sort_by_key(|pair| pair.order());
    let (root_page, root_level) = tall.tree();
    let shape = SignatureShape::of(&tall.scheme);
    let place = PagePlace { kind: PageKind::Signatures, extent: BLOCK, number: 0 };
    let planes = tall.signatures.iter().map(|s| (s.planes(), s.cardinality_code()));
    let signatures = page::encode(place, &signature_page::encode(shape, planes), tall.seal);
    let payload: Vec<u8> =
        pairs.iter().flat_map(|p| [p.id().to_le_bytes(), p.row().to_le_bytes()].concat()).collect();
    let mut duplicates = page::encode(duplicates_page::place(BLOCK, 0), &payload, tall.seal);
    let place = duplicates_page::directory_place(BLOCK, rows - ids, 0);
    duplicates.extend(page::encode(place, &payload[..4], tall.seal));
    let empty = tall.signatures.iter().position(Signature::is_empty).map(|i| i as u32);
    let place = SpillPlace { directory: None, memory: 1 << 20 };
    let mut postings = PostingsWriter::new(&tall.scheme, &place);
    tall.signatures.iter().for_each(|s| postings.push(s.planes()).expect("it is in memory"));
    let postings = postings.finish(BLOCK, tall.seal, ids, empty).expect("it is in memory");
    let mut index = Vec::new();
    for part in &postings.parts {
        let copied = part.pieces(&mut |piece| {
            index.extend_from_slice(piece);
            Ok(())
        });
        copied.expect("it is in memory");
    }
    let region = |offset: u64, bytes: &[u8]| Region { offset, length: bytes.len() as u64 };
    let signatures_region = region(256, &signatures);
    let keys_region = region(signatures_region.end(), &tall.keys);
    let duplicates_region = region(keys_region.end(), &duplicates);
    let postings_region = region(duplicates_region.end(), &index);
    let header = SegmentHeader {
        database: DATABASE,
        scheme: tall.scheme.clone(),
        length: postings_region.end(),
        first_sequence: 1,
        last_sequence: 4,
        rows,
        ids,
        empty_id: empty,
        signatures: signatures_region,
        keys: keys_region,
        duplicates: duplicates_region,
        key_bytes,
        root_page,
        root_level,
        postings: postings_region,
        short_postings: postings.short,
        long_lists: postings.lists,
        elements: None,
        values: None,
    };
    let place = PagePlace { kind: PageKind::SegmentHeader, extent: BLOCK, number: 0 };
    let head = page::encode(place, &header.encode(), tall.seal);
    let header_checksum = u32::from_le_bytes(*head.first_chunk().expect("a page has a checksum"));
    let segment = [head, signatures, tall.keys, duplicates, index].concat();
    let bitmap = [0b100, 0, 1, 0];
    let tombstones = tombstone_page::encode_bitmap(2, rows, &bitmap, tall.seal);
    let offset = 12_288;
    let entry = SegmentEntry {
        id: BLOCK,
        offset,
        length: header.length,
        header_checksum,
        rows,
        live_rows: rows - 2,
        tombstones: Some(ExtentEntry {
            id: 2,
            offset: offset + header.length,
            length: tombstones.len() as u64,
        }),
    };
    closed(&tall.scheme, entry, &[segment, tombstones].concat())
}

/// Builds a closed file from the segment data and its manifest entry.
fn closed(scheme: &Scheme, entry: SegmentEntry, data: &[u8]) -> Vec<u8> {
    let manifest = Manifest {
        generation: 1,
        database: DATABASE,
        scheme: scheme.clone(),
        checkpointed: 4,
        next_extent: 3,
        dead_bytes: 0,
        segments: vec![entry],
    };
    let manifest = manifest.encode();
    let mut file = vec![0; 12_288];
    file.extend_from_slice(data);
    let manifest_offset = file.len() as u64;
    file.extend_from_slice(&manifest);
    file.resize(file.len().next_multiple_of(64), 0);
    let checksum = manifest.last_chunk().expect("a manifest has a checksum");
    let superblock = Superblock {
        generation: 1,
        manifest_offset,
        manifest_length: manifest.len() as u32,
        manifest_checksum: u32::from_le_bytes(*checksum),
        end_of_data: file.len() as u64,
        ..Superblock::blank(DATABASE)
    };
    let block = superblock.encode();
    file[..4096].copy_from_slice(&block);
    file[4096..8192].copy_from_slice(&block);
    file
}
