//! Tests of fence pages: children round-trip and are found, separators separate, each rule rejects its violation,
//! and no bytes cause a panic.

use super::super::bytes::Seal;
use super::super::page::{self, PageKind, PagePlace};
use super::*;
use crate::error::Error;
use proptest::prelude::*;
use std::mem::offset_of;

/// A child, its separator and its filter.
type Entry = (Child, Vec<u8>, Vec<u8>);

/// A page with this payload and a valid checksum.
fn page_of(payload: &[u8]) -> Page {
    let place = PagePlace { kind: PageKind::Fence, extent: 3, number: 1 };
    let seal = Seal::of([1; 16]);
    Page::verify(page::encode(place, payload, seal)[..].into(), place, seal).unwrap()
}

fn decode(payload: &[u8]) -> Result<FencePage> {
    FencePage::new(page_of(payload), 1)
}

fn rule(result: Result<FencePage>) -> &'static str {
    match result {
        Err(Error::Corrupt { rule, .. }) => rule,
        other => panic!("{other:?}"),
    }
}

/// Encodes children and checks that the builder predicts the length after each one.
fn encode(entries: &[Entry], level: u8) -> Vec<u8> {
    let mut builder = FenceBuilder::default();
    assert_eq!((builder.first(), builder.first_separator()), (None, &b""[..]));
    for (i, (child, separator, filter)) in entries.iter().enumerate() {
        let expected = builder.payload_bytes_with(separator, filter);
        builder.push(*child, separator, filter);
        assert_eq!(builder.encode(level).len(), expected, "after {i}");
        assert_eq!(builder.count(), i + 1);
    }
    assert_eq!(builder.first(), Some(entries[0].0));
    assert_eq!(builder.first_separator(), entries[0].1);
    builder.encode(level)
}

/// The last entry for which this holds, by linear search. 0 if there is none.
fn last(entries: &[Entry], holds: impl Fn(&Entry) -> bool) -> usize {
    entries.iter().rposition(holds).unwrap_or(0)
}

/// Compares a page with the entries that it was built from.
fn check(entries: &[Entry], level: u8) {
    let payload = encode(entries, level);
    let fence = FencePage::new(page_of(&payload), level).unwrap();
    assert_eq!((fence.level(), fence.count()), (level, entries.len()));
    assert!(fence.memory() >= payload.len());
    let mut keys = vec![Vec::new(), vec![0], vec![255; 9]];
    let (mut rows, mut ids) = (vec![0, u32::MAX], vec![0, u32::MAX]);
    for (i, (child, separator, filter)) in entries.iter().enumerate() {
        assert_eq!(fence.child(i), Some(*child));
        assert_eq!((fence.separator(i), fence.filter(i)), (&separator[..], &filter[..]));
        let cut = separator[..separator.len().saturating_sub(1)].to_vec();
        keys.extend([separator.clone(), [&separator[..], &[0]].concat(), cut]);
        let around = |n: u32| [n.saturating_sub(1), n, n.saturating_add(1)];
        rows.extend(around(child.first_row));
        ids.extend(around(child.first_id));
    }
    for key in keys {
        let expected = last(entries, |(_, separator, _)| separator[..] <= key[..]);
        assert_eq!(fence.child_for_key(&key), expected, "{key:?}");
    }
    for row in rows {
        assert_eq!(fence.child_for_row(row), last(entries, |(child, ..)| child.first_row <= row));
    }
    for id in ids {
        assert_eq!(fence.child_for_id(id), last(entries, |(child, ..)| child.first_id <= id));
    }
    for past in [entries.len(), entries.len() + 1, usize::MAX] {
        assert_eq!(fence.child(past), None);
        assert_eq!((fence.separator(past), fence.filter(past)), (&b""[..], &b""[..]));
    }
}

fn entry(first_row: u32, first_id: u32, separator: &[u8], filter: &[u8]) -> Entry {
    let child = Child { page: first_row / 3, first_row, first_id };
    (child, separator.to_vec(), filter.to_vec())
}

#[test]
fn spec_tables_match_the_structs() {
    let spec = include_str!("../../format-spec/segment.md");
    let head = [
        ("level", offset_of!(Layout, level), 1),
        ("zero", offset_of!(Layout, zero), 3),
        ("count", offset_of!(Layout, count), 2),
        ("zero2", offset_of!(Layout, zero2), 2),
    ];
    testkit::spec_tables::assert_matches(spec, "Fence pages", &head);
    let entry = [
        ("page", offset_of!(EntryLayout, page), 4),
        ("first row", offset_of!(EntryLayout, first_row), 4),
        ("first id", offset_of!(EntryLayout, first_id), 4),
        ("key end", offset_of!(EntryLayout, key_end), 4),
        ("filter end", offset_of!(EntryLayout, filter_end), 4),
    ];
    testkit::spec_tables::assert_matches(spec, "Fence entry", &entry);
    assert_eq!((size_of::<Layout>(), size_of::<EntryLayout>()), (8, 20));
}

