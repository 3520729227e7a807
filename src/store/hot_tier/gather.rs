//! From parts in the order in which they stand to whole commits: the rules of a replay (HOT-11).
//!
//! In: the bytes of parts, one after the other. Out: calls of the visitor, and what is wrong if the parts
//! themselves tell. It must not know where the parts come from.
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
use crate::format::hot_part::{OPENING, Part, TierId};

/// Takes the sequence and payload of one commit.
pub type Visit<'a> = &'a mut dyn FnMut(u64, Vec<u8>) -> Result<()>;

/// Gathers parts.
pub(super) struct Gather<'a> {
    /// Whose parts.
    pub(super) id: TierId,
    after: u64,
    visit: Visit<'a>,
    /// The last whole commit.
    last: u64,
    /// What there is of the commit after it: how many parts, of how many, and their payloads.
    part: u32,
    parts: u32,
    payload: Vec<u8>,
    /// The place of the part before, sealed ones included.
    before: Option<(u64, u32)>,
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
    pub(super) fn new(id: TierId, after: u64, visit: Visit<'a>) -> Gather<'a> {
        let (payload, before, opened, damage) = (Vec::new(), None, false, None);
        Gather { id, after, visit, last: after, part: 0, parts: 0, payload, before, opened, damage }
    }

    /// Takes the next part. `false`: nothing after it counts.
    pub(super) fn take(&mut self, part: &Part<'_>) -> Result<bool> {
        let place = (part.sequence, part.part);
        let before = self.before.replace(place);
        if before.is_none() {
            self.opened = place == (OPENING, 0) && part.parts == 1 && part.payload.is_empty();
        }
        // The order holds among sealed parts, too: so a replay comes to an end, whatever sled gives it.
        let ascends = before < Some(place);
        let sealed = part.sequence <= self.after;
        let next = place == (self.last.saturating_add(1), self.part)
            && (self.part == 0 || part.parts == self.parts)
            && part.is_cut_right();
        if !ascends || !(sealed || next) {
            let Part { sequence, part, parts, payload } = part;
            let (last, length) = (self.last, payload.len());
            let found = format!("part {part} of {parts} of commit {sequence} ({length} bytes)");
            self.spoil(format!("{found} is not what should follow commit {last} (HOT-12)"));
            return Ok(false);
        }
        if sealed {
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

    /// Notes that something is wrong. What was noted first stays.
    pub(super) fn spoil(&mut self, damage: String) {
        self.damage.get_or_insert(damage);
    }

    /// The last whole commit.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Whether the parts end within a commit.
    pub(super) fn is_within_a_commit(&self) -> bool {
        self.part > 0
    }

    /// What the replay gave, after its last part.
    pub(super) fn finish(mut self) -> Replayed {
        if !self.opened {
            self.spoil("its opening part is missing (HOT-7)".into());
        }
        Replayed { last: self.last, damage: self.damage }
    }
}
