//! Tests of the manifest: it round-trips, each rule rejects its violation, and no bytes cause a panic.

use super::*;
use crate::scheme::presets;
use proptest::prelude::*;
use std::mem::offset_of;

const DATABASE: DatabaseId = [7; 16];

/// The offset of the first entry.
const ENTRY: usize = 112;

fn segment(id: u64, offset: u64, length: u64, rows: u32) -> SegmentEntry {
    SegmentEntry {
        id,
        offset,
        length,
        header_checksum: 77,
        rows,
        live_rows: rows,
        tombstones: None,
    }
}

/// A segment without tombstones, and one with tombstones on 3 of 10 rows. The second is before the first in the
/// file. The data ends at 13,312.
fn manifest() -> Manifest {
    let tombstones = ExtentEntry { id: 4, offset: 12_544, length: 64 };
    let hidden =
        SegmentEntry { live_rows: 7, tombstones: Some(tombstones), ..segment(3, 12_288, 256, 10) };
    Manifest {
        generation: 5,
        database: DATABASE,
        scheme: Scheme::new(presets::PRECISE).unwrap(),
        checkpointed: 99,
        next_extent: 5,
        dead_bytes: 64,
        segments: vec![segment(2, 12_672, 640, 4), hidden],
    }
}

const END: u64 = 13_312;

/// Sets the last four bytes to the checksum of the rest.
fn reseal(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - 4;
    let database = bytes[16..32].try_into().unwrap();
    let checksum = Seal::of(database).checksum(&bytes[..body]).to_le_bytes();
    bytes[body..].copy_from_slice(&checksum);
    bytes
}

fn rule_of(bytes: &[u8], end_of_data: u64) -> &'static str {
    match Manifest::decode(bytes, end_of_data) {
        Err(Error::Corrupt { rule, .. } | Error::UnsupportedFormat { rule, .. }) => rule,
        other => panic!("{other:?}"),
    }
}

/// The rule that rejects the manifest after its bytes at `at` are replaced, under a valid checksum.
fn rule_with(at: usize, change: &[u8]) -> &'static str {
    let mut bytes = manifest().encode();
    bytes[at..at + change.len()].copy_from_slice(change);
    rule_of(&reseal(bytes), END)
}

/// The rule that rejects the manifest after its segments are changed.
fn rule_when(change: impl FnOnce(&mut [SegmentEntry])) -> &'static str {
    let mut changed = manifest();
    change(&mut changed.segments);
    rule_of(&changed.encode(), END)
}

#[test]
fn spec_tables_match_the_structs() {
    let spec = include_str!("../../format-spec/file.md");
    let head = [
        ("magic", offset_of!(Layout, magic), 8),
        ("generation", offset_of!(Layout, generation), 8),
        ("database id", offset_of!(Layout, database_id), 16),
        ("scheme", offset_of!(Layout, scheme), 48),
        ("checkpointed sequence", offset_of!(Layout, checkpointed_sequence), 8),
        ("next extent id", offset_of!(Layout, next_extent_id), 8),
        ("dead bytes", offset_of!(Layout, dead_bytes), 8),
        ("segment count", offset_of!(Layout, segment_count), 4),
        ("reserved", offset_of!(Layout, reserved), 4),
    ];
    testkit::spec_tables::assert_matches(spec, "Manifest", &head);
    let entry = [
        ("segment id", offset_of!(EntryLayout, segment_id), 8),
        ("offset", offset_of!(EntryLayout, offset), 8),
        ("length", offset_of!(EntryLayout, length), 8),
        ("header checksum", offset_of!(EntryLayout, header_checksum), 4),
        ("rows", offset_of!(EntryLayout, rows), 4),
        ("live rows", offset_of!(EntryLayout, live_rows), 4),
        ("reserved", offset_of!(EntryLayout, reserved), 4),
        ("tombstones id", offset_of!(EntryLayout, tombstones_id), 8),
        ("tombstones offset", offset_of!(EntryLayout, tombstones_offset), 8),
        ("tombstones length", offset_of!(EntryLayout, tombstones_length), 8),
    ];
    testkit::spec_tables::assert_matches(spec, "Manifest entry", &entry);
    assert_eq!((size_of::<Layout>(), size_of::<EntryLayout>()), (ENTRY, 64));
}

#[test]
fn manifests_without_segments_and_with_the_most_decode() {
    let none = Manifest { segments: Vec::new(), ..manifest() };
    assert_eq!(none.encode().len(), 116);
    assert_eq!(Manifest::decode(&none.encode(), 0), Ok(none.clone()));
    let place = |i: u32| DATA_START + 64 * u64::from(i);
    let segments = |n: u32| (0..n).map(|i| segment(1 + u64::from(i), place(i), 64, 1)).collect();
    let most = Manifest { next_extent: 1 << 40, segments: segments(MAX_SEGMENTS), ..manifest() };
    assert_eq!(most.encode().len(), MAX_MANIFEST_BYTES as usize);
    assert_eq!(Manifest::decode(&most.encode(), place(MAX_SEGMENTS)), Ok(most.clone()));
    let more = Manifest { segments: segments(MAX_SEGMENTS + 1), ..most };
    assert_eq!(rule_of(&more.encode(), u64::MAX), "MAN-2");
}

