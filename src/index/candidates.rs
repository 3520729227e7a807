//! Collects the ids that a merge found, up to a limit.
//!
//! In: ids in ascending order, each with its number of lists. Out: the ids in the most lists, and whether any was
//! dropped. It must not know what an id refers to.

/// A signature id and the number of posting lists it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The signature id.
    pub id: u32,
    /// The number of lists that contain it.
    pub lists: u32,
}

/// A bounded collection of candidates. It records whether it dropped any, because an answer made from the rest may
/// then be incomplete.
#[derive(Debug)]
pub struct Candidates {
    found: Vec<Candidate>,
    most: usize,
    /// Candidates in fewer lists than this are dropped on arrival.
    least: u32,
    seen: u64,
    dropped: bool,
}

impl Candidates {
    /// Creates a collection that keeps at most `most` candidates.
    pub fn new(most: usize) -> Candidates {
        Candidates { found: Vec::new(), most, least: 0, seen: 0, dropped: false }
    }

    /// Adds a candidate. Ids must arrive in ascending order.
    pub fn push(&mut self, id: u32, lists: u32) {
        self.seen += 1;
        if lists < self.least {
            self.dropped = true;
            return;
        }
        self.found.push(Candidate { id, lists });
        // The list grows to twice the limit before a cut, so that cuts are rare.
        if self.found.len() >= self.most.saturating_mul(2).max(64) {
            self.cut();
        }
    }

    /// Keeps the `most` candidates that are in the most lists. Ties go to the lower ids.
    fn cut(&mut self) {
        if self.found.len() <= self.most {
            return;
        }
        self.dropped = true;
        let highest = self.found.iter().map(|c| c.lists).max().unwrap_or(0);
        let mut by_lists = vec![0_usize; highest as usize + 1];
        self.found.iter().for_each(|c| by_lists[c.lists as usize] += 1);
        // `level` is the number of lists at which only some candidates fit, and `room` is how many of those stay.
        let (mut level, mut room) = (highest, self.most);
        while level > 0 && by_lists[level as usize] <= room {
            room -= by_lists[level as usize];
            level -= 1;
        }
        self.found.retain(|c| {
            let stays = c.lists > level || (c.lists == level && room > 0);
            if stays && c.lists == level {
                room -= 1;
            }
            stays
        });
        self.least = level;
    }

    /// Returns how many candidates were pushed.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns the remaining candidates in ascending order of id, and whether any was dropped.
    pub fn finish(mut self) -> (Vec<Candidate>, bool) {
        self.cut();
        (self.found, self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_stay_and_drops_are_known() {
        for most in [0, 1, 10, 64, 100, 999, 1000, 5000] {
            let all: Vec<Candidate> =
                (0..1000).map(|id| Candidate { id, lists: 1 + id * 7 % 13 / 4 }).collect();
            let mut candidates = Candidates::new(most);
            all.iter().for_each(|c| candidates.push(c.id, c.lists));
            assert_eq!(candidates.seen(), 1000);
            let (found, dropped) = candidates.finish();
            assert_eq!(dropped, most < 1000);
            assert!(found.is_sorted_by_key(|c| c.id));
            let mut best = all;
            best.sort_by_key(|c| (std::cmp::Reverse(c.lists), c.id));
            best.truncate(most);
            // Early cuts may change which of the candidates at the lowest level stay, but never those above it.
            let count = |set: &[Candidate], lists| set.iter().filter(|c| c.lists == lists).count();
            assert_eq!(found.len(), best.len());
            (1..=4)
                .for_each(|lists| assert_eq!(count(&found, lists), count(&best, lists), "{most}"));
        }
    }
}
