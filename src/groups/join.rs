//! All matching pairs of groups, found by sorting groups by columns and comparing neighbours.
//!
//! In: a signature table and a plan. Out: pairs of group numbers, the smaller first, each once, sorted. A pair that
//! agrees in several columns is taken in the first of them. Memory is proportional to the table's; pairs are spilled if
//! there are many.

use std::sync::Arc;

use super::columns::{self, Column, ColumnReader, Plan};
use super::compare::Comparer;
use super::progress::{Reporter, Step};
use super::radix::RadixSort;
use super::results::Phase;
use super::signature_table::SignatureTable;
use crate::kernel::{Kernel, Rows};
use crate::query;
use crate::scheme::first_planes;
use crate::store::sorted_spill::SortedSpill;
use crate::store::spill::SpillPlace;

/// Nearly all runs have at most this many signatures.
const FEW: usize = 4;

/// Runs of at most this many signatures are compared in place. Copying them together costs more than it saves.
const BATCH: usize = 8;

/// Signatures of a long run that are copied at a time. They stay in the second-level cache.
const TILE: usize = 1024;

/// Longer runs may be split by further columns.
const LONG_RUN: usize = 512;

/// Counts that are tested with one branch for all.
const GROUP: usize = 32;

/// How many entries ahead signatures are prefetched.
const PREFETCH_AHEAD: usize = 16;

/// Comparisons between two progress reports.
const REPORT_EVERY: u64 = 1 << 20;

/// The group of an entry. The upper half is a hash.
fn group(entry: u64) -> u32 {
    entry as u32
}

/// What a join found.
#[derive(Debug)]
pub(super) struct JoinedPairs {
    /// The smaller group in the upper half, the larger one in the lower half.
    pub(super) pairs: SortedSpill,
    /// How many pairs there are.
    pub(super) found: u64,
    /// How many pairs were compared.
    pub(super) compared: u64,
    pub(super) truncated: bool,
}

/// A join in progress.
pub(super) struct Join<'j, 'a> {
    table: &'j SignatureTable<'a>,
    comparer: &'j mut Comparer<'a>,
    reader: ColumnReader,
    kernel: Kernel,
    max_candidates: usize,
    /// The columns of each level, and which of them the current run agrees in.
    path: Vec<(Vec<Column>, usize)>,
    tile: (Vec<u64>, Vec<u64>),
    joined: JoinedPairs,
    reporter: &'j mut Reporter<'a>,
    /// How many comparisons there were at the last report.
    reported: u64,
    /// Steps that are done, and their total.
    progress: (u64, u64),
}

impl<'j, 'a> Join<'j, 'a> {
    pub(super) fn new(
        table: &'j SignatureTable<'a>,
        comparer: &'j mut Comparer<'a>,
        max_candidates: usize,
        reporter: &'j mut Reporter<'a>,
    ) -> Join<'j, 'a> {
        let directory = Some(Arc::new(std::env::temp_dir()));
        let pairs = SortedSpill::new(&SpillPlace { directory, memory: 0 });
        Join {
            reader: ColumnReader::new(table.scheme()),
            table,
            comparer,
            kernel: Kernel::best(),
            max_candidates,
            path: Vec::new(),
            tile: (Vec::new(), Vec::new()),
            joined: JoinedPairs { pairs, found: 0, compared: 0, truncated: false },
            reporter,
            reported: 0,
            progress: (0, 1),
        }
    }

