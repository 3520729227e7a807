//! Builds a database file from an input: the input itself, or a seed with a few edits.
//!
//! A fuzzer that mutates a whole file wastes its time on signatures and padding. An edit names a record or page of
//! the seed and a position in it, so most edits hit a field that some code reads.

use std::ops::Range;
use std::sync::OnceLock;

use super::checksums;
use super::input::Input;
use super::seeds;

/// The most edits of one input.
const MOST_EDITS: usize = 24;

/// A file to attack.
pub struct Edited {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether its checksums were recomputed.
    pub repaired: bool,
    /// Whether to write to it as well.
    pub write: bool,
    /// Which part of an attack the fuzzer selects.
    pub part: u8,
    /// The rest of the input.
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

/// An input that starts with this edits the fourth seed.
const KEPT: &[u8] = b"kept";

/// Decodes an input. Bits 0 and 1 of the first byte choose a seed, or (0) the input itself; with 0 and the prefix
/// `kept` it is the fourth seed. Bit 2 recomputes checksums, bit 3 enables writing, and the other bits select a part
/// of the attack. An edit has twelve bytes: place, action, position, value.
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
        // Write a number of 1, 2, 4 or 8 bytes.
        width @ 0..=3 => put(bytes, at, &value.to_le_bytes()[..1 << width]),
        // Change a four-byte number by a little.
        4 => {
            if let Some(old) = bytes.get(at..).and_then(|b| b.first_chunk::<4>()) {
                let new = u32::from_le_bytes(*old).wrapping_add_signed((value as i8).into());
                put(bytes, at, &new.to_le_bytes());
            }
        }
        // Replace this record or page by another.
        5 => {
            let other = place(value as u8);
            let copied = bytes.get(other).map(<[u8]>::to_vec);
            put(bytes, range.start, &copied.unwrap_or_default());
        }
        // Copy four bytes from elsewhere in the same place: a plausible number.
        6 => {
            let from = range.start + value as usize % range.len();
            let copied = bytes.get(from..).and_then(|b| b.first_chunk::<4>()).copied();
            put(bytes, at, &copied.unwrap_or_default());
        }
        _ if value.is_multiple_of(4) => bytes.truncate(at),
        _ => {}
    }
}

/// Writes as many bytes as fit.
fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    if let Some(old) = bytes.get_mut(at..) {
        let length = new.len().min(old.len());
        old[..length].copy_from_slice(&new[..length]);
    }
}
