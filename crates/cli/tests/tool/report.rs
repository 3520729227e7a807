//! `--report FILE.html` as a whole page, without a browser: the groups and texts of the run are in it, hostile names and
//! texts stay text, its size is bounded, and it appears complete or not at all. `.ci/browser` opens such pages.

use std::fs;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::run::{Tool, words};

/// A page, split into the parts that matter.
struct Page {
    html: String,
    summary: Value,
    groups: Vec<Value>,
}

impl Page {
    #[track_caller]
    fn read(tool: &Tool, name: &str) -> Page {
        let html = fs::read_to_string(tool.path(name)).expect("a report");
        let json = |id: &str| {
            let start = format!("<script type=\"application/json\" id=\"{id}\">");
            let text = between(&html, &start, "</script>");
            serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{id}: {error}"))
        };
        let (summary, groups) = (json("summary"), json("groups"));
        let groups = groups.as_array().expect("a list").clone();
        let page = Page { html, summary, groups };
        page.check_safety();
        page
    }

    /// Asserts that the page has only its own elements, loads nothing, and runs only its own script.
    #[track_caller]
    fn check_safety(&self) {
        let html = &*self.html;
        let count = |text: &str| html.matches(text).count();
        assert_eq!((count("<script"), count("</script>"), count("<style")), (3, 3, 1));
        for loading in ["<img", "<iframe", "<link", "<object", "<embed"] {
            assert_eq!(count(loading), 0, "{loading}");
        }
        let policy = between(html, "Content-Security-Policy\" content=\"", "\">");
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        for (directive, start, end) in
            [("script-src", "<script>", "</script>"), ("style-src", "<style>", "</style>")]
        {
            let hash = base64(&Sha256::digest(between(html, start, end)));
            assert!(policy.contains(&format!("{directive} 'sha256-{hash}';")), "{policy}");
        }
    }

    /// The number in a box at the top.
    #[track_caller]
    fn total(&self, name: &str) -> u64 {
        let shown = between(&self.html, &format!("<dt>{name}</dt><dd>"), "</dd>");
        shown.replace(',', "").parse().expect("a number")
    }

    /// The keys of each group, the first member first.
    fn keys(&self) -> Vec<Vec<String>> {
        let key = |member: &Value| member[0].as_str().map_or(member[0].to_string(), String::from);
        let keys = |group: &Value| group[3].as_array().expect("members").iter().map(key).collect();
        self.groups.iter().map(keys).collect()
    }

    /// The words that differ on the left and on the right, in the first group of this kind.
    fn changed(&self, kind: &str) -> [String; 2] {
        let parts = self.summary[kind][0]["diff"]["parts"].as_array().expect("differences");
        [1, 2].map(|side| {
            let pieces = parts.iter().flat_map(|part| part[side].as_array().expect("pieces"));
            let changed = pieces.filter(|piece| piece[0] == 1);
            changed.map(|piece| piece[1].as_str().expect("words")).collect()
        })
    }
}

#[track_caller]
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("no {start}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end}")).0
}

/// Base 64, bit by bit.
fn base64(bytes: &[u8]) -> String {
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let digits =
        ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect::<Vec<_>>();
    let shown: String = (0..bits.len())
        .step_by(6)
        .map(|at| format!("{:0<6}", &bits[at..bits.len().min(at + 6)]))
        .map(|six| digits[usize::from_str_radix(&six, 2).expect("bits")])
        .collect();
    let padding = shown.len().next_multiple_of(4) - shown.len();
    shown + &"=".repeat(padding)
}

/// Two groups: two files that differ in a word beside a copy, and two copies.
fn folder() -> Tool {
    let tool = Tool::new();
    let text = words(1);
    tool.write("in/a.txt", &text).write("in/b.txt", text.clone() + "CHANGED");
    tool.write("in/copy.txt", &text).write("in/c.txt", words(2)).write("in/d.txt", words(2));
    tool.write("in/other.txt", words(3));
    tool
}

