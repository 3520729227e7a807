//! Tests of leaf pages: rows round-trip, keys are found, each rule rejects its violation, and no bytes cause a
//! panic.

use super::super::bytes::Seal;
use super::super::page::{self, PageKind, PagePlace};
use super::*;
use crate::error::Error;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::mem::offset_of;

/// A row: its key, its sequence, and the id that it shares if it is a duplicate row.
type Row = (Vec<u8>, u64, Option<u32>);

const FIRST_ROW: u32 = 10;
const FIRST_ID: u32 = 5;

/// A page with this payload and a valid checksum.
fn page_of(payload: &[u8]) -> Page {
    let place = PagePlace { kind: PageKind::Leaf, extent: 3, number: 1 };
    let seal = Seal::of([1; 16]);
    Page::verify(page::encode(place, payload, seal)[..].into(), place, seal).unwrap()
}

fn decode(payload: &[u8]) -> Result<LeafPage> {
    LeafPage::new(page_of(payload), u32::MAX, u32::MAX)
}

fn rule(result: Result<LeafPage>) -> &'static str {
    match result {
        Err(Error::Corrupt { rule, .. }) => rule,
        other => panic!("{other:?}"),
    }
}

/// Encodes rows and checks that the builder predicts the length after each one.
fn encode(rows: &[Row]) -> Vec<u8> {
    let mut builder = LeafBuilder::new(FIRST_ROW, FIRST_ID);
    assert_eq!((builder.first_row(), builder.first_id()), (FIRST_ROW, FIRST_ID));
    for (i, (key, sequence, duplicate_of)) in rows.iter().enumerate() {
        let expected = builder.payload_bytes_with(key, *sequence, duplicate_of.is_some());
        builder.push(key, *sequence, *duplicate_of);
        assert_eq!(builder.encode().len(), expected, "after {i} of {rows:?}");
        assert_eq!((builder.count(), builder.key(i)), (i + 1, &key[..]));
    }
    builder.encode()
}

fn key(leaf: &LeafPage, i: usize) -> Vec<u8> {
    let (prefix, suffix) = leaf.key(i);
    [prefix, suffix].concat()
}

/// Compares a page with the rows that it was built from.
fn check(rows: &[Row]) -> LeafPage {
    let leaf = decode(&encode(rows)).unwrap();
    assert_eq!((leaf.first_row(), leaf.count()), (FIRST_ROW, rows.len()));
    let mut next = FIRST_ID;
    for (i, (of_row, sequence, duplicate_of)) in rows.iter().enumerate() {
        assert_eq!(&key(&leaf, i), of_row);
        assert_eq!(leaf.sequence_offset(i), *sequence);
        assert_eq!(leaf.id(i), duplicate_of.unwrap_or(next));
        if duplicate_of.is_none() {
            assert_eq!(leaf.first_with_id(next), Some(i));
            next += 1;
        }
    }
    assert_eq!(leaf.first_with_id(next), None);
    assert_eq!(leaf.first_with_id(FIRST_ID - 1), None);
    let keys: Vec<&[u8]> = rows.iter().map(|(key, ..)| &key[..]).collect();
    for wanted in near(&keys) {
        let expected = keys.binary_search(&&wanted[..]);
        assert_eq!(leaf.find(&wanted), expected, "{wanted:?} in {keys:?}");
    }
    // The page needs exactly this many rows and ids. One fewer is rejected.
    let (rows, ids) = (FIRST_ROW + rows.len() as u32, (0..rows.len()).map(|i| leaf.id(i)).max());
    let page = || leaf.page.clone();
    assert!(LeafPage::new(page(), rows, ids.unwrap() + 1).is_ok());
    assert_eq!(rule(LeafPage::new(page(), rows - 1, u32::MAX)), "LEAF-3");
    assert_eq!(rule(LeafPage::new(page(), rows, ids.unwrap())), "LEAF-5");
    leaf
}

