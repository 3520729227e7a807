//! A damaged database gives the same answers as before or a typed error, in bounded memory.

mod all_page_kinds;
mod flips_and_cuts;
mod maintenance;
#[cfg(unix)]
mod replaced_files;

#[global_allocator]
static ALLOCATOR: testkit::allocations::Counting = testkit::allocations::Counting;
