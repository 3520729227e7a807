//! Directory and short pages: what is written reads back, and each rule refuses.

use super::*;
use crate::error::Error;
use crate::format::bytes::Seal;
use crate::format::page::{PageKind, PagePlace, encode};
use crate::scheme::{Scheme, presets};

fn page(kind: PageKind, payload: &[u8]) -> Page {
    let place = PagePlace { kind, block: 4, number: 0 };
    let seal = Seal::of([1; 16]);
    Page::verify(encode(place, payload, seal)[..].into(), place, seal).unwrap()
}

fn rule<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    match result {
        Err(Error::Corrupt { rule, .. }) => rule,
        other => panic!("{other:?}"),
    }
}

/// Two blocks, 70 buckets: lengths 3, long, 254, 0 and then 1 each.
fn directory_payload() -> Vec<u8> {
    let lengths: Vec<u8> = [3, 255, 254, 0].into_iter().chain([1; 66]).collect();
    let mut payload = 1000_u64.to_le_bytes().to_vec();
    payload.extend_from_slice(&0_u32.to_le_bytes());
    payload.extend_from_slice(&lengths[..60]);
    payload.extend_from_slice(&(257_u32 + 56).to_le_bytes());
    payload.extend_from_slice(&lengths[60..]);
    payload.resize(8 + 128, 0);
    payload
}

#[test]
fn a_directory_says_where_the_entries_of_a_bucket_are() {
    let page = page(PageKind::PostingDirectory, &directory_payload());
    let directory = PostingDirectory::new(page, 70, 1323).unwrap();
    let short = |first, count| Bucket::Short { first, count };
    assert_eq!(directory.bucket(0), short(1000, 3));
    assert_eq!(directory.bucket(1), Bucket::Long);
    assert_eq!(directory.bucket(2), short(1003, 254));
    assert_eq!(directory.bucket(3), short(1257, 0));
    assert_eq!(directory.bucket(59), short(1257 + 55, 1));
    assert_eq!(directory.bucket(60), short(1257 + 56, 1));
    assert_eq!(directory.bucket(69), short(1257 + 65, 1));
    assert!(matches!(directory.bucket(70), Bucket::Short { count: 0, .. }));
    assert!(matches!(directory.bucket(7_620), Bucket::Short { count: 0, .. }));
    assert_eq!(directory.memory(), directory.page.memory());
}

#[test]
fn each_rule_of_a_directory_refuses() {
    let changed = |buckets: usize, short: u64, change: fn(&mut Vec<u8>)| {
        let mut payload = directory_payload();
        change(&mut payload);
        PostingDirectory::new(page(PageKind::PostingDirectory, &payload), buckets, short)
    };
    assert!(changed(70, 1323, |_| ()).is_ok());
    assert_eq!(rule(changed(130, 1323, |_| ())), "POST-2");
    assert_eq!(rule(changed(60, 1323, |_| ())), "POST-2");
    assert_eq!(rule(changed(0, 1323, Vec::clear)), "POST-2");
    assert_eq!(rule(changed(70, 1323, |p| p.truncate(7))), "POST-2");
    assert_eq!(rule(changed(70, 1323, |p| p[8 + 64 + 4 + 10] = 1)), "POST-2");
    assert_eq!(rule(changed(70, 1323, |p| p[8 + 64] ^= 1)), "POST-3");
    assert_eq!(rule(changed(70, 1323, |p| p[8] = 1)), "POST-3");
    assert_eq!(rule(changed(70, 1322, |_| ())), "POST-3");
    assert_eq!(rule(changed(70, 1323, |p| p[..8].fill(255))), "POST-3");
}

#[test]
fn short_entries_read_back_and_each_rule_refuses() {
    // 1,000 ids: 6 bits of bucket, 10 others, 10 bits of id.
    let scheme = Scheme::new(presets::PRECISE).unwrap();
    let shape = PostingShape::of(&scheme, 1000, false);
    assert_eq!((shape.low_bits(), shape.width()), (10, 20));
    let entries: Vec<u64> = (0..7).map(|i| (i % 3) << 10 | (990 + i)).collect();
    let mut bits = BitWriter::default();
    entries.iter().for_each(|entry| bits.push(*entry, 20));
    let payload = bits.end().to_vec();
    assert_eq!(payload.len(), 18);
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
        short.push_ids(first, end, low, &mut ids);
        ids
    };
    assert_eq!(pushed(0, 7, 1), [5, 991, 994]);
    assert_eq!(pushed(2, 6, 0), [5, 993]);
    assert_eq!(pushed(5, 99, 2), [5, 995]);
    assert_eq!(pushed(0, 7, 3), [5]);
    assert_eq!(rule(changed(6, |_| ())), "POST-4");
    assert_eq!(rule(changed(8, |_| ())), "POST-4");
    assert_eq!(rule(changed(0, Vec::clear)), "POST-4");
    assert_eq!(rule(changed(7, |p| p[17] |= 0x10)), "POST-4");
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