#[test]
fn odd_pages_come_back() {
    check(&[entry(0, 0, b"", b"")], 1);
    check(&[entry(7, 3, b"key", b"filter")], 1);
    check(&[entry(0, 0, b"", b"f"), entry(1, 0, b"b", b""), entry(2, 0, b"ba", b"ff")], 1);
    check(&[entry(0, 0, b"", b""), entry(u32::MAX, u32::MAX, &[9; 4096], b"")], 32);
    let full: Vec<Entry> =
        (0..2_729_u32).map(|i| entry(2 * i, i / 2, &i.to_be_bytes(), b"")).collect();
    check(&full, 2);
}

#[test]
fn a_separator_is_the_shortest_between_two_keys() {
    for (previous, next, expected) in [
        (&b"abc"[..], &b"abd"[..], &b"abd"[..]),
        (b"abc", b"b", b"b"),
        (b"abc", b"bcd", b"b"),
        (b"ab", b"abc", b"abc"),
        (b"ab", b"abcde", b"abc"),
        (b"", b"x", b"x"),
        (b"a", b"a\0", b"a\0"),
    ] {
        assert_eq!(separator(previous, next), expected);
    }
}

/// Three children: entries at 8, 28 and 48, separators `b` and `bc` at 68, filters `f` and `gg` at 71.
fn small() -> Vec<u8> {
    let entries = [entry(0, 4, b"", b"f"), entry(3, 4, b"b", b""), entry(9, 6, b"bc", b"gg")];
    let payload = encode(&entries, 1);
    assert_eq!((payload.len(), &payload[68..]), (74, &b"bbcfgg"[..]));
    payload
}

fn rule_with(at: usize, bytes: &[u8]) -> &'static str {
    let mut payload = small();
    payload[at..at + bytes.len()].copy_from_slice(bytes);
    rule(decode(&payload))
}

#[test]
fn cut_pages_are_refused() {
    for length in 0..71 {
        assert_eq!(rule(decode(&small()[..length])), "FENCE-1", "{length}");
    }
    for length in 71..74 {
        assert_eq!(rule(decode(&small()[..length])), "FENCE-4", "{length}");
    }
    assert_eq!(rule_with(4, &[4]), "FENCE-1");
    assert_eq!(rule_with(4, &[0xFF, 0xFF]), "FENCE-1");
    assert_eq!(rule_with(48 + 12, &[0xFF, 0xFF, 0xFF, 0xFF]), "FENCE-1");
    assert_eq!(rule_with(48 + 12, &[7]), "FENCE-1");
}

#[test]
fn impossible_levels_and_counts_are_refused() {
    let as_level = |level| FencePage::new(page_of(&small()), level);
    assert!(as_level(1).is_ok());
    assert_eq!(rule(as_level(2)), "FENCE-2");
    assert_eq!(rule_with(0, &[0]), "FENCE-2");
    assert_eq!(rule_with(0, &[2]), "FENCE-2");
    assert_eq!(rule_with(4, &[0, 0]), "FENCE-2");
    for at in [1, 2, 3, 6, 7] {
        assert_eq!(rule_with(at, &[1]), "FENCE-2", "{at}");
    }
}

#[test]
fn children_that_do_not_rise_are_refused() {
    assert_eq!(rule_with(28 + 4, &[0]), "FENCE-3", "the row of the one before");
    assert_eq!(rule_with(28 + 4, &[10]), "FENCE-3", "a row above that of the next");
    assert_eq!(rule_with(28 + 8, &[3]), "FENCE-3", "an id below that of the one before");
    assert_eq!(rule_with(28 + 12, &[4]), "FENCE-3", "a key end above the next");
    assert_eq!(rule_with(48 + 12, &[0]), "FENCE-3", "a key end below the one before");
    assert_eq!(rule_with(8 + 16, &[4]), "FENCE-3", "a filter end above the next");
    assert_eq!(rule_with(48 + 16, &[0]), "FENCE-3", "a filter end below the one before");
}

