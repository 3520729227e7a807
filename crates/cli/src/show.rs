//! Formats keys, estimates, matches and sizes, as text and as JSON.

use std::io::{BufWriter, Write, stdout};
use std::path::Path;

use ringer::scheme::Measure;
use ringer::{Comparison, Estimate, Match, Options};
use serde_json::{Map, Value, json};

use crate::exit::Failure;

/// The output options of every command.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Style {
    /// Print one JSON object per line.
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print no progress bars and no summaries.
    #[arg(long, short, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Say what is being done.
    #[arg(long, short, global = true, help_heading = "Output", conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Memory for the pages of a database, such as 512MiB [default: 64MiB; for many queries at once, what the file needs, up to
    /// half of the free memory].
    #[arg(long, global = true, value_name = "SIZE", help_heading = "Resources", value_parser = parse_bytes)]
    pub(crate) cache: Option<usize>,
    /// How many threads work at once [default: one for each processor].
    #[arg(
        long,
        global = true,
        value_name = "N",
        help_heading = "Resources",
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    pub(crate) threads: Option<u16>,
}

impl Style {
    /// The options for opening a database.
    pub(crate) fn options(&self) -> Options {
        let usual = Options::default();
        let cache = self.cache.unwrap_or(usual.cache_bytes);
        let threads = self.threads.map_or(usual.threads, usize::from);
        usual.with_cache_bytes(cache).with_threads(threads)
    }
}

/// Buffered lines for standard output or a file.
pub(crate) struct Output {
    out: BufWriter<Box<dyn Write>>,
}

impl Output {
    /// Standard output.
    pub(crate) fn new() -> Output {
        Output::to(Box::new(stdout().lock()))
    }

    /// Any destination.
    pub(crate) fn to(out: Box<dyn Write>) -> Output {
        Output { out: BufWriter::new(out) }
    }

    /// Prints a line.
    pub(crate) fn line(&mut self, line: impl std::fmt::Display) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{line}")?)
    }

    /// Prints bytes unchanged.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.out.write_all(bytes)?)
    }

    /// Flushes the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

/// A key as printable text. Control characters, which could move the cursor, and bytes that are not UTF-8 are escaped.
pub(crate) fn key(key: &[u8]) -> String {
    let mut shown = String::new();
    for part in key.utf8_chunks() {
        for c in part.valid().chars() {
            match c.is_control() {
                true => shown.extend(c.escape_default()),
                false => shown.push(c),
            }
        }
        part.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
    }
    shown
}

/// A path as printable text.
pub(crate) fn path(path: &Path) -> String {
    key(path.as_os_str().as_encoded_bytes())
}

/// A key as JSON: text, or its bytes in hexadecimal if it is not UTF-8.
pub(crate) fn json_key(key: &[u8]) -> Value {
    match std::str::from_utf8(key) {
        Ok(text) => Value::from(text),
        Err(_) => json!({ "hex": key.iter().map(|b| format!("{b:02x}")).collect::<String>() }),
    }
}

/// The bytes of a key from its JSON.
pub(crate) fn key_of_json(key: &Value) -> Vec<u8> {
    let byte = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
    match (key.as_str(), key["hex"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(hex)) => hex.as_bytes().chunks(2).filter_map(byte).collect(),
        (None, None) => key.to_string().into_bytes(),
    }
}

/// Adds the resemblance or cosine of a comparison, its error and interval, and whether it is exact.
pub(crate) fn put_comparison(object: &mut Map<String, Value>, comparison: &Comparison) {
    put_similarity(object, comparison.measure(), &comparison.similarity());
    object.insert("exact".into(), comparison.is_exact().into());
}

/// Adds a resemblance or cosine with its error and interval.
pub(crate) fn put_similarity(
    object: &mut Map<String, Value>,
    measure: Measure,
    estimate: &Estimate,
) {
    object.insert(measure.similarity_name().into(), estimate.value.into());
    object.insert("std_error".into(), estimate.std_error.into());
    object.insert("low".into(), estimate.low.into());
    object.insert("high".into(), estimate.high.into());
}

/// Adds the measures that need set sizes, if the scheme keeps those. `names` are the fields of the two containments.
pub(crate) fn put_measures(
    object: &mut Map<String, Value>,
    comparison: &Comparison,
    names: [&str; 2],
) {
    let measures = [
        (names[0], comparison.containment_of_first()),
        (names[1], comparison.containment_of_second()),
        ("intersection", comparison.intersection()),
        ("union", comparison.union()),
        ("hamming", comparison.hamming()),
    ];
    for (name, estimate) in measures {
        if let Ok(estimate) = estimate {
            put_measure(object, name, &estimate);
        }
    }
}

