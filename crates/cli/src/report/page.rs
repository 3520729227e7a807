//! Writes the page: fixed assets, totals as HTML, and everything else as JSON that the script shows.
//!
//! The content security policy allows exactly the script and the style sheet of the assets, by their hashes. Text of
//! documents and names reaches the page in two ways only: escaped for HTML ([`html`]), or as JSON without characters that
//! could end its element ([`json`]).

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use ringer::Scheme;
use ringer::estimate::planning;
use serde_json::{Value, json as value};
use sha2::{Digest, Sha256};

use super::group::{Group, rounded};
use super::tally::{BINS, Tally};
use super::{About, GENERATOR, Place, group};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The number of steps of the curve.
const STEPS: usize = 100;

/// Everything that a page shows.
pub(super) struct Page<'a> {
    pub(super) about: &'a About,
    pub(super) scheme: &'a Scheme,
    pub(super) tally: &'a Tally,
    pub(super) totals: &'a [(&'a str, u64)],
    pub(super) chosen: &'a [(&'a Group, Place)],
    pub(super) diffs: &'a [Option<Value>],
    pub(super) listed_groups: u64,
}

impl Page<'_> {
    /// Writes and syncs the page. `listed` holds the listed groups.
    pub(super) fn write(&self, mut listed: File, file: File) -> io::Result<()> {
        let mut out = BufWriter::new(file);
        // The parts of the page between its placeholders: `{{policy}}` and so on.
        let mut rest = PAGE;
        while let Some((before, after)) = rest.split_once("{{") {
            out.write_all(before.as_bytes())?;
            let (name, after) = after.split_once("}}").unwrap_or((after, ""));
            match name {
                "generator" => write!(out, "{GENERATOR} {}\">", env!("CARGO_PKG_VERSION"))?,
                "policy" => out.write_all(policy().as_bytes())?,
                "title" => write!(out, "ringer {}", html(self.about.command))?,
                "style" => out.write_all(STYLE.as_bytes())?,
                "script" => out.write_all(SCRIPT.as_bytes())?,
                "totals" => out.write_all(self.totals().as_bytes())?,
                "about" => out.write_all(html(&self.sentence()).as_bytes())?,
                "summary" => out.write_all(json(&self.summary()).as_bytes())?,
                "groups" => {
                    listed.seek(SeekFrom::Start(0))?;
                    io::copy(&mut listed, &mut out)?;
                }
                _ => {}
            }
            rest = after;
        }
        out.write_all(rest.as_bytes())?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    fn totals(&self) -> String {
        let one = |(name, number): &(&str, u64)| {
            format!("<div><dt>{}</dt><dd>{}</dd></div>", html(name), thousands(*number))
        };
        self.totals.iter().map(one).collect()
    }

    /// What was compared, in a sentence.
    fn sentence(&self) -> String {
        let (scheme, name) = (self.scheme, self.scheme.measure.similarity_name());
        let slots = match scheme.slots.count {
            0 => "no index".to_string(),
            count => format!("{count} slots of {} samples", scheme.slots.samples_per_slot),
        };
        let threshold = match self.about.min {
            Some(min) => format!("Threshold: {name} {min}. "),
            None => String::new(),
        };
        let (samples, bits, features) = (scheme.samples, scheme.bits, scheme.features);
        format!(
            "{threshold}Scheme: {samples} samples of {bits} bits, {slots}, features {features}."
        )
    }

    fn summary(&self) -> Value {
        let (about, tally, scheme) = (self.about, self.tally, self.scheme);
        let least = about.min_matches.unwrap_or(u32::from(scheme.slots.min_matches));
        let curve: Vec<f64> = (0..=STEPS)
            .map(|i| tally.from + (1.0 - tally.from) * i as f64 / STEPS as f64)
            .map(|at| match scheme.slots.count {
                0 => 1.0,
                _ => rounded(planning::found_by(scheme, at, least, about.within_one_bit)),
            })
            .collect();
        let cards: Vec<Value> = self.chosen.iter().zip(self.diffs).map(card).collect();
        let (doubtful, largest) = cards.split_at(self.tally.doubtful());
        let sizes: Vec<[u64; 2]> = tally.sizes.iter().map(|(size, n)| [*size, *n]).collect();
        value!({
            "group": about.group,
            "thing": about.thing,
            "measure": scheme.measure.similarity_name(),
            "min": about.min,
            "exhaustive": about.exhaustive || scheme.slots.count == 0,
            "noTexts": about.no_texts,
            "groups": tally.groups,
            "listed": self.listed_groups,
            "pairs": tally.pairs,
            "from": tally.from,
            "bins": BINS,
            "similarities": tally.similarities.to_vec(),
            "sizes": sizes,
            "curve": curve,
            "doubtful": doubtful,
            "largest": largest,
        })
    }
}

/// A group that is shown with differences.
fn card(((group, place), diff): (&(&Group, Place), &Option<Value>)) -> Value {
    let doubtful = group.doubtful.as_ref().map(|(_, member)| member);
    let members = [doubtful, group.lowest.as_ref()];
    let member = members.into_iter().flatten().find(|member| member.place == *place);
    value!({
        "number": group.number,
        "size": group.others + 1,
        "first": group::key(&group.first.key),
        "other": member.map(super::group::Member::json),
        "diff": diff,
    })
}

/// The content security policy: nothing but the page's own script and style.
fn policy() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// The SHA-256 hash of a text, in base 64.
pub(super) fn hash(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Sha256::digest(text);
    let mut shown = String::new();
    for three in digest.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            match digit <= three.len() {
                true => shown.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize])),
                false => shown.push('='),
            }
        }
    }
    shown
}

/// Text for HTML, also inside of attributes.
pub(super) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON that can stand in a script element: these characters occur in strings only, where an escape means the same.
pub(super) fn json(value: &Value) -> String {
    let mut escaped = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// `1,234,567`.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}
