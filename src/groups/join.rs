//! All groups with their likes: sorting by columns, comparing what comes together.
//!
//! In: a roster and a plan. Out: pairs of group numbers, the smaller first, each once, sorted. A pair that
//! agrees in several columns is taken in the first of them. Memory is bounded by the roster's; pairs that are
//! many are spilled.

use std::sync::Arc;

use super::columns::{self, Column, ColumnReader, Plan};
use super::found::Phase;
use super::measure::Measure;
use super::roster::Roster;
use super::sorting::Sorting;
use super::stop::{Step, Teller};
use crate::kernel::{Kernel, Rows};
use crate::query;
use crate::scheme::first_planes;
use crate::store::sorted_spill::SortedSpill;
use crate::store::spill::SpillPlace;

/// Signatures of a very short run, as nearly all are.
const FEW: usize = 4;

/// Signatures of a run that are compared where they lie: laying fewer side by side costs more than it saves.
const BATCH: usize = 8;

/// Signatures laid side by side where there are many: they stay in the second-level cache.
const TILE: usize = 1024;

/// Runs longer than this may be told further apart.
const LONG: usize = 512;

/// Counts looked at in one go.
const GROUP: usize = 32;

/// Entries ahead that are asked for.
const AHEAD: usize = 16;

/// Comparisons between two calls of the teller.
const TELL_EVERY: u64 = 1 << 20;

/// A run that is looked for in the middle of sorted entries: a hash above, a group below.
fn group(entry: u64) -> u32 {
    entry as u32
}

/// What a join found, and did.
#[derive(Debug)]
pub(super) struct Joined {
    /// The smaller group above, the larger below.
    pub(super) pairs: SortedSpill,
    pub(super) found: u64,
    pub(super) compared: u64,
    pub(super) truncated: bool,
}

/// A join being made.
pub(super) struct Join<'j, 'a> {
    roster: &'j Roster<'a>,
    measure: &'j mut Measure,
    reader: ColumnReader,
    kernel: Kernel,
    max_candidates: usize,
    /// Columns of each level, and the one that is being worked on.
    path: Vec<(Vec<Column>, usize)>,
    tile: (Vec<u64>, Vec<u64>),
    joined: Joined,
    teller: &'j mut Teller<'a>,
    /// How many comparisons there were when the teller was called.
    told: u64,
    progress: (u64, u64),
}

impl<'j, 'a> Join<'j, 'a> {
    pub(super) fn new(
        roster: &'j Roster<'a>,
        measure: &'j mut Measure,
        max_candidates: usize,
        teller: &'j mut Teller<'a>,
    ) -> Join<'j, 'a> {
        let directory = Some(Arc::new(std::env::temp_dir()));
        let pairs = SortedSpill::new(&SpillPlace { directory, memory: 0 });
        Join {
            reader: ColumnReader::new(roster.scheme()),
            roster,
            measure,
            kernel: Kernel::best(),
            max_candidates,
            path: Vec::new(),
            tile: (Vec::new(), Vec::new()),
            joined: Joined { pairs, found: 0, compared: 0, truncated: false },
            teller,
            told: 0,
            progress: (0, 1),
        }
    }

    /// Makes it, by the plan that was asked for if there was one.
    pub(super) fn run(mut self, asked: Option<query::Plan>) -> Step<Joined> {
        let groups = self.roster.groups();
        self.teller.tell(Phase::Joining, 0, 1)?;
        let mut entries: Vec<u64> = Vec::with_capacity(groups);
        match columns::plan(self.roster.scheme(), self.measure.least, groups, asked) {
            Plan::Nothing => {}
            Plan::Scan => {
                self.max_candidates = usize::MAX;
                entries.extend(0..groups as u64);
                self.progress = (0, (groups as u64).saturating_pow(2) / 2);
                self.compare(&entries)?;
            }
            Plan::Columns(columns) => {
                let mut sorting = Sorting::default();
                self.progress = (0, columns.len() as u64);
                let count = columns.len();
                self.path.push((columns, 0));
                for i in 0..count {
                    self.path[0].1 = i;
                    self.progress.0 = i as u64;
                    self.teller.tell(Phase::Joining, self.progress.0, self.progress.1)?;
                    entries.clear();
                    let column = &self.path[0].0[i];
                    self.reader.hashes(column, self.roster.all_planes(), |hash| {
                        entries.push(u64::from(hash) << 32 | entries.len() as u64);
                    });
                    // Entries are of no use once they are parted: each part is sorted into their place.
                    for part in 0..sorting.part(&entries) {
                        self.runs(sorting.sort(part, &mut entries))?;
                    }
                }
            }
        }
        Ok(self.joined)
    }