#[test]
fn a_page_about_folders_has_the_groups_that_the_command_prints() {
    let tool = folder();
    let ran = tool.run(&["dedup", "in", "--json", "--report", "page.html"]).with_status(0);
    let page = Page::read(&tool, "page.html");
    let printed: Vec<Vec<String>> = ran
        .json()
        .iter()
        .map(|group| serde_json::from_value(group["keys"].clone()).unwrap())
        .collect();
    assert_eq!(page.keys(), printed);
    assert_eq!(
        page.keys(),
        [vec!["in/a.txt", "in/copy.txt", "in/b.txt"], vec!["in/c.txt", "in/d.txt"]]
    );
    let totals = ["files compared", "groups", "files in groups", "files that repeat others"];
    assert_eq!(totals.map(|name| page.total(name)), [6, 2, 5, 3]);
    // The copy is marked as identical and the other file is not.
    let marks: Vec<&Value> =
        page.groups[0][3].as_array().unwrap().iter().map(|member| &member[2]).collect();
    assert_eq!(marks, [0, 1, 0]);
    let lowest = ran.json()[0]["min_resemblance"].as_f64().unwrap();
    assert!((page.groups[0][2].as_f64().unwrap() - lowest).abs() < 1e-4, "{lowest}");
    // Exact resemblances have no interval.
    assert_eq!(page.groups[0][3][2].as_array().unwrap().len(), 3);
    assert_eq!(page.changed("doubtful"), ["", "CHANGED"]);
    let sum: u64 =
        page.summary["similarities"].as_array().unwrap().iter().filter_map(Value::as_u64).sum();
    assert_eq!((sum, page.summary["pairs"].as_u64()), (3, Some(3)));
    assert_eq!(page.summary["sizes"], serde_json::json!([[2, 1], [3, 1]]));
    assert_eq!(page.summary["curve"].as_array().unwrap().len(), 101);
}

#[test]
fn a_second_run_replaces_the_page_and_does_not_compare_it() {
    let tool = folder();
    let run = || tool.run(&["dedup", "in", "--report", "in/page.html"]).with_status(0);
    let first = run();
    let page = fs::read(tool.path("in/page.html")).unwrap();
    let second = run();
    assert_eq!((first.out, first.err), (second.out, second.err));
    assert!(fs::read(tool.path("in/page.html")).unwrap() == page);
}

#[test]
fn a_page_about_rows_has_the_kept_row_first() {
    let tool = Tool::new();
    let row =
        |id: &str, text: &str| serde_json::json!({ "id": id, "text": text }).to_string() + "\n";
    let rows =
        row("short", &words(1)) + &row("alone", &words(2)) + &row("long", &(words(1) + "LONGER"));
    tool.write("rows.jsonl", rows + "not json\n");
    let dedup = ["dedup", "--jsonl", "rows.jsonl", "--keep", "longest", "--report", "page.html"];
    tool.run(&dedup).with_status(0);
    let page = Page::read(&tool, "page.html");
    assert_eq!(page.keys(), [["long", "short"]]);
    let totals = ["rows", "kept", "removed", "groups", "not compared"];
    assert_eq!(totals.map(|name| page.total(name)), [4, 3, 1, 1, 1]);
    assert_eq!(page.changed("largest"), ["LONGER", ""]);
}

#[test]
fn a_page_about_clusters_says_where_the_texts_are() {
    let tool = Tool::new();
    let text = words(1);
    let rows =
        format!("{{\"id\": 1, \"text\": \"{text}\"}}\n{{\"id\": 2, \"text\": \"{text} MORE\"}}\n");
    tool.write("rows.jsonl", rows);
    tool.run(&["create", "db.ringer"]).with_status(0);
    tool.run(&["add", "db.ringer", "--jsonl", "rows.jsonl"]).with_status(0);
    let clusters = ["clusters", "db.ringer", "--min", "0.5", "--report", "page.html"];
    tool.run(&clusters).with_status(0);
    let page = Page::read(&tool, "page.html");
    assert_eq!(page.keys(), [["1", "2"]]);
    // An estimate has an interval. Without a source there are no differences, and the page says why.
    assert_eq!(page.groups[0][3][1].as_array().unwrap().len(), 5);
    assert_eq!(page.summary["largest"][0]["diff"], Value::Null);
    assert!(page.summary["noTexts"].as_str().unwrap().contains("--verify-jsonl"));
    tool.run(&[&clusters[..], &["--verify-jsonl", "rows.jsonl"]].concat()).with_status(0);
    let page = Page::read(&tool, "page.html");
    assert_eq!(page.changed("largest"), ["", "MORE"]);
    assert_eq!(page.groups[0][3][1].as_array().unwrap().len(), 3);
}

#[test]
fn a_page_about_queries_has_those_without_a_match_as_well() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer"]).with_status(0);
    tool.write("in/a.txt", words(1)).write("in/b.txt", words(2)).write("new.txt", words(1) + "NEW");
    tool.run(&["add", "db.ringer", "in"]).with_status(0);
    let query =
        ["query", "db.ringer", "--file", "new.txt", "--verify-files", "--report", "page.html"];
    tool.run(&query).with_status(0);
    let page = Page::read(&tool, "page.html");
    assert_eq!(page.keys(), [["new.txt", "in/a.txt"]]);
    assert_eq!(page.changed("largest"), ["NEW", ""]);
    tool.write("queries", format!("q1\t{}\nq2\tnothing like that is stored here\n", words(2)));
    tool.run(&["query", "db.ringer", "--sets", "queries", "--report", "page.html"]).with_status(0);
    let page = Page::read(&tool, "page.html");
    assert_eq!(page.keys(), [vec!["q1", "in/b.txt"], vec!["q2"]]);
    let totals = ["queries", "queries with a match", "matches"];
    assert_eq!(totals.map(|name| page.total(name)), [2, 1, 1]);
    let none =
        ["query", "db.ringer", "--text", "nothing like that is here", "--report", "none.html"];
    tool.run(&none).with_status(1);
    assert_eq!(Page::read(&tool, "none.html").total("matches"), 0);
}

