//! Forged bytes with correct checksums cause at most typed errors, in bounded memory and work.
//!
//! Attacks run one at a time, and the bytes in use by all threads count. So nothing else may run in this binary.

mod every_field;
mod fuzz_findings;

#[global_allocator]
static ALLOCATOR: testkit::allocations::Counting = testkit::allocations::Counting;
