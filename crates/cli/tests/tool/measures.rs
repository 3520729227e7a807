//! Databases of weighted sets, vectors and half bits, and databases that keep sets.

use crate::run;

use std::fs;

use run::Tool;
use serde_json::Value;

fn number(value: &Value, field: &str) -> f64 {
    value[field].as_f64().unwrap_or_else(|| panic!("{field} of {value}"))
}

#[test]
fn weighted_sets_from_creation_to_pairs() {
    let tool = Tool::new();
    tool.run(&["create", "r.ringer", "--features", "tokens", "--sampler", "weighted"])
        .with_status(0);
    let lines = "cake\tflour:500 butter:250 sugar:250 eggs:4\n\
                 pastry\tsugar:200 flour:400 butter:250 flour:100\n\
                 salad\toil:30 salt:2 lemon:20\n\
                 page\thttp://example.org:2.5\n\
                 none\tflour butter:1\n\
                 minus\tflour:-1\n\
                 nan\tflour:nan\n\
                 infinite\tflour:inf\n\
                 nothing\tflour:\n\
                 bare\t:3\n\
                 empty\t\n";
    fs::write(tool.path("r.tsv"), lines).unwrap();
    let added = tool.run(&["add", "r.ringer", "--sets", "r.tsv", "--weighted", "--json"]);
    let added = added.with_status(0);
    assert_eq!((&added.json()[0]["added"], &added.json()[0]["empty"]), (&5.into(), &1.into()));
    for (line, what) in [
        (5, "flour: the weight is missing: write element:weight"),
        (6, "flour:-1: the weight must be a finite number above 0"),
        (7, "flour:nan: the weight must be a finite number above 0"),
        (8, "flour:inf: the weight must be a finite number above 0"),
        (9, "flour:: the weight is missing"),
        (10, ":3: the weight is missing"),
    ] {
        assert!(added.err.contains(&format!("line {line}: {what}")), "{}", added.err);
    }

    // The weight of flour adds up to 500: 950 of 1,004.
    let pairs = tool.run(&["pairs", "r.ringer", "--min", "0.5", "--exhaustive", "--json"]);
    let pairs = pairs.with_status(0).json();
    assert_eq!(pairs.len(), 1);
    let (low, high) = (number(&pairs[0], "low"), number(&pairs[0], "high"));
    assert!(low < 950.0 / 1004.0 && 950.0 / 1004.0 < high, "{}", pairs[0]);
    let query = ["query", "r.ringer", "--weighted", "--set", "flour:500 butter:250", "--json"];
    let found = tool.run(&query).with_status(0).json();
    assert_eq!(found[0]["key"], "pastry");
    assert!((number(&found[0], "resemblance") - 750.0 / 950.0).abs() < 0.25, "{}", found[0]);
    fs::write(tool.path("q.tsv"), "mine\tflour:500 butter:250\nbad\tflour\n").unwrap();
    let many = tool.run(&["query", "r.ringer", "--weighted", "--sets", "q.tsv", "--json"]);
    let many = many.with_status(0);
    assert_eq!(
        (many.json()[0]["query"].as_str(), &many.json()[0]["key"]),
        (Some("mine"), &found[0]["key"])
    );
    assert!(many.err.contains("q.tsv, line 2: flour: the weight is missing"), "{}", many.err);
    let three = tool.run(&["estimate", "r.ringer", "cake", "pastry", "salad", "--json"]);
    assert!(number(&three.with_status(0).json()[0], "resemblance").abs() < 0.2);
    let two = tool.run(&["estimate", "r.ringer", "cake", "pastry"]).with_status(0);
    assert!(two.out.starts_with("resemblance") && two.out.lines().count() == 1, "{}", two.out);
    let stat = tool.run(&["stat", "r.ringer", "--json"]).with_status(0).json();
    assert_eq!(
        (&stat[0]["measure"], &stat[0]["sampler"]),
        (&"weighted".into(), &"weighted".into())
    );

    // Without weights, the weight of an element is the number of its occurrences.
    tool.run(&["create", "t.ringer", "--sampler", "weighted", "--features", "tokens"])
        .with_status(0);
    fs::write(tool.path("t.tsv"), "a\tx x x y\nb\tx x x y\nc\tx y y y\n").unwrap();
    tool.run(&["add", "t.ringer", "--sets", "t.tsv"]).with_status(0);
    let counted = tool.run(&["estimate", "t.ringer", "a", "c", "--json"]).with_status(0).json();
    assert!((number(&counted[0], "resemblance") - 2.0 / 6.0).abs() < 0.25, "{}", counted[0]);
    let json = "{\"id\": 1, \"text\": {\"x\": 3, \"y\": 1.0}}\n{\"id\": 2, \"text\": \"x:3 y:1\"}\n\
                {\"id\": 3, \"text\": [1, 2]}\n{\"id\": 4, \"text\": {\"x\": \"3\"}}\n";
    fs::write(tool.path("t.jsonl"), json).unwrap();
    let added = tool.run(&["add", "t.ringer", "--jsonl", "t.jsonl", "--weighted"]).with_status(0);
    assert!(added.err.contains("added 2 sets; skipped: 2 malformed"), "{}", added.err);
    for key in ["1", "2"] {
        let same = tool.run(&["estimate", "t.ringer", "a", key, "--json"]).with_status(0).json();
        assert_eq!(number(&same[0], "resemblance"), 1.0, "{key}");
    }
}

