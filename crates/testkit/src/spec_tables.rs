//! Reads the offset tables of `format-spec/`, so that tests can compare them with the code.

/// Returns the rows `(name, offset, size)` of the first table below the heading `## {heading}`.
pub fn offsets(spec: &str, heading: &str) -> Vec<(String, usize, usize)> {
    let start = format!("## {heading}");
    let lines = spec.lines().skip_while(|line| line.trim() != start).skip(1);
    let section = lines.take_while(|line| !line.starts_with("## "));
    let cells = section.filter(|line| line.starts_with('|')).map(|line| {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>()
    });
    cells
        .filter_map(|row| Some((row.get(2)?.clone(), row[0].parse().ok()?, row[1].parse().ok()?)))
        .collect()
}

/// Asserts that the table below `## {heading}` lists exactly these fields.
pub fn assert_matches(spec: &str, heading: &str, code: &[(&str, usize, usize)]) {
    let code: Vec<_> = code.iter().map(|(n, o, s)| ((*n).to_string(), *o, *s)).collect();
    assert_eq!(offsets(spec, heading), code, "{heading}");
}
