//! A radix sort of entries whose upper halves are hashes.
//!
//! In: entries in ascending order of their lower halves. Out: the same entries sorted, bucket by bucket. One pass over
//! memory distributes them to buckets that fit into the second-level cache; each bucket is then sorted there.

/// Entries of a bucket, roughly. Sorting uses twice their memory.
const BUCKET: usize = 1 << 12;

/// The largest number of buckets, as a power of two. Each keeps a line in the first-level cache while it is filled.
const MAX_BUCKET_BITS: u32 = 9;

/// Bits of a hash by which a bucket is sorted in one pass, at most.
const DIGIT: u32 = 12;

/// Sorts entries repeatedly, and keeps its memory: as much as all entries take.
#[derive(Debug, Default)]
pub(super) struct RadixSort {
    /// The entries bucket by bucket, those of a bucket in their original order.
    distributed: Vec<u64>,
    /// Where buckets end.
    ends: Vec<usize>,
    /// Bits of a hash that choose its bucket.
    bits: u32,
}

impl RadixSort {
    /// Distributes entries to buckets. Returns the number of buckets.
    pub(super) fn distribute(&mut self, entries: &[u64]) -> usize {
        self.bits = (entries.len() / BUCKET).checked_ilog2().unwrap_or(0).min(MAX_BUCKET_BITS);
        self.ends.clear();
        self.ends.resize(1 << self.bits, 0);
        self.distributed.resize(entries.len(), 0);
        let (bits, ends, distributed) = (self.bits, &mut self.ends[..], &mut self.distributed[..]);
        entries.iter().for_each(|entry| ends[digit(*entry, 0, bits)] += 1);
        starts(ends);
        for entry in entries {
            let end = &mut ends[digit(*entry, 0, bits)];
            distributed[*end] = *entry;
            *end += 1;
        }
        ends.len()
    }

    /// Sorts a bucket into the beginning of `sorted`, which must be long enough. Buckets ascend.
    pub(super) fn sort<'a>(&self, bucket: usize, sorted: &'a mut [u64]) -> &'a mut [u64] {
        let start = if bucket == 0 { 0 } else { self.ends[bucket - 1] };
        let entries = &self.distributed[start..self.ends[bucket]];
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
        insertion_sort(sorted);
        sorted
    }
}

/// The highest bits of an entry after `skipped` ones.
fn digit(entry: u64, skipped: u32, bits: u32) -> usize {
    // Two shifts, since `bits` may be 0 and a shift by 64 overflows.
    ((entry << skipped) >> 1 >> (63 - bits)) as usize
}

/// Turns counts into start positions.
fn starts(counts: &mut [usize]) {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

/// Sorts entries of which nearly all are near their final position.
fn insertion_sort(entries: &mut [u64]) {
    let mut steps = 0;
    for i in 1..entries.len() {
        let (entry, mut at) = (entries[i], i);
        while at > 0 && entries[at - 1] > entry {
            entries[at] = entries[at - 1];
            at -= 1;
        }
        entries[at] = entry;
        steps += i - at;
        // Hashes that share their first bits may be an attack.
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
        let (mut sort, mut sorted) = (RadixSort::default(), vec![0; entries.len()]);
        let mut found = Vec::new();
        for bucket in 0..sort.distribute(&entries) {
            found.extend_from_slice(sort.sort(bucket, &mut sorted));
        }
        assert!(found == expected, "{} entries", entries.len());
    }

    fn hash(i: u32) -> u32 {
        (u64::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 29) as u32
    }

    #[test]
    fn buckets_ascend_and_are_sorted() {
        for count in [0, 1, 2, 3, 100, 4095, 4096, 8191, 8192, 8193, 20_000, 300_000] {
            check((0..count).map(hash));
            check((0..count).map(|i| hash(i / 3)));
            check((0..count).map(|i| hash(i % 1000)));
            check((0..count).rev());
            check((0..count).map(|_| 7));
            check((0..count).map(|i| u32::MAX - i));
        }
    }

    /// Only low bits differ, in descending order, so that no digit separates the entries.
    #[test]
    fn hashes_that_share_their_high_bits_are_sorted() {
        check((0..200_000_u32).map(|i| 0xABCD_0000 | (u32::from(u16::MAX) - i % 65_536)));
        check((0..200_000_u32).map(|i| if i % 2 == 0 { hash(i) } else { 200_000 - i }));
    }
}