/// The keys, and others just before and after them.
fn near(keys: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new(), vec![0], vec![255; 3], vec![255; 4097]];
    for key in keys {
        let (last, start) = key.split_last().unwrap();
        let with = |end: &[u8]| [start, end].concat();
        all.extend([key.to_vec(), start.to_vec(), with(&[*last, 0]), with(&[*last, 255])]);
        all.extend([with(&[last.saturating_sub(1)]), with(&[last.saturating_add(1)])]);
        all.push(key[..key.len() / 2].to_vec());
    }
    all
}

fn rows<const N: usize>(keys: [&[u8]; N]) -> Vec<Row> {
    keys.into_iter().map(|key| (key.to_vec(), 0, None)).collect()
}

#[test]
fn spec_table_matches_the_struct() {
    let code = [
        ("first row", offset_of!(Layout, first_row), 4),
        ("first id", offset_of!(Layout, first_id), 4),
        ("count", offset_of!(Layout, count), 2),
        ("prefix length", offset_of!(Layout, prefix_length), 2),
        ("suffix length", offset_of!(Layout, suffix_length), 2),
        ("duplicates", offset_of!(Layout, duplicates), 2),
        ("sequence width", offset_of!(Layout, sequence_width), 1),
        ("zero", offset_of!(Layout, zero), 7),
    ];
    let spec = include_str!("../../format-spec/segment.md");
    testkit::spec_tables::assert_matches(spec, "Leaf pages", &code);
    assert_eq!((size_of::<Layout>(), size_of::<Duplicate>()), (24, 6));
    assert_eq!((offset_of!(Duplicate, place), offset_of!(Duplicate, id)), (0, 2));
}

#[test]
fn odd_keys_come_back() {
    check(&rows([b"k"]));
    check(&rows([b"key"]));
    // The first key is a prefix of all others, so its suffix is empty.
    check(&rows([b"a", b"aa", b"aaa"]));
    check(&rows([b"a", b"ab", b"ac", b"b"]));
    // No common prefix, zero bytes, and the smallest and largest bytes.
    check(&rows([b"\0", b"\0\0", b"\xFF", b"\xFF\xFF"]));
    // Keys of equal length need no table of ends.
    assert_eq!(encode(&rows([b"xa", b"xb", b"xc"])).len(), 24 + 1 + 3);
    check(&rows([b"xa", b"xb", b"xc"]));
    assert_eq!(encode(&rows([b"xa", b"xb", b"xcc"])).len(), 24 + 1 + 6 + 4);
}

#[test]
fn the_longest_keys_come_back_and_only_similar_ones_share_a_page() {
    let longest = vec![7; MAX_KEY_BYTES];
    check(&[(longest.clone(), 1, None)]);
    let mut next = longest.clone();
    next[4095] = 8;
    check(&[(longest.clone(), 1, None), (next, u64::MAX, Some(2))]);
    check(&[(longest[..4095].to_vec(), 1, None), (longest.clone(), 2, None)]);
    let mut builder = LeafBuilder::new(0, 0);
    builder.push(&longest, 0, None);
    let other = vec![9; MAX_KEY_BYTES];
    assert!(builder.payload_bytes_with(&other, 0, false) > PageKind::Leaf.max_payload());
    // As many keys as a page can hold: two bytes each and nothing else.
    let many: Vec<Row> = (0..4071_u16).map(|i| (i.to_be_bytes().to_vec(), 0, None)).collect();
    check(&many);
}

#[test]
fn sequences_take_as_many_bytes_as_the_largest_needs() {
    for (width, bits) in (0..=8_u8).zip([0_u32, 1, 9, 17, 25, 33, 41, 49, 57]) {
        let smallest = if width == 0 { 0 } else { 1_u64 << (bits - 1) };
        let largest = u64::MAX.checked_shr(64 - 8 * u32::from(width)).unwrap_or(0);
        for sequence in [smallest, largest] {
            let rows = [(b"a".to_vec(), 0, None), (b"b".to_vec(), sequence, None)];
            assert_eq!(encode(&rows)[16], width, "{sequence}");
            assert_eq!(check(&rows).sequence_width, width.into());
        }
    }
}

