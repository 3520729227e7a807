//! A plain map as the model of a database, and comparisons of a database with it.
//!
//! In: operations, and a snapshot. Out: nothing, or a panic that says where the snapshot and the map differ.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::LazyLock;

use ringer::scheme::Elements;
use ringer::sketch::SlotReader;
use ringer::{
    Committed, Comparison, Database, Error, Like, Plan, Scheme, Signature, Sketcher, Snapshot,
    Stored, presets,
};

/// Maps a key to the number of the set stored there and the commit that stored it. Numbers from `SETS.len()` on stand
/// for the same sets with values.
pub type Map = BTreeMap<Vec<u8>, (usize, u64)>;

/// The keys to draw from. They are few, so most operations meet an earlier one. They include prefixes of each other,
/// both ends of the order, and keys of the maximum length.
pub static KEYS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut keys: Vec<Vec<u8>> = [&b"\0"[..], b"\0\0", b"a", b"a\0", b"aa", b"ab", b"abc", b"b"]
        .iter()
        .chain(&[&b"b\xff"[..], b"b\xff\xff", b"c", b"\xff", b"\xff\xff\xff"])
        .map(|key| key.to_vec())
        .collect();
    keys.push([b"b".repeat(4095), b"x".to_vec()].concat());
    keys
});

/// The sets to draw from. The first is empty; two are equal, and two differ but share most elements.
pub static SETS: LazyLock<Vec<Vec<u64>>> = LazyLock::new(|| {
    let mut sets = vec![vec![], vec![7], vec![7], (0..40).collect(), (1..41).collect()];
    sets.extend((0..3).map(|i| (0..200).map(|j| i * 1_000_003 + j * j).collect::<Vec<u64>>()));
    sets
});

/// The signatures of [`SETS`], in schemes without and with kept sets.
static SIGNATURES: LazyLock<[Vec<Signature>; 2]> = LazyLock::new(|| {
    [false, true].map(|kept| {
        let sketcher = Sketcher::new(&scheme_keeping(kept));
        SETS.iter().map(|set| sketcher.sketch(set).unwrap()).collect()
    })
});

/// Returns the signatures in one of these schemes.
fn signatures(scheme: &Scheme) -> &'static [Signature] {
    &SIGNATURES[usize::from(scheme.elements.are_kept())]
}

/// Common slots, comparison and resemblance of two sets, or `None` if one is empty.
type Alike = Option<(u32, Comparison, f64)>;

/// Every set compared with every set, in both schemes.
static ALIKE: LazyLock<[Vec<Vec<Alike>>; 2]> = LazyLock::new(|| {
    let reader = SlotReader::new(&scheme());
    let values = |signature: &Signature| {
        let mut values = vec![0; reader.count()];
        reader.read(signature.planes(), &mut values);
        values
    };
    let alike = |a: &Signature, b: &Signature| {
        let slots = values(a).iter().zip(values(b)).filter(|(a, b)| **a == *b).count();
        let comparison = a.compare(b).ok().filter(|_| !a.is_empty() && !b.is_empty())?;
        let comparison = comparison.without_order();
        Some((slots as u32, comparison, comparison.similarity().value))
    };
    let all = |rows: &Vec<Signature>| {
        rows.iter().map(|a| rows.iter().map(|b| alike(a, b)).collect()).collect()
    };
    [all(&SIGNATURES[0]), all(&SIGNATURES[1])]
});

pub fn scheme() -> Scheme {
    scheme_keeping(false)
}

/// Returns the same scheme with or without kept sets.
pub fn scheme_keeping(kept: bool) -> Scheme {
    let elements = if kept { Elements::EXACT } else { Elements::None };
    Scheme::new(presets::PRECISE.with_elements(elements)).unwrap()
}

/// One operation on a key: store this set, or delete the key.
pub type Change = (usize, Option<usize>);

/// The states of a database by sequence, newest last.
#[derive(Debug, Clone)]
pub struct History {
    states: Vec<Map>,
}

impl History {
    pub fn new() -> History {
        History { states: vec![Map::new()] }
    }

