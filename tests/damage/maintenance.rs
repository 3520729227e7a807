//! Damaged databases: `check` finds the damage, `repair` restores derived data if the rows are intact, and `salvage`
//! saves the readable rows otherwise.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ringer::internals::format::bytes::Seal;
use ringer::internals::maintenance::{check, repair, salvage};
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::faulty::FaultyFiles;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::scheme::Slots;
use ringer::{Database, Depth, Error, Options, Reader, Scheme, Signature, presets};

const PATH: &str = "/corpus.ringer";

type Rows = BTreeMap<Vec<u8>, Signature>;

fn options() -> Options {
    Options::default().with_background(false).with_merge(false)
}

/// Builds three segments of 150 sets each, of which some are replaced, deleted, empty or equal.
fn database() -> (Vec<u8>, Rows) {
    let slots = Slots { count: 8, samples_per_slot: 4, value_bits: 8, min_matches: 1 };
    let p = presets::PRECISE.with_samples(64).with_bits(2).with_slots(slots);
    let layer = MemoryFiles::new();
    let scheme = Scheme::new(p).unwrap();
    let shared: Arc<dyn FileLayer> = Arc::new(layer.clone());
    let db = Database::create_in(shared, Path::new(PATH), &scheme, options()).unwrap();
    for part in 0..3_u64 {
        let mut batch = db.batch();
        for i in 0..150 {
            let n = part * 120 + i;
            let set: Vec<u64> = match n % 10 {
                0 => vec![],
                1 => vec![7, 8, 9],
                _ => (n * 100..n * 100 + 10 + n % 5).collect(),
            };
            batch.put(format!("key-{n:05}-{}", "x".repeat(n as usize % 40)), &set).unwrap();
        }
        if part > 0 {
            for n in (0..100).step_by(9) {
                let name = format!("key-{n:05}-{}", "x".repeat(n as usize % 40));
                batch.delete(name).unwrap();
            }
        }
        db.commit(batch).unwrap();
        db.checkpoint().unwrap();
    }
    assert_eq!(db.stat().unwrap().segments, 3);
    db.close().unwrap();
    let bytes = layer.contents(PATH).unwrap();
    let rows = rows_of(&bytes).unwrap();
    assert_eq!(rows.len(), 390 - 12);
    (bytes, rows)
}

fn layer_of(bytes: &[u8]) -> MemoryFiles {
    MemoryFiles::new().with_file(PATH, bytes)
}

fn rows_of(bytes: &[u8]) -> Result<Rows, Error> {
    let reader = Reader::open_in(Arc::new(layer_of(bytes)), Path::new(PATH), Options::default())?;
    let snapshot = reader.snapshot();
    snapshot.range::<&[u8]>(..).map(|row| row.map(|(k, s)| (k.to_vec(), s.signature))).collect()
}

fn findings(bytes: &[u8], depth: Depth) -> Vec<(Option<u64>, &'static str)> {
    let report = check::check(&layer_of(bytes), Path::new(PATH), depth).unwrap();
    report.findings.iter().map(|finding| (finding.extent, finding.rule)).collect()
}

#[test]
fn an_undamaged_database_has_no_findings() {
    let (bytes, _) = database();
    for depth in [Depth::Quick, Depth::Full, Depth::Deep] {
        assert_eq!(findings(&bytes, depth), []);
    }
}

