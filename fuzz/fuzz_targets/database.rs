//! Any bytes as a whole database file: read, asked, salvaged, packed, repaired or written to, and checked.
#![no_main]

#[path = "../attacks/mod.rs"]
mod attacks;

use attacks::allocations::{Counting, capped};
use attacks::database::database_in_one_way;
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| capped(database_in_one_way, bytes));
