//! Compares postings, as written and read back, with a map from values to ids.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::reader::Place;
use super::*;
use crate::error::Error;
use crate::format::bytes::Seal;
use crate::format::manifest::SegmentEntry;
use crate::format::posting_shape::PostingShape;
use crate::scheme::{CardinalityField, Parameters, Scheme, Slots, presets};
use crate::sketch::SlotReader;
use crate::store::file_layer::memory::MemoryFiles;
use crate::store::file_layer::{Access, File, FileLayer};
use crate::store::page_cache::PageCache;
use crate::store::page_source::PageSource;
use crate::store::segment::Segment;
use crate::store::segment::writer::{NewRow, SegmentPlan, SegmentWriter};
use crate::store::spill::SpillPlace;
use testkit::random::Random;

const PATH: &str = "/d/postings";

/// Signatures for a segment: the planes, and whether it is the empty set.
struct Sets {
    scheme: Arc<Scheme>,
    sets: Vec<(Vec<u64>, bool)>,
}

impl Sets {
    /// Returns distinct signatures. In most of them, `alike` of 8 samples are equal.
    fn random(parameters: Parameters, count: usize, alike: u64) -> Sets {
        let cardinality = CardinalityField::Log8;
        let universe = crate::scheme::Universe::Open;
        let parameters = Parameters { cardinality, universe, ..parameters };
        let scheme = Arc::new(Scheme::new(parameters).unwrap());
        let words = scheme.words_per_plane() * usize::from(scheme.bits);
        let mut random = Random(count as u64);
        let mut used = scheme.samples as usize % 64;
        if used == 0 {
            used = 64;
        }
        let pattern = random.word();
        let keep = if alike >= 8 { u64::MAX } else { !(u64::MAX << (alike * 8)) };
        let mut set = || {
            let same = random.below(8) < 7;
            let mut plane = |i: usize| {
                let any = random.word();
                let word = if same { any & !keep | pattern & keep } else { any };
                let last = (i + 1).is_multiple_of(scheme.words_per_plane());
                if last { word & u64::MAX >> (64 - used) } else { word }
            };
            ((0..words).map(&mut plane).collect::<Vec<_>>(), false)
        };
        let sets = (0..count).map(|_| set()).collect();
        Sets { scheme, sets }
    }

    fn with_empty_at(mut self, i: usize) -> Sets {
        let words = self.scheme.words_per_plane() * usize::from(self.scheme.bits);
        self.sets.insert(i, (vec![0; words], true));
        self
    }

    fn write(&self) -> MemoryFiles {
        let files = MemoryFiles::new().with_file(PATH, "");
        let file = open(&files);
        let plan = SegmentPlan {
            database: [5; 16],
            scheme: Arc::clone(&self.scheme),
            extent: 7,
            spill: SpillPlace { directory: None, memory: 1 << 20 },
        };
        let mut writer = SegmentWriter::new(plan);
        for (i, (planes, empty)) in self.sets.iter().enumerate() {
            let key = (i as u32).to_be_bytes();
            let code = u32::from(!empty);
            writer
                .push(NewRow {
                    key: &key,
                    planes,
                    code,
                    empty: *empty,
                    sequence: 0,
                    set: &[],
                    value: None,
                })
                .unwrap();
        }
        let new = writer.finish().unwrap().unwrap();
        assert_eq!(new.write_to(&*file, Path::new(PATH), 0).unwrap(), entry(&new));
        files
    }

    fn segment(&self) -> Segment {
        let files = self.write();
        let source = PageSource::new(
            open(&files),
            Path::new(PATH).into(),
            Seal::of([5; 16]),
            Arc::new(PageCache::new(1 << 20)),
        );
        Segment::open_at(source, 7, 0, &self.scheme).unwrap()
    }

    /// Returns the ids of each value of each slot. Ids are assigned in the order of first rows.
    fn map(&self) -> BTreeMap<(usize, u32), Vec<u32>> {
        let reader = SlotReader::new(&self.scheme);
        let mut values = vec![0; reader.count()];
        let (mut seen, mut map) = (BTreeMap::new(), BTreeMap::new());
        for set in &self.sets {
            let id = seen.len() as u32;
            if seen.insert(set, id).is_some() {
                seen.insert(set, 0);
                continue;
            }
            if !set.1 {
                reader.read(&set.0, &mut values);
                for (slot, value) in values.iter().enumerate() {
                    map.entry((slot, *value)).or_insert_with(Vec::new).push(id);
                }
            }
        }
        map
    }

