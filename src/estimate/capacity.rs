//! How many sets the slots of a scheme can tell apart, and schemes for a number of sets.
//!
//! In: a scheme or parameters, and a number of sets. Out: how many unrelated sets a query meets by chance, and parameters
//! or slots that keep this number small.
//!
//! Slots of v bits have equal values by chance in one of `2^v` unrelated sets. With L slots and N sets, a query compares
//! about `N L / 2^v` sets in vain: the *chance candidates* of the scheme. They grow with N, and each costs a read from a
//! random place. A scheme holds N sets if there are at most [`CHANCE_CANDIDATES`].
//!
//! - More bits per sample make chance agreements rarer and change nothing else. The default, 21 slots of 3 samples, holds
//!   7.9 million sets with 8 bits per sample, 63 million with 9, 511 million with 10, and 1,363 million with 11. Values have
//!   up to 32 bits, so L slots of which one must match never hold more than `10 * 2^32 / L` sets.
//! - Stored signatures cannot get more bits. They can have longer slots, fewer slots, or slots of which two must match.
//!   That finds fewer of the less similar sets.
//!
//! Sets with something in common meet more often than by chance. Only longer slots help against these.

use super::law::Law;
use super::planning::{accidental, found, slot_agreement};
use crate::error::{Error, Result};
use crate::limits::{MAX_BITS, MAX_SAMPLES, MAX_VALUE_BITS};
use crate::scheme::{Measure, Packing, Parameters, Scheme, Slots};

/// The most chance candidates of a query. In memory, comparing so many costs less than finding the posting lists of a
/// query.
pub const CHANCE_CANDIDATES: f64 = 10.0;

/// The most ids of unrelated sets in the posting lists of a query, if several slots must match. In memory, reading them
/// costs as much as comparing some hundred candidates.
const CHANCE_POSTINGS: f64 = 10_000.0;

/// The most slots that must match.
const MOST_MATCHES: u16 = 3;

/// The longest slots that are tried.
const LONGEST: u16 = 64;

/// The probability with which slots find the sets for which they were made.
const FOUND: f64 = 0.9;

/// Slots count as made for at least this similarity. Sets below it have little in common.
const LEAST: f64 = 0.3;

/// How much of the probability may be lost. Chance agreements contribute to it, and more bits make them rarer.
const LOSS: f64 = 0.005;

/// How many times as many samples a scheme may get to hold more sets.
const MOST_TIMES: u32 = 8;

/// The expected number of unrelated sets, of `sets`, that a query compares in vain. Without an index this is 0, although a
/// query compares all sets.
///
/// ```
/// use ringer::{Scheme, estimate::capacity::chance_candidates};
/// let default = Scheme::default();
/// assert!((chance_candidates(&default, 1_000_000) - 1.25).abs() < 0.01);
/// assert!((chance_candidates(&default, 100_000_000) - 125.2).abs() < 0.1);
/// ```
pub fn chance_candidates(scheme: &Scheme, sets: u64) -> f64 {
    match scheme.slots.count {
        0 => 0.0,
        _ => accidental(scheme, sets, scheme.slots.min_matches.into()),
    }
}

/// Whether a query meets more than [`CHANCE_CANDIDATES`] among so many sets. Then the database needs other slots
/// ([`slots_for`]).
pub fn is_outgrown(scheme: &Scheme, sets: u64) -> bool {
    chance_candidates(scheme, sets) > CHANCE_CANDIDATES
}

