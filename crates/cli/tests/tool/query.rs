//! Queries, keys, estimates, pairs, clusters and triples of the tool, against exact Jaccard.

use crate::run;

use std::collections::HashSet;

use run::{Tool, words};
use serde_json::Value;

/// Sets of `size` numbers from each start, as tokens.
fn ranges(starts: &[(&str, u32)], size: u32) -> String {
    let line = |(key, start): &(&str, u32)| {
        let elements: Vec<String> = (*start..start + size).map(|i| format!("t{i}")).collect();
        format!("{key}\t{}\n", elements.join(" "))
    };
    starts.iter().map(line).collect()
}

/// Four runs of 1,000 that overlap: a, b, c shifted by 100 each, and one far away.
fn overlapping() -> Tool {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "tokens", "--preset", "precise"])
        .with_status(0);
    let sets = ranges(&[("a", 0), ("b", 100), ("c", 200), ("far", 50_000)], 1000);
    tool.run_with(sets, &["add", "db.ringer", "--sets", "-"]).with_status(0);
    tool
}

fn number(value: &Value, field: &str) -> f64 {
    value[field].as_f64().unwrap_or_else(|| panic!("{field} of {value}"))
}

/// Within 5 standard errors of the truth.
#[track_caller]
fn near(value: &Value, field: &str, truth: f64) {
    let error = match field {
        "resemblance" => number(value, "std_error"),
        _ => number(value, &format!("{field}_std_error")),
    };
    assert!((number(value, field) - truth).abs() <= 5.0 * error, "{field} {truth}: {value}");
}

