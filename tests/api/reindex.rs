//! Reindexing: a database with other slots or fewer bits is the same as one that was made with that scheme from the sets
//! (SIG-9, STEP-13). The sketches of the sets, and brute force over them, are the oracle.

use testkit::history::names_of;
use testkit::query_oracle::{Request, Rows, compare_all};
use testkit::random::Random;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use ringer::estimate::capacity;
use ringer::internals::maintenance::reindex::{self, ReindexReport};
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::scheme::{CardinalityField, Elements, Features, Measure, Sampler, Slots, Universe};
use ringer::{Database, Error, Options, Parameters, Reader, Scheme, Signature, Sketcher, presets};

const PATH: &str = "/corpus.ringer";

type Layer = Arc<dyn FileLayer>;

/// The sets by key, and some values.
type Sets = BTreeMap<Vec<u8>, (Vec<u64>, Option<Vec<u8>>)>;

/// Options under which a database soon has several segments.
fn options() -> Options {
    Options::default().with_memtable_rows(50).with_background(false).with_build_bytes(4000)
}

/// Families of similar sets of elements below 60,000, equal sets, small sets, and an empty one.
fn sets() -> Sets {
    let mut random = Random(29);
    let mut sets = Sets::new();
    for family in 0..40_u32 {
        let core: Vec<u64> = (0..2 + random.below(60)).map(|_| random.below(60_000)).collect();
        for member in 0..1 + random.below(8) {
            let mut set = core.clone();
            set.truncate(core.len() - (random.below(core.len() as u64 / 2 + 1)) as usize);
            set.extend((0..random.below(9)).map(|_| random.below(60_000)));
            let value = (member % 3 == 1).then(|| random.bytes(member as usize * 5));
            sets.insert(format!("{family:02}/{member}").into_bytes(), (set, value));
        }
    }
    sets.insert(b"empty".to_vec(), (Vec::new(), None));
    sets
}

fn weights(set: &[u64]) -> Vec<(u64, f64)> {
    set.iter().map(|x| (*x, (1 + x % 5) as f64)).collect()
}

/// The signature of a set, from the set itself.
fn sketch(sketcher: &Sketcher, set: &[u64]) -> Signature {
    match sketcher.scheme().measure {
        Measure::Jaccard => sketcher.sketch(set).unwrap(),
        _ => sketcher.sketch_weighted(&weights(set)).unwrap(),
    }
}

/// A database in memory files, with several segments and hidden rows.
fn database(scheme: &Scheme, sets: &Sets) -> MemoryFiles {
    let files = MemoryFiles::new();
    let layer: Layer = Arc::new(files.clone());
    let db = Database::create_in(layer, Path::new(PATH), scheme, options()).unwrap();
    let put = |key: &[u8], set: &[u64], value: Option<&Vec<u8>>| {
        let mut batch = db.batch();
        match scheme.measure {
            Measure::Jaccard => batch.put(key, set).unwrap(),
            _ => batch.put_weighted(key, &weights(set)).unwrap(),
        };
        value.map(|value| batch.with_value(value).unwrap());
        db.commit(batch).unwrap()
    };
    for (i, (key, (set, value))) in sets.iter().enumerate() {
        if i % 4 == 0 {
            put(key, &[1, 2, 3], None);
            put(b"deleted", &[i as u64], None);
        }
        put(key, set, value.as_ref());
    }
    db.delete(b"deleted").unwrap();
    db.close().unwrap();
    files
}

fn run(files: &MemoryFiles, scheme: &Scheme) -> Result<ReindexReport, Error> {
    let layer: Layer = Arc::new(files.clone());
    let mut go_on = |_, _| ControlFlow::Continue(());
    reindex::reindex(&layer, Path::new(PATH), scheme, &options(), &mut go_on)
}

fn slots(count: u16, samples_per_slot: u16, value_bits: u8, min_matches: u16) -> Slots {
    Slots { count, samples_per_slot, value_bits, min_matches }
}

