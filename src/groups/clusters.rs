//! Clusters of sets that pairs link.
//!
//! Pairs come in the order of their keys and are not kept. A union-find forest takes four bytes for each distinct
//! signature, and sorting by cluster at the end takes eight more.

use std::ops::ControlFlow;

use super::find::{Visited, find};
use super::pairs::Pairs;
use super::progress::{Step, finish, go_on};
use super::results::{Members, Report};
use crate::error::Result;
use crate::estimate::Comparison;
use crate::sketch::Sketcher;
use crate::store::state::State;

/// What makes a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Linkage {
    /// Connected components: a chain of pairs leads from every set to every other. The similarity of two sets
    /// of a cluster may be below the threshold.
    #[default]
    Connected,
    /// Every member matches the representative. Sets are taken in the order of their keys. A set that is in no cluster yet
    /// becomes a representative, and all sets that match it and are in no cluster yet become its members.
    Strict,
}

/// The builder of a search for clusters of sets that match.
///
/// Clusters have two sets or more, and come in the order of their representatives' keys. Sets with equal signatures are
/// always in one cluster. If pairs are [verified](Pairs::verify), that holds for equal sets instead.
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
///     println!("the least similarity to it is {:.2}", cluster.lowest.similarity());
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

/// Two or more sets that pairs link.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Cluster<'a> {
    /// The smallest key.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::key"))]
    pub representative: Box<[u8]>,
    /// All keys in ascending order, the representative first. Each is read when the iterator reaches it.
    pub keys: Members<'a>,
    /// How many distinct signatures they have.
    pub signatures: usize,
    /// The comparison of the representative, as first set, with the member that is least similar to it. Two other members
    /// of a [connected](Linkage::Connected) cluster may be less similar.
    pub lowest: Comparison,
}

impl<'a> Clusters<'a> {
    /// The clusters of a state.
    pub(crate) fn new(state: &'a State, sketcher: &'a Sketcher, min: f64) -> Clusters<'a> {
        Clusters { pairs: Pairs::new(state, sketcher, min), linkage: Linkage::default() }
    }

    /// Sets conditions for the pairs that link clusters, limits of the run, and the progress callback:
    /// `.pairs(|pairs| pairs.min_matches(2))`.
    pub fn pairs(mut self, set: impl FnOnce(Pairs<'a>) -> Pairs<'a>) -> Clusters<'a> {
        self.pairs = set(self.pairs);
        self
    }

    /// Sets what makes a cluster. Default [`Linkage::Connected`].
    pub fn linkage(mut self, linkage: Linkage) -> Clusters<'a> {
        self.linkage = linkage;
        self
    }

    /// Finds all clusters, and gives them one after the other to `visit` until it breaks.
    pub fn run(self, mut visit: impl FnMut(Cluster<'_>) -> ControlFlow<()>) -> Result<Report> {
        let mut report = Report::default();
        let step = self.find_and_visit(&mut report, &mut visit);
        finish(step, report)
    }

    fn find_and_visit(
        self,
        report: &mut Report,
        visit: &mut dyn FnMut(Cluster<'_>) -> ControlFlow<()>,
    ) -> Step {
        let linkage = self.linkage;
        let found = find(self.pairs, report)?;
        let mut forest = Forest::new(found.table.groups());
        let visited = found.each(report, &mut |_, _, edge| {
            match linkage {
                Linkage::Connected => forest.union(edge.a, edge.b),
                Linkage::Strict => forest.adopt(edge.a, edge.b),
            }
            Ok(())
        })?;
        forest.emit(&visited, visit)
    }
}

/// The parent of a group that no pair has linked yet.
const NONE: u32 = u32::MAX;

/// A union-find forest of groups. A parent is never larger than its child. The smallest group of a cluster is its root;
/// its parent is itself or [`NONE`].
#[derive(Debug)]
struct Forest {
    parents: Vec<u32>,
}

impl Forest {
    fn new(groups: usize) -> Forest {
        Forest { parents: vec![NONE; groups] }
    }

    /// The smallest group of a cluster.
    fn root(&mut self, mut group: u32) -> u32 {
        loop {
            let parent = self.parents[group as usize];
            if parent == NONE || parent == group {
                return group;
            }
            // Halves the path for the next time.
            let grandparent = self.parents[parent as usize];
            if grandparent != NONE {
                self.parents[group as usize] = grandparent;
            }
            group = parent;
        }
    }

    /// Makes the clusters of two groups one.
    fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        self.parents[high as usize] = low;
    }

    /// Makes `b` a member of `a`, unless either is a member of another cluster. Pairs must come in ascending order.
    fn adopt(&mut self, a: u32, b: u32) {
        if self.parents[a as usize] == NONE {
            self.parents[a as usize] = a;
        }
        if self.parents[a as usize] == a && self.parents[b as usize] == NONE {
            self.parents[b as usize] = a;
        }
    }

    /// Gives all clusters to the caller, in order.
    fn emit(
        mut self,
        visited: &Visited<'_>,
        visit: &mut dyn FnMut(Cluster<'_>) -> ControlFlow<()>,
    ) -> Step {
        let (table, groups) = (&visited.table, self.parents.len() as u32);
        let mut ends = vec![0_u32; self.parents.len()];
        for group in 0..groups {
            let root = self.root(group);
            self.parents[group as usize] = root;
            ends[root as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut order = vec![0; self.parents.len()];
        for group in 0..groups {
            let place = &mut ends[self.parents[group as usize] as usize];
            order[*place as usize] = group;
            *place += 1;
        }
        let mut ranks = Vec::new();
        for together in
            order.chunk_by(|a, b| self.parents[*a as usize] == self.parents[*b as usize])
        {
            ranks.clear();
            together.iter().for_each(|group| ranks.extend_from_slice(table.members(*group)));
            if ranks.len() > 1 {
                ranks.sort_unstable();
                let cluster = Cluster {
                    representative: table.key(ranks[0])?,
                    keys: Members { table, ranks: ranks.iter() },
                    signatures: together.len(),
                    lowest: lowest(visited, together)?,
                };
                go_on(visit(cluster))?;
            }
        }
        Ok(())
    }
}

/// Compares the first group with the one that is least similar to it.
fn lowest(visited: &Visited<'_>, groups: &[u32]) -> Result<Comparison> {
    let first = groups[0];
    let mut lowest = visited.compare(first, groups[groups.len().min(2) - 1])?;
    for other in groups.iter().skip(2) {
        let comparison = visited.compare(first, *other)?;
        if comparison.similarity_value() < lowest.similarity_value() {
            lowest = comparison;
        }
    }
    Ok(lowest)
}
