//! The columns of samples by which groups of equal signatures are sorted, so that matching pairs come together.
//!
//! A matching pair has at least E of k equal samples, so it differs in at most d = k - E. If the samples are split into
//! d + 1 columns, the pair agrees in one of them entirely (pigeonhole principle). The same holds for slots: of L slots
//! at least max(m, L - d) match, so one of any L - max(m, L - d) + 1 slots matches. The plan takes the columns or the
//! slots, whichever bring fewer unrelated pairs together, or compares all pairs if that costs less.

use crate::matching::Minimum;
use crate::query;
use crate::scheme::Scheme;
use crate::sketch::SlotReader;

/// Nanoseconds, measured on one machine. Only their ratios matter.
mod cost {
    /// Hashing and sorting a group by one column.
    pub(super) const SORT: f64 = 20.0;
    /// Comparing two signatures that agree in a column.
    pub(super) const CANDIDATE: f64 = 15.0;
    /// Comparing a word of two signatures, if all pairs are compared.
    pub(super) const WORD: f64 = 0.4;
}

/// The probability that unrelated sets share a sample because of a popular element. Chance agreement of b bits comes on
/// top.
const POPULAR: f64 = 0.01;

/// Some samples, as words of a plane with a mask for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span(Vec<(u32, u64)>);

impl Span {
    fn of(samples: impl Iterator<Item = u32>) -> Span {
        let mut words: Vec<(u32, u64)> = Vec::new();
        for sample in samples {
            let (word, bit) = (sample / 64, 1 << (sample % 64));
            match words.last_mut() {
                Some((last, mask)) if *last == word => *mask |= bit,
                Some(_) | None => words.push((word, bit)),
            }
        }
        Span(words)
    }

    /// Whether all of these samples are among the equal ones.
    pub(super) fn within(&self, equal: &[u64]) -> bool {
        self.0.iter().all(|(word, mask)| equal[*word as usize] & mask == *mask)
    }

    fn has(&self, sample: u32) -> bool {
        self.0.iter().any(|(word, mask)| *word == sample / 64 && mask >> (sample % 64) & 1 == 1)
    }

    /// A hash of the samples.
    fn hash(&self, planes: &[u64], words: usize) -> u32 {
        let mut hash = 0_u64;
        for &(word, mask) in &self.0 {
            // `step_by` would divide.
            let mut at = word as usize;
            while let Some(plane) = planes.get(at) {
                hash = (hash.rotate_left(23) ^ (plane & mask)).wrapping_mul(ODD);
                at += words;
            }
        }
        finalize(hash)
    }

    /// A cheaper hash, if the samples are consecutive in one word of a plane and have at most 64 bits together.
    fn packed(&self, planes: usize) -> Option<Packed> {
        let [(word, mask)] = self.0[..] else { return None };
        let (shift, count) = (mask.trailing_zeros(), mask.count_ones());
        let low = mask >> shift;
        let fits = low.trailing_ones() == count && count as usize * planes <= 64;
        fits.then_some(Packed { word: word as usize, shift, count, low })
    }
}

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes all bits of a number into 32 bits.
#[inline(always)]
fn finalize(hash: u64) -> u32 {
    ((hash ^ hash >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32) as u32
}

/// Consecutive samples in one word of a plane.
#[derive(Clone, Copy)]
struct Packed {
    word: usize,
    shift: u32,
    count: u32,
    low: u64,
}

impl Packed {
    /// Concatenates the samples plane by plane, which takes a third of the time of mixing each plane.
    #[inline(always)]
    fn hash(self, planes: &[u64], words: usize) -> u32 {
        let (mut bits, mut at) = (0, self.word);
        while let Some(plane) = planes.get(at) {
            bits = bits << (self.count % 64) | plane >> self.shift & self.low;
            at += words;
        }
        finalize(bits.wrapping_mul(ODD))
    }
}

/// A column, by which groups are sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Column {
    /// Some samples. They may be those of a slot that is not hashed.
    Samples(Span),
    /// The hashed value of a slot. It can be equal although samples differ.
    Slot(usize),
}

