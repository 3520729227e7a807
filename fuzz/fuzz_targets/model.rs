//! Operations, crashes and failures, compared with a map.
#![no_main]

use libfuzzer_sys::fuzz_target;
use testkit::allocations::{Counting, capped};
use testkit::attacks::model::model;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| capped(model, bytes));
