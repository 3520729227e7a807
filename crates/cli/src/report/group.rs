//! One group of a report: its first member, the members that are listed, and the member to show beside the first one.

use serde_json::{Value, json};

use super::{Place, Similarity};
use crate::show;

/// The most members of a group that a page lists. Further ones are only counted.
const MOST_MEMBERS: usize = 100;

/// How many bytes of a text are kept for a comparison.
pub(super) const TEXT_BYTES: usize = 20_000;

/// What a page says about a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    None,
    /// A file with the same bytes as the first one.
    Identical,
    /// A member from an earlier run.
    Earlier,
}

/// A member that is compared with the first one.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) place: Place,
    pub(super) mark: Mark,
    pub(super) similarity: Similarity,
}

/// A group.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) number: u64,
    pub(super) first: Place,
    first_mark: Mark,
    /// The start of the first member's text, if the caller has it.
    pub(super) text: Option<Vec<u8>>,
    listed: Vec<Member>,
    /// The number of members beside the first one.
    pub(super) others: u64,
    pub(super) lowest: Option<Member>,
    /// The member whose similarity is nearest to the threshold, and how doubtful it is (smaller is more).
    pub(super) doubtful: Option<(f64, Member)>,
}

impl Group {
    pub(super) fn new(number: u64, first: Place, first_mark: Mark, text: Option<&[u8]>) -> Group {
        Group {
            number,
            first,
            first_mark,
            text: text.map(super::start),
            listed: Vec::new(),
            others: 0,
            lowest: None,
            doubtful: None,
        }
    }

    pub(super) fn add(&mut self, member: Member, min: Option<f64>) {
        self.others += 1;
        let value = member.similarity.value;
        if self.lowest.as_ref().is_none_or(|lowest| value < lowest.similarity.value) {
            self.lowest = Some(member.clone());
        }
        if let Some(min) = min {
            let doubt = doubt(member.similarity, min);
            if self.doubtful.as_ref().is_none_or(|(least, _)| doubt < *least) {
                self.doubtful = Some((doubt, member.clone()));
            }
        }
        if self.listed.len() < MOST_MEMBERS {
            self.listed.push(member);
        }
    }

    /// The group as compact JSON: number, size, lowest similarity, members. Members that are not listed follow from the size.
    pub(super) fn json(&self) -> Value {
        let first = json!([key(&self.first.key), null, self.first_mark as u8]);
        let members: Vec<Value> =
            std::iter::once(first).chain(self.listed.iter().map(Member::json)).collect();
        let lowest = self.lowest.as_ref().map(|member| rounded(member.similarity.value));
        json!([self.number, self.others + 1, lowest, members])
    }
}

impl Member {
    /// Key, similarity, mark and, for an estimate, the ends of its interval.
    pub(super) fn json(&self) -> Value {
        let Similarity { value, interval } = self.similarity;
        let (key, value, mark) = (key(&self.place.key), rounded(value), self.mark as u8);
        match interval {
            None => json!([key, value, mark]),
            Some((low, high)) => json!([key, value, mark, rounded(low), rounded(high)]),
        }
    }
}

/// How near a similarity is to the threshold. Intervals that straddle it come first, the widest before the others.
fn doubt(similarity: Similarity, min: f64) -> f64 {
    let distance = (similarity.value - min).abs();
    match similarity.interval {
        Some((low, high)) if low < min && min < high => distance - (high - low),
        _ => distance,
    }
}

/// A key for the page: printable text, or its bytes in hexadecimal if it is not UTF-8.
pub(super) fn key(key: &[u8]) -> Value {
    match str::from_utf8(key) {
        Ok(_) => show::key(key).into(),
        Err(_) => show::json_key(key),
    }
}

/// Four digits are enough to read, and keep the page small.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
