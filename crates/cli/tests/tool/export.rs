//! `export --libsvm`: rows agree with the samples that `dump` prints, and bad labels are refused.

use crate::run;

use run::Tool;

const SETS: &str = "b\tone two three four\na\tone two three five\nempty\t\nx y\tsix seven\n";

/// The lines of the format, computed from the samples that `dump --json` prints.
fn expected(tool: &Tool, label: impl Fn(&str) -> Option<&'static str>) -> String {
    let rows = tool.run(&["dump", "db.ringer", "--json"]).with_status(0).json();
    let line = |row: &serde_json::Value| {
        let mut line = label(row["key"].as_str()?)?.to_string();
        let samples = row["samples"].as_array().expect("samples");
        let samples = samples.iter().filter(|_| row["empty"] == false);
        for (j, value) in samples.enumerate() {
            // 8 bits a sample; indices start at 1.
            line += &format!(" {}:1", 1 + j as u64 * 256 + value.as_u64().expect("a value"));
        }
        Some(line + "\n")
    };
    rows.iter().filter_map(line).collect()
}

#[test]
fn rows_are_the_samples_of_each_set() {
    let tool = Tool::with_sets(SETS);
    let exported = tool.run(&["export", "db.ringer", "--libsvm"]).with_status(0);
    assert_eq!(exported.out, expected(&tool, |_| Some("0")));
    assert_eq!((exported.out.lines().count(), &*exported.err), (4, ""));
    let ones: Vec<usize> = exported.out.lines().map(|line| line.matches(":1").count()).collect();
    assert_eq!(ones, [64, 64, 0, 64], "a, b, empty, x y");
    let json = tool.run(&["export", "db.ringer", "--libsvm", "--json"]).with_status(0).json();
    assert_eq!(
        (&json[3]["key"], json[3]["features"].as_array().unwrap().len()),
        (&"x y".into(), 64)
    );
}

#[test]
fn labels_come_from_a_file() {
    let tool = Tool::with_sets(SETS);
    tool.write("labels.tsv", "x y\t-1\r\na\t+2.5\n\nnobody\t7\na\t2.5\n");
    let command = ["export", "db.ringer", "--libsvm", "--labels", "labels.tsv"];
    let exported = tool.run(&command).with_status(0);
    let label = |key: &str| match key {
        "a" => Some("2.5"),
        "x y" => Some("-1"),
        _ => None,
    };
    assert_eq!(exported.out, expected(&tool, label));
    let notes = "note: 2 stored sets have no label and were left out\nnote: 1 label has a key that is not stored\n";
    assert_eq!(exported.err, notes);
    let quiet = tool.run(&[&command[..], &["--quiet"]].concat()).with_status(0);
    assert_eq!(quiet.err, "");
}

#[test]
fn bad_labels_are_refused_with_their_place() {
    let tool = Tool::with_sets(SETS);
    for (labels, status, message) in [
        ("a\t1\nb 1\n", 2, "labels.tsv, line 2: there is no tab"),
        ("a\tspam\n", 2, "labels.tsv, line 1: the label `spam` is not a number"),
        ("a\tnan\n", 2, "line 1: the label `nan` is not a number"),
        (
            "a\t1\nb\t1\na\t-1\n",
            2,
            "line 3: the label -1 contradicts the label 1 of the same key in line 1",
        ),
        ("c\t1\n", 3, "no label of labels.tsv has the key of a stored set"),
    ] {
        tool.write("labels.tsv", labels);
        let refused = tool.run(&["export", "db.ringer", "--libsvm", "--labels", "labels.tsv"]);
        let refused = refused.with_status(status);
        assert!(refused.err.contains(message) && refused.out.is_empty(), "{}", refused.err);
    }
    let missing =
        tool.run(&["export", "db.ringer", "--libsvm", "--labels", "no.tsv"]).with_status(3);
    assert!(missing.err.contains("cannot read no.tsv"), "{}", missing.err);
    tool.run(&["export", "db.ringer"]).with_status(2);
}
