//! The best matches so far.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A match with the values that decide its rank.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    pub(super) estimate: f64,
    /// Matching slots.
    pub(super) slots: u32,
    pub(super) key: Box<[u8]>,
    /// Equal samples.
    pub(super) equal: u32,
    /// The cardinality code.
    pub(super) code: u32,
    pub(super) position: Position,
}

/// Where a match was found: the number of a memtable or segment, and the id there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    pub(super) source: u32,
    pub(super) id: u32,
}

/// Better matches order first: larger estimate, then more matching slots, then smaller key (COMPARE-17).
impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        let alike = other.estimate.total_cmp(&self.estimate).then(other.slots.cmp(&self.slots));
        alike.then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

/// At most `top` matches with at least the given estimate.
#[derive(Debug)]
pub(super) struct Ranking {
    top: usize,
    least_estimate: f64,
    /// A heap with the worst match on top.
    best: BinaryHeap<Ranked>,
}

impl Ranking {
    pub(super) fn new(top: usize, least_estimate: f64) -> Ranking {
        Ranking { top, least_estimate, best: BinaryHeap::new() }
    }

    /// The worst match, if it must go for the next one to enter.
    fn worst(&self) -> Option<&Ranked> {
        self.best.peek().filter(|_| self.best.len() == self.top)
    }

    /// No smaller estimate can enter any more.
    pub(super) fn bound(&self) -> f64 {
        if self.top == 0 {
            return f64::INFINITY;
        }
        self.worst().map_or(self.least_estimate, |worst| worst.estimate.max(self.least_estimate))
    }

    /// How many of the matches are of a kind.
    pub(super) fn count(&self, kind: impl Fn(&Ranked) -> bool) -> usize {
        self.best.iter().filter(|found| kind(found)).count()
    }

    /// Whether a match could enter, whatever its key.
    pub(super) fn may_enter(&self, estimate: f64, slots: u32) -> bool {
        if estimate < self.bound() {
            return false;
        }
        match self.worst() {
            Some(worst) => estimate > worst.estimate || slots >= worst.slots,
            None => self.top > 0,
        }
    }

    /// Whether a match cannot enter because its key is too large, judged by its position. Keys and ids of the source must
    /// ascend together.
    pub(super) fn is_behind(&self, estimate: f64, slots: u32, position: Position) -> bool {
        self.worst().is_some_and(|worst| {
            let same = (worst.estimate, worst.slots, worst.position.source);
            same == (estimate, slots, position.source) && worst.position.id < position.id
        })
    }

    /// Whether a match with this key would enter.
    pub(super) fn admits(&self, estimate: f64, slots: u32, key: &[u8]) -> bool {
        if !self.may_enter(estimate, slots) {
            return false;
        }
        self.worst().is_none_or(|worst| {
            let better = estimate.total_cmp(&worst.estimate).then(slots.cmp(&worst.slots));
            better.then_with(|| (*worst.key).cmp(key)).is_gt()
        })
    }

    /// Enters a match; `false` if it is worse than all that are kept.
    pub(super) fn offer(&mut self, new: Ranked) -> bool {
        if !self.may_enter(new.estimate, new.slots) {
            return false;
        }
        if self.best.len() < self.top {
            self.best.push(new);
            return true;
        }
        match self.best.peek_mut() {
            Some(mut worst) if new < *worst => {
                *worst = new;
                true
            }
            Some(_) | None => false,
        }
    }

    /// All matches, best first.
    pub(super) fn finish(self) -> Vec<Ranked> {
        self.best.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_in_any_order_of_arrival() {
        let mut numbers = testkit::random::Random(3);
        let mut draw = |limit: u64| numbers.below(limit);
        for top in [0, 1, 3, 10, 1000] {
            let all: Vec<Ranked> = (0..200_u32)
                .map(|i| Ranked {
                    estimate: draw(8) as f64 / 8.0,
                    slots: draw(3) as u32,
                    key: format!("{:03}", i * 7 % 200).into_bytes().into(),
                    equal: 0,
                    code: 0,
                    position: Position { source: 0, id: i * 7 % 200 },
                })
                .collect();
            let mut ranking = Ranking::new(top, 0.25);
            all.iter().for_each(|new| {
                let admitted = ranking.admits(new.estimate, new.slots, &new.key);
                // Keys and ids ascend together here.
                assert!(!(admitted && ranking.is_behind(new.estimate, new.slots, new.position)));
                assert_eq!(ranking.offer(new.clone()), admitted);
            });
            let mut expected: Vec<Ranked> =
                all.into_iter().filter(|r| r.estimate >= 0.25).collect();
            expected.sort_by(|a, b| {
                b.estimate
                    .total_cmp(&a.estimate)
                    .then(b.slots.cmp(&a.slots))
                    .then(a.key.cmp(&b.key))
            });
            expected.truncate(top);
            let keys = |all: &[Ranked]| all.iter().map(|r| r.key.clone()).collect::<Vec<_>>();
            assert_eq!(keys(&ranking.finish()), keys(&expected));
        }
    }
}
