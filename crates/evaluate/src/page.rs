//! The page: figures, and a table of what the papers say and what was measured.

use std::fmt::Write;

use crate::chart::{Figure, escape};

/// One experiment.
pub(crate) struct Part {
    pub(crate) title: &'static str,
    /// What was done, as HTML paragraphs without markup of their own.
    pub(crate) text: String,
    pub(crate) figures: Vec<Figure>,
    pub(crate) claims: Vec<Claim>,
}

/// A row of the table.
pub(crate) struct Claim {
    /// The paper and its section, such as `000, figure 4`.
    pub(crate) source: &'static str,
    pub(crate) says: String,
    pub(crate) measured: String,
    pub(crate) agrees: Agrees,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agrees {
    Yes,
    No,
    /// The data differ, so only the direction can be compared.
    InPart,
}

impl Agrees {
    pub(crate) fn when(agrees: bool) -> Agrees {
        if agrees { Agrees::Yes } else { Agrees::No }
    }
}

impl Claim {
    pub(crate) fn new(
        source: &'static str,
        says: impl Into<String>,
        measured: impl Into<String>,
        agrees: Agrees,
    ) -> Claim {
        Claim { source, says: says.into(), measured: measured.into(), agrees }
    }
}

const STYLE: &str = include_str!("style.css");

const SOURCES: [(&str, &str); 5] = [
    ("000", "Li and König, Theory and Applications of b-Bit Minwise Hashing"),
    ("001", "Manasse, On the Efficient Determination of Most Near Neighbors"),
    ("002", "Lecture notes on similarity search and locality-sensitive hashing"),
    ("003", "Li and König, b-Bit Minwise Hashing"),
    ("004", "Li, König and Gui, b-Bit Minwise Hashing for Estimating Three-Way Similarities"),
];

/// The whole page, without scripts and without references to other files.
pub(crate) fn html(parts: &[Part], quick: bool) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Ringer and the papers</title><style>{STYLE}</style><main>\
         <h1>Ringer and the papers</h1><p>The experiments of five papers, repeated with Ringer on public data. Points are \
         measured, lines are the formulas of the papers.{} Made by <code>cargo run --release -p ringer-evaluate -- \
         --report DIR{}</code> on {}.</p>",
        if quick { " This is the quick form, with few repetitions." } else { "" },
        if quick { " --quick" } else { "" },
        escape(&machine()),
    );
    out.push_str("<ul>");
    for (number, name) in SOURCES {
        let _ = write!(out, "<li><b>{number}</b> {name}</li>");
    }
    out.push_str(
        "</ul><h2>What the papers say, and what was measured</h2><div class=\"wide\"><table><thead><tr><th>paper</th>\
         <th>says</th><th>measured</th><th>agrees?</th></tr></thead><tbody>",
    );
    for claim in parts.iter().flat_map(|part| &part.claims) {
        let (class, word) = match claim.agrees {
            Agrees::Yes => ("yes", "yes"),
            Agrees::No => ("no", "no"),
            Agrees::InPart => ("part", "in part"),
        };
        let [says, measured] = [&claim.says, &claim.measured].map(|text| escape(text));
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{says}</td><td>{measured}</td><td class=\"{class}\">{word}</td></tr>",
            claim.source
        );
    }
    out.push_str("</tbody></table></div>");
    for part in parts {
        let _ = write!(out, "<h2>{}</h2>", escape(part.title));
        for paragraph in part.text.split("\n\n").filter(|text| !text.is_empty()) {
            let _ = write!(out, "<p>{}</p>", escape(paragraph));
        }
        out.push_str("<div class=\"figures\">");
        for figure in &part.figures {
            out.push_str(&figure.svg());
        }
        out.push_str("</div>");
    }
    out.push_str("</main></html>\n");
    out
}

/// The processor, the number of its cores, and the date.
fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unknown processor", |(_, model)| model).to_string();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let (year, month, day) = date(seconds.map_or(0, |time| time.as_secs() / 86_400));
    format!("{model}, {cores} cores, {year}-{month:02}-{day:02}")
}

/// The civil date of a number of days since 1970.
fn date(days: u64) -> (u64, u64, u64) {
    let leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let (mut year, mut left) = (1970, days);
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while left >= lengths[month] {
        left -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, left + 1)
}

/// Every point of every figure.
pub(crate) fn csv(parts: &[Part]) -> String {
    let mut out = String::from("part,figure,series,kind,x,y\n");
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    for (part, figure) in parts.iter().flat_map(|part| part.figures.iter().map(move |f| (part, f)))
    {
        for series in &figure.series {
            for (x, y) in &series.points {
                let (part, title) = (quoted(part.title), quoted(&figure.title));
                let (name, kind) = (quoted(&series.name), series.kind.name());
                let _ = writeln!(out, "{part},{title},{name},{kind},{x},{y}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Kind, Series};

    #[test]
    fn dates_are_civil() {
        assert_eq!(
            [date(0), date(59), date(11_016), date(19_782)],
            [(1970, 1, 1), (1970, 3, 1), (2000, 2, 29), (2024, 2, 29)]
        );
    }

    #[test]
    fn pages_escape_texts_and_list_every_point() {
        let series = Series {
            name: "a \"b\" <c>".into(),
            kind: Kind::Points,
            colour: 0,
            points: vec![(1.0, 2.0), (3.0, 0.5)],
        };
        let figure = Figure {
            title: "<t>".into(),
            caption: String::new(),
            x: Axis::linear("x"),
            y: Axis::log("y"),
            series: vec![series],
        };
        let claims = vec![Claim::new("000", "1 < 2", "yes", Agrees::Yes)];
        let parts =
            [Part { title: "part", text: "one\n\ntwo".into(), figures: vec![figure], claims }];
        let page = html(&parts, true);
        assert!(page.contains("1 &lt; 2") && page.contains("&lt;t&gt;") && !page.contains("<c>"));
        assert_eq!(page.matches("<circle").count(), 3, "two points and the legend");
        assert!(!page.contains("NaN") && !page.contains("http"));
        let rows = csv(&parts);
        assert_eq!(rows.lines().count(), 3);
        assert!(rows.contains("\"part\",\"<t>\",\"a \"\"b\"\" <c>\",points,1,2"));
    }
}
