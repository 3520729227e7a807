//! After a crash or a failed operation, every acknowledged commit is there and no other one is there in part.

mod every_crash;
mod failing_operations;
mod maintenance_crashes;
mod maintenance_failures;
mod past_defects;