#[test]
fn filters_that_do_not_fill_the_page_are_refused() {
    assert_eq!(rule(decode(&[small(), vec![0]].concat())), "FENCE-4");
    assert_eq!(rule_with(48 + 16, &[2]), "FENCE-4");
    assert_eq!(rule_with(48 + 16, &[4]), "FENCE-4");
    assert_eq!(rule_with(48 + 16, &[0xFF, 0xFF, 0xFF, 0xFF]), "FENCE-4");
    assert_eq!(rule_with(48 + 12, &[2]), "FENCE-4");
    assert_eq!(rule_with(48 + 12, &[6]), "FENCE-4");
}

/// Calls every method of a page, also with places past its last child.
fn use_all_of(fence: &FencePage) {
    let (mut keys, mut filters) = (0, 0);
    for i in (0..fence.count() + 3).chain([0xFFFF, usize::MAX / 2, usize::MAX]) {
        let child = fence.child(i);
        assert_eq!(child.is_some(), i < fence.count());
        keys += fence.separator(i).len();
        filters += fence.filter(i).len();
        assert!(fence.child_for_key(fence.separator(i)) < fence.count());
        if let Some(child) = child {
            assert_eq!(fence.child_for_row(child.first_row), i);
            assert!((i..fence.count()).contains(&fence.child_for_id(child.first_id)));
        }
    }
    assert_eq!(8 + 20 * fence.count() + keys + filters, fence.page.payload().len());
    for n in [0, u32::MAX] {
        assert!(fence.child_for_row(n).max(fence.child_for_id(n)) < fence.count());
    }
    assert!(fence.child_for_key(b"").max(fence.child_for_key(&[255; 5000])) < fence.count());
    let _ = (fence.level(), fence.memory());
}

prop_compose! {
    /// Children in order, with separators between their keys and filters of any length.
    fn children()(
        keys in prop::collection::btree_set(prop::collection::vec(0..5_u8, 0..6), 1..40),
        steps in prop::collection::vec((1..1000_u32, 0..3_u32, any::<u32>()), 40),
        filters in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 40),
    ) -> Vec<Entry> {
        let (mut first_row, mut first_id) = (0, 0);
        keys.into_iter().zip(steps).zip(filters).map(|((key, (rows, ids, page)), filter)| {
            let child = Child { page, first_row, first_id };
            (first_row, first_id) = (first_row + rows, first_id + ids);
            (child, key, filter)
        }).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn children_come_back_and_are_found(entries in children(), level in 1..=32_u8) {
        check(&entries, level);
    }

    #[test]
    fn a_separator_is_above_the_previous_key_and_not_above_the_next(
        start in prop::collection::vec(any::<u8>(), 0..6),
        a in prop::collection::vec(0..3_u8, 0..6),
        b in prop::collection::vec(0..3_u8, 0..6),
    ) {
        prop_assume!(a != b);
        let (previous, next) = if a < b { (a, b) } else { (b, a) };
        let (previous, next) = ([&start[..], &previous].concat(), [start, next].concat());
        let between = separator(&previous, &next);
        prop_assert!(&previous[..] < between && between <= &next[..]);
        // No shorter separator works: a shorter prefix of the next key is not above the previous key.
        let shorter = &between[..between.len() - 1];
        prop_assert!(shorter <= &previous[..]);
        prop_assert!(previous.starts_with(shorter));
    }

    #[test]
    fn changed_bytes_never_panic(
        entries in children(),
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<u8>(), any::<bool>()),
            1..4,
        ),
    ) {
        let mut payload = encode(&entries, 1);
        for (at, byte, in_start) in changes {
            let at = at.index(if in_start { 28 } else { payload.len() });
            payload[at] = byte;
        }
        let _ = decode(&payload).map(|fence| use_all_of(&fence));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..3000),
        mut numbers in prop::collection::vec(prop::array::uniform5(0..12_u32), 1..5),
        tail in prop::collection::vec(any::<u8>(), 0..24),
        level: u8,
    ) {
        let _ = FencePage::new(page_of(&bytes), level).map(|fence| use_all_of(&fence));
        // Entries with small numbers, first as generated and then sorted.
        for _ in 0..2 {
            let mut payload = vec![level, 0, 0, 0, numbers.len() as u8, 0, 0, 0];
            payload.extend(numbers.iter().flatten().flat_map(|n| n.to_le_bytes()));
            payload.extend(&tail);
            let _ = FencePage::new(page_of(&payload), level).map(|fence| use_all_of(&fence));
            for column in 1..5 {
                let mut sorted: Vec<u32> = numbers.iter().map(|entry| entry[column]).collect();
                sorted.sort_unstable();
                numbers.iter_mut().zip(sorted).for_each(|(entry, n)| entry[column] = n);
            }
        }
    }
}
