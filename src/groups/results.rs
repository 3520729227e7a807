//! What the caller gets: pairs, groups, progress, and a report at the end.

use super::signature_table::SignatureTable;
use crate::error::Result;
use crate::estimate::{Comparison, Estimate};

/// Two sets that match.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Pair {
    /// The smaller key. For a group of equal signatures, its smallest key.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::key"))]
    pub a: Box<[u8]>,
    /// The larger key. For a group, its smallest key.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::key"))]
    pub b: Box<[u8]>,
    /// How many slots they have in common.
    pub matching_slots: u32,
    /// All measures of the two sets. `a` is the first set.
    pub comparison: Comparison,
    /// Whether the pair does not [certainly](crate::Accept::Certain) reach the threshold. More samples, or the sets
    /// themselves, may decide either way.
    pub undecided: bool,
    /// How many keys have the signature of `a`, itself included; 1 if groups were [expanded](super::Pairs::expand).
    pub a_keys: u32,
    /// The same for `b`.
    pub b_keys: u32,
}

impl Pair {
    /// Returns the similarity of the sets: their resemblance, or the cosine if the database measures that. It is exact if the pair
    /// was [verified](super::Pairs::verify).
    pub fn similarity(&self) -> Estimate {
        self.comparison.similarity()
    }
}

/// A group or a pair that was found.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most are pairs, and boxing them would cost an allocation each"
)]
pub enum Found<'a> {
    /// Sets whose signatures are equal. A group comes before all pairs of which it is `a`.
    Group(Group<'a>),
    /// Two sets or two groups that match.
    Pair(Pair),
}

/// Keys that share one signature, and so are probably duplicates. If pairs are [verified](super::Pairs::verify), keys whose
/// sets are equal.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    pub(super) table: &'a SignatureTable<'a>,
    /// Ranks of its keys, ascending.
    pub(super) ranks: &'a [u32],
}

impl<'a> Group<'a> {
    /// Returns the number of keys, which is at least two.
    #[expect(clippy::len_without_is_empty, reason = "a group is never empty")]
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Returns the smallest key, by which pairs name the group.
    pub fn representative(&self) -> Result<Box<[u8]>> {
        self.table.key(self.ranks[0])
    }

    /// Iterates over all keys in ascending order. Each is read when the iterator reaches it.
    pub fn keys(&self) -> Members<'a> {
        Members { table: self.table, ranks: self.ranks.iter() }
    }
}

/// The keys of a group or cluster in ascending order. Each is read when the iterator reaches it.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    pub(super) table: &'a SignatureTable<'a>,
    pub(super) ranks: std::slice::Iter<'a, u32>,
}

impl Iterator for Members<'_> {
    type Item = Result<Box<[u8]>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ranks.next().map(|rank| self.table.key(*rank))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ranks.size_hint()
    }
}

impl ExactSizeIterator for Members<'_> {}

impl std::iter::FusedIterator for Members<'_> {}

#[cfg(feature = "serde")]
impl serde::Serialize for Members<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        crate::serialize::read_keys(self.clone(), serializer)
    }
}

/// A phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Rows are read.
    Reading,
    /// Signatures are sorted and compared.
    Joining,
    /// Results are given to the caller.
    Giving,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The current phase.
    pub phase: Phase,
    /// Steps of the phase that are done.
    pub done: u64,
    /// Steps that the phase has, roughly.
    pub total: u64,
}

/// What a run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Report {
    /// Sets that are not empty.
    pub sets: u64,
    /// Their distinct signatures.
    pub signatures: u64,
    /// Groups of equal signatures.
    pub groups: u64,
    /// Comparisons of two signatures.
    pub compared: u64,
    /// Pairs of distinct signatures that match, before they were [verified](super::Pairs::verify).
    pub pairs: u64,
    /// Pairs that were dropped because one of their sets could not be read or has changed.
    pub lost: u64,
    /// Whether a set had more candidates than [`max_candidates`](super::Pairs::max_candidates), so that pairs may be
    /// missing.
    pub truncated: bool,
    /// Whether the caller ended the run early.
    pub cancelled: bool,
}
