//! A fixed view of a database: reads, queries, pairs, clusters and triples.
//!
//! In: keys, columns and conditions. Out: matches, estimates and tables. The Python classes `ringerdb.Database` and
//! `ringerdb.Snapshot` are the interface to this.

use std::ops::{Bound as Limit, ControlFlow};
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use rayon::prelude::*;
use ringer::{Answer, Found, Like, Pair, Snapshot, resemblance_of};

use crate::columns::{Column, Scratch, key, key_object};
use crate::conditions::{Conditions, PairConditions, finished, linkage};
use crate::estimates::{Comparison, Estimate, Match};
use crate::failure::{Failure, Outcome};
use crate::table::{Estimates, Filling, Keys, Table, Values};
use crate::work::{Run, detached, watched};

/// Queries that run between two looks at the clock.
const BLOCK: usize = 1 << 12;

/// A fixed view of a database.
#[pyclass(frozen, module = "ringerdb._core", name = "View")]
pub(crate) struct View {
    snapshot: Snapshot,
    sketcher: Arc<ringer::Sketcher>,
}

impl View {
    pub(crate) fn new(snapshot: Snapshot, sketcher: Arc<ringer::Sketcher>) -> View {
        View { snapshot, sketcher }
    }

    /// Adds the values of a pair.
    fn add_values(&self, pair: &Pair, of_a: &mut Values, of_b: &mut Values) -> Outcome<()> {
        of_a.push(self.snapshot.value(&pair.a)?.as_deref());
        of_b.push(self.snapshot.value(&pair.b)?.as_deref());
        Ok(())
    }
}

#[pymethods]
impl View {
    #[getter]
    fn sequence(&self) -> u64 {
        self.snapshot.sequence()
    }

    fn len(&self, py: Python<'_>) -> Outcome<u64> {
        detached(py, || Ok(self.snapshot.len()?))
    }

    fn contains(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> Outcome<bool> {
        let name = key(name)?;
        detached(py, || Ok(self.snapshot.contains(name)?))
    }

    /// What is stored under a key: commit, signature, size, the kept elements, and the value.
    #[expect(clippy::type_complexity, reason = "the Python part gives the parts names")]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'_, PyAny>,
    ) -> Outcome<
        Option<(
            u64,
            Bound<'py, PyBytes>,
            Option<f64>,
            Option<Bound<'py, PyArray1<u64>>>,
            Option<Bound<'py, PyBytes>>,
        )>,
    > {
        let name = key(name)?;
        let stored = detached(py, || Ok(self.snapshot.get(name)?))?;
        Ok(stored.map(|stored| {
            let signature = &stored.signature;
            let elements = signature.elements().map(|set| PyArray1::from_slice(py, set));
            let size = signature.cardinality().map(|size| size.value);
            let value = stored.value.as_deref().map(|value| PyBytes::new(py, value));
            (stored.sequence, PyBytes::new(py, &signature.to_bytes()), size, elements, value)
        }))
    }

