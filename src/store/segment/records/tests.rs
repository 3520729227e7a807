//! Tests that sets are found by id and values by row, that sets share ids only if they are equal, and that both can be
//! read without their directory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::{RecordWriter, SetReader, ValueReader};
use crate::error::Error;
use crate::format::bytes::Seal;
use crate::format::kept_set::KeptShape;
use crate::format::record_pages::STARTS_PER_PAGE;
use crate::scheme::{Elements, Parameters, Scheme, Slots, presets};
use crate::sketch::{Signature, Sketcher};
use crate::store::file_layer::memory::MemoryFiles;
use crate::store::file_layer::{Access, FileLayer};
use crate::store::page_cache::PageCache;
use crate::store::page_source::{Keep, PageSource};
use crate::store::segment::Segment;
use crate::store::segment::writer::{NewRow, SegmentPlan, SegmentWriter};
use crate::store::spill::SpillPlace;

const PATH: &str = "/segment";

fn scheme() -> Arc<Scheme> {
    let p = Parameters { samples: 2, bits: 1, slots: Slots::NONE, ..presets::PRECISE };
    Arc::new(Scheme::new(Parameters { elements: Elements::EXACT, ..p }).unwrap())
}

/// Returns set `n`. One in 20 equals the previous set, some are long, and one is empty.
fn set(n: u64) -> Vec<u64> {
    match n {
        7 => Vec::new(),
        n if n % 20 == 1 => set(n - 1),
        n if n % 500 == 2 => (0..4000).map(|i| (i << 50) + n).collect(),
        n => (0..1 + n % 7).map(|i| n * n + i * i * 1_000_003).collect(),
    }
}

/// Returns the value of row `n`: none before row 9, then none, empty, short, the longest, or over several pages.
fn value(n: u64) -> Option<Vec<u8>> {
    let length = match n {
        0..9 => return None,
        n if n % 3 == 0 => return None,
        n if n % 701 == 10 => crate::limits::MAX_VALUE_BYTES,
        n if n % 97 == 1 => 20_000,
        n => n as usize % 40,
    };
    Some((0..length).map(|i| (i as u64 * 7 + n) as u8).collect())
}

fn write(sets: u64, memory: usize) -> MemoryFiles {
    let files = MemoryFiles::new().with_file(PATH, "");
    let directory = Some(Arc::new(std::env::temp_dir()));
    let spill = SpillPlace { directory, memory };
    let plan = SegmentPlan { database: [5; 16], scheme: scheme(), extent: 7, spill };
    let (mut writer, sketcher) = (SegmentWriter::new(plan), Sketcher::new(&scheme()));
    let kept = KeptShape::of(&scheme()).unwrap();
    for n in 0..sets {
        let signature: Signature = sketcher.sketch(&set(n)).unwrap();
        let mut encoded = Vec::new();
        kept.encode(signature.elements().unwrap(), &mut encoded);
        let value = value(n);
        let row = NewRow {
            key: &n.to_be_bytes(),
            planes: signature.planes(),
            code: signature.cardinality_code(),
            empty: signature.is_empty(),
            sequence: 0,
            set: &encoded,
            value: value.as_deref(),
        };
        writer.push(row).unwrap();
    }
    let new = writer.finish().unwrap().unwrap();
    let file = files.open(Path::new(PATH), Access::Write).unwrap();
    new.write_to(&*file, Path::new(PATH), 0).unwrap();
    files
}

fn open(files: &MemoryFiles, cache: usize) -> Segment {
    let file = files.open(Path::new(PATH), Access::Read).unwrap();
    let cache = Arc::new(PageCache::new(cache));
    let source = PageSource::new(file, Path::new(PATH).into(), Seal::of([5; 16]), cache);
    Segment::open_at(source, 7, 0, &scheme()).unwrap()
}

/// Returns the sets by id. Ids are assigned in the order of the first rows that have them.
fn truth(sets: u64) -> Vec<Vec<u64>> {
    let (mut seen, mut truth) = (BTreeMap::new(), Vec::new());
    for n in 0..sets {
        let mut set = set(n);
        set.sort_unstable();
        set.dedup();
        if seen.insert(set.clone(), ()).is_none() {
            truth.push(set);
        }
    }
    truth
}

#[test]
fn sets_come_back_by_id_from_memory_and_from_spills() {
    let sets = 2 * u64::from(STARTS_PER_PAGE) + 300;
    let truth = truth(sets);
    for memory in [0, 1 << 26] {
        let files = write(sets, memory);
        let segment = open(&files, 1 << 20);
        assert_eq!(segment.header().ids as usize, truth.len());
        let mut reader = SetReader::new(&segment, Keep::IfRoom);
        let mut found = vec![9];
        for (id, set) in (0..).zip(&truth) {
            found.truncate(1);
            reader.elements(id, &mut found).unwrap();
            assert_eq!((found[0], &found[1..]), (9, &**set), "appended, id {id}");
        }
        // In another order, with a new reader each time.
        for id in (0..truth.len()).rev().step_by(7) {
            found.clear();
            segment.elements(id as u32, &mut found).unwrap();
            assert_eq!(found, truth[id]);
        }
    }
}

/// Reading a set reads at most two directory pages and the pages that contain it.
#[test]
fn reading_a_set_touches_few_pages() {
    let files = write(3000, 1 << 26);
    let segment = open(&files, 0);
    let mut found = Vec::new();
    for id in 0..segment.header().ids {
        let before = segment.cache_misses();
        found.clear();
        segment.elements(id, &mut found).unwrap();
        let read = segment.cache_misses() - before;
        // A set of n elements has at most 9 n + 10 bytes here.
        let own = (9 * found.len() as u64 + 10).div_ceil(8_168) + 1;
        assert!(read <= 2 + own, "id {id}: {read} pages for {} elements", found.len());
    }
}

