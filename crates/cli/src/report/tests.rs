//! Tests of parts of a report. `crates/cli/tests/tool/report.rs` tests whole pages, and `.ci/browser` opens them.

use serde_json::{Value, json};

use super::diff;
use super::page::{hash, html, json as escaped, thousands};

#[test]
fn hashes_are_those_of_the_standard() {
    // FIPS 180-4: the empty text, and "abc".
    assert_eq!(hash(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    assert_eq!(hash("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

#[test]
fn hostile_text_is_escaped() {
    assert_eq!(
        html("<img src='x' onerror=\"a&b\">"),
        "&lt;img src=&#39;x&#39; onerror=&quot;a&amp;b&quot;&gt;"
    );
    let text = json!("</script><!--&\u{2028}\u{2029}");
    let shown = escaped(&text);
    assert!(!shown.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{shown}");
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), text);
    assert_eq!((&*thousands(1_234_567), &*thousands(123)), ("1,234,567", "123"));
}

/// The words of one side of all parts, and those of them that are marked as changed.
fn side(diff: &Value, side: usize) -> (String, String) {
    let pieces =
        diff["parts"].as_array().unwrap().iter().flat_map(|part| part[side].as_array().unwrap());
    let text = |piece: &Value| piece[1].as_str().unwrap().to_string();
    let all = pieces.clone().map(text).collect();
    (all, pieces.filter(|piece| piece[0] == 1).map(text).collect())
}

#[test]
fn differences_are_words() {
    let found = diff::words(b"one two  three\nfour", b"one 2 three four five");
    assert_eq!(side(&found, 1), ("one two  three\nfour".into(), "two  ".into()));
    assert_eq!(side(&found, 2), ("one 2 three four five".into(), "2 five".into()));
    assert_eq!((&found["cut"], &found["more"]), (&Value::Null, &json!(0)));
    assert_eq!(diff::words(b"", b"")["parts"], json!([]));
}

#[test]
fn long_equal_parts_are_left_out_and_long_texts_are_cut() {
    let text: String = (0..500).map(|i| format!("w{i} ")).collect();
    let found = diff::words(text.as_bytes(), text.replace("w250 ", "other ").as_bytes());
    let skipped: u64 =
        found["parts"].as_array().unwrap().iter().map(|part| part[0].as_u64().unwrap()).sum();
    assert_eq!(skipped, 499 - 40);
    assert_eq!(side(&found, 2).1, "other ");
    let long = "x ".repeat(20_000);
    let found = diff::words(long.as_bytes(), b"y\xff");
    assert_eq!(found["cut"], 20_000);
    assert_eq!(side(&found, 2).0, "y\u{fffd}");
    // Many parts are counted, not shown.
    let changed: String = (0..4000)
        .map(|i| if i % 100 == 0 { "z ".into() } else { format!("{} ", i % 100) })
        .collect();
    let plain: String = (0..4000).map(|i| format!("{} ", i % 100)).collect();
    let found = diff::words(plain.as_bytes(), changed.as_bytes());
    assert!(found["parts"].as_array().unwrap().len() <= 40);
}
