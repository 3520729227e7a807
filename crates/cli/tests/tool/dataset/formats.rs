//! The formats that `add` and `query` read, and that `pairs`, `clusters` and `query` write.

use std::fs;
use std::io::Write;

use serde_json::Value;

use super::oracle::{Row, planted};
use crate::run::Tool;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn tsv(rows: &[Row]) -> String {
    rows.iter().map(|row| format!("{}\t{}\n", row.id, row.text())).collect()
}

/// Creates a database from a gzip file of sets.
fn tool() -> (Tool, Vec<Row>) {
    let (tool, rows) = (Tool::new(), planted(120, 41));
    tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
    tool.write("rows.tsv.gz", gzip(&tsv(&rows)));
    let ran = tool.run(&["add", "db.ringer", "--sets", "rows.tsv.gz", "--json"]).with_status(0);
    assert_eq!(ran.json()[0]["added"], 120);
    (tool, rows)
}

/// The fields of a CSV file whose keys have no commas.
fn csv(text: &str) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split(',').map(str::to_string).collect()).collect()
}

#[test]
fn pairs_are_the_same_in_every_format() {
    let (tool, _) = tool();
    let pairs = ["pairs", "db.ringer", "--min", "0.6"];
    let run = |more: &[&str]| tool.run(&[&pairs[..], more].concat());
    let json = run(&["--json"]).with_status(0);
    assert_eq!(run(&["--format", "json"]).with_status(0).out, json.out);
    let json = json.json();
    assert!(json.len() > 20);
    let rows = csv(&run(&["--format", "csv"]).with_status(0).out);
    assert_eq!(rows[0], ["a", "b", "resemblance", "std_error", "low", "high", "exact"]);
    assert_eq!(rows.len(), json.len() + 1);
    for (row, object) in rows[1..].iter().zip(&json) {
        assert_eq!(
            (&*row[0], &*row[1]),
            (object["a"].as_str().unwrap(), object["b"].as_str().unwrap())
        );
        let difference = row[2].parse::<f64>().unwrap() - object["resemblance"].as_f64().unwrap();
        assert!(difference.abs() < 1e-12);
    }
    // A file gets its name when it is complete. The extension selects the format.
    let ran = run(&["--output", "pairs.csv"]).with_status(0);
    assert_eq!(ran.out, "");
    assert_eq!(csv(&fs::read_to_string(tool.path("pairs.csv")).unwrap()), rows);
    run(&["--json", "--format", "csv"]).with_status(2);
}

#[test]
fn clusters_are_tables_of_their_members() {
    let (tool, _) = tool();
    let clusters = ["clusters", "db.ringer", "--min", "0.6", "--linkage", "strict"];
    let json = tool.run(&[&clusters[..], &["--json"]].concat()).with_status(0).json();
    let alias = tool.run(&["clusters", "db.ringer", "--min", "0.6", "--strict-linkage", "--json"]);
    assert_eq!(alias.with_status(0).json(), json);
    let ran = tool.run(&[&clusters[..], &["--format", "csv"]].concat()).with_status(0);
    let rows = csv(&ran.out);
    let names =
        ["cluster", "key", "representative", "resemblance", "std_error", "low", "high", "exact"];
    assert_eq!(rows[0], names);
    let mut expected = Vec::new();
    for object in &json {
        for key in object["keys"].as_array().unwrap() {
            let key = key.as_str().unwrap().to_string();
            expected.push((object["cluster"].to_string(), key));
        }
    }
    let found: Vec<_> = rows[1..].iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    assert!(found == expected && found.len() > 20);
}

#[test]
fn many_queries_come_from_lines_of_json() {
    let (tool, rows) = tool();
    tool.write("q.tsv", tsv(&rows))
        .write("q.jsonl.gz", gzip(&rows.iter().map(Row::line).collect::<String>()));
    let query = |more: &[&str]| {
        tool.run(&[&["query", "db.ringer", "--min", "0.6"][..], more].concat()).with_status(0)
    };
    let sets = query(&["--sets", "q.tsv", "--json"]);
    assert!(sets.out.lines().count() > 120);
    assert_eq!(query(&["--jsonl", "q.jsonl.gz", "--json"]).out, sets.out);
    let table = csv(&query(&["--sets", "q.tsv", "--format", "csv"]).out);
    let names =
        ["query", "key", "matching_slots", "resemblance", "std_error", "low", "high", "exact"];
    assert_eq!(table[0], names);
    let keys = |object: &Value| {
        (object["query"].as_str().unwrap().to_string(), object["key"].as_str().unwrap().to_string())
    };
    let expected: Vec<_> = sets.json().iter().map(keys).collect();
    assert_eq!(
        table[1..].iter().map(|row| (row[0].clone(), row[1].clone())).collect::<Vec<_>>(),
        expected
    );
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_goes_in_and_comes_out() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let (tool, rows) = tool();
    super::parquet_files::write(
        &tool.path("rows.parquet"),
        &rows,
        parquet::basic::Compression::SNAPPY,
    );
    tool.run(&["create", "other.ringer", "--features", "tokens"]).with_status(0);
    tool.run(&["add", "other.ringer", "--parquet", "rows.parquet"]).with_status(0);
    let (numbers, names) = (tool.keys("other.ringer"), tool.keys("db.ringer"));
    let mut named: Vec<String> = numbers.iter().map(|number| format!("r{number}")).collect();
    named.sort();
    assert!(named == names && named.len() == 120);
    let pairs = |db: &str| {
        let ran = tool.run(&["pairs", db, "--min", "0.6", "--json"]).with_status(0);
        ran.out.lines().count()
    };
    assert_eq!(pairs("db.ringer"), pairs("other.ringer"));
    tool.run(&["pairs", "db.ringer", "--min", "0.6", "--output", "p.parquet"]).with_status(0);
    let file = SerializedFileReader::new(fs::File::open(tool.path("p.parquet")).unwrap()).unwrap();
    assert_eq!(file.metadata().file_metadata().num_rows() as usize, pairs("db.ringer"));
    let query = ["query", "db.ringer", "--parquet", "rows.parquet", "--min", "0.6", "--json"];
    assert!(tool.run(&query).with_status(0).out.lines().count() > 120);
    // Rows that cannot be used are left out and named.
    let ran =
        tool.run(&["add", "other.ringer", "--parquet", "rows.parquet", "--key-field", "nobody"]);
    assert!(
        ran.with_status(3)
            .err
            .contains("rows.parquet, row 1, has no value in the key column `nobody`")
    );
}