#[cfg(unix)]
#[test]
fn hostile_names_and_texts_stay_text() {
    use std::os::unix::ffi::OsStrExt;
    let tool = Tool::new();
    let hostile = "</script><script>alert(1)</script><!-- <img onerror=alert(2)> ]]> \u{2028}\u{2029}\u{202e} {{style}}";
    tool.write("in/a.txt", words(1) + hostile + " left")
        .write("in/b.txt", words(1) + hostile + " right");
    for (name, text) in
        [("<img src=x onerror=alert(3)>", words(2)), ("&amp;\"'`\n\u{1b}[31m", words(2))]
    {
        tool.write(&format!("in/{name}"), text);
    }
    fs::write(tool.path("in").join(std::ffi::OsStr::from_bytes(b"\xff<b>")), words(2)).unwrap();
    tool.run(&["dedup", "in", "--min", "0.5", "--report", "page.html"]).with_status(0);
    let page = Page::read(&tool, "page.html");
    let names = page.keys().concat();
    assert!(names.contains(&"in/<img src=x onerror=alert(3)>".to_string()), "{names:?}");
    assert!(names.contains(&"in/&amp;\"'`\\n\\u{1b}[31m".to_string()), "{names:?}");
    assert!(names.contains(&"{\"hex\":\"696e2fff3c623e\"}".to_string()), "{names:?}");
    // The texts reach the page unchanged, as strings.
    let all = page.summary.to_string();
    assert!(all.contains(&Value::from(hostile).to_string()[1..20]), "{all}");
    let shown = page.summary["doubtful"].as_array().unwrap().iter();
    let texts: Vec<String> = shown.map(|card| card["diff"].to_string()).collect();
    assert!(texts.iter().any(|text| text.contains("alert(1)")), "{texts:?}");
}

/// A page lists at most 100 members of a group, whatever their number, and a hundred thousand groups take few bytes each.
#[test]
fn pages_about_many_groups_are_bounded() {
    let tool = Tool::new();
    let groups = 100_000;
    let mut sets: String =
        (0..2 * groups).map(|i| format!("k{i:06}\tx{} y{}\n", i / 2, i / 2)).collect();
    sets.extend((0..1000).map(|i| format!("same{i}\tz\n")));
    tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
    tool.run_with(sets, &["add", "db.ringer", "--sets", "-"]).with_status(0);
    let clusters =
        ["clusters", "db.ringer", "--min", "0.9", "--report", "page.html", "--output", "out"];
    tool.run(&clusters).with_status(0);
    let page = Page::read(&tool, "page.html");
    assert_eq!(page.total("groups"), groups as u64 + 1);
    assert_eq!(page.summary["listed"], groups as u64 + 1);
    let largest = page.groups.iter().max_by_key(|group| group[1].as_u64()).unwrap();
    assert_eq!((largest[1].as_u64(), largest[3].as_array().unwrap().len()), (Some(1000), 101));
    let bytes = page.html.len() / (groups + 1);
    assert!(bytes < 100, "{bytes} bytes a group");
}

#[test]
fn only_reports_are_replaced_and_a_page_is_complete_or_not_there() {
    let tool = folder();
    tool.write("mine.html", "<p>my page</p>");
    let refused = tool.run(&["dedup", "in", "--report", "mine.html"]).with_status(2);
    assert!(refused.err.contains("is not a report of ringer"), "{}", refused.err);
    assert!(refused.out.is_empty(), "{}", refused.out);
    assert_eq!(fs::read(tool.path("mine.html")).unwrap(), b"<p>my page</p>");
    tool.run(&["dedup", "in", "--report", "in"]).with_status(2);
    // An empty file, as mktemp makes it, is replaced.
    tool.write("page.html", "");
    tool.run(&["dedup", "in", "--report", "page.html"]).with_status(0);
    let before = fs::read(tool.path("page.html")).unwrap();
    // A run that fails leaves the old page, and nothing else.
    let names = tool.names();
    tool.write("in/more.txt", words(3));
    tool.run(&["dedup", "in", "nowhere", "--report", "page.html"]).with_status(3);
    tool.run(&["dedup", "in", "--strict", "--max-text", "3", "--report", "page.html"])
        .with_status(6);
    assert!(fs::read(tool.path("page.html")).unwrap() == before);
    assert_eq!(tool.names(), names);
    // A report without groups is a valid page.
    tool.run(&["dedup", "in/other.txt", "--report", "empty.html"]).with_status(0);
    assert_eq!(Page::read(&tool, "empty.html").total("groups"), 0);
}
