//! Tests of the layout of postings, with numbers computed from the specification.

use super::*;
use crate::scheme::{Parameters, Slots, presets};

fn shape(parameters: Parameters, ids: u32) -> PostingShape {
    PostingShape::of(&Scheme::new(parameters).unwrap(), ids, false)
}

#[test]
fn buckets_have_about_one_entry_or_one_value() {
    let measures = |s: PostingShape| (s.bucket_bits(), s.low_bits(), s.id_bits(), s.width());
    assert_eq!(measures(shape(presets::PRECISE, 1)), (0, 16, 0, 16));
    assert_eq!(measures(shape(presets::PRECISE, 16)), (4, 12, 4, 16));
    assert_eq!(measures(shape(presets::PRECISE, 17)), (5, 11, 5, 16));
    assert_eq!(measures(shape(presets::PRECISE, 1_000_000)), (16, 0, 20, 20));
    assert_eq!(measures(shape(presets::RDC, 1_000_000)), (6, 0, 20, 20));
    assert_eq!(measures(shape(presets::ALTA_VISTA, u32::MAX - 1)), (32, 0, 32, 32));
    let widest = (1..=32).map(|bits| shape(presets::ALTA_VISTA, 1 << (bits - 1)).width()).max();
    assert_eq!(widest, Some(32));
}

/// A block has 360 bits for its buckets, and plans the load for each: 1 plus the average number of entries, rounded up.
/// It has at least one bucket.
#[test]
fn blocks_have_buckets_by_what_those_take() {
    let in_block = |parameters, ids| shape(parameters, ids).block_buckets();
    for ids in [1, 2, 3, 1000, 1 << 16] {
        assert_eq!(in_block(presets::PRECISE, ids), 180, "{ids}");
    }
    assert_eq!(in_block(presets::PRECISE, (1 << 16) + 1), 120);
    assert_eq!(in_block(presets::PRECISE, 1_000_000), 360 / 17);
    assert_eq!(in_block(presets::RDC, 64 * 178), 2);
    assert_eq!([64 * 180, 64 * 359, 64 * 360, u32::MAX].map(|n| in_block(presets::RDC, n)), [1; 4]);
}

/// The rule of long buckets (POST-L6). The load is 2 here.
#[test]
fn a_bucket_is_short_if_its_block_can_bear_it() {
    let shape = shape(presets::PRECISE, 1000);
    assert!(shape.is_short(254, 0, 96) && !shape.is_short(255, 0, 0));
    assert!(!shape.is_short(254, 0, 97) && !shape.is_short(254, 2, 96));
    assert!(shape.is_short(88, 0, 179) && !shape.is_short(90, 0, 179));
    assert!(shape.is_short(1, 446, 0) && !shape.is_short(1, 447, 0) && !shape.is_short(1, 446, 1));
    // `are_short` agrees with `is_short` for each bucket, given the others.
    let together = |places: &[u32], ones| shape.are_short(places.iter().copied(), 180, ones);
    assert!(together(&[0; 89], 0) && !together(&[0; 90], 0) && !together(&[0; 89], 1));
    assert!(together(&[179; 254], 0) && !together(&[179; 255], 0));
    assert!(together(&[179; 254], 14) && !together(&[179; 254], 15));
    assert!(together(&[0, 0, 90], 0) && !together(&[[0].repeat(89), vec![1, 1]].concat(), 0));
    let bits = [0, 11, 12, 89, 90, 179].map(|place| shape.long_bit(place));
    assert_eq!(bits, [1, 1, 2, 1 << 7, 1 << 8, 1 << 15]);
}

/// POST-1: the lengths for a segment of one row, and for one with full pages.
#[test]
fn regions_are_as_long_as_their_pages() {
    let one = shape(presets::PRECISE, 1);
    assert_eq!((one.directory_bytes(), one.short_bytes(32)), (128, 128));
    assert!(one.fits(256, 32, 0));
    assert!(!one.fits(256, 31, 0) && !one.fits(320, 32, 0) && !one.fits(256, 32, 1));
    let many = shape(presets::PRECISE, 1_000_000);
    assert_eq!((many.buckets(), many.block_buckets()), (32 << 16, 21));
    // The directory has 99,865 blocks.
    assert_eq!(many.directory_pages(), 787);
    assert_eq!(many.directory_bytes(), 786 * 8_192 + 64 + 64 * (99_865 - 786 * 127));
    assert_eq!(many.short_per_page(), 3_267);
    assert_eq!(many.short_page(3_267), (1, 0));
    let (table, lists) = many.table_bytes(32_000_000, 511);
    assert_eq!(table % 64, 0);
    assert_eq!(lists - table, 8_192 + 64);
    assert_eq!(PostingShape::table_in_page(511, 1), 1);
}

