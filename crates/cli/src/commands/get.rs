//! `ringer get`: shows the set stored under a key.

use std::ffi::OsString;
use std::path::PathBuf;

use ringer::Stored;
use serde_json::{Value, json};

use crate::exit::{self, Failure};
use crate::open;
use crate::show::{self, Output, Style};

/// Show the set stored under a key.
///
/// Exits with status 1 if the key does not exist.
#[derive(clap::Args)]
pub(crate) struct Get {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// The key.
    key: OsString,
}

impl Get {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let reader = open::to_read(&self.path, style)?;
        let key = open::key(&self.key);
        let Some(stored) = reader.get(key)? else {
            exit::say(&format!("error: no set is stored under the key `{}`", show::key(key)));
            return Err(Failure::Findings);
        };
        let mut out = Output::new();
        if style.json {
            out.line(json_row(key, &stored))?;
        } else {
            out.line(format_args!("key        {}", show::key(key)))?;
            out.line(format_args!("elements   {}", elements(&stored)))?;
            out.line(format_args!("commit     {}", stored.sequence))?;
            out.line(format_args!("signature  {}", hex(&stored)))?;
            if let Some(value) = &stored.value {
                out.line(format_args!("value      {}", show::key(value)))?;
            }
        }
        out.flush()
    }
}

/// The size of a set as text, as precisely as it is known.
fn elements(stored: &Stored) -> String {
    match stored.signature.cardinality() {
        _ if stored.signature.is_empty() => "0 (the empty set)".into(),
        _ if kept(stored).is_some() => format!("{} (kept)", kept(stored).unwrap_or_default()),
        None => "unknown (the scheme does not store set sizes)".into(),
        Some(size) if size.half_width == 0.0 => format!("{}", size.value),
        Some(size) => {
            let (value, half) = (size.value, size.half_width);
            format!("about {value:.0} ({:.0} to {:.0})", value - half, value + half)
        }
    }
}

/// The number of elements, if the set is kept with all bits.
pub(super) fn kept(stored: &Stored) -> Option<usize> {
    let exact = stored.signature.scheme().elements.are_exact();
    stored.signature.elements().filter(|_| exact).map(<[u64]>::len)
}

/// The bit planes of a signature in hexadecimal.
pub(super) fn hex(stored: &Stored) -> String {
    stored.signature.planes().iter().map(|word| format!("{word:016x}")).collect()
}

/// A row as JSON: key, size, commit, and all samples.
pub(super) fn json_row(key: &[u8], stored: &Stored) -> Value {
    let signature = &stored.signature;
    let samples: Vec<u16> = (0..).map_while(|i| signature.sample(i)).collect();
    let size = signature.cardinality().filter(|_| !signature.is_empty());
    let size = size.map(|size| (size.value, size.half_width));
    let size = kept(stored).map(|count| (count as f64, 0.0)).or(size);
    let mut row = json!({
        "key": show::json_key(key),
        "empty": signature.is_empty(),
        "elements": if signature.is_empty() { Some(0.0) } else { size.map(|(value, _)| value) },
        "elements_half_width": size.filter(|_| !signature.is_empty()).map(|(_, half)| half),
        "commit": stored.sequence,
        "samples": samples,
    });
    if let Some(value) = &stored.value {
        row["value"] = show::json_key(value);
    }
    row
}