/// The parameters changed so that they hold this many sets and find as many similar sets as before, to within half a
/// percent. A preset that holds them stays as it is. Otherwise samples get more bits, and if that is not enough, the
/// smallest scheme with more samples and other slots is chosen. Fails if there is none, or if the parameters have no index.
///
/// ```
/// use ringer::{Scheme, presets, estimate::{capacity, planning::found}};
/// let scheme = Scheme::new(capacity::parameters_for(presets::DEFAULT, 1_000_000_000)?)?;
/// assert!(capacity::chance_candidates(&scheme, 1_000_000_000) <= capacity::CHANCE_CANDIDATES);
/// assert_eq!((scheme.samples, scheme.bits, scheme.slots.count), (64, 11, 21));
/// assert!(found(&scheme, 0.5) > 0.93);
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn parameters_for(base: Parameters, sets: u64) -> Result<Parameters> {
    let scheme = Scheme::new(base)?;
    check_index(&scheme)?;
    if !is_outgrown(&scheme, sets) {
        return Ok(base);
    }
    let wanted = Wanted::of(&scheme);
    let whole = base.packing == Packing::LowBits && base.measure != Measure::Cosine;
    let most_bits = if whole { MAX_BITS } else { base.bits };
    for bits in base.bits..=most_bits {
        let slots =
            Slots { value_bits: value_bits(base.slots.samples_per_slot, bits), ..base.slots };
        let same = Scheme::new(base.with_bits(bits).with_slots(slots));
        if let Ok(same) = same
            && !is_outgrown(&same, sets)
            && wanted.is_met(&same)
        {
            return Ok(*same);
        }
    }
    let most = base.samples.saturating_mul(MOST_TIMES).min(MAX_SAMPLES);
    let step = |k: &u32| (k + k / 8 + 1).checked_next_multiple_of(64).filter(|k| *k <= most);
    let mut least: Option<(f64, Scheme)> = None;
    for samples in std::iter::successors(Some(base.samples), step) {
        for bits in base.bits..=most_bits {
            let p = base.with_samples(samples).with_bits(bits);
            let scheme = longest_slots(p, wanted, sets)
                .and_then(|slots| Scheme::new(p.with_slots(slots)).ok());
            let Some(scheme) = scheme else { continue };
            let (signature, index) = bytes_a_set(&scheme, sets);
            let size = signature + index;
            if least.as_ref().is_none_or(|(least, _)| size < *least) {
                least = Some((size, scheme));
            }
        }
    }
    least.map(|(_, scheme)| *scheme).ok_or_else(|| too_many(sets))
}

/// Slots for this many sets, with the samples and bits that the scheme has: those that find most of the sets for which
/// its slots were made. Slots that hold so many sets stay as they are; others do not get shorter. Fails if no slots hold
/// so many sets, or if the scheme has no index.
///
/// ```
/// use ringer::{Scheme, estimate::capacity::slots_for};
/// let slots = slots_for(&Scheme::default(), 100_000_000)?;
/// assert_eq!((slots.count, slots.samples_per_slot, slots.min_matches), (21, 3, 2));
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn slots_for(scheme: &Scheme, sets: u64) -> Result<Slots> {
    check_index(scheme)?;
    if !is_outgrown(scheme, sets) {
        return Ok(scheme.slots);
    }
    let wanted = Wanted::of(scheme);
    let lengths = scheme.slots.samples_per_slot..=LONGEST.max(scheme.slots.samples_per_slot);
    let all = (1..=MOST_MATCHES).flat_map(|m| lengths.clone().map(move |g| (m, g)));
    let most = all.filter_map(|(min_matches, samples_per_slot)| {
        let with = |count| {
            let value_bits = value_bits(samples_per_slot, scheme.bits);
            let slots = Slots { count, samples_per_slot, value_bits, min_matches };
            Scheme::new(scheme.with_slots(slots)).ok()
        };
        let holds = |count| with(count).is_some_and(|scheme| holds(&scheme, sets));
        // More slots find more sets, and meet more by chance.
        let count = last(min_matches, most_slots(scheme, samples_per_slot), holds)?;
        with(count)
    });
    let recall = |scheme: &Scheme| found(scheme, wanted.similarity);
    let best = most.max_by(|a, b| recall(a).total_cmp(&recall(b)));
    best.map(|scheme| scheme.slots).ok_or_else(|| too_many(sets))
}

/// What slots are for: to find sets of this similarity with at least this probability.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) similarity: f64,
    pub(super) recall: f64,
}

impl Wanted {
    /// What the slots of a scheme do at the similarity that they were made for.
    fn of(scheme: &Scheme) -> Wanted {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            if found(scheme, middle) < FOUND { low = middle } else { high = middle }
        }
        let similarity = high.max(LEAST);
        Wanted { similarity, recall: found(scheme, similarity) - LOSS }
    }

    pub(super) fn is_met(self, scheme: &Scheme) -> bool {
        found(scheme, self.similarity) >= self.recall
    }
}

/// The similarity for which the slots of a scheme were made: they find sets that are so similar with probability .9. It
/// is at least .3, even if they find less similar ones.
pub fn made_for(scheme: &Scheme) -> f64 {
    Wanted::of(scheme).similarity
}