/// Flips one bit in each 64-byte unit of the file. A full check finds every flip in what the state refers to; a flip
/// that it does not find changes no answer. Repair succeeds, or refuses and changes nothing. Salvage saves all rows
/// except those of the damaged page, and never a wrong one.
#[test]
fn damage_is_found_and_repaired_or_the_rest_is_salvaged() {
    let (bytes, rows) = database();
    let (mut repaired, mut salvaged) = (0, 0);
    for unit in 0..bytes.len() / 64 {
        let mut bad = bytes.clone();
        bad[unit * 64 + unit % 64] ^= 1 << (unit % 8);
        let found = findings(&bad, Depth::Full);
        if found.is_empty() {
            assert_eq!(rows_of(&bad).as_ref(), Ok(&rows), "unit {unit}");
            continue;
        }
        let layer: Arc<dyn FileLayer> = Arc::new(layer_of(&bad));
        match repair::repair(&layer, Path::new(PATH), &options()) {
            Ok(_) => {
                let reader = Reader::open_in(layer, Path::new(PATH), options()).unwrap();
                let now: Rows = reader
                    .snapshot()
                    .range::<&[u8]>(..)
                    .map(|row| row.map(|(key, stored)| (key.to_vec(), stored.signature)).unwrap())
                    .collect();
                assert_eq!(now, rows, "unit {unit}: {found:?}");
                repaired += 1;
            }
            Err(Error::Corrupt { .. }) => {
                let layer: Arc<dyn FileLayer> = Arc::new(layer_of(&bad));
                let target = Path::new("/saved.ringer");
                let source = Path::new(PATH);
                let report = salvage::salvage(&layer, source, target, options()).unwrap();
                let reader = Reader::open_in(layer, target, Options::default()).unwrap();
                let mut kept = 0;
                for row in reader.snapshot().range::<&[u8]>(..) {
                    let (key, stored) = row.unwrap();
                    let original = rows.get(&*key);
                    assert!(original.is_some() || report.deletions_may_return, "unit {unit}");
                    if let Some(original) = original {
                        kept += 1;
                        assert_eq!(*original, stored.signature, "unit {unit}");
                    }
                }
                // A page has rows of one segment only.
                assert!(kept >= rows.len() - 150, "unit {unit}: {kept} {found:?} {report:?}");
                salvaged += 1;
            }
            Err(error) => panic!("unit {unit}: {error}"),
        }
    }
    assert!(repaired > 20 && salvaged > 20, "{repaired} {salvaged}");
}

/// Postings with correct checksums that do not belong to the signatures (POST-10). A full check reads them, a deep
/// check compares them, and repair rebuilds them.
#[test]
fn postings_of_other_signatures_are_found_and_rebuilt() {
    let (bytes, rows) = database();
    let short = |unit: &usize| bytes[unit * 64 + 4] == 9 && bytes[unit * 64 + 5] == 1;
    let unit = (192..bytes.len() / 64).find(short).expect("a page of short postings");
    let (mut bad, start) = (bytes.clone(), unit * 64);
    let payload = u32::from_le_bytes(*bad[start + 20..].first_chunk().unwrap()) as usize;
    let whole = (24 + payload).next_multiple_of(64);
    // Flips the lowest bit of the first id.
    bad[start + 24] ^= 1;
    let seal = Seal::of(*bad[32..].first_chunk().unwrap());
    let checksum = seal.checksum(&bad[start + 4..start + whole]);
    bad[start..start + 4].copy_from_slice(&checksum.to_le_bytes());
    let block = u64::from_le_bytes(*bad[start + 8..].first_chunk().unwrap());
    assert!(findings(&bad, Depth::Deep).contains(&(Some(block), "POST-10")));
    assert_eq!(rows_of(&bad).as_ref(), Ok(&rows));
    let layer = layer_of(&bad);
    let shared: Arc<dyn FileLayer> = Arc::new(layer.clone());
    let report = repair::repair(&shared, Path::new(PATH), &options()).unwrap();
    assert_eq!(report.segments, [block]);
    let mended = layer.contents(PATH).unwrap();
    assert_eq!(findings(&mended, Depth::Deep), []);
    assert_eq!(rows_of(&mended).as_ref(), Ok(&rows));
}

