//! Several processes use one database, are killed, and run out of disk space, files, memory or permissions.
#![cfg(unix)]

mod competing_openers;
mod concurrent_reader;
mod failing_calls;
mod full_disk;
mod identity;
mod kill;
mod limited_resources;
mod read_only;

/// Not a test by itself: the process that other tests start. It does nothing unless their variables are set.
#[test]
fn child() {
    testkit::child::be_the_child();
}