#[test]
fn duplicates_have_the_ids_of_their_originals() {
    let duplicates = [Some(0), None, Some(FIRST_ID), None, Some(FIRST_ID + 1), Some(4)];
    let rows: Vec<Row> =
        (b'a'..).zip(duplicates).map(|(key, duplicate)| (vec![key], 3, duplicate)).collect();
    let leaf = check(&rows);
    assert_eq!(leaf.memory(), leaf.page.memory() + 4 * rows.len());
    assert_eq!(leaf.first_id(), FIRST_ID);
    let new: Vec<bool> = (0..rows.len()).map(|i| leaf.is_new(i)).collect();
    assert_eq!(new, duplicates.map(|duplicate| duplicate.is_none()));
    // A page of duplicate rows only has no new id at all.
    let all: Vec<Row> = (b'a'..b'f').map(|key| (vec![key], 0, Some(4))).collect();
    check(&all);
}

/// Three rows, the second a duplicate row with id 3. The prefix is at 24, sequences are at 25, the duplicate row is
/// at 31 (its id at 33), and suffixes are at 37.
fn small() -> Vec<u8> {
    let row = |key: &[u8], sequence, duplicate_of| (key.to_vec(), sequence, duplicate_of);
    let rows = [row(b"ab", 0, None), row(b"ac", 300, Some(3)), row(b"ad", 2, None)];
    let payload = encode(&rows);
    assert_eq!((payload.len(), &payload[37..]), (40, &b"bcd"[..]));
    payload
}

/// The rows `a`, `bc` and `bcd`: no prefix, ends at 24, suffixes at 30.
fn mixed() -> Vec<u8> {
    let payload = encode(&rows([b"a", b"bc", b"bcd"]));
    assert_eq!((payload.len(), &payload[24..30]), (36, &[1, 0, 3, 0, 6, 0][..]));
    payload
}

fn rule_with(mut payload: Vec<u8>, at: usize, bytes: &[u8]) -> &'static str {
    payload[at..at + bytes.len()].copy_from_slice(bytes);
    rule(decode(&payload))
}

#[test]
fn cut_pages_are_refused() {
    for length in 0..37 {
        assert_eq!(rule(decode(&small()[..length])), "LEAF-1", "{length}");
    }
    for length in 37..40 {
        assert_eq!(rule(decode(&small()[..length])), "LEAF-4", "{length}");
    }
    for length in 0..30 {
        assert_eq!(rule(decode(&mixed()[..length])), "LEAF-1", "{length}");
    }
    assert_eq!(rule_with(small(), 8, &[0xFF, 0xFF]), "LEAF-1", "count");
    assert_eq!(rule_with(small(), 10, &[0xFF, 0xFF]), "LEAF-1", "prefix length");
    assert_eq!(rule_with(small(), 12, &[0xFF, 0xFF, 9]), "LEAF-1", "a table of ends");
    assert_eq!(rule_with(small(), 14, &[0xFF, 0xFF]), "LEAF-1", "duplicates");
    assert_eq!(rule_with(small(), 16, &[8]), "LEAF-1", "sequence width");
}

#[test]
fn impossible_counts_are_refused() {
    assert_eq!(rule_with(small(), 8, &[0, 0]), "LEAF-2");
    assert_eq!(rule(decode(&LeafBuilder::new(1, 1).encode())), "LEAF-2");
    let long = [small(), vec![0; 5000]].concat();
    assert_eq!(rule_with(long.clone(), 16, &[9]), "LEAF-2");
    assert_eq!(rule_with(long, 16, &[255]), "LEAF-2");
    for at in 17..24 {
        assert_eq!(rule_with(small(), at, &[1]), "LEAF-2", "{at}");
    }
}

#[test]
fn rows_past_the_last_are_refused() {
    let with = |rows| LeafPage::new(page_of(&small()), rows, u32::MAX);
    assert!(with(13).is_ok());
    assert_eq!(rule(with(12)), "LEAF-3");
    assert_eq!(rule(with(0)), "LEAF-3");
    assert_eq!(rule_with(small(), 0, &[0xFE, 0xFF, 0xFF, 0xFF]), "LEAF-3");
}

