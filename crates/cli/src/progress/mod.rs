//! Progress: a bar with rate and time left if standard error is a terminal, otherwise one line a minute.

mod moved;

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

pub(crate) use moved::{bytes_moved, moved};

use crate::exit;
use crate::show::{self, Style};

/// How often a line is printed without a terminal, in seconds.
const EVERY_SECONDS: u64 = 60;

/// The environment variable that sets another number of seconds.
const EVERY_VARIABLE: &str = "RINGER_PROGRESS_SECONDS";

/// The stack of the thread that prints lines. It needs little, and memory may be short.
const STACK_BYTES: usize = 128 << 10;

/// What a bar counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Files, sets, steps.
    Things,
    Bytes,
    /// Bytes that are read and written, of which only the share is shown.
    Moved,
}

impl Unit {
    fn show(self, number: u64) -> String {
        match self {
            Unit::Things => HumanCount(number).to_string(),
            Unit::Bytes | Unit::Moved => whole_bytes(number),
        }
    }
}

/// A bar of `steps` steps, or a plain counter if their number is not known.
pub(crate) fn bar(style: Style, what: &'static str, unit: Unit, steps: Option<u64>) -> ProgressBar {
    let bar = match steps {
        Some(steps) => ProgressBar::new(steps),
        None => ProgressBar::no_length(),
    };
    if style.verbose {
        exit::say(what);
    }
    if style.quiet {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let template = match (unit, steps) {
        (Unit::Things, Some(_)) => {
            "{msg} {wide_bar} {human_pos}/{human_len} ({whole_rate}, {eta} left)"
        }
        (Unit::Things, None) => "{msg} {human_pos} ({whole_rate}, {elapsed})",
        (Unit::Bytes, Some(_)) => {
            "{msg} {wide_bar} {whole_done}/{whole_all} ({whole_rate}, {eta} left)"
        }
        (Unit::Moved, Some(_)) => "{msg} {wide_bar} {percent} % ({whole_rate}, {eta} left)",
        (Unit::Bytes | Unit::Moved, None) => "{msg} {whole_done} ({whole_rate}, {elapsed})",
    };
    let look = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
    let number = |read: fn(&ProgressState) -> u64, after: &'static str| {
        move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{}{after}", unit.show(read(state)));
        }
    };
    let look = look
        .with_key("whole_rate", number(|state| state.per_sec().round() as u64, "/s"))
        .with_key("whole_done", number(ProgressState::pos, ""))
        .with_key("whole_all", number(|state| state.len().unwrap_or(0), ""));
    let bar = bar.with_style(look).with_message(what);
    bar.tick();
    if !style.quiet && !std::io::stderr().is_terminal() {
        print_lines(&bar, unit, steps.is_some());
    }
    bar
}

/// Bytes in whole numbers of a unit.
fn whole_bytes(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} bytes"),
        10_240..10_485_760 => format!("{} KiB", bytes >> 10),
        10_485_760..10_737_418_240 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

/// A spinner for work whose amount is not known.
fn spinner(style: Style, what: &'static str) -> ProgressBar {
    let bar = bar(style, what, Unit::Things, None);
    let look = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
    bar.set_style(look.unwrap_or(ProgressStyle::default_spinner()));
    if !style.quiet && std::io::stderr().is_terminal() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// Prints a line now and then, until the bar is finished or gone.
fn print_lines(bar: &ProgressBar, unit: Unit, bounded: bool) {
    let given = std::env::var(EVERY_VARIABLE).ok().and_then(|text| text.parse().ok());
    let every = Duration::from_secs(given.unwrap_or(EVERY_SECONDS).max(1));
    let bar = bar.downgrade();
    // Without a thread there are no lines, and nothing else is lost.
    let thread = std::thread::Builder::new().name("progress".into()).stack_size(STACK_BYTES);
    let _ = thread.spawn(move || {
        loop {
            std::thread::sleep(every);
            match bar.upgrade() {
                Some(bar) if !bar.is_finished() => exit::say(&line(&bar, unit, bounded)),
                _ => return,
            }
        }
    });
}

/// `reading files: 1,200 of 7,000, 17 %, 20/s, 5 minutes left`
fn line(bar: &ProgressBar, unit: Unit, bounded: bool) -> String {
    let (done, all) = (bar.position(), bar.length().filter(|_| bounded));
    let rate = unit.show(bar.per_sec().round() as u64);
    let whole = |time: Duration| match time.as_secs() {
        seconds @ 0..60 => show::count(seconds, "second"),
        seconds => show::count(seconds.div_ceil(60), "minute"),
    };
    match all {
        Some(all) if all > 0 => {
            let amounts = match unit {
                Unit::Moved => String::new(),
                _ => format!("{} of {}, ", unit.show(done), unit.show(all)),
            };
            let percent = (100 * u128::from(done) / u128::from(all)).min(100);
            let (what, left) = (bar.message(), whole(bar.eta()));
            format!("{what}: {amounts}{percent} %, {rate}/s, {left} left")
        }
        _ if done > 0 => format!("{}: {}, {rate}/s", bar.message(), unit.show(done)),
        _ => format!("{}: {} so far", bar.message(), whole(bar.elapsed())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_whole_numbers() {
        let bar = ProgressBar::hidden();
        bar.set_length(7000);
        bar.set_message("reading files");
        bar.set_position(1200);
        let shown = line(&bar, Unit::Things, true);
        assert!(shown.starts_with("reading files: 1,200 of 7,000, 17 %, "), "{shown}");
        assert!(!shown.contains('.'), "{shown}");
        let shown = line(&bar, Unit::Bytes, false);
        assert!(shown.starts_with("reading files: 1200 bytes, "), "{shown}");
        bar.set_position(6_000_000);
        let shown = line(&bar, Unit::Bytes, false);
        assert!(shown.starts_with("reading files: 5859 KiB, "), "{shown}");
        let shown = line(&bar, Unit::Moved, true);
        assert!(shown.starts_with("reading files: 100 %, "), "{shown}");
    }
}