/// The longest slots that do what is wanted, as few as possible, if they hold this many sets. If no slots of which one
/// must match do, two or three must.
pub(super) fn longest_slots(parameters: Parameters, wanted: Wanted, sets: u64) -> Option<Slots> {
    let plain = Scheme::new(parameters.with_slots(Slots::NONE)).ok()?;
    let of = |min_matches: u16| {
        let longest = u16::try_from(parameters.samples).unwrap_or(LONGEST).min(LONGEST);
        let scheme = (1..=longest).rev().find_map(|samples_per_slot| {
            let with = |count| {
                let value_bits = value_bits(samples_per_slot, parameters.bits);
                let slots = Slots { count, samples_per_slot, value_bits, min_matches };
                Scheme::new(parameters.with_slots(slots)).ok()
            };
            let misses = |count| with(count).is_some_and(|scheme| !wanted.is_met(&scheme));
            let most = most_slots(&plain, samples_per_slot);
            if most < min_matches || misses(most) {
                return None;
            }
            let count = last(min_matches, most, misses).map_or(min_matches, |count| count + 1);
            with(count)
        })?;
        holds(&scheme, sets).then_some(scheme.slots)
    };
    (1..=MOST_MATCHES).find_map(of)
}

/// Whether a query meets few of so many sets by chance, as candidates and in posting lists.
fn holds(scheme: &Scheme, sets: u64) -> bool {
    let slots = scheme.slots;
    let alike = slot_agreement(Law::of(scheme).agreement(0.0), &slots, scheme.bits);
    let postings = sets as f64 * f64::from(slots.count) * alike;
    !is_outgrown(scheme, sets) && postings <= CHANCE_POSTINGS
}

/// The last number from `first` to `most` for which a condition holds, if it holds up to some number.
fn last(first: u16, most: u16, holds: impl Fn(u16) -> bool) -> Option<u16> {
    if most < first || !holds(first) {
        return None;
    }
    let (mut low, mut high) = (u32::from(first), u32::from(most) + 1);
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if holds(middle as u16) { low = middle } else { high = middle }
    }
    Some(low as u16)
}

/// As many slots of g samples as a signature has samples for.
fn most_slots(scheme: &Scheme, samples_per_slot: u16) -> u16 {
    let most = scheme.samples / u32::from(samples_per_slot.max(1));
    u16::try_from(most).unwrap_or(u16::MAX)
}

/// As many bits as the samples of a slot have, up to the limit.
fn value_bits(samples_per_slot: u16, bits: u8) -> u8 {
    let all = u32::from(samples_per_slot) * u32::from(bits);
    all.min(MAX_VALUE_BITS.into()) as u8
}

fn check_index(scheme: &Scheme) -> Result<()> {
    match scheme.slots.count {
        0 => {
            let limit = "a scheme without slots has no index to choose: give slots, or leave out the number of sets";
            Err(Error::invalid("slots none", limit))
        }
        _ => Ok(()),
    }
}

fn too_many(sets: u64) -> Error {
    let limit = format!(
        "no slots of such signatures keep chance candidates below {CHANCE_CANDIDATES}: choose more bits or samples"
    );
    Error::invalid(format!("{sets} sets"), limit)
}

/// Bytes of the index per set. Each slot has an entry, with the bits of a value or of an id, whichever is more, and
/// its share of the directory (`format-spec/postings.md`), where buckets share blocks of 64 bytes.
pub(crate) fn index_bytes(scheme: &Scheme, sets: u64) -> f64 {
    let (sets, value_bits) = (sets.max(1), f64::from(scheme.slots.value_bits));
    let id_bits = f64::from(u64::BITS - (sets - 1).leading_zeros());
    let buckets = id_bits.min(value_bits).exp2();
    let in_block = (360.0 / (1.0 + (sets as f64 / buckets).ceil())).floor().max(1.0);
    let directory = 512.0 / in_block * buckets / sets as f64;
    f64::from(scheme.slots.count) * (id_bits.max(value_bits) + directory) / 8.0
}

/// Bytes per set in a large compacted database, without the key: those of the signature and its cardinality code, and
/// those of the index.
pub fn bytes_a_set(scheme: &Scheme, sets: u64) -> (f64, f64) {
    let signature =
        8.0 * scheme.words_per_signature() as f64 + f64::from(scheme.cardinality.bits()) / 8.0;
    (signature, index_bytes(scheme, sets))
}

#[cfg(test)]
#[path = "capacity_tests.rs"]
mod tests;
