//! Comparison and ranking, checked against the vectors of `format-spec/compare.md`, which `format-spec/compare.py`
//! wrote.

use ringer::scheme::{Elements, Sampler};
use ringer::sketch::SlotReader;
use ringer::{
    Comparison, Database, Error, Estimate, Like, Options, Scheme, Signature, Sketcher, presets,
};

use super::vectors::{number, rows, slots_of, weights, with_samples};

/// The vectors print doubles with 12 digits.
const TOLERANCE: f64 = 1e-11;

/// Builds the scheme that the first ten columns of a row describe.
fn scheme(columns: &[&str]) -> Scheme {
    let &[sampler, place, seed, k, b, cardinality, count, g, v, m] = columns else {
        panic!("{columns:?}")
    };
    let samples = [sampler, place, seed, k, b, cardinality];
    let parameters = with_samples(presets::PRECISE, samples).with_slots(slots_of([count, g, v, m]));
    Scheme::new(parameters).unwrap()
}

fn signature(sketcher: &Sketcher, scheme: &Scheme, text: &str) -> Signature {
    let set = weights(text);
    if matches!(scheme.sampler, Sampler::Weighted | Sampler::SignProjection) {
        return sketcher.sketch_weighted(&set).unwrap();
    }
    sketcher.sketch(&set.iter().map(|(x, _)| *x).collect::<Vec<_>>()).unwrap()
}

fn slot_values(reader: &SlotReader, signature: &Signature) -> Vec<u32> {
    let mut values = vec![0; reader.count()];
    reader.read(signature.planes(), &mut values);
    values
}

/// Asserts that a value equals the printed one; `-` means none.
fn assert_close(found: Option<f64>, expected: &str, row: &[&str]) {
    match found {
        None => assert_eq!(expected, "-", "{row:?}"),
        Some(found) => {
            assert_ne!(expected, "-", "{row:?}: {found}");
            let expected: f64 = number(expected);
            let error = (found - expected).abs();
            assert!(error <= TOLERANCE * expected.abs().max(1.0), "{row:?}: {found}");
        }
    }
}

/// COMPARE-1 to COMPARE-11 and COMPARE-14.
#[test]
fn comparisons() {
    type Formula = fn(&Comparison) -> Result<Estimate, Error>;
    let formulas: [Formula; 6] = [
        Comparison::intersection,
        Comparison::union,
        Comparison::hamming,
        Comparison::containment_of_first,
        Comparison::containment_of_second,
        Comparison::overlap,
    ];
    let mut checked = 0;
    for row in rows(include_str!("../../format-spec/vectors/compare.tsv")) {
        let scheme = scheme(&row[..10]);
        let sketcher = Sketcher::new(&scheme);
        let sets = [row[10], row[11]].map(|text| signature(&sketcher, &scheme, text));
        let reader = SlotReader::new(&scheme);
        let [first, second] = sets.each_ref().map(|set| slot_values(&reader, set));
        let one_empty = sets.iter().any(Signature::is_empty);
        let slots = first.iter().zip(&second).filter(|(x, y)| x == y && !one_empty).count();
        assert_eq!(slots, number::<usize>(row[13]), "{row:?}");
        match sets[0].compare(&sets[1]) {
            Err(Error::Undefined { .. }) => assert_eq!(row[14], "-", "{row:?}"),
            Err(error) => panic!("{row:?}: {error}"),
            Ok(comparison) => {
                assert_eq!(comparison.equal_samples(), number::<u32>(row[12]), "{row:?}");
                assert_close(Some(comparison.similarity().value), row[14], &row);
                if !one_empty {
                    for (formula, expected) in formulas.iter().zip(&row[15..]) {
                        assert_close(formula(&comparison).ok().map(|e| e.value), expected, &row);
                    }
                }
            }
        }
        checked += 1;
    }
    assert!(checked > 200);
}

/// COMPARE-12, COMPARE-15, COMPARE-16 for estimates, COMPARE-17 and COMPARE-18.
#[test]
fn rankings() {
    let mut checked = 0;
    for row in rows(include_str!("../../format-spec/vectors/rank.tsv")) {
        let elements = match row[10] {
            "0" => Elements::None,
            bits => Elements::Kept { bits: number(bits) },
        };
        let scheme = Scheme::new((*scheme(&row[..10])).with_elements(elements)).unwrap();
        let [sets, key, least_slots, threshold, top, expected] = row[11..] else {
            panic!("{row:?}")
        };
        let folder = tempfile::tempdir().unwrap();
        let options = Options::default().with_background(false);
        let db = Database::create(folder.path().join("x.ringer"), &scheme, options).unwrap();
        for (key, set) in sets.split(';').map(|set| set.split_once('=').unwrap()) {
            let set: Vec<u64> = weights(set).iter().map(|(x, _)| *x).collect();
            db.put(key, &set).unwrap();
        }
        let snapshot = db.snapshot();
        let mut query = snapshot.query(Like::Key(key.as_bytes())).top(number(top));
        query = match number(least_slots) {
            0 => query.exhaustive(),
            slots => query.min_matches(slots),
        };
        if threshold != "-" {
            query = query.min_similarity(number(threshold));
        }
        let found = query.run().unwrap().matches;
        let expected: Vec<&str> = expected.split(';').filter(|text| !text.is_empty()).collect();
        assert_eq!(found.len(), expected.len(), "{row:?}");
        for (found, expected) in found.iter().zip(expected) {
            let [key, slots, value] = expected.split(',').collect::<Vec<_>>()[..] else {
                panic!("{row:?}")
            };
            assert_eq!(&*found.key, key.as_bytes(), "{row:?}");
            assert_eq!(found.matching_slots, number::<u32>(slots), "{row:?}");
            assert_close(Some(found.similarity().value), value, &row);
        }
        checked += 1;
    }
    assert!(checked > 40);
}
