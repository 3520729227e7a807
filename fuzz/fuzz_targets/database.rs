//! Arbitrary bytes as a whole database file: read, queried, salvaged, packed, repaired or written to, and checked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use testkit::allocations::{Counting, capped};
use testkit::attacks::database::database_in_one_way;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| capped(database_in_one_way, bytes));
