//! `ringer keys`: lists keys.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::json;

use crate::exit::Failure;
use crate::show::{self, Output, Style};
use crate::{interrupt, open};

/// List keys in order, all of them or those with a common prefix.
#[derive(clap::Args)]
pub(crate) struct Keys {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// List only keys that start with P.
    #[arg(long, value_name = "P", default_value = "", allow_hyphen_values = true)]
    prefix: OsString,
    /// Print keys unescaped, each followed by a zero byte, for `xargs -0`.
    #[arg(long, short = '0', conflicts_with = "json")]
    null: bool,
}

impl Keys {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        interrupt::end_at_once("the list is not complete; nothing was changed");
        let reader = open::to_read(&self.path, style)?;
        let snapshot = reader.snapshot();
        let mut out = Output::new();
        for key in snapshot.prefix_keys(open::key(&self.prefix)) {
            let key = key?;
            match (style.json, self.null) {
                (true, _) => out.line(json!({ "key": show::json_key(&key) }))?,
                (false, true) => {
                    out.bytes(&key)?;
                    out.bytes(&[0])?;
                }
                (false, false) => out.line(show::key(&key))?,
            }
        }
        out.flush()
    }
}
