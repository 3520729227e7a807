//! `ringer pack`: a compact copy.

use std::path::PathBuf;

use crate::exit::{self, Failure};
use crate::open;
use crate::show::{self, Style};

/// Write a compact copy: one segment, no dead space. The original is not changed.
#[derive(clap::Args)]
pub(crate) struct Pack {
    /// The database.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// The copy; nothing may stand there.
    #[arg(value_name = "FILE")]
    target: PathBuf,
}

impl Pack {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let reader = open::to_read(&self.path, style)?;
        reader.pack(&self.target)?;
        if !style.quiet && !style.json {
            let bytes = std::fs::metadata(&self.target).map_or(0, |found| found.len());
            let target = show::path(&self.target);
            exit::say(&format!("packed into {target}: {}", show::bytes(bytes)));
        }
        Ok(())
    }
}
