//! Loads real data sets with exact resemblances, from the folder that `tests/statistics/dense_sets.rs` describes.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// A data set: named sets, and the true neighbours of some of them.
pub struct Real {
    pub name: &'static str,
    pub sets: Vec<(String, Vec<u64>)>,
    /// For each set, the index of the first set that equals it.
    pub first: Vec<usize>,
    /// Neighbours of each query: index in `sets`, and the exact resemblance.
    pub truth: BTreeMap<usize, Vec<(usize, f64)>>,
}

/// Returns a folder of the data, if it exists.
pub fn folder(name: &str) -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("RINGER_DATA").map_or(default, PathBuf::from);
    let folder = data.join(name);
    if !folder.is_dir() {
        println!("skipped: no data at {} (set RINGER_DATA)", folder.display());
        return None;
    }
    Some(folder)
}

pub fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    lzma_rs::xz_decompress(&mut BufReader::new(file), &mut bytes).expect("an xz file");
    bytes
}

fn ids(line: &str) -> Vec<u64> {
    let mut ids: Vec<u64> = line.split_whitespace().map(|id| id.parse().expect("an id")).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Parses one set of numbers per line. Its name is the line number.
fn numbered(text: &str) -> Vec<(String, Vec<u64>)> {
    text.lines().enumerate().map(|(i, line)| (i.to_string(), ids(line))).collect()
}

/// Parses lines of a name, a tab and numbers.
fn named(text: &str) -> Vec<(String, Vec<u64>)> {
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(name, line)| (name.to_string(), ids(line))).collect()
}

/// Reads every tenth name as its set of 3-grams.
fn names(text: &str) -> Vec<(String, Vec<u64>)> {
    let tenth = text.lines().enumerate().step_by(10);
    tenth
        .map(|(i, name)| {
            let framed = format!("^{name}$");
            let grams = framed.as_bytes().windows(3);
            let mut set: Vec<u64> =
                grams.map(|g| g.iter().fold(0, |all, byte| all << 8 | u64::from(*byte))).collect();
            set.sort_unstable();
            set.dedup();
            (i.to_string(), set)
        })
        .collect()
}

/// Reads package stanzas as shingles of three words, which is rule S3 in the data's own description.
fn descriptions(text: &str) -> Vec<(String, Vec<u64>)> {
    let mut numbers = HashMap::new();
    let stanzas = text.split("\n\n").filter(|stanza| !stanza.trim().is_empty()).enumerate();
    let sets = stanzas.map(|(i, stanza)| {
        let (mut package, mut description, mut inside) = ("", String::new(), false);
        for line in stanza.lines() {
            if let Some(name) = line.strip_prefix("Package: ") {
                (package, inside) = (name, false);
            } else if let Some(short) = line.strip_prefix("Description-en: ") {
                description.push_str(short);
                inside = true;
            } else if inside && line.starts_with(' ') {
                description.push('\n');
                description.push_str(line);
            } else {
                inside = false;
            }
        }
        let lower = description.to_ascii_lowercase();
        let tokens: Vec<&str> =
            lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|t| !t.is_empty()).collect();
        let runs = tokens.windows(tokens.len().clamp(1, 3));
        let mut set: Vec<u64> = runs
            .map(|run| {
                let next = numbers.len() as u64;
                *numbers.entry(run.join(" ")).or_insert(next)
            })
            .collect();
        set.sort_unstable();
        set.dedup();
        (format!("{i}:{package}"), set)
    });
    sets.collect()
}

/// Returns the exact resemblance of two sorted sets.
pub fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let (mut shared, mut i, mut j) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (shared, i, j) = (shared + 1, i + 1, j + 1),
        }
    }
    f64::from(shared) / (a.len() + b.len() - shared as usize) as f64
}

type Parse = fn(&str) -> Vec<(String, Vec<u64>)>;

/// The data sets in files: name, sets, truth, and the parser of the sets.
const FILES: [(&str, &str, &str, Parse); 5] = [
    ("retail", "retail.dat.xz", "truth_queries_J0.5.tsv.xz", numbered),
    ("kosarak36k", "kosarak_first36682.dat.xz", "truth_queries_J0.5.tsv.xz", numbered),
    ("debian-contents", "sets.txt.xz", "truth_queries_J0.5.tsv.xz", named),
    (
        "debian-desc-public",
        "Translation-en.bookworm.xz",
        "truth_queries_bookworm_J0.5.tsv.xz",
        descriptions,
    ),
    ("npm-names", "names.txt.xz", "truth_queries_every10th_J0.8.tsv.xz", names),
];

/// Loads a data set, if it exists. The truth must agree with the sets.
pub fn load(name: &str) -> Option<Real> {
    let (name, sets, truth, parse) = *FILES.iter().find(|file| file.0 == name)?;
    let folder = folder(name)?;
    let sets = parse(&String::from_utf8_lossy(&read(&folder.join(sets))));
    let places: HashMap<&str, usize> =
        sets.iter().enumerate().map(|(i, (name, _))| (&**name, i)).collect();
    let text = String::from_utf8(read(&folder.join(truth))).expect("text");
    let mut neighbours: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    for (row, line) in rows.enumerate() {
        let columns: Vec<&str> = line.split('\t').collect();
        let query = places[columns[0]];
        let all = neighbours.entry(query).or_default();
        if columns[1] == "-" {
            continue;
        }
        let other = places[columns[1]];
        let number = |i: usize| columns[i].parse::<f64>().expect("a number");
        let exact = number(4) / (number(2) + number(3) - number(4));
        // Checks a sample of the rows exactly, to show that the sets are parsed as the authors of the truth parsed
        // them.
        if row % 97 == 0 {
            let own = jaccard(&sets[query].1, &sets[other].1);
            assert!((own - exact).abs() < 1e-12, "{name}: {line}: {own}");
        }
        all.push((other, exact));
    }
    assert!(neighbours.len() > 300, "{name}: only {} queries", neighbours.len());
    let mut firsts = HashMap::new();
    let first = sets.iter().enumerate().map(|(i, (_, set))| *firsts.entry(set).or_insert(i));
    let first = first.collect();
    Some(Real { name, first, truth: neighbours, sets })
}
