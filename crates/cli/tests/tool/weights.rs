//! `ringer weights`, and `--weights` of `add` and `query`. The tests also compute the weights by the formula of tf-idf and add
//! the same sets with `--weighted`: the signatures must be equal.

use crate::run;

use std::collections::BTreeMap;
use std::fs;

use run::Tool;
use serde_json::Value;

/// Documents as words, by key.
const NOTES: [(&str, &str); 5] = [
    ("hot", "the tea is hot the tea"),
    ("cold", "the tea is cold"),
    ("night", "the day is cold the night colder"),
    ("odd", "#documents #title tea"),
    ("empty", ""),
];

/// The keys and samples of all stored sets.
fn stored(tool: &Tool, db: &str) -> Vec<(String, Value)> {
    let rows = tool.run(&["dump", db, "--json"]).with_status(0).json();
    let one =
        |row: &Value| (row["key"].as_str().expect("a key").to_string(), row["samples"].clone());
    rows.iter().map(one).collect()
}

fn times(words: &[&str], word: &str) -> f64 {
    words.iter().filter(|other| **other == word).count() as f64
}

/// Input lines for `--weighted`. The weight of a word is the number of times it occurs in the text, times its rarity.
fn weighted(texts: &[(&str, &str)], rarity: impl Fn(&str) -> f64) -> String {
    let line = |(key, text): &(&str, &str)| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut distinct = words.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let weights =
            distinct.iter().map(|word| format!("{word}:{}", times(&words, word) * rarity(word)));
        format!("{key}\t{}\n", weights.collect::<Vec<_>>().join(" "))
    };
    texts.iter().map(line).collect()
}

fn rarity(documents: f64, with: f64) -> f64 {
    1.0 + ((1.0 + documents) / (1.0 + with)).ln()
}

fn lines(texts: &[(&str, &str)]) -> String {
    texts.iter().map(|(key, text)| format!("{key}\t{text}\n")).collect()
}

fn create(tool: &Tool, db: &str, features: &str, preset: &str) {
    tool.run(&["create", db, "--features", features, "--preset", preset, "--seed", "4"])
        .with_status(0);
}

/// Counts of the tool, and the same counts written by hand as words, give the signatures of tf-idf weights.
#[test]
fn elements_are_weighted_by_rarity() {
    for preset in ["weighted", "cosine"] {
        let tool = Tool::new();
        let with = |word: &str| {
            let has = |(_, text): &&(&str, &str)| text.split(' ').any(|other| other == word);
            NOTES.iter().filter(has).count() as f64
        };
        fs::write(tool.path("notes"), lines(&NOTES)).unwrap();
        fs::write(tool.path("right"), weighted(&NOTES, |word| rarity(5.0, with(word)))).unwrap();
        let words: BTreeMap<&str, f64> = NOTES
            .iter()
            .flat_map(|(_, text)| text.split_whitespace())
            .map(|word| (word, with(word)))
            .collect();
        // After the first line with a count, a word that looks like a setting (`#documents`) is a word.
        let mut by_hand = "#documents\t5\n".to_string();
        for (word, count) in words.iter().rev() {
            by_hand += &format!("{word}\t{count}\n");
        }
        fs::write(tool.path("by-hand"), by_hand).unwrap();
        for db in ["right.ringer", "counted.ringer", "hand.ringer", "plain.ringer"] {
            create(&tool, db, "tokens", preset);
        }
        let count = ["weights", "counted.ringer", "--sets", "notes", "--output", "counts"];
        let said = tool.run(&count).with_status(0);
        assert_eq!(said.err, "counted 10 elements in 5 documents; wrote counts\n");
        let file = fs::read_to_string(tool.path("counts")).unwrap();
        assert!(
            file.starts_with("#documents\t5\n#features\ttokens\n#title\t1\n#headings\t1\n"),
            "{file}"
        );
        assert_eq!(file.lines().count(), 4 + words.len());
        tool.run(&["add", "right.ringer", "--sets", "right", "--weighted"]).with_status(0);
        tool.run(&["add", "counted.ringer", "--sets", "notes", "--weights", "counts"])
            .with_status(0);
        tool.run(&["add", "hand.ringer", "--sets", "notes", "--weights", "by-hand"]).with_status(0);
        tool.run(&["add", "plain.ringer", "--sets", "notes"]).with_status(0);
        let right = stored(&tool, "right.ringer");
        assert_eq!(stored(&tool, "counted.ringer"), right, "{preset}");
        assert_eq!(stored(&tool, "hand.ringer"), right, "{preset}");
        assert_ne!(stored(&tool, "plain.ringer"), right, "{preset}");

        // A query is weighted by the same file. Then it equals the stored set of the same words.
        for query in [&["--set", NOTES[0].1][..], &["--sets", "notes"], &["--jsonl", "notes.jsonl"]]
        {
            fs::write(
                tool.path("notes.jsonl"),
                "{\"id\": 1, \"text\": [\"the\", \"tea\", \"is\", \"hot\", \"the\", \"tea\"]}\n",
            )
            .unwrap();
            let ask = [
                &["query", "counted.ringer", "--weights", "counts", "--exhaustive", "--json"],
                query,
            ]
            .concat();
            let found = tool.run(&ask).with_status(0).json();
            let measure = if preset == "cosine" { "cosine" } else { "resemblance" };
            assert_eq!(
                (&found[0]["key"], &found[0][measure]),
                (&"hot".into(), &1.0.into()),
                "{query:?}"
            );
        }
        // Rare words weigh more, so without the file the same query is another one.
        let ask = ["query", "counted.ringer", "--set", NOTES[0].1, "--exhaustive", "--json"];
        let found = tool.run(&ask).with_status(0).json();
        assert!(
            found.iter().all(|found| found["resemblance"] != 1.0 && found["cosine"] != 1.0),
            "{found:?}"
        );
    }
}