    /// Goes through runs of equal hashes.
    fn runs(&mut self, entries: &mut [u64]) -> Step {
        let (mut start, mut asked) = (0, 0);
        while start + 1 < entries.len() {
            let hash = entries[start] >> 32;
            let run = entries[start..].iter().take_while(|entry| **entry >> 32 == hash).count();
            let ahead = entries.len().min(start + run + AHEAD);
            for i in std::mem::replace(&mut asked, ahead)..ahead {
                self.ask(entries, i);
            }
            if run > LONG {
                self.long_run(&mut entries[start..start + run])?;
            } else if run > 1 {
                self.compare(&entries[start..start + run])?;
            }
            start += run;
        }
        Ok(())
    }

    /// An entry will be compared soon if it stands beside one of the same hash.
    fn ask(&self, entries: &[u64], i: usize) {
        let same = |j: usize| entries.get(j).is_some_and(|other| other >> 32 == entries[i] >> 32);
        if same(i + 1) || same(i.wrapping_sub(1)) {
            self.roster.prefetch(group(entries[i]));
        }
    }

    /// Tells a long run further apart, or compares all of it. Its hashes are of no use afterwards.
    fn long_run(&mut self, run: &mut [u64]) -> Step {
        let agreed: Vec<&Column> = self.path.iter().map(|(columns, i)| &columns[*i]).collect();
        let least = self.measure.least;
        let Some(fine) = columns::refine(self.roster.scheme(), least, &agreed, run.len()) else {
            return self.compare(run);
        };
        let count = fine.len();
        self.path.push((fine, 0));
        for i in 0..count {
            let level = self.path.len() - 1;
            self.path[level].1 = i;
            let column = &self.path[level].0[i];
            for entry in run.iter_mut() {
                let hash = self.reader.hash(column, self.roster.planes(group(*entry)));
                *entry = u64::from(hash) << 32 | *entry & u64::from(u32::MAX);
            }
            run.sort_unstable();
            self.runs(run)?;
        }
        self.path.pop();
        Ok(())
    }

    /// Compares each with those after it.
    fn compare(&mut self, run: &[u64]) -> Step {
        // Most runs are short, and laying out room for more costs more than comparing them.
        if run.len() <= FEW {
            self.compare_few::<FEW>(run)
        } else if run.len() <= BATCH {
            self.compare_few::<BATCH>(run)
        } else {
            self.compare_many(run)
        }
    }

    /// The same for at most so many.
    fn compare_few<const MOST: usize>(&mut self, run: &[u64]) -> Step {
        let roster = self.roster;
        let mut counts = [0; MOST];
        for (i, a) in run.iter().enumerate() {
            let end = run.len().min((i + 1).saturating_add(self.max_candidates));
            self.joined.truncated |= end < run.len();
            let (a, others) = (group(*a), &run[i + 1..end]);
            let rows = others.iter().map(|b| roster.row(group(*b)));
            let counts = &mut counts[..others.len()];
            self.kernel.count_equal_each(roster.rows(a), rows, counts);
            self.joined.compared += others.len() as u64;
            self.consider(a, others, counts)?;
        }
        self.tick()
    }

