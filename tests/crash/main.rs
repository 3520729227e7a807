//! After a crash or a failed operation, every acknowledged commit is there completely, and every other one completely
//! or not at all.

mod every_crash;
mod failing_operations;
mod maintenance_crashes;
mod maintenance_failures;
mod past_defects;
