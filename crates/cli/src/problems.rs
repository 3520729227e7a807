//! Input that cannot be used: it is reported with its place, counted and skipped. With `--strict` it ends the command.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::exit::{self, Failure};
use crate::show;

/// How many warnings of one kind are printed. Further ones are only counted.
const MOST_MESSAGES: u64 = 20;

/// The same for malformed lines: if one is, all may be.
const SOME_MESSAGES: u64 = 10;

/// The same for kinds that are often harmless: a folder may have a million images, and a dataset a million repeated keys.
const FEW_MESSAGES: u64 = 3;

/// How many warnings in a row may differ only in their numbers and quoted words.
const MOST_ALIKE: u64 = 3;

/// Why input cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    Binary,
    TooLarge,
    /// The text has fewer words than `--min-words`.
    TooShort,
    /// The document exceeds `--max-text` or `--max-features`.
    OverLimit,
    Malformed,
    Unreadable,
    /// The row has the key of an earlier row.
    RepeatedKey,
    /// The shard has other columns than the first shard.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only Parquet needs it"))]
    OtherSchema,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Reason::Binary => "binary",
            Reason::TooLarge => "too large",
            Reason::TooShort => "too short",
            Reason::OverLimit => "over a limit",
            Reason::Malformed => "malformed",
            Reason::Unreadable => "unreadable",
            Reason::RepeatedKey => "repeated key",
            Reason::OtherSchema => "other schema",
        }
    }

    /// Several of them.
    fn plural(self) -> &'static str {
        match self {
            Reason::Binary => "binary files",
            Reason::TooLarge => "inputs that are too large",
            Reason::TooShort => "short texts",
            Reason::OverLimit => "documents over a limit",
            Reason::Malformed => "malformed lines",
            Reason::Unreadable => "unreadable files",
            Reason::RepeatedKey => "repeated keys",
            Reason::OtherSchema => "files with other columns",
        }
    }

    /// What to do about all of them.
    fn advice(self) -> &'static str {
        match self {
            Reason::Binary => {
                "; --features chunks compares binary files, and --binary reads them as text"
            }
            _ => "",
        }
    }
}

/// One piece of input that cannot be used.
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
    /// Whether the input is rows of a dataset, which are kept when they cannot be compared.
    rows: bool,
    counts: BTreeMap<Reason, u64>,
    /// How many warnings of each kind were printed, the last one included that says that there are more.
    printed: BTreeMap<Reason, u64>,
    /// The last message without its digits and quoted words, and how many such messages came in a row.
    last: (String, u64),
}

impl Problems {
    pub(crate) fn new(strict: bool) -> Problems {
        Problems {
            strict,
            rows: false,
            counts: BTreeMap::new(),
            printed: BTreeMap::new(),
            last: Default::default(),
        }
    }

    /// Problems of rows of a dataset, which are kept when they cannot be compared.
    pub(crate) fn of_rows(strict: bool) -> Problems {
        Problems { rows: true, ..Problems::new(strict) }
    }

    /// Records input that is skipped or, if it is a row of a dataset, kept without a comparison. Fails if the run is strict,
    /// except for binary files, which are expected in folders.
    pub(crate) fn note(&mut self, problem: Problem) -> Result<(), Failure> {
        let consequence = if self.rows { "; the row is kept" } else { "" };
        self.note_with(problem, consequence)
    }

    /// Records something odd about input that is used all the same.
    pub(crate) fn note_about(&mut self, problem: Problem) -> Result<(), Failure> {
        self.note_with(problem, "")
    }

    fn note_with(&mut self, problem: Problem, consequence: &str) -> Result<(), Failure> {
        let Problem { reason, message } = problem;
        if self.strict && !matches!(reason, Reason::Binary | Reason::TooShort) {
            return Err(match reason {
                Reason::OverLimit => Failure::Limit(message),
                _ => Failure::Io(message),
            });
        }
        let most = match reason {
            Reason::Binary | Reason::TooShort | Reason::RepeatedKey => FEW_MESSAGES,
            Reason::Malformed => SOME_MESSAGES,
            _ => MOST_MESSAGES,
        };
        let alike = if reason == Reason::Malformed { self.alike(&message) } else { 1 };
        *self.counts.entry(reason).or_insert(0) += 1;
        let printed = self.printed.entry(reason).or_insert(0);
        let (things, advice) = (reason.plural(), reason.advice());
        if *printed < most && alike <= MOST_ALIKE {
            let advice = if *printed == 0 { advice } else { "" };
            exit::say(&format!("warning: {message}{consequence}{advice}"));
            *printed += 1;
        } else if *printed < most && alike == MOST_ALIKE + 1 {
            exit::say(&format!("warning: further {things} like these are counted, but not listed"));
        } else if *printed == most && alike <= MOST_ALIKE {
            exit::say(&format!("warning: further {things} are counted, but not listed"));
            *printed += 1;
        }
        Ok(())
    }

    /// How many messages in a row differ only in their numbers and quoted words, this one included.
    fn alike(&mut self, message: &str) -> u64 {
        let unquoted = message.split('`').step_by(2);
        let bare: String = unquoted.flat_map(str::chars).filter(|c| !c.is_ascii_digit()).collect();
        match self.last.0 == bare {
            true => self.last.1 += 1,
            false => self.last = (bare, 1),
        }
        self.last.1
    }

    /// How a command ends that used `sets` sets. It fails if none of the input could be used, or if a document was over a
    /// limit that the user can raise.
    pub(crate) fn end(&self, sets: u64) -> Result<(), Failure> {
        let all: u64 = self.counts.values().sum();
        let over = self.counts.get(&Reason::OverLimit).copied().unwrap_or(0);
        if sets == 0 && all > 0 {
            return Err(Failure::Io(
                "none of the input could be used: see the warnings above".into(),
            ));
        }
        match over {
            0 => Ok(()),
            _ => Err(Failure::Limit(format!(
                "{} skipped because of the limits of one document: raise --max-text or --max-features to add {}",
                show::count_was(over, "document"),
                if over == 1 { "it" } else { "them" }
            ))),
        }
    }

    /// The counts by reason.
    pub(crate) fn json(&self) -> Value {
        self.counts.iter().map(|(reason, n)| (reason.name().to_string(), *n)).collect()
    }

    /// Why rows could not be compared: `2 malformed, 1 too large`.
    pub(crate) fn unjudged(&self) -> String {
        let odd = |reason| matches!(reason, Reason::RepeatedKey | Reason::OtherSchema);
        let reasons = self.counts.iter().filter(|(reason, _)| !odd(**reason));
        reasons.map(|(reason, n)| format!("{n} {}", reason.name())).collect::<Vec<_>>().join(", ")
    }

    /// `; skipped: 2 binary, 1 unreadable`, or nothing.
    pub(crate) fn summary(&self) -> String {
        let parts: Vec<String> =
            self.counts.iter().map(|(reason, n)| format!("{n} {}", reason.name())).collect();
        if parts.is_empty() { String::new() } else { format!("; skipped: {}", parts.join(", ")) }
    }
}