#[test]
fn a_match_has_all_fields_of_the_contract() {
    let tool = overlapping();
    let found = tool.run(&["query", "db.ringer", "--key", "a", "--json"]).with_status(0).json();
    let keys: Vec<&str> = found.iter().map(|found| found["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["b", "c"]);
    let first = &found[0];
    assert_eq!(first["query"], "a");
    assert!(first["matching_slots"].as_u64().unwrap() >= 1);
    near(first, "resemblance", 900.0 / 1100.0);
    near(first, "intersection", 900.0);
    near(first, "union", 1100.0);
    near(first, "hamming", 200.0);
    near(first, "containment_of_query", 0.9);
    near(first, "containment_in_query", 0.9);
    let (low, high) = (number(first, "low"), number(first, "high"));
    assert!(low < number(first, "resemblance") && number(first, "resemblance") < high);
    near(&found[1], "resemblance", 800.0 / 1200.0);
}

#[test]
fn queries_of_every_form() {
    let tool = overlapping();
    let keys = |more: &[&str]| {
        let found = tool.run(&[&["query", "db.ringer", "--json"][..], more].concat());
        let keys = |found: &Value| found["key"].as_str().map(str::to_string);
        let keys: Vec<String> = found.json().iter().filter_map(keys).collect();
        found.with_status(i32::from(keys.is_empty()));
        keys
    };
    let like_a: Vec<String> = (0..1000).map(|i| format!("t{i}")).collect();
    assert_eq!(keys(&["--set", &like_a.join(" ")]), ["a", "b", "c"]);
    assert_eq!(keys(&["--text", &like_a.join("\n")]), ["a", "b", "c"]);
    tool.write("file", like_a.join("\t"));
    assert_eq!(keys(&["--file", "file"]), ["a", "b", "c"]);
    assert_eq!(keys(&["--file", "file", "--top", "2"]), ["a", "b"]);
    assert_eq!(keys(&["--file", "file", "--min", "0.75"]), ["a", "b"]);
    assert_eq!(keys(&["--file", "file", "--min-matches", "32"]), ["a"]);
    assert_eq!(keys(&["--file", "file", "--exhaustive", "--all"]).len(), 4);
    assert!(keys(&["--set", "nothing like it"]).is_empty());
    assert!(keys(&["--set", ""]).is_empty());

    tool.write("queries", "q1\tnothing like it\nbad\nq2\t".to_string() + &like_a.join(" "));
    let many = tool.run(&["query", "db.ringer", "--sets", "queries", "--json", "--top", "1"]);
    let many = many.with_status(0);
    assert_eq!(many.json().len(), 1);
    assert_eq!((&many.json()[0]["query"], &many.json()[0]["key"]), (&"q2".into(), &"a".into()));
    assert!(many.err.contains("queries, line 2: there is no tab"), "{}", many.err);
    tool.run(&["query", "db.ringer", "--sets", "queries", "--strict"]).with_status(3);

    let explained =
        tool.run(&["query", "db.ringer", "--key", "a", "--min", "0.5", "--explain", "--json"]);
    let explained = explained.with_status(0).json();
    let plan = &explained[explained.len() - 1]["explain"];
    // Sets at the threshold are nearly always candidates, and about half of them pass.
    assert!((0.3..0.8).contains(&number(plan, "promised_recall")), "{plan}");
    assert!(plan["parts"].as_array().is_some_and(|parts| parts.len() == 1), "{plan}");
    let explained = tool.run(&["query", "db.ringer", "--key", "a", "--explain"]).with_status(0);
    assert!(explained.out.contains("candidates"), "{}", explained.out);
    let table = tool.run(&["query", "db.ringer", "--key", "a"]).with_status(0).out;
    assert!(table.starts_with("resemblance     95 % interval    slots  key\n0.8"), "{table}");
}

#[test]
fn bad_queries_say_what_is_wrong() {
    let tool = overlapping();
    let absent = tool.run(&["query", "db.ringer", "--key", "nobody"]).with_status(1);
    assert_eq!(absent.err, "error: no set is stored under the key `nobody`\n");
    // A dash at the start of a key, a text or a number is part of it.
    let dash = tool.run(&["query", "db.ringer", "--key", "-nobody"]).with_status(1);
    assert_eq!(dash.err, "error: no set is stored under the key `-nobody`\n");
    tool.run(&["query", "db.ringer", "--set", "-a -b"]).with_status(1);
    let below = tool.run(&["query", "db.ringer", "--key", "a", "--min", "-1"]).with_status(2);
    assert!(below.err.contains("give a number from 0 to 1"), "{}", below.err);
    for wrong in [
        &[][..],
        &["--key", "a", "--set", "x"],
        &["--key", "a", "--min", "2"],
        &["--key", "a", "--min", "NaN"],
        &["--key", "a", "--min", "-1"],
        &["--key", "a", "--min-matches", "99"],
        &["--key", "a", "--top", "-1"],
    ] {
        tool.run(&[&["query", "db.ringer"][..], wrong].concat()).with_status(2);
    }
    tool.run(&["query", "db.ringer", "--file", "nowhere"]).with_status(3);
    tool.run(&["query", "db.ringer", "--sets", "nowhere"]).with_status(3);
    tool.run(&["query", "nowhere.ringer", "--key", "a"]).with_status(3);
}

#[test]
fn by_key() {
    let tool = overlapping();
    let got = tool.run(&["get", "db.ringer", "a", "--json"]).with_status(0).json();
    assert_eq!((&got[0]["key"], &got[0]["empty"]), (&"a".into(), &false.into()));
    assert_eq!(got[0]["samples"].as_array().map(Vec::len), Some(128));
    assert!((number(&got[0], "elements") - 1000.0).abs() < 50.0);
    assert!(tool.run(&["get", "db.ringer", "a"]).with_status(0).out.contains("elements   about"));
    let absent = tool.run(&["get", "db.ringer", "b2"]).with_status(1);
    assert_eq!(absent.err, "error: no set is stored under the key `b2`\n");

    assert_eq!(tool.keys("db.ringer"), ["a", "b", "c", "far"]);
    let some = tool.run(&["keys", "db.ringer", "--prefix", "f"]).with_status(0);
    assert_eq!(some.out, "far\n");
    let deleted = tool.run(&["delete", "db.ringer", "b", "nobody", "c"]).with_status(1);
    assert!(deleted.err.contains("deleted 2 sets"), "{}", deleted.err);
    assert!(
        deleted.err.contains("error: no set is stored under the key `nobody`"),
        "{}",
        deleted.err
    );
    assert_eq!(tool.keys("db.ringer"), ["a", "far"]);
    tool.run(&["delete", "db.ringer", "far"]).with_status(0);
    tool.run(&["delete", "db.ringer"]).with_status(2);
    let dump = tool.run(&["dump", "db.ringer"]).with_status(0).out;
    let fields: Vec<&str> = dump.trim_end().split('\t').collect();
    assert_eq!((fields.len(), fields[0], fields[2].len()), (3, "a", 2 * 64));
    let dump = tool.run(&["dump", "db.ringer", "--json"]).with_status(0).json();
    assert_eq!(dump[0], got[0]);
    assert_eq!(tool.names(), ["db.ringer"]);
}

#[test]
fn estimates_of_two_and_more() {
    let tool = overlapping();
    let two = tool.run(&["estimate", "db.ringer", "a", "c", "--json"]).with_status(0).json();
    near(&two[0], "resemblance", 800.0 / 1200.0);
    for (field, truth) in [
        ("intersection", 800.0),
        ("union", 1200.0),
        ("hamming", 400.0),
        ("containment_of_first", 0.8),
        ("containment_of_second", 0.8),
    ] {
        near(&two[0], field, truth);
    }
    let three = tool.run(&["estimate", "db.ringer", "a", "b", "c", "--json"]).with_status(0).json();
    near(&three[0], "resemblance", 800.0 / 1200.0);
    near(&three[0], "intersection", 800.0);
    near(&three[0], "union", 1200.0);
    assert_eq!(three[0]["keys"].as_array().map(Vec::len), Some(3));
    let shown = tool.run(&["estimate", "db.ringer", "a", "b", "c"]).with_status(0).out;
    assert!(shown.contains("\nintersection ") && shown.contains("\nunion "), "{shown}");
    let shown = tool.run(&["estimate", "db.ringer", "a", "b"]).with_status(0).out;
    assert!(shown.contains("resemblance") && shown.contains("containment of a in b"), "{shown}");
    tool.run(&["estimate", "db.ringer", "a"]).with_status(2);
    tool.run(&["estimate", "db.ringer", "a", "nobody"]).with_status(1);

    // Without sizes only the resemblance can be estimated. Empty sets have none.
    tool.run(&["create", "rdc.ringer", "--features", "tokens", "--preset", "rdc"]).with_status(0);
    let sets = ranges(&[("a", 0), ("b", 1)], 100) + "empty\t\nempty too\t\n";
    tool.run_with(sets, &["add", "rdc.ringer", "--sets", "-"]).with_status(0);
    let shown = tool.run(&["estimate", "rdc.ringer", "a", "b"]).with_status(0).out;
    assert!(shown.contains("intersection") && shown.contains("needs set sizes"), "{shown}");
    tool.run(&["estimate", "rdc.ringer", "empty", "empty too"]).with_status(6);
}

/// Twenty groups of five runs, each shifted a little, and the truth by counting.
#[test]
fn pairs_clusters_and_triples_are_those_of_exact_jaccard() {
    let starts: Vec<(String, u32)> = (0..20)
        .flat_map(|group| {
            (0..5).map(move |i| (format!("g{group:02}-{i}"), group * 10_000 + i * 20))
        })
        .collect();
    let borrowed: Vec<(&str, u32)> = starts.iter().map(|(key, start)| (&**key, *start)).collect();
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "tokens", "--preset", "precise"])
        .with_status(0);
    tool.run_with(ranges(&borrowed, 1000), &["add", "db.ringer", "--sets", "-"]).with_status(0);

    // Shifts of 20 to 80 of 1,000 make resemblances of .961 to .852: all far above one half.
    let pairs = tool.run(&["pairs", "db.ringer", "--min", "0.5", "--json"]).with_status(0).json();
    let found: HashSet<(String, String)> = pairs
        .iter()
        .map(|pair| (pair["a"].as_str().unwrap().into(), pair["b"].as_str().unwrap().into()))
        .collect();
    assert_eq!((pairs.len(), found.len()), (200, 200));
    assert!(found.iter().all(|(a, b)| a < b && a[..3] == b[..3]));
    for pair in &pairs {
        let shift = |field: &str| pair[field].as_str().unwrap()[4..].parse::<f64>().unwrap() * 20.0;
        let distance = shift("b") - shift("a");
        near(pair, "resemblance", (1000.0 - distance) / (1000.0 + distance));
    }
    let clusters =
        tool.run(&["clusters", "db.ringer", "--min", "0.5", "--json"]).with_status(0).json();
    assert_eq!(clusters.len(), 20);
    for (i, cluster) in clusters.iter().enumerate() {
        assert_eq!(cluster["cluster"], i + 1);
        let keys: Vec<String> = (0..5).map(|member| format!("g{i:02}-{member}")).collect();
        assert_eq!(cluster["keys"], Value::from(keys));
        assert!((number(cluster, "min_resemblance") - 0.852).abs() < 0.15, "{cluster}");
    }
    let strict =
        tool.run(&["clusters", "db.ringer", "--min", "0.5", "--strict-linkage"]).with_status(0);
    assert!(strict.out.starts_with("group 1: 5 sets\n"), "{}", strict.out);
    let triples =
        tool.run(&["triples", "db.ringer", "--min", "0.4", "--json"]).with_status(0).json();
    assert_eq!(triples.len(), 200);
    assert!(triples.iter().all(|triple| triple["keys"].as_array().unwrap().len() == 3));
    for command in ["pairs", "clusters", "triples"] {
        for min in ["-1", "1.5", "NaN", "x"] {
            tool.run(&[command, "db.ringer", &format!("--min={min}")]).with_status(2);
        }
        tool.run(&[command, "db.ringer"]).with_status(2);
        tool.run(&[command, "db.ringer", "--min", "0.5", "--exhaustive"]).with_status(0);
        let certain = tool.run(&[command, "db.ringer", "--min", "1", "--certain", "--json"]);
        assert_eq!(certain.with_status(0).out, "");
    }
    // One bit cannot tell three sets apart.
    tool.run(&["create", "one.ringer", "--features", "tokens", "--bits", "1"]).with_status(0);
    tool.run(&["triples", "one.ringer", "--min", "0.5"]).with_status(6);
}

