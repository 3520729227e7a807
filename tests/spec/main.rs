//! The library is what its documents say: the format specification, the printed formulas, and the house rules.

mod compare_vectors;
mod file_state;
mod golden;
mod maths;
mod promises;
mod tidy;
mod vectors;
