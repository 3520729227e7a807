//! Input that could not be used: said once with its place, counted, and left out; or, when asked to be
//! strict, a reason to stop.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::exit::{self, Failure};

/// Messages of one kind that are printed. Further ones are only counted.
const MOST_MESSAGES: u64 = 20;

/// The same for binary files: a folder may have a million images, and nothing is wrong with any.
const MOST_BINARY_MESSAGES: u64 = 3;

/// Why something was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    Binary,
    TooLarge,
    /// It breaks a limit of what one document may take.
    OverLimit,
    Malformed,
    Unreadable,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Reason::Binary => "binary",
            Reason::TooLarge => "too large",
            Reason::OverLimit => "over a limit",
            Reason::Malformed => "malformed",
            Reason::Unreadable => "unreadable",
        }
    }
}

/// Something that could not be used.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) reason: Reason,
    /// The place, and what is wrong there.
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(reason: Reason, message: String) -> Problem {
        Problem { reason, message }
    }
}

/// All problems of a run.
pub(crate) struct Problems {
    strict: bool,
    counts: BTreeMap<Reason, u64>,
}

impl Problems {
    pub(crate) fn new(strict: bool) -> Problems {
        Problems { strict, counts: BTreeMap::new() }
    }

    /// Takes note of a problem. That a file is binary is none of anybody's making and ends nothing.
    pub(crate) fn note(&mut self, problem: Problem) -> Result<(), Failure> {
        let Problem { reason, message } = problem;
        if self.strict && reason != Reason::Binary {
            return Err(match reason {
                Reason::OverLimit => Failure::Limit(message),
                _ => Failure::Io(message),
            });
        }
        let most = match reason {
            Reason::Binary => MOST_BINARY_MESSAGES,
            _ => MOST_MESSAGES,
        };
        let count = self.counts.entry(reason).or_insert(0);
        *count += 1;
        if *count <= most {
            exit::say(&format!("warning: {message}"));
        }
        if *count == most {
            let reason = reason.name();
            exit::say(&format!("warning: further {reason} input is counted, without a message"));
        }
        Ok(())
    }

    /// How a command ends that stored so many sets. What could not be used is no reason to fail as long as
    /// something could, unless a document broke a limit: then others of its kind would, too.
    pub(crate) fn end(&self, sets: u64) -> Result<(), Failure> {
        let all: u64 = self.counts.values().sum();
        let over = self.counts.get(&Reason::OverLimit).copied().unwrap_or(0);
        if sets == 0 && all > 0 {
            return Err(Failure::Io("none of the input could be used".into()));
        }
        match over {
            0 => Ok(()),
            _ => Err(Failure::Limit(format!(
                "{} left out that would take more than one document may: raise --max-text or --max-features \
                 to add them",
                if over == 1 { "1 document was".into() } else { format!("{over} documents were") }
            ))),
        }
    }

    /// The counts by reason.
    pub(crate) fn json(&self) -> Value {
        self.counts.iter().map(|(reason, n)| (reason.name().to_string(), *n)).collect()
    }

    /// `; left out: 2 binary, 1 unreadable`, or nothing.
    pub(crate) fn summary(&self) -> String {
        let parts: Vec<String> =
            self.counts.iter().map(|(reason, n)| format!("{n} {}", reason.name())).collect();
        if parts.is_empty() { String::new() } else { format!("; left out: {}", parts.join(", ")) }
    }
}
