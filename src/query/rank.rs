//! The best matches so far.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A match that was found, and what it is ranked by.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    pub(super) value: f64,
    pub(super) slots: u32,
    pub(super) key: Box<[u8]>,
    pub(super) equal: u32,
    pub(super) code: u32,
    pub(super) place: Place,
}

/// Where a match was found: the number of a part, and its id there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) part: u32,
    pub(super) id: u32,
}

/// Better ones come first: more alike, then more common slots, then the smaller key.
impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        let alike = other.value.total_cmp(&self.value).then(other.slots.cmp(&self.slots));
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

/// At most a given number of matches at or above a threshold.
#[derive(Debug)]
pub(super) struct Ranking {
    top: usize,
    threshold: f64,
    /// The worst is on top.
    best: BinaryHeap<Ranked>,
}

impl Ranking {
    pub(super) fn new(top: usize, threshold: f64) -> Ranking {
        Ranking { top, threshold, best: BinaryHeap::new() }
    }

    /// Nothing below this similarity can enter any more.
    pub(super) fn bound(&self) -> f64 {
        match self.best.peek() {
            _ if self.top == 0 => f64::INFINITY,
            Some(worst) if self.best.len() == self.top => worst.value.max(self.threshold),
            _ => self.threshold,
        }
    }

    /// How many of the matches so far are of a kind.
    pub(super) fn count(&self, kind: impl Fn(&Ranked) -> bool) -> usize {
        self.best.iter().filter(|found| kind(found)).count()
    }

    /// Whether a match could enter if its key is not known yet.
    pub(super) fn may_enter(&self, value: f64, slots: u32) -> bool {
        if value < self.bound() {
            return false;
        }
        match self.best.peek() {
            Some(worst) if self.best.len() == self.top => {
                value > worst.value || slots >= worst.slots
            }
            _ => self.top > 0,
        }
    }

    /// Whether a match is worse than all that are wanted because its key is larger than that of one like it before, in a
    /// part where keys rise with ids.
    pub(super) fn is_late(&self, value: f64, slots: u32, place: Place) -> bool {
        self.best.len() == self.top
            && self.best.peek().is_some_and(|worst| {
                (worst.value, worst.slots, worst.place.part) == (value, slots, place.part)
                    && worst.place.id < place.id
            })
    }

    /// Whether a match with this key would enter.
    pub(super) fn admits(&self, value: f64, slots: u32, key: &[u8]) -> bool {
        match self.best.peek() {
            Some(worst) if self.may_enter(value, slots) && self.best.len() == self.top => {
                let alike = value.total_cmp(&worst.value).then(slots.cmp(&worst.slots));
                alike.then_with(|| (*worst.key).cmp(key)).is_gt()
            }
            _ => self.may_enter(value, slots),
        }
    }

    /// Takes a match; `false` if it is worse than all that are wanted.
    pub(super) fn offer(&mut self, new: Ranked) -> bool {
        if !self.may_enter(new.value, new.slots) {
            return false;
        }
        if self.best.len() < self.top {
            self.best.push(new);
            return true;
        }
        match self.best.peek_mut() {
            Some(mut worst) if new < *worst => *worst = new,
            _ => return false,
        }
        true
    }

    /// All of them, best first.
    pub(super) fn finish(self) -> Vec<Ranked> {
        self.best.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_stay_in_any_order_of_coming() {
        let mut state = 3_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (state >> 33) % below
        };
        for top in [0, 1, 3, 10, 1000] {
            let all: Vec<Ranked> = (0..200_u32)
                .map(|i| Ranked {
                    value: draw(8) as f64 / 8.0,
                    slots: draw(3) as u32,
                    key: format!("{:03}", i * 7 % 200).into_bytes().into(),
                    equal: 0,
                    code: 0,
                    place: Place { part: 0, id: i * 7 % 200 },
                })
                .collect();
            let mut ranking = Ranking::new(top, 0.25);
            all.iter().for_each(|new| {
                let admitted = ranking.admits(new.value, new.slots, &new.key);
                // Keys and ids rise together here.
                assert!(!(admitted && ranking.is_late(new.value, new.slots, new.place)));
                assert_eq!(ranking.offer(new.clone()), admitted);
            });
            let mut expected: Vec<Ranked> = all.into_iter().filter(|r| r.value >= 0.25).collect();
            expected.sort_by(|a, b| {
                b.value.total_cmp(&a.value).then(b.slots.cmp(&a.slots)).then(a.key.cmp(&b.key))
            });
            expected.truncate(top);
            let keys = |all: &[Ranked]| all.iter().map(|r| r.key.clone()).collect::<Vec<_>>();
            assert_eq!(keys(&ranking.finish()), keys(&expected));
        }
    }
}
