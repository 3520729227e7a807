//! Any bytes as a page of any kind.
#![no_main]

#[path = "../attacks/mod.rs"]
mod attacks;

use attacks::allocations::{Counting, capped};
use attacks::pages::pages;
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| capped(pages, bytes));
