//! Any bytes as a whole database file: opened, read, checked, salvaged, packed, written to.
#![no_main]

#[path = "../attacks/mod.rs"]
mod attacks;

use attacks::allocations::{Counting, capped};
use attacks::database::database;
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| capped(database, bytes));