/// How pairs are brought together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    /// By sorting by each of these columns.
    Columns(Vec<Column>),
    /// By comparing all pairs.
    Scan,
    /// Not at all: no pair can match.
    Nothing,
}

/// The plan for a number of groups: the requested one if it is possible, otherwise the one with the least estimated
/// cost.
pub(super) fn plan(
    scheme: &Scheme,
    minimum: Minimum,
    groups: usize,
    requested: Option<query::Plan>,
) -> Plan {
    let (k, slots) = (scheme.samples, scheme.slots);
    let Some(differ) = k.checked_sub(minimum.equal_samples) else { return Plan::Nothing };
    let n = groups as f64;
    let pairs = n * (n - 1.0).max(0.0) / 2.0;
    let cost = |columns: u32, together: f64| {
        f64::from(columns) * (n * cost::SORT + pairs * together.min(1.0) * cost::CANDIDATE)
    };
    let chance = f64::from(scheme.bits).exp2().recip() + POPULAR;
    let scan = pairs * words_compared(scheme, minimum) * cost::WORD;
    let mut best = (scan, Plan::Scan);
    match requested {
        Some(query::Plan::Scan) => return Plan::Scan,
        Some(query::Plan::Probe) => best.0 = f64::INFINITY,
        None => {}
    }
    if differ < k {
        let together = chance.powi((k / (differ + 1)) as i32);
        let cost = cost(differ + 1, together);
        if cost < best.0 {
            let samples: Vec<u32> = (0..k).collect();
            best = (cost, Plan::Columns(split(&samples, differ + 1)));
        }
    }
    if minimum.slots > 0 {
        let (count, g) = (u32::from(slots.count), slots.samples_per_slot);
        let common = minimum.slots.max(count.saturating_sub(differ));
        let folded = u32::from(g) * u32::from(scheme.bits) > u32::from(slots.value_bits);
        let hashed = if folded { f64::from(slots.value_bits).exp2().recip() } else { 0.0 };
        let columns = count + 1 - common.min(count);
        if cost(columns, chance.powi(g.into()) + hashed) < best.0 {
            let g = u32::from(g);
            let column = |slot: u32| match folded {
                true => Column::Slot(slot as usize),
                false => Column::Samples(Span::of(slot * g..slot * g + g)),
            };
            best.1 = Plan::Columns((0..columns).map(column).collect());
        }
    }
    best.1
}

/// How many planes are enough to reject nearly all unrelated pairs, if a match needs `equal` equal samples. In p
/// planes, one in 2^p of unrelated samples agrees by chance.
pub(super) fn planes_to_reject(scheme: &Scheme, equal: u32) -> u8 {
    let (k, equal) = (f64::from(scheme.samples), f64::from(equal));
    let rejects = |planes: &u8| {
        let by_chance = k * (f64::from(*planes).exp2().recip() + POPULAR).min(1.0);
        equal > by_chance + 3.0 * by_chance.sqrt()
    };
    (1..scheme.bits).find(rejects).unwrap_or(scheme.bits)
}

/// The number of words that are compared before an unrelated pair is rejected.
fn words_compared(scheme: &Scheme, minimum: Minimum) -> f64 {
    (usize::from(planes_to_reject(scheme, minimum.equal_samples)) * scheme.words_per_plane()) as f64
}

/// Splits samples into columns of about equal length. There must be at least as many samples as columns.
fn split(samples: &[u32], columns: u32) -> Vec<Column> {
    let cut = |i: u32| samples.len() * i as usize / columns as usize;
    let column = |i| Column::Samples(Span::of(samples[cut(i)..cut(i + 1)].iter().copied()));
    (0..columns).map(column).collect()
}

