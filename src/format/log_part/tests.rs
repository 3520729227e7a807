//! Tests of the records of the write-ahead log: layouts are as specified, and each rule rejects its damage.

use std::mem::offset_of;

use proptest::prelude::*;

use super::*;

const ID: LogId = LogId { database: *b"0123456789abcdef", number: 7 };

fn spec(heading: &str) -> Vec<(String, usize, usize)> {
    testkit::spec_tables::offsets(include_str!("../../../format-spec/log.md"), heading)
}

fn rows(code: &[(&str, usize, usize)]) -> Vec<(String, usize, usize)> {
    code.iter().map(|(name, offset, size)| ((*name).to_string(), *offset, *size)).collect()
}

#[test]
fn spec_tables_match_the_structs() {
    let id = [
        ("magic", offset_of!(IdLayout, magic), 8),
        ("version", offset_of!(IdLayout, version), 2),
        ("kind", offset_of!(IdLayout, kind), 2),
        ("reserved", offset_of!(IdLayout, reserved), 4),
        ("database id", offset_of!(IdLayout, database), 16),
        ("log number", offset_of!(IdLayout, number), 8),
        ("crc", offset_of!(IdLayout, crc), 4),
    ];
    assert_eq!(spec("Id file"), rows(&id));
    assert_eq!(ID_BYTES, 44);
    let part = [
        ("crc", offset_of!(PartLayout, crc), 4),
        ("payload length", offset_of!(PartLayout, length), 4),
        ("sequence", offset_of!(PartLayout, sequence), 8),
        ("part", offset_of!(PartLayout, part), 4),
        ("parts", offset_of!(PartLayout, parts), 4),
    ];
    assert_eq!(spec("Part"), rows(&part));
    assert_eq!(PART_HEADER, 24);
}

#[test]
fn an_id_file_is_written_byte_for_byte_as_specified() {
    let mut expected =
        b"RINGHOT\n\x01\0\x02\0\0\0\0\x000123456789abcdef\x07\0\0\0\0\0\0\0".to_vec();
    let seeded = [&b"0123456789abcdef\x07\0\0\0\0\0\0\0"[..], &expected].concat();
    expected.extend(crc32fast::hash(&seeded).to_le_bytes()); // LOG-4
    assert_eq!(encode_id(ID, LogKind::Plain).to_vec(), expected);
    assert_eq!(decode_id(&expected), Ok((ID, LogKind::Plain)));
    assert_eq!(decode_id(&encode_id(ID, LogKind::Sled)), Ok((ID, LogKind::Sled)));
}

/// LOG-3: an id file with any bit flipped, or of any other length, is rejected.
#[test]
fn a_changed_id_file_is_refused() {
    let good = encode_id(ID, LogKind::Sled);
    for bit in 0..good.len() * 8 {
        let mut bad = good;
        bad[bit / 8] ^= 1 << (bit % 8);
        let error = decode_id(&bad).expect_err("a flipped bit");
        assert!(matches!(error, Error::Corrupt { rule: "LOG-3", .. }), "bit {bit}: {error}");
    }
    for length in 0..good.len() {
        let error = decode_id(&good[..length]).expect_err("a short file");
        assert!(matches!(error, Error::Corrupt { rule: "LOG-3", .. }), "{length}: {error}");
    }
    assert!(decode_id(&[&good[..], &[0]].concat()).is_err());
}

/// An id file with one byte changed and a valid checksum.
fn forged(at: usize, value: u8) -> Vec<u8> {
    let mut bytes = encode_id(ID, LogKind::Sled).to_vec();
    bytes[at] = value;
    let crc = ID.crc(&bytes[..40]).to_le_bytes();
    bytes[40..].copy_from_slice(&crc);
    bytes
}

#[test]
fn a_later_version_or_kind_is_unsupported_and_reserved_bytes_are_damage() {
    for (at, found, newest) in [(8, 2, 1), (10, 3, 2)] {
        match decode_id(&forged(at, found)) {
            Err(Error::UnsupportedFormat { found: f, newest: n, rule: "LOG-3", .. }) => {
                assert_eq!((f, n), (u64::from(found), newest));
            }
            other => panic!("{other:?}"),
        }
    }
    let error = decode_id(&forged(13, 1)).expect_err("reserved");
    assert!(matches!(error, Error::Corrupt { offset: 12, rule: "LOG-3", .. }), "{error}");
}

