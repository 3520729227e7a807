//! The way through all signatures of a part.
//!
//! The first planes, one or two in b, show as many equal samples as there are, or more: samples whose lowest bits differ
//! are not equal. So where so many must be equal that chance does not reach it, a scan reads the first planes and looks
//! at the others only where those leave hope.
//!
//! How many must be equal is known from the start if a threshold says so. If only the best are wanted, they say so
//! once they are found, and they may stand anywhere. Then a scan takes two looks: the first sees the first planes of
//! all signatures, remembers them and verifies those that stand out; the second takes up those that could still enter
//! beside them. When nothing has stood out after a part of the way, all planes are read at once instead. Nothing is
//! missed either way.

use std::cmp::Reverse;
use std::ops::Range;

use super::part::Part;
use super::verify::{BATCH, Search};
use crate::error::Result;
use crate::kernel::{Kernel, Rows, Work, prefetch};
use crate::store::page_source::Keep;

/// Counts looked at in one go.
const GROUP: usize = 32;

/// Signatures that two looks are taken at, at most: what the first one sees takes two bytes each.
const WINDOW: u32 = 1 << 20;

/// Two looks at fewer are not worth it.
const LEAST_WINDOW: usize = 1 << 12;

/// Nor are they if they spare fewer words a signature: remembering what was seen costs as much as reading two.
const LEAST_SPARED: usize = 4;

/// The first look goes on after this part of the way only if something stands out.
const TRIAL: u32 = 4;

/// Counts that are put down for signatures that were dealt with: more than any could have.
const DONE: u16 = u16::MAX;

/// Memory that is used block after block.
#[derive(Default)]
struct Room {
    counts: Vec<u16>,
    hopeful: Vec<u32>,
}

/// What the first look saw of a block: equal samples of each signature, and how many make it stand out. Those that do
/// were dealt with.
#[derive(Clone, Copy)]
struct Seen<'a> {
    counts: &'a [u16],
    outstanding: u16,
}

impl Seen<'_> {
    /// Whether a signature with this count was not dealt with.
    fn is_open(&self, count: u16) -> bool {
        count < self.outstanding
    }

    /// How many were not.
    fn open(self) -> usize {
        self.counts.iter().filter(|count| self.is_open(**count)).count()
    }
}