#[test]
fn suffixes_that_do_not_fill_the_page_are_refused() {
    for suffix in [0_u16, 2, 4096, 0xFFFE] {
        assert_eq!(rule_with(small(), 12, &suffix.to_le_bytes()), "LEAF-4", "{suffix}");
    }
    assert_eq!(rule(decode(&[small(), vec![0]].concat())), "LEAF-4");
    assert_eq!(rule(decode(&[mixed(), vec![0]].concat())), "LEAF-4");
    assert_eq!(rule(decode(&mixed()[..35])), "LEAF-4");
    // Ends that descend, ends past the page, and an end before the last byte.
    assert_eq!(rule_with(mixed(), 24, &[4, 0, 3, 0]), "LEAF-4");
    assert_eq!(rule_with(mixed(), 28, &[0xFF, 0xFF]), "LEAF-4");
    assert_eq!(rule_with(mixed(), 28, &[5, 0]), "LEAF-4");
}

/// LEAF-4: keys ascend, so only the first key can equal the prefix. 65,535 rows do not fit in a small page either.
#[test]
fn empty_suffixes_after_the_first_are_refused() {
    for count in [2_u16, 300, u16::MAX] {
        let mut page = encode(&rows([b"key"]));
        page[8..10].copy_from_slice(&count.to_le_bytes());
        assert_eq!(rule(decode(&page)), "LEAF-4", "{count}");
    }
    let mixed = encode(&rows([b"key", b"key1", b"key12"]));
    assert!(decode(&mixed).is_ok());
    assert_eq!(mixed[27..33], [0, 0, 1, 0, 3, 0]);
    assert_eq!(rule_with(mixed.clone(), 29, &[0, 0]), "LEAF-4");
    assert_eq!(rule_with(mixed, 29, &[3, 0]), "LEAF-4");
}

/// LEAF-4: keys have 1 to 4,096 bytes.
#[test]
fn keys_without_bytes_and_with_too_many_are_refused() {
    // The first key is empty: no prefix and no suffix.
    assert_eq!(rule_with(mixed(), 24, &[0, 0]), "LEAF-4");
    let mut one = encode(&rows([b"k"]));
    one[10] = 0;
    assert_eq!(rule(decode(&one[..24])), "LEAF-4");
    let long = vec![1; MAX_KEY_BYTES + 1];
    assert_eq!(rule(decode(&encode(&rows([&long])))), "LEAF-4");
    assert_eq!(rule(decode(&encode(&rows([b"\0", &long])))), "LEAF-4");
    assert_eq!(rule(decode(&encode(&rows([&long[1..], &long])))), "LEAF-4");
}

#[test]
fn ids_past_the_last_are_refused() {
    let with = |payload: &[u8], ids| LeafPage::new(page_of(payload), u32::MAX, ids);
    assert!(with(&small(), 7).is_ok());
    assert_eq!(rule(with(&small(), 6)), "LEAF-5");
    assert!(with(&mixed(), 8).is_ok());
    assert_eq!(rule(with(&mixed(), 7)), "LEAF-5");
    assert_eq!(rule(with(&mixed(), 0)), "LEAF-5");
    for payload in [small(), mixed()] {
        for first_id in [u32::MAX, u32::MAX - 1] {
            assert_eq!(rule_with(payload.clone(), 4, &first_id.to_le_bytes()), "LEAF-5");
        }
    }
}

#[test]
fn duplicates_out_of_order_or_before_their_originals_are_refused() {
    // Row 0 has id 5, so the next new id at place 1 is 6.
    assert_eq!(rule_with(small(), 33, &[6]), "LEAF-6");
    assert_eq!(rule_with(small(), 33, &[0xFF, 0xFF, 0xFF, 0xFF]), "LEAF-6");
    assert_eq!(rule_with(small(), 31, &[0, 0, 5]), "LEAF-6");
    assert_eq!(rule_with(small(), 31, &[3, 0]), "LEAF-6");
    assert_eq!(rule_with(small(), 31, &[0xFF, 0xFF]), "LEAF-6");
    let mut two = small();
    two[14] = 2;
    let second = |place: u8| [&two[..37], &[place, 0, 3, 0, 0, 0], &two[37..]].concat();
    assert!(decode(&second(2)).is_ok());
    assert_eq!(rule(decode(&second(1))), "LEAF-6");
    assert_eq!(rule(decode(&second(0))), "LEAF-6");
    assert_eq!(rule(decode(&second(3))), "LEAF-6");
}

