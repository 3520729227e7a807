//! Finds near-duplicate rows of a column, and decides which row of each group is kept.
//!
//! In: a column, a threshold, and the rule that ranks the rows of a group. Out: for every row whether it is kept, its group,
//! the kept row of the group, and the resemblance to that row. Signatures find the candidates. Unless estimates are asked
//! for, the sets of candidates are made again and compared exactly. The rules are those of `ringer dedup` for datasets.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::ControlFlow;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use ringer::features::Extractor;
use ringer::scheme::{Features, Measure};
use ringer::sketch::intersection_size;
use ringer::{Accept, Database, Error, Estimate, Like, Options, Originals, Signature, Snapshot};

use crate::columns::{Column, Rows, Scratch, Texts, key_object};
use crate::conditions::{finished, follow, linkage};
use crate::failure::{Failure, Outcome};
use crate::sketching::set_of;
use crate::work::{Run, Watch, watched};

/// Up to this many rows, all pairs are compared, so that no answer depends on the index. `ringer dedup` does the same.
const MOST_COMPARED: usize = 20_000;

/// Rows that are sketched together.
const BLOCK: usize = 1 << 13;

/// How many numbered keys (`KEY (2)`, ..) are tried to store a row.
const MOST_OF_ONE_KEY: u32 = 10_000;

thread_local! {
    /// The extractor of the last set that this thread made.
    static KEPT: Cell<Option<(Features, Box<Extractor>)>> = const { Cell::new(None) };
}

/// Which row of a group is kept.
#[derive(Debug, Clone, Copy)]
enum Keep {
    First,
    Last,
    Longest,
    Shortest,
}

impl Keep {
    fn named(name: &str) -> Outcome<Keep> {
        match name {
            "first" => Ok(Keep::First),
            "last" => Ok(Keep::Last),
            "longest" => Ok(Keep::Longest),
            "shortest" => Ok(Keep::Shortest),
            other => Err(Failure::invalid(format!(
                "keep `{other}`: choose one of first, last, longest, shortest"
            ))),
        }
    }

    /// The key of a row in the working database. Preferred rows have smaller keys. The last eight bytes are the row.
    fn key(self, length: usize, row: usize) -> Vec<u8> {
        let (length, row) = (length as u64, row as u64);
        let mut key = match self {
            Keep::First => Vec::with_capacity(8),
            Keep::Last => (!row).to_be_bytes().to_vec(),
            Keep::Longest => (!length).to_be_bytes().to_vec(),
            Keep::Shortest => length.to_be_bytes().to_vec(),
        };
        key.extend(row.to_be_bytes());
        key
    }
}

/// The row of a key of the working database.
fn row_of(key: &[u8]) -> usize {
    key.last_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes) as usize)
}

/// What is decided about every row.
struct Decisions {
    keep: Vec<bool>,
    group: Vec<i64>,
    representative: Vec<i64>,
    similarity: Vec<Estimate>,
    /// Removed rows whose representative is a stored row, with its key.
    stored: Vec<(usize, Box<[u8]>)>,
    groups: i64,
}

/// A run.
struct Job<'a> {
    rows: Rows<'a>,
    sketcher: &'a ringer::Sketcher,
    min: f64,
    keep: Keep,
    linkage: ringer::Linkage,
    exact: bool,
    memory: usize,
    earlier: Option<Snapshot>,
    watch: &'a Watch,
}

