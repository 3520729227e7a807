//! Counts in how many posting lists each id is.
//!
//! In: posting lists with ascending ids. Out: calls of a visitor with `(id, lists)`, once per id and in ascending
//! order, for ids in at least `least` lists. It must not know where lists are stored.
//!
//! [`sorted`] sorts all postings and counts runs, so its cost depends on the number of postings only. [`dense`]
//! keeps one counter for each id of a window that fits the first-level cache, and reads all lists window by window.
//! It costs about a nanosecond per posting, plus a little for each id below the bound.

use crate::error::Result;

/// Ids in one window of counters. With one byte each, the counters fill a first-level cache.
const WINDOW: usize = 1 << 15;

/// Counters that are tested together.
const GROUP: usize = 64;

/// Bits that one pass of the radix sort handles.
const DIGIT: u32 = 11;

/// A posting list that is read from start to end.
pub trait Postings {
    /// Returns the next ids. They ascend within a block and from block to block, so an id occurs at most once. An
    /// empty block marks the end, and every later block is empty too. The list must not be used after an error.
    fn next_block(&mut self) -> Result<&[u32]>;
}

/// Sorts `ids` and visits those that occur at least `least` times, with their counts. `ids` holds all postings of
/// some lists, all below `bound`. It is sorted afterwards.
pub fn sorted(ids: &mut Vec<u32>, bound: u32, least: u32, mut visit: impl FnMut(u32, u32)) {
    sort(ids, bound);
    let mut rest = &ids[..];
    while let [id, ..] = rest {
        let run = rest.iter().take_while(|other| *other == id).count();
        if run as u32 >= least {
            visit(*id, run as u32);
        }
        rest = &rest[run..];
    }
}

/// Sorts numbers below `bound`. From about a hundred numbers on, a radix sort is faster than comparisons.
fn sort(ids: &mut Vec<u32>, bound: u32) {
    if ids.len() < 128 {
        ids.sort_unstable();
        return;
    }
    let bits = u32::BITS - bound.saturating_sub(1).leading_zeros();
    let passes = bits.div_ceil(DIGIT).max(1);
    let digit = bits.div_ceil(passes);
    let mut other = vec![0; ids.len()];
    for pass in 0..passes {
        let digit_of = |id: u32| (id >> (pass * digit)) as usize & ((1 << digit) - 1);
        let mut ends = [0_u32; 1 << DIGIT];
        let ends = &mut ends[..1 << digit];
        ids.iter().for_each(|id| ends[digit_of(*id)] += 1);
        let mut sum = 0;
        for end in ends.iter_mut() {
            sum += std::mem::replace(end, sum);
        }
        for id in ids.iter() {
            let place = &mut ends[digit_of(*id)];
            other[*place as usize] = *id;
            *place += 1;
        }
        std::mem::swap(ids, &mut other);
    }
}

/// Counts lists of ids below `bound` in windows, and visits the ids in at least `least` lists, with their counts.
pub fn dense<P: Postings>(
    lists: Vec<P>,
    bound: u32,
    least: u32,
    mut visit: impl FnMut(u32, u32),
) -> Result<()> {
    let mut lists: Vec<Pending<P>> = lists.into_iter().map(Pending::new).collect();
    if lists.len() <= usize::from(u8::MAX) {
        windows::<u8, P>(&mut lists, bound, least, &mut visit)
    } else {
        windows::<u16, P>(&mut lists, bound, least, &mut visit)
    }
}

/// A counter of lists. It is as narrow as the number of lists allows.
trait Counter: Copy + Default + Ord + Into<u32> + TryFrom<u32> {
    fn increment(&mut self);
}

impl Counter for u8 {
    fn increment(&mut self) {
        *self += 1;
    }
}

impl Counter for u16 {
    fn increment(&mut self) {
        // An id is in at most one list per slot. A forged file may list it more often than a counter can hold.
        *self = self.saturating_add(1);
    }
}

fn windows<C: Counter, P: Postings>(
    lists: &mut [Pending<P>],
    bound: u32,
    least: u32,
    visit: &mut impl FnMut(u32, u32),
) -> Result<()> {
    // If `least` does not fit the counter, no id can reach it.
    let Ok(least) = C::try_from(least.max(1)) else { return Ok(()) };
    let mut counters = vec![C::default(); WINDOW].into_boxed_slice();
    let counters: &mut [C; WINDOW] = (&mut *counters).try_into().expect("as long as a window");
    for start in (0..bound).step_by(WINDOW) {
        let end = start.saturating_add(WINDOW as u32).min(bound);
        for list in lists.iter_mut() {
            list.count_below(end, counters)?;
        }
        for (group, counters) in counters.chunks_mut(GROUP).enumerate() {
            // Testing a whole group needs no branch per counter, and nearly all groups have no hit.
            let any = counters.iter().fold(false, |any, counter| any | (*counter >= least));
            if any {
                for (i, counter) in counters.iter().enumerate().filter(|(_, c)| **c >= least) {
                    visit(start + (GROUP * group + i) as u32, (*counter).into());
                }
            }
        }
        counters.fill(C::default());
    }
    Ok(())
}

