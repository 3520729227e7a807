//! Tests of the header page of a segment.

use super::*;
use crate::error::Error;
use crate::scheme::Elements;
use std::mem::offset_of;

#[test]
fn spec_table_matches_the_struct() {
    let code = [
        ("magic", offset_of!(Layout, magic), 8),
        ("database id", offset_of!(Layout, database_id), 16),
        ("scheme", offset_of!(Layout, scheme), 48),
        ("length", offset_of!(Layout, length), 8),
        ("first sequence", offset_of!(Layout, first_sequence), 8),
        ("last sequence", offset_of!(Layout, last_sequence), 8),
        ("rows", offset_of!(Layout, rows), 4),
        ("ids", offset_of!(Layout, ids), 4),
        ("empty id", offset_of!(Layout, empty_id), 4),
        ("reserved", offset_of!(Layout, reserved), 4),
        ("value bytes", offset_of!(Layout, value_bytes), 8),
        ("signatures length", offset_of!(Layout, signatures_length), 8),
        ("keys offset", offset_of!(Layout, keys_offset), 8),
        ("keys length", offset_of!(Layout, keys_length), 8),
        ("duplicates offset", offset_of!(Layout, duplicates_offset), 8),
        ("duplicates length", offset_of!(Layout, duplicates_length), 8),
        ("key bytes", offset_of!(Layout, key_bytes), 8),
        ("root page", offset_of!(Layout, root_page), 4),
        ("root level", offset_of!(Layout, root_level), 1),
        ("zero", offset_of!(Layout, zero), 3),
        ("postings offset", offset_of!(Layout, postings_offset), 8),
        ("postings length", offset_of!(Layout, postings_length), 8),
        ("short postings", offset_of!(Layout, short_postings), 8),
        ("long lists", offset_of!(Layout, long_lists), 4),
        ("zero2", offset_of!(Layout, zero2), 4),
    ];
    testkit::spec_tables::assert_matches(
        include_str!("../../format-spec/segment.md"),
        "Segment header",
        &code,
    );
    let kept = [
        ("elements offset", offset_of!(KeptLayout, elements_offset), 8),
        ("elements length", offset_of!(KeptLayout, elements_length), 8),
        ("set bytes", offset_of!(KeptLayout, set_bytes), 8),
    ];
    testkit::spec_tables::assert_matches(
        include_str!("../../format-spec/elements.md"),
        "Segment header of kept sets",
        &kept,
    );
    assert_eq!(size_of::<Layout>() + size_of::<KeptLayout>() + 24, 256);
}

/// The same header with 90 bytes of sets: a page of 128 bytes and a directory of 64.
fn keeping() -> SegmentHeader {
    let mut header = header();
    let parameters = crate::Parameters { elements: Elements::EXACT, ..*header.scheme };
    header.scheme = Scheme::new(parameters).unwrap();
    let region = Region { offset: header.length, length: 192 };
    header.elements = Some(RecordRegion { region, bytes: 90 });
    header.length += 192;
    header
}

