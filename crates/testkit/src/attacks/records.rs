//! Attacks on single records: superblock, commit mark, manifest, segment header, log id, log part, and the payload of
//! a commit.
//!
//! Each is decoded as given and again with a correct checksum. What decodes must encode to the same bytes, because a
//! record has one form.

use std::sync::Arc;

use ringer::internals::format::batch;
use ringer::internals::format::bytes::Seal;
use ringer::internals::format::commit_mark::{CommitMark, MARK_BYTES};
use ringer::internals::format::log_part::{self, ID_BYTES, LogId, PART_HEADER};
use ringer::internals::format::manifest::Manifest;
use ringer::internals::format::segment_header::SegmentHeader;
use ringer::internals::format::superblock::{Slot, Superblock};
use ringer::scheme::{CardinalityField, Elements, Sampler, Slots, Universe};
use ringer::{Scheme, presets};

use super::checksums;
use super::input::Input;

/// Runs the attack. The first byte selects the record, a few more say what it belongs to, and the rest is the record.
pub fn records(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.byte() % 7 {
        0 => superblock(input.rest()),
        1 => commit_mark(input.rest()),
        2 => {
            let end = u64::from(input.word()) << (input.byte() % 33);
            manifest(input.rest(), end);
        }
        3 => segment_header(input.rest()),
        4 => log_id(input.rest()),
        5 => log_part(input.rest()),
        _ => {
            let scheme = scheme(input.byte());
            commit(input.rest(), &scheme);
        }
    }
}

/// Returns one of a few schemes that differ in everything that a codec depends on.
pub fn scheme(choice: u8) -> Arc<Scheme> {
    let cardinality = CardinalityField::ALL[usize::from(choice) % CardinalityField::ALL.len()];
    let (samples, bits) = [(64, 2), (12, 3), (1, 1), (130, 4)][usize::from(choice >> 4) % 4];
    let linear = matches!(cardinality, CardinalityField::Linear4 | CardinalityField::Linear8);
    let p = presets::PRECISE
        .with_sampler(if linear { Sampler::Independent } else { Sampler::OnePermutation })
        .with_universe(if linear { Universe::Bounded(1 << 20) } else { Universe::Open })
        .with_samples(samples)
        .with_bits(bits)
        .with_cardinality(cardinality)
        .with_slots(Slots::NONE)
        .with_elements(match choice {
            0..192 => Elements::None,
            _ if choice & 1 == 0 => Elements::EXACT,
            _ => Elements::Kept { bits: 20 },
        });
    Arc::new(Scheme::new(p).expect("a scheme that can be"))
}

fn superblock(bytes: &[u8]) {
    let mut block = [0; 4096];
    let length = bytes.len().min(4096);
    block[..length].copy_from_slice(&bytes[..length]);
    let raw = Superblock::decode(bytes);
    // The input may be short: the rest of a superblock is zero.
    block[..8].copy_from_slice(b"RINGER\x1a\n");
    checksums::superblock(&mut block);
    let repaired = Superblock::decode(&block);
    for (slot, bytes) in [(&raw, bytes), (&repaired, &block)] {
        if let Slot::Valid(superblock) = slot {
            assert_eq!(superblock.encode(), bytes[..4096]);
        }
    }
    let older = match &repaired {
        Slot::Valid(superblock) => {
            let generation = superblock.generation.saturating_sub(1);
            Slot::Valid(Superblock { generation, ..superblock.clone() })
        }
        _ => Slot::Foreign,
    };
    let _ = Superblock::choose(raw, repaired.clone());
    if let Ok(Some((chosen, _))) = Superblock::choose(older, repaired.clone()) {
        assert_eq!(Slot::Valid(chosen), repaired);
    }
}

fn commit_mark(bytes: &[u8]) {
    let seal = Seal::of([7; 16]);
    let mut repaired = bytes.to_vec();
    checksums::mark(&mut repaired, seal);
    for bytes in [bytes, &repaired] {
        if let Some(mark) = CommitMark::decode(bytes, seal) {
            assert_eq!(mark.encode(seal), bytes[..MARK_BYTES]);
        }
    }
}

fn manifest(bytes: &[u8], end: u64) {
    let mut repaired = bytes.to_vec();
    checksums::manifest(&mut repaired);
    for bytes in [bytes, &repaired] {
        if let Ok(manifest) = Manifest::decode(bytes, end) {
            assert_eq!(manifest.encode(), bytes);
        }
    }
}

fn segment_header(bytes: &[u8]) {
    if let Ok(header) = SegmentHeader::decode(bytes) {
        assert_eq!(header.encode(), bytes);
        assert!(header.ids >= 1 && header.ids + header.duplicate_count() == header.rows);
        assert_eq!(header.duplicates.end(), header.postings.offset);
        let sets = header.elements.map_or(header.postings.end(), |kept| kept.region.end());
        let values = header.values.map_or(sets, |values| values.region.end());
        assert_eq!(values, header.length);
        assert!(header.values.is_none_or(|values| values.region.offset == sets));
        assert_eq!(header.elements.is_some(), header.scheme.elements.are_kept());
    }
}

fn log_id(bytes: &[u8]) {
    let mut repaired = bytes.to_vec();
    checksums::log_id(&mut repaired);
    for bytes in [bytes, &repaired] {
        if let Ok((id, kind)) = log_part::decode_id(bytes) {
            assert_eq!((log_part::encode_id(id, kind).as_slice(), ID_BYTES), (bytes, bytes.len()));
        }
    }
}

fn log_part(bytes: &[u8]) {
    let id = LogId { database: [7; 16], number: 3 };
    let mut repaired = bytes.to_vec();
    checksums::log_parts(&mut repaired, id);
    for bytes in [bytes, &repaired] {
        let Ok((part, rest)) = log_part::decode_part(id, bytes) else { continue };
        let taken = bytes.len() - rest.len();
        assert_eq!(taken, PART_HEADER + part.payload.len());
        assert!(part.part < part.parts);
        if part.parts == 1 && part.is_cut_right() {
            let encoded: Vec<_> = log_part::encode_parts(id, part.sequence, part.payload).collect();
            assert_eq!(encoded, [(0, bytes[..taken].to_vec())]);
        }
    }
}

fn commit(bytes: &[u8], scheme: &Arc<Scheme>) {
    let Ok(operations) = batch::decode(bytes, scheme) else { return };
    assert_eq!(batch::encode(&operations), bytes);
    assert!(operations.iter().all(|o| o.value.is_none() || o.signature.is_some()));
    for signature in operations.iter().filter_map(|o| o.signature.as_ref()) {
        assert_eq!(signature.planes().len(), scheme.words_per_signature());
        assert_eq!(signature.elements().is_some(), scheme.elements.are_kept());
        let _ = (signature.cardinality(), signature.sample(0));
    }
}