/// Schemes, and what each is changed to.
fn changes() -> Vec<(Parameters, Parameters)> {
    let default = presets::NEAR_DUPLICATE;
    let bounded = presets::PRECISE
        .with_sampler(Sampler::OnePermutation)
        .with_universe(Universe::Bounded(60_000))
        .with_cardinality(CardinalityField::Linear8);
    let wide = presets::PRECISE
        .with_sampler(Sampler::Independent)
        .with_samples(100)
        .with_bits(16)
        .with_cardinality(CardinalityField::Exact)
        .with_slots(slots(30, 2, 24, 1));
    let lazy = default.with_sampler(Sampler::Lazy).with_elements(Elements::EXACT);
    let folded = default.with_elements(Elements::Kept { bits: 20 });
    let weighted = presets::WEIGHTED.with_features(Features::Ids);
    vec![
        (default, default.with_slots(slots(16, 4, 32, 1))),
        (default, default.with_slots(slots(21, 3, 24, 2))),
        (default, default.with_bits(3).with_slots(slots(12, 5, 11, 1))),
        (default, default.with_bits(1).with_slots(Slots::NONE)),
        (default.with_slots(Slots::NONE), default.with_bits(7).with_slots(slots(30, 2, 14, 1))),
        (bounded, bounded.with_bits(2).with_slots(slots(25, 5, 10, 1))),
        (wide, wide.with_bits(1).with_slots(slots(20, 5, 5, 2))),
        (wide, wide.with_bits(9).with_slots(slots(100, 1, 9, 3))),
        (lazy, lazy.with_bits(2).with_slots(slots(9, 7, 14, 1))),
        (folded, folded.with_bits(5).with_slots(slots(21, 3, 15, 1))),
        (weighted, weighted.with_bits(6).with_slots(slots(32, 2, 12, 1))),
        (presets::COSINE, presets::COSINE.with_slots(slots(30, 8, 8, 1))),
        (presets::HALF_BIT, presets::HALF_BIT.with_slots(slots(40, 6, 6, 2))),
    ]
}

#[test]
fn a_reindexed_database_is_that_of_the_new_scheme_made_from_the_sets() {
    let sets = sets();
    for (from, to) in changes() {
        let [from, to] = [from, to].map(|p| Scheme::new(p).unwrap());
        let files = database(&from, &sets);
        let before = files.contents(PATH).unwrap().len() as u64;
        let layer: Layer = Arc::new(files.clone());
        let at = format!("{from} to {to}");
        let old = Reader::open_in(Arc::clone(&layer), Path::new(PATH), options()).unwrap();
        let report = run(&files, &to).unwrap_or_else(|error| panic!("{at}: {error}"));
        assert!(report.rewritten && report.scheme_before == from, "{at}");
        assert_eq!((report.sets, report.file_bytes_before), (sets.len() as u64, before), "{at}");
        let after = files.contents(PATH).unwrap().len() as u64;
        assert!(report.file_bytes == after && after <= report.needed_bytes, "{at}: {report:?}");

        // An open reader shows the old file until its refresh.
        assert_eq!(old.scheme(), from, "{at}");
        let sketcher = Sketcher::new(&from);
        for (key, (set, _)) in sets.iter().take(20) {
            assert!(old.get(key).unwrap().unwrap().signature == sketch(&sketcher, set), "{at}");
        }
        old.refresh().unwrap();
        assert_eq!(old.scheme(), to, "{at}");

        let sketcher = Sketcher::new(&to);
        let rows: Rows =
            sets.iter().map(|(key, (set, _))| (key.clone(), sketch(&sketcher, set))).collect();
        let snapshot = old.snapshot();
        let mut count = 0;
        for row in snapshot.range::<&[u8]>(..) {
            let (key, stored) = row.unwrap();
            assert!(stored.signature == rows[&*key], "{at}: {}", key.escape_ascii());
            assert_eq!(stored.value.as_deref(), sets[&*key].1.as_deref(), "{at}");
            count += 1;
        }
        assert_eq!(count, rows.len(), "{at}");
        let requests = [Request::default(), Request::min(0.4), Request::top(3)];
        for (_, signature) in rows.iter().step_by(9) {
            compare_all(&snapshot, &rows, signature, &requests, &at);
        }
        let stat = old.stat().unwrap();
        assert_eq!((stat.segments, stat.hidden_rows, stat.sets), (1, 0, sets.len() as u64));

        // The database goes on as any other.
        let db = Database::open_in(layer, Path::new(PATH), options()).unwrap();
        assert!(db.open_report().clean, "{at}");
        assert_eq!(db.delete("empty").unwrap().sequence, snapshot.sequence() + 1, "{at}");
        db.compact().unwrap();
        db.close().unwrap();
    }
}

