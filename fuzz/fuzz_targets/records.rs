//! Any bytes as a record: superblock, mark, manifest, segment header, hot tier records, commit.
#![no_main]

#[path = "../attacks/mod.rs"]
mod attacks;

use attacks::allocations::{Counting, capped};
use attacks::records::records;
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| capped(records, bytes));