    /// The value that was stored with a key.
    fn value<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'_, PyAny>,
    ) -> Outcome<Option<Bound<'py, PyBytes>>> {
        let name = key(name)?;
        let value = detached(py, || Ok(self.snapshot.value(name)?))?;
        Ok(value.map(|value| PyBytes::new(py, &value)))
    }

    /// Up to `most` keys that start with a prefix and come after another key.
    fn keys<'py>(
        &self,
        py: Python<'py>,
        prefix: &Bound<'_, PyAny>,
        after: Option<Bound<'_, PyAny>>,
        most: usize,
    ) -> Outcome<Bound<'py, PyList>> {
        let prefix = key(prefix)?;
        let after = after.map(|after| key(&after)).transpose()?;
        let keys = detached(py, || {
            let start = match &after {
                Some(after) => Limit::Excluded(after),
                None => Limit::Included(&prefix),
            };
            let keys = self.snapshot.keys::<Vec<u8>>((start, Limit::Unbounded));
            let within =
                keys.take_while(|key| key.as_ref().map_or(true, |key| key.starts_with(&prefix)));
            Ok(within.take(most).collect::<Result<Vec<_>, _>>()?)
        })?;
        Ok(PyList::new(py, keys.iter().map(|key| key_object(py, key)))?)
    }

    /// The matches of one query: by key, or by the only row of a column.
    fn query<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        data: &Bound<'_, PyAny>,
        conditions: Conditions,
    ) -> Outcome<Bound<'py, PyList>> {
        let ask = |like: Like<'_>| conditions.put(self.snapshot.query(like)).run();
        let answer = if kind == "key" {
            let name = key(data)?;
            detached(py, || Ok(ask(Like::Key(&name))?))?
        } else {
            let column = Column::new(kind, data, self.snapshot.scheme())?;
            let rows = column.rows()?;
            let find = || match rows.len() {
                1 => rows.visit(0, &self.sketcher, &mut Scratch::default(), |like| {
                    like.map(ask).transpose()
                }),
                _ => Ok(None),
            };
            let answer = detached(py, find).map_err(|failure| match failure {
                Failure::Row(_, error) => Failure::Library(error),
                other => other,
            })?;
            answer.ok_or_else(|| Failure::invalid("there is nothing to look for"))?
        };
        let matches = answer.matches.into_iter().map(|found| Bound::new(py, Match(found)));
        Ok(PyList::new(py, matches.collect::<PyResult<Vec<_>>>()?)?)
    }

    fn query_many(
        &self,
        py: Python<'_>,
        kind: &str,
        data: &Bound<'_, PyAny>,
        conditions: Conditions,
        run: Run,
    ) -> Outcome<Table> {
        let column = Column::new(kind, data, self.snapshot.scheme())?;
        let rows = column.rows()?;
        watched(py, &run, |watch| {
            watch.set_total(rows.len());
            let ask = |like: Like<'_>| conditions.put(self.snapshot.query(like)).run();
            let one =
                |scratch: &mut Scratch, row| -> Outcome<Vec<(ringer::Match, ringer::Estimate)>> {
                    watch.check()?;
                    watch.step();
                    let answer: Option<Answer> =
                        rows.visit(row, &self.sketcher, scratch, |like| like.map(ask).transpose())?;
                    let matches = answer.map(|answer| answer.matches).unwrap_or_default();
                    Ok(matches
                        .into_iter()
                        .map(|found| {
                            let e = found.similarity();
                            (found, e)
                        })
                        .collect())
                };
            let (mut queries, mut keys) = (Vec::new(), Keys::default());
            let (mut estimates, mut slots) = (Estimates::default(), Vec::new());
            let mut values = conditions.values.then(Values::default);
            for start in (0..rows.len()).step_by(BLOCK) {
                let block = (start..rows.len().min(start + BLOCK)).into_par_iter();
                let answers: Outcome<Vec<_>> = block.map_init(Scratch::default, one).collect();
                for (row, matches) in (start..).zip(answers?) {
                    for (found, estimate) in matches {
                        queries.push(row as i64);
                        keys.push(&found.key);
                        estimates.push(&estimate);
                        slots.push(i64::from(found.matching_slots));
                        if let Some(values) = &mut values {
                            values.push(found.value.as_deref());
                        }
                    }
                }
            }
            let first = [("query", Filling::Integers(queries)), ("key", Filling::Keys(keys))];
            let mut columns = estimates.after(first);
            columns.push(("matching_slots", Filling::Integers(slots)));
            columns.extend(values.map(|values| ("value", Filling::Values(values))));
            Table::new(columns)
        })
    }

    fn pairs(&self, py: Python<'_>, conditions: PairConditions, run: Run) -> Outcome<Table> {
        watched(py, &run, |watch| {
            let (mut a, mut b) = (Keys::default(), Keys::default());
            let (mut estimates, mut slots) = (Estimates::default(), Vec::new());
            let mut values = conditions.values.then(<[Values; 2]>::default);
            let mut failure = None;
            let pairs = conditions.put(self.snapshot.pairs(conditions.min), watch).expand();
            let report = pairs.run(|found| {
                let mut checked = Ok(());
                if let Found::Pair(pair) = found {
                    a.push(&pair.a);
                    b.push(&pair.b);
                    estimates.push(&pair.similarity());
                    slots.push(i64::from(pair.matching_slots));
                    if let Some([of_a, of_b]) = &mut values {
                        checked = self.add_values(&pair, of_a, of_b);
                        checked = checked.and_then(|()| conditions.check_values([of_a, of_b]));
                    }
                }
                let limit = || conditions.check(a.len()).and_then(|()| watch.check());
                failure = checked.and_then(|()| limit()).err();
                if failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            finished(report, failure)?;
            let mut columns = estimates.after([("a", Filling::Keys(a)), ("b", Filling::Keys(b))]);
            columns.push(("matching_slots", Filling::Integers(slots)));
            if let Some([of_a, of_b]) = values {
                columns.push(("a_value", Filling::Values(of_a)));
                columns.push(("b_value", Filling::Values(of_b)));
            }
            Table::new(columns)
        })
    }

    fn clusters(
        &self,
        py: Python<'_>,
        conditions: PairConditions,
        kind: &str,
        run: Run,
    ) -> Outcome<Table> {
        let kind = linkage(kind)?;
        watched(py, &run, |watch| {
            let (mut keys, mut representatives) = (Keys::default(), Keys::default());
            let mut numbers = Vec::new();
            let (mut count, mut failure) = (0, None);
            let clusters = self.snapshot.clusters(conditions.min).linkage(kind);
            let clusters = clusters.pairs(|pairs| conditions.put(pairs, watch));
            let report = clusters.run(|cluster| {
                count += 1;
                for member in cluster.keys {
                    match member {
                        Ok(member) => {
                            keys.push(&member);
                            representatives.push(&cluster.representative);
                            numbers.push(count);
                        }
                        Err(error) => failure = Some(error.into()),
                    }
                }
                let limit = || conditions.check(keys.len()).and_then(|()| watch.check()).err();
                failure = failure.take().or_else(limit);
                if failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            finished(report, failure)?;
            let compare = |row| {
                watch.check()?;
                let (first, member) = (representatives.get(row), keys.get(row));
                Ok(self.snapshot.compare(first, member)?.similarity_value())
            };
            let similarities: Outcome<Vec<f64>> =
                (0..keys.len()).into_par_iter().map(compare).collect();
            Table::new(vec![
                ("key", Filling::Keys(keys)),
                ("cluster", Filling::Integers(numbers)),
                ("representative", Filling::Keys(representatives)),
                ("similarity", Filling::Numbers(similarities?)),
            ])
        })
    }

    fn triples(&self, py: Python<'_>, conditions: PairConditions, run: Run) -> Outcome<Table> {
        watched(py, &run, |watch| {
            let mut keys: [Keys; 3] = Default::default();
            let (mut estimates, mut failure) = (Estimates::default(), None);
            let triples = self.snapshot.triples(conditions.min).accept(conditions.accept);
            let triples = triples.pairs(|pairs| conditions.put(pairs, watch));
            let report = triples.run(|triple| {
                keys.iter_mut().zip(&triple.keys).for_each(|(column, key)| column.push(key));
                estimates.push(&triple.resemblance);
                failure = conditions.check(keys[0].len()).and_then(|()| watch.check()).err();
                if failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            finished(report, failure)?;
            let [a, b, c] = keys.map(Filling::Keys);
            Table::new(estimates.after([("a", a), ("b", b), ("c", c)]))
        })
    }

    /// Compares two stored sets.
    fn compare(
        &self,
        py: Python<'_>,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
    ) -> Outcome<Comparison> {
        let (a, b) = (key(a)?, key(b)?);
        detached(py, || Ok(Comparison(self.snapshot.compare(a, b)?)))
    }

    /// The resemblance of several stored sets.
    fn resemblance(&self, py: Python<'_>, keys: Vec<Bound<'_, PyAny>>) -> Outcome<Estimate> {
        let keys: Vec<Vec<u8>> = keys.iter().map(key).collect::<Outcome<_>>()?;
        detached(py, || {
            let mut signatures = Vec::new();
            for key in keys {
                let stored = self.snapshot.get(&key)?;
                let missing = || ringer::Error::NoSuchKey { key: key.into() };
                signatures.push(stored.ok_or_else(missing)?.signature);
            }
            Ok(Estimate(resemblance_of(&signatures.iter().collect::<Vec<_>>())?))
        })
    }
}
