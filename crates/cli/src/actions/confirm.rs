//! Says what an action would do, and asks whether it may.

use std::io::{self, BufRead, IsTerminal, Write};

use super::Action;
use super::plan::{Counts, Plan};
use crate::exit::{self, Failure};
use crate::show::{self, Style};

impl Plan<'_> {
    /// Whether the files may be touched. Without `--yes`, the user is asked on the terminal.
    pub(super) fn is_confirmed(&self, style: Style) -> Result<bool, Failure> {
        let told = self.told();
        let asked = !self.arguments.yes;
        if asked || !style.quiet {
            exit::say(&told);
        }
        if !asked {
            return Ok(true);
        }
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            let (verb, done) = (self.action.verb(), self.action.done());
            return Err(Failure::Usage(format!(
                "nothing was {done}: add --yes to {verb} these files, or run this on a terminal to be asked"
            )));
        }
        let _ = write!(io::stderr(), "{} them? [y/N] ", upper(self.action.verb()));
        let _ = io::stderr().flush();
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map_err(|error| {
            Failure::Io(format!(
                "cannot read the answer, so nothing was {}: {error}",
                self.action.done()
            ))
        })?;
        Ok(matches!(&*answer.trim().to_lowercase(), "y" | "yes"))
    }

    /// `to delete: 3 files with 1.2 MiB: 2 are identical to the kept file, 1 is only similar`
    fn told(&self) -> String {
        let Counts { identical, similar, bytes } = self.counts();
        let files = show::count(identical + similar, "file");
        let verb = match self.action {
            Action::Move(folder) => format!("to move to {}", show::path(folder)),
            Action::Delete | Action::Link(_) | Action::Print => {
                format!("to {}", self.action.verb())
            }
        };
        let are = |number: u64| if number == 1 { "is" } else { "are" };
        let parts = match (identical, similar) {
            (1, 0) => "it is identical to the file that is kept".to_string(),
            (_, 0) => "all are identical to files that are kept".to_string(),
            (0, 1) => "it is only similar to the file that is kept".to_string(),
            (0, _) => "all are only similar to files that are kept".to_string(),
            _ => format!(
                "{identical} {} identical to a file that is kept, {similar} {} only similar to one",
                are(identical),
                are(similar)
            ),
        };
        format!("{verb}: {files}, {}; {parts}", show::bytes(bytes))
    }
}

fn upper(word: &str) -> String {
    let mut characters = word.chars();
    characters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}