/// With 1,000 ids, the top 10 of the 16 bits give the bucket. `spread` computes the product that the specification
/// names.
#[test]
fn a_value_has_a_bucket_and_the_rest_of_it() {
    let shape = shape(presets::PRECISE, 1_000);
    assert_eq!((shape.slots(), shape.value_bits(), shape.ids()), (32, 16, 1_000));
    assert_eq!(shape.bucket(3, 0xABCD), (3 * 1024 + 0x2AF, 0xD));
    assert_eq!(shape.spread(5), (5 * 2_654_435_761_u64 % 65_536) as u32);
    assert_eq!(spread(3, 32), (3 * 2_654_435_761_u64 % (1 << 32)) as u32);
    assert!(shape.holds(31, 65_535) && !shape.holds(32, 0) && !shape.holds(0, 65_536));
}

#[test]
fn pages_are_counted_and_placed_one_after_the_other() {
    let many = shape(presets::PRECISE, 1_000_000);
    // 127 blocks of 21 buckets.
    let places = [2_666, 2_667, 2 * 2_667 + 100].map(|bucket| many.block_of_bucket(bucket));
    assert_eq!(places, [(0, 126, 20), (1, 0, 0), (2, 4, 16)]);
    for bucket in [0, 20, 21, 2_666, 2_667, 2 * 2_667 + 100, (32 << 16) - 1] {
        let (page, block, place) = many.block_of_bucket(bucket);
        assert_eq!(many.block((bucket % 2_667) as usize), (block, place));
        assert_eq!(page * 2_667 + block as u64 * 21 + u64::from(place), bucket);
    }
    let left = (32 << 16) - 786 * 2_667;
    assert_eq!([0, 786, 787].map(|i| many.buckets_in_page(i)), [2_667, left, 0]);
    assert_eq!(many.short_page(2 * 3_267 + 5), (2, 5));
    assert_eq!([0, 2, 3].map(|i| many.short_in_page(7_000, i)), [3_267, 466, 0]);
    assert_eq!([0, 1, 2].map(|i| PostingShape::table_in_page(511, i)), [510, 1, 0]);
    let place = |kind, number| PagePlace { kind, extent: 9, number };
    assert_eq!(many.directory_place(9, 3), place(PageKind::PostingDirectory, 3 * 128));
    let directory = 786 * 128 + 1 + 99_865 - 786 * 127;
    assert_eq!(many.short_place(9, 2), place(PageKind::ShortPostings, directory + 2 * 128));
    // Two full short pages, and 466 entries of 20 bits in 19 units.
    let table = directory + 2 * 128 + 19;
    assert_eq!(many.table_place(9, 7_000, 1), place(PageKind::PostingTable, table + 128));
}

/// POST-1: with long lists there are fewer short entries than postings, and each list has at least a page.
#[test]
fn a_region_with_long_lists_has_room_for_a_page_of_each() {
    let many = shape(presets::PRECISE, 1_000_000);
    let least = |short| many.table_bytes(short, 2).1 + 2 * 64;
    let (all, fewer) = (32_000_000, 31_999_000);
    assert!(many.fits(least(fewer), fewer, 2) && many.fits(least(fewer) + 64, fewer, 2));
    assert!(!many.fits(least(fewer) - 64, fewer, 2));
    assert!(!many.fits(least(all), all, 2) && !many.fits(least(all + 1), all + 1, 2));
}

/// POST-1: without slots the region is empty.
#[test]
fn without_slots_the_region_is_empty() {
    let none = shape(Parameters { slots: Slots::NONE, ..presets::PRECISE }, 5);
    assert!(none.fits(0, 0, 0));
    assert!(!none.fits(64, 0, 0) && !none.fits(0, 1, 0) && !none.fits(0, 0, 1));
}

#[test]
fn bits_come_from_anywhere() {
    let bytes: Vec<u8> = (1..=20).collect();
    let bit = |i: usize| u64::from(bytes.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1));
    for start in 0..170 {
        for bits in [0, 1, 7, 20, 36, 56] {
            let naive = (0..bits).fold(0, |word, i| word | bit(start + i as usize) << i);
            assert_eq!(bits_at(&bytes, start, bits), naive, "{start} {bits}");
        }
    }
}