impl Job<'_> {
    fn run(&self) -> Outcome<Decisions> {
        let count = self.rows.len();
        self.watch.set_total(count);
        let none = Estimate::exact(1.0);
        let mut decisions = Decisions {
            keep: vec![true; count],
            group: vec![-1; count],
            representative: (0..count as i64).collect(),
            similarity: vec![none; count],
            stored: Vec::new(),
            groups: 0,
        };
        let options = Options::default().with_background(false);
        let working = Database::in_memory_with(self.sketcher.scheme(), options)?;
        let known = self.collect(&working, &mut decisions)?;
        self.group(&working.snapshot(), &mut decisions)?;
        decisions.add_known(known);
        Ok(decisions)
    }

    /// Sketches all rows into the working database, except those that resemble a stored row. These are returned.
    fn collect(
        &self,
        working: &Database,
        decisions: &mut Decisions,
    ) -> Outcome<Vec<(usize, ringer::Match)>> {
        let (count, mut known, mut load) = (self.rows.len(), Vec::new(), working.bulk_load());
        let one = |scratch: &mut Scratch, row| -> Outcome<_> {
            self.watch.check()?;
            self.watch.step();
            let Some(signature) = self.rows.signature(row, self.sketcher, scratch)? else {
                return Ok(None);
            };
            let found = self.earlier.as_ref().map(|earlier| self.find(earlier, &signature));
            let length = match self.keep {
                Keep::First | Keep::Last => 0,
                Keep::Longest | Keep::Shortest => {
                    self.rows.visit(row, self.sketcher, scratch, |like| Ok(length(like)))?
                }
            };
            Ok(Some((signature, length, found.transpose()?.flatten())))
        };
        for start in (0..count).step_by(BLOCK) {
            let block = (start..count.min(start + BLOCK)).into_par_iter().with_min_len(8);
            let sketched: Outcome<Vec<_>> = block.map_init(Scratch::default, one).collect();
            for (row, sketched) in (start..).zip(sketched?) {
                match sketched {
                    None => decisions.similarity[row] = Estimate::exact(f64::NAN),
                    Some((_, _, Some(found))) => known.push((row, found)),
                    Some((signature, length, None)) => {
                        load.put_signature(self.keep.key(length, row), &signature)?;
                    }
                }
            }
        }
        load.commit()?;
        Ok(known)
    }

    /// The stored row that resembles a new one most, if it reaches the threshold.
    fn find(&self, earlier: &Snapshot, signature: &Signature) -> Outcome<Option<ringer::Match>> {
        let query = earlier.query(Like::Signature(signature)).min_similarity(self.min).top(1);
        Ok(query.run()?.matches.into_iter().next())
    }

    fn group(&self, snapshot: &Snapshot, decisions: &mut Decisions) -> Outcome<()> {
        let originals = Originals::new(|key| match self.watch.is_stopped() {
            true => Err(Error::Interrupted),
            false => self.set(row_of(key)).map(Some),
        });
        let originals = originals.trusted().memory(self.memory / 4);
        let (mut clusters, mut failure) = (Vec::new(), None);
        let search = snapshot.clusters(self.min).linkage(self.linkage).pairs(|mut pairs| {
            if self.rows.len() <= MOST_COMPARED {
                pairs = pairs.exhaustive();
            }
            pairs = pairs.memory(self.memory - self.memory / 4).progress(follow(self.watch));
            if self.exact { pairs.verify(&originals) } else { pairs.accept(Accept::Estimate) }
        });
        let report = search.run(|cluster| {
            let members: Result<Vec<usize>, Error> =
                cluster.keys.map(|key| key.map(|key| row_of(&key))).collect();
            match members {
                Ok(members) => clusters.push((row_of(&cluster.representative), members)),
                Err(error) => failure = Some(error.into()),
            }
            let stop = failure.is_some() || self.watch.is_stopped();
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        finished(report, failure)?;
        drop(originals);
        let compared: Outcome<Vec<Vec<Estimate>>> = clusters
            .par_iter()
            .map(|(kept, members)| self.compare(*kept, members, snapshot))
            .collect();
        for ((kept, members), similarities) in clusters.into_iter().zip(compared?) {
            decisions.groups += 1;
            for (row, similarity) in members.into_iter().zip(similarities) {
                decisions.keep[row] = row == kept;
                decisions.group[row] = decisions.groups;
                decisions.representative[row] = kept as i64;
                decisions.similarity[row] = similarity;
            }
        }
        Ok(())
    }

    /// The resemblance of the kept row of a group to each of its members.
    fn compare(
        &self,
        kept: usize,
        members: &[usize],
        snapshot: &Snapshot,
    ) -> Outcome<Vec<Estimate>> {
        let set = if self.exact { self.set(kept)? } else { Vec::new() };
        let first = |row: usize| -> Outcome<Vec<u8>> { Ok(self.working_key(row)?) };
        let kept_key = first(kept)?;
        let one = |row: &usize| {
            self.watch.check()?;
            if *row == kept {
                return Ok(Estimate::exact(1.0));
            }
            if !self.exact {
                return Ok(snapshot.compare(&kept_key, first(*row)?)?.similarity());
            }
            let other = self.set(*row)?;
            let common = intersection_size(&set, &other) as f64;
            Ok(Estimate::exact(common / (set.len() as f64 + other.len() as f64 - common).max(1.0)))
        };
        members.par_iter().map(one).collect()
    }

    fn working_key(&self, row: usize) -> Result<Vec<u8>, Error> {
        let mut scratch = Scratch::default();
        let visited = self.rows.visit(row, self.sketcher, &mut scratch, |like| Ok(length(like)));
        visited.map(|length| self.keep.key(length, row)).map_err(unreadable)
    }

    /// The set of a row, ascending and without repeats.
    fn set(&self, row: usize) -> Result<Vec<u64>, Error> {
        let scheme = self.sketcher.scheme();
        let kept = KEPT.take().filter(|(features, _)| *features == scheme.features);
        let mut extractor =
            kept.map_or_else(|| Box::new(Extractor::of_scheme(scheme)), |(_, extractor)| extractor);
        let set = set_of(self.rows, row, self.sketcher, &mut extractor, &mut Scratch::default());
        KEPT.set(Some((scheme.features, extractor)));
        Ok(set.map_err(unreadable)?.unwrap_or_default())
    }
}

/// Rows were read before, so only the library can refuse them now.
fn unreadable(failure: Failure) -> Error {
    match failure {
        Failure::Row(_, error) | Failure::Library(error) => error,
        _ => Error::InvalidArgument { what: "a row".into(), limit: "it changed meanwhile".into() },
    }
}

/// The length of a row: the bytes of a text, or the elements of a set.
fn length(like: Option<Like<'_>>) -> usize {
    match like {
        Some(Like::Bytes(text)) => text.len(),
        Some(Like::Features(set)) => set.len(),
        _ => 0,
    }
}

impl Decisions {
    /// Adds the rows that resemble stored ones. Rows that resemble the same one are a group.
    fn add_known(&mut self, known: Vec<(usize, ringer::Match)>) {
        let mut groups = HashMap::<Box<[u8]>, i64>::new();
        for (row, found) in known {
            let group = *groups.entry(found.key.clone()).or_insert_with(|| {
                self.groups += 1;
                self.groups
            });
            self.keep[row] = false;
            self.group[row] = group;
            self.representative[row] = -1;
            self.similarity[row] = found.similarity();
            self.stored.push((row, found.key));
        }
    }
}

/// Stores the kept rows in one commit. A key that has another set is numbered.
fn store(
    db: &Database,
    rows: Rows<'_>,
    keys: Option<&Texts>,
    keep: &[bool],
    watch: &Watch,
) -> Outcome<()> {
    let (snapshot, sketcher, mut load) = (db.snapshot(), db.sketcher(), db.bulk_load());
    let mut used = HashMap::<Vec<u8>, u32>::new();
    let mut scratch = Scratch::default();
    for row in (0..rows.len()).filter(|row| keep[*row]) {
        watch.check()?;
        let key = match keys {
            Some(keys) => keys.get(row).unwrap_or_default().to_vec(),
            None => row.to_string().into_bytes(),
        };
        let Some(signature) = rows.signature(row, sketcher, &mut scratch)? else { continue };
        let last = used.entry(key.clone()).or_default();
        while *last < MOST_OF_ONE_KEY {
            *last += 1;
            let name = match *last {
                1 => key.clone(),
                n => [&key[..], format!(" ({n})").as_bytes()].concat(),
            };
            match snapshot.get(&name)? {
                None => {
                    load.put_signature(&name, &signature)
                        .map_err(|error| Failure::Row(row, error))?;
                    break;
                }
                Some(found) if found.signature == signature => break,
                Some(_) => {}
            }
        }
    }
    watch.check()?;
    load.commit()?;
    Ok(())
}

/// Decides about the rows of a column. `db` is a database of rows that were kept earlier.
#[expect(clippy::too_many_arguments, reason = "the Python part gives them names")]
pub(crate) fn run<'py>(
    py: Python<'py>,
    kind: &str,
    data: &Bound<'py, PyAny>,
    keys: Option<Bound<'py, PyAny>>,
    (min, keep, exact, link, memory): (f64, &str, bool, &str, usize),
    sketcher: &ringer::Sketcher,
    db: Option<Database>,
    run: &Run,
) -> Outcome<Bound<'py, PyDict>> {
    let scheme = sketcher.scheme();
    if scheme.measure != Measure::Jaccard {
        let measure = scheme.measure;
        let message =
            format!("rows are compared by resemblance, but the scheme measures `{measure}`");
        return Err(Failure::invalid(message));
    }
    if exact && kind == "signatures" {
        return Err(Failure::invalid("signatures have no sets to compare; give exact=False"));
    }
    let column = Column::new(kind, data, scheme)?;
    let rows = column.rows()?;
    let keys = keys.map(|keys| Texts::new(&keys, "keys")).transpose()?;
    if let Some(keys) = keys.as_ref().filter(|keys| keys.len() != rows.len()) {
        let message = format!("there are {} keys, but {} rows", keys.len(), rows.len());
        return Err(Failure::invalid(message));
    }
    let (keep, linkage) = (Keep::named(keep)?, linkage(link)?);
    let decisions = watched(py, run, |watch| {
        let earlier = db.as_ref().map(Database::snapshot);
        let job = Job { rows, sketcher, min, keep, linkage, exact, memory, earlier, watch };
        let decisions = job.run()?;
        watch.check()?;
        if let Some(db) = &db {
            store(db, rows, keys.as_ref(), &decisions.keep, watch)?;
        }
        Ok(decisions)
    })?;
    let result = PyDict::new(py);
    let part = |part: fn(&Estimate) -> f64| {
        PyArray1::from_vec(py, decisions.similarity.iter().map(part).collect())
    };
    result.set_item("similarity", part(|estimate| estimate.value))?;
    result.set_item("low", part(|estimate| estimate.low))?;
    result.set_item("high", part(|estimate| estimate.high))?;
    result.set_item("keep", PyArray1::from_vec(py, decisions.keep))?;
    result.set_item("group", PyArray1::from_vec(py, decisions.group))?;
    result.set_item("representative", PyArray1::from_vec(py, decisions.representative))?;
    let stored = PyDict::new(py);
    for (row, key) in &decisions.stored {
        stored.set_item(row, key_object(py, key))?;
    }
    result.set_item("stored", stored)?;
    Ok(result)
}
