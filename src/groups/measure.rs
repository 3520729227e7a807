//! Whether two signatures are alike enough, and what is said of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::columns::{Column, Least};
use super::roster::Roster;
use crate::estimate::{Accept, Comparison, Law, half_bit};
use crate::kernel::Kernel;
use crate::scheme::{Cardinality, Scheme};
use crate::sketch::SlotReader;

/// Codes of set sizes up to this many have their least counts worked out before signatures are compared: all pairs of them, which
/// takes microseconds each by estimate, and a hundred times as long by interval.
const FEW_CODES: usize = 128;
const FEW_CODES_BY_INTERVAL: usize = 48;

/// Decisions that are remembered where sizes have too many codes.
const MOST_REMEMBERED: usize = 1 << 16;

/// The rule for pairs, with what is known of pairs so far.
#[derive(Debug)]
pub(super) struct Measure {
    scheme: Arc<Scheme>,
    /// How often samples of sets tiny against their universe agree.
    law: Law,
    min: f64,
    accept: Accept,
    pub(super) least: Least,
    slots: SlotReader,
    values: [Vec<u32>; 2],
    equal: Vec<u64>,
    /// For sizes of these two codes, the fewest equal samples that pass.
    enough: HashMap<(u32, u32), Enough>,
    /// Whether a pair that passes is possible but not certain, by the count and both codes.
    undecided: HashMap<(u32, u32, u32), bool>,
    kernel: Kernel,
}

/// How many equal samples pass.
#[derive(Debug, Clone, Copy)]
struct Enough {
    /// The fewest of those that are not all; k if none of them are enough.
    fewest: u32,
    /// Whether all are. One permutation of a small set may miss what sets differ in, so that all equal samples say less
    /// than nearly all.
    all: bool,
}

impl Measure {
    /// For the signatures of a roster.
    pub(super) fn new(roster: &Roster<'_>, min: f64, slots: u32, accept: Accept) -> Measure {
        let scheme = Arc::clone(roster.scheme());
        let reader = SlotReader::new(&scheme);
        let mut measure = Measure {
            law: Law::of(&scheme),
            min,
            accept,
            least: Least { equal: 0, slots },
            values: [vec![0; reader.count()], vec![0; reader.count()]],
            slots: reader,
            equal: vec![0; scheme.words_per_plane()],
            enough: HashMap::new(),
            undecided: HashMap::new(),
            kernel: Kernel::best(),
            scheme,
        };
        measure.least.equal = measure.least_equal(roster.codes());
        measure
    }

    /// The fewest equal samples that a pair can have; one more than there are if none have enough.
    fn least_equal(&mut self, codes: &[u32]) -> u32 {
        let codes: BTreeSet<u32> = codes.iter().copied().collect();
        let few = match self.accept {
            Accept::Estimate => FEW_CODES,
            Accept::Possible | Accept::Certain => FEW_CODES_BY_INTERVAL,
        };
        if codes.len() <= few {
            let codes: Vec<u32> = codes.into_iter().collect();
            let mut least = self.scheme.samples + 1;
            for (i, a) in codes.iter().enumerate() {
                for b in &codes[i..] {
                    let Enough { fewest, all } = self.enough(*a, *b);
                    if fewest < self.scheme.samples || all {
                        least = least.min(fewest);
                    }
                }
            }
            return least;
        }
        if self.accept == Accept::Possible {
            // Intervals depend on sizes in more ways than can be said beforehand.
            return 0;
        }
        // Chance agreements only add: samples agree at least as often as the resemblance says. An estimate is rounded to a
        // value that sets of these sizes can have, at most two elements of the union away.
        let smallest = codes.first().and_then(|code| self.size(*code));
        let rounding = smallest.map_or(0.0, |size| 2.0 / (size.least() + 1.0));
        let min = self.min - rounding;
        let share = match self.law {
            // However few pairs agree, that may be a resemblance of up to one half.
            Law::HalfBit(_) if min <= 0.5 => 0.0,
            Law::HalfBit(_) => half_bit::agreement(min),
            _ => min,
        };
        (f64::from(self.scheme.samples) * share * (1.0 - 1e-9)).ceil().max(0.0) as u32
    }

