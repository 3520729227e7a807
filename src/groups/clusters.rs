//! Clusters: sets that hang together.
//!
//! Pairs come in the order of their keys and are not kept: four bytes for each distinct signature say which
//! cluster it is in, and eight more bring clusters together at the end.

use std::ops::ControlFlow;

use super::ask::Pairs;
use super::found::{Members, Report};
use super::pairs::{self, Given, ended, go_on};
use super::stop::Step;
use crate::error::Result;
use crate::estimate::Comparison;
use crate::sketch::Sketcher;
use crate::store::state::State;

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
///
/// Clusters have two sets or more, and come in the order of their representatives' keys. Sets with equal
/// signatures are in one cluster always, unless pairs are [verified](Pairs::verify): then equal sets are.
///
/// ```
/// use std::ops::ControlFlow;
/// use ringer::{Database, Options, Scheme};
/// let folder = tempfile::tempdir()?;
/// let db = Database::create(folder.path().join("x.ringer"), &Scheme::near_duplicate(), Options::default())?;
/// db.put("a", &(0..100).collect::<Vec<_>>())?;
/// db.put("b", &(5..105).collect::<Vec<_>>())?;
/// db.put("c", &(10..110).collect::<Vec<_>>())?;
/// db.put("z", &(900..999).collect::<Vec<_>>())?;
///
/// let snapshot = db.snapshot();
/// snapshot.clusters(0.7).run(|cluster| {
///     assert_eq!(&*cluster.representative, b"a");
///     assert_eq!(cluster.keys.len(), 3);
///     println!("the others are like it to {:.2} and more", cluster.lowest.similarity());
///     for key in cluster.keys {
///         println!("{}", key.unwrap().escape_ascii());
///     }
///     ControlFlow::Continue(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// All keys in order, the representative first; read as they are asked for.
    pub keys: Members<'a>,
    /// How many distinct signatures they have.
    pub signatures: usize,
    /// How the member that is least like the representative compares with it, the representative being the
    /// first set. Two other members of a [connected](Linkage::Connected) cluster may be less alike.
    pub lowest: Comparison,
}

impl<'a> Clusters<'a> {
    /// The clusters of a state.
    pub(crate) fn new(state: &'a State, sketcher: &'a Sketcher, min: f64) -> Clusters<'a> {
        Clusters { pairs: Pairs::new(state, sketcher, min), linkage: Linkage::default() }
    }

    /// Puts conditions to the pairs that clusters are made of, and says what the run may take and whom it
    /// tells of its progress: `.pairs(|pairs| pairs.min_matches(2))`.
    pub fn pairs(mut self, ask: impl FnOnce(Pairs<'a>) -> Pairs<'a>) -> Clusters<'a> {
        self.pairs = ask(self.pairs);
        self
    }

    /// What makes a cluster. Default [`Linkage::Connected`].
    pub fn linkage(mut self, linkage: Linkage) -> Clusters<'a> {
        self.linkage = linkage;
        self
    }

    /// Finds all clusters, and gives them one after the other to `visit`, until it breaks.
    pub fn run(self, mut visit: impl FnMut(Cluster<'_>) -> ControlFlow<()>) -> Result<Report> {
        let mut report = Report::default();
        let step = self.go(&mut report, &mut visit);
        ended(step, report)
    }

    fn go(
        self,
        report: &mut Report,
        visit: &mut dyn FnMut(Cluster<'_>) -> ControlFlow<()>,
    ) -> Step {
        let linkage = self.linkage;
        let finding = pairs::find(self.pairs, report)?;
        let mut links = Links::new(finding.roster.groups());
        let given = finding.each(report, &mut |_, _, edge| {
            match linkage {
                Linkage::Connected => links.union(edge.a, edge.b),
                Linkage::Strict => links.adopt(edge.a, edge.b),
            }
            Ok(())
        })?;
        links.give(&given, visit)
    }
}

/// The owner of a group that has none yet: itself, unless another takes it.
const NONE: u32 = u32::MAX;

/// Which groups hang together: each knows one that is not larger, the smallest of a cluster itself or none.
#[derive(Debug)]
struct Links {
    owner: Vec<u32>,
}

impl Links {
    fn new(groups: usize) -> Links {
        Links { owner: vec![NONE; groups] }
    }

    /// The smallest group of a cluster.
    fn root(&mut self, mut group: u32) -> u32 {
        loop {
            let owner = self.owner[group as usize];
            if owner == NONE || owner == group {
                return group;
            }
            // Half the way for the next one.
            let above = self.owner[owner as usize];
            if above != NONE {
                self.owner[group as usize] = above;
            }
            group = owner;
        }
    }

    /// Two clusters become one.
    fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        self.owner[high as usize] = low;
    }

    /// The larger becomes a member of the smaller, unless either belongs to another. Pairs must rise.
    fn adopt(&mut self, a: u32, b: u32) {
        if self.owner[a as usize] == NONE {
            self.owner[a as usize] = a;
        }
        if self.owner[a as usize] == a && self.owner[b as usize] == NONE {
            self.owner[b as usize] = a;
        }
    }

    /// Gives all clusters in order.
    fn give(
        mut self,
        given: &Given<'_>,
        visit: &mut dyn FnMut(Cluster<'_>) -> ControlFlow<()>,
    ) -> Step {
        let (roster, groups) = (&given.roster, self.owner.len() as u32);
        let mut ends = vec![0_u32; self.owner.len()];
        for group in 0..groups {
            let root = self.root(group);
            self.owner[group as usize] = root;
            ends[root as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut order = vec![0; self.owner.len()];
        for group in 0..groups {
            let place = &mut ends[self.owner[group as usize] as usize];
            order[*place as usize] = group;
            *place += 1;
        }
        let mut ranks = Vec::new();
        for together in order.chunk_by(|a, b| self.owner[*a as usize] == self.owner[*b as usize]) {
            ranks.clear();
            together.iter().for_each(|group| ranks.extend_from_slice(roster.members(*group)));
            if ranks.len() > 1 {
                ranks.sort_unstable();
                let cluster = Cluster {
                    representative: roster.key(ranks[0])?,
                    keys: Members { roster, ranks: ranks.iter() },
                    signatures: together.len(),
                    lowest: lowest(given, together)?,
                };
                go_on(visit(cluster))?;
            }
        }
        Ok(())
    }
}

/// How the one that is least like the first compares with it.
fn lowest(given: &Given<'_>, groups: &[u32]) -> Result<Comparison> {
    let first = groups[0];
    let mut lowest = given.compare(first, groups[groups.len().min(2) - 1])?;
    for other in groups.iter().skip(2) {
        let comparison = given.compare(first, *other)?;
        if comparison.similarity_value() < lowest.similarity_value() {
            lowest = comparison;
        }
    }
    Ok(lowest)
}