/// MAN-1: every flipped bit, every missing byte and every added byte is detected.
#[test]
fn every_flipped_bit_and_every_cut_is_seen() {
    let good = manifest().encode();
    assert_eq!(Manifest::decode(&good, END), Ok(manifest()));
    for bit in 0..8 * good.len() {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(rule_of(&bad, END), "MAN-1", "bit {bit}");
    }
    for length in 0..good.len() {
        assert_eq!(rule_of(&good[..length], END), "MAN-1", "length {length}");
    }
    assert_eq!(rule_of(&[&good[..], &[0]].concat(), END), "MAN-1");
    assert_eq!(rule_with(0, b"ringmani"), "MAN-1");
}

#[test]
fn counts_that_do_not_fit_the_bytes_are_refused() {
    for count in [0, 1, 3, MAX_SEGMENTS, u32::MAX] {
        assert_eq!(rule_with(104, &count.to_le_bytes()), "MAN-2", "{count}");
    }
    assert_eq!(rule_with(108, &[1]), "MAN-2");
    assert_eq!(rule_with(111, &[1]), "MAN-2");
    let longer = [manifest().encode(), vec![0; 3]].concat();
    assert_eq!(rule_of(&reseal(longer), END), "MAN-2");
}

#[test]
fn the_rules_of_the_scheme_are_those_of_a_scheme_by_itself() {
    assert_eq!(rule_with(32, &[9]), "SCHEME-2");
    let mut bytes = manifest().encode();
    bytes[32 + 26] = 1;
    let error = Manifest::decode(&reseal(bytes), END).unwrap_err();
    let alone = {
        let mut scheme = manifest().scheme.to_bytes();
        scheme[26] = 1;
        Scheme::from_bytes(&scheme).unwrap_err()
    };
    assert_eq!(error, alone.shifted(32));
}

#[test]
fn impossible_counts_of_an_entry_are_refused() {
    assert_eq!(rule_when(|s| s[0].id = 0), "MAN-3");
    assert_eq!(rule_when(|s| (s[0].rows, s[0].live_rows) = (0, 0)), "MAN-3");
    assert_eq!(rule_when(|s| s[0].live_rows = 5), "MAN-3");
    assert_eq!(rule_when(|s| s[1].live_rows = 11), "MAN-3");
    assert_eq!(rule_with(ENTRY + 36, &[1]), "MAN-3");
    assert_eq!(rule_with(ENTRY + 64 + 39, &[1]), "MAN-3");
}

#[test]
fn numbers_of_blocks_rise_differ_and_are_below_the_next() {
    let tombstones = |id| ExtentEntry { id, offset: 12_544, length: 64 };
    assert_eq!(rule_when(<[_]>::reverse), "MAN-4");
    assert_eq!(rule_when(|s| s[0].id = 3), "MAN-4");
    assert_eq!(rule_when(|s| s[1].id = 5), "MAN-4");
    assert_eq!(rule_when(|s| s[1].tombstones = Some(tombstones(5))), "MAN-4");
    assert_eq!(rule_when(|s| s[1].tombstones = Some(tombstones(3))), "MAN-4");
    assert_eq!(rule_when(|s| s[1].tombstones = Some(tombstones(2))), "MAN-4");
    let mut fine = manifest();
    fine.segments[1].tombstones = Some(tombstones(1));
    assert_eq!(Manifest::decode(&fine.encode(), END), Ok(fine));
}

#[test]
fn blocks_lie_in_the_data_aligned_and_apart() {
    let good = manifest().encode();
    assert_eq!(rule_of(&good, END - 64), "MAN-5");
    assert_eq!(rule_of(&good, END - 1), "MAN-5");
    assert!(Manifest::decode(&good, u64::MAX).is_ok());
    let place = |offset| move |s: &mut [SegmentEntry]| s[0].offset = offset;
    for (offset, why) in [
        (12_288 - 640, "before the data"),
        (12_673, "between units"),
        (12_288, "where the other starts"),
        (12_480, "inside the other"),
        (12_544, "where the tombstone bitmap is"),
        (u64::MAX - 63, "around the end of all numbers"),
        (13_312, "at the end of the data"),
    ] {
        assert_eq!(rule_when(place(offset)), "MAN-5", "{why}");
    }
    assert_eq!(rule_when(|s| s[0].length = 0), "MAN-5");
    assert_eq!(rule_when(|s| s[0].length = 641), "MAN-5");
    assert_eq!(rule_when(|s| s[0].length = 704), "MAN-5");
    assert_eq!(rule_when(|s| s[0].length = u64::MAX - 63), "MAN-5");
    assert_eq!(rule_when(|s| s[1].length = 320), "MAN-5");
    let moved = |offset| Some(ExtentEntry { id: 4, offset, length: 64 });
    assert_eq!(rule_when(|s| s[1].tombstones = moved(12_480)), "MAN-5");
    assert_eq!(rule_when(|s| s[1].tombstones = moved(12_550)), "MAN-5");
    assert_eq!(rule_when(|s| s[1].tombstones = moved(0)), "MAN-5");
}

