//! The search for cuts: at landmarks (CHUNK-2), and at the best other place if there is no landmark for long
//! (CHUNK-3).
//!
//! In: the values of places, as they become known. Out: cuts in ascending order. Places are counted from the start
//! of a buffer that the caller moves along. This module does not know the bytes.
//!
//! A landmark is the rightmost minimum up to the horizon on both sides. One pass finds all landmarks. The candidate
//! is the rightmost minimum since the search started. Suppose that a value within the horizon to its right is not
//! greater. Then the rightmost minimum there is the next candidate, because all places between have it within their
//! horizon. Otherwise the candidate is a landmark, unless a smaller value is within the horizon to its left, before
//! the start of the search. In both cases no other place within its horizon can be a landmark, and the search
//! starts again after it.
//!
//! Landmarks are more than a horizon apart. A cut of the other kind keeps that distance from the last cut and from
//! the first place that can be a landmark. So the search never needs values before the last cut.

use super::values::WINDOW;

/// The length of the longest chunk, in horizons.
const REACH: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct Cuts {
    horizon: usize,
    /// The last cut.
    last: usize,
    /// The start of the search. There is no landmark between the last cut and this place.
    from: usize,
    /// The rightmost minimum since the start of the search.
    candidate: usize,
    /// The first place not compared yet.
    next: usize,
}

impl Cuts {
    pub(super) fn new(horizon: usize) -> Cuts {
        // A landmark needs a horizon of values to its left, and the first value is at the end of the first window.
        let from = WINDOW + horizon;
        Cuts { horizon, last: 0, from, candidate: from, next: from + 1 }
    }

    /// The length of the longest chunk.
    pub(super) fn longest(&self) -> usize {
        REACH * self.horizon
    }

    /// The most places after the last cut that are needed to find the next one.
    pub(super) fn outlook(&self) -> usize {
        self.longest() + 2 * self.horizon + 2
    }

    pub(super) fn last(&self) -> usize {
        self.last
    }

    /// Moves the start of the buffer to the last cut.
    pub(super) fn rebase(&mut self) {
        // A cut may be after the start of the search, but never after the candidate.
        self.from = self.from.saturating_sub(self.last);
        self.candidate -= self.last;
        self.next -= self.last;
        self.last = 0;
    }

    /// The next cut that follows from the values so far. `values[i]` is the value of place i.
    pub(super) fn next(&mut self, values: &[u32]) -> Option<usize> {
        loop {
            let limit = self.last + self.longest();
            if self.candidate > limit && values.len() > limit + 1 {
                return Some(self.forced(values));
            }
            let least = *values.get(self.candidate)?;
            let end = values.len().min(self.candidate + self.horizon + 1);
            if let Some(smaller) = rightmost_least(&values[self.next..end], least) {
                // The places between have this place within their horizon, and their values are not less.
                (self.candidate, self.next) = (self.next + smaller, end);
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

    /// The next cut, if `values` are all values of the input.
    pub(super) fn next_at_end(&mut self, values: &[u32]) -> Option<usize> {
        self.next(values).or_else(|| {
            (values.len() > self.last + self.longest() + 1).then(|| self.forced(values))
        })
    }

    /// CHUNK-3.2: the next cut if there is no landmark within the longest chunk. It is the rightmost minimum of the
    /// places that are more than a horizon after the last cut, and at least a horizon before the end of the longest
    /// chunk.
    fn forced(&mut self, values: &[u32]) -> usize {
        let first = self.last + self.horizon + 1;
        let range = &values[first..=self.last + self.longest() - self.horizon];
        self.last = first + rightmost_least(range, u32::MAX).unwrap_or(0);
        self.last
    }
}

/// The place of the rightmost minimum, if the minimum is at most `most`.
fn rightmost_least(values: &[u32], most: u32) -> Option<usize> {
    let least = values.iter().copied().min().filter(|least| *least <= most)?;
    values.iter().rposition(|value| *value == least)
}
