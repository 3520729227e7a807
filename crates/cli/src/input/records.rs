//! Parses a line: a key, and its set or document.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ringer::features;
use ringer::scheme::Features;
use serde_json::value::RawValue;

use crate::show;

/// How to parse a line.
#[derive(Debug, Clone)]
pub(crate) enum Records {
    /// `key<TAB>element element ...`, or with weights `key<TAB>element:weight element:weight ...`
    Sets { weighted: bool },
    /// A JSON object with these fields.
    Json { key_field: String, text_field: String, features: Features, weighted: bool },
}

/// The content of a record.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// A document whose features have to be extracted.
    Document(Cow<'a, [u8]>),
    /// Elements with weights, `element:weight`, separated by white space.
    Weighted(Cow<'a, [u8]>),
    /// A set of elements.
    Set(Vec<u64>),
    /// A set of elements with weights.
    WeightedSet(Vec<(u64, f64)>),
}

impl Content<'_> {
    /// The text, if the content is one.
    pub(crate) fn text(&self) -> Option<&[u8]> {
        match self {
            Content::Document(text) | Content::Weighted(text) => Some(text),
            Content::Set(_) | Content::WeightedSet(_) => None,
        }
    }
}

impl Content<'_> {
    /// The same content, borrowed.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only Parquet needs it"))]
    pub(crate) fn borrowed(&self) -> Content<'_> {
        match self {
            Content::Document(text) => Content::Document(Cow::Borrowed(text)),
            Content::Weighted(text) => Content::Weighted(Cow::Borrowed(text)),
            Content::Set(set) => Content::Set(set.clone()),
            Content::WeightedSet(set) => Content::WeightedSet(set.clone()),
        }
    }
}

/// The key and the content of a line.
pub(crate) type Record<'a> = (Cow<'a, [u8]>, Content<'a>);

impl Records {
    /// Key and content of a line, or what is wrong with it. `None` for an empty line.
    pub(crate) fn parse<'a>(&self, line: &'a [u8]) -> Result<Option<Record<'a>>, String> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let (key, content) = match self {
            Records::Sets { weighted } => set_line(line, *weighted)?,
            Records::Json { key_field, text_field, features, weighted } => {
                json_line(line, key_field, text_field, *features, *weighted)?
            }
        };
        if key.is_empty() {
            return Err("the key is empty".into());
        }
        Ok(Some((key, content)))
    }
}

impl Records {
    /// What every line must have, as advice.
    pub(crate) fn needs(&self) -> &'static str {
        match self {
            Records::Sets { .. } => "each line needs a key, a tab and elements",
            Records::Json { .. } => {
                "name the fields of key and text with --key-field and --text-field"
            }
        }
    }
}

/// The value that a line of JSON has in a field: a string as it is, and anything else as its JSON. `None` if the field is
/// missing or null.
pub(crate) fn json_value(line: &[u8], name: &str) -> Result<Option<Vec<u8>>, String> {
    let line = String::from_utf8_lossy(line);
    let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&line)
        .map_err(|error| format!("not a JSON object: {}", json_fault(&error)))?;
    match find(name, &|name| fields.get(name).map(|value| &**value)) {
        None | Some("null") => Ok(None),
        Some(text) if text.starts_with('"') => Ok(Some(string(text, name)?.into_bytes())),
        Some(json) => Ok(Some(json.as_bytes().to_vec())),
    }
}

fn set_line(line: &[u8], weighted: bool) -> Result<Record<'_>, String> {
    let Some(tab) = line.iter().position(|byte| *byte == b'\t') else {
        return Err(match line.starts_with(b"{") {
            true => "there is no tab between the key and the elements, but an object of JSON: use --jsonl".into(),
            false => "there is no tab between the key and the elements".to_string(),
        });
    };
    let elements = Cow::Borrowed(&line[tab + 1..]);
    let content = if weighted { Content::Weighted(elements) } else { Content::Document(elements) };
    Ok((Cow::Borrowed(&line[..tab]), content))
}

fn json_line<'a>(
    line: &'a [u8],
    key_field: &str,
    text_field: &str,
    features: Features,
    weighted: bool,
) -> Result<Record<'a>, String> {
    // Invalid UTF-8 is replaced, because the other words of the document are still usable.
    let line = String::from_utf8_lossy(line);
    let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&line).map_err(|error| {
        match (line.starts_with('{'), line.contains('\t')) {
            (true, _) => format!("not a JSON object: {}", json_fault(&error)),
            (false, true) => {
                "not a JSON object, but it has a tab: use --sets for a key, a tab and elements"
                    .into()
            }
            (false, false) => "not a JSON object".to_string(),
        }
    })?;
    let field = |name: &str, option: &str| {
        let value = find(name, &|name| fields.get(name).map(|value| &**value));
        value.ok_or_else(|| missing(name, option, fields.keys()))
    };
    let key = field(key_field, "--key-field")?;
    let key = match key.as_bytes().first() {
        Some(b'"') => string(key, key_field)?,
        Some(b'0'..=b'9' | b'-') => key.to_string(),
        _ => return Err(format!("`{key_field}` is neither a string nor a number")),
    };
    let value = field(text_field, "--text-field")?;
    let content = match (value.starts_with('"'), weighted) {
        (true, false) => Content::Document(Cow::Owned(string(value, text_field)?.into_bytes())),
        (true, true) => Content::Weighted(Cow::Owned(string(value, text_field)?.into_bytes())),
        (false, false) => json_set(value, features)
            .ok_or_else(|| format!("`{text_field}` is not {}", expected(features)))?,
        (false, true) => json_weights(value, features).ok_or_else(|| {
            format!("`{text_field}` is neither an object of weights nor {EXPECTED_WEIGHTS}")
        })?,
    };
    Ok((Cow::Owned(key.into_bytes()), content))
}

