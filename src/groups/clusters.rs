//! Clusters: sets that hang together.

use std::ops::ControlFlow;

use super::ask::Pairs;
use super::found::{Members, Report};
use crate::error::Result;
use crate::estimate::Comparison;

/// What makes a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Linkage {
    /// Connected components: from every set to every other there is a chain of pairs. Two sets of a cluster
    /// may be less alike than asked for.
    #[default]
    Connected,
    /// Every member is alike enough to the representative. Sets are taken in the order of their keys: each one
    /// that is in no cluster yet becomes a representative, and all that look like it and are in no cluster yet
    /// become its members.
    Strict,
}

/// Clusters of sets that look like each other: a question to a snapshot.
#[derive(Debug)]
#[must_use = "nothing is looked for until it is run"]
pub struct Clusters<'a> {
    pairs: Pairs<'a>,
    linkage: Linkage,
}

/// Sets that hang together; two at least.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Cluster<'a> {
    /// The smallest key.
    pub representative: Box<[u8]>,
    /// How the member that is least like the representative compares with it, the representative being the
    /// first set.
    pub lowest: Comparison,
    /// All keys in order, the representative first.
    pub keys: Members<'a>,
}
