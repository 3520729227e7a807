//! Counting in how many lists an id is.
//!
//! [`sorted`] sorts all postings and counts runs: its cost goes with the postings. [`dense`] keeps a counter
//! for each id of a window that fits the first cache, and takes the lists through window by window: a
//! posting costs about a nanosecond, and each id a little on top. Both visit ids in rising order, each
//! once, and leave out those in fewer than `least` lists while they count.

use crate::error::Result;

/// Ids of a window of counters: as many bytes as a first-level cache has room for.
const WINDOW: usize = 1 << 15;

/// Counters looked at in one go.
const GROUP: usize = 64;

/// Bits that one pass of the sort looks at.
const DIGIT: u32 = 11;

/// A posting list that is read from its start to its end.
pub trait Postings {
    /// The next ids. They rise, within a block and from block to block, so an id comes at most once. A block
    /// is empty only at the end, and then every later one is empty too. After an error the list is of no
    /// more use.
    fn next_block(&mut self) -> Result<&[u32]>;
}

/// Sorts ids and visits those that occur at least `least` times, with how often they do. `ids` holds all
/// postings of some lists, all below `bound`; it is sorted afterwards.
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

/// Sorts numbers below a bound. Comparing costs more than looking at digits when there are hundreds.
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

/// Takes lists of ids below `bound` through windows of counters, and visits the ids that are in at least
/// `least` lists, with how many those are.
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

/// A counter of lists.
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
        // An id is in one list of each slot. Lists of a forged file may have it in more than can be counted.
        *self = self.saturating_add(1);
    }
}

fn windows<C: Counter, P: Postings>(
    lists: &mut [Pending<P>],
    bound: u32,
    least: u32,
    visit: &mut impl FnMut(u32, u32),
) -> Result<()> {
    // No counter reaches more than there are lists.
    let Ok(least) = C::try_from(least.max(1)) else { return Ok(()) };
    let mut counters = vec![C::default(); WINDOW].into_boxed_slice();
    let counters: &mut [C; WINDOW] = (&mut *counters).try_into().expect("as long as a window");
    for start in (0..bound).step_by(WINDOW) {
        let end = start.saturating_add(WINDOW as u32).min(bound);
        for list in lists.iter_mut() {
            list.count_below(end, counters)?;
        }
        for (group, counters) in counters.chunks_mut(GROUP).enumerate() {
            // Without a branch for each counter: nearly all groups have none.
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

/// A list with the block that is being counted.
struct Pending<P> {
    list: P,
    block: Vec<u32>,
    at: usize,
}

impl<P: Postings> Pending<P> {
    fn new(list: P) -> Pending<P> {
        Pending { list, block: Vec::new(), at: 0 }
    }

    /// Counts the postings below the end of a window. Windows are aligned to their length, so an id's
    /// low bits are its place.
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

    /// A list in blocks of any length.
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

    /// Both ways against a map, for lists of all densities, bounds around windows, and more lists than a
    /// byte counts.
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

    /// Blocks that end just before, at and after the end of a window.
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