/// Titles and headings of pages, and files that are not HTML.
#[test]
fn titles_and_headings_of_pages_weigh_more() {
    let tool = Tool::new();
    fs::create_dir(tool.path("in")).unwrap();
    let page = "<html><title>Green tea</title><h1>All about tea</h1><p>Tea is a plant.<h6>Green</h6>leaves";
    let flat = "green tea all about tea tea is a plant green leaves";
    fs::write(tool.path("in/a.html"), page).unwrap();
    fs::write(tool.path("in/b.txt"), "Green leaves of tea <h1>in</h1> Japan").unwrap();
    let other = "green leaves of tea h1 in h1 japan";
    create(&tool, "pages.ringer", "text:1", "weighted");
    create(&tool, "right.ringer", "tokens", "weighted");
    let count = [
        "weights",
        "pages.ringer",
        "in",
        "--title",
        "5",
        "--headings",
        "2.5",
        "--output",
        "in/weights",
    ];
    tool.run(&count).with_status(0);
    let [words, others] = [flat, other].map(|text| text.split(' ').collect::<Vec<&str>>());
    let [title, headings] = [["green", "tea"].as_slice(), &["all", "about", "tea", "green"]];
    let df = |word: &str| {
        f64::from(u8::from(words.contains(&word))) + f64::from(u8::from(others.contains(&word)))
    };
    let of_page =
        |word: &str| times(&words, word) + 4.0 * times(title, word) + 1.5 * times(headings, word);
    let mut lines = ["in/a.html\t", "in/b.txt\t"].map(String::from);
    let distinct =
        |words: &[&'static str]| words.iter().copied().collect::<std::collections::BTreeSet<_>>();
    for word in distinct(&words) {
        lines[0] += &format!("{word}:{} ", of_page(word) * rarity(2.0, df(word)));
    }
    for word in distinct(&others) {
        lines[1] += &format!("{word}:{} ", times(&others, word) * rarity(2.0, df(word)));
    }
    fs::write(tool.path("right"), lines.join("\n")).unwrap();
    tool.run(&["add", "right.ringer", "--sets", "right", "--weighted"]).with_status(0);
    // The file of weights is in the folder, but it is not a document.
    let add = ["add", "pages.ringer", "in", "--weights", "in/weights"];
    tool.run(&add).with_status(0);
    assert_eq!(stored(&tool, "pages.ringer"), stored(&tool, "right.ringer"));
    let same =
        tool.run(&["add", "pages.ringer", "in", "--weights", "in/weights", "--sync", "--json"]);
    let same = same.with_status(0).json();
    assert_eq!((&same[0]["added"], &same[0]["present"]), (&0.into(), &2.into()));
    let ask = ["query", "pages.ringer", "--file", "in/a.html", "--weights", "in/weights", "--json"];
    assert_eq!(tool.run(&ask).with_status(0).json()[0]["resemblance"], 1.0);

    // Weights of parts alone, without counts.
    let only =
        ["weights", "pages.ringer", "--title", "5", "--headings", "2.5", "--output", "parts"];
    tool.run(&only).with_status(0);
    let file = fs::read_to_string(tool.path("parts")).unwrap();
    assert_eq!(
        file,
        "#documents\t0\n#features\ttext(1-word shingles)\n#title\t5\n#headings\t2.5\n"
    );
    fs::write(tool.path("short"), "#title\t5\n#headings\t2.5\n").unwrap();
    let line: String =
        distinct(&words).iter().map(|word| format!("{word}:{} ", of_page(word))).collect();
    fs::write(tool.path("right"), format!("in/a.html\t{line}\n")).unwrap();
    tool.run(&["add", "right.ringer", "--sets", "right", "--weighted"]).with_status(0);
    for file in ["parts", "short"] {
        tool.run(&["add", "pages.ringer", "in/a.html", "--weights", file]).with_status(0);
        assert_eq!(stored(&tool, "pages.ringer")[0], stored(&tool, "right.ringer")[0], "{file}");
    }
}

/// For five kinds of features: one thread gives the same file as the default number of threads, `--least` leaves out rare
/// elements, and a query with the weights finds the stored document (not checked for spots).
#[test]
fn every_kind_of_features_is_counted() {
    let tool = Tool::new();
    fs::create_dir(tool.path("in")).unwrap();
    let text: String = (0..2000).map(|i| format!("word{} ", i * i % 977)).collect();
    for (name, text) in [("a", &text[..]), ("b", &text[1000..]), ("c", "alone")] {
        fs::write(tool.path(&format!("in/{name}")), text).unwrap();
    }
    for features in ["text", "grams", "spots", "chunks", "tokens"] {
        let db = format!("{features}.ringer");
        create(&tool, &db, features, "weighted");
        for (file, more) in
            [("one", &[][..]), ("two", &["--threads", "1"]), ("least", &["--least", "2"])]
        {
            let output = format!("{features}-{file}");
            let ran =
                tool.run(&[&["weights", &*db, "in", "-o", &output], more].concat()).with_status(0);
            assert!(ran.err.contains(" in 3 documents; wrote "), "{}", ran.err);
        }
        let read =
            |file: &str| fs::read_to_string(tool.path(&format!("{features}-{file}"))).unwrap();
        assert_eq!(read("one"), read("two"), "{features}");
        let often = |line: &&str| !line.ends_with("\t1") || line.starts_with('#');
        let most: Vec<&str> = read("one").leak().lines().filter(often).collect();
        assert_eq!(read("least").lines().collect::<Vec<_>>(), most, "{features}");
        tool.run(&["add", &*db, "in", "--weights", &format!("{features}-one")]).with_status(0);
        let ask =
            ["query", &*db, "--file", "in/b", "--weights", &format!("{features}-one"), "--json"];
        let found = tool.run(&ask).json();
        assert!(
            features == "spots" || found[0]["key"] == "in/b" && found[0]["resemblance"] == 1.0,
            "{features}"
        );
    }
}

#[test]
fn files_of_weights_that_do_not_fit_are_refused() {
    let tool = Tool::new();
    create(&tool, "words.ringer", "tokens", "weighted");
    create(&tool, "runs.ringer", "text:3", "weighted");
    tool.run(&["create", "sets.ringer", "--features", "tokens"]).with_status(0);
    fs::write(tool.path("x"), "a\tb c\n").unwrap();
    fs::write(tool.path("good"), "#documents\t3\nb\t2\n\nunseen\t0\n").unwrap();
    let add = |db: &str, file: &str| tool.run(&["add", db, "--sets", "x", "--weights", file]);
    add("words.ringer", "good").with_status(0);
    assert!(add("sets.ringer", "good").with_status(2).err.contains("--preset weighted"));
    add("words.ringer", "missing").with_status(3);
    for (db, text, message) in [
        ("words.ringer", "b\t2\n", "line 1: the number of all documents is missing"),
        ("words.ringer", "#documents\tmany\n", "line 1: `many` is not a whole number"),
        ("words.ringer", "#documents\t3\nb 2\n", "line 2: there is no tab"),
        (
            "words.ringer",
            "#documents\t3\nb\ttwo\n",
            "line 2: the number of documents with `b` is not a whole number",
        ),
        (
            "words.ringer",
            "#documents\t3\nb\t-1\n",
            "line 2: the number of documents with `b` is not",
        ),
        ("words.ringer", "#documents\t3\nb\t4\n", "line 2: `b` is in 4 of 3 documents"),
        (
            "words.ringer",
            "#documents\t3\nb\t1\nc\t1\nb\t1\n",
            "twice: each feature has one number of documents",
        ),
        (
            "words.ringer",
            "#documents\t3\n#features\ttokens\nb\t1\n",
            "line 3: `b` is not a feature of 16 hexadecimal digits",
        ),
        (
            "words.ringer",
            "#documents\t3\n#features\ttext:5\n",
            "line 2: the file counts elements of text:5",
        ),
        (
            "words.ringer",
            "#title\t0.5\n",
            "line 1: title of weight 0.5: the weight of a title or of headings must be 1 to",
        ),
        ("words.ringer", "#headings\tbig\n", "line 1: `big` is not a number"),
        (
            "words.ringer",
            "#documents\t3\nb c\t1\n",
            "line 2: `b c` is 2 elements, where the elements are tokens",
        ),
        ("words.ringer", "#documents\t3\n \t1\n", "line 2: ` ` is no element"),
        (
            "runs.ringer",
            "#documents\t3\na b c\t1\n",
            "line 2: `a b c` is 3 elements, where the elements are text(3-word shingles)",
        ),
    ] {
        fs::write(tool.path("bad"), text).unwrap();
        let refused = add(db, "bad").with_status(2);
        assert!(
            refused.err.starts_with("error: bad") && refused.err.contains(message),
            "{}",
            refused.err
        );
        assert_eq!(tool.keys(db).len(), usize::from(db == "words.ringer"), "nothing is added");
    }
    add("words.ringer", "good").with_status(0);
    tool.run(&["add", "words.ringer", "--sets", "x", "--weights", "good", "--weighted"])
        .with_status(2);
    tool.run(&["query", "words.ringer", "--set", "b:1", "--weights", "good", "--weighted"])
        .with_status(2);
    tool.run(&["query", "sets.ringer", "--set", "b", "--weights", "good"]).with_status(2);

    // The command: what it refuses, and that it replaces nothing unless it is told to.
    let weights = |arguments: &[&str]| tool.run(&[&["weights"], arguments].concat());
    for arguments in [
        &["words.ringer", "-o", "new"][..],
        &["words.ringer", "--sets", "x", "-o", "good"],
        &["words.ringer", "--sets", "x", "--title", "0", "-o", "new"],
        &["words.ringer", "--sets", "x", "--headings", "nan", "-o", "new"],
        &["words.ringer", "--sets", "x"],
        &["sets.ringer", "--sets", "x", "-o", "new"],
    ] {
        assert!(!weights(arguments).with_status(2).err.is_empty(), "{arguments:?}");
    }
    for arguments in [
        &["no.ringer", "--sets", "x", "-o", "new"][..],
        &["words.ringer", "--sets", "no", "-o", "new"],
        &["words.ringer", "no", "-o", "new"],
    ] {
        weights(arguments).with_status(3);
    }
    fs::write(tool.path("malformed"), "no tab\n").unwrap();
    weights(&["words.ringer", "--sets", "malformed", "-o", "new"]).with_status(3);
    assert!(!tool.path("new").exists());
    weights(&["words.ringer", "--sets", "x", "-o", "good", "--force"]).with_status(0);
    let json =
        weights(&["words.ringer", "--sets", "x", "-o", "new", "--json"]).with_status(0).json();
    assert_eq!((&json[0]["documents"], &json[0]["elements"]), (&1.into(), &2.into()));
}
