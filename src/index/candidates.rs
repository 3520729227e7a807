//! Ids that a merge found, those in the most lists first if there are too many of them.

/// An id with the number of lists that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The signature.
    pub id: u32,
    /// Lists that have it.
    pub lists: u32,
}

/// Candidates, at most a given number of them. What was dropped is known: then an answer made from them
/// may not be the whole.
#[derive(Debug)]
pub struct Candidates {
    found: Vec<Candidate>,
    most: usize,
    /// Those in fewer lists are no longer taken.
    least: u32,
    seen: u64,
    dropped: bool,
}

impl Candidates {
    /// None yet, and at most so many.
    pub fn new(most: usize) -> Candidates {
        Candidates { found: Vec::new(), most, least: 0, seen: 0, dropped: false }
    }

    /// Takes a candidate. They must come in rising order of their ids.
    pub fn push(&mut self, id: u32, lists: u32) {
        self.seen += 1;
        if lists < self.least {
            self.dropped = true;
            return;
        }
        self.found.push(Candidate { id, lists });
        // Twice as many, so that making room is seldom.
        if self.found.len() >= self.most.saturating_mul(2).max(64) {
            self.cut();
        }
    }

    /// Leaves the `most` that are in the most lists, of those in equally many the first.
    fn cut(&mut self) {
        if self.found.len() <= self.most {
            return;
        }
        self.dropped = true;
        let highest = self.found.iter().map(|c| c.lists).max().unwrap_or(0);
        let mut by_lists = vec![0_usize; highest as usize + 1];
        self.found.iter().for_each(|c| by_lists[c.lists as usize] += 1);
        // The number of lists that some have who stay and some who go, and how many of them stay.
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

    /// How many came.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// All that are left, in rising order of their ids, and whether any was dropped.
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
            // Making room early may cost the first of those in the fewest lists that stay; none in more.
            let count = |set: &[Candidate], lists| set.iter().filter(|c| c.lists == lists).count();
            assert_eq!(found.len(), best.len());
            (1..=4)
                .for_each(|lists| assert_eq!(count(&found, lists), count(&best, lists), "{most}"));
        }
    }
}