/// Calls every method of a page, also with places past its last row.
fn use_all_of(leaf: &LeafPage) {
    let all = (0..leaf.count() + 3).chain([0xFFFF, usize::MAX / 2, usize::MAX]);
    for i in all {
        let whole = key(leaf, i);
        let _ = (leaf.sequence_offset(i), leaf.id(i), leaf.find(&whole));
        let _ = leaf.first_with_id(leaf.id(i));
        if i < leaf.count() {
            assert!((1..=MAX_KEY_BYTES).contains(&whole.len()));
            assert!(leaf.find(&whole).is_ok_and(|at| at < leaf.count()) || !is_sorted(leaf));
        }
    }
    for wanted in [&b""[..], b"a", &[255; 5000]] {
        assert!(leaf.find(wanted).unwrap_or_else(|at| at) <= leaf.count());
    }
    let _ = (leaf.first_with_id(0), leaf.first_with_id(u32::MAX), leaf.memory(), leaf.first_row());
}

fn is_sorted(leaf: &LeafPage) -> bool {
    (0..leaf.count()).is_sorted_by(|a, b| key(leaf, *a) < key(leaf, *b))
}

prop_compose! {
    /// Rows with keys of equal or different lengths, with and without a common prefix, and sequences of all widths.
    fn many_rows()(
        start in prop::collection::vec(any::<u8>(), 0..5),
        ends in prop_oneof![
            prop::collection::btree_set(prop::collection::vec(0..4_u8, 0..5), 1..40),
            prop::collection::btree_set(prop::collection::vec(any::<u8>(), 3), 1..40),
            prop::collection::btree_set(prop::collection::vec(any::<u8>(), 0..100), 1..20),
        ],
        width in 0..=8_u32,
        sequences in prop::collection::vec(any::<u64>(), 40),
        duplicates in prop::collection::vec(prop::option::weighted(0.3, any::<u32>()), 40),
        with_duplicates: bool,
    ) -> Vec<Row> {
        let keys = ends.into_iter().map(|end| [&start[..], &end].concat());
        let keys: BTreeSet<Vec<u8>> = keys.filter(|key| !key.is_empty()).collect();
        let keys = if keys.is_empty() { BTreeSet::from([vec![0]]) } else { keys };
        let mut next = FIRST_ID;
        keys.into_iter().zip(sequences).zip(duplicates).map(|((key, sequence), duplicate)| {
            let duplicate_of = duplicate.filter(|_| with_duplicates).map(|id| id % next);
            next += u32::from(duplicate_of.is_none());
            (key, sequence.checked_shr(64 - 8 * width).unwrap_or(0), duplicate_of)
        }).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_come_back_and_are_found(rows in many_rows()) {
        check(&rows);
    }

    #[test]
    fn changed_bytes_never_panic(
        rows in many_rows(),
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<u8>(), any::<bool>()),
            1..4,
        ),
    ) {
        let mut payload = encode(&rows);
        for (at, byte, in_start) in changes {
            let at = at.index(if in_start { 24 } else { payload.len() });
            payload[at] = byte;
        }
        if let Ok(leaf) = decode(&payload) {
            use_all_of(&leaf);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..8168),
        small in prop::array::uniform5(0..4_u16),
        mixed: bool,
        tail in prop::collection::vec(0..8_u8, 0..60),
        ids: u32,
    ) {
        let _ = decode(&bytes).map(|leaf| use_all_of(&leaf));
        // A start with small numbers, so that more pages pass the first checks.
        let [count, prefix, suffix, duplicates, width] = small;
        let mut payload = vec![0; 8];
        let suffix = if mixed { MIXED } else { suffix };
        let start = [count, prefix, suffix, duplicates, width, 0, 0, 0];
        payload.extend(start.into_iter().flat_map(u16::to_le_bytes));
        payload.extend(tail);
        for (rows, ids) in [(u32::MAX, u32::MAX), (3, ids % 5)] {
            let _ = LeafPage::new(page_of(&payload), rows, ids).map(|leaf| use_all_of(&leaf));
        }
    }
}
