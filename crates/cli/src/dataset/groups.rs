//! Groups similar rows, and decides which row of each group is kept.
//!
//! In: the working database, whose key order puts the preferred rows first, and the sets of all rows. Out: a decision for
//! every row of a group. In a strict group, each row is compared with the kept one. Resemblances are exact, unless
//! `--estimate` is given or a stored row of `--db` has no set.

use std::ops::ControlFlow;

use ringer::groups::{Cluster, Linkage, Report};
use ringer::{Accept, Error, Estimate, Originals, Snapshot};

use super::row::row_of;
use super::spill::{Spill, resemblance};
use super::stored::Known;
use crate::exit::{self, Failure};
use crate::grouping;
use crate::show::{self, Style};

/// The input and the options of the grouping.
pub(crate) struct Grouping<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) spill: &'a Spill,
    pub(crate) min: f64,
    pub(crate) linkage: Linkage,
    /// Use estimates from signatures instead of exact comparisons.
    pub(crate) estimate: bool,
    pub(crate) exhaustive: bool,
    pub(crate) memory: usize,
    pub(crate) style: Style,
}

/// A row of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Decision {
    pub(crate) row: u64,
    /// Groups are numbered from 1.
    pub(crate) group: u64,
    pub(crate) representative: Representative,
    /// The resemblance to the representative, with the ends of its interval. All three are equal if it is exact.
    pub(crate) resemblance: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The representative of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Representative {
    /// A row of this run.
    Row(u64),
    /// A stored row, by its index in [`Decisions::stored`].
    Stored(usize),
}

/// All decisions of a run.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    /// Rows of groups, in the order of their numbers.
    pub(crate) rows: Vec<Decision>,
    /// Keys of stored rows that represent groups, with the numbers of the groups.
    pub(crate) stored: Vec<(Box<[u8]>, u64)>,
    /// Whether rows were compared with the sets of stored rows, not with their signatures.
    pub(crate) stored_exactly: bool,
    /// The numbers of the removed rows.
    removed: Bits,
    pub(crate) groups: u64,
    /// Rows of connected groups whose resemblance to the representative is below the threshold.
    pub(crate) far: u64,
    /// The sizes of the largest groups, with a row of each.
    pub(crate) largest: Vec<(u64, u64)>,
}

impl Decisions {
    pub(crate) fn is_removed(&self, row: u64) -> bool {
        self.removed.get(row)
    }

    pub(crate) fn removed(&self) -> u64 {
        self.removed.count()
    }

    /// The number of removed rows in a range.
    pub(crate) fn removed_in(&self, rows: std::ops::Range<u64>) -> u64 {
        rows.filter(|row| self.is_removed(*row)).count() as u64
    }
}

/// A bit for each row.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn of(rows: u64) -> Bits {
        Bits(vec![0; rows.div_ceil(64) as usize])
    }

    fn set(&mut self, row: u64) {
        self.0[(row / 64) as usize] |= 1 << (row % 64);
    }

    fn get(&self, row: u64) -> bool {
        self.0.get((row / 64) as usize).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Largest groups that are remembered.
const LARGEST: usize = 10;

impl Grouping<'_> {
    /// Finds all groups. Rows that resemble stored ones are decided already.
    pub(crate) fn run(&self, known: Vec<(u64, Known)>) -> Result<(Decisions, Report), Failure> {
        let mut decisions =
            Decisions { removed: Bits::of(self.spill.rows()), ..Decisions::default() };
        let mut failure = None;
        let bar = grouping::bar(self.style);
        let spill = self.spill;
        let originals =
            Originals::new(|key| spill.set(row_of(key))).trusted().memory(self.memory / 4);
        let clusters = self.snapshot.clusters(self.min).linkage(self.linkage).pairs(|mut pairs| {
            if self.exhaustive {
                pairs = pairs.exhaustive();
            }
            pairs = pairs
                .memory(self.memory - self.memory / 4)
                .progress(grouping::follow(&bar, self.style));
            match self.estimate {
                true => pairs.accept(Accept::Estimate),
                false => pairs.verify(&originals),
            }
        });
        let run = clusters.run(|cluster| match self.decide(&cluster, &mut decisions) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        });
        bar.finish_and_clear();
        if let Some(error) = failure {
            return Err(error.into());
        }
        let report = run.map_err(|error| match error {
            Error::OverLimit { what, needed, .. } => Failure::Limit(format!(
                "{what} needs about {} of memory, but --memory is {}: give more",
                // A quarter of the memory is for sets.
                show::bytes(needed + needed.div_ceil(3)),
                show::bytes(self.memory as u64)
            )),
            other => exit::bad_argument(other),
        })?;
        if report.cancelled {
            return Err(Failure::Interrupted);
        }
        self.add_known(known, &mut decisions);
        decisions.rows.sort_unstable_by_key(|decision| decision.row);
        decisions.largest.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        decisions.largest.truncate(LARGEST);
        Ok((decisions, report))
    }

    fn decide(&self, cluster: &Cluster<'_>, decisions: &mut Decisions) -> Result<(), Error> {
        let kept = row_of(&cluster.representative);
        let set = self.spill.set(kept)?.unwrap_or_default();
        decisions.groups += 1;
        let group = decisions.groups;
        let mut members = 0;
        for key in cluster.keys.clone() {
            let key = key?;
            let row = row_of(&key);
            members += 1;
            let estimate = self.resemblance(&cluster.representative, &set, &key, row == kept)?;
            let Estimate { value, low, high, .. } = estimate;
            decisions.far += u64::from(value < self.min - 1e-9);
            let representative = Representative::Row(kept);
            let resemblance = value;
            decisions.rows.push(Decision { row, group, representative, resemblance, low, high });
            if row != kept {
                decisions.removed.set(row);
            }
        }
        decisions.note_size(members, kept);
        Ok(())
    }

    /// The resemblance of a row to the kept row of its group, whose set is given.
    fn resemblance(
        &self,
        kept: &[u8],
        set: &[u64],
        key: &[u8],
        same: bool,
    ) -> Result<Estimate, Error> {
        if same {
            return Ok(Estimate::exact(1.0));
        }
        if self.estimate {
            return Ok(self.snapshot.compare(kept, key)?.similarity());
        }
        let other = self.spill.set(row_of(key))?;
        Ok(Estimate::exact(resemblance(set, &other.unwrap_or_default())))
    }

    fn add_known(&self, known: Vec<(u64, Known)>, decisions: &mut Decisions) {
        let mut groups = std::collections::HashMap::<Box<[u8]>, usize>::new();
        let mut sizes = Vec::<(u64, u64)>::new();
        for (row, Known { key, similarity }) in known {
            let place = *groups.entry(key.clone()).or_insert_with(|| {
                decisions.groups += 1;
                decisions.stored.push((key, decisions.groups));
                sizes.push((1, row));
                decisions.stored.len() - 1
            });
            sizes[place].0 += 1;
            decisions.removed.set(row);
            decisions.rows.push(Decision {
                row,
                group: decisions.stored[place].1,
                representative: Representative::Stored(place),
                resemblance: similarity.value,
                low: similarity.low,
                high: similarity.high,
            });
        }
        sizes.into_iter().for_each(|(size, row)| decisions.note_size(size, row));
    }
}

impl Decisions {
    fn note_size(&mut self, members: u64, row: u64) {
        self.largest.push((members, row));
        if self.largest.len() > 64 * LARGEST {
            self.largest.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            self.largest.truncate(LARGEST);
        }
    }
}