/// Further columns for groups that agree in all columns of `agreed`; `None` if comparing all of these groups costs
/// less.
pub(super) fn refine(
    scheme: &Scheme,
    minimum: Minimum,
    agreed: &[&Column],
    groups: usize,
) -> Option<Vec<Column>> {
    let agrees = |sample: u32| {
        agreed.iter().any(|column| matches!(column, Column::Samples(span) if span.has(sample)))
    };
    let left: Vec<u32> = (0..scheme.samples).filter(|sample| !agrees(*sample)).collect();
    let columns = scheme.samples.checked_sub(minimum.equal_samples)? + 1;
    if columns as usize > left.len() {
        return None;
    }
    let (n, columns_f) = (groups as f64, f64::from(columns));
    let chance = f64::from(scheme.bits).exp2().recip() + POPULAR;
    let together = columns_f * chance.powi((left.len() / columns as usize) as i32);
    let whole = n * n / 2.0 * words_compared(scheme, minimum) * cost::WORD;
    let refined = columns_f * n * 2.0 * cost::SORT + n * n / 2.0 * together * cost::CANDIDATE;
    (refined < whole / 2.0).then(|| split(&left, columns))
}

/// Reads columns of signatures.
#[derive(Debug)]
pub(super) struct ColumnReader {
    words: usize,
    words_per_signature: usize,
    slots: SlotReader,
    values: Vec<u32>,
}

impl ColumnReader {
    pub(super) fn new(scheme: &Scheme) -> ColumnReader {
        let slots = SlotReader::new(scheme);
        let values = vec![0; slots.count()];
        let (words, words_per_signature) = (scheme.words_per_plane(), scheme.words_per_signature());
        ColumnReader { words, words_per_signature, slots, values }
    }

    /// The hashes of all signatures in a column. `all` has their planes, signature after signature.
    pub(super) fn hashes(&mut self, column: &Column, all: &[u64], mut take: impl FnMut(u32)) {
        let words = self.words;
        let signatures = all.chunks_exact(self.words_per_signature);
        let packed = match column {
            Column::Samples(span) => span.packed(self.words_per_signature / words),
            Column::Slot(_) => None,
        };
        match packed {
            Some(packed) => signatures.for_each(|planes| take(packed.hash(planes, words))),
            None => signatures.for_each(|planes| take(self.hash(column, planes))),
        }
    }