/// Notes say what the slots miss, and count triples of equal sets.
#[test]
fn what_may_be_missing_is_said() {
    let tool = Tool::with_sets(&ranges(&[("a", 0), ("b", 0), ("c", 0)], 100));
    let low = tool.run(&["pairs", "db.ringer", "--min", "0.3"]).with_status(0);
    assert!(low.err.contains("the index compares 45 %"), "{}", low.err);
    let all = tool.run(&["pairs", "db.ringer", "--min", "0.3", "--exhaustive"]).with_status(0);
    assert!(!all.err.contains("note: "), "{}", all.err);
    let copies = tool.run(&["triples", "db.ringer", "--min", "0.8"]).with_status(0);
    assert!(copies.err.contains("1 group of sets with equal signatures"), "{}", copies.err);
}

/// Two equal sets are a pair. Many are a group, which pairs name by its smallest key.
#[test]
fn copies_are_pairs_or_groups() {
    let mut sets = ranges(&[("a", 0), ("b", 0), ("c", 0), ("d", 20)], 1000);
    let tool = Tool::with_sets(&sets);
    let pairs = tool.run(&["pairs", "db.ringer", "--min", "0.5", "--json"]).with_status(0).json();
    assert_eq!(pairs.len(), 6);
    let many: Vec<String> = (0..150).map(|i| format!("x{i:03}")).collect();
    let many: Vec<(&str, u32)> = many.iter().map(|key| (&**key, 70_000)).collect();
    sets += &ranges(&many, 10);
    sets += &ranges(&[("y", 70_001)], 10);
    let tool = Tool::with_sets(&sets);
    let found = tool.run(&["pairs", "db.ringer", "--min", "0.5", "--json"]).with_status(0).json();
    let groups: Vec<&Value> = found.iter().filter(|line| line.get("group").is_some()).collect();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0]["group"].as_array().map(Vec::len), Some(150));
    let named: Vec<&Value> = found.iter().filter(|line| line["b"] == "y").collect();
    assert_eq!(named.len(), 1);
    assert_eq!((&named[0]["a"], &named[0]["a_keys"]), (&"x000".into(), &150.into()));
    assert_eq!(found.len(), 8);
    let all = tool.run(&["pairs", "db.ringer", "--min", "0.5", "--json", "--expand"]);
    assert_eq!(all.with_status(0).json().len(), 6 + 150 * 149 / 2 + 150);
}