#[test]
fn a_part_is_written_byte_for_byte_as_specified() {
    let parts: Vec<_> = encode_parts(ID, 258, b"Hello").collect();
    let rest = b"\x05\0\0\0\x02\x01\0\0\0\0\0\0\0\0\0\0\x01\0\0\0Hello";
    let seeded = [&b"0123456789abcdef\x07\0\0\0\0\0\0\0"[..], rest].concat();
    let crc = crc32fast::hash(&seeded).to_le_bytes(); // LOG-4
    assert_eq!(parts, [(0, [&crc[..], rest].concat())]);
}

/// LOG-5, LOG-6: the parts of payloads at and near the limits.
#[test]
fn payloads_are_cut_in_one_way() {
    let full = MAX_PAYLOAD;
    for (length, expected) in [
        (0, vec![0]),
        (1, vec![1]),
        (full, vec![full]),
        (full + 1, vec![full, 1]),
        (3 * full, vec![full, full, full]),
        (3 * full + 9, vec![full, full, full, 9]),
    ] {
        let payload: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        let encoded: Vec<_> = encode_parts(ID, 5, &payload).collect();
        let mut again = Vec::new();
        let mut lengths = Vec::new();
        for (number, bytes) in &encoded {
            let (part, rest) = decode_part(ID, bytes).expect("a good part");
            assert!(rest.is_empty() && bytes.len() <= MAX_PART && part.is_cut_right());
            assert_eq!((part.sequence, part.part), (5, *number));
            assert_eq!(part.parts as usize, expected.len());
            assert_eq!(part.is_last(), *number as usize + 1 == expected.len());
            lengths.push(part.payload.len());
            again.extend_from_slice(part.payload);
        }
        assert_eq!(lengths, expected);
        assert_eq!(again, payload);
    }
}

#[test]
fn parts_cut_in_another_way_are_told_apart() {
    let payload = [0; MAX_PAYLOAD];
    let cut = |part, parts, length| {
        Part { sequence: 1, part, parts, payload: &payload[..length] }.is_cut_right()
    };
    assert!(!cut(0, 2, MAX_PAYLOAD - 1), "short, and not the last");
    assert!(!cut(1, 2, 0), "empty, and not the only one");
    assert!(cut(0, 1, 0) && cut(1, 2, 1) && cut(0, 2, MAX_PAYLOAD));
}

/// LOG-5: decoding returns the bytes after a part, and no changed part verifies.
#[test]
fn a_changed_part_is_refused() {
    let (_, good) = encode_parts(ID, 3, b"payload").next().expect("one part");
    let followed = [&good[..], b"more"].concat();
    let (_, rest) = decode_part(ID, &followed).expect("a good part");
    assert_eq!(rest, b"more");
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let error = decode_part(ID, &bad).expect_err("a flipped bit");
        assert!(matches!(error, Error::Corrupt { rule: "LOG-5", .. }), "bit {bit}: {error}");
    }
    for length in 0..good.len() {
        let error = decode_part(ID, &good[..length]).expect_err("a short part");
        assert!(matches!(error, Error::Corrupt { rule: "LOG-5", .. }), "{length}: {error}");
    }
}

#[test]
fn a_part_outside_its_limits_is_refused_even_if_the_checksum_fits() {
    let long = vec![0; MAX_PAYLOAD + 1];
    let bytes = encode_part(ID, Part { sequence: 1, part: 0, parts: 1, payload: &long });
    let error = decode_part(ID, &bytes).expect_err("too long");
    assert!(matches!(error, Error::Corrupt { offset: 4, rule: "LOG-5", .. }), "{error}");
    for (part, parts) in [(1, 1), (0, 0), (u32::MAX, 2)] {
        let bytes = encode_part(ID, Part { sequence: 1, part, parts, payload: b"" });
        let error = decode_part(ID, &bytes).expect_err("no such part");
        assert!(matches!(error, Error::Corrupt { offset: 16, rule: "LOG-5", .. }), "{error}");
    }
}

/// LOG-4: the same bytes in another log or database are rejected.
#[test]
fn a_part_of_another_log_does_not_verify() {
    let (_, bytes) = encode_parts(ID, 3, b"payload").next().expect("one part");
    for id in [LogId { number: 8, ..ID }, LogId { database: *b"0123456789abcdeF", ..ID }] {
        assert!(decode_part(id, &bytes).is_err());
    }
}

proptest! {
    #[test]
    fn any_bytes_decode_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode_id(&bytes);
        let _ = decode_part(ID, &bytes);
    }
}