    /// The same for many: they are laid side by side, a tile at a time, with only as many planes as it takes to
    /// reject nearly all. Samples that differ in some planes differ, so nothing is missed.
    fn compare_many(&mut self, run: &[u64]) -> Step {
        let roster = self.roster;
        let (scheme, least) = (roster.scheme(), self.measure.least.equal);
        let planes = columns::planes_to_reject(scheme, least);
        let words = usize::from(planes) * scheme.words_per_plane();
        let firsts = usize::from(first_planes(planes)) * scheme.words_per_plane();
        let cut = |a: u32| roster.planes(a)[..words].split_at(firsts);
        let mut counts = [0; TILE];
        for start in (0..run.len()).step_by(TILE) {
            let end = run.len().min(start + TILE);
            let (mut first, mut rest) = std::mem::take(&mut self.tile);
            first.clear();
            rest.clear();
            for entry in &run[start..end] {
                let row = cut(group(*entry));
                first.extend_from_slice(row.0);
                rest.extend_from_slice(row.1);
            }
            let tile = Rows::of_planes(scheme.samples, planes, &first, &rest);
            for (i, a) in run[..end].iter().enumerate() {
                let last = end.min((i + 1).saturating_add(self.max_candidates));
                self.joined.truncated |= last < end;
                let from = start.max(i + 1);
                if from >= last {
                    continue;
                }
                let counts = &mut counts[..last - from];
                let rows = tile.range(from - start, last - start);
                let a = group(*a);
                let row = cut(a);
                let query = Rows::of_planes(scheme.samples, planes, row.0, row.1);
                self.kernel.count_equal(query, rows, counts);
                self.joined.compared += counts.len() as u64;
                if planes == scheme.bits {
                    self.consider(a, &run[from..last], counts)?;
                } else {
                    self.look_again(a, &run[from..last], counts)?;
                }
                self.tick()?;
            }
            self.tile = (first, rest);
        }
        Ok(())
    }

    /// Compares all planes of those that have enough samples in common as far as is known.
    fn look_again(&mut self, a: u32, others: &[u64], counts: &[u16]) -> Step {
        let least = self.measure.least.equal;
        let Ok(low) = u16::try_from(least) else { return Ok(()) };
        // Without a branch for each count: nearly all groups have none.
        for (others, counts) in others.chunks(GROUP).zip(counts.chunks(GROUP)) {
            if !counts.iter().fold(false, |any, count| any | (*count >= low)) {
                continue;
            }
            for (b, _) in others.iter().zip(counts).filter(|(_, count)| **count >= low) {
                let equal = self.measure.count(self.roster, a, group(*b));
                if equal >= least {
                    self.consider_pair(a, group(*b), equal)?;
                }
            }
        }
        Ok(())
    }

    /// Takes the pairs that have enough samples in common.
    fn consider(&mut self, a: u32, others: &[u64], counts: &[u16]) -> Step {
        let least = self.measure.least.equal;
        for (b, count) in others.iter().zip(counts) {
            if u32::from(*count) >= least {
                self.consider_pair(a, group(*b), u32::from(*count))?;
            }
        }
        Ok(())
    }

    fn consider_pair(&mut self, a: u32, b: u32, equal: u32) -> Step {
        let Join { roster, measure, path, .. } = self;
        if !measure.passes(equal, roster.code(a), roster.code(b)) {
            return Ok(());
        }
        measure.look(roster, a, b);
        let earlier = |(columns, i): &(Vec<Column>, usize)| {
            columns[..*i].iter().any(|column| measure.agree(column))
        };
        // A hash may be equal where samples are not: then the pair comes with a column that it agrees in.
        let here = path.iter().all(|(columns, i)| measure.agree(&columns[*i]));
        if !here || path.iter().any(earlier) {
            return Ok(());
        }
        if measure.least.slots > 0 && measure.matching_slots() < measure.least.slots {
            return Ok(());
        }
        let (low, high) = (a.min(b), a.max(b));
        self.joined.found += 1;
        Ok(self.joined.pairs.push(u64::from(low) << 32 | u64::from(high))?)
    }

    /// Tells of many comparisons.
    fn tick(&mut self) -> Step {
        if self.joined.compared - self.told < TELL_EVERY {
            return Ok(());
        }
        self.told = self.joined.compared;
        if self.path.is_empty() {
            self.progress.0 = self.joined.compared;
        }
        self.teller.tell(Phase::Joining, self.progress.0, self.progress.1)
    }
}