/// B(b) and rho by hand, and the precision by simulation: 40,000 pairs of uniform resemblance, to 5 standard errors.
#[test]
fn plan_states_what_theory_says() {
    let tool = Tool::new();
    let with_bits = |arguments: &[&str], bits: u64| {
        let all = tool.run(&[&["plan", "--json", "--min", "0.5"], arguments].concat());
        let all = all.with_status(0).json();
        all.into_iter().find(|advice| advice["bits"] == bits).expect("a scheme of these bits")
    };
    let close =
        |value: f64, expected: f64| assert!((value - expected).abs() < 1e-3, "{value} {expected}");
    // P = 1/4 + 3/4 R.
    let sparse = with_bits(&[], 2);
    close(number(&sparse, "storage_factor"), 2.0 * 0.625 * 0.375 / 0.5625);
    close(number(&sparse, "storage_improvement"), 19.2);
    close(number(&sparse, "lsh_exponent"), 0.625_f64.ln() / 0.4375_f64.ln());
    let k = number(&sparse, "samples") as u32;
    let mut random = testkit::random::Random(3);
    let (mut reported, mut right) = (0.0, 0.0);
    for _ in 0..40_000 {
        let r = random.unit();
        let equal = (0..k).filter(|_| random.unit() < 0.25 + 0.75 * r).count() as f64;
        if (equal / f64::from(k) - 0.25) / 0.75 >= 0.5 - 1e-9 {
            reported += 1.0;
            right += f64::from(r >= 0.5);
        }
    }
    let (simulated, stated): (f64, f64) = (right / reported, number(&sparse, "precision"));
    let error = (simulated * (1.0 - simulated) / reported).sqrt();
    assert!((simulated - stated).abs() < 5.0 * error, "{simulated} {stated}");
    // Half of the universe: a third of the 1-bit samples agree by chance.
    let dense = with_bits(&["--universe", "1000", "--set-size", "500"], 1);
    close(number(&dense, "storage_factor"), 0.5);
    let shown = tool.run(&["plan", "--min", "0.5", "--theory"]).with_status(0).out;
    assert!(shown.contains("B(64)/B(b)") && shown.contains("19.20"), "{shown}");
    // The rule for 10,000 sets: P1 = 17/32 and P2 = 19/64 with 4 bits, so g = 7.6 and L = 10,000^.521 = 121.
    let rule = |sets: &str| {
        let four = with_bits(&["--sets", sets], 4);
        ["rule_samples_per_slot", "rule_slots", "rule_stop"].map(|name| number(&four, name))
    };
    assert_eq!(rule("10000"), [8.0, 122.0, 244.0]);
    assert_eq!(rule("1000000")[0], 12.0);
    assert!(shown.contains("stops after 2 L sets"), "{shown}");
    tool.run(&["plan", "--min", "0.5", "--universe", "10"]).with_status(2);
    let refused = tool.run(&["plan", "--min", "0.5", "--universe", "10", "--set-size", "11"]);
    assert!(refused.with_status(2).err.contains("at most as many elements as its universe"));
}

