//! Names of Parquet columns: those inside of groups, and those whose values `add` stores with the keys.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    Int64Type,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

use super::parquet_files::column;
use crate::run::{Tool, words};

/// The group `page` has a key, a text and a list. The column `page.title` is not in the group.
const SCHEMA: &str = "message made_by_hand {
    REQUIRED INT64 text;
    REQUIRED BYTE_ARRAY page.title (UTF8);
    OPTIONAL GROUP page {
        REQUIRED INT64 number;
        OPTIONAL BYTE_ARRAY body (UTF8);
        OPTIONAL BYTE_ARRAY title (UTF8);
        OPTIONAL GROUP tags (LIST) { REPEATED GROUP list { OPTIONAL BYTE_ARRAY element (UTF8); } }
        REQUIRED FIXED_LEN_BYTE_ARRAY(5) price (DECIMAL(10, 2));
    }
    REQUIRED BOOLEAN seen;
    OPTIONAL DOUBLE ratio;
}";

/// Five rows: the second repeats the first, and the last has no page.
fn write(path: &Path) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let text = |text: &str| ByteArray::from(text);
    column::<Int64Type>(&mut group, &[1, 2, 3, 4, 5], None, None);
    let titles: Vec<ByteArray> = (0..5).map(|i| text(&format!("title {i}"))).collect();
    column::<ByteArrayType>(&mut group, &titles, None, None);
    let page = [1, 1, 1, 1, 0];
    column::<Int64Type>(&mut group, &[11, 12, 13, 14], Some(&page), None);
    let bodies = [1, 1, 2].map(|number| text(&words(number)));
    column::<ByteArrayType>(&mut group, &bodies, Some(&[2, 2, 2, 1, 0]), None);
    column::<ByteArrayType>(&mut group, &[], Some(&[1, 1, 1, 1, 0]), None);
    let tags = ["x", "y", "y", "x", "z"].map(text);
    let (definition, repetition) = ([4, 4, 4, 4, 4, 3, 1, 0], [0, 1, 0, 1, 0, 1, 0, 0]);
    column::<ByteArrayType>(&mut group, &tags, Some(&definition), Some(&repetition));
    let price = |cents: i64| FixedLenByteArray::from(cents.to_be_bytes()[3..].to_vec());
    let prices = [1234, -5, 0, 100].map(price);
    column::<FixedLenByteArrayType>(&mut group, &prices, Some(&page), None);
    column::<BoolType>(&mut group, &[true, false, true, false, true], None, None);
    column::<DoubleType>(&mut group, &[0.5, 2.0], Some(&[1, 0, 1, 0, 0]), None);
    group.close().unwrap();
    writer.close().unwrap();
}

fn filled() -> Tool {
    let tool = Tool::new();
    write(&tool.path("d.parquet"));
    tool
}

/// The rows that a run kept and those it could not compare.
fn dedup(tool: &Tool, fields: [&str; 2], features: &str) -> (Vec<Value>, Value) {
    let [text, key] = fields;
    let run = ["dedup", "--parquet", "d.parquet", "--text-field", text, "--key-field", key];
    let output = ["--features", features, "--clusters", "c.jsonl", "--force", "--json"];
    let summary = tool.run(&[&run[..], &output].concat()).with_status(0).json().remove(0);
    let list = fs::read_to_string(tool.path("c.jsonl")).unwrap();
    let rows: Vec<Value> = list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let keys = rows.iter().map(|row| json!([row["key"], row["representative"]])).collect();
    (keys, summary["unjudged"].clone())
}

#[test]
fn columns_inside_of_groups_are_named_with_dots() {
    let tool = filled();
    let found = dedup(&tool, ["page.body", "page.number"], "text");
    assert_eq!(found, (vec![json!(["11", "11"]), json!(["12", "11"])], json!(2)));
    let found = dedup(&tool, ["page.tags", "page.number"], "tokens");
    assert_eq!(found, (vec![json!(["11", "11"]), json!(["12", "11"])], json!(2)));
    // A column whose own name has a dot comes before one inside of a group.
    let found = dedup(&tool, ["page.title", "text"], "grams");
    assert_eq!(found.1, 0);
    // A group of several columns is not a text.
    let named = ["--text-field", "page", "--out", "out"];
    let ran = tool.run(&[&["dedup", "--parquet", "d.parquet"][..], &named].concat()).with_status(3);
    assert!(ran.err.contains("row 1, has no text column `page`"), "{}", ran.err);
}

#[test]
fn add_stores_values_of_a_column() {
    let columns = [
        ("text", json!(["1", "2", "3"])),
        ("page.title", json!(["title 0", "title 1", "title 2"])),
        ("page.tags", json!([r#"["x","y"]"#, r#"["y","x"]"#, r#"["z",null]"#])),
        ("page.price", json!(["12.34", "-0.05", "0.00"])),
        ("seen", json!(["true", "false", "true"])),
        ("ratio", json!(["0.5", null, "2.0"])),
    ];
    for (name, values) in columns {
        let tool = filled();
        tool.run(&["create", "db.ringer"]).with_status(0);
        let add = ["add", "db.ringer", "--parquet", "d.parquet", "--text-field", "page.body"];
        let fields = ["--key-field", "page.number", "--value-field", name];
        tool.run(&[&add[..], &fields].concat()).with_status(0);
        let dumped = tool.run(&["dump", "db.ringer", "--json"]).with_status(0).json();
        let stored: Vec<Value> = dumped.iter().map(|row| row["value"].clone()).collect();
        assert_eq!(json!(stored), values, "{name}");
    }
}

#[test]
fn a_column_without_single_values_is_refused() {
    let tool = filled();
    tool.run(&["create", "db.ringer"]).with_status(0);
    let add = ["add", "db.ringer", "--parquet", "d.parquet", "--text-field", "page.body"];
    for name in ["page", "nobody", "page.nobody"] {
        let ran = tool.run(&[&add[..], &["--value-field", name]].concat()).with_status(3);
        let expected = format!(
            "error: d.parquet has no column `{name}` with single values or lists of them: name another one with --value-field\n"
        );
        assert_eq!(ran.err, expected);
    }
    assert!(tool.keys("db.ringer").is_empty());
}