impl Search<'_> {
    /// Compares all signatures of a part with the query.
    pub(super) fn scan<P: Part>(&mut self, part: &mut P) -> Result<()> {
        let (mut room, all, length) = (Room::default(), part.signatures(), part.block_length());
        let window = (WINDOW / length).max(1) * length;
        for start in (0..all).step_by(window as usize) {
            let blocks = start..all.min(start.saturating_add(window));
            if self.is_worth_two_looks(&blocks) {
                self.scan_in_two_looks(part, blocks, &mut room)?;
            } else {
                self.scan_blocks(part, blocks, &mut room)?;
            }
        }
        Ok(())
    }

    /// Compares blocks of signatures with the query, in one go each.
    fn scan_blocks<P: Part>(
        &mut self,
        part: &mut P,
        blocks: Range<u32>,
        room: &mut Room,
    ) -> Result<()> {
        for first in blocks.step_by(part.block_length() as usize) {
            let query = self.target.rows();
            part.load(&[first], Keep::IfRoom)?;
            let (rows, least) = (part.block(first).len(), self.least_equal());
            self.work.compared += rows as u64;
            if query.rest().is_empty() || !rejects(query, least) {
                self.compare_block(part, first, room, None)?;
                continue;
            }
            // Every count is written: what the last block left need not be cleared.
            room.counts.resize(rows, 0);
            self.count_first_planes(part, first, &mut room.counts);
            let (range, most) = (least..DONE.into(), self.worth_comparing_apart(rows));
            if within(self.kernel, &room.counts, range, most, &mut room.hopeful) {
                self.compare_some(part, first, &room.hopeful)?;
            } else {
                self.compare_block(part, first, room, None)?;
            }
        }
        Ok(())
    }

    /// Compares all planes of a loaded block. The first look may have dealt with some of it.
    fn compare_block<P: Part>(
        &mut self,
        part: &P,
        first: u32,
        room: &mut Room,
        seen: Option<Seen<'_>>,
    ) -> Result<()> {
        let Room { counts, hopeful } = room;
        let (query, rows) = (self.target.rows(), part.block(first));
        let next = part.block_in_memory(first.saturating_add(part.block_length()));
        counts.resize(rows.len(), 0);
        self.kernel.count_equal_before(next.unwrap_or(rows.range(0, 0)), query, rows, counts);
        self.work.verified += seen.map_or(rows.len(), Seen::open) as u64;
        self.work.bytes += 8 * (rows.first().len() + rows.rest().len()) as u64;
        let least = self.least_equal();
        within(self.kernel, counts, least..DONE.into(), rows.len(), hopeful);
        if let Some(seen) = seen {
            hopeful.retain(|i| seen.is_open(seen.counts[*i as usize]));
        }
        let equal = |i: u32| u32::from(counts[i as usize]);
        let (mut best, mut others) = (&hopeful[..], &[][..]);
        if least == 0 && self.rule.top < hopeful.len() {
            // The best first: they raise the bar for the others.
            hopeful.select_nth_unstable_by_key(self.rule.top, |i| Reverse(equal(*i)));
            (best, others) = hopeful.split_at(self.rule.top);
        }
        for i in best {
            self.consider(part, first + i, equal(*i))?;
        }
        let least = self.least_equal();
        for i in others.iter().filter(|i| equal(**i) >= least) {
            self.consider(part, first + i, equal(*i))?;
        }
        Ok(())
    }

    /// Compares all planes of some signatures of a loaded block.
    fn compare_some<P: Part>(&mut self, part: &P, first: u32, some: &[u32]) -> Result<()> {
        let rows = part.block(first);
        let mut found = Vec::with_capacity(some.len().min(BATCH));
        for some in some.chunks(BATCH) {
            found.clear();
            found.extend(some.iter().map(|i| (first + i, rows.row(*i as usize))));
            found.iter().for_each(|(_, (_, rest))| prefetch(rest));
            self.compare_whole(part, &found)?;
        }
        Ok(())
    }

    /// How many signatures of a block may be compared each by itself before comparing the whole block costs less: one
    /// that lies apart takes as long as some 128 words in a row.
    fn worth_comparing_apart(&self, rows: usize) -> usize {
        let query = self.target.rows();
        (query.first().len() + query.rest().len()) * rows / 128
    }

    /// Counts the samples of a loaded block that are equal in the first planes.
    fn count_first_planes<P: Part>(&mut self, part: &P, first: u32, counts: &mut [u16]) {
        let (query, rows) = (self.target.rows().first_only(), part.block(first).first_only());
        let next = part.block_in_memory(first.saturating_add(part.block_length()));
        let next = next.unwrap_or(part.block(first).range(0, 0)).first_only();
        self.kernel.count_equal_before(next, query, rows, counts);
        self.work.bytes += 8 * rows.first().len() as u64;
    }

    /// Whether the best of so many signatures could raise the bar so far that most need no look at all planes, and that
    /// would spare enough.
    fn is_worth_two_looks(&self, blocks: &Range<u32>) -> bool {
        let query = self.target.rows();
        let few_wanted = self.rule.top < blocks.len() / 64;
        let much = blocks.len() >= LEAST_WINDOW && query.rest().len() >= LEAST_SPARED;
        let may_reject = self.scorer.counts_reject();
        much && few_wanted && may_reject && !rejects(query, self.least_equal())
    }

    /// Whether enough of the matches so far stand out for the bar to be beyond chance at the end of the way.
    fn is_promising(&self) -> bool {
        let query = self.target.rows();
        let outstanding = self.ranking.count(|found| rejects(query, found.equal));
        (4 * TRIAL as usize).saturating_mul(outstanding) >= self.rule.top
    }

    /// Compares blocks of signatures with the query: the first planes of all, then the other planes of those that
    /// could enter beside what was found.
    fn scan_in_two_looks<P: Part>(
        &mut self,
        part: &mut P,
        blocks: Range<u32>,
        room: &mut Room,
    ) -> Result<()> {
        let length = part.block_length();
        let starts = || blocks.clone().step_by(length as usize);
        let trial = blocks.start + (blocks.len() as u32) / TRIAL;
        let mut seen = vec![DONE; blocks.len()];
        let (mut bar, mut tried, mut looked) = (None, false, blocks.start);
        for (first, counts) in starts().zip(seen.chunks_mut(length as usize)) {
            if !tried && first >= trial {
                tried = true;
                if !self.is_promising() {
                    break;
                }
            }
            looked = blocks.end.min(first.saturating_add(length));
            if part.block_in_memory(first).is_none() {
                // It would have to be read twice.
                self.scan_blocks(part, first..looked, room)?;
                continue;
            }
            part.load(&[first], Keep::IfRoom)?;
            self.count_first_planes(part, first, counts);
            self.work.compared += counts.len() as u64;
            let bar = *bar.get_or_insert_with(|| stands_out(self.target.rows(), counts));
            let range = self.least_equal().max(bar.into())..DONE.into();
            let most = self.worth_comparing_apart(counts.len());
            if within(self.kernel, counts, range, most, &mut room.hopeful) {
                self.compare_some(part, first, &room.hopeful)?;
            } else {
                self.compare_block(part, first, room, None)?;
                counts.fill(DONE);
            }
        }
        let outstanding = bar.unwrap_or(DONE);
        let looked_at = starts().take_while(|first| *first < looked);
        for (first, counts) in looked_at.zip(seen.chunks(length as usize)) {
            self.look_again(part, first, Seen { counts, outstanding }, room)?;
        }
        self.scan_blocks(part, looked..blocks.end, room)
    }

    /// Verifies the signatures of a block that did not stand out at the first look, and could enter.
    fn look_again<P: Part>(
        &mut self,
        part: &mut P,
        first: u32,
        seen: Seen<'_>,
        room: &mut Room,
    ) -> Result<()> {
        let (least, most) = (self.least_equal(), self.worth_comparing_apart(seen.counts.len()));
        let few = within(
            self.kernel,
            seen.counts,
            least..seen.outstanding.into(),
            most,
            &mut room.hopeful,
        );
        if room.hopeful.is_empty() {
            return Ok(());
        }
        part.load(&[first], Keep::IfRoom)?;
        if few {
            self.compare_some(part, first, &room.hopeful)
        } else {
            self.compare_block(part, first, room, Some(seen))
        }
    }
}

