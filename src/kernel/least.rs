//! The least of several rows, lane by lane.
//!
//! In: a table of 16-bit words, and the starts of rows in it. Out: the least word of each of 64 lanes, the row that
//! has it, and the lanes in which several rows have it (unless the word is 0). The loops are written by hand for the
//! common instruction sets, because compilers keep the running minima in memory instead of registers.

/// Lanes that are compared together.
pub(crate) const LANES: usize = 64;

/// Most rows. Row numbers are bytes.
pub(crate) const MAX_ROWS: usize = 255;

/// The result for 64 lanes.
pub(crate) struct Least {
    /// The least word.
    pub(crate) words: [u16; LANES],
    /// The number of a row that has it.
    pub(crate) rows: [u8; LANES],
    /// A bit for each lane in which several rows have the least word. Not set for the word 0, whose rows the caller
    /// tells apart.
    pub(crate) several: u64,
}

impl Default for Least {
    fn default() -> Least {
        Least { words: [0; LANES], rows: [0; LANES], several: 0 }
    }
}

/// The 64 words of a row.
///
/// # Panics
/// If the table ends before them.
#[inline(always)]
pub(super) fn row(table: &[u16], start: usize) -> &[u16; LANES] {
    let Some(row) = table.get(start..).and_then(|rest| rest.first_chunk()) else {
        panic!("a row of {LANES} words at {start} of a table of {}", table.len())
    };
    row
}

/// The portable loop.
pub(super) fn portable(table: &[u16], starts: &[u32], lane: usize, least: &mut Least) {
    least.words = [u16::MAX; LANES];
    for start in starts {
        let row = row(table, *start as usize + lane);
        for (word, other) in least.words.iter_mut().zip(row) {
            *word = (*word).min(*other);
        }
    }
    let (mut rows, mut found) = ([0; LANES], [0_u16; LANES]);
    for (number, start) in starts.iter().enumerate() {
        let row = row(table, *start as usize + lane);
        for l in 0..LANES {
            let hit = row[l] == least.words[l];
            rows[l] = if hit { number as u16 } else { rows[l] };
            found[l] += u16::from(hit);
        }
    }
    least.several = 0;
    for l in 0..LANES {
        least.rows[l] = rows[l] as u8;
        least.several |= u64::from(found[l] > 1 && least.words[l] != 0) << l;
    }
}

/// The table entry of each of 64 bytes, portable.
#[inline(always)]
pub(super) fn pick(table: &[u32; 256], bytes: &[u8; LANES], picked: &mut [u32; LANES]) {
    for (entry, byte) in picked.iter_mut().zip(bytes) {
        *entry = table[usize::from(*byte)];
    }
}