#[test]
fn sets_follow_the_postings_where_the_scheme_keeps_them() {
    assert_eq!(SegmentHeader::decode(&keeping().encode()), Ok(keeping()));
    assert_eq!((header().encode().len(), keeping().encode().len()), (208, 232));
    let rule_of = |change: fn(&mut SegmentHeader)| {
        let mut bad = keeping();
        change(&mut bad);
        match SegmentHeader::decode(&bad.encode()) {
            Err(Error::Corrupt { rule, .. }) => rule,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(rule_of(|h| h.elements = None), "SEG-1");
    assert_eq!(rule_of(|h| h.scheme = Scheme::precise()), "SEG-1");
    assert_eq!(rule_of(|h| h.elements.as_mut().unwrap().region.offset += 64), "SEG-4");
    assert_eq!(rule_of(|h| h.elements.as_mut().unwrap().region.length += 64), "SEG-4");
    assert_eq!(rule_of(|h| h.elements.as_mut().unwrap().bytes += 64), "KEPT-5");
    assert_eq!(rule_of(|h| h.elements.as_mut().unwrap().bytes = 2), "KEPT-5");
    let longer = |h: &mut SegmentHeader| {
        h.elements.as_mut().unwrap().region.length += MAX_REGION_BYTES;
        h.length += MAX_REGION_BYTES;
    };
    assert_eq!(rule_of(longer), "SEG-4");
}

/// Values follow the sets, or the postings without them, and go to the end of the segment.
#[test]
fn values_follow_everything_else() {
    for mut good in [header(), keeping()] {
        // Three rows with 70 bytes of values: a page of 128 bytes and a directory of 64.
        let region = Region { offset: good.length, length: 192 };
        good.values = Some(RecordRegion { region, bytes: 70 });
        good.length += 192;
        assert_eq!(SegmentHeader::decode(&good.encode()), Ok(good.clone()));
        let rule_of = |change: fn(&mut SegmentHeader)| {
            let mut bad = good.clone();
            change(&mut bad);
            match SegmentHeader::decode(&bad.encode()) {
                Err(Error::Corrupt { rule, .. }) => rule,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(rule_of(|h| h.values = None), "SEG-4");
        assert_eq!(rule_of(|h| h.length += 1), "SEG-4");
        assert_eq!(rule_of(|h| h.length -= 192), "VALUE-3");
        assert_eq!(rule_of(|h| h.length += 64), "VALUE-3");
        assert_eq!(rule_of(|h| h.length += MAX_REGION_BYTES), "SEG-4");
        let bytes = |bytes: u64| {
            let mut bad = good.clone();
            bad.values.as_mut().unwrap().bytes = bytes;
            SegmentHeader::decode(&bad.encode())
        };
        for wrong in [1, 2, 105, 8_192, MAX_REGION_BYTES, u64::MAX] {
            let refused = bytes(wrong);
            let rule = matches!(refused, Err(Error::Corrupt { rule: "VALUE-3", .. }));
            assert!(rule, "{wrong}: {refused:?}");
        }
        assert!(bytes(3).is_err() && bytes(104).is_ok());
    }
}

fn header() -> SegmentHeader {
    let scheme = Scheme::new(crate::presets::PRECISE).unwrap();
    let signatures = Region { offset: 256, length: SignatureShape::of(&scheme).region_bytes(3) };
    SegmentHeader {
        database: [1; 16],
        scheme,
        length: signatures.end() + 128 + 320,
        first_sequence: 4,
        last_sequence: 9,
        rows: 3,
        ids: 3,
        empty_id: Some(2),
        signatures,
        keys: Region { offset: signatures.end(), length: 128 },
        duplicates: Region { offset: signatures.end() + 128, length: 0 },
        key_bytes: 12,
        root_page: 1,
        root_level: 1,
        // A directory of one block, and 64 entries of 18 bits.
        postings: Region { offset: signatures.end() + 128, length: 320 },
        short_postings: 64,
        long_lists: 0,
        elements: None,
        values: None,
    }
}

fn lengthen_keys(header: &mut SegmentHeader, by: u64) {
    header.keys.length += by;
    header.duplicates.offset += by;
    header.postings.offset += by;
    header.length += by;
}

#[test]
fn what_is_encoded_decodes() {
    assert_eq!(SegmentHeader::decode(&header().encode()), Ok(header()));
    // The largest value of every field, and a single sequence.
    let mut most = header();
    lengthen_keys(&mut most, MAX_REGION_BYTES - 128);
    (most.rows, most.root_level, most.last_sequence) = (MAX_ROWS, MAX_LEVELS, 4);
    most.duplicates.length = duplicates_page::region_bytes(MAX_ROWS - 3);
    most.postings.offset += most.duplicates.length;
    most.length += most.duplicates.length;
    assert_eq!(SegmentHeader::decode(&most.encode()), Ok(most));
}

#[test]
fn each_rule_refuses() {
    let rule_of = |change: fn(&mut SegmentHeader)| {
        let mut bad = header();
        change(&mut bad);
        match SegmentHeader::decode(&bad.encode()) {
            Err(Error::Corrupt { rule, .. }) => rule,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(rule_of(|h| h.rows = 0), "SEG-2");
    assert_eq!(rule_of(|h| h.ids = 4), "SEG-2");
    assert_eq!(rule_of(|h| h.ids = 0), "SEG-2");
    assert_eq!(rule_of(|h| h.rows = u32::MAX), "SEG-2");
    assert_eq!(rule_of(|h| h.empty_id = Some(3)), "SEG-3");
    assert_eq!(rule_of(|h| h.first_sequence = 10), "SEG-3");
    assert_eq!(rule_of(|h| h.length += 64), "SEG-4");
    assert_eq!(rule_of(|h| h.signatures.length += 64), "SEG-4");
    // Regions that follow each other but start too late, are not a multiple of 64, or are too long.
    assert_eq!(
        rule_of(|h| {
            h.keys.offset += 64;
            lengthen_keys(h, 64);
            h.keys.length -= 64;
        }),
        "SEG-4"
    );
    assert_eq!(rule_of(|h| lengthen_keys(h, 1)), "SEG-4");
    assert_eq!(rule_of(|h| lengthen_keys(h, MAX_REGION_BYTES)), "SEG-4");
    assert_eq!(rule_of(|h| h.root_page = 2), "SEG-5");
    assert_eq!(rule_of(|h| h.root_level = 0), "SEG-5");
    assert_eq!(rule_of(|h| h.root_level = 33), "SEG-5");
    assert_eq!(rule_of(|h| h.postings.offset += 64), "SEG-4");
    assert_eq!(rule_of(|h| h.short_postings = 63), "POST-1");
    assert_eq!(rule_of(|h| h.long_lists = 1), "POST-1");
    let zeros = [offset_of!(Layout, reserved), offset_of!(Layout, zero), offset_of!(Layout, zero2)];
    for at in zeros.into_iter().chain([size_of::<Layout>()]) {
        let mut bytes = [header().encode(), vec![0]].concat();
        bytes.truncate(size_of::<Layout>().max(at + 1));
        bytes[at] = 1;
        let decoded = SegmentHeader::decode(&bytes);
        assert!(matches!(decoded, Err(Error::Corrupt { rule: "SEG-1", .. })), "{at}");
    }
    let mut bytes = header().encode();
    bytes[0] = 0;
    assert!(matches!(SegmentHeader::decode(&bytes), Err(Error::Corrupt { rule: "SEG-1", .. })));
    bytes.truncate(100);
    assert!(matches!(SegmentHeader::decode(&bytes), Err(Error::Corrupt { rule: "SEG-1", .. })));
}