    /// Joins all groups, by the plan that was asked for if there was one.
    pub(super) fn run(mut self, requested: Option<query::Plan>) -> Step<JoinedPairs> {
        let groups = self.table.groups();
        self.reporter.report(Phase::Joining, 0, 1)?;
        let mut entries: Vec<u64> = Vec::with_capacity(groups);
        match columns::plan(self.table.scheme(), self.comparer.minimum, groups, requested) {
            Plan::Nothing => {}
            Plan::Scan => {
                self.max_candidates = usize::MAX;
                entries.extend(0..groups as u64);
                self.progress = (0, (groups as u64).saturating_pow(2) / 2);
                self.compare(&entries)?;
            }
            Plan::Columns(columns) => {
                let mut sort = RadixSort::default();
                self.progress = (0, columns.len() as u64);
                let count = columns.len();
                self.path.push((columns, 0));
                for i in 0..count {
                    self.path[0].1 = i;
                    self.progress.0 = i as u64;
                    self.reporter.report(Phase::Joining, self.progress.0, self.progress.1)?;
                    entries.clear();
                    let column = &self.path[0].0[i];
                    self.reader.hashes(column, self.table.all_planes(), |hash| {
                        entries.push(u64::from(hash) << 32 | entries.len() as u64);
                    });
                    // Distributed entries are copies, so buckets are sorted into the memory of the originals.
                    for bucket in 0..sort.distribute(&entries) {
                        self.runs(sort.sort(bucket, &mut entries))?;
                    }
                }
            }
        }
        Ok(self.joined)
    }

    /// Compares the groups of each run of equal hashes.
    fn runs(&mut self, entries: &mut [u64]) -> Step {
        let (mut start, mut prefetched) = (0, 0);
        while start + 1 < entries.len() {
            let hash = entries[start] >> 32;
            let run = entries[start..].iter().take_while(|entry| **entry >> 32 == hash).count();
            let ahead = entries.len().min(start + run + PREFETCH_AHEAD);
            for i in std::mem::replace(&mut prefetched, ahead)..ahead {
                self.prefetch(entries, i);
            }
            if run > LONG_RUN {
                self.long_run(&mut entries[start..start + run])?;
            } else if run > 1 {
                self.compare(&entries[start..start + run])?;
            }
            start += run;
        }
        Ok(())
    }

    /// Prefetches the signature of an entry if it will be compared: if a neighbour has the same hash.
    fn prefetch(&self, entries: &[u64], i: usize) {
        let same = |j: usize| entries.get(j).is_some_and(|other| other >> 32 == entries[i] >> 32);
        if same(i + 1) || same(i.wrapping_sub(1)) {
            self.table.prefetch(group(entries[i]));
        }
    }

    /// Splits a long run by further columns, or compares all of it. Overwrites its hashes.
    fn long_run(&mut self, run: &mut [u64]) -> Step {
        let agreed: Vec<&Column> = self.path.iter().map(|(columns, i)| &columns[*i]).collect();
        let minimum = self.comparer.minimum;
        let Some(fine) = columns::refine(self.table.scheme(), minimum, &agreed, run.len()) else {
            return self.compare(run);
        };
        let count = fine.len();
        self.path.push((fine, 0));
        for i in 0..count {
            let level = self.path.len() - 1;
            self.path[level].1 = i;
            let column = &self.path[level].0[i];
            for entry in run.iter_mut() {
                let hash = self.reader.hash(column, self.table.planes(group(*entry)));
                *entry = u64::from(hash) << 32 | *entry & u64::from(u32::MAX);
            }
            run.sort_unstable();
            self.runs(run)?;
        }
        self.path.pop();
        Ok(())
    }

    /// Compares each group of a run with those after it.
    fn compare(&mut self, run: &[u64]) -> Step {
        // Most runs are short: clearing memory for more counts costs more than the comparison.
        if run.len() <= FEW {
            self.compare_few::<FEW>(run)
        } else if run.len() <= BATCH {
            self.compare_few::<BATCH>(run)
        } else {
            self.compare_many(run)
        }
    }

    /// Compares the groups of a run of at most `MOST`.
    fn compare_few<const MOST: usize>(&mut self, run: &[u64]) -> Step {
        let table = self.table;
        let mut counts = [0; MOST];
        for (i, a) in run.iter().enumerate() {
            let end = run.len().min((i + 1).saturating_add(self.max_candidates));
            self.joined.truncated |= end < run.len();
            let (a, others) = (group(*a), &run[i + 1..end]);
            let rows = others.iter().map(|b| table.row(group(*b)));
            let counts = &mut counts[..others.len()];
            self.kernel.count_equal_each(table.rows(a), rows, counts);
            self.joined.compared += others.len() as u64;
            self.consider(a, others, counts)?;
        }
        self.tick()
    }