/// A list and the part of its current block that is not yet counted.
struct Pending<P> {
    list: P,
    block: Vec<u32>,
    at: usize,
}

impl<P: Postings> Pending<P> {
    fn new(list: P) -> Pending<P> {
        Pending { list, block: Vec::new(), at: 0 }
    }

    /// Counts the postings below `end`, the end of a window. Windows are aligned to their length, so the low bits
    /// of an id are its position in the window.
    fn count_below<C: Counter>(&mut self, end: u32, counters: &mut [C; WINDOW]) -> Result<()> {
        loop {
            let rest = &self.block[self.at..];
            let inside = match rest.last() {
                Some(last) if *last < end => rest.len(),
                _ => rest.partition_point(|id| *id < end),
            };
            for id in &rest[..inside] {
                counters[*id as usize % WINDOW].increment();
            }
            self.at += inside;
            if self.at < self.block.len() {
                return Ok(());
            }
            let next = self.list.next_block()?;
            if next.is_empty() {
                return Ok(());
            }
            self.block.clear();
            self.block.extend_from_slice(next);
            self.at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A list in blocks of a given length.
    struct Blocks {
        ids: Vec<u32>,
        at: usize,
        length: usize,
    }

    impl Postings for Blocks {
        fn next_block(&mut self) -> Result<&[u32]> {
            let start = self.at;
            self.at = (start + self.length).min(self.ids.len());
            Ok(&self.ids[start..self.at])
        }
    }

    /// Compares both methods with a map, for lists of all densities, bounds around window edges, and more lists
    /// than a byte can count.
    #[test]
    fn both_ways_count_as_a_map_does() {
        let mut random = testkit::random::Random(1);
        let bounds =
            [1, 2, 127, 4_000, WINDOW as u32 - 1, WINDOW as u32, WINDOW as u32 + 1, 100_000];
        for bound in bounds {
            for count in [0, 1, 3, 12, 40, 300] {
                let lists: Vec<Vec<u32>> = (0..count)
                    .map(|_| {
                        let step = 1 + random.below(2 * u64::from(bound) / 3 + 1) as u32;
                        let ids =
                            (random.below(u64::from(bound)) as u32..bound).step_by(step as usize);
                        ids.take(3_000).collect()
                    })
                    .collect();
                let mut expected: BTreeMap<u32, u32> = BTreeMap::new();
                lists.iter().flatten().for_each(|id| *expected.entry(*id).or_default() += 1);
                for least in [1, 2, 5, 260] {
                    let expected: Vec<(u32, u32)> = expected
                        .iter()
                        .filter(|(_, n)| **n >= least)
                        .map(|(id, n)| (*id, *n))
                        .collect();
                    let mut found = Vec::new();
                    sorted(&mut lists.concat(), bound, least, |id, n| found.push((id, n)));
                    assert_eq!(found, expected, "sorted {bound} {count} {least}");
                    let blocks =
                        lists.iter().map(|ids| Blocks { ids: ids.clone(), at: 0, length: 128 });
                    found.clear();
                    dense(blocks.collect(), bound, least, |id, n| found.push((id, n))).unwrap();
                    assert_eq!(found, expected, "dense {bound} {count} {least}");
                }
            }
        }
    }

    /// The blocks end just before, at and just after a window edge.
    #[test]
    fn a_block_that_ends_where_a_window_does_is_counted_once() {
        let bound = 3 * WINDOW as u32;
        for end in (1..3).map(|i| i * WINDOW as u32).flat_map(|edge| edge - 2..edge + 2) {
            let ids: Vec<u32> = (end - 127..=end).chain([end + 5, bound - 1]).collect();
            let list = |length| Blocks { ids: ids.clone(), at: 0, length };
            let mut found = Vec::new();
            let lists = vec![list(128), list(1), list(64)];
            dense(lists, bound, 1, |id, n| found.push((id, n))).unwrap();
            let expected: Vec<(u32, u32)> = ids.iter().map(|id| (*id, 3)).collect();
            assert_eq!(found, expected, "{end}");
        }
    }

    #[test]
    fn an_error_of_a_list_ends_the_merge() {
        struct Broken;
        impl Postings for Broken {
            fn next_block(&mut self) -> Result<&[u32]> {
                Err(crate::Error::invalid("list", "broken"))
            }
        }
        assert!(dense(vec![Broken], 10, 1, |_, _| panic!("nothing was read")).is_err());
    }
}
