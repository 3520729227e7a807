//! Prints the matches of a query, and how they were found.

use ringer::{Answer, Explanation};
use serde_json::{Value, json};

use super::Query;
use crate::exit::{self, Failure};
use crate::results::{self, Results, key_cell};
use crate::show::{self, Output, Style};
use crate::table::Cell;

/// The warning about an answer from only some of the candidates.
const TRUNCATED: &str = "warning: there were too many candidates, so matches may be missing: \
                         --exhaustive compares all sets";

impl Query {
    pub(super) fn print(
        &self,
        query: &Value,
        answer: &Answer,
        out: &mut Results,
    ) -> Result<(), Failure> {
        if out.is_table() {
            for found in &answer.matches {
                let slots = Cell::Integer(found.matching_slots.into());
                let mut row = vec![results::name_cell(query), key_cell(&found.key), slots];
                row.extend(results::cells(&found.comparison));
                if self.values {
                    row.push(key_cell(found.value.as_deref().unwrap_or_default()));
                }
                out.row(row)?;
            }
            if answer.truncated {
                exit::say(TRUNCATED);
            }
            return Ok(());
        }
        let (style, out) = (out.style, &mut out.lines);
        if style.json {
            for found in &answer.matches {
                out.line(show::json_match(query, found))?;
            }
            if answer.truncated {
                out.line(json!({ "query": query, "truncated": true }))?;
            }
            return Ok(());
        }
        if self.what.is_many() {
            let name =
                query.as_str().map_or_else(|| query.to_string(), |n| show::key(n.as_bytes()));
            out.line(format_args!("{name}"))?;
        }
        if answer.matches.is_empty() {
            out.line("no match")?;
        } else {
            let name = answer.matches[0].comparison.measure().similarity_name();
            let value = if self.values { "  value" } else { "" };
            out.line(format_args!("{name:<15} 95 % interval    slots  key{value}"))?;
        }
        for found in &answer.matches {
            let value = found.value.as_deref().filter(|_| self.values);
            let value = value.map_or_else(String::new, |value| format!("  {}", show::key(value)));
            out.line(format_args!(
                "{}  {:>5}  {}{value}",
                show::similarity_and_interval(&found.comparison),
                found.matching_slots,
                show::key(&found.key)
            ))?;
        }
        if answer.truncated {
            exit::say(TRUNCATED);
        }
        Ok(())
    }
}

/// Prints how an answer was found. `query` is the name of the query, if there are several.
pub(super) fn print_explanation(
    query: Option<&Value>,
    explanation: &Explanation,
    style: Style,
    out: &mut Output,
) -> Result<(), Failure> {
    if !style.json {
        return out.line(format_args!("\n{explanation}"));
    }
    let work = explanation.work;
    let parts: Vec<Value> = explanation
        .parts
        .iter()
        .map(|part| {
            json!({
                "segment": part.segment,
                "signatures": part.signatures,
                "plan": part.plan.to_string(),
                "probe_cost_ns": part.probe_cost,
                "scan_cost_ns": part.scan_cost,
            })
        })
        .collect();
    let mut line = json!({ "explain": {
        "parts": parts,
        "lists_read": work.lists_read,
        "lists_unread": work.lists_unread,
        "postings": work.postings,
        "candidates": work.candidates,
        "compared": work.compared,
        "verified": work.verified,
        "bytes": work.bytes,
        "pages_read": explanation.pages_read,
        "min_matches": explanation.min_matches,
        "chance_candidates": explanation.chance_candidates(),
        "outgrown": explanation.has_outgrown_slots(),
        "promised_recall": explanation.promised_recall(),
        "recall_curve": explanation.recall_curve(),
    }});
    if let Some(query) = query {
        line["query"] = query.clone();
    }
    out.line(line)
}
