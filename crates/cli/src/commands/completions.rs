//! `ringer completions`: prints completion scripts for shells.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::exit::Failure;
use crate::show::Output;

/// Print a completion script for a shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer completions bash > ~/.local/share/bash-completion/completions/ringer
  ringer completions zsh > ~/.zfunc/_ringer")]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut script = Vec::new();
        let mut command = Arguments::command();
        clap_complete::generate(self.shell, &mut command, "ringer", &mut script);
        let mut out = Output::new();
        out.bytes(&script)?;
        out.flush()
    }
}