/// A crash at any point of a repair leaves a file that a repair can still restore, with all rows (STEP-1).
#[test]
fn every_crash_of_a_repair_can_be_repaired() {
    let (bytes, rows) = database();
    let fence = |unit: &usize| bytes[unit * 64 + 4] == 4 && bytes[unit * 64 + 5] == 1;
    let mut bad = bytes.clone();
    let mut damaged = 0;
    for unit in (192..bytes.len() / 64).filter(fence) {
        bad[unit * 64 + 30] ^= 1;
        damaged += 1;
    }
    assert!(damaged >= 3 && !findings(&bad, Depth::Full).is_empty());
    let files = FaultyFiles::resume(layer_of(&bad));
    let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
    let path = Path::new(PATH);
    let report = repair::repair(&layer, path, &options()).unwrap();
    assert_eq!(report.segments.len(), 3);
    let mut crashes = 0;
    files.for_each_crash(|at, kind, image| {
        let layer: Arc<dyn FileLayer> = Arc::new(image.clone());
        repair::repair(&layer, path, &options())
            .unwrap_or_else(|error| panic!("{at} {kind:?}: {error}"));
        assert_eq!(rows_of(&image.contents(PATH).unwrap()).as_ref(), Ok(&rows), "{at} {kind:?}");
        crashes += 1;
    });
    eprintln!("{crashes} images of a repair");
    assert!(crashes > 50, "{crashes}");
}

#[test]
fn rows_are_saved_without_superblocks_and_manifests() {
    let (mut bytes, rows) = database();
    bytes[..12_288].fill(0xA5);
    let manifests: Vec<usize> = (0..bytes.len() / 64)
        .map(|u| u * 64)
        .filter(|u| bytes[*u..].starts_with(b"RINGMANI"))
        .collect();
    assert!(!manifests.is_empty());
    manifests.iter().for_each(|at| bytes[*at] ^= 1);
    let layer: Arc<dyn FileLayer> = Arc::new(layer_of(&bytes));
    let target = Path::new("/saved.ringer");
    let report = salvage::salvage(&layer, Path::new(PATH), target, options()).unwrap();
    assert!(report.deletions_may_return);
    let reader = Reader::open_in(layer, target, options()).unwrap();
    for (key, signature) in &rows {
        assert_eq!(reader.get(key).unwrap().unwrap().signature, *signature);
    }
    assert_eq!(report.sets, 390, "the twelve that were deleted are back");
}

#[test]
fn a_file_that_is_no_database_is_not_salvaged() {
    let layer: Arc<dyn FileLayer> = Arc::new(layer_of(&[7; 50_000]));
    let result = salvage::salvage(&layer, Path::new(PATH), Path::new("/x"), options());
    assert!(matches!(result, Err(Error::NotADatabase { .. })));
}

/// The database of a killed writer whose log has lost its id. The commits in it still carry the id and are salvaged.
#[test]
fn commits_of_a_log_without_its_id_are_saved() {
    let (bytes, rows) = database();
    let running = layer_of(&bytes);
    let shared: Arc<dyn FileLayer> = Arc::new(running.clone());
    let db = Database::open_in(shared, Path::new(PATH), options()).unwrap();
    db.put("fresh", &[1, 2, 3]).unwrap();
    db.delete(rows.keys().next().unwrap()).unwrap();
    let killed = MemoryFiles::from_entries(running.entries());
    let id = Path::new("/corpus.ringer-hot/id");
    let mut bad = killed.contents(id).unwrap();
    bad[3] ^= 1;
    let layer: Arc<dyn FileLayer> = Arc::new(killed.with_file(id, bad));
    let target = Path::new("/saved.ringer");
    let report = salvage::salvage(&layer, Path::new(PATH), target, options()).unwrap();
    assert_eq!((report.commits_replayed, report.sets), (2, rows.len() as u64));
    let reader = Reader::open_in(layer, target, options()).unwrap();
    let expected = db.sketcher().sketch(&[1, 2, 3]).unwrap();
    assert_eq!(reader.get("fresh").unwrap().unwrap().signature, expected);
    assert_eq!(reader.get(rows.keys().next().unwrap()).unwrap(), None);
}
