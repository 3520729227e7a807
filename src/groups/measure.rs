//! Whether two signatures are alike enough, and what is said of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::columns::{Column, Least};
use super::roster::Roster;
use crate::estimate::{Comparison, Law, half_bit};
use crate::kernel::Kernel;
use crate::scheme::{Cardinality, Scheme, Universe};
use crate::sketch::SlotReader;

/// What must reach the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The estimate.
    Estimate,
    /// The upper end of its interval.
    High,
}

/// The rule for pairs, with what is known of pairs so far.
#[derive(Debug)]
pub(super) struct Measure {
    scheme: Arc<Scheme>,
    /// How often samples of sets tiny against their universe agree.
    law: Law,
    min: f64,
    reach: Reach,
    pub(super) least: Least,
    slots: SlotReader,
    values: [Vec<u32>; 2],
    equal: Vec<u64>,
    /// Intervals, lower and upper end, by the count and both codes: they are costly, and few.
    intervals: HashMap<(u32, u32, u32), (f64, f64)>,
    kernel: Kernel,
}

impl Measure {
    /// For the signatures of a roster.
    pub(super) fn new(roster: &Roster<'_>, min: f64, slots: u32, reach: Reach) -> Measure {
        let scheme = Arc::clone(roster.scheme());
        let reader = SlotReader::new(&scheme);
        let mut measure = Measure {
            law: Law::of(&scheme),
            min,
            reach,
            least: Least { equal: 0, slots },
            values: [vec![0; reader.count()], vec![0; reader.count()]],
            slots: reader,
            equal: vec![0; scheme.words_per_plane()],
            intervals: HashMap::new(),
            kernel: Kernel::best(),
            scheme,
        };
        let smallest = roster.codes().iter().min().copied().unwrap_or(0);
        measure.least.equal = measure.least_equal(smallest);
        measure
    }

    /// The fewest equal samples that a pair can have; one more than there are if none have enough.
    fn least_equal(&mut self, smallest: u32) -> u32 {
        let k = self.scheme.samples;
        match (self.reach, self.scheme.universe) {
            (Reach::Estimate, Universe::Open) => fewest(k, |equal| self.passes(equal, 0, 0)),
            (Reach::Estimate, _) => {
                // Chance agreements only add: single samples agree at least as often as the resemblance says.
                let share = match self.law {
                    // However few pairs agree, that may be a resemblance of up to one half.
                    Law::HalfBit(_) if self.min <= 0.5 => 0.0,
                    Law::HalfBit(_) => half_bit::agreement(self.min),
                    _ => self.min,
                };
                (f64::from(k) * share * (1.0 - 1e-9)).ceil() as u32
            }
            (Reach::High, Universe::Open) => {
                let sizes =
                    self.size(smallest).map_or(vec![None], |size| sizes_from(size.value, k));
                let high = |equal, size: Option<Cardinality>| {
                    let both = size.zip(size);
                    Comparison::new(&self.scheme, equal, both, false).similarity().high
                };
                let least = |size| fewest(k, |equal| high(equal, size) >= self.min);
                let least = sizes.into_iter().map(least).min().unwrap_or(0);
                // Sizes between those tried may have intervals that are wider by a trifle.
                least.saturating_sub(1)
            }
            // Intervals depend on sizes in more ways than can be said beforehand.
            (Reach::High, _) => 0,
        }
    }

    fn size(&self, code: u32) -> Option<Cardinality> {
        self.scheme.cardinality.decode(code, self.scheme.universe)
    }

    /// All that can be said of sets with these codes and so many equal samples.
    pub(super) fn comparison(&self, equal: u32, a: u32, b: u32) -> Comparison {
        Comparison::new(&self.scheme, equal, self.size(a).zip(self.size(b)), false)
    }

    /// The 95 % interval of their similarity.
    fn interval(&mut self, equal: u32, a: u32, b: u32) -> (f64, f64) {
        let comparison = self.comparison(equal, a, b);
        *self.intervals.entry((equal, a.min(b), a.max(b))).or_insert_with(|| {
            let estimate = comparison.similarity();
            (estimate.low, estimate.high)
        })
    }

    /// Whether so many equal samples are enough.
    pub(super) fn passes(&mut self, equal: u32, a: u32, b: u32) -> bool {
        if self.reach == Reach::High {
            return self.interval(equal, a, b).1 >= self.min;
        }
        let value = if self.scheme.universe == Universe::Open {
            let rate = f64::from(equal) / f64::from(self.scheme.samples);
            self.law.similarity(rate)
        } else {
            self.comparison(equal, a, b).similarity_value()
        };
        value >= self.min
    }

    /// Whether the interval holds the threshold.
    pub(super) fn undecided(&mut self, equal: u32, a: u32, b: u32) -> bool {
        // No interval goes below what is possible, and intervals are costly.
        if self.min <= self.law.least() {
            return false;
        }
        let (low, high) = self.interval(equal, a, b);
        low < self.min && high >= self.min
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

/// Sizes of sets from the smallest on, up to those where intervals no longer depend on them much.
fn sizes_from(smallest: f64, samples: u32) -> Vec<Option<Cardinality>> {
    let (mut size, mut sizes) = (smallest.max(1.0), Vec::new());
    loop {
        sizes.push(Some(Cardinality { value: size, half_width: 0.0 }));
        if size > 8.0 * f64::from(samples) {
            return sizes;
        }
        size *= 1.1;
    }
}
