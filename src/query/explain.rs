//! How an answer was found, and the recall that the scheme promises.
//!
//! In: the trace of a search. Out: an [`Explanation`], which computes probabilities with [`crate::estimate::returned`].

use std::sync::Arc;

use super::answer::Answer;
use super::request::Query;
use crate::estimate::capacity::CHANCE_CANDIDATES;
use crate::estimate::planning::found_by;
use crate::estimate::returned::Returned;
use crate::estimate::{Accept, reaches};
use crate::matching::Conditions;
use crate::scheme::{Measure, Scheme};
use crate::sketch::SharedDonors;

/// A way to find matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Plan {
    /// Reads the posting lists of the query's slot values.
    Probe,
    /// Compares all signatures, lowest bit planes first.
    Scan,
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Plan::Probe => "probe",
            Plan::Scan => "scan",
        })
    }
}

/// What was done in one memtable or segment, or in all of them together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Work {
    /// Posting lists that were read.
    pub lists_read: u64,
    /// Posting lists that were not read, because no signature in them alone could have matched.
    pub lists_unread: u64,
    /// Ids in the lists that were read.
    pub postings: u64,
    /// Distinct signatures in enough lists.
    pub candidates: u64,
    /// Signatures whose first planes were compared with the query's.
    pub compared: u64,
    /// Signatures all of whose planes were compared.
    pub verified: u64,
    /// Bytes of lists and signatures that were read, from memory or from the file.
    pub bytes: u64,
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.lists_read += other.lists_read;
        self.lists_unread += other.lists_unread;
        self.postings += other.postings;
        self.candidates += other.candidates;
        self.compared += other.compared;
        self.verified += other.verified;
        self.bytes += other.bytes;
    }
}

/// One memtable or segment, and what was done there.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PartPlan {
    /// The number of the segment; `None` for a memtable.
    pub segment: Option<u64>,
    /// Distinct signatures in it.
    pub signatures: u32,
    /// How it was searched.
    pub plan: Plan,
    /// The estimated cost of a probe in nanoseconds; `None` if it was not estimated.
    pub probe_cost: Option<f64>,
    /// The estimated cost of a scan in nanoseconds.
    pub scan_cost: f64,
    /// What was done.
    pub work: Work,
}

/// What a search records for an explanation.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub(super) parts: Vec<PartPlan>,
    pub(super) candidates_by_lists: Vec<u64>,
    pub(super) pages_read: u64,
    /// The size of the query's set, as far as its signature tells.
    pub(super) elements: Option<f64>,
}

/// An answer, and how it was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The answer.
    pub answer: Answer,
    /// Each memtable and segment that was searched.
    pub parts: Vec<PartPlan>,
    /// The work of all of them.
    pub work: Work,
    /// Candidates by the number of posting lists that they were in: entry i counts those in i lists. Scans have none.
    pub candidates_by_lists: Vec<u64>,
    /// Pages that were read from the file meanwhile, by this query or another.
    pub pages_read: u64,
    /// The least number of matching slots; 0 if slots did not matter.
    pub min_matches: u32,
    scheme: Scheme,
    within_hamming_1: bool,
    /// The least similarity, and what must reach it.
    threshold: Option<(f64, Accept)>,
    /// Whether matches are decided by counting common elements.
    verified: bool,
    /// The size of the query's set, if it is known.
    elements: Option<f64>,
    shared_donors: Option<Arc<SharedDonors>>,
}

impl Explanation {
    pub(super) fn new(
        query: &Query<'_>,
        conditions: Conditions,
        answer: Answer,
        trace: Trace,
    ) -> Explanation {
        let (scheme, sketcher) = (&query.state.scheme, query.sketcher);
        let Trace { parts, candidates_by_lists, pages_read, mut elements } = trace;
        // The set itself tells its size better than a rounded code does.
        if scheme.measure == Measure::Jaccard
            && let Ok(Some(features)) = query.like.features(sketcher)
        {
            elements = Some(sketcher.count_distinct(&features) as f64);
        }
        let mut work = Work::default();
        parts.iter().for_each(|part| work += part.work);
        let Conditions { threshold, accept, min_slots, within_hamming_1 } = conditions;
        Explanation {
            answer,
            parts,
            work,
            candidates_by_lists,
            pages_read,
            min_matches: min_slots,
            scheme: (**scheme).clone(),
            within_hamming_1,
            threshold: conditions.has_threshold().then_some((threshold, accept)),
            verified: query.counts_elements(),
            elements,
            shared_donors: sketcher.shared_donors(),
        }
    }

    /// Returns the probability that a set with exactly the threshold's similarity is returned: that it has enough slots in common
    /// with the query, and passes the threshold. `None` without a threshold.
    pub fn promised_recall(&self) -> Option<f64> {
        self.threshold.map(|(similarity, _)| self.recall_at(similarity))
    }

    /// Returns the probability that a set of this resemblance or cosine is returned, if sets are tiny compared with their
    /// universe.
    ///
    /// It depends on the size of the sets. The other set is taken to be about as large as the query's set, whose size
    /// comes from its features or from the cardinality code of its signature. If neither is there, sets are taken to be
    /// large. [`Query::top`] is not taken into account.
    pub fn recall_at(&self, similarity: f64) -> f64 {
        match self.threshold {
            Some((least, _)) if self.verified && !reaches(similarity, least) => 0.0,
            Some(_) | None => self.returned().at(similarity),
        }
    }