#[test]
fn a_tombstone_bitmap_is_there_exactly_if_rows_are_hidden() {
    let bitmap = |length| Some(ExtentEntry { id: 4, offset: 12_544, length });
    assert_eq!(rule_when(|s| s[1].tombstones = None), "MAN-6");
    assert_eq!(rule_when(|s| s[1].live_rows = 10), "MAN-6");
    assert_eq!(rule_when(|s| s[1].tombstones = bitmap(128)), "MAN-6");
    assert_eq!(rule_when(|s| s[1].tombstones = bitmap(0)), "MAN-6");
    assert_eq!(rule_when(|s| s[0].tombstones = bitmap(64)), "MAN-6");
    // Fields of a tombstone bitmap that does not exist.
    assert_eq!(rule_with(ENTRY + 40, &[4]), "MAN-6");
    assert_eq!(rule_with(ENTRY + 48, &[64]), "MAN-6");
    assert_eq!(rule_with(ENTRY + 56, &[64]), "MAN-6");
}

prop_compose! {
    /// Segments with and without tombstones, and the end of their data.
    fn manifests()(
        segments in prop::collection::vec(
            (1..200_000_u32, any::<u32>(), 1..9_u64, any::<u32>()),
            0..12,
        ),
        backwards: bool,
        numbers: [u64; 3],
        database: [u8; 16],
    ) -> (Manifest, u64) {
        let mut free = DATA_START;
        let mut take = |length: u64, gap: u64| {
            let offset = free + 64 * gap;
            free = offset + length;
            offset
        };
        let mut order: Vec<usize> = (0..segments.len()).collect();
        if backwards {
            order.reverse();
        }
        let mut entries = Vec::new();
        for i in order {
            let (rows, hidden, units, header_checksum) = segments[i];
            let hidden = if hidden % 3 == 0 { 0 } else { hidden % (rows + 1) };
            let (id, length) = (2 * i as u64 + 1, 64 * units);
            let offset = take(length, units % 3);
            let tombstones = (hidden > 0).then(|| {
                let length = tombstone_page::bitmap_bytes(rows);
                ExtentEntry { id: id + 1, offset: take(length, 0), length }
            });
            let live_rows = rows - hidden;
            let all_live = segment(id, offset, length, rows);
            entries.push(SegmentEntry { header_checksum, live_rows, tombstones, ..all_live });
        }
        entries.sort_by_key(|entry| entry.id);
        let [generation, checkpointed, dead_bytes] = numbers;
        let next_extent = 2 * segments.len() as u64 + 1;
        let Manifest { scheme, .. } = manifest();
        let segments = entries;
        let manifest =
            Manifest { generation, database, scheme, checkpointed, next_extent, dead_bytes, segments };
        (manifest, free)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_encoded_decodes((manifest, end) in manifests()) {
        prop_assert_eq!(Manifest::decode(&manifest.encode(), end), Ok(manifest));
    }

    /// Each accepted byte string is the only encoding of its manifest.
    #[test]
    fn changed_bytes_never_panic_and_none_is_ignored(
        (manifest, end) in manifests(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = manifest.encode();
        let body = bytes.len() - 4;
        for (at, byte) in changes {
            bytes[at.index(body)] = byte;
        }
        let bytes = reseal(bytes);
        if let Ok(decoded) = Manifest::decode(&bytes, end) {
            prop_assert_eq!(decoded.encode(), bytes);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..700),
        entries in prop::collection::vec(prop::array::uniform16(0..3_u32), 0..6),
        end: u64,
    ) {
        let _ = Manifest::decode(&bytes, end);
        if bytes.len() >= 116 {
            bytes[..8].copy_from_slice(&MAGIC);
            let _ = Manifest::decode(&reseal(bytes), end);
        }
        // A valid start, and entries with small numbers.
        let mut bytes = manifest().encode()[..ENTRY].to_vec();
        bytes[104..108].copy_from_slice(&(entries.len() as u32).to_le_bytes());
        bytes.extend(entries.iter().flatten().flat_map(|n| n.to_le_bytes()));
        bytes.extend([0; 4]);
        let _ = Manifest::decode(&reseal(bytes), end);
    }
}
