//! Turns errors of the command-line parser about single values into sentences that say what to do.
//!
//! In: an error of clap. Out: `--top 0: give a whole number of at least 1`. Other errors stay as clap words them, because they
//! list the options that a command needs.

use std::error::Error as _;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit;

/// Bounds from here on are those of a type. No user needs to know them.
const HUGE: u64 = u32::MAX as u64;

/// Prints the error, or the help that was asked for, and returns the exit status.
pub(crate) fn report(error: &Error) -> u8 {
    match sentence(error) {
        Some(sentence) => exit::say(&format!("error: {sentence}")),
        // Nobody may be left to read it.
        None => drop(error.print()),
    }
    // 2 for bad usage, 0 for help and version.
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// A sentence about a value that cannot be used.
fn sentence(error: &Error) -> Option<String> {
    if error.kind() != ErrorKind::ValueValidation {
        return None;
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(&**text),
        _ => None,
    };
    // `--min <R>`, or `<PATH>` for an argument without a name.
    let argument = text(ContextKind::InvalidArg)?;
    let name = argument.split(' ').next().unwrap_or(argument);
    let value = text(ContextKind::InvalidValue)?;
    Some(format!("{name} {value}: {}", advice(&error.source()?.to_string())))
}

/// What to do about a value, by what is wrong with it.
fn advice(wrong: &str) -> String {
    let whole = "give a whole number".to_string();
    if wrong.contains("float") {
        return "give a number, such as 0.8".into();
    }
    if wrong.contains("invalid digit") || wrong.contains("integer") {
        return whole;
    }
    let Some((value, range)) = wrong.split_once(" is not in ") else {
        return match wrong.starts_with("number too large") {
            true => format!("{whole} of at most {}", u64::MAX),
            false => wrong.into(),
        };
    };
    let Some((low, high)) = range.split_once("..") else { return wrong.into() };
    let Ok(end) = high.trim_start_matches('=').parse::<u64>() else { return wrong.into() };
    let most = if high.starts_with('=') { end } else { end.saturating_sub(1) };
    match value.parse::<u64>() {
        _ if most < HUGE => format!("{whole} from {low} to {most}"),
        Ok(value) if value > most => format!("{whole} of at most {most}"),
        _ => format!("{whole} of at least {low}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::Parser;

    #[test]
    fn values_are_refused_with_advice() {
        let cases = [
            ("query d --set a --min high", "--min high: give a number, such as 0.8"),
            ("query d --set a --min=", "--min : give a number, such as 0.8"),
            ("query d --set a --top 0", "--top 0: give a whole number of at least 1"),
            ("query d --set a --top x", "--top x: give a whole number"),
            ("query d --set a --min-matches -1", ""),
            (
                "query d --set a --min-matches 99999999999",
                "--min-matches 99999999999: give a whole number of at most 4294967295",
            ),
            (
                "plan --min 0.5 --sets 99999999999999999999",
                "--sets 99999999999999999999: give a whole number of at most 18446744073709551615",
            ),
            ("stat d --threads 0", "--threads 0: give a whole number from 1 to 1024"),
            ("stat d --threads 1025", "--threads 1025: give a whole number from 1 to 1024"),
            (
                "stat d --cache 5parsecs",
                "--cache 5parsecs: `parsecs` is not a unit: use KiB, MiB or GiB",
            ),
            (
                "create d --features words",
                "--features words: features `words`: choose one of ids, ",
            ),
            ("query d", ""),
            ("nothing", ""),
        ];
        for (line, expected) in cases {
            let words = format!("ringer {line}");
            let error = Arguments::try_parse_from(words.split(' ')).err().expect("it is refused");
            let sentence = sentence(&error).unwrap_or_default();
            assert!(sentence.starts_with(expected), "{line}: {sentence}");
            assert_eq!(sentence.is_empty(), expected.is_empty(), "{line}: {sentence}");
        }
    }
}