    /// Returns the sequence of the last commit.
    pub fn last(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    pub fn now(&self) -> &Map {
        &self.states[self.states.len() - 1]
    }

    /// Returns the state after a commit.
    pub fn at(&self, sequence: u64) -> &Map {
        let last = self.last();
        let state = usize::try_from(sequence).ok().and_then(|i| self.states.get(i));
        state.unwrap_or_else(|| panic!("commit {sequence} was seen, and the last was {last}"))
    }

    /// Applies a commit and returns what the database should report.
    pub fn commit(&mut self, changes: &[Change]) -> Committed {
        if changes.is_empty() {
            let mut nothing = Committed::default();
            nothing.sequence = self.last();
            return nothing;
        }
        let sequence = self.last() + 1;
        let mut state = self.now().clone();
        let mut committed = Committed::default();
        committed.sequence = sequence;
        // If a key occurs several times, the last operation counts.
        let effective: BTreeMap<usize, Option<usize>> = changes.iter().copied().collect();
        for (key, set) in effective {
            let key = KEYS[key].clone();
            match set {
                Some(set) => {
                    state.insert(key, (set, sequence));
                    committed.stored += 1;
                }
                None if state.remove(&key).is_some() => committed.deleted += 1,
                None => committed.absent += 1,
            }
        }
        self.states.push(state);
        committed
    }

    /// Forgets all commits after `last`.
    pub fn cut(&mut self, last: u64) {
        self.states.truncate(last as usize + 1);
    }
}

/// Returns the number of a set without its value.
fn set_of(number: usize) -> usize {
    number % SETS.len()
}

/// Returns the value that a commit stores with a set, if its number stands for one: empty, short, or more than a page.
fn value_of(number: usize, sequence: u64) -> Option<Vec<u8>> {
    let length = [0, 3, 300, 9_000][(number + sequence as usize) % 4];
    let byte = |i: usize| (i * 31 + number + 7 * sequence as usize) as u8;
    (number >= SETS.len()).then(|| (0..length).map(byte).collect())
}

fn expect(snapshot: &Snapshot, set: usize, sequence: u64) -> Stored {
    let signature = signatures(snapshot.scheme())[set_of(set)].clone();
    Stored { signature, sequence, value: value_of(set, sequence).map(Into::into) }
}

/// Compares everything that a snapshot returns with a map.
pub fn compare(snapshot: &Snapshot, map: &Map, what: &str) {
    for key in &*KEYS {
        let expected = map.get(key).map(|(set, sequence)| expect(snapshot, *set, *sequence));
        let name = &key[..key.len().min(8)];
        assert_eq!(snapshot.get(key).unwrap(), expected, "{what}: key {name:?}");
        assert_eq!(snapshot.contains(key).unwrap(), expected.is_some(), "{what}: key {name:?}");
        let value = expected.and_then(|stored| stored.value);
        assert_eq!(snapshot.value(key).unwrap(), value, "{what}: key {name:?}");
    }
    assert_eq!(snapshot.len().unwrap(), map.len() as u64, "{what}: len");
    assert_eq!(snapshot.is_empty().unwrap(), map.is_empty(), "{what}: is_empty");
    compare_range(snapshot, map, Bound::Unbounded, Bound::Unbounded, what);
    // Queries use a different set or key each time, and do not run every time.
    let turn = snapshot.sequence() as usize + map.len();
    match map.iter().nth(turn % KEYS.len()) {
        Some((key, _)) if turn.is_multiple_of(2) => {
            compare_query(snapshot, map, Like::Key(key), turn, what);
        }
        None if turn.is_multiple_of(2) => {
            compare_query(snapshot, map, Like::Features(&SETS[turn % SETS.len()]), turn, what);
        }
        _ => {}
    }
}

/// Compares the answers about some sets and about a key that does not exist.
pub fn compare_queries(snapshot: &Snapshot, map: &Map, what: &str) {
    let turn = snapshot.sequence() as usize + map.len();
    let rows = signatures(snapshot.scheme()).iter().cycle().skip(turn % SETS.len());
    for (turn, signature) in (turn..).zip(rows.take(3)) {
        compare_query(snapshot, map, Like::Signature(signature), turn, what);
    }
    let missing = snapshot.query(Like::Key(b"never stored")).run();
    assert!(matches!(missing, Err(Error::NoSuchKey { .. })), "{what}");
}

/// Compares the answers of both plans with the map.
fn compare_query(snapshot: &Snapshot, map: &Map, like: Like<'_>, turn: usize, what: &str) {
    let rows = signatures(snapshot.scheme());
    let (set, itself) = match like {
        Like::Key(key) => (set_of(map[key].0), Some(key)),
        Like::Features(set) => (SETS.iter().position(|other| other == set).unwrap(), None),
        Like::Signature(row) => (rows.iter().position(|other| other == row).unwrap(), None),
        other => panic!("these sets have neither weights nor documents: {other:?}"),
    };
    let table = &ALIKE[usize::from(snapshot.scheme().elements.are_kept())];
    let (top, exhaustive) = ([1, 2, 5, 20][turn % 4], turn.is_multiple_of(3));
    let others = map.iter().filter(|(key, _)| Some(&***key) != itself);
    let alike = others.filter_map(|(key, (other, _))| Some((&**key, table[set][set_of(*other)]?)));
    let mut right: Vec<_> = alike.filter(|(_, (slots, ..))| *slots > 0 || exhaustive).collect();
    right.sort_by(|(a, (a_slots, _, a_value)), (b, (b_slots, _, b_value))| {
        b_value.total_cmp(a_value).then(b_slots.cmp(a_slots)).then(a.cmp(b))
    });
    right.truncate(top);
    for plan in [Plan::Probe, Plan::Scan] {
        let query = snapshot.query(like).top(top).plan(plan);
        let query = if turn.is_multiple_of(5) { query.clone() } else { query.with_values() };
        let answer = if exhaustive { query.exhaustive() } else { query }.run().unwrap();
        for found in &answer.matches {
            let (number, sequence) = map[&*found.key];
            let value = value_of(number, sequence).filter(|_| !turn.is_multiple_of(5));
            assert_eq!(found.value.as_deref(), value.as_deref(), "{what}: value of a match");
        }
        assert!(!answer.truncated, "{what}");
        let found = answer.matches.iter().map(|m| (&*m.key, m.matching_slots, m.comparison));
        let right = right.iter().map(|(key, (slots, how, _))| (*key, *slots, *how));
        assert!(found.eq(right), "{what}: matches of set {set}, {plan}: {:?}", answer.matches);
    }
}

/// Compares the rows and the keys within bounds. The bounds may be inverted.
pub fn compare_range(
    snapshot: &Snapshot,
    map: &Map,
    from: Bound<&[u8]>,
    to: Bound<&[u8]>,
    what: &str,
) {
    let after = |key: &[u8]| match from {
        Bound::Included(from) => key >= from,
        Bound::Excluded(from) => key > from,
        Bound::Unbounded => true,
    };
    let before = |key: &[u8]| match to {
        Bound::Included(to) => key <= to,
        Bound::Excluded(to) => key < to,
        Bound::Unbounded => true,
    };
    let expected: Vec<_> = map.iter().filter(|(key, _)| after(key) && before(key)).collect();
    let bounds = (from, to);
    let keys: Vec<_> = snapshot.keys::<&[u8]>(bounds).map(Result::unwrap).collect();
    let names = |keys: &[&[u8]]| -> Vec<String> {
        keys.iter().map(|key| key[..key.len().min(8)].escape_ascii().to_string()).collect()
    };
    let found: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
    let wanted: Vec<&[u8]> = expected.iter().map(|(key, _)| &***key).collect();
    assert!(found == wanted, "{what}: keys {:?}, not {:?}", names(&found), names(&wanted));
    let rows: Vec<_> = snapshot.range::<&[u8]>(bounds).map(Result::unwrap).collect();
    assert_eq!(rows.len(), expected.len(), "{what}: rows");
    for ((key, stored), (wanted, (set, sequence))) in rows.iter().zip(&expected) {
        assert!(**key == ***wanted, "{what}: a row has another key than before");
        assert_eq!(*stored, expect(snapshot, *set, *sequence), "{what}: {}", key.escape_ascii());
    }
}

/// Compares the rows and the keys with a prefix.
pub fn compare_prefix(snapshot: &Snapshot, map: &Map, prefix: &[u8], what: &str) {
    let expected: Vec<_> = map.iter().filter(|(key, _)| key.starts_with(prefix)).collect();
    let keys: Vec<_> = snapshot.prefix_keys(prefix).map(Result::unwrap).collect();
    assert!(
        keys.iter().map(|key| &**key).eq(expected.iter().map(|(key, _)| &***key)),
        "{what}: keys with prefix {}",
        prefix.escape_ascii()
    );
    let rows = snapshot.prefix(prefix).map(|row| row.unwrap().1);
    assert!(
        rows.eq(expected.iter().map(|(_, (set, sequence))| expect(snapshot, *set, *sequence))),
        "{what}: rows with prefix {}",
        prefix.escape_ascii()
    );
}

/// Commits changes of [`KEYS`] and [`SETS`] as one batch.
pub fn commit(db: &Database, changes: &[Change]) -> ringer::Result<Committed> {
    let mut batch = db.batch();
    let sequence = db.snapshot().sequence() + 1;
    for (key, set) in changes {
        let Some(set) = set else {
            batch.delete(&KEYS[*key])?;
            continue;
        };
        batch.put_signature(&KEYS[*key], signatures(db.scheme())[set_of(*set)].clone())?;
        if let Some(value) = value_of(*set, sequence) {
            batch.with_value(value)?;
        }
    }
    db.commit(batch)
}

/// Bulk loads sets of [`SETS`] under keys of [`KEYS`].
pub fn bulk_load(db: &Database, rows: &[(usize, usize)]) -> ringer::Result<Committed> {
    let mut load = db.bulk_load();
    let sequence = db.snapshot().sequence() + 1;
    // Sets without values at the start go in as a group, the others one by one.
    let group = rows.iter().take(rows.len() / 2).take_while(|(_, set)| *set < SETS.len()).count();
    let (many, single) = rows.split_at(group);
    let many: Vec<_> = many.iter().map(|(key, set)| (&KEYS[*key], &SETS[*set])).collect();
    load.put_many(&many)?;
    for (key, set) in single {
        load.put_signature(&KEYS[*key], &signatures(db.scheme())[set_of(*set)])?;
        if let Some(value) = value_of(*set, sequence) {
            load.with_value(value)?;
        }
    }
    load.commit()
}
