//! Controls how many cases a test tries.
//!
//! `cargo test` is quick: a test tries enough cases to exercise its promise. With `RINGER_TEST=full` it tries all of
//! them, which can take minutes. `.ci/long` runs the full tests, part by part.

/// Returns whether all cases are to be tried.
pub fn is_full() -> bool {
    match std::env::var("RINGER_TEST") {
        Ok(scale) if scale == "full" => true,
        Ok(scale) if scale == "quick" => false,
        Ok(scale) => panic!("RINGER_TEST is `{scale}`; it must be `quick` or `full`"),
        Err(_) => false,
    }
}

/// Returns the first number in a quick run, the second in a full one.
pub fn cases<T>(quick: T, full: T) -> T {
    if is_full() { full } else { quick }
}

/// Returns all items in a full run, and one in `one_in` in a quick one.
pub fn some<T: Clone>(all: &[T], one_in: usize) -> Vec<T> {
    all.iter().step_by(cases(one_in, 1)).cloned().collect()
}