/// A missing field, with some of those that are there.
fn missing<'a>(name: &str, option: &str, fields: impl Iterator<Item = &'a String>) -> String {
    let shown: Vec<String> = fields
        .take(MOST_FIELDS)
        .map(|field| {
            let start: Vec<u8> = field.bytes().take(MOST_FIELD_BYTES).collect();
            format!("`{}`", show::key(&start))
        })
        .collect();
    match shown.is_empty() {
        true => format!("there is no field `{name}`"),
        false => format!(
            "there is no field `{name}`, but {}: name the field with {option}",
            shown.join(", ")
        ),
    }
}

/// How many fields, and how many bytes of their names, a message names.
const MOST_FIELDS: usize = 5;
const MOST_FIELD_BYTES: usize = 40;

/// A field of an object, or one inside of its fields: the value of `a.b` in `{"a": {"b": 1}}`. A name with a dot comes before
/// a nested one.
fn find<'a>(name: &str, get: &dyn Fn(&str) -> Option<&'a RawValue>) -> Option<&'a str> {
    let inside = |(at, _)| nested(get(&name[..at])?, &name[at + 1..]);
    get(name).map(RawValue::get).or_else(|| name.match_indices('.').find_map(inside))
}

/// A field inside a value.
pub(crate) fn nested<'a>(object: &'a RawValue, name: &str) -> Option<&'a str> {
    let fields: BTreeMap<Cow<'a, str>, &'a RawValue> = serde_json::from_str(object.get()).ok()?;
    find(name, &|name| fields.get(name).copied())
}

/// A JSON string.
fn string(value: &str, field: &str) -> Result<String, String> {
    serde_json::from_str(value).map_err(|error| format!("`{field}`: {}", json_fault(&error)))
}

/// An array of tokens or ids.
pub(crate) fn json_set<'a>(value: &str, features: Features) -> Option<Content<'a>> {
    match features {
        Features::Ids => serde_json::from_str(value).ok().map(Content::Set),
        Features::Tokens => {
            let tokens: Vec<String> = serde_json::from_str(value).ok()?;
            Some(Content::Set(features::tokens(&tokens)))
        }
        _ => None,
    }
}

const EXPECTED_WEIGHTS: &str = "a string of `element:weight` nor, for ids, an array of coordinates";

/// An object of elements with their weights or, for ids, an array of coordinates. Coordinates of 0 are no elements.
fn json_weights<'a>(value: &str, features: Features) -> Option<Content<'a>> {
    if features == Features::Ids && value.starts_with('[') {
        let coordinates: Vec<f64> = serde_json::from_str(value).ok()?;
        let there = (0..).zip(coordinates).filter(|(_, coordinate)| *coordinate != 0.0);
        return Some(Content::WeightedSet(there.collect()));
    }
    let weights: BTreeMap<String, f64> = serde_json::from_str(value).ok()?;
    let element = |text: &str| match features {
        Features::Ids => text.parse().ok().filter(|_| !text.starts_with('+')),
        _ => Some(features::token(text)),
    };
    let set = weights.iter().map(|(text, weight)| Some((element(text)?, *weight)));
    set.collect::<Option<_>>().map(Content::WeightedSet)
}

/// The JSON values that the text field may have.
pub(crate) fn expected(features: Features) -> &'static str {
    match features {
        Features::Ids => "a string or an array of unsigned integers",
        Features::Tokens => "a string or an array of strings",
        _ => "a string",
    }
}

/// What is wrong with a line of JSON, and where.
pub(crate) fn json_fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = match text.split(" at line ").next().unwrap_or_default() {
        _ if error.is_eof() => return "it ends too early".into(),
        _ if error.is_data() => return "it is another kind of value".into(),
        "trailing characters" => "more follows after its end",
        "key must be a string" => "there is a name without quotes",
        "expected `:`" => "a colon is missing",
        "expected `,` or `}`" | "expected `,` or `]`" | "trailing comma" => {
            "a comma is missing, or there is one too many"
        }
        "recursion limit exceeded" => "it is nested too deeply",
        "number out of range" => "there is a number that is too large",
        "invalid escape" => "there is an invalid escape after a backslash",
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            "there is half of a character"
        }
        what if what.starts_with("control character") => {
            "there is a control character, which must be escaped,"
        }
        _ => "there is no JSON value",
    };
    format!("{what} at column {}", error.column())
}