/// Reindexing twice gives the bytes of one reindex to the last scheme: bits are dropped, and nothing else is lost.
#[test]
fn what_a_reindex_drops_does_not_depend_on_the_way() {
    let sets = sets();
    let base = presets::NEAR_DUPLICATE;
    let [from, half, last] = [
        base,
        base.with_bits(5).with_slots(slots(10, 6, 30, 1)),
        base.with_bits(2).with_slots(slots(8, 8, 16, 1)),
    ]
    .map(|p| Scheme::new(p).unwrap());
    let rows = |files: &MemoryFiles| {
        let layer: Layer = Arc::new(files.clone());
        let snapshot = Reader::open_in(layer, Path::new(PATH), options()).unwrap().snapshot();
        let rows = snapshot.range::<&[u8]>(..).map(Result::unwrap);
        rows.map(|(key, stored)| (key, stored.signature)).collect::<Vec<_>>()
    };
    let [one, two] = [(); 2].map(|()| database(&from, &sets));
    run(&one, &last).unwrap();
    run(&two, &half).unwrap();
    run(&two, &last).unwrap();
    assert!(rows(&one) == rows(&two));
}

#[test]
fn what_is_not_possible_changes_no_byte() {
    let stored = Scheme::new(presets::NEAR_DUPLICATE.with_bits(6).with_slots(slots(21, 3, 18, 1)));
    let stored = stored.unwrap();
    let files = database(&stored, &sets());
    let bytes = files.contents(PATH).unwrap();
    let refused = |p: Parameters| match run(&files, &Scheme::new(p).unwrap()) {
        Err(Error::NotDerivable { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(stored.with_bits(7)), "bits");
    assert_eq!(refused(stored.with_samples(65)), "samples");
    assert_eq!(refused(stored.with_seed(stored.seed ^ 1)), "seed");
    assert_eq!(refused(stored.with_sampler(Sampler::Independent)), "sampler");
    assert_eq!(refused(stored.with_features(Features::Tokens)), "features");
    assert_eq!(refused(stored.with_cardinality(CardinalityField::Exact)), "cardinality field");

    let layer: Layer = Arc::new(files.clone());
    let to = Scheme::new(stored.with_bits(3).with_slots(Slots::NONE)).unwrap();
    let go = |progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>| {
        reindex::reindex(&layer, Path::new(PATH), &to, &options(), progress)
    };
    let interrupted = go(&mut |_, _| ControlFlow::Break(()));
    assert!(matches!(interrupted, Err(Error::Interrupted)), "{interrupted:?}");
    let late = go(&mut |done, all| match done == all {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    assert!(matches!(late, Err(Error::Interrupted)), "{late:?}");
    let db = Database::open_in(Arc::clone(&layer), Path::new(PATH), options()).unwrap();
    assert!(matches!(run(&files, &to), Err(Error::Locked { .. })));
    db.close().unwrap();
    let same = run(&files, &stored).unwrap();
    assert!(!same.rewritten && same.file_bytes == bytes.len() as u64, "{same:?}");
    assert!(files.contents(PATH).unwrap() == bytes);
    assert_eq!(names_of(&files, PATH).len(), 1, "nothing is left beside the database");

    let mut told = Vec::new();
    go(&mut |done, all| {
        told.push((done, all));
        ControlFlow::Continue(())
    })
    .unwrap();
    let all = sets().len() as u64;
    assert_eq!((told.first(), told.last()), (Some(&(0, all)), Some(&(all, all))));
}

/// A database that has outgrown its slots says so, and no longer after it was reindexed.
#[test]
fn an_outgrown_database_says_so_until_it_is_reindexed() {
    let base = presets::NEAR_DUPLICATE.with_slots(slots(40, 1, 8, 1));
    let stored = Scheme::new(base).unwrap();
    let sets = sets();
    let files = database(&stored, &sets);
    let layer: Layer = Arc::new(files.clone());
    let open = || Reader::open_in(Arc::clone(&layer), Path::new(PATH), options()).unwrap();
    let explained = |reader: &Reader| {
        let explained = reader.snapshot().query(ringer::Like::Key(b"03/0")).explain().unwrap();
        (explained.chance_candidates(), explained.to_string().contains("outgrown"))
    };
    let stat = open().stat().unwrap();
    let expected = sets.len() as f64 * (1.0 - (255.0_f64 / 256.0).powi(40));
    assert!((stat.chance_candidates - expected).abs() < 1e-6, "{}", stat.chance_candidates);
    assert!(stat.has_outgrown_slots());
    let (chance, warned) = explained(&open());
    // A query meets the signatures of hidden rows, too.
    let met = expected / sets.len() as f64 * stat.distinct_signatures as f64;
    assert!(warned && (chance - met).abs() < 1e-6, "{chance} {met}");

    let chosen = capacity::slots_for(&stored, stat.sets).unwrap();
    run(&files, &Scheme::new(stored.with_slots(chosen)).unwrap()).unwrap();
    let stat = open().stat().unwrap();
    assert!(!stat.has_outgrown_slots() && stat.chance_candidates <= 10.0);
    assert!(!explained(&open()).1);
}
