//! The differences of two texts, word by word, as parts to show side by side.
//!
//! In: two texts, of which the first 20,000 bytes are compared. Out: JSON with the changed parts and some words around them.
//! Long equal parts are left out and counted.

use serde_json::{Value, json};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::group::TEXT_BYTES;

/// How many equal words are shown on each side of a change.
const CONTEXT: usize = 20;

/// The most parts that are shown.
const MOST_PARTS: usize = 40;

/// A piece of text: whether it differs, and its words.
type Piece = (bool, String);

/// Two aligned pieces of the texts.
#[derive(Default)]
struct Part {
    /// Equal words that are left out before this part.
    skipped: usize,
    left: Vec<Piece>,
    right: Vec<Piece>,
}

/// The differences of two texts.
pub(super) fn words(a: &[u8], b: &[u8]) -> Value {
    let cut = a.len() > TEXT_BYTES || b.len() > TEXT_BYTES;
    let [a, b] = [a, b].map(|text| String::from_utf8_lossy(&text[..text.len().min(TEXT_BYTES)]));
    let (a, b) = (split(&a), split(&b));
    let [plain_a, plain_b] =
        [&a, &b].map(|words| words.iter().map(|word| word.trim_end()).collect::<Vec<_>>());
    let mut parts = vec![Part::default()];
    let operations = capture_diff_slices(Algorithm::Myers, &plain_a, &plain_b);
    let last = operations.len().saturating_sub(1);
    for (i, operation) in operations.iter().enumerate() {
        let (old, new) = (operation.old_range(), operation.new_range());
        if !matches!(operation, DiffOp::Equal { .. }) {
            push(&mut parts, true, &a[old], &b[new]);
            continue;
        }
        let length = old.len();
        let before = if i == 0 { 0 } else { CONTEXT };
        let after = if i == last && i > 0 { 0 } else { CONTEXT };
        if length <= before + after + CONTEXT {
            push(&mut parts, false, &a[old], &b[new]);
            continue;
        }
        push(&mut parts, false, &a[old.start..][..before], &b[new.start..][..before]);
        parts.push(Part { skipped: length - before - after, ..Part::default() });
        push(&mut parts, false, &a[old.end - after..old.end], &b[new.end - after..new.end]);
    }
    parts.retain(|part| part.skipped > 0 || !(part.left.is_empty() && part.right.is_empty()));
    let more = parts.len().saturating_sub(MOST_PARTS);
    let shown: Vec<Value> = parts.iter().take(MOST_PARTS).map(Part::json).collect();
    json!({ "parts": shown, "more": more, "cut": cut.then_some(TEXT_BYTES) })
}

/// Words with the white space that follows them.
fn split(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut space) = (0, false);
    for (at, c) in text.char_indices() {
        if space && !c.is_whitespace() {
            words.push(&text[start..at]);
            start = at;
        }
        space = c.is_whitespace();
    }
    words.push(&text[start..]);
    words.retain(|word| !word.is_empty());
    words
}

fn push(parts: &mut [Part], changed: bool, left: &[&str], right: &[&str]) {
    let Some(part) = parts.last_mut() else { return };
    for (side, words) in [(&mut part.left, left), (&mut part.right, right)] {
        if !words.is_empty() {
            side.push((changed, words.concat()));
        }
    }
}

impl Part {
    fn json(&self) -> Value {
        let side = |pieces: &[Piece]| -> Vec<Value> {
            pieces.iter().map(|(changed, text)| json!([u8::from(*changed), text])).collect()
        };
        json!([self.skipped, side(&self.left), side(&self.right)])
    }
}
