//! Databases that keep their sets. Every set is returned as it was stored, wherever it has been, and rows share an id
//! only if their sets are equal.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use testkit::random::word_at;

use ringer::internals::maintenance::{check, repair, salvage};
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::scheme::{CardinalityField, Elements, Sampler, Slots, Universe};
use ringer::sketch::intersection_size;
use ringer::{
    Database, Depth, Error, Options, Parameters, Reader, Scheme, Signature, Sketcher, Snapshot,
    presets,
};

const PATH: &str = "/kept.ringer";
const OTHER: &str = "/other.ringer";

fn keeping(bits: u8) -> Parameters {
    presets::NEAR_DUPLICATE.with_elements(Elements::Kept { bits })
}

fn options() -> Options {
    Options::default().with_background(false).with_merge(false)
}

/// Returns set `n`: empty, equal to another, small, dense, or over several pages.
fn set(n: u64) -> Vec<u64> {
    match n % 16 {
        0 => Vec::new(),
        1 => vec![3, 1, 2, 1],
        2 => (n..n + 200).collect(),
        3 => (0..2500).map(|i| word_at(n * 10_000 + i)).collect(),
        size => (0..size).map(|i| word_at(n * 100 + i)).collect(),
    }
}

fn sorted(mut set: Vec<u64>) -> Vec<u64> {
    set.sort_unstable();
    set.dedup();
    set
}

type Rows = BTreeMap<Vec<u8>, Vec<u64>>;

fn rows_of(snapshot: &Snapshot) -> Rows {
    let rows = snapshot.range::<&[u8]>(..).map(|row| {
        let (key, stored) = row.unwrap();
        (key.to_vec(), stored.signature.elements().expect("the scheme keeps sets").to_vec())
    });
    rows.collect()
}

fn create(scheme: &Scheme) -> (MemoryFiles, Arc<dyn FileLayer>, Database) {
    let files = MemoryFiles::new();
    let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
    let db = Database::create_in(Arc::clone(&layer), Path::new(PATH), scheme, options()).unwrap();
    (files, layer, db)
}

fn key(n: u64) -> Vec<u8> {
    format!("{:04}", n * 7 % 1000).into_bytes()
}

/// Stores sets in the log, in a memtable, and in segments made by commits, loads and merges.
fn fill(db: &Database) -> Rows {
    let mut truth = Rows::new();
    let mut load = db.bulk_load();
    for n in 0..120 {
        load.put(key(n), &set(n)).unwrap();
        truth.insert(key(n), sorted(set(n)));
    }
    load.commit().unwrap();
    for n in 60..160 {
        db.put(key(n), &set(n + 1000)).unwrap();
        truth.insert(key(n), sorted(set(n + 1000)));
        if n % 5 == 0 {
            db.delete(key(n - 50)).unwrap();
            truth.remove(&key(n - 50));
        }
        if n == 100 || n == 130 {
            db.checkpoint().unwrap();
        }
    }
    truth
}

#[test]
fn sets_survive_every_way_through_a_database() {
    let (_, layer, db) = create(&Scheme::new(keeping(64)).unwrap());
    let truth = fill(&db);
    assert!(db.stat().unwrap().segments > 2 && db.stat().unwrap().fresh > 0);
    assert_eq!(rows_of(&db.snapshot()), truth);
    let early = db.snapshot();
    db.checkpoint().unwrap();
    db.pack(OTHER).unwrap();
    db.compact().unwrap();
    assert_eq!(rows_of(&db.snapshot()), truth);
    assert_eq!(rows_of(&early), truth);
    drop(early);
    db.close().unwrap();
    let sketcher = Sketcher::new(&Scheme::new(keeping(64)).unwrap());
    for path in [PATH, OTHER] {
        let reader = Reader::open_in(Arc::clone(&layer), Path::new(path), options());
        let snapshot = reader.unwrap().snapshot();
        assert_eq!(rows_of(&snapshot), truth, "{path}");
        for (key, set) in &truth {
            let stored = snapshot.get(key).unwrap().unwrap();
            assert_eq!(stored.signature, sketcher.sketch(set).unwrap());
        }
        let report = check::check(&*layer, Path::new(path), Depth::Deep).unwrap();
        assert_eq!((report.findings, report.rows), (Vec::new(), truth.len() as u64));
    }
}