    /// Returns the probability that the index finds such a set, whether or not it passes the threshold.
    pub fn seen_at(&self, similarity: f64) -> f64 {
        self.returned().seen(similarity)
    }

    /// Returns the number of unrelated signatures that such a query is expected to compare because their slots have equal
    /// values by chance; 0 if slots do not matter. Above [`CHANCE_CANDIDATES`], [`Database::reindex`](crate::Database::reindex)
    /// helps.
    pub fn chance_candidates(&self) -> f64 {
        if self.min_matches == 0 {
            return 0.0;
        }
        let signatures: f64 = self.parts.iter().map(|part| f64::from(part.signatures)).sum();
        signatures * found_by(&self.scheme, 0.0, self.min_matches, self.within_hamming_1)
    }

    /// Whether the database has outgrown its slots: the query meets too many unrelated signatures, and not because it
    /// accepts fewer matching slots than the scheme asks for, or values that differ in one bit.
    pub fn has_outgrown_slots(&self) -> bool {
        let as_meant =
            !self.within_hamming_1 && self.min_matches >= self.scheme.slots.min_matches.into();
        as_meant && self.chance_candidates() > CHANCE_CANDIDATES
    }

    /// Returns the recall at some similarities around the threshold, in ascending order.
    pub fn recall_curve(&self) -> Vec<(f64, f64)> {
        let least = self.threshold.map_or(0.5, |(least, _)| least);
        let lowest = match self.scheme.measure {
            Measure::Jaccard | Measure::Weighted => 0.0,
            Measure::Cosine => -1.0,
        };
        let steps = [-0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2];
        let mut at: Vec<f64> = steps.iter().map(|step| least + step).collect();
        at.retain(|similarity| (lowest..=1.0).contains(similarity));
        at.into_iter().map(|similarity| (similarity, self.recall_at(similarity))).collect()
    }

    fn returned(&self) -> Returned<'_> {
        let threshold = match self.threshold {
            Some((least, _)) if self.verified => Some((least, Accept::Possible)),
            other => other,
        };
        Returned {
            scheme: &self.scheme,
            min_matches: self.min_matches,
            within_1: self.within_hamming_1,
            elements: self.elements,
            shared: self.shared_donors.as_deref(),
            threshold,
        }
    }
}

/// Writes a few lines of text for people.
impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for part in &self.parts {
            match part.segment {
                Some(id) => write!(f, "segment {id}: ")?,
                None => write!(f, "memtable: ")?,
            }
            let PartPlan { signatures, plan, probe_cost, scan_cost, .. } = part;
            let scan = scan_cost / 1e3;
            let probe =
                probe_cost.map_or("not estimated".into(), |ns| format!("{:.1} us", ns / 1e3));
            let signatures = counted(u64::from(*signatures), "signature");
            writeln!(f, "{plan} of {signatures} (probe {probe}, scan {scan:.1} us)")?;
        }
        let Work { lists_read, lists_unread, postings, candidates, compared, verified, bytes } =
            self.work;
        let [lists, postings] = [counted(lists_read, "list"), counted(postings, "posting")];
        writeln!(f, "{lists} read, {lists_unread} left unread, {postings}")?;
        let candidates = counted(candidates, "candidate");
        writeln!(f, "{candidates}, {compared} compared, {verified} verified")?;
        let [bytes, pages] = [counted(bytes, "byte"), counted(self.pages_read, "page")];
        writeln!(f, "{bytes} looked at, {pages} read from the file")?;
        if let (Some((least, accept)), Some(recall)) = (self.threshold, self.promised_recall()) {
            let similarity = self.scheme.measure.similarity_name();
            let seen = self.seen_at(least);
            let must = match (self.verified, accept) {
                (true, _) => "its sets are counted",
                (_, Accept::Estimate) => "its estimate must reach that",
                (_, Accept::Possible) => "it must possibly reach that",
                (_, Accept::Certain) => "it must certainly reach that",
            };
            writeln!(
                f,
                "a set of {similarity} {least} is returned with probability {recall:.3}: it is \
                 compared with probability {seen:.5}, and {must}"
            )?;
            let curve = self.recall_curve().into_iter();
            let curve: Vec<String> = curve.map(|(at, p)| format!("{at:.2}: {p:.3}")).collect();
            writeln!(f, "returned at {similarity} {}", curve.join(", "))?;
        }
        if self.has_outgrown_slots() {
            writeln!(
                f,
                "about {:.0} unrelated sets share slots with the query by chance: the database has \
                 outgrown its slots; reindex it (`ringer reindex`)",
                self.chance_candidates()
            )?;
        }
        let cut = if self.answer.truncated { ", cut short" } else { "" };
        match self.answer.matches.len() {
            1 => write!(f, "1 match{cut}"),
            more => write!(f, "{more} matches{cut}"),
        }
    }
}

/// `1 list`, `2 lists`.
fn counted(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
