//! `ringer dump`: prints every row as text.

use std::path::PathBuf;

use super::get::{hex, json_row, kept};
use crate::exit::Failure;
use crate::show::{self, Output, Style};
use crate::{interrupt, open};

/// Print every row.
///
/// A line has the key, the number of elements and the signature in hexadecimal, separated by tabs.
#[derive(clap::Args)]
pub(crate) struct Dump {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
}

impl Dump {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        interrupt::end_at_once("the list is not complete; nothing was changed");
        let reader = open::to_read(&self.path, style)?;
        let snapshot = reader.snapshot();
        let mut out = Output::new();
        for row in snapshot.range::<&[u8]>(..) {
            let (key, stored) = row?;
            if style.json {
                out.line(json_row(&key, &stored))?;
                continue;
            }
            let size = match stored.signature.cardinality() {
                _ if stored.signature.is_empty() => "0".into(),
                _ if kept(&stored).is_some() => kept(&stored).unwrap_or_default().to_string(),
                Some(size) => format!("{:.0}", size.value),
                None => "?".into(),
            };
            out.line(format_args!("{}\t{size}\t{}", show::key(&key), hex(&stored)))?;
        }
        out.flush()
    }
}