/// Without directory pages, a segment still has all its sets. A reader that does not rebuild them reports the
/// damage.
#[test]
fn a_directory_is_made_anew_in_any_order() {
    let sets = 4 * u64::from(STARTS_PER_PAGE);
    let (files, truth) = (write(sets, 1 << 26), truth(sets));
    let whole = open(&files, 1 << 20);
    let shape = whole.header().elements_shape().unwrap();
    let start = whole.header().elements.unwrap().region.offset;
    let mut bytes = files.contents(PATH).unwrap();
    for page in 0..shape.directory_pages() {
        bytes[start as usize + 64 * shape.directory_place(7, page).number as usize + 30] ^= 1;
    }
    let segment = open(&MemoryFiles::new().with_file(PATH, bytes), 1 << 20);
    let error = segment.elements(5, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, Error::Corrupt { rule: "PAGE-1", .. }), "{error}");
    for step in [1, 61, truth.len() / 2 + 3] {
        let mut reader = SetReader::mending(&segment, Keep::IfRoom);
        for i in 0..truth.len().min(3000) {
            let id = (i * step + truth.len() - 1) % truth.len();
            let mut found = Vec::new();
            reader.elements(id as u32, &mut found).unwrap();
            assert_eq!(found, truth[id], "id {id}");
        }
    }
}

/// Equal hashes only propose. Sets are compared byte by byte, within one page and across pages, written or still
/// open.
#[test]
fn sets_that_were_written_are_compared_as_bytes() {
    for memory in [0, 1 << 26] {
        let directory = Some(Arc::new(std::env::temp_dir()));
        let spill = SpillPlace { directory, memory };
        let plan = SegmentPlan { database: [5; 16], scheme: scheme(), extent: 7, spill };
        let mut writer = RecordWriter::of_sets(&plan).unwrap();
        let sets: Vec<Vec<u8>> = [9, 100, 8_168, 20_000, 1, 64, 30]
            .into_iter()
            .map(|length: usize| (0..length).map(|i| (i * 7 + length) as u8).collect())
            .collect();
        sets.iter().for_each(|set| writer.push(set).unwrap());
        for (id, set) in (0..).zip(&sets) {
            assert!(writer.is_equal(id, set).unwrap());
            assert!(!writer.is_equal(id, &set[1..]).unwrap());
            for at in [0, set.len() / 2, set.len() - 1] {
                let mut other = set.clone();
                other[at] ^= 1;
                assert!(!writer.is_equal(id, &other).unwrap(), "id {id}, byte {at}");
            }
        }
    }
}

/// Values come back by row, in order and in any other order, and reading one touches few pages. Only rows count: rows
/// with equal sets have values of their own.
#[test]
fn values_come_back_by_row_from_memory_and_from_spills() {
    let rows = 2 * u64::from(STARTS_PER_PAGE) + 300;
    for memory in [0, 1 << 26] {
        let files = write(rows, memory);
        let segment = open(&files, 0);
        assert!(segment.header().ids < segment.rows());
        let mut reader = ValueReader::new(&segment, Keep::IfRoom);
        for n in 0..rows {
            assert_eq!(reader.value(n as u32).unwrap(), value(n).as_deref(), "row {n}");
        }
        for n in (0..rows).rev().step_by(7) {
            let before = segment.cache_misses();
            assert_eq!(segment.value(n as u32).unwrap().as_deref(), value(n).as_deref());
            let own = (value(n).map_or(0, |v| v.len()) + 4).div_ceil(8_168) as u64 + 1;
            assert!(segment.cache_misses() - before <= 2 + own, "row {n}");
        }
    }
}

/// Without directory pages, a segment still has all its values. A reader that does not rebuild them reports the damage.
#[test]
fn a_directory_of_values_is_made_anew_in_any_order() {
    let rows = 3 * u64::from(STARTS_PER_PAGE);
    let files = write(rows, 1 << 26);
    let whole = open(&files, 1 << 20);
    let (shape, values) = (whole.header().values_shape().unwrap(), whole.header().values.unwrap());
    let mut bytes = files.contents(PATH).unwrap();
    for page in 0..shape.directory_pages() {
        let number = shape.directory_place(7, page).number as usize;
        bytes[values.region.offset as usize + 64 * number + 30] ^= 1;
    }
    let segment = open(&MemoryFiles::new().with_file(PATH, bytes), 1 << 20);
    let error = segment.value(5).unwrap_err();
    assert!(matches!(error, Error::Corrupt { rule: "PAGE-1", .. }), "{error}");
    for step in [1, 61, rows / 2 + 3] {
        let mut reader = ValueReader::mending(&segment, Keep::IfRoom);
        for i in 0..rows.min(1500) {
            let n = (i * step + rows - 1) % rows;
            assert_eq!(reader.value(n as u32).unwrap(), value(n).as_deref(), "row {n}");
        }
    }
}

/// A segment in which no row has a value has no region of values, and takes not a byte for them.
#[test]
fn without_values_there_is_no_region() {
    let files = write(9, 1 << 26);
    let segment = open(&files, 1 << 20);
    let header = segment.header();
    assert_eq!((header.values, segment.value(3).unwrap()), (None, None));
    assert_eq!(header.elements.unwrap().region.end(), header.length);
}
