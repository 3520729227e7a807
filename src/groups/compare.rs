//! Compares two groups by the matching rule.

use super::columns::Column;
use super::signature_table::SignatureTable;
use crate::estimate::Comparison;
use crate::kernel::Kernel;
use crate::matching::{Conditions, MatchRule, Minimum, SlotMatcher};
use crate::sketch::SlotReader;

/// Compares groups of one signature table.
#[derive(Debug)]
pub(super) struct Comparer<'a> {
    rule: MatchRule,
    /// The least requirements of a pair, whatever the sizes of its sets.
    pub(super) minimum: Minimum,
    matcher: SlotMatcher<'a>,
    /// A bit for each equal sample of the last two groups that were [aligned](Comparer::align).
    equal: Vec<u64>,
    /// Their slot values, if slots are compared by value.
    values: [Vec<u32>; 2],
    kernel: Kernel,
}

impl<'a> Comparer<'a> {
    pub(super) fn new(
        table: &SignatureTable<'_>,
        slots: &'a SlotReader,
        conditions: Conditions,
    ) -> Comparer<'a> {
        let scheme = table.scheme();
        let mut rule = MatchRule::new(scheme, conditions);
        let minimum = Minimum {
            equal_samples: rule.fewest_equal_among(table.codes()),
            slots: conditions.min_slots,
        };
        let matcher = SlotMatcher::new(scheme, slots, conditions.within_hamming_1);
        Comparer {
            rule,
            minimum,
            matcher,
            equal: vec![0; scheme.words_per_plane()],
            values: [vec![0; slots.count()], vec![0; slots.count()]],
            kernel: Kernel::best(),
        }
    }

    /// The requested threshold.
    pub(super) fn threshold(&self) -> f64 {
        self.rule.conditions().threshold
    }

    /// The comparison that follows from this many equal samples and these cardinality codes.
    pub(super) fn comparison(&self, equal: u32, a: u32, b: u32) -> Comparison {
        self.rule.comparison(equal, a, b)
    }

    /// Whether this many equal samples are enough for sets with these cardinality codes.
    pub(super) fn passes(&mut self, equal: u32, a: u32, b: u32) -> bool {
        self.rule.passes(equal, a, b)
    }

    /// Whether a pair that passes does not certainly reach the threshold.
    pub(super) fn undecided(&mut self, equal: u32, a: u32, b: u32) -> bool {
        self.rule.undecided(equal, a, b)
    }

    /// How many samples two groups have in common.
    pub(super) fn count_equal(&self, table: &SignatureTable<'_>, a: u32, b: u32) -> u32 {
        let mut count = [0];
        self.kernel.count_equal_each(table.rows(a), [table.row(b)].into_iter(), &mut count);
        count[0].into()
    }

    /// Works out where two groups agree, for [`agree`](Comparer::agree) and
    /// [`matching_slots`](Comparer::matching_slots).
    pub(super) fn align(&mut self, table: &SignatureTable<'_>, a: u32, b: u32) {
        self.kernel.equal_mask(table.rows(a), table.rows(b), &mut self.equal);
        if self.matcher.needs_values() {
            let [first, second] = &mut self.values;
            self.matcher.reader().read(table.planes(a), first);
            self.matcher.reader().read(table.planes(b), second);
        }
    }

    /// Whether the aligned groups agree in a column.
    pub(super) fn agree(&self, column: &Column) -> bool {
        match column {
            Column::Samples(span) => span.within(&self.equal),
            Column::Slot(slot) => self.values[0][*slot] == self.values[1][*slot],
        }
    }

    /// How many slots the aligned groups have in common.
    pub(super) fn matching_slots(&self) -> u32 {
        let by_samples = self.matcher.count_by_samples(|word| self.equal[word]);
        by_samples.unwrap_or_else(|| self.matcher.count_by_values(&self.values[0], &self.values[1]))
    }
}
