//! The table of figures: a row for each peer, with its latency relative to gaoya's and its build rate relative to
//! rensa's.

use crate::measure::Queries;

/// The figures of one peer. Not all peers have all figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Row {
    /// The peer and its configuration.
    pub(crate) name: String,
    /// Median latency of a query, in microseconds.
    pub(crate) p50: Option<f64>,
    /// Latency that one query in a hundred exceeds.
    pub(crate) p99: Option<f64>,
    /// Share of all planted sets that are among the ten answers.
    pub(crate) recall: Option<f64>,
    /// The same for sets planted at resemblance .50.
    pub(crate) recall_at_half: Option<f64>,
    /// Bytes per set.
    pub(crate) bytes: Option<f64>,
    /// Thousands of sets built per second.
    pub(crate) wall: Option<f64>,
    /// Thousands of sets built per second of processor time.
    pub(crate) processor: Option<f64>,
}

const TITLES: [&str; 7] =
    ["p50 us", "p99 us", "recall", "at .50", "bytes a set", "k sets/s", "k sets/cpu s"];

impl Row {
    /// A row without figures.
    pub(crate) fn new(name: impl Into<String>) -> Row {
        Row { name: name.into(), ..Row::default() }
    }

    /// Sets the figures of queries.
    pub(crate) fn set_queries(&mut self, queries: &Queries) {
        let (pooled, each) = queries.recall();
        (self.p50, self.p99) = (Some(queries.percentile(0.5)), Some(queries.percentile(0.99)));
        (self.recall, self.recall_at_half) = (Some(pooled), Some(each[0]));
    }

    /// Sets the build rates, by wall and by processor time.
    pub(crate) fn set_build(&mut self, (wall, processor): (f64, f64)) {
        (self.wall, self.processor) = (Some(wall), Some(processor));
    }

    fn figures(&self) -> [Option<f64>; 7] {
        let Row { p50, p99, recall, recall_at_half, bytes, wall, processor, .. } = *self;
        [p50, p99, recall, recall_at_half, bytes, wall, processor]
    }

    /// The row as a line that `parse` reads.
    pub(crate) fn line(&self) -> String {
        let cell = |figure: Option<f64>| figure.map_or("-".into(), |figure| format!("{figure:.5}"));
        let cells = self.figures().map(cell);
        format!("{}\t{}", self.name, cells.join("\t"))
    }

    /// Reads a line of another program: name and figures in the order of the table, separated by tabs, a dash for
    /// none.
    pub(crate) fn parse(line: &str) -> Result<Row, String> {
        let wrong = |what: &str| format!("{what} in the line {line:?}");
        let mut parts = line.split('\t');
        let mut row = Row::new(parts.next().unwrap_or_default());
        let figures = [
            &mut row.p50,
            &mut row.p99,
            &mut row.recall,
            &mut row.recall_at_half,
            &mut row.bytes,
            &mut row.wall,
            &mut row.processor,
        ];
        for figure in figures {
            let part = parts.next().ok_or_else(|| wrong("a figure is missing"))?;
            if part != "-" {
                *figure = Some(part.parse().map_err(|_| wrong("no number"))?);
            }
        }
        if parts.next().is_some() { Err(wrong("too many figures")) } else { Ok(row) }
    }
}

/// The table as text.
pub(crate) fn text(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let mut lines = vec![format!("{:width$}", "")];
    let titles = TITLES.iter().chain(&["p50 / gaoya", "cpu x rensa"]);
    titles.for_each(|title| lines[0] += &format!("  {title:>12}"));
    let of = |name: &str, figure: fn(&Row) -> Option<f64>| {
        rows.iter().find(|row| row.name.starts_with(name)).and_then(figure)
    };
    let (gaoya, rensa) = (of("gaoya", |row| row.p50), of("rensa insert", |row| row.processor));
    let ratio = |figure: Option<f64>, base: Option<f64>| Some(figure? / base?);
    for row in rows {
        let ratios = [ratio(row.p50, gaoya), ratio(row.processor, rensa)];
        let mut line = format!("{:width$}", row.name);
        for (column, figure) in row.figures().into_iter().chain(ratios).enumerate() {
            let places = [1, 1, 4, 4, 1, 1, 1, 2, 2][column];
            let cell = figure.map_or("-".into(), |figure| format!("{figure:.places$}"));
            line += &format!("  {cell:>12}");
        }
        lines.push(line);
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_other_programs_become_rows() {
        let row = Row::parse("rensa 16 bands\t-\t-\t-\t-\t1827\t248.5\t250").unwrap();
        let wanted = Row {
            bytes: Some(1827.0),
            wall: Some(248.5),
            processor: Some(250.0),
            ..Row::new("rensa 16 bands")
        };
        assert_eq!(row, wanted);
        assert_eq!(Row::parse(&wanted.line()).unwrap(), wanted);
        assert!(Row::parse("rensa\t1").is_err());
        assert!(Row::parse("rensa\t-\t-\t-\t-\t-\t-\t-\t1").is_err());
        assert!(Row::parse("rensa\tx\t-\t-\t-\t-\t-\t-").is_err());
    }

    #[test]
    fn the_table_has_a_line_for_each_and_ratios() {
        let rows = [
            Row { p50: Some(46.0), recall: Some(0.999), ..Row::new("gaoya 42x3") },
            Row { processor: Some(250.0), ..Row::new("rensa insert") },
            Row { p50: Some(23.0), processor: Some(750.0), ..Row::new("another") },
        ];
        let text = text(&rows);
        let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines[1],
            ["gaoya", "42x3", "46.0", "-", "0.9990", "-", "-", "-", "-", "1.00", "-"]
        );
        assert_eq!(lines[3], ["another", "23.0", "-", "-", "-", "-", "-", "750.0", "0.50", "3.00"]);
    }
}