    /// Finds and reads lists together, while their pages are being cached and afterwards.
    fn check_together(&self, segment: &Segment, map: &BTreeMap<(usize, u32), Vec<u32>>) {
        let shape = segment.header().posting_shape();
        let absent = (0..50).map(|i| (i % usize::from(self.scheme.slots.count), i as u32 & 1));
        let values: Vec<(usize, u32)> = map.keys().copied().take(300).chain(absent).collect();
        let wanted = |(slot, value): &(usize, u32)| Wanted::new(shape, *slot, *value).unwrap();
        let wanted: Vec<Wanted> = values.iter().map(wanted).collect();
        let expected = values.iter().flat_map(|of| map.get(of).cloned().unwrap_or_default());
        let expected: Vec<u32> = expected.collect();
        for _ in 0..2 {
            let reader = ListReader::new(segment);
            let (mut places, mut lists, mut ids) = (Vec::new(), Vec::new(), Vec::new());
            reader.look_up(&wanted, &mut places);
            reader.find(&wanted, &places, &mut lists).unwrap();
            reader.read(&lists, &mut ids).unwrap();
            assert_eq!(ids, expected);
        }
    }

    /// Compares every list, and values that do not occur.
    fn check(&self) -> Segment {
        let segment = self.segment();
        let map = self.map();
        let shape = segment.header().posting_shape();
        let slots = self.scheme.slots;
        for (&(slot, value), ids) in &map {
            let list = segment.posting_list(slot, value).unwrap();
            let mut found = vec![9];
            segment.read_postings(&list, &mut found).unwrap();
            assert_eq!(&found[1..], ids, "slot {slot}, value {value}");
            let exact = shape.low_bits() == 0 || matches!(list.place, Place::Long(_));
            assert!(if exact {
                list.length() as usize == ids.len()
            } else {
                list.length() as usize >= ids.len()
            });
        }
        self.check_together(&segment, &map);
        let mut random = Random(3);
        for _ in 0..200.min(1_u64 << slots.value_bits) {
            let value = (random.word() & ((1 << slots.value_bits) - 1)) as u32;
            let slot = random.index(slots.count.into());
            let list = segment.posting_list(slot, value).unwrap();
            let mut cursor = segment.posting_cursor(&list).unwrap();
            let mut found = Vec::new();
            loop {
                let block = cursor.next_block().unwrap();
                assert!(block.len() <= 128);
                if block.is_empty() {
                    break;
                }
                found.extend_from_slice(block);
            }
            assert!(cursor.next_block().unwrap().is_empty(), "the end stays the end");
            let expected = map.get(&(slot, value)).cloned().unwrap_or_default();
            assert_eq!(found, expected);
            assert!(
                list.length() as usize >= found.len() && (!list.is_empty() || found.is_empty())
            );
        }
        segment
    }
}

fn entry(new: &crate::store::segment::writer::NewSegment) -> SegmentEntry {
    let files = MemoryFiles::new().with_file(PATH, "");
    new.write_to(&*open(&files), Path::new(PATH), 0).unwrap()
}

fn open(files: &MemoryFiles) -> Arc<dyn File> {
    files.open(Path::new(PATH), Access::Write).unwrap()
}

fn slots(samples: u32, bits: u8, slots: Slots) -> Parameters {
    Parameters { samples, bits, slots, ..presets::PRECISE }
}

fn small(count: u16, samples_per_slot: u16, value_bits: u8) -> Slots {
    Slots { count, samples_per_slot, value_bits, min_matches: 1 }
}

