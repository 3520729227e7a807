//! Arbitrary bytes as a record: superblock, mark, manifest, segment header, log records, commit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use testkit::allocations::{Counting, capped};
use testkit::attacks::records::records;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| capped(records, bytes));
