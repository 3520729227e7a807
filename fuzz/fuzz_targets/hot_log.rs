//! Arbitrary bytes as a write-ahead log.
#![no_main]

use libfuzzer_sys::fuzz_target;
use testkit::allocations::{Counting, capped};
use testkit::attacks::hot_log::hot_log;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| capped(hot_log, bytes));