#[test]
fn lists_are_those_of_the_signatures() {
    let one_bit = slots(100, 1, small(100, 1, 1));
    let ten_bits = slots(160, 2, small(20, 5, 10));
    let wide = slots(64, 8, small(8, 8, 32));
    let all = [
        presets::PRECISE,
        presets::RDC,
        presets::ALTA_VISTA,
        presets::BING,
        one_bit,
        ten_bits,
        wide,
    ];
    for parameters in all {
        for count in [1, 2, 7, 8, 15, 16, 17, 255, 256, 257, 1000, 4096, 5000] {
            for alike in [0, 3] {
                Sets::random(parameters, count, alike).check();
            }
        }
        Sets::random(parameters, 500, 8).with_empty_at(0).check();
        Sets::random(parameters, 63, 1).with_empty_at(63).check();
        Sets::random(parameters, 9000, 2).with_empty_at(4500).check();
    }
}

#[test]
fn short_lists_may_span_pages_and_long_ones_many() {
    let segment = Sets::random(presets::PRECISE, 20_000, 5).check();
    let header = segment.header();
    assert!(header.long_lists > 0 && header.short_postings > 100_000);
    let segment = Sets::random(slots(64, 4, small(2, 4, 2)), 150_000, 0).check();
    assert_eq!((segment.header().long_lists, segment.header().short_postings), (8, 0));
    let list = segment.posting_list(1, 2).unwrap();
    assert!(list.length() > 30_000);
}

#[test]
fn many_long_lists_need_several_pages_of_the_table() {
    let segment = Sets::random(slots(64, 8, small(8, 8, 7)), 40_000, 0).check();
    assert!(segment.header().long_lists > 1000);
}

#[test]
fn one_row_takes_two_small_pages_and_the_empty_set_none() {
    let segment = Sets::random(presets::PRECISE, 1, 0).check();
    assert_eq!(segment.header().postings.length, 256);
    let segment = Sets::random(presets::PRECISE, 0, 0).with_empty_at(0).check();
    assert_eq!((segment.header().postings.length, segment.header().short_postings), (128, 0));
    let without = Parameters { slots: Slots::NONE, ..presets::PRECISE };
    let segment = Sets::random(without, 10, 0).segment();
    assert_eq!(segment.header().postings.length, 0);
    assert!(matches!(segment.posting_list(0, 0), Err(Error::InvalidArgument { .. })));
}

#[test]
fn duplicates_have_one_posting() {
    let mut sets = Sets::random(presets::RDC, 300, 1);
    for i in 0..100 {
        sets.sets.push(sets.sets[i].clone());
    }
    assert_eq!(sets.check().header().ids, 300);
}

#[test]
fn what_no_scheme_has_is_refused() {
    let segment = Sets::random(presets::RDC, 30, 1).segment();
    assert!(segment.posting_list(11, 63).is_ok());
    for (slot, value) in [(12, 0), (usize::MAX, 0), (0, 64)] {
        let found = segment.posting_list(slot, value);
        assert!(matches!(found, Err(Error::InvalidArgument { .. })), "{found:?}");
    }
}

fn bytes_of(new: &NewPostings) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in &new.parts {
        part.pieces(&mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
    }
    bytes
}

/// POST-10: the bytes do not depend on the available memory.
#[test]
fn the_same_bytes_come_from_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    for (parameters, alike) in
        [(presets::PRECISE, 0), (presets::PRECISE, 4), (presets::RDC, 0), (presets::ALTA_VISTA, 2)]
    {
        let sets = Sets::random(parameters, 20_000, alike);
        let build = |directory: Option<&Path>, memory, most: Option<usize>| {
            let directory = directory.map(|path| Arc::new(path.to_path_buf()));
            let mut writer = PostingsWriter::new(&sets.scheme, &SpillPlace { directory, memory });
            if let Some(most) = most {
                writer = writer.with_most(most);
            }
            sets.sets.iter().for_each(|(planes, _)| writer.push(planes).unwrap());
            let new = writer.finish(7, Seal::of([5; 16]), 20_000, Some(77)).unwrap();
            (new.short, new.lists, bytes_of(&new))
        };
        let whole = build(None, 64 << 20, None);
        let shape = PostingShape::of(&sets.scheme, 20_000, true);
        assert!(shape.fits(whole.2.len() as u64, whole.0, whole.1));
        for most in [1, 300, 6000] {
            assert!(build(Some(folder.path()), 0, Some(most)) == whole, "{most}");
        }
    }
}
