//! Hostile data costs bounded memory and work. Both are counted; no time is measured.

mod document_limits;
mod hostile_groups;
mod hostile_queries;
mod large_groups;

#[global_allocator]
static ALLOCATOR: testkit::allocations::Counting = testkit::allocations::Counting;
