//! Tests of the list table and of list pages: they round-trip, the layout is that of the specification, and each
//! rule rejects its violation.

use super::*;
use crate::error::Error;
use crate::format::bytes::Seal;
use crate::format::page::{PageKind, PagePlace, encode};
use crate::scheme::{Parameters, Scheme, presets};

fn page(kind: PageKind, payload: &[u8]) -> Page {
    let place = PagePlace { kind, extent: 4, number: 0 };
    let seal = Seal::of([1; 16]);
    Page::verify(encode(place, payload, seal)[..].into(), place, seal).unwrap()
}

fn rule<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    match result {
        Err(Error::Corrupt { rule, .. }) => rule,
        other => panic!("{other:?}"),
    }
}

fn shape(ids: u32) -> PostingShape {
    let scheme = Scheme::new(Parameters { ..presets::RDC }).unwrap();
    PostingShape::of(&scheme, ids, false)
}

fn list_page(payload: &[u8], ids: u32) -> Result<ListPage> {
    ListPage::new(page(PageKind::PostingList, payload), shape(ids))
}

#[test]
fn spec_tables_match_the_structs() {
    let spec = include_str!("../../format-spec/postings.md");
    use std::mem::offset_of;
    let table = [
        ("slot", offset_of!(TableEntry, slot), 2),
        ("zero", offset_of!(TableEntry, zero), 2),
        ("value", offset_of!(TableEntry, value), 4),
        ("length", offset_of!(TableEntry, length), 4),
        ("page", offset_of!(TableEntry, page), 4),
    ];
    testkit::spec_tables::assert_matches(spec, "List table", &table);
    let start = [
        ("slot", offset_of!(ListStart, slot), 2),
        ("zero", offset_of!(ListStart, zero), 2),
        ("value", offset_of!(ListStart, value), 4),
        ("count", offset_of!(ListStart, count), 4),
        ("base", offset_of!(ListStart, base), 4),
    ];
    testkit::spec_tables::assert_matches(spec, "List pages", &start);
}

