//! The library agrees with its documents: the format specification, the published formulas, and the house rules.

mod compare_vectors;
mod file_state;
mod golden;
mod maths;
mod promises;
mod tidy;
mod vectors;
