//! What is given to a visitor, and what is said at the end.

use super::roster::Roster;
use crate::error::Result;
use crate::estimate::{Comparison, Estimate};

/// Two sets that look like each other.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Pair {
    /// The smaller key: of a group of equal signatures, the smallest of all.
    pub a: Box<[u8]>,
    /// The larger key: of a group, the smallest of all.
    pub b: Box<[u8]>,
    /// How many slots they have in common.
    pub matching_slots: u32,
    /// What the two signatures say about the sets, `a` being the first: all measures.
    pub comparison: Comparison,
    /// Whether the pair does not [certainly](crate::Accept::Certain) reach the least similarity that was asked for: more samples, or a
    /// look at the sets themselves, may decide either way.
    pub undecided: bool,
    /// How many keys have the signature of `a`, itself included: 1 if it is no group, or if groups were
    /// [taken apart](super::Pairs::expand).
    pub a_keys: u32,
    /// The same for `b`.
    pub b_keys: u32,
}

impl Pair {
    /// How alike the sets are: their resemblance, or the cosine where the database measures that. Exact where the pair was
    /// [verified](super::Pairs::verify).
    pub fn similarity(&self) -> Estimate {
        self.comparison.similarity()
    }
}

/// One thing that was found.
#[derive(Debug)]
pub enum Found<'a> {
    /// Sets whose signatures are equal. A group comes before all pairs that it is the `a` of.
    Group(Group<'a>),
    /// Two sets that look like each other; or two groups, of which all sets do.
    Pair(Pair),
}

/// Keys that share one signature: copies, as far as it can tell. Where pairs are [verified](super::Pairs::verify), keys whose
/// sets are equal.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    pub(super) roster: &'a Roster<'a>,
    /// Places in key order.
    pub(super) ranks: &'a [u32],
}

impl<'a> Group<'a> {
    /// How many keys there are; at least two.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// The smallest key, by which pairs name the group.
    pub fn representative(&self) -> Result<Box<[u8]>> {
        self.roster.key(self.ranks[0])
    }

    /// All keys in order, read as they are asked for.
    pub fn keys(&self) -> Members<'a> {
        Members { roster: self.roster, ranks: self.ranks.iter() }
    }
}

/// Keys of a group or a cluster, in order, read as they are asked for.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    pub(super) roster: &'a Roster<'a>,
    pub(super) ranks: std::slice::Iter<'a, u32>,
}

impl Iterator for Members<'_> {
    type Item = Result<Box<[u8]>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ranks.next().map(|rank| self.roster.key(*rank))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ranks.size_hint()
    }
}

impl ExactSizeIterator for Members<'_> {}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Rows are read.
    Reading,
    /// Signatures are sorted and compared.
    Joining,
    /// What was found is given to the visitor.
    Giving,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// Steps of the phase that are done.
    pub done: u64,
    /// Steps that it has, about.
    pub total: u64,
}

/// What a run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Sets that were looked at: all that are not empty.
    pub sets: u64,
    /// Distinct signatures of them.
    pub signatures: u64,
    /// Groups of equal signatures.
    pub groups: u64,
    /// Comparisons of two signatures.
    pub compared: u64,
    /// Pairs of distinct signatures that are alike enough by their signatures, before they were
    /// [verified](super::Pairs::verify).
    pub pairs: u64,
    /// Pairs that were dropped because one of their sets could not be read again, or has changed.
    pub lost: u64,
    /// Whether a set had more candidates than may be looked at
    /// ([`max_candidates`](super::Pairs::max_candidates)), so that pairs may be missing.
    pub truncated: bool,
    /// Whether the visitor or the progress callback ended the run early.
    pub cancelled: bool,
}