/// A group as POST-L11 defines it: gap i is in lane i mod 4, and word j of lane l is the 32-bit word 4 j + l.
fn naive_block(before: Option<u32>, ids: &[u32; 128]) -> (u8, Vec<u8>) {
    let mut next = before.map_or(0, |before| before + 1);
    let gaps: Vec<u32> =
        ids.iter().map(|id| std::mem::replace(&mut next, id + 1).abs_diff(*id)).collect();
    let bits = gaps.iter().map(|gap| 32 - gap.leading_zeros()).max().unwrap() as usize;
    let mut words = vec![0_u32; 4 * bits];
    for (i, gap) in gaps.iter().enumerate() {
        for bit in 0..bits {
            let at = i / 4 * bits + bit;
            words[4 * (at / 32) + i % 4] |= (gap >> bit & 1) << (at % 32);
        }
    }
    (bits as u8, words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

#[test]
fn blocks_are_packed_as_the_specification_says() {
    for bits in 0..=24_u32 {
        let mut id = 5;
        let ids: [u32; 256] = std::array::from_fn(|i| {
            id += 1
                + ((i as u32).wrapping_mul(2_654_435_761) >> (32 - bits.max(1)))
                    * u32::from(bits > 0);
            id
        });
        let blocks = [0, 128].map(|at| <[u32; 128]>::try_from(&ids[at..at + 128]).unwrap());
        let mut builder = ListPageBuilder::default();
        assert!(blocks.iter().all(|block| builder.push(block, 8_168)));
        let payload = builder.take(3, 9, &[], 32);
        let (first_bits, first) = naive_block(Some(ids[0] - 1), &blocks[0]);
        let (second_bits, second) = naive_block(Some(ids[127]), &blocks[1]);
        assert_eq!(payload[16..18], [first_bits, second_bits]);
        assert_eq!(payload[18..], [first, second].concat());
        assert!(list_page(&payload, u32::MAX - 1).is_ok());
    }
    let from_zero: [u32; 128] = std::array::from_fn(|i| 3 * i as u32);
    let mut builder = ListPageBuilder::default();
    assert!(builder.push(&from_zero, 8_168));
    let (bits, block) = naive_block(None, &from_zero);
    let payload = builder.take(3, 9, &[], 32);
    assert_eq!((payload[16], &payload[17..]), (bits, &*block));
}

#[test]
fn what_is_built_reads_back_and_pages_are_full() {
    for (step, count) in [(1, 1), (1, 127), (1, 128), (3, 129), (1000, 256), (7, 5000)] {
        let ids: Vec<u32> = (0..count).map(|i| 11 + i * step).collect();
        let (blocks, tail) = ids.as_chunks::<128>();
        let mut builder = ListPageBuilder::default();
        assert!(blocks.iter().all(|block| builder.push(block, 8_168)));
        assert!(builder.has_room(tail.len(), 23, 8_168));
        let all = 1 << 23;
        let page = list_page(&builder.take(2, 5, tail, 23), all).unwrap();
        assert_eq!((page.of(), page.count()), ((2, 5), count));
        assert_eq!((page.first(), page.last()), (ids[0], ids[ids.len() - 1]));
        let bytes = 24 + page.page.payload().len();
        assert_eq!(page.units() as usize, bytes.div_ceil(64));
        assert_eq!(page.memory(), page.page.memory());
        let (mut place, mut buffer, mut found) = (ListPlace::default(), [0; 128], Vec::new());
        while let Some(block) = page.next_block(&mut place, &mut buffer) {
            found.extend_from_slice(block);
        }
        assert_eq!(found, ids);
        assert_eq!(page.next_block(&mut place, &mut buffer), None);
    }
    // Gaps of 15 bits take 241 bytes per group, its width included.
    let block = |i: u32| std::array::from_fn(|j| (128 * i + j as u32) << 15);
    let mut builder = ListPageBuilder::default();
    assert_eq!((0..).take_while(|i| builder.push(&block(*i), 8_168)).count(), (8_168 - 16) / 241);
    assert!(!builder.is_empty() && builder.take(0, 0, &[], 32).len() <= 8_168);
    assert!(builder.is_empty());
    // A page can be filled to its last byte.
    assert!(!builder.push(&block(0), 16 + 240) && builder.push(&block(0), 16 + 241));
    assert!(builder.has_room(3, 10, 16 + 241 + 4) && !builder.has_room(3, 10, 16 + 241 + 3));
}

#[test]
fn each_rule_of_list_pages_refuses() {
    let ids: Vec<u32> = (0..301).map(|i| 40 + 3 * i).collect();
    let (blocks, tail) = ids.as_chunks::<128>();
    let good = || {
        let mut builder = ListPageBuilder::default();
        assert!(blocks.iter().all(|block| builder.push(block, 8_168)));
        builder.take(3, 9, tail, 10)
    };
    let changed = |change: fn(&mut Vec<u8>)| {
        let mut payload = good();
        change(&mut payload);
        rule(list_page(&payload, 1000))
    };
    assert!(list_page(&good(), 1000).is_ok());
    assert_eq!(changed(|p| p.truncate(10)), "POST-7");
    assert_eq!(changed(|p| p[0] = 12), "POST-7");
    assert_eq!(changed(|p| p[2] = 1), "POST-7");
    assert_eq!(changed(|p| p[4] = 64), "POST-7");
    assert_eq!(changed(|p| p[8..12].fill(0)), "POST-7");
    assert_eq!(changed(|p| p[11] = 255), "POST-7");
    assert_eq!(changed(|p| p[16] = 33), "POST-7");
    assert_eq!(changed(|p| p.push(0)), "POST-7");
    assert_eq!(changed(|p| p[18] |= 1), "POST-8");
    assert_eq!(changed(|p| p[13] = 200), "POST-8");
    assert_eq!(changed(|p| *p.last_mut().unwrap() |= 0x80), "POST-8");
    let length = good().len();
    assert_eq!(changed(|p| p[16 + 2 + 64..].iter_mut().take(50).for_each(|b| *b = 0)), "POST-8");
    assert_eq!(rule(list_page(&good(), 940)), "POST-8");
    // The last id is 940, so 941 ids are just enough.
    assert_eq!(list_page(&good(), 941).unwrap().last(), 940);
    let few = |tail: &[u32]| list_page(&ListPageBuilder::default().take(3, 9, tail, 10), 1000);
    assert_eq!(few(&[40, 45, 50]).unwrap().last(), 50);
    assert_eq!(rule(few(&[40, 50, 45])), "POST-8");
    assert_eq!(rule(few(&[40, 40])), "POST-8");
    let mut builder = ListPageBuilder::default();
    assert!(builder.push(&blocks[0], 8_168));
    let again = builder.take(3, 9, &[blocks[0][127]], 10);
    assert_eq!(rule(list_page(&again, 1000)), "POST-8");
    assert!(length > 80);
    // A group with more bits than it needs.
    let mut wide = good();
    wide[16] += 1;
    let spaced = naive_block(Some(39), &blocks[0]);
    let mut words = [0_u32; 12];
    for i in 0..128 {
        let gap = if i == 0 { 0 } else { 2 };
        for bit in 0..3 {
            let at = i / 4 * 3 + bit;
            words[4 * (at / 32) + i % 4] |= (gap >> bit & 1) << (at % 32);
        }
    }
    let block: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    wide.splice(18..18 + spaced.1.len(), block);
    assert_eq!(rule(list_page(&wide, 1000)), "POST-8");
}

#[test]
fn each_rule_of_the_table_refuses() {
    let entries = |change: fn(&mut [TableEntry; 3])| {
        let mut entries = [
            TableEntry::new(0, 63, 1, 100),
            TableEntry::new(1, 0, 255, 101),
            TableEntry::new(11, 0, 1000, 150),
        ];
        change(&mut entries);
        ListTable::new(
            page(PageKind::PostingTable, entries.as_bytes()),
            shape(1000),
            3,
            (6400, 9664),
        )
    };
    let table = entries(|e| e[2].move_by(0)).unwrap();
    assert_eq!(table.entries()[1].order(), (1, 0));
    assert_eq!(table.memory(), table.page.memory());
    let moved = entries(|e| e[1].move_by(40)).unwrap();
    assert_eq!((moved.entries()[1].page(), moved.entries()[1].length()), (141, 255));
    assert_eq!(rule(entries(|e| e.swap(0, 1))), "POST-6");
    assert_eq!(rule(entries(|e| e[1].slot = 0.into())), "POST-6");
    assert_eq!(rule(entries(|e| e[1].page = 100.into())), "POST-6");
    assert_eq!(rule(entries(|e| e[0].page = 99.into())), "POST-6");
    assert_eq!(rule(entries(|e| e[2].page = 151.into())), "POST-6");
    assert_eq!(rule(entries(|e| e[2].slot = 12.into())), "POST-6");
    assert_eq!(rule(entries(|e| e[0].value = 64.into())), "POST-6");
    assert_eq!(rule(entries(|e| e[0].zero = 1.into())), "POST-6");
    assert_eq!(rule(entries(|e| e[0].length = 0.into())), "POST-6");
    assert_eq!(rule(entries(|e| e[0].length = 1001.into())), "POST-6");
    let payload = [0; 17];
    for count in [0, 1, 2] {
        let found =
            ListTable::new(page(PageKind::PostingTable, &payload), shape(1000), count, (0, 64));
        assert_eq!(rule(found), "POST-6");
    }
    let none = ListTable::new(page(PageKind::PostingTable, &[]), shape(1000), 0, (0, 64));
    assert_eq!(rule(none), "POST-6");
}