    fn size(&self, code: u32) -> Option<Cardinality> {
        self.scheme.cardinality.decode(code, self.scheme.universe)
    }

    /// All that can be said of sets with these codes and so many equal samples.
    pub(super) fn comparison(&self, equal: u32, a: u32, b: u32) -> Comparison {
        Comparison::new(&self.scheme, equal, self.size(a).zip(self.size(b)), false)
    }

    /// Whether so many equal samples are enough.
    pub(super) fn passes(&mut self, equal: u32, a: u32, b: u32) -> bool {
        let Enough { fewest, all } = self.enough(a, b);
        if equal >= self.scheme.samples { all } else { equal >= fewest }
    }

    /// How many equal samples are enough for sets of these sizes.
    fn enough(&mut self, a: u32, b: u32) -> Enough {
        let codes = (a.min(b), a.max(b));
        if let Some(enough) = self.enough.get(&codes) {
            return *enough;
        }
        let k = self.scheme.samples;
        let enough =
            |equal: u32| self.accept.passes(&self.comparison(equal, codes.0, codes.1), self.min);
        let enough = Enough { fewest: fewest(k - 1, enough), all: enough(k) };
        if self.enough.len() >= MOST_REMEMBERED {
            self.enough.clear();
        }
        self.enough.insert(codes, enough);
        enough
    }

    /// Whether a pair that passes is possible but not certain.
    pub(super) fn undecided(&mut self, equal: u32, a: u32, b: u32) -> bool {
        // No interval goes below what is possible, and intervals are costly.
        if self.min <= self.law.least() {
            return false;
        }
        let key = (equal, a.min(b), a.max(b));
        if let Some(undecided) = self.undecided.get(&key) {
            return *undecided;
        }
        let undecided = !self.comparison(equal, a, b).certainly_at_least(self.min);
        if self.undecided.len() >= MOST_REMEMBERED {
            self.undecided.clear();
        }
        self.undecided.insert(key, undecided);
        undecided
    }

    /// How many samples two groups have in common.
    pub(super) fn count(&self, roster: &Roster<'_>, a: u32, b: u32) -> u32 {
        let mut count = [0];
        self.kernel.count_equal_each(roster.rows(a), [roster.row(b)].into_iter(), &mut count);
        count[0].into()
    }

    /// Looks at two groups: afterwards it is known where they agree.
    pub(super) fn look(&mut self, roster: &Roster<'_>, a: u32, b: u32) {
        self.kernel.equal_mask(roster.rows(a), roster.rows(b), &mut self.equal);
        if self.slots.is_folded() {
            let [first, second] = &mut self.values;
            self.slots.read(roster.planes(a), first);
            self.slots.read(roster.planes(b), second);
        }
    }

    /// Whether the groups that were looked at agree in a column.
    pub(super) fn agree(&self, column: &Column) -> bool {
        match column {
            Column::Samples(span) => span.within(&self.equal),
            Column::Slot(slot) => self.values[0][*slot] == self.values[1][*slot],
        }
    }

    /// How many slots they have in common.
    pub(super) fn matching_slots(&self) -> u32 {
        if self.slots.is_folded() {
            let [first, second] = &self.values;
            return first.iter().zip(second).filter(|(a, b)| a == b).count() as u32;
        }
        let g = usize::from(self.scheme.slots.samples_per_slot);
        let equal = |sample: usize| self.equal[sample / 64] >> (sample % 64) & 1 == 1;
        let common = |slot: &usize| (slot * g..(slot + 1) * g).all(equal);
        (0..self.slots.count()).filter(common).count() as u32
    }
}

/// The fewest of k that are enough, where more always are; k + 1 if none are.
fn fewest(k: u32, mut enough: impl FnMut(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, k + 1);
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    low
}