/// With one sample of one bit most signatures are equal, although the kept sets differ.
#[test]
fn rows_share_an_id_only_if_their_sets_are_equal() {
    let slots = Slots { count: 1, samples_per_slot: 1, value_bits: 1, min_matches: 1 };
    let cardinality = CardinalityField::None;
    let p =
        keeping(64).with_samples(1).with_bits(1).with_slots(slots).with_cardinality(cardinality);
    let (_, layer, db) = create(&Scheme::new(p).unwrap());
    let mut truth = Rows::new();
    for n in 0..400 {
        let small = sorted(vec![n % 50, n % 7 + 100]);
        db.put(key(n), &small).unwrap();
        truth.insert(key(n), small);
        if n % 150 == 149 {
            db.checkpoint().unwrap();
        }
    }
    assert_eq!(rows_of(&db.snapshot()), truth);
    db.compact().unwrap();
    assert_eq!(rows_of(&db.snapshot()), truth);
    let distinct: std::collections::BTreeSet<_> = truth.values().collect();
    let signatures: std::collections::BTreeSet<_> =
        (truth.values()).map(|set| db.sketcher().sketch(set).unwrap().planes().to_vec()).collect();
    assert_eq!((distinct.len(), signatures.len()), (350, 2));
    assert_eq!(db.stat().unwrap().distinct_signatures, 350);
    db.close().unwrap();
    let report = check::check(&*layer, Path::new(PATH), Depth::Deep).unwrap();
    assert_eq!(report.findings, []);
}

/// Sets are returned in all schemes. If the scheme keeps fewer bits, they are the low bits that the sketch has.
#[test]
fn every_scheme_of_sets_can_keep_them() {
    let slots = Slots::NONE;
    let (one, lazy) = (Sampler::Independent, Sampler::Lazy);
    let bounded = Universe::Bounded(1 << 20);
    let linear = CardinalityField::Linear4;
    for p in [
        keeping(64),
        keeping(33),
        keeping(8),
        keeping(64).with_sampler(lazy),
        keeping(64)
            .with_sampler(one)
            .with_slots(slots)
            .with_universe(bounded)
            .with_cardinality(linear),
        keeping(12)
            .with_sampler(one)
            .with_slots(slots)
            .with_universe(bounded)
            .with_cardinality(linear),
        keeping(20).with_cardinality(CardinalityField::Exact),
    ] {
        let (_, layer, db) = create(&Scheme::new(p).unwrap());
        let set = |n: u64| set(n).into_iter().map(|x| x % (1 << 20)).collect::<Vec<_>>();
        let mut batch = db.batch();
        let sets: Vec<_> = (0..50).map(|n| (key(n), set(n))).collect();
        batch.put_many(&sets).unwrap();
        db.commit(batch).unwrap();
        db.checkpoint().unwrap();
        let sketcher = Sketcher::new(db.scheme());
        for (key, set) in &sets {
            let stored = db.get(key).unwrap().unwrap().signature;
            assert_eq!(stored, sketcher.sketch(set).unwrap());
            let mut stream = sketcher.stream();
            set.iter().for_each(|x| stream.push(*x).unwrap());
            assert_eq!(stored, stream.finish().unwrap());
            let distinct = sorted(set.clone());
            match p.elements.bits() {
                64 => assert_eq!(stored.elements(), Some(&*distinct)),
                bits => {
                    let kept = stored.elements().unwrap();
                    assert!(kept.len() <= distinct.len() && kept.is_empty() == set.is_empty());
                    assert!(kept.iter().all(|x| x >> bits == 0));
                }
            }
        }
        db.close().unwrap();
        let report = check::check(&*layer, Path::new(PATH), Depth::Deep).unwrap();
        assert_eq!(report.findings, [], "{p:?}");
    }
}

