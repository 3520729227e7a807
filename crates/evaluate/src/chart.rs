//! Figures with two axes as SVG. Colours come from the style sheet of the page, so both themes and print have their own.

use std::fmt::Write;

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 36.0;

/// The number of colours in the style sheet.
const COLOURS: usize = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A formula.
    Line,
    /// A second formula, or a connection of measured points.
    Dashed,
    /// Measured.
    Points,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Line => "line",
            Kind::Dashed => "dashed",
            Kind::Points => "points",
        }
    }
}

pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Series of the same colour belong together. They have one entry in the legend: the first.
    pub(crate) colour: usize,
    pub(crate) points: Vec<(f64, f64)>,
}

pub(crate) struct Figure {
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

/// The label of an axis, with its unit, and its scale.
pub(crate) struct Axis {
    pub(crate) label: &'static str,
    pub(crate) log: bool,
}

impl Axis {
    pub(crate) fn linear(label: &'static str) -> Axis {
        Axis { label, log: false }
    }

    pub(crate) fn log(label: &'static str) -> Axis {
        Axis { label, log: true }
    }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The range of an axis, and where its ticks are.
struct Scale {
    low: f64,
    high: f64,
    log: bool,
    ticks: Vec<f64>,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>, log: bool) -> Scale {
        let usable = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (low, high) = usable
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            return Scale { low: 0.0, high: 1.0, log: false, ticks: vec![0.0, 1.0] };
        }
        if log {
            let (low, high) =
                (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0));
            let ticks = (low as i32..=high as i32).map(|e| 10_f64.powi(e)).collect();
            return Scale { low: 10_f64.powf(low), high: 10_f64.powf(high), log, ticks };
        }
        let span = if high > low { high - low } else { high.abs().max(1.0) };
        let rough = span / 5.0;
        let unit = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * unit).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(unit * 10.0);
        let first = (low / step + 1e-9).floor();
        let last = (high / step - 1e-9).ceil().max(first + 1.0);
        let ticks = (first as i64..=last as i64).map(|i| i as f64 * step).collect();
        Scale { low: first * step, high: last * step, log, ticks }
    }

    /// The place from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        if self.log {
            (value / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }
}

/// A tick label: as short as the value allows.
fn label(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e5).contains(&size) {
        let text = format!("{value:.1e}").replace(".0e", "e");
        return text.replace("e-", "e\u{2212}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').replace('-', "\u{2212}")
}

impl Figure {
    /// The figure with its caption and legend.
    pub(crate) fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let (x, y) = (
            Scale::of(points().map(|p| p.0), self.x.log),
            Scale::of(points().map(|p| p.1), self.y.log),
        );
        let across = |value: f64| LEFT + x.place(value) * (WIDTH - LEFT - RIGHT);
        let up = |value: f64| HEIGHT - BOTTOM - y.place(value) * (HEIGHT - TOP - BOTTOM);
        let names = self.legend();
        let total = HEIGHT + 16.0 * names.len().div_ceil(2) as f64;
        let mut out = String::new();
        let title = escape(&self.title);
        let _ = write!(
            out,
            "<figure><svg viewBox=\"0 0 {WIDTH} {total}\" role=\"img\" aria-label=\"{title}\">"
        );
        for tick in &x.ticks {
            let at = across(*tick);
            let (bottom, text) = (HEIGHT - BOTTOM, label(*tick));
            let _ = write!(
                out,
                "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom}\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                bottom + 14.0
            );
        }
        for tick in &y.ticks {
            let (at, right, text) = (up(*tick), WIDTH - RIGHT, label(*tick));
            let _ = write!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                LEFT - 4.0,
                at + 4.0
            );
        }
        let _ = write!(
            out,
            "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(11 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            WIDTH - LEFT - RIGHT,
            HEIGHT - TOP - BOTTOM,
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 6.0,
            escape(self.x.label),
            (TOP + HEIGHT - BOTTOM) / 2.0,
            escape(self.y.label),
        );
        for series in &self.series {
            let colour = series.colour % COLOURS;
            let drawn = series.points.iter().filter(|p| {
                p.0.is_finite() && p.1.is_finite() && (!y.log || p.1 > 0.0) && (!x.log || p.0 > 0.0)
            });
            if series.kind == Kind::Points {
                for p in drawn {
                    let _ = write!(
                        out,
                        "<circle class=\"s{colour}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\"/>",
                        across(p.0),
                        up(p.1)
                    );
                }
                continue;
            }
            let path: Vec<String> =
                drawn.map(|p| format!("{:.1} {:.1}", across(p.0), up(p.1))).collect();
            let dashed = if series.kind == Kind::Dashed { " dashed" } else { "" };
            let _ =
                write!(out, "<path class=\"line{dashed} s{colour}\" d=\"M{}\"/>", path.join("L"));
        }
        for (i, (name, colour, kind)) in names.iter().enumerate() {
            let (left, top) =
                (LEFT + (i % 2) as f64 * 165.0, HEIGHT + 10.0 + (i / 2) as f64 * 16.0);
            let colour = colour % COLOURS;
            let mark = match kind {
                Kind::Points => format!(
                    "<circle class=\"s{colour}\" cx=\"{}\" cy=\"{}\" r=\"2.6\"/>",
                    left + 9.0,
                    top - 4.0
                ),
                _ => format!("<path class=\"line s{colour}\" d=\"M{left} {}h18\"/>", top - 4.0),
            };
            let _ = write!(
                out,
                "{mark}<text x=\"{}\" y=\"{top}\">{}</text>",
                left + 23.0,
                escape(name)
            );
        }
        let _ = write!(
            out,
            "</svg><figcaption><b>{title}</b> {}</figcaption></figure>",
            escape(&self.caption)
        );
        out
    }

    /// One entry for each colour.
    fn legend(&self) -> Vec<(&str, usize, Kind)> {
        let mut names: Vec<(&str, usize, Kind)> = Vec::new();
        for series in &self.series {
            if !names.iter().any(|(_, colour, _)| *colour == series.colour) {
                names.push((&series.name, series.colour, series.kind));
            }
        }
        names
    }
}
