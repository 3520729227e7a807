//! Any bytes as the log of a hot tier.
#![no_main]

#[path = "../attacks/mod.rs"]
mod attacks;

use attacks::allocations::{Counting, capped};
use attacks::hot_log::hot_log;
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| capped(hot_log, bytes));
