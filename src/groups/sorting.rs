//! Entries brought together by their upper halves.
//!
//! In: entries that rise in their lower halves; their upper halves are hashes. Out: the same sorted, part by part.
//! What is sorted as a whole goes through memory once for each digit, and each of its many places is a miss; parts
//! that fit into the second-level cache are made in one go, and everything else happens there.

/// Entries of a part, about: twice as many bytes as this times eight are in use.
const PART: usize = 1 << 12;

/// Most parts, as a power of two: each has a line of the nearest cache while they are filled.
const MOST_PARTS: u32 = 9;

/// Most bits of a hash that a part is sorted by in one go.
const DIGIT: u32 = 12;

/// Sorts entries again and again. Keeps its memory: as much as all entries take.
#[derive(Debug, Default)]
pub(super) struct Sorting {
    /// Entries part by part, those of a part in the order in which they came.
    parted: Vec<u64>,
    /// Where parts end.
    ends: Vec<usize>,
    /// Bits of a hash that tell its part.
    bits: u32,
}

impl Sorting {
    /// Takes entries in. Out: the number of parts.
    pub(super) fn part(&mut self, entries: &[u64]) -> usize {
        self.bits = (entries.len() / PART).checked_ilog2().unwrap_or(0).min(MOST_PARTS);
        self.ends.clear();
        self.ends.resize(1 << self.bits, 0);
        self.parted.resize(entries.len(), 0);
        let (bits, ends, parted) = (self.bits, &mut self.ends[..], &mut self.parted[..]);
        entries.iter().for_each(|entry| ends[digit(*entry, 0, bits)] += 1);
        starts(ends);
        for entry in entries {
            let end = &mut ends[digit(*entry, 0, bits)];
            parted[*end] = *entry;
            *end += 1;
        }
        ends.len()
    }

    /// A part, sorted into the beginning of `sorted`, which is at least as long. Parts rise.
    pub(super) fn sort<'a>(&self, part: usize, sorted: &'a mut [u64]) -> &'a mut [u64] {
        let start = if part == 0 { 0 } else { self.ends[part - 1] };
        let entries = &self.parted[start..self.ends[part]];
        let sorted = &mut sorted[..entries.len()];
        let bits = entries.len().checked_ilog2().unwrap_or(0).min(DIGIT);
        let mut places = [0; 1 << DIGIT];
        let places = &mut places[..1 << bits];
        entries.iter().for_each(|entry| places[digit(*entry, self.bits, bits)] += 1);
        starts(places);
        for entry in entries {
            let place = &mut places[digit(*entry, self.bits, bits)];
            sorted[*place] = *entry;
            *place += 1;
        }
        settle(sorted);
        sorted
    }
}

/// So many bits of an entry, from the highest but some.
fn digit(entry: u64, skipped: u32, bits: u32) -> usize {
    // In two steps: none of the bits are 64 places away.
    ((entry << skipped) >> 1 >> (63 - bits)) as usize
}

/// Turns counts into where each begins.
fn starts(counts: &mut [usize]) {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

/// Sorts entries of which nearly all stand near their place.
fn settle(entries: &mut [u64]) {
    let mut steps = 0;
    for i in 1..entries.len() {
        let (entry, mut at) = (entries[i], i);
        while at > 0 && entries[at - 1] > entry {
            entries[at] = entries[at - 1];
            at -= 1;
        }
        entries[at] = entry;
        steps += i - at;
        // Somebody made hashes that share their first bits.
        if steps > 8 * entries.len() {
            return entries.sort_unstable();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hashes: impl Iterator<Item = u32>) {
        let entries: Vec<u64> = hashes.zip(0..).map(|(h, i)| u64::from(h) << 32 | i).collect();
        let mut expected = entries.clone();
        expected.sort_unstable();
        let (mut sorting, mut sorted) = (Sorting::default(), vec![0; entries.len()]);
        let mut found = Vec::new();
        for part in 0..sorting.part(&entries) {
            found.extend_from_slice(sorting.sort(part, &mut sorted));
        }
        assert!(found == expected, "{} entries", entries.len());
    }

    fn hash(i: u32) -> u32 {
        (u64::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 29) as u32
    }

    #[test]
    fn parts_rise_and_are_sorted() {
        for count in [0, 1, 2, 3, 100, 4095, 4096, 8191, 8192, 8193, 20_000, 300_000] {
            check((0..count).map(hash));
            check((0..count).map(|i| hash(i / 3)));
            check((0..count).map(|i| hash(i % 1000)));
            check((0..count).rev());
            check((0..count).map(|_| 7));
            check((0..count).map(|i| u32::MAX - i));
        }
    }

    /// Low bits alone differ, the other way round: no digit tells them apart.
    #[test]
    fn hashes_that_have_much_in_common() {
        check((0..200_000_u32).map(|i| 0xABCD_0000 | (u32::from(u16::MAX) - i % 65_536)));
        check((0..200_000_u32).map(|i| if i % 2 == 0 { hash(i) } else { 200_000 - i }));
    }
}
