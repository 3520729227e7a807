//! `ringer man`: manual pages, generated from the texts of `--help`.

use std::path::PathBuf;

use clap::CommandFactory;
use clap_mangen::Man as Page;

use crate::arguments::Arguments;
use crate::exit::Failure;
use crate::show::{self, Output};

/// Print the manual page, or write the manual pages of all commands into a folder.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer man | man -l -
  ringer man --dir ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write ringer.1, ringer-add.1 and so on into this folder, which is created if necessary.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let command = Arguments::command();
        let Some(folder) = &self.dir else {
            let mut page = Vec::new();
            Page::new(command).render(&mut page)?;
            let mut out = Output::new();
            out.bytes(&page)?;
            return out.flush();
        };
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command, folder))
            .map_err(|error| Failure::Io(format!("cannot write {}: {error}", show::path(folder))))
    }
}
