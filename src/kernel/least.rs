//! The least of several rows, lane by lane.
//!
//! In: a table of 16-bit words, and places in it where rows start. Out: the least word of each of 64 lanes, the number of the row
//! that has it, and in which lanes several rows do, unless the word is 0. For the instruction sets that matter the loops are written by hand:
//! compilers keep the running minima in memory instead of in registers.

/// Lanes that are looked at together.
pub(crate) const LANES: usize = 64;

/// Most rows: their numbers are bytes.
pub(crate) const MAX_ROWS: usize = 255;

/// What is known of 64 lanes.
pub(crate) struct Least {
    /// The least word.
    pub(crate) words: [u16; LANES],
    /// The number of a row that has it.
    pub(crate) rows: [u8; LANES],
    /// A bit for each lane in which several rows have it. The caller has other means to tell rows apart that have a 0.
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
/// When the table ends before.
#[inline(always)]
pub(super) fn row(table: &[u16], start: usize) -> &[u16; LANES] {
    let Some(row) = table.get(start..).and_then(|rest| rest.first_chunk()) else {
        panic!("a row of {LANES} words at {start} of a table of {}", table.len())
    };
    row
}

/// The loop for every machine.
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

/// The entry of a table for each of 64 bytes, on every machine.
#[inline(always)]
pub(super) fn pick(table: &[u32; 256], bytes: &[u8; LANES], picked: &mut [u32; LANES]) {
    for (entry, byte) in picked.iter_mut().zip(bytes) {
        *entry = table[usize::from(*byte)];
    }
}
