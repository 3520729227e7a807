//! How an answer was found, and what a scheme promises.

use std::sync::Arc;

use super::answer::Answer;
use crate::estimate::returned::Returned;
use crate::estimate::{Accept, reaches};
use crate::scheme::{Measure, Scheme};
use crate::sketch::SharedDonors;

/// A way to find matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Through the posting lists of the query's slot values.
    Probe,
    /// Through all signatures, first planes first.
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

/// What was done in one part of the database, or in all of them together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Work {
    /// Posting lists that were read.
    pub lists_read: u64,
    /// Lists that were left unread, because nothing found in them alone could have been a match.
    pub lists_unread: u64,
    /// Ids in the lists that were read.
    pub postings: u64,
    /// Distinct signatures in enough lists.
    pub candidates: u64,
    /// Signatures whose first planes were compared with the query's.
    pub compared: u64,
    /// Signatures all of whose planes were compared.
    pub verified: u64,
    /// Bytes of lists and signatures that were looked at, in memory or not.
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

/// One part of the database and what was done there.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PartPlan {
    /// The number of the segment; `None` for a memtable.
    pub segment: Option<u64>,
    /// Distinct signatures in it.
    pub signatures: u32,
    /// How it was searched.
    pub plan: Plan,
    /// What a probe would cost, in nanoseconds, by estimate; `None` if that was not looked at.
    pub probe_cost: Option<f64>,
    /// What a scan would cost.
    pub scan_cost: f64,
    /// What was done.
    pub work: Work,
}

/// An answer and how it was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The answer.
    pub answer: Answer,
    /// Each part that was searched.
    pub parts: Vec<PartPlan>,
    /// All work together.
    pub work: Work,
    /// Candidates by the number of lists that they were in: entry i counts those in i. Scans have none.
    pub candidates_by_lists: Vec<u64>,
    /// Pages that were read from the file meanwhile, by this query or another.
    pub pages_read: u64,
    /// The least number of common slots that was asked for; 0 where slots did not matter.
    pub min_matches: u32,
    pub(super) scheme: Scheme,
    pub(super) within_hamming_1: bool,
    /// The least similarity, and what must reach it.
    pub(super) threshold: Option<(f64, Accept)>,
    /// Whether matches are decided by their sets.
    pub(super) verified: bool,
    /// The size of the query's set, if it is known.
    pub(super) elements: Option<f64>,
    pub(super) shared_donors: Option<Arc<SharedDonors>>,
}

impl Explanation {
    /// The probability that a set of exactly the similarity asked for is returned: that it has enough slots in common with the
    /// query, and that it passes the threshold. `None` if no similarity was asked for.
    pub fn promised_recall(&self) -> Option<f64> {
        self.threshold.map(|(similarity, _)| self.recall_at(similarity))
    }

    /// The probability that a set of this resemblance or cosine is returned, for sets tiny against their universe.
    ///
    /// It depends on the size of the sets. The size is that of the query's set, from its features or from the
    /// cardinality field of its signature, and a set of about the same size is looked for. Where neither tells, sets
    /// are taken to be large. [`Query::top`](super::Query::top) is not taken into account.
    pub fn recall_at(&self, similarity: f64) -> f64 {
        match self.threshold {
            Some((least, _)) if self.verified && !reaches(similarity, least) => 0.0,
            _ => self.returned().at(similarity),
        }
    }

    /// The probability that the index sees such a set, whether or not it passes the threshold.
    pub fn seen_at(&self, similarity: f64) -> f64 {
        self.returned().seen(similarity)
    }

    /// The probability to be returned at some similarities around the threshold, rising.
    pub fn recall_curve(&self) -> Vec<(f64, f64)> {
        let least = self.threshold.map_or(0.5, |(least, _)| least);
        let lowest = if self.scheme.measure == Measure::Cosine { -1.0 } else { 0.0 };
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

/// A few lines for people.
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
            writeln!(f, "{plan} of {signatures} signatures (probe {probe}, scan {scan:.1} us)")?;
        }
        let Work { lists_read, lists_unread, postings, candidates, compared, verified, bytes } =
            self.work;
        writeln!(f, "{lists_read} lists read, {lists_unread} left unread, {postings} postings")?;
        writeln!(f, "{candidates} candidates, {compared} compared, {verified} verified")?;
        writeln!(f, "{bytes} bytes looked at, {} pages read from the file", self.pages_read)?;
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
        let cut = if self.answer.truncated { ", cut short" } else { "" };
        write!(f, "{} matches{cut}", self.answer.matches.len())
    }
}