    /// The hash of one signature. It need not be that of [`ColumnReader::hashes`].
    pub(super) fn hash(&mut self, column: &Column, planes: &[u64]) -> u32 {
        match column {
            Column::Samples(span) => span.hash(planes, self.words),
            Column::Slot(slot) => {
                self.slots.read(planes, &mut self.values);
                // Entries are distributed by the highest bits. Multiplying by an odd number is a bijection that moves
                // the bits of short values there.
                self.values[*slot].wrapping_mul(0x9E37_79B1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, Slots, presets};
    use crate::sketch::{Signature, Sketcher};

    /// Both kinds of hashes are equal if the samples of a column are equal and, with these seeds, only then.
    #[test]
    fn hashes_are_equal_exactly_where_samples_are() {
        for scheme in [Scheme::near_duplicate(), Scheme::precise(), Scheme::rdc()] {
            let sketcher = Sketcher::new(&scheme);
            let sets = (0..200_u64).map(|i| i / 4 * 1000..i / 4 * 1000 + 100 + i % 4);
            let signatures: Vec<_> =
                sets.map(|set| sketcher.sketch(&set.collect::<Vec<_>>()).unwrap()).collect();
            let all: Vec<u64> = signatures.iter().flat_map(Signature::planes).copied().collect();
            let mut reader = ColumnReader::new(&scheme);
            let samples: Vec<u32> = (0..scheme.samples).collect();
            let some: Vec<u32> = samples.iter().copied().filter(|s| s % 3 != 1).collect();
            for (samples, columns) in [(&samples, 13), (&samples, 3), (&some, 9)] {
                for column in split(samples, columns) {
                    let Column::Samples(span) = &column else { panic!() };
                    let mut hashes = Vec::new();
                    reader.hashes(&column, &all, |hash| hashes.push(hash));
                    let single: Vec<u32> =
                        signatures.iter().map(|s| reader.hash(&column, s.planes())).collect();
                    assert_eq!(hashes.len(), signatures.len());
                    for (i, a) in signatures.iter().enumerate() {
                        for (j, b) in signatures[..i].iter().enumerate() {
                            let agree = (0..scheme.samples).filter(|sample| span.has(*sample)).all(
                                |sample| a.sample(sample as usize) == b.sample(sample as usize),
                            );
                            assert_eq!(hashes[i] == hashes[j], agree, "{i} {j} {column:?}");
                            assert_eq!(single[i] == single[j], agree, "{i} {j} {column:?}");
                        }
                    }
                }
            }
        }
    }

    fn columns(plan: Plan) -> Vec<Column> {
        match plan {
            Plan::Columns(columns) => columns,
            other => panic!("{other:?}"),
        }
    }

    /// Every sample is in one column, and columns are about equally long.
    #[test]
    fn columns_are_a_partition() {
        for (k, parts) in [(64, 13), (64, 64), (128, 25), (100, 7), (1, 1), (130, 2)] {
            let all = split(&(0..k).collect::<Vec<_>>(), parts);
            assert_eq!(all.len(), parts as usize);
            let mut times = vec![0; k as usize];
            let mut lengths = Vec::new();
            for column in &all {
                let Column::Samples(span) = column else { panic!() };
                (0..k).filter(|s| span.has(*s)).for_each(|s| times[s as usize] += 1);
                lengths.push((0..k).filter(|s| span.has(*s)).count());
            }
            assert!(times.iter().all(|t| *t == 1), "{k} {parts}");
            assert!(lengths.iter().max().unwrap() - lengths.iter().min().unwrap() <= 1);
        }
    }

    #[test]
    fn plans_follow_what_is_asked() {
        let default = Scheme::near_duplicate();
        // 52 of 64 samples: 12 differ, so 13 columns of 4 and 5 samples.
        let high = plan(&default, Minimum { equal_samples: 52, slots: 1 }, 100_000, None);
        assert_eq!(columns(high).len(), 13);
        // 20 of 64: slots of three samples are better than columns of one.
        let low = plan(&default, Minimum { equal_samples: 20, slots: 1 }, 100_000, None);
        assert_eq!(columns(low).len(), 21);
        // Two slots must match: one of any twenty does.
        let two = plan(&default, Minimum { equal_samples: 20, slots: 2 }, 100_000, None);
        assert_eq!(columns(two).len(), 20);
        assert_eq!(
            plan(&default, Minimum { equal_samples: 4, slots: 0 }, 100_000, None),
            Plan::Scan
        );
        assert_eq!(
            plan(&default, Minimum { equal_samples: 65, slots: 1 }, 100_000, None),
            Plan::Nothing
        );
        let without = Parameters { slots: Slots::NONE, ..presets::PRECISE };
        let without = Scheme::new(without).unwrap();
        assert_eq!(
            columns(plan(&without, Minimum { equal_samples: 104, slots: 0 }, 100_000, None)).len(),
            25
        );
        // All pairs of few sets are compared, unless a probe is requested.
        let few = Minimum { equal_samples: 52, slots: 1 };
        assert_eq!(plan(&default, few, 50, None), Plan::Scan);
        assert_eq!(plan(&default, few, 100_000, Some(query::Plan::Scan)), Plan::Scan);
        assert_eq!(columns(plan(&default, few, 50, Some(query::Plan::Probe))).len(), 13);
        let hashed = plan(&Scheme::bing(), Minimum { equal_samples: 0, slots: 4 }, 100_000, None);
        assert_eq!(columns(hashed), (0..3).map(Column::Slot).collect::<Vec<_>>());
    }

    /// Further columns have only samples in which groups need not agree yet.
    #[test]
    fn refined_columns_leave_out_agreed_samples() {
        let default = Scheme::near_duplicate();
        let minimum = Minimum { equal_samples: 52, slots: 1 };
        let all = columns(plan(&default, minimum, 100_000, None));
        let fine = refine(&default, minimum, &[&all[3]], 100_000).unwrap();
        assert_eq!(fine.len(), 13);
        let has = |column: &Column, s| matches!(column, Column::Samples(span) if span.has(s));
        for sample in 0..64 {
            let there = fine.iter().filter(|column| has(column, sample)).count();
            assert_eq!(there, usize::from(!has(&all[3], sample)));
        }
        assert_eq!(refine(&default, minimum, &[&all[3]], 20), None);
        assert_eq!(refine(&default, Minimum { equal_samples: 0, slots: 1 }, &[], 100_000), None);
    }
}