    /// Compares the groups of a long run. A tile of signatures at a time is copied together, with only as many planes
    /// as it takes to reject nearly all pairs. Equal samples agree in these planes too, so no pair is missed.
    fn compare_many(&mut self, run: &[u64]) -> Step {
        let table = self.table;
        let (scheme, fewest) = (table.scheme(), self.comparer.minimum.equal_samples);
        let planes = columns::planes_to_reject(scheme, fewest);
        let words = usize::from(planes) * scheme.words_per_plane();
        let firsts = usize::from(first_planes(planes)) * scheme.words_per_plane();
        let cut = |a: u32| table.planes(a)[..words].split_at(firsts);
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
                    self.compare_all_planes(a, &run[from..last], counts)?;
                }
                self.tick()?;
            }
            self.tile = (first, rest);
        }
        Ok(())
    }

    /// Compares all planes of the pairs that the first comparison did not reject.
    fn compare_all_planes(&mut self, a: u32, others: &[u64], counts: &[u16]) -> Step {
        let fewest = self.comparer.minimum.equal_samples;
        let Ok(low) = u16::try_from(fewest) else { return Ok(()) };
        // No branch per count: in nearly all chunks, none is enough.
        for (others, counts) in others.chunks(GROUP).zip(counts.chunks(GROUP)) {
            if !counts.iter().fold(false, |any, count| any | (*count >= low)) {
                continue;
            }
            for (b, _) in others.iter().zip(counts).filter(|(_, count)| **count >= low) {
                let equal = self.comparer.count_equal(self.table, a, group(*b));
                if equal >= fewest {
                    self.consider_pair(a, group(*b), equal)?;
                }
            }
        }
        Ok(())
    }

    /// Considers the pairs that have enough equal samples.
    fn consider(&mut self, a: u32, others: &[u64], counts: &[u16]) -> Step {
        let fewest = self.comparer.minimum.equal_samples;
        for (b, count) in others.iter().zip(counts) {
            if u32::from(*count) >= fewest {
                self.consider_pair(a, group(*b), u32::from(*count))?;
            }
        }
        Ok(())
    }

    /// Adds a pair with `equal` equal samples if it matches and no earlier column has brought it.
    fn consider_pair(&mut self, a: u32, b: u32, equal: u32) -> Step {
        let Join { table, comparer, path, .. } = self;
        if !comparer.passes(equal, table.code(a), table.code(b)) {
            return Ok(());
        }
        comparer.align(table, a, b);
        let earlier = |(columns, i): &(Vec<Column>, usize)| {
            columns[..*i].iter().any(|column| comparer.agree(column))
        };
        // Hashes can be equal although samples differ. Such a pair is left to a column in which it truly agrees.
        let here = path.iter().all(|(columns, i)| comparer.agree(&columns[*i]));
        if !here || path.iter().any(earlier) {
            return Ok(());
        }
        let min_slots = comparer.minimum.slots;
        if min_slots > 0 && comparer.matching_slots() < min_slots {
            return Ok(());
        }
        let (low, high) = (a.min(b), a.max(b));
        self.joined.found += 1;
        Ok(self.joined.pairs.push(u64::from(low) << 32 | u64::from(high))?)
    }

    /// Reports progress after many comparisons.
    fn tick(&mut self) -> Step {
        if self.joined.compared - self.reported < REPORT_EVERY {
            return Ok(());
        }
        self.reported = self.joined.compared;
        if self.path.is_empty() {
            self.progress.0 = self.joined.compared;
        }
        self.reporter.report(Phase::Joining, self.progress.0, self.progress.1)
    }
}
