//! Counts over all groups, and the groups that a page shows with differences: the largest and the most doubtful ones.

use std::collections::BTreeMap;

use ringer::scheme::Measure;

use super::Place;
use super::group::Group;

/// How many of the largest groups, and of the most doubtful ones, are shown with differences.
const SHOWN: usize = 10;

/// The number of bins of similarities.
pub(super) const BINS: usize = 100;

/// Counts over all groups.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) groups: u64,
    pub(super) members: u64,
    pub(super) pairs: u64,
    /// The lowest similarity of the measure: 0, or -1 for cosines.
    pub(super) from: f64,
    min: Option<f64>,
    /// How many similarities to first members lie in each bin between `from` and 1.
    pub(super) similarities: [u64; BINS],
    /// How many groups have each size. Sizes from 64 on are rounded down to three bits, so that there are few.
    pub(super) sizes: BTreeMap<u64, u64>,
    largest: Vec<Group>,
    doubtful: Vec<Group>,
}

impl Tally {
    pub(super) fn new(measure: Measure, min: Option<f64>) -> Tally {
        Tally {
            groups: 0,
            members: 0,
            pairs: 0,
            from: if measure == Measure::Cosine { -1.0 } else { 0.0 },
            min,
            similarities: [0; BINS],
            sizes: BTreeMap::new(),
            largest: Vec::new(),
            doubtful: Vec::new(),
        }
    }

    pub(super) fn pair(&mut self, similarity: f64) {
        self.pairs += 1;
        let share = (similarity - self.from) / (1.0 - self.from);
        // A small addition keeps 0.8 out of the bin below it.
        let bin = (share * BINS as f64 + 1e-9).clamp(0.0, BINS as f64 - 1.0);
        self.similarities[bin as usize] += 1;
    }

    pub(super) fn group(&mut self, group: &Group) {
        let size = group.others + 1;
        self.groups += 1;
        self.members += size;
        *self.sizes.entry(rounded_size(size)).or_default() += 1;
        if group.others == 0 {
            return;
        }
        if self.min.is_some() {
            let doubt =
                |group: &Group| group.doubtful.as_ref().map_or(f64::MAX, |(doubt, _)| *doubt);
            let order = |a: &Group, b: &Group| doubt(a).total_cmp(&doubt(b));
            keep(&mut self.doubtful, group, order);
        }
        keep(&mut self.largest, group, |a, b| b.others.cmp(&a.others));
    }

    /// The groups that are shown with differences, each with the member to show beside the first one: the most doubtful
    /// groups, followed by the largest ones.
    pub(super) fn chosen(&self) -> Vec<(&Group, Place)> {
        let doubtful = self.doubtful.iter().filter_map(|group| {
            group.doubtful.as_ref().map(|(_, member)| (group, member.place.clone()))
        });
        let largest = self
            .largest
            .iter()
            .filter_map(|group| group.lowest.as_ref().map(|member| (group, member.place.clone())));
        doubtful.chain(largest).collect()
    }

    /// How many of the chosen groups are the most doubtful ones.
    pub(super) fn doubtful(&self) -> usize {
        self.doubtful.len()
    }
}

/// Inserts a group in order. Earlier groups come first among equal ones.
fn keep(
    groups: &mut Vec<Group>,
    group: &Group,
    order: impl Fn(&Group, &Group) -> std::cmp::Ordering,
) {
    let at = groups.partition_point(|other| order(other, group).is_le());
    if at < SHOWN {
        groups.insert(at, group.clone());
        groups.truncate(SHOWN);
    }
}

fn rounded_size(size: u64) -> u64 {
    let shift = size.max(1).ilog2().saturating_sub(2);
    if size < 64 { size } else { size >> shift << shift }
}
