//! Arbitrary bytes as a page of any kind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use testkit::allocations::{Counting, capped};
use testkit::attacks::pages::pages;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| capped(pages, bytes));
