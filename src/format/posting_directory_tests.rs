//! Tests of directory pages and short pages: they round-trip, and each rule rejects its violation.

use super::*;
use crate::error::Error;
use crate::format::bytes::Seal;
use crate::format::page::{PageKind, PagePlace, encode};
use crate::format::posting_block::BlockBuilder;
use crate::scheme::{Parameters, Scheme, Slots, presets};

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

/// The shape for 1,000 ids: blocks have 180 buckets.
fn shape() -> PostingShape {
    PostingShape::of(&Scheme::new(presets::PRECISE).unwrap(), 1000, false)
}

/// Two blocks with 250 buckets. The lengths are 3, long, 80, 0, and then 1 up to bucket 180. Of the other 70 only
/// the last has entries.
fn directory_payload() -> Vec<u8> {
    let mut first = BlockBuilder::default();
    first.push(3);
    first.push_long(1);
    first.push(80);
    first.skip(1);
    (4..180).for_each(|_| first.push(1));
    let mut second = BlockBuilder::default();
    second.skip(69);
    second.push(2);
    let blocks = [first.take(1000), second.take(1259)];
    [&[0; 40][..], blocks.as_bytes()].concat()
}

#[test]
fn a_directory_says_where_the_entries_of_a_bucket_are() {
    let page = page(PageKind::PostingDirectory, &directory_payload());
    let directory = PostingDirectory::new(page, shape(), 250, (1261, 1)).unwrap();
    let short = |first, count| Bucket::Short { first, count };
    assert_eq!(directory.bucket(0), short(1000, 3));
    assert_eq!(directory.bucket(1), Bucket::Long);
    assert_eq!(directory.bucket(2), short(1003, 80));
    assert_eq!(
        directory.bucket(3),
        Bucket::Long,
        "it has no entries, and may be long as one near it is"
    );
    assert_eq!(directory.bucket(4), short(1083, 1));
    assert_eq!(directory.bucket(179), short(1258, 1));
    assert_eq!(directory.bucket(180), short(1259, 0));
    assert_eq!(directory.bucket(249), short(1259, 2));
    assert!(matches!(directory.bucket(250), Bucket::Short { count: 0, .. }));
    assert!(matches!(directory.bucket(22_860), Bucket::Short { count: 0, .. }));
    assert_eq!(directory.memory(), directory.page().memory());
    assert_eq!(directory.start(), Some(1000));
}

#[test]
fn each_rule_of_a_directory_refuses() {
    let changed = |buckets: usize, counts: (u64, u32), change: fn(&mut Vec<u8>)| {
        let mut payload = directory_payload();
        change(&mut payload);
        let page = page(PageKind::PostingDirectory, &payload);
        PostingDirectory::new(page, shape(), buckets, counts)
    };
    let counts = (1261, 1);
    assert!(changed(250, counts, |_| ()).is_ok());
    assert_eq!(rule(changed(361, counts, |_| ())), "POST-2");
    assert_eq!(rule(changed(180, counts, |_| ())), "POST-2");
    assert_eq!(rule(changed(0, counts, |p| p.truncate(40))), "POST-2");
    assert_eq!(rule(changed(250, counts, |p| p.truncate(7))), "POST-2");
    assert_eq!(rule(changed(250, counts, |p| p.truncate(167))), "POST-2");
    assert_eq!(rule(changed(250, counts, |p| p[39] = 1)), "POST-2");
    // Ones after the last bucket, and bits that belong to no bucket.
    assert_eq!(rule(changed(249, counts, |_| ())), "POST-2");
    assert_eq!(rule(changed(250, counts, |p| p[40 + 64 + 63] = 0x80)), "POST-2");
    assert_eq!(rule(changed(250, counts, |p| p[40 + 8..40 + 64].fill(255))), "POST-2");
    assert_eq!(rule(changed(250, counts, |p| p[40 + 64] ^= 1)), "POST-3");
    assert_eq!(rule(changed(250, counts, |p| p[40] += 1)), "POST-3");
    assert_eq!(rule(changed(250, counts, |p| p[40..46].fill(255))), "POST-3");
    assert_eq!(rule(changed(250, (1260, 1), |_| ())), "POST-3");
    // Long buckets although there are no lists, and a bit of the 110 buckets that the last block lacks.
    assert_eq!(rule(changed(250, (1261, 0), |_| ())), "POST-3");
    assert!(changed(250, counts, |p| p[40 + 64 + 6] = 0x40).is_ok());
    assert_eq!(rule(changed(250, counts, |p| p[40 + 64 + 6] = 0x80)), "POST-3");
}

#[test]
fn short_entries_read_back_and_each_rule_refuses() {
    // 1,000 ids: 10 bucket bits, 3 low bits, 10 id bits.
    let slots = Slots { count: 8, samples_per_slot: 5, value_bits: 13, min_matches: 1 };
    let scheme = Scheme::new(Parameters { slots, ..presets::PRECISE }).unwrap();
    let shape = PostingShape::of(&scheme, 1000, false);
    assert_eq!((shape.low_bits(), shape.width()), (3, 13));
    let entries: Vec<u64> = (0..7).map(|i| (i % 3) << 10 | (990 + i)).collect();
    let mut bits = BitWriter::default();
    entries.iter().for_each(|entry| bits.push(*entry, 13));
    let payload = bits.end().to_vec();
    assert_eq!(payload.len(), 12);
    bits.clear();
    assert!(bits.end().is_empty());
    let changed = |count: usize, change: fn(&mut Vec<u8>)| {
        let mut payload = payload.clone();
        change(&mut payload);
        ShortPage::new(page(PageKind::ShortPostings, &payload), shape, count)
    };
    let short = changed(7, |_| ()).unwrap();
    assert_eq!((0..7).map(|i| short.entry(i)).collect::<Vec<_>>(), entries);
    assert_eq!((0..7).filter_map(|i| short.id_of(i, 1)).collect::<Vec<_>>(), [991, 994]);
    assert_eq!((short.count(), short.memory()), (7, short.page.memory()));
    let pushed = |first, end, low| {
        let mut ids = vec![5];
        ShortPage::push_ids(short.page().lines(), shape, (first, end), low, &mut ids);
        ids
    };
    assert_eq!(pushed(0, 7, 1), [5, 991, 994]);
    assert_eq!(pushed(2, 6, 0), [5, 993]);
    assert_eq!(pushed(5, 7, 2), [5, 995]);
    assert_eq!(pushed(0, 7, 3), [5]);
    assert_eq!(rule(changed(6, |_| ())), "POST-4");
    assert_eq!(rule(changed(8, |_| ())), "POST-4");
    assert_eq!(rule(changed(0, Vec::clear)), "POST-4");
    assert_eq!(rule(changed(7, |p| p[11] |= 0x08)), "POST-4");
    // Id 1023.
    assert_eq!(rule(changed(7, |p| p[0] = 255)), "POST-5");
}

#[test]
fn bits_of_any_width_follow_each_other() {
    for width in [1, 7, 8, 19, 31, 32, 36, 63] {
        let mut bits = BitWriter::default();
        let number = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) & low_mask(width);
        (0..100).for_each(|i| bits.push(number(i), width));
        let bytes = bits.end();
        assert_eq!(bytes.len(), PostingShape::packed_bytes(100, width));
        for i in 0..if width <= 56 { 100 } else { 0 } {
            assert_eq!(bits_at(bytes, (i * u64::from(width)) as usize, width), number(i));
        }
    }
}
