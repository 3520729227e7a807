//! Where to cut: at landmarks, the places that are the rightmost minimum as far as the horizon on both sides
//! (CHUNK-2), and at the best places where there are none for long (CHUNK-3).
//!
//! In: the values of places, as they come. Out: cuts in rising order. Places are counted from the start of a
//! buffer that the caller moves along; knows nothing of bytes.
//!
//! One pass finds the landmarks. A candidate is the rightmost least place since the search began anew. If the horizon to
//! its right has a value as small, the rightmost least of that is the next candidate: all between have it within
//! their horizon. If not, the candidate is a landmark, or something before the beginning of the search is
//! smaller; in both cases no place within its horizon can be one, and the search begins anew after it.
//!
//! Landmarks are more than a horizon apart, and a cut of the other kind keeps that distance to the last cut and to the
//! first place that can be a landmark. So the search never looks behind the last cut.

use super::values::WINDOW;

/// Longest chunk, in horizons.
const REACH: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct Cuts {
    horizon: usize,
    /// The last cut.
    last: usize,
    /// Where the search for a landmark began: none is between the last cut and this place.
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
        // A cut may have passed the beginning of the search, but never the candidate.
        self.from = self.from.saturating_sub(self.last);
        self.candidate -= self.last;
        self.next -= self.last;
        self.last = 0;
    }

    /// The next cut that follows from the values so far; `values[i]` is that of place i.
    pub(super) fn next(&mut self, values: &[u32]) -> Option<usize> {
        loop {
            let limit = self.last + self.longest();
            if self.candidate > limit && values.len() > limit + 1 {
                return Some(self.forced(values));
            }
            let least = *values.get(self.candidate)?;
            let end = values.len().min(self.candidate + self.horizon + 1);
            if let Some(smaller) = rightmost_least(&values[self.next..end], least) {
                // What stands between has this place within its horizon, and is no less.
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

    /// The next cut after the end of the input, of which `values` has the last.
    pub(super) fn next_at_end(&mut self, values: &[u32]) -> Option<usize> {
        self.next(values).or_else(|| {
            (values.len() > self.last + self.longest() + 1).then(|| self.forced(values))
        })
    }

    /// Without a landmark as far as the longest chunk goes: the rightmost minimum of the places that keep a
    /// horizon's distance to the last cut and to the first place that may be a landmark.
    fn forced(&mut self, values: &[u32]) -> usize {
        let first = self.last + self.horizon + 1;
        let range = &values[first..=self.last + self.longest() - self.horizon];
        self.last = first + rightmost_least(range, u32::MAX).unwrap_or(0);
        self.last
    }
}

/// Where the rightmost of the least values stands, if these are at most so large.
fn rightmost_least(values: &[u32], most: u32) -> Option<usize> {
    let least = values.iter().copied().min().filter(|least| *least <= most)?;
    values.iter().rposition(|value| *value == least)
}
