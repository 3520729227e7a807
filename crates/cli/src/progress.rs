//! Progress bars with rate and time left, on standard error if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::show::Style;

/// What a bar counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Files, sets, steps.
    Things,
    Bytes,
}

/// A bar of `steps` steps, or a plain counter if their number is not known.
pub(crate) fn bar(style: Style, what: &'static str, unit: Unit, steps: Option<u64>) -> ProgressBar {
    let bar = match steps {
        Some(steps) => ProgressBar::new(steps),
        None => ProgressBar::no_length(),
    };
    if style.quiet {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let template = match (unit, steps) {
        (Unit::Things, Some(_)) => {
            "{msg} {wide_bar} {human_pos}/{human_len} ({per_sec}, {eta} left)"
        }
        (Unit::Things, None) => "{msg} {human_pos} ({per_sec}, {elapsed})",
        (Unit::Bytes, Some(_)) => {
            "{msg} {wide_bar} {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left)"
        }
        (Unit::Bytes, None) => "{msg} {bytes} ({bytes_per_sec}, {elapsed})",
    };
    let look = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
    bar.with_style(look).with_message(what)
}
