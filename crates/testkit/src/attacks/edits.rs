//! A database file from an input: the input itself, or a seed with a few places changed.
//!
//! A fuzzer that changes a whole file spends its time in signatures and padding. An edit names a record or
//! page of the seed and a position in it, so that most edits hit a field that somebody reads.

use std::ops::Range;
use std::sync::OnceLock;

use super::checksums;
use super::input::Input;
use super::seeds;

/// Most edits of one input.
const MOST_EDITS: usize = 24;

/// A file to be attacked.
pub struct Edited {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether its checksums were made right.
    pub repaired: bool,
    /// Whether it is to be written to, too.
    pub write: bool,
    /// Which part of an attack a fuzzer asks for.
    pub part: u8,
    /// What is left of the input.
    pub keys: Vec<u8>,
}

/// A seed and the places of its records and pages.
struct Seed {
    bytes: &'static [u8],
    places: Vec<Range<usize>>,
}

fn seed(choice: usize) -> &'static Seed {
    static SEEDS: OnceLock<Vec<Seed>> = OnceLock::new();
    let make = |(_, bytes): &(&str, &'static [u8])| {
        let places = checksums::file(&mut bytes.to_vec());
        Seed { bytes, places }
    };
    let all = SEEDS.get_or_init(|| seeds::CLOSED.iter().map(make).collect());
    &all[choice % all.len()]
}

/// An input that starts with this has edits of the fourth seed.
const KEPT: &[u8] = b"kept";

/// The first byte: bits 0 and 1 choose between the input itself (0), or the fourth seed if it goes on with `kept`, and a seed, bit 2 has checksums made
/// right, bit 3 has the file written to, the others say which part of an attack a fuzzer asks for. An edit
/// has twelve bytes: place, what to do, position, value.
pub fn edited(bytes: &[u8]) -> Edited {
    let mut input = Input::new(bytes);
    let flags = input.byte();
    let (repaired, write, part) = (flags & 4 != 0, flags & 8 != 0, flags >> 4);
    let mut edited = match flags & 3 {
        0 if !input.rest().starts_with(KEPT) => {
            Edited { bytes: input.rest().to_vec(), repaired, write, part, keys: Vec::new() }
        }
        choice => {
            let seed = seed(if choice == 0 { 3 } else { usize::from(choice) - 1 });
            let mut bytes = seed.bytes.to_vec();
            if choice == 0 {
                input.word();
            }
            let keys = input.rest().to_vec();
            for _ in 0..MOST_EDITS {
                if input.is_empty() {
                    break;
                }
                edit(&mut bytes, &seed.places, &mut input);
            }
            Edited { bytes, repaired, write, part, keys }
        }
    };
    if repaired {
        checksums::file(&mut edited.bytes);
    }
    edited
}

fn edit(bytes: &mut Vec<u8>, places: &[Range<usize>], input: &mut Input<'_>) {
    let place = |choice: u8| places[usize::from(choice) % places.len()].clone();
    let range = place(input.byte());
    let action = input.byte();
    let at = range.start + usize::from(input.short()) % range.len();
    let value = input.long();
    match action % 8 {
        // A number of 1, 2, 4 or 8 bytes.
        width @ 0..=3 => put(bytes, at, &value.to_le_bytes()[..1 << width]),
        // A number of four bytes a little larger or smaller.
        4 => {
            if let Some(old) = bytes.get(at..).and_then(|b| b.first_chunk::<4>()) {
                let new = u32::from_le_bytes(*old).wrapping_add_signed((value as i8).into());
                put(bytes, at, &new.to_le_bytes());
            }
        }
        // Another record or page in the place of this one.
        5 => {
            let other = place(value as u8);
            let copied = bytes.get(other).map(<[u8]>::to_vec);
            put(bytes, range.start, &copied.unwrap_or_default());
        }
        // Four bytes from elsewhere in the place: a number that means something.
        6 => {
            let from = range.start + value as usize % range.len();
            let copied = bytes.get(from..).and_then(|b| b.first_chunk::<4>()).copied();
            put(bytes, at, &copied.unwrap_or_default());
        }
        _ if value.is_multiple_of(4) => bytes.truncate(at),
        _ => {}
    }
}

/// Writes what fits.
fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    if let Some(old) = bytes.get_mut(at..) {
        let length = new.len().min(old.len());
        old[..length].copy_from_slice(&new[..length]);
    }
}
