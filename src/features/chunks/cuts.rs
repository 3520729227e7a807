//! Where to cut: the places that are the rightmost minimum as far as the horizon, and the best ones where
//! there are none (CHUNK-2, CHUNK-3).
//!
//! In: the values of places, as they come. Out: cuts in rising order. Places are counted from the start of a buffer that the
//! caller moves along; knows nothing of bytes.
//!
//! One pass finds the places of the first kind. A candidate is the least value since the search began anew. If the
//! horizon to its right has none as small, it is less than all to its right; and then it either is a
//! cut, or something before the beginning of the search is smaller, and no place within its horizon can be one.

use super::values::WINDOW;

/// Longest chunk, in horizons.
const REACH: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct Cuts {
    horizon: usize,
    /// The last cut.
    last: usize,
    /// No place after the last cut and before this one is the least of its surroundings.
    from: usize,
    /// The rightmost least place from there on, as far as looked at.
    candidate: usize,
    /// The first place not looked at.
    next: usize,
}

impl Cuts {
    pub(super) fn new(horizon: usize) -> Cuts {
        // A place needs a horizon of values to its left, and the first value is that of the first window.
        let from = WINDOW + horizon;
        Cuts { horizon, last: 0, from, candidate: from, next: from + 1 }
    }

    /// The longest chunk.
    pub(super) fn longest(&self) -> usize {
        REACH * self.horizon
    }

    /// Most places behind the last cut that are looked at before the next is found.
    pub(super) fn outlook(&self) -> usize {
        self.longest() + 2 * self.horizon + 2
    }

    pub(super) fn last(&self) -> usize {
        self.last
    }

    /// The buffer moves on: what was the place of the last cut is its beginning.
    pub(super) fn rebase(&mut self) {
        self.from -= self.last;
        self.candidate -= self.last;
        self.next -= self.last;
        self.last = 0;
    }

    /// The next cut that follows from the values so far; `values[i]` is that of place i.
    pub(super) fn next(&mut self, values: &[u64]) -> Option<usize> {
        loop {
            if self.candidate > self.last + self.longest() && values.len() > self.last + self.longest() + 1 {
                return Some(self.forced(values));
            }
            let least = *values.get(self.candidate)?;
            let end = values.len().min(self.candidate + self.horizon + 1);
            if let Some(ahead) = values[self.next..end].iter().position(|value| *value <= least) {
                self.candidate = self.next + ahead;
                self.next = self.candidate + 1;
                continue;
            }
            self.next = end;
            if end <= self.candidate + self.horizon {
                return None;
            }
            let found = self.candidate;
            let left = (found - self.horizon).min(self.from)..self.from;
            self.from = found + self.horizon + 1;
            (self.candidate, self.next) = (self.from, self.from + 1);
            if values[left].iter().all(|value| *value >= least) {
                self.last = found;
                return Some(found);
            }
        }
    }

    /// The next cut after the end of the input, of which `values` has the last.
    pub(super) fn next_at_end(&mut self, values: &[u64]) -> Option<usize> {
        self.next(values)
            .or_else(|| (values.len() > self.last + self.longest() + 1).then(|| self.forced(values)))
    }

    /// The rightmost minimum of the places that leave a horizon to both sides: to the last cut, and to the
    /// first place that may be a cut of the other kind.
    fn forced(&mut self, values: &[u64]) -> usize {
        let first = self.last + self.horizon + 1;
        let range = &values[first..=self.last + self.longest() - self.horizon];
        let best = range.iter().enumerate().rev().min_by_key(|(_, value)| **value);
        self.last = first + best.map_or(0, |(i, _)| i);
        self.last
    }
}
