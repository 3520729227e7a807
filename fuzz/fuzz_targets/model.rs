//! Operations, crashes and failures against a map.
#![no_main]

#[path = "../attacks/mod.rs"]
mod attacks;

use attacks::allocations::{Counting, capped};
use attacks::model::model;
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| capped(model, bytes));