/// A set of 8 random elements takes about as many bytes as its 64-byte signature, including pages and directory.
#[test]
fn small_sets_take_about_as_much_space_as_their_signatures() {
    let (_, _, db) = create(&Scheme::new(keeping(64)).unwrap());
    let mut load = db.bulk_load();
    for n in 0..5000 {
        load.put(n.to_string(), &(0..8).map(|i| word_at(8 * n + i)).collect::<Vec<_>>()).unwrap();
    }
    load.commit().unwrap();
    let stat = db.stat().unwrap();
    let (sets, signatures) = (stat.element_bytes as f64 / 5e3, stat.signature_bytes as f64 / 5e3);
    assert!(
        (64.0..72.0).contains(&sets) && (64.0..67.0).contains(&signatures),
        "{sets} {signatures}"
    );
}

/// A database with kept sets refuses a signature without its set, and a database without them refuses a signature
/// with one.
#[test]
fn signatures_of_other_schemes_are_refused() {
    let plain = Scheme::near_duplicate();
    let kept = Scheme::new(keeping(64)).unwrap();
    for (own, other) in [(&kept, &plain), (&plain, &kept)] {
        let (_, _, db) = create(own);
        let signature: Signature = Sketcher::new(other).sketch(&[1, 2]).unwrap();
        let error = db.batch().put_signature("key", signature).unwrap_err();
        assert!(matches!(error, Error::SchemeMismatch { .. }), "{error}");
    }
}

/// A batch with more elements than a replay may load into memory is refused, however few bytes it takes.
#[test]
fn a_batch_keeps_a_limited_number_of_elements() {
    let (_, _, db) = create(&Scheme::new(keeping(64)).unwrap());
    let half: Vec<u64> = (0..1 << 22).collect();
    let mut batch = db.batch();
    batch.put("a", &half).unwrap().put("b", &half).unwrap();
    let error = batch.put("c", &[1]).unwrap_err().to_string();
    assert!(error.contains("8388608 kept elements"), "{error}");
    db.commit(batch).unwrap();
    assert_eq!(db.get("b").unwrap().unwrap().signature.elements(), Some(&*half));
    let long: Vec<u64> = (0..=1 << 23).collect();
    let error = db.put("d", &long).unwrap_err().to_string();
    assert!(error.contains("at most 8388608 elements"), "{error}");
    let mut stream = db.sketcher().stream();
    long[..1 << 23].iter().for_each(|x| stream.push(*x).unwrap());
    assert_eq!(stream.push(1 << 23).unwrap_err().to_string(), error);
    stream.push(5).unwrap();
    assert_eq!(stream.finish().unwrap().elements(), Some(&long[..1 << 23]));
}

/// Returns offset and length of the pages of a kind, in a closed file with one segment.
fn pages_of(bytes: &[u8], kind: u8) -> Vec<(usize, usize)> {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut found) = (12_288, Vec::new());
    while at < bytes.len() {
        // Manifests are not pages and have no kind here.
        let length = match bytes[at + 4] {
            1..=17 => (24 + number(at + 20)).next_multiple_of(64),
            _ => 64,
        };
        if bytes[at + 4] == kind {
            found.push((at, length));
        }
        at += length;
    }
    found
}

/// Builds a closed file with one segment of 3,300 ids: three directory pages, and many pages of sets.
fn one_segment() -> (Vec<u8>, Rows) {
    let (files, _, db) = create(&Scheme::new(keeping(64)).unwrap());
    let mut truth = Rows::new();
    let mut load = db.bulk_load();
    for n in 0..3300_u64 {
        let set =
            if n == 1700 { set(3) } else { (0..1 + n % 9).map(|i| word_at(n * 10 + i)).collect() };
        load.put(n.to_be_bytes(), &set).unwrap();
        truth.insert(n.to_be_bytes().to_vec(), sorted(set));
    }
    load.commit().unwrap();
    db.close().unwrap();
    let bytes = files.contents(PATH).unwrap();
    (bytes, truth)
}

fn damaged(bytes: &[u8], places: &[(usize, usize)]) -> Arc<dyn FileLayer> {
    let mut bytes = bytes.to_vec();
    places.iter().for_each(|(at, length)| bytes[at + length / 2] ^= 4);
    Arc::new(MemoryFiles::new().with_file(PATH, bytes))
}