/// Adds a measure with its error and interval.
pub(crate) fn put_measure(object: &mut Map<String, Value>, name: &str, estimate: &Estimate) {
    object.insert(name.into(), estimate.value.into());
    object.insert(format!("{name}_std_error"), estimate.std_error.into());
    object.insert(format!("{name}_low"), estimate.low.into());
    object.insert(format!("{name}_high"), estimate.high.into());
}

/// Adds the similarity and all measures that need set sizes, computed together.
fn put_all(object: &mut Map<String, Value>, comparison: &Comparison, names: [&str; 2]) {
    let Ok(measures) = comparison.measures() else {
        put_comparison(object, comparison);
        return;
    };
    put_similarity(object, comparison.measure(), &measures.resemblance);
    object.insert("exact".into(), comparison.is_exact().into());
    for (name, estimate) in [
        (names[0], measures.containment_of_first()),
        (names[1], measures.containment_of_second()),
        ("intersection", measures.intersection()),
        ("union", measures.union()),
        ("hamming", measures.hamming()),
    ] {
        put_measure(object, name, &estimate);
    }
}

/// A match as a JSON object.
pub(crate) fn json_match(query: &Value, found: &Match) -> Value {
    let mut object = Map::new();
    object.insert("query".into(), query.clone());
    object.insert("key".into(), json_key(&found.key));
    object.insert("matching_slots".into(), found.matching_slots.into());
    let names = ["containment_of_query", "containment_in_query"];
    put_all(&mut object, &found.comparison, names);
    put_value(&mut object, "value", found.value.as_deref());
    Value::Object(object)
}

/// Adds a value to a JSON object if there is one, in the form of a key.
pub(crate) fn put_value(object: &mut Map<String, Value>, name: &str, value: Option<&[u8]>) {
    if let Some(value) = value {
        object.insert(name.into(), json_key(value));
    }
}

/// A resemblance or cosine with its error as text. Resemblances estimated below 0 are shown as 0.
pub(crate) fn similarity(measure: Measure, estimate: &Estimate) -> String {
    let value = match measure {
        Measure::Cosine => estimate.value,
        _ => estimate.clamped(),
    };
    with_error(value, estimate.std_error, 3)
}

/// A value with its error, to some digits.
fn with_error(value: f64, error: f64, digits: usize) -> String {
    let smallest = 0.5 * 0.1f64.powi(digits as i32);
    // No `-0.000`.
    let value = if value.abs() < smallest { 0.0 } else { value };
    // An error of zero would promise more than samples can tell.
    match error < smallest {
        true => format!("about {value:.digits$}"),
        false => format!("{value:.digits$} ± {error:.digits$}"),
    }
}

/// A measure with its error and interval, or marked as exact.
pub(crate) fn measured(estimate: &Estimate, exact: bool, digits: usize) -> String {
    let Estimate { value, std_error, low, high } = *estimate;
    match exact {
        true => format!("{value:.digits$} exact"),
        false => format!(
            "{} (95 %: {low:.digits$} to {high:.digits$})",
            with_error(value, std_error, digits)
        ),
    }
}

/// The similarity of a comparison as text, with its error or marked as exact.
pub(crate) fn similarity_of(comparison: &Comparison) -> String {
    let estimate = comparison.similarity();
    match comparison.is_exact() {
        true => format!("{:.3} exact", estimate.value),
        false => similarity(comparison.measure(), &estimate),
    }
}

/// The similarity of a comparison as text, with its interval.
pub(crate) fn similarity_and_interval(comparison: &Comparison) -> String {
    let estimate = comparison.similarity();
    let value = similarity_of(comparison);
    format!("{value:<13}  {:.3} to {:.3}", estimate.low, estimate.high)
}

/// A number of bytes as text.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// `1 file was`, `2 files were`.
pub(crate) fn count_was(number: u64, thing: &str) -> String {
    format!("{} {}", count(number, thing), if number == 1 { "was" } else { "were" })
}

/// Parses a size from the command line: `512MiB`, `4GiB`, `1000000`.
pub(crate) fn parse_bytes(text: &str) -> Result<usize, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "k" | "kib" => 1024.0,
        "mb" => 1e6,
        "m" | "mib" => 1024.0 * 1024.0,
        "gb" => 1e9,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "tb" => 1e12,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(format!("`{unit}` is not a unit: use KiB, MiB or GiB")),
    };
    let number: f64 =
        number.parse().map_err(|_| "expected a number and a unit, such as 512MiB".to_string())?;
    let bytes = number * factor;
    match bytes >= 1.0 && bytes <= usize::MAX as f64 {
        true => Ok(bytes as usize),
        false => Err("the size is out of range: give at least 1 byte".into()),
    }
}
