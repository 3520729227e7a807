//! Collects the distinct features of a document piece by piece.
//!
//! In: features in any order, with duplicates. Out: the distinct features in ascending order. Memory is about twice that of
//! the distinct features. No single step takes long: pieces are sorted separately and merged as in a binary counter.

use ringer::Error;

/// How many features are sorted at a time.
const PIECE: usize = 1 << 20;

/// Distinct features.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Features that are not sorted yet.
    some: Vec<u64>,
    /// Sorted runs without duplicates, each more than twice as long as the next.
    runs: Vec<Vec<u64>>,
}

impl Gathered {
    /// Adds features. Fails if `interrupted` reports an interrupt.
    pub(super) fn take(&mut self, some: &[u64], interrupted: fn() -> bool) -> Result<(), Error> {
        self.some.extend_from_slice(some);
        if self.some.len() < PIECE { Ok(()) } else { self.sort(interrupted) }
    }

    fn sort(&mut self, interrupted: fn() -> bool) -> Result<(), Error> {
        let mut run = std::mem::take(&mut self.some);
        run.sort_unstable();
        run.dedup();
        while let Some(last) = self.runs.pop_if(|last| last.len() <= 2 * run.len()) {
            run = merge(&last, &run);
            if interrupted() {
                return Err(Error::Interrupted);
            }
        }
        self.runs.push(run);
        Ok(())
    }

    /// Replaces `set` with all distinct features, and clears the collection.
    pub(super) fn finish(
        &mut self,
        set: &mut Vec<u64>,
        interrupted: fn() -> bool,
    ) -> Result<(), Error> {
        self.sort(interrupted)?;
        *set = self.runs.pop().unwrap_or_default();
        while let Some(run) = self.runs.pop() {
            *set = merge(&run, set);
            if interrupted() {
                return Err(Error::Interrupted);
            }
        }
        Ok(())
    }
}

/// Merges two sorted runs, without duplicates.
fn merge(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        merged.push(*x.min(y));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    merged.extend_from_slice(&a[i..]);
    merged.extend_from_slice(&b[j..]);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathers_what_a_set_would() {
        let mut random = testkit::random::Random(7);
        for most in [1, 1000, u64::MAX >> 20] {
            let all: Vec<u64> = (0..5 * PIECE / 2).map(|_| random.below(most)).collect();
            let (mut gathered, mut set) = (Gathered::default(), vec![9]);
            for piece in all.chunks(70_001) {
                gathered.take(piece, || false).unwrap();
            }
            gathered.finish(&mut set, || false).unwrap();
            let expected: std::collections::BTreeSet<u64> = all.into_iter().collect();
            assert!(set.iter().eq(&expected), "{most}");
        }
    }

    #[test]
    fn gives_up_when_interrupted() {
        let mut gathered = Gathered::default();
        let all: Vec<u64> = (0..2 * PIECE as u64).collect();
        gathered.take(&all, || true).unwrap();
        assert_eq!(gathered.take(&all, || true), Err(Error::Interrupted));
    }
}