fn salvaged(layer: &Arc<dyn FileLayer>) -> (ringer::SalvageReport, Rows) {
    let report = salvage::salvage(layer, Path::new(PATH), Path::new(OTHER), options()).unwrap();
    let reader = Reader::open_in(Arc::clone(layer), Path::new(OTHER), options()).unwrap();
    (report, rows_of(&reader.snapshot()))
}

/// The directory is derived from the sets. Repair and salvage lose nothing, whatever part of it is damaged.
#[test]
fn a_damaged_directory_is_rebuilt() {
    let (bytes, truth) = one_segment();
    let pages = pages_of(&bytes, 17);
    assert_eq!(pages.len(), 3);
    for places in [&pages[..1], &pages[1..2], &pages[2..], &pages[1..], &pages[..]] {
        let layer = damaged(&bytes, places);
        let reader = Reader::open_in(Arc::clone(&layer), Path::new(PATH), options()).unwrap();
        let first = truth.keys().find_map(|key| reader.get(key).err()).unwrap();
        assert!(matches!(first, Error::Corrupt { rule: "PAGE-1", .. }), "{first}");
        let report = check::check(&*layer, Path::new(PATH), Depth::Deep).unwrap();
        assert_eq!(report.findings.len(), places.len(), "{:?}", report.findings);
        assert!(report.findings.iter().all(|f| f.fix.contains("repair")));
        let (report, rows) = salvaged(&layer);
        assert_eq!((report.rows_without_signature, rows == truth), (0, true));
        repair::repair(&layer, Path::new(PATH), &options()).unwrap();
        let report = check::check(&*layer, Path::new(PATH), Depth::Deep).unwrap();
        assert_eq!(report.findings, []);
        let reader = Reader::open_in(Arc::clone(&layer), Path::new(PATH), options()).unwrap();
        assert!(rows_of(&reader.snapshot()) == truth);
    }
}

/// Signatures are derived from the sets, so salvage recomputes them.
#[test]
fn damaged_signatures_are_recomputed_by_salvage() {
    let (bytes, truth) = one_segment();
    let layer = damaged(&bytes, &pages_of(&bytes, 2));
    assert!(repair::repair(&layer, Path::new(PATH), &options()).is_err());
    let (report, rows) = salvaged(&layer);
    assert_eq!((report.rows_without_signature, rows == truth), (0, true));
    let report = check::check(&*layer, Path::new(OTHER), Depth::Deep).unwrap();
    assert_eq!(report.findings, []);
}

/// Sets are primary data. A damaged page loses the sets in it and no others.
#[test]
fn a_damaged_page_of_sets_loses_only_its_sets() {
    let (bytes, truth) = one_segment();
    let pages = pages_of(&bytes, 16);
    assert!(pages.len() > 10);
    for page in [0, 3, pages.len() - 1] {
        let layer = damaged(&bytes, &pages[page..=page]);
        assert!(repair::repair(&layer, Path::new(PATH), &options()).is_err());
        let report = check::check(&*layer, Path::new(PATH), Depth::Full).unwrap();
        assert!(report.findings.iter().all(|f| f.rule == "PAGE-1" && f.fix.contains("salvage")));
        let (report, rows) = salvaged(&layer);
        let lost = truth.len() - rows.len();
        assert_eq!(report.rows_without_signature, lost as u64);
        // A page has 8,168 bytes; a set takes about 8 per element and has 5 on average.
        assert!((1..400).contains(&lost), "{lost}");
        assert!(rows.iter().all(|(key, set)| truth[key] == *set));
    }
}

/// The functions that verify candidates: elements by id, and counts of common elements.
#[test]
fn common_elements_are_counted_from_what_is_stored() {
    let (_, _, db) = create(&Scheme::new(keeping(64)).unwrap());
    db.put("a", &(0..1000).collect::<Vec<_>>()).unwrap();
    db.checkpoint().unwrap();
    db.put("b", &(900..3000).collect::<Vec<_>>()).unwrap();
    let [a, b] = ["a", "b"].map(|key| db.get(key).unwrap().unwrap().signature);
    assert_eq!(intersection_size(a.elements().unwrap(), b.elements().unwrap()), 100);
}