/// An array has every coordinate, including zeros.
#[test]
fn arrays_of_weights_may_have_zeros() {
    let tool = Tool::new();
    tool.run(&["create", "h.ringer", "--features", "ids", "--sampler", "weighted"]).with_status(0);
    let lines = "{\"id\": \"a\", \"text\": [0, 2, 0.0, 1, -0.0]}\n{\"id\": \"b\", \"text\": {\"1\": 2, \"3\": 1}}\n\
                 {\"id\": \"empty\", \"text\": [0]}\n{\"id\": \"bad\", \"text\": [1, -1]}\n\
                 {\"id\": \"named\", \"text\": {\"1\": 0}}\n";
    fs::write(tool.path("h.jsonl"), lines).unwrap();
    let added = tool.run(&["add", "h.ringer", "--jsonl", "h.jsonl", "--weighted"]).with_status(0);
    let said = "added 3 sets (1 of them empty); skipped: 2 malformed";
    assert!(added.err.contains(said), "{}", added.err);
    let same = tool.run(&["estimate", "h.ringer", "a", "b", "--json"]).with_status(0).json();
    assert_eq!(number(&same[0], "resemblance"), 1.0);
}

#[test]
fn vectors_from_creation_to_clusters() {
    let tool = Tool::new();
    tool.run(&["create", "v.ringer", "--features", "ids", "--preset", "cosine"]).with_status(0);
    let mut lines = String::new();
    for (key, angle) in [("a", 0.0_f64), ("b", 0.3), ("c", 1.4), ("opposite", std::f64::consts::PI)]
    {
        lines += &format!("{{\"id\": \"{key}\", \"v\": [{}, {}, 0]}}\n", angle.cos(), angle.sin());
    }
    lines += "{\"id\": \"far\", \"v\": {\"0\": 1e300}}\n{\"id\": \"zero\", \"v\": [0, 0]}\n\
              {\"id\": \"bad\", \"v\": {\"x\": 1}}\n{\"id\": \"huge\", \"v\": [1e999]}\n";
    fs::write(tool.path("v.jsonl"), lines).unwrap();
    let add = ["add", "v.ringer", "--jsonl", "v.jsonl", "--text-field", "v", "--weighted"];
    let added = tool.run(&add).with_status(0);
    assert!(
        added.err.contains("added 6 sets (1 of them empty); skipped: 2 malformed"),
        "{}",
        added.err
    );

    let all = ["query", "v.ringer", "--key", "a", "--exhaustive", "--all", "--min", "-1", "--json"];
    let found = tool.run(&all).with_status(0).json();
    let keys: Vec<&str> = found.iter().map(|m| m["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["far", "b", "c", "opposite"]);
    for (found, truth) in found.iter().zip([1.0, 0.3_f64.cos(), 1.4_f64.cos(), -1.0]) {
        assert!(found.get("resemblance").is_none() && found.get("union").is_none(), "{found}");
        assert!(
            number(found, "low") - 0.05 <= truth && truth <= number(found, "high") + 0.05,
            "{found}"
        );
    }
    let near = ["query", "v.ringer", "--key", "a", "--within-one-bit", "--min", "0.9"];
    let near = tool.run(&near).with_status(0);
    assert!(near.out.starts_with("cosine") && near.out.lines().count() == 3, "{}", near.out);
    let clusters = tool.run(&["clusters", "v.ringer", "--min", "0.9", "--exhaustive", "--json"]);
    let clusters = clusters.with_status(0).json();
    assert_eq!(clusters[0]["keys"], serde_json::json!(["a", "b", "far"]));
    assert!(number(&clusters[0], "min_cosine") > 0.85, "{}", clusters[0]);
    let pairs = tool.run(&["pairs", "v.ringer", "--min", "0.99", "--json"]).with_status(0).json();
    assert_eq!((pairs.len(), number(&pairs[0], "cosine")), (1, 1.0));
    let two = tool.run(&["estimate", "v.ringer", "a", "b", "--json"]).with_status(0).json();
    assert!((number(&two[0], "angle") - 0.3).abs() < 0.25, "{}", two[0]);
    let refused = tool.run(&["estimate", "v.ringer", "a", "b", "c"]).with_status(2);
    assert!(refused.err.contains("cannot be computed from signatures of the measure `cosine`"));
    tool.run(&["triples", "v.ringer", "--min", "0.5"]).with_status(2);
    tool.run(&["estimate", "v.ringer", "a", "zero"]).with_status(6);
    tool.run(&["query", "v.ringer", "--key", "a", "--min", "-1.5"]).with_status(2);
}

#[test]
fn weights_are_refused_where_they_would_be_lost() {
    let tool = Tool::new();
    fs::write(tool.path("x.tsv"), "a\tx:1\n").unwrap();
    tool.run(&["create", "plain.ringer", "--features", "tokens"]).with_status(0);
    tool.run(&["create", "text.ringer", "--sampler", "weighted"]).with_status(0);
    for (db, what) in [
        ("plain.ringer", "the sets of this database have no weights"),
        ("text.ringer", "only tokens and ids can have weights"),
    ] {
        let added = tool.run(&["add", db, "--sets", "x.tsv", "--weighted"]).with_status(2);
        assert!(added.err.contains(what), "{}", added.err);
        tool.run(&["query", db, "--set", "x:1", "--weighted"]).with_status(2);
        let stat = tool.run(&["stat", db, "--json"]).with_status(0).json();
        assert_eq!(stat[0]["sets"], 0);
    }
    tool.run(&["query", "plain.ringer", "--text", "x:1", "--weighted"]).with_status(2);
}

#[test]
fn samplers_and_packings_are_made_as_asked() {
    let tool = Tool::new();
    let described = |arguments: &[&str]| {
        let mut all = vec!["create", "x.ringer", "--features", "ids"];
        all.extend_from_slice(arguments);
        let made = tool.run(&all).with_status(0);
        fs::remove_file(tool.path("x.ringer")).unwrap();
        made.out
    };
    for (arguments, expected) in [
        (&["--sampler", "lazy"][..], "jaccard, sampler lazy"),
        (&["--sampler", "every-bin"], "jaccard, sampler every-bin"),
        (&["--sampler", "weighted"], "measure weighted, sampler weighted"),
        (&["--preset", "weighted"], "measure weighted, sampler weighted"),
        (&["--preset", "bing", "--sampler", "weighted"], "cardinality field none, slots 6 of 5"),
        (&["--sampler", "sign-projection"], "samples 256, bits 1, packing low-bits"),
        (&["--packing", "xor-pairs"], "samples 256, bits 1, packing xor-pairs"),
        (&["--packing", "xor-pairs", "--sampler", "independent"], "sampler independent"),
    ] {
        let made = described(arguments);
        assert!(made.contains(expected), "{arguments:?}: {made}");
    }
    for (arguments, expected) in [
        (
            &["--packing", "xor-pairs", "--sampler", "one-permutation"][..],
            "choose lazy, independent",
        ),
        (&["--packing", "xor-pairs", "--bits", "2"], "single bits"),
        (&["--sampler", "sign-projection", "--bits", "4"], "single bits"),
        (&["--sampler", "weighted", "--cardinality", "log8"], "choose none"),
        (&["--sampler", "lazy", "--universe", "65536"], "open universe"),
        (&["--sampler", "every-bin", "--universe", "65536"], "open universe"),
        (&["--sampler", "every-bin", "--packing", "xor-pairs"], "choose lazy, independent"),
        (&["--sampler", "lasy"], "one-permutation, independent, lazy, weighted, sign-projection"),
    ] {
        let mut all = vec!["create", "x.ringer", "--features", "ids"];
        all.extend_from_slice(arguments);
        let refused = tool.run(&all).with_status(2);
        assert!(refused.err.contains(expected), "{arguments:?}: {}", refused.err);
    }
}

/// A half-bit scheme of `plan` can be created, and finds near-duplicates.
#[test]
fn half_bits_are_planned_made_and_found() {
    let tool = Tool::new();
    let plan =
        tool.run(&["plan", "--min", "0.9", "--error", "0.02", "--json"]).with_status(0).json();
    let half = plan.iter().find(|advice| advice["packing"] == "xor-pairs").expect("above .58");
    let samples = half["samples"].to_string();
    assert_eq!(half["sampler"], "lazy");
    let none = tool.run(&["plan", "--min", "0.5", "--json"]).with_status(0).json();
    assert!(none.iter().all(|advice| advice["packing"] == "low-bits"));
    let shown = tool.run(&["plan", "--min", "0.9"]).with_status(0);
    assert!(shown.out.contains(" 1/2 "), "{}", shown.out);

    let create = ["create", "h.ringer", "--features", "ids", "--packing", "xor-pairs", "--samples"];
    tool.run(&[&create[..], &[&samples, "--samples-per-slot", "8"]].concat()).with_status(0);
    let ids =
        |range: std::ops::Range<u32>| range.map(|i| i.to_string()).collect::<Vec<_>>().join(" ");
    let lines = format!("a\t{}\nb\t{}\nc\t{}\n", ids(0..400), ids(8..408), ids(900..1300));
    fs::write(tool.path("h.tsv"), lines).unwrap();
    tool.run(&["add", "h.ringer", "--sets", "h.tsv"]).with_status(0);
    let found = tool.run(&["query", "h.ringer", "--key", "a", "--min", "0.8", "--json"]);
    let found = found.with_status(0).json();
    assert_eq!((found.len(), &found[0]["key"]), (1, &"b".into()));
    assert!((number(&found[0], "resemblance") - 392.0 / 408.0).abs() < 0.06, "{}", found[0]);
    assert!(found[0].get("containment_of_query").is_some());
    tool.run(&["triples", "h.ringer", "--min", "0.5"]).with_status(6);
}

/// With `--keep-sets`, sizes are exact, and `stat` shows the bytes of the sets.
#[test]
fn kept_sets_have_exact_sizes() {
    let tool = Tool::new();
    let create = |name: &str, keep: &[&str]| {
        tool.run(&[&["create", name, "--features", "ids"], keep].concat()).with_status(0)
    };
    create("kept.ringer", &["--keep-sets"]);
    create("few.ringer", &["--keep-sets=20"]);
    create("plain.ringer", &[]);
    let lines: String = (0..300).map(|i| format!(" {}", i * 7)).collect();
    for name in ["kept.ringer", "few.ringer", "plain.ringer"] {
        tool.write("sets.tsv", format!("key\t{}\n", &lines[1..]));
        tool.run(&["add", name, "--sets", "sets.tsv"]).with_status(0);
    }
    let stat = |name| tool.run(&["stat", name, "--json"]).with_status(0).json();
    assert!(stat("kept.ringer")[0]["element_bytes"].as_u64() > Some(100));
    assert_eq!(stat("plain.ringer")[0]["element_bytes"], 0);
    let get = |name| tool.run(&["get", name, "key", "--json"]).with_status(0).json();
    assert_eq!(get("kept.ringer")[0]["elements"], 300.0);
    assert_eq!(get("kept.ringer")[0]["elements_half_width"], 0.0);
    assert_ne!(get("few.ringer")[0]["elements_half_width"], 0.0);
    tool.run(&["create", "x.ringer", "--keep-sets=7"]).with_status(2);
    tool.run(&["check", "kept.ringer", "--deep"]).with_status(0);
}
