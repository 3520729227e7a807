//! The forged values that each field is set to.
//!
//! In: a field and its file. Out: values that differ from the current one: the ends of its range, the values of its
//! neighbours, and values slightly above and below. A field that holds an offset also points to itself, the
//! superblocks, beyond the end, every other record and every other page of its extent.

use std::collections::BTreeSet;

use crate::forged::fields::{Field, number};

const EDGES: [u64; 16] = [
    0,
    1,
    2,
    63,
    64,
    255,
    4_096,
    0xFFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFE,
    0xFFFF_FFFF,
    1 << 38,
    1 << 62,
    1 << 63,
    u64::MAX - 1,
];

/// The most targets for one field that holds an offset.
const PLACES: usize = 12;

/// Returns all values for one field. `all` are the fields of the file.
pub fn of(field: &Field, all: &[Field], bytes: &[u8]) -> Vec<u64> {
    let old = field.value(bytes);
    let most = if field.width == 8 { u64::MAX } else { (1 << (8 * field.width)) - 1 };
    let mut values: BTreeSet<u64> = EDGES.into_iter().filter(|value| *value <= most).collect();
    values.extend([most, most - 1, most / 2, most / 2 + 1]);
    let near = [1, 64].iter().flat_map(|by| [old.wrapping_add(*by), old.wrapping_sub(*by)]);
    values.extend(near.chain([old.wrapping_mul(2), old / 2]).map(|value| value & most));
    let neighbours = all.iter().filter(|other| {
        other.record == field.record && other.at.abs_diff(field.at) <= 8 && other.width <= 8
    });
    values.extend(neighbours.map(|other| other.value(bytes) & most));
    values.extend(places(field, all, bytes).into_iter().filter(|value| *value <= most));
    values.remove(&old);
    values.into_iter().collect()
}

/// Returns the targets for a field that holds an offset or a page number.
fn places(field: &Field, all: &[Field], bytes: &[u8]) -> Vec<u64> {
    let end = bytes.len() as u64;
    match &*field.name {
        name if name.contains("offset") || name.contains("length") || name == "end of data" => {
            let mut starts: Vec<u64> = all.iter().map(|other| other.record.start as u64).collect();
            starts.dedup();
            let step = starts.len().div_ceil(PLACES).max(1);
            let own = [field.record.start as u64, field.at as u64];
            let edges = [0, 4_096, 8_192, 12_288, end - 64, end, end + 64];
            let others = starts.into_iter().step_by(step).map(|start| start / 64 * 64);
            own.into_iter().chain(edges).chain(others).collect()
        }
        "page" | "root page" => {
            let numbers = all.iter().filter(|other| other.name == "page number");
            let numbers: BTreeSet<u64> = numbers.map(|other| other.value(bytes)).collect();
            let step = numbers.len().div_ceil(PLACES).max(1);
            let own = page_of(field, all, bytes);
            numbers.into_iter().step_by(step).chain(own).chain([end / 64]).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the number of the page that contains the field, which makes the page its own child.
fn page_of(field: &Field, all: &[Field], bytes: &[u8]) -> Option<u64> {
    let before = all.iter().filter(|other| other.name == "page number" && other.at < field.at);
    before.max_by_key(|other| other.at).map(|other| number(bytes, other.at, 4))
}
