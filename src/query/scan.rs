//! The way through all signatures of a part.
//!
//! Where that rejects enough, a scan reads one plane in b and looks at the others only where plane 0 leaves
//! hope. Nothing is missed:
//! samples whose lowest bits differ are not equal, so plane 0 never shows fewer equal samples than there
//! are.

use super::part::Part;
use super::verify::Search;
use crate::error::Result;
use crate::store::page_source::Keep;

/// Counts looked at in one go.
const GROUP: usize = 32;

impl Search<'_> {
    /// Compares all signatures of a part with the query.
    pub(super) fn scan<P: Part>(&mut self, part: &mut P) -> Result<()> {
        let query = self.target.rows();
        let (mut counts, mut hopeful) = (Vec::new(), Vec::new());
        let length = part.block_length();
        for first in (0..part.signatures()).step_by(length as usize) {
            part.load(&[first], Keep::IfRoom)?;
            let rows = part.block(first);
            let next = part.block_in_memory(first.saturating_add(length));
            let next = next.unwrap_or(rows.range(0, 0));
            // Every count is written: what the last block left need not be cleared.
            counts.resize(rows.len(), 0);
            let least = self.least_equal();
            let whole = query.bits() == 1 || !rejects(query.samples(), least);
            if whole {
                self.kernel.count_equal_before(next, query, rows, &mut counts);
                self.work.verified += rows.len() as u64;
                self.work.bytes += 8 * (rows.first().len() + rows.rest().len()) as u64;
            } else {
                let (query, next) = (query.plane_0(), next.plane_0());
                self.kernel.count_equal_before(next, query, rows.plane_0(), &mut counts);
                self.work.bytes += 8 * rows.first().len() as u64;
            }
            self.work.compared += rows.len() as u64;
            at_least(&counts, least, &mut hopeful);
            if whole {
                if least == 0 {
                    // The best first: they raise the bar for the others.
                    hopeful.sort_unstable_by_key(|i| std::cmp::Reverse(counts[*i as usize]));
                }
                for i in &hopeful {
                    self.consider(&*part, first + i, u32::from(counts[*i as usize]))?;
                }
            } else {
                hopeful.iter_mut().for_each(|i| *i += first);
                // `refine` compares plane 0 once more, with a bar that has risen meanwhile.
                self.work.compared -= hopeful.len() as u64;
                self.refine(&*part, &hopeful)?;
            }
        }
        Ok(())
    }
}

/// Whether plane 0 alone rejects nearly all signatures that have nothing to do with the query: about half
/// of their lowest bits agree by chance. If not, all planes are read at once.
pub(super) fn rejects(samples: u32, least: u32) -> bool {
    let samples = f64::from(samples);
    f64::from(least) > samples / 2.0 + samples.sqrt()
}

/// The places of all counts that are at least `least`.
fn at_least(counts: &[u16], least: u32, places: &mut Vec<u32>) {
    places.clear();
    let Ok(least) = u16::try_from(least) else { return };
    for (group, counts) in counts.chunks(GROUP).enumerate() {
        // Without a branch for each count: nearly all groups have none.
        if counts.iter().fold(false, |any, count| any | (*count >= least)) {
            let start = (group * GROUP) as u32;
            let there = (start..).zip(counts).filter(|(_, count)| **count >= least);
            places.extend(there.map(|(place, _)| place));
        }
    }
}
