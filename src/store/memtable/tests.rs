//! Compares the memtable with a map of maps.

use super::*;
use crate::sketch::{Sketcher, SlotReader};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A signature, and the value that was stored with it.
type Row = (Signature, Option<Arc<[u8]>>);

/// Checks every key at every commit, and ranges while keys still arrive.
#[test]
fn every_commit_can_be_read_again() {
    every_commit_of(Scheme::precise());
    let elements = crate::scheme::Elements::EXACT;
    every_commit_of(
        Scheme::new(crate::Parameters { elements, ..crate::presets::PRECISE }).unwrap(),
    );
}

fn every_commit_of(scheme: Scheme) {
    let scheme = Arc::new(scheme);
    let sketcher = Sketcher::new(&scheme);
    let table = Memtable::new(&scheme);
    let mut oracle: BTreeMap<Vec<u8>, BTreeMap<u64, Option<Row>>> = BTreeMap::new();
    let mut random = testkit::random::Random(7);
    let mut draw = |limit: u64| random.below(limit);
    for sequence in 1..=300 {
        let mut operations = BTreeMap::new();
        for _ in 0..=draw(4) {
            let n = draw(40);
            let key = format!("{}{n}", "a".repeat(n as usize % 12)).into_bytes();
            let set: Vec<u64> = (0..draw(3)).map(|i| n + i).collect();
            let put = draw(3) > 0;
            let value = (draw(2) == 0).then(|| Arc::from(vec![n as u8; draw(30) as usize]));
            operations.insert(key, put.then(|| (sketcher.sketch(&set).unwrap(), value)));
        }
        let puts = operations.iter().map(|(key, row)| {
            (&**key, row.as_ref().map(|(signature, value)| (signature, value.as_ref())))
        });
        table.apply(sequence, puts);
        for (key, row) in operations {
            oracle.entry(key).or_default().insert(sequence, row);
        }
        let at = 1 + draw(sequence);
        let seen = |versions: &BTreeMap<u64, Option<Row>>| {
            versions.range(..=at).next_back().map(|(s, row)| (*s, row.clone()))
        };
        let shown = |version: Version| {
            let Version { sequence, signature, value } = version;
            (sequence, signature.map(|signature| (signature, value)))
        };
        for (key, versions) in &oracle {
            let found = table.get(key, at).map(shown);
            assert_eq!(found, seen(versions));
            assert_eq!(table.has(key, at), seen(versions).is_some());
        }
        if draw(5) == 0 {
            let from = format!("a{}", draw(9)).into_bytes();
            let expected: Vec<_> = oracle
                .range(from.clone()..)
                .filter_map(|(key, versions)| Some((key.clone(), seen(versions)?)))
                .take(10)
                .collect();
            let found = table.next(Bound::Included(&from), Bound::Unbounded, at, 10);
            let found: Vec<_> = found.into_iter().map(|(k, v)| (k.to_vec(), shown(v))).collect();
            assert_eq!(found, expected);
        }
    }
    assert_eq!((table.last(), table.get(b"absent", 300).is_none()), (300, true));
    found_by_their_slots(&table, &oracle);
}

/// Checks that every key is found at every commit, by each slot of its signature.
fn found_by_their_slots(table: &Memtable, oracle: &BTreeMap<Vec<u8>, BTreeMap<u64, Option<Row>>>) {
    let (view, reader) = (table.view(), SlotReader::new(&table.scheme));
    let all = oracle.values().flat_map(BTreeMap::values).flatten().map(|(signature, _)| signature);
    let all: Vec<&Signature> = all.filter(|signature| !signature.is_empty()).collect();
    let distinct: HashSet<&[u64]> = all.iter().map(|signature| signature.planes()).collect();
    assert_eq!(view.signatures() as usize, distinct.len());
    let mut values = vec![0; reader.count()];
    for (signature, at) in all.into_iter().zip((0..).map(|i| i % 302)) {
        let seen = oracle.iter().filter(|(_, versions)| {
            let last = versions.range(..=at).next_back();
            last.is_some_and(|(_, row)| row.as_ref().is_some_and(|(found, _)| found == signature))
        });
        let expected: BTreeSet<&[u8]> = seen.map(|(key, _)| &**key).collect();
        reader.read(signature.planes(), &mut values);
        for (slot, value) in values.iter().enumerate() {
            let numbers: Vec<u32> = view.with_value(slot, *value).collect();
            assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), numbers.len());
            let same = |number: &u32| {
                let planes: Vec<u64> = view.inner.signatures.planes(*number).collect();
                planes == signature.planes() && view.code(*number) == signature.cardinality_code()
            };
            let number = numbers.into_iter().find(same).unwrap();
            let mut elements = Vec::new();
            view.elements(number, &mut elements);
            assert_eq!(elements, signature.elements().unwrap_or_default());
            assert!(view.keys_of(number, at).eq(expected.iter().copied()), "all, in order");
        }
    }
}
