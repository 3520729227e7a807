//! Joins parts into whole commits: the rules of a replay (LOG-11).
//!
//! In: decoded parts, in the order in which they are stored. Out: one call of the visitor per commit, and the
//! damage that the parts themselves reveal. It must not know where the parts come from.
#![deny(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

use std::fmt;

use super::Replayed;
use crate::error::Result;
use crate::format::log_part::{LogId, OPENING, Part};

/// Receives the sequence and payload of one commit.
pub type Visit<'a> = &'a mut dyn FnMut(u64, Vec<u8>) -> Result<()>;

/// The sequence and number of a part.
pub(super) type Position = (u64, u32);

/// The state of a replay.
pub(super) struct Gather<'a> {
    /// The log that the parts belong to.
    pub(super) id: LogId,
    after: u64,
    visit: Visit<'a>,
    /// The last whole commit.
    last: u64,
    /// The unfinished commit after it: parts so far, parts in all, and their payloads.
    part: u32,
    parts: u32,
    payload: Vec<u8>,
    /// The sequence and number of the previous part, including parts of checkpointed commits.
    before: Option<Position>,
    /// Whether the first part was the opening part.
    opened: bool,
    damage: Option<String>,
}

impl fmt::Debug for Gather<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather").field("after", &self.after).field("last", &self.last).finish()
    }
}

impl<'a> Gather<'a> {
    pub(super) fn new(id: LogId, after: u64, visit: Visit<'a>) -> Gather<'a> {
        let (payload, before, opened, damage) = (Vec::new(), None, false, None);
        Gather { id, after, visit, last: after, part: 0, parts: 0, payload, before, opened, damage }
    }

    /// Goes on after commit `last`, whose last part is at `before`. The parts up to there were taken without damage.
    pub(super) fn resumed(
        id: LogId,
        last: u64,
        before: Option<Position>,
        visit: Visit<'a>,
    ) -> Gather<'a> {
        Gather { before, opened: before.is_some(), ..Gather::new(id, last, visit) }
    }

    /// Takes the next part. Returns `false` if nothing after it counts.
    pub(super) fn take(&mut self, part: &Part<'_>) -> Result<bool> {
        let place = (part.sequence, part.part);
        let before = self.before.replace(place);
        if before.is_none() {
            self.opened = place == (OPENING, 0) && part.parts == 1 && part.payload.is_empty();
        }
        // Checkpointed parts must ascend too. So a replay ends, whatever sled returns.
        let ascends = before < Some(place);
        let checkpointed = part.sequence <= self.after;
        let next = place == (self.last.saturating_add(1), self.part)
            && (self.part == 0 || part.parts == self.parts)
            && part.is_cut_right();
        if !ascends || !(checkpointed || next) {
            let Part { sequence, part, parts, payload } = part;
            let (last, length) = (self.last, payload.len());
            let found = format!("part {part} of {parts} of commit {sequence} ({length} bytes)");
            self.spoil(format!("{found} is not what should follow commit {last} (LOG-12)"));
            return Ok(false);
        }
        if checkpointed {
            return Ok(true);
        }
        self.payload.extend_from_slice(part.payload);
        if part.is_last() {
            (self.last, self.part) = (part.sequence, 0);
            (self.visit)(part.sequence, std::mem::take(&mut self.payload))?;
        } else {
            (self.part, self.parts) = (self.part.saturating_add(1), part.parts);
        }
        Ok(true)
    }

    /// Records damage. The first record stays.
    pub(super) fn spoil(&mut self, damage: String) {
        self.damage.get_or_insert(damage);
    }

    /// Returns the last whole commit.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Returns the previous part.
    pub(super) fn before(&self) -> Option<Position> {
        self.before
    }

    /// Whether the parts end in the middle of a commit.
    pub(super) fn is_within_a_commit(&self) -> bool {
        self.part > 0
    }

    /// Returns the result of the replay, after its last part.
    pub(super) fn finish(mut self) -> Replayed {
        if !self.opened {
            self.spoil("its opening part is missing (LOG-7)".into());
        }
        Replayed { last: self.last, verified: self.before.is_some(), damage: self.damage }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;
    use crate::format::log_part::MAX_PAYLOAD;

    const FULL: &[u8] = &[1; MAX_PAYLOAD];
    const ID: LogId = LogId { database: [3; 16], number: 1 };

    fn part(sequence: u64, part: u32, parts: u32, payload: &[u8]) -> Part<'_> {
        Part { sequence, part, parts, payload }
    }

    /// Returns how many of these parts are taken after the opening part, and the result of a replay after commit 4.
    fn gather(parts: &[Part<'_>]) -> (usize, Replayed) {
        let mut visit = |_, _| Ok(());
        let mut gather = Gather::new(ID, 4, &mut visit);
        assert!(gather.take(&part(OPENING, 0, 1, b"")).unwrap());
        let taken = parts.iter().take_while(|part| gather.take(part).unwrap()).count();
        (taken, gather.finish())
    }

    /// LOG-6: there is only one way to cut a commit into parts.
    #[test]
    fn a_part_of_the_wrong_length_ends_the_replay() {
        let whole = [part(5, 0, 2, FULL), part(5, 1, 2, b"x")];
        assert_eq!(gather(&whole), (2, Replayed { last: 5, verified: true, damage: None }));
        for (taken, parts) in [
            (0, [part(5, 0, 2, b"short"), part(5, 1, 2, b"x")]),
            (1, [part(5, 0, 2, FULL), part(5, 1, 2, b"")]),
            (1, [part(5, 0, 2, FULL), part(5, 1, 3, FULL)]),
        ] {
            let (found, replayed) = gather(&parts);
            assert_eq!((found, replayed.last), (taken, 4));
            assert!(replayed.damage.unwrap().contains("LOG-12"));
        }
    }

    /// LOG-8: checkpointed parts must ascend too, or a reader that runs in a circle would never end.
    #[test]
    fn checkpointed_parts_in_a_circle_end_the_replay() {
        let circle = [part(2, 0, 1, b"a"), part(3, 0, 1, b"b"), part(2, 0, 1, b"a")];
        let (taken, replayed) = gather(&circle);
        assert_eq!((taken, replayed.last), (2, 4));
        assert!(replayed.damage.unwrap().contains("LOG-12"));
    }

    /// LOG-7: the opening part comes first and is unlike any other.
    #[test]
    fn a_first_part_that_is_not_the_opening_part_is_damage() {
        for first in [part(1, 0, 1, b""), part(OPENING, 0, 1, b"x"), part(OPENING, 0, 2, b"")] {
            let mut visit = |_, _| Ok(());
            let mut gather = Gather::new(ID, 4, &mut visit);
            assert!(gather.take(&first).unwrap());
            assert!(gather.take(&part(5, 0, 1, b"x")).unwrap(), "what follows is still read");
            let Replayed { last, damage, .. } = gather.finish();
            assert_eq!(last, 5);
            assert!(damage.unwrap().contains("LOG-7"));
        }
    }
}
