//! `ringer add --value-field`: values come back from every command that prints rows as JSON.

use crate::run;

use run::Tool;
use serde_json::{Value, json};

const TEXT: &str = "the quick brown fox jumps over the lazy dog and runs away";

/// Adds four lines with the same text: a string, an object, null and no field as value.
fn filled() -> Tool {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer"]).with_status(0);
    let values =
        [json!({"v": "a label"}), json!({"v": {"n": [1, 2]}}), json!({"v": null}), json!({})];
    let lines = ["a", "b", "c", "d"].into_iter().zip(values).map(|(id, mut line)| {
        line["id"] = id.into();
        line["text"] = TEXT.into();
        format!("{line}\n")
    });
    let input: String = lines.collect();
    let add = ["add", "db.ringer", "--jsonl", "-", "--value-field", "v"];
    tool.run_with(&input, &add).with_status(0);
    tool
}

fn value_of(key: &str) -> Option<Value> {
    match key {
        "a" => Some("a label".into()),
        "b" => Some(r#"{"n":[1,2]}"#.into()),
        _ => None,
    }
}

#[test]
fn values_are_printed_by_get_dump_query_and_pairs() {
    let tool = filled();
    for key in ["a", "b", "c", "d"] {
        let row = &tool.run(&["get", "db.ringer", key, "--json"]).with_status(0).json()[0];
        assert_eq!(row.get("value").cloned(), value_of(key), "{key}");
    }
    let shown = tool.run(&["get", "db.ringer", "a"]).with_status(0);
    assert!(shown.out.contains("value      a label"), "{}", shown.out);
    let found = tool.run(&["query", "db.ringer", "--text", TEXT, "--json"]).with_status(0).json();
    let dumped = tool.run(&["dump", "db.ringer", "--json"]).with_status(0).json();
    for rows in [found, dumped] {
        assert_eq!(rows.len(), 4);
        for row in rows {
            let key = row["key"].as_str().unwrap();
            assert_eq!(row.get("value").cloned(), value_of(key), "{key}");
        }
    }
    let pairs = ["pairs", "db.ringer", "--min", "0.9", "--expand", "--json"];
    let pairs = tool.run(&pairs).with_status(0).json();
    let pairs: Vec<&Value> = pairs.iter().filter(|line| line.get("a").is_some()).collect();
    assert_eq!(pairs.len(), 6);
    for pair in pairs {
        for side in ["a", "b"] {
            let value = pair.get(format!("{side}_value")).cloned();
            assert_eq!(value, value_of(pair[side].as_str().unwrap()), "{pair}");
        }
    }
}

#[test]
fn query_prints_values_in_every_format_if_asked() {
    let tool = filled();
    let query = ["query", "db.ringer", "--text", TEXT];
    let shown = tool.run(&[&query[..], &["--values"]].concat()).with_status(0).out;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].ends_with("key  value"), "{shown}");
    assert!(lines[1].ends_with("  a  a label"), "{shown}");
    assert!(lines[2].ends_with(r#"  b  {"n":[1,2]}"#), "{shown}");
    assert!(lines[3].ends_with("  c") && lines[4].ends_with("  d"), "{shown}");
    let csv = tool.run(&[&query[..], &["--values", "--format", "csv"]].concat()).with_status(0).out;
    let lines: Vec<&str> = csv.lines().collect();
    let header = "query,key,matching_slots,resemblance,std_error,low,high,exact,value";
    assert_eq!(lines[0], header);
    let values = ["a label", r#""{""n"":[1,2]}""#, "\"\"", "\"\""];
    for (line, value) in lines[1..].iter().zip(values) {
        assert!(line.ends_with(&format!(",{value}")), "{line}");
    }
    assert_eq!(lines.len(), 5);
    // Nobody asked for values.
    for more in [&[][..], &["--format", "csv"]] {
        let shown = tool.run(&[&query[..], more].concat()).with_status(0).out;
        assert!(!shown.contains("label") && !shown.contains("value"), "{shown}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn query_writes_values_to_parquet() {
    use parquet::file::reader::SerializedFileReader;
    use parquet::record::RowAccessor;
    let tool = filled();
    let query = ["query", "db.ringer", "--text", TEXT, "--values", "--output", "found.parquet"];
    tool.run(&query).with_status(0);
    let file = std::fs::File::open(tool.path("found.parquet")).unwrap();
    let rows = SerializedFileReader::new(file).unwrap().into_iter();
    let values: Vec<String> = rows.map(|row| row.unwrap().get_string(8).unwrap().clone()).collect();
    assert_eq!(values, ["a label", r#"{"n":[1,2]}"#, "", ""]);
}

/// A later line without the field drops the value. A value that is too long is reported with its line, and no other line is
/// lost.
#[test]
fn values_are_replaced_and_limited() {
    let tool = filled();
    let long = json!({"id": "long", "text": TEXT, "v": "x".repeat(65_537)});
    let longest = json!({"id": "longest", "text": TEXT, "v": "x".repeat(65_536)});
    let input = format!("{}\n{long}\n{longest}\n", json!({"id": "a", "text": TEXT}));
    for commits in [&[][..], &["--commit-every", "2"]] {
        let add = ["add", "db.ringer", "--jsonl", "-", "--value-field", "v"];
        let added = tool.run_with(&input, &[&add[..], commits].concat());
        assert!(added.err.contains("line 2: the value has 65537 bytes"), "{}", added.err);
        assert_eq!(tool.keys("db.ringer"), ["a", "b", "c", "d", "longest"]);
        let row = &tool.run(&["get", "db.ringer", "a", "--json"]).with_status(0).json()[0];
        assert_eq!(row.get("value"), None);
        let row = &tool.run(&["get", "db.ringer", "longest", "--json"]).with_status(0).json()[0];
        assert_eq!(row["value"].as_str().map(str::len), Some(65_536));
    }
}

/// Only lines of JSON have fields, so the option is refused for files and lines of sets, and nothing is stored.
#[test]
fn a_value_field_is_refused_where_there_are_no_fields() {
    let tool = filled();
    tool.write("new.txt", TEXT);
    for input in [&["new.txt"][..], &["--sets", "new.txt"], &["--files-from", "new.txt"]] {
        let add = [&["add", "db.ringer", "--value-field", "v"][..], input].concat();
        tool.run(&add).with_status(2);
    }
    assert_eq!(tool.keys("db.ringer"), ["a", "b", "c", "d"]);
}