#[test]
fn plan_draws_its_curve() {
    let tool = Tool::new();
    let plan = tool.run(&["plan", "--min", "0.8"]).with_status(0).out;
    assert!(plan.contains("probability to be found") && plan.contains("^ --min"), "{plan}");
    // The proposed scheme can be created.
    let command = plan.lines().find(|line| line.contains("ringer create")).unwrap();
    let command: Vec<&str> = command.split_whitespace().skip(1).collect();
    tool.run(&command).with_status(0);
    let json = tool.run(&["plan", "--min", "0.5", "--error", "0.03", "--sets", "100000", "--json"]);
    for line in json.with_status(0).json() {
        assert!(number(&line, "std_error") <= 0.03 && number(&line, "found") >= 0.99, "{line}");
    }
    for wrong in [&["--min", "0"][..], &["--min", "1.1"], &["--min", "0.5", "--error", "0"], &[]] {
        tool.run(&[&["plan"][..], wrong].concat()).with_status(2);
    }
}

/// Texts are compared by their words, HTML by its visible text.
#[test]
fn texts_are_normalised() {
    let tool = Tool::new();
    tool.write("a.txt", words(1)).write("b.txt", words(2));
    tool.run(&["create", "db.ringer"]).with_status(0);
    tool.run(&["add", "db.ringer", "a.txt", "b.txt"]).with_status(0);
    let shouted = words(1).to_uppercase().replace(' ', " -- ");
    let found =
        tool.run(&["query", "db.ringer", "--text", &shouted, "--json"]).with_status(0).json();
    assert_eq!((&found[0]["key"], &found[0]["resemblance"]), (&"a.txt".into(), &1.0.into()));
    let page =
        format!("<html><style>p {{}}</style><body>{}</body>", words(2).replace(' ', "&nbsp;<br>"));
    tool.write("page.html", page);
    let found =
        tool.run(&["query", "db.ringer", "--file", "page.html", "--json"]).with_status(0).json();
    assert_eq!((&found[0]["key"], &found[0]["resemblance"]), (&"b.txt".into(), &1.0.into()));
}