/// Whether the first planes alone reject nearly all signatures that have nothing to do with the query, of whose samples
/// a half or a quarter agree there by chance.
pub(super) fn rejects(query: Rows<'_>, least: u32) -> bool {
    f64::from(least) > beyond(query, by_chance(query), 2.0)
}

/// How many samples agree in the first planes by chance.
fn by_chance(query: Rows<'_>) -> f64 {
    f64::from(query.samples()) / f64::from(query.first_planes()).exp2()
}

/// So many standard deviations more than a number of samples that agree independently of each other.
fn beyond(query: Rows<'_>, mean: f64, deviations: f64) -> f64 {
    mean + deviations * (mean * (1.0 - mean / f64::from(query.samples()))).sqrt()
}

/// How many samples must agree in the first planes for a signature to stand out: far more than chance gives, and than
/// half of some have.
fn stands_out(query: Rows<'_>, some: &[u16]) -> u16 {
    let mut some = some.to_vec();
    let middle = some.len() / 2;
    let median = match some.len() {
        0 => 0,
        _ => *some.select_nth_unstable(middle).1,
    };
    let usual = by_chance(query).max(median.into());
    beyond(query, usual, 4.0).ceil() as u16
}

/// The places of all counts in a range; `false` if there are more than so many, and some were left out.
fn within(
    kernel: Kernel,
    counts: &[u16],
    range: Range<u32>,
    most: usize,
    places: &mut Vec<u32>,
) -> bool {
    let limited = |bound: u32| u16::try_from(bound).unwrap_or(u16::MAX);
    let range = limited(range.start)..limited(range.end);
    kernel.run(Within { counts, range, most, places })
}

struct Within<'a> {
    counts: &'a [u16],
    range: Range<u16>,
    most: usize,
    places: &'a mut Vec<u32>,
}

impl Work for Within<'_> {
    type Done = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Within { counts, range, most, places } = self;
        places.clear();
        let width = range.end.saturating_sub(range.start);
        let is_within = |count: u16| count.wrapping_sub(range.start) < width;
        let (groups, left) = counts.as_chunks::<GROUP>();
        for (group, counts) in groups.iter().enumerate() {
            // Without a branch for each count: nearly all groups have none.
            if counts.iter().fold(false, |any, count| any | is_within(*count)) {
                if places.len() > most {
                    return false;
                }
                let start = (group * GROUP) as u32;
                let there = (start..).zip(counts).filter(|(_, count)| is_within(**count));
                places.extend(there.map(|(place, _)| place));
            }
        }
        let start = (groups.len() * GROUP) as u32;
        let there = (start..).zip(left).filter(|(_, count)| is_within(**count));
        places.extend(there.map(|(place, _)| place));
        places.len() <= most
    }
}
