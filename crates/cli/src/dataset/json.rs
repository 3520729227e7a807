//! Parses a line of JSONL as a row. Only the wanted fields are decoded.

use std::borrow::Cow;
use std::fmt;

use ringer::scheme::Features;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::row::{Fields, Row, Value, named};
use crate::input::{Content, expected, json_fault, json_set, nested};

/// Returns the row of a line. An error continues a message that starts with the place of the line: `has no field ..`.
pub(crate) fn parse<'a>(
    line: &'a [u8],
    fields: &Fields,
    features: Features,
) -> Result<Row<'a>, String> {
    let line = str::from_utf8(line).map_err(|_| "is not UTF-8".to_string())?;
    let found = find(line, fields)?;
    let key = match found.key {
        None | Some("null") => None,
        Some(text) => match text.as_bytes().first() {
            Some(b'"') => Some(Cow::Owned(string(text, &fields.key)?.into_owned().into_bytes())),
            Some(b'0'..=b'9' | b'-') => Some(Cow::Borrowed(text.as_bytes())),
            _ => {
                return Err(format!(
                    "has {} that is neither a string nor a number",
                    named(&fields.key)
                ));
            }
        },
    };
    let text = match found.text {
        None => return Err(format!("has no field `{}`", fields.text)),
        Some("null") => return Err(format!("has {} that is null", named(&fields.text))),
        Some(text) => text,
    };
    let content = match text.starts_with('"') {
        true => Content::Document(bytes(string(text, &fields.text)?)),
        false => json_set(text, features).ok_or_else(|| {
            format!("has {} that is not {}", named(&fields.text), expected(features))
        })?,
    };
    let order = found.order.map_or(Value::None, value_of);
    Ok(Row { key, content, order })
}

/// The wanted fields of an object, as raw JSON.
#[derive(Default)]
struct Found<'a> {
    key: Option<&'a str>,
    text: Option<&'a str>,
    order: Option<&'a str>,
}

/// Finds a wanted field in the field `name`, which has this value. Returns `None` unless `wanted` is `name` itself or a
/// field inside it, such as `name.inner`.
fn wanted<'a>(name: &str, wanted: &str, value: &'a RawValue) -> Option<&'a str> {
    match wanted.strip_prefix(name)? {
        "" => Some(value.get()),
        rest => nested(value, rest.strip_prefix('.')?),
    }
}

fn find<'a>(line: &'a str, fields: &Fields) -> Result<Found<'a>, String> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let found = Wanted(fields).deserialize(&mut deserializer);
    found
        .and_then(|found| deserializer.end().map(|()| found))
        .map_err(|error| format!("is not a JSON object: {}", json_fault(&error)))
}

/// Reads an object and keeps the wanted fields. If a field is repeated, the last one counts.
struct Wanted<'f>(&'f Fields);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Found<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Found<'de>, M::Error> {
        let mut found = Found::default();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            // Key and text can be the same field, and several nested fields can be in the same object.
            let fields = [Some(&*self.0.key), Some(&*self.0.text), self.0.order.as_deref()];
            let starts = |field: &&str| field.starts_with(&*name);
            if !fields.iter().flatten().any(starts) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: &RawValue = map.next_value()?;
            let [key, text, order] = fields.map(|field| wanted(&name, field?, value));
            found.key = key.or(found.key);
            found.text = text.or(found.text);
            found.order = order.or(found.order);
        }
        Ok(found)
    }
}

/// A JSON string, borrowed if it has no escapes.
fn string<'a>(value: &'a str, field: &str) -> Result<Cow<'a, str>, String> {
    let inside = &value[1..value.len().max(2) - 1];
    if !inside.contains('\\') {
        return Ok(Cow::Borrowed(inside));
    }
    serde_json::from_str(value).map(Cow::Owned).map_err(|error| {
        format!("has {} that cannot be read: {}", named(field), json_fault(&error))
    })
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

fn value_of(value: &str) -> Value {
    match value.as_bytes().first() {
        Some(b'"') => {
            string(value, "").map_or(Value::None, |text| Value::Text(text.as_bytes().to_vec()))
        }
        Some(b'0'..=b'9' | b'-') => match value.parse() {
            Ok(integer) => Value::Integer(integer),
            Err(_) => value.parse().map_or(Value::None, Value::number),
        },
        Some(b't') => Value::Integer(1),
        Some(b'f') => Value::Integer(0),
        _ => Value::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields {
        Fields { key: "id".into(), text: "text".into(), order: Some("when".into()), value: None }
    }

    fn parsed(line: &str) -> Result<(Option<String>, String, Value), String> {
        let row = parse(line.as_bytes(), &fields(), Features::TEXT)?;
        let key = row.key.map(|key| String::from_utf8(key.into_owned()).unwrap());
        let Content::Document(text) = row.content else { panic!("a text") };
        Ok((key, String::from_utf8(text.into_owned()).unwrap(), row.order))
    }

    #[test]
    fn fields_are_found_in_any_order_and_nested_ones_are_not() {
        let line = r#" {"other": {"text": "no", "id": [1]}, "when": 2.5, "text": "a\n\"b\"", "id": "k\u00e9"} "#;
        assert_eq!(parsed(line), Ok((Some("ké".into()), "a\n\"b\"".into(), Value::Number(2.5))));
        assert_eq!(parsed(r#"{"text":"t"}"#), Ok((None, "t".into(), Value::None)));
        assert_eq!(
            parsed(r#"{"id":12,"text":""}"#),
            Ok((Some("12".into()), "".into(), Value::None))
        );
        assert_eq!(parsed(r#"{"text":"a","text":"b"}"#).unwrap().1, "b");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |line: &str| parsed(line).unwrap_err();
        assert_eq!(message(r#"{"id":1}"#), "has no field `text`");
        assert_eq!(message(r#"{"text":null}"#), "has a `text` that is null");
        assert_eq!(message(r#"{"text":[1]}"#), "has a `text` that is not a string");
        assert_eq!(
            message(r#"{"id":{},"text":"a"}"#),
            "has an `id` that is neither a string nor a number"
        );
        assert!(message("[1]").starts_with("is not a JSON object: "));
        assert!(message(r#"{"text":"a"} x"#).starts_with("is not a JSON object: "));
        assert!(message(r#"{"text":"a"#).starts_with("is not a JSON object: "));
        assert_eq!(
            parse(b"{\"text\":\"\xff\"}", &fields(), Features::TEXT).unwrap_err(),
            "is not UTF-8"
        );
    }
}