/// The status is like that of grep: 1 if nothing matches, of many queries if none has a match.
#[test]
fn queries_without_a_match_end_with_status_1() {
    let tool = Tool::with_sets("a\tone two three\nb\tone two four\n");
    tool.run(&["query", "db.ringer", "--set", "one two three"]).with_status(0);
    for more in [&[][..], &["--json"], &["--explain"], &["--format", "csv"]] {
        let none =
            [&["query", "db.ringer", "--set", "zebra", "--exhaustive", "--min", "0.9"], more];
        tool.run(&none.concat()).with_status(1);
    }
    let output = ["query", "db.ringer", "--set", "zebra", "--min", "0.9", "--output", "none.csv"];
    tool.run(&output).with_status(1);
    assert_eq!(std::fs::read_to_string(tool.path("none.csv")).unwrap().lines().count(), 1);
    for (lines, status) in [
        ("q\tone two three\nr\tzebra\n", 0),
        ("q\tzebra\nr\tyak\n", 1),
        ("q\tzebra\nno tab\n", 1),
        ("", 1),
        ("no tab\n", 3),
    ] {
        let many = ["query", "db.ringer", "--sets", "-", "--threshold", "0.9"];
        let ran = tool.run_with(lines, &many);
        assert_eq!(ran.status, Some(status), "{lines:?}: {}{}", ran.out, ran.err);
    }
    let json = "{\"id\": 1, \"text\": [\"zebra\"]}\n";
    tool.run_with(json, &["query", "db.ringer", "--jsonl", "-", "--min", "0.9"]).with_status(1);
}
