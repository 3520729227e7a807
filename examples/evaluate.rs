//! Precision, recall and F1 of pairs on real data, against the labels of people and against exact resemblance.
//!
//! ```sh
//! cargo run --example evaluate
//! ```
//!
//! The data is not part of the repository. `RINGER_DATA` names its folder, the one with `er-labelled/`; the default is
//! `../shared/data`. Missing data sets are left out.
//!
//! `exact` rows are pairs by exact resemblance, the best that signatures can reach. They are far from 1, because labels do
//! not follow a threshold of resemblance. In `checked` rows, a function counts common elements of possible pairs. The
//! sets are character 3-grams (cora, dblp-acm), words (cddb), runs of two words (plagiarised-answers) and runs of three
//! words (others). Two answers that were copied from the same text are similar, but such pairs have no label.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use ringer::{Database, Options, Scheme};

type AnyError = Box<dyn std::error::Error>;

/// Pairs of positions, the smaller first.
type Places = HashSet<(usize, usize)>;

/// A data set: sets, and the pairs that people labelled as equal, if there are labels.
struct Labelled {
    name: &'static str,
    sets: Vec<Vec<u64>>,
    labels: Option<Places>,
}

/// Reads and unpacks a data file.
fn bytes(path: &str) -> Result<Option<Vec<u8>>, AnyError> {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let path = std::env::var_os("RINGER_DATA").map_or(default, PathBuf::from).join(path);
    if !path.exists() {
        println!("left out: no {} (set RINGER_DATA)", path.display());
        return Ok(None);
    }
    let mut bytes = Vec::new();
    if path.extension().is_some_and(|ending| ending == "xz") {
        lzma_rs::xz_decompress(&mut BufReader::new(File::open(path)?), &mut bytes)?;
    } else {
        bytes = std::fs::read(path)?;
    }
    Ok(Some(bytes))
}

fn text(path: &str) -> Result<Option<String>, AnyError> {
    Ok(bytes(path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Numbers for names, from 0 on.
#[derive(Default)]
struct Numbers(HashMap<String, u64>);

impl Numbers {
    fn set(&mut self, names: impl Iterator<Item = String>) -> Vec<u64> {
        let number = |name| {
            let next = self.0.len() as u64;
            *self.0.entry(name).or_insert(next)
        };
        let mut set: Vec<u64> = names.map(number).collect();
        set.sort_unstable();
        set.dedup();
        set
    }

    fn grams(&mut self, text: &str) -> Vec<u64> {
        let chars: Vec<char> = text.to_lowercase().chars().collect();
        self.set(chars.windows(3).map(|gram| gram.iter().collect()))
    }

    fn runs(&mut self, text: &str, length: usize) -> Vec<u64> {
        let lower = text.to_ascii_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let length = words.len().clamp(1, length);
        self.set(words.windows(length).map(|run| run.join(" ")))
    }
}

/// Reads pairs of names, one per line, as pairs of positions.
fn labels(text: &str, between: char, place: impl Fn(usize, &str) -> Option<usize>) -> Places {
    let pair = |line: &str| {
        let (a, b) = line.trim().split_once(between)?;
        let (a, b) = (place(0, a)?, place(1, b)?);
        Some((a.min(b), a.max(b)))
    };
    text.lines().filter_map(pair).filter(|(a, b)| a != b).collect()
}

fn cora() -> Result<Option<Labelled>, AnyError> {
    let (Some(records), Some(truth)) =
        (text("er-labelled/cora/cora.csv.xz")?, text("er-labelled/cora/cora_gt.csv.xz")?)
    else {
        return Ok(None);
    };
    let (mut numbers, mut places, mut sets) = (Numbers::default(), HashMap::new(), Vec::new());
    for (id, rest) in records.lines().skip(1).filter_map(|line| line.split_once('|')) {
        places.insert(id, sets.len());
        sets.push(numbers.grams(&rest.replace('|', " ")));
    }
    let labels = Some(labels(&truth, '|', |_, id| places.get(id).copied()));
    Ok(Some(Labelled { name: "cora", sets, labels }))
}

fn dblp_acm() -> Result<Option<Labelled>, AnyError> {
    let folder = "er-labelled/dblp-acm";
    let (Some(dblp), Some(acm), Some(truth)) = (
        text(&format!("{folder}/dblp.csv.xz"))?,
        text(&format!("{folder}/acm.csv.xz"))?,
        text(&format!("{folder}/gt.csv.xz"))?,
    ) else {
        return Ok(None);
    };
    let (mut numbers, mut places, mut sets) = (Numbers::default(), HashMap::new(), Vec::new());
    for (side, records) in [dblp, acm].iter().enumerate() {
        for (id, rest) in records.lines().skip(1).filter_map(|line| line.split_once('%')) {
            places.insert((side, id.to_string()), sets.len());
            sets.push(numbers.grams(&rest.replace('%', " ")));
        }
    }
    let place = |side, id: &str| places.get(&(side, id.to_string())).copied();
    let labels = Some(labels(&truth, '%', place));
    Ok(Some(Labelled { name: "dblp-acm", sets, labels }))
}

fn cddb() -> Result<Option<Labelled>, AnyError> {
    let (Some(records), Some(truth)) =
        (text("er-labelled/cddb/cddb.csv.xz")?, text("er-labelled/cddb/gt.csv.xz")?)
    else {
        return Ok(None);
    };
    let (mut numbers, mut places, mut sets) = (Numbers::default(), HashMap::new(), Vec::new());
    for line in records.lines().skip(1) {
        // Commas inside quotes do not end a field.
        let mut quoted = false;
        let fields = line.split(|c: char| {
            quoted ^= c == '"';
            c == ',' && !quoted
        });
        let mut fields: Vec<&str> = fields.collect();
        if fields.len() > 3 {
            places.insert(fields.remove(3).to_string(), sets.len());
            sets.push(numbers.runs(&fields.join(" "), 1));
        }
    }
    let labels = Some(labels(&truth, ',', |_, id| places.get(id).copied()));
    Ok(Some(Labelled { name: "cddb", sets, labels }))
}

fn articles() -> Result<Option<Labelled>, AnyError> {
    let (Some(records), Some(truth)) = (
        text("mccormick-articles/articles_2500.train.xz")?,
        text("mccormick-articles/articles_2500.truth")?,
    ) else {
        return Ok(None);
    };
    let (mut numbers, mut places, mut sets) = (Numbers::default(), HashMap::new(), Vec::new());
    for (id, rest) in records.lines().filter_map(|line| line.split_once(' ')) {
        places.insert(id, sets.len());
        sets.push(numbers.runs(rest, 3));
    }
    let labels = Some(labels(&truth, ' ', |_, id| places.get(id).copied()));
    Ok(Some(Labelled { name: "mccormick-articles", sets, labels }))
}

/// Answers of students to five questions, and the articles that some of them copied from.
fn answers() -> Result<Option<Labelled>, AnyError> {
    let (Some(zip), Some(information)) = (
        bytes("plagiarised-answers/corpus-20090418.zip")?,
        text("plagiarised-answers/file_information.csv")?,
    ) else {
        return Ok(None);
    };
    let archive = rawzip::ZipArchive::from_slice(&zip)?;
    let (mut numbers, mut places, mut sets) = (Numbers::default(), HashMap::new(), Vec::new());
    let mut entries = archive.entries();
    while let Some(entry) = entries.next_entry()? {
        let path = entry.file_path().try_normalize()?.as_ref().to_string();
        let data = archive.get_entry(entry.wayfinder())?.data();
        let content = match entry.compression_method() {
            rawzip::CompressionMethod::STORE => data.to_vec(),
            _ => {
                miniz_oxide::inflate::decompress_to_vec(data).map_err(|error| error.to_string())?
            }
        };
        if let Some(name) = path.rsplit('/').next().filter(|name| name.ends_with(".txt")) {
            places.insert(name.to_string(), sets.len());
            sets.push(numbers.runs(&String::from_utf8_lossy(&content), 2));
        }
    }
    // g0pA_taska.txt, perhaps a copy of orig_taska.txt.
    let copy = |line: &str| {
        let columns: Vec<&str> = line.trim().split(',').collect();
        let [name, _, label, ..] = columns[..] else { return None };
        let original = format!("orig_{}", name.rsplit('_').next()?);
        let (a, b) = (*places.get(name)?, *places.get(&original)?);
        ["cut", "light", "heavy"].contains(&label).then_some((a.min(b), a.max(b)))
    };
    let labels = Some(information.lines().filter_map(copy).collect());
    Ok(Some(Labelled { name: "plagiarised-answers", sets, labels }))
}

/// Reads package descriptions. They have no labels, only exact resemblance.
fn descriptions() -> Result<Option<Labelled>, AnyError> {
    let Some(stanzas) = text("debian-desc-public/Translation-en.bookworm.xz")? else {
        return Ok(None);
    };
    let mut numbers = Numbers::default();
    let text_of = |stanza: &str| {
        let from = stanza.find("Description-en: ").map_or(stanza.len(), |at| at + 16);
        stanza[from..].to_string()
    };
    let stanzas = stanzas.split("\n\n").filter(|stanza| !stanza.trim().is_empty());
    let sets = stanzas.map(|stanza| numbers.runs(&text_of(stanza), 3)).collect();
    Ok(Some(Labelled { name: "debian-desc-public", sets, labels: None }))
}

/// Finds all pairs of at least this resemblance, by counting common elements.
fn exact_pairs(sets: &[Vec<u64>], min: f64) -> Places {
    let mut lists: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut common = vec![0_u32; sets.len()];
    let mut all = Places::new();
    for (i, set) in sets.iter().enumerate() {
        let mut seen = Vec::new();
        for element in set {
            let list = lists.entry(*element).or_default();
            for j in list.iter() {
                if common[*j] == 0 {
                    seen.push(*j);
                }
                common[*j] += 1;
            }
            list.push(i);
        }
        for j in seen {
            let shared = std::mem::take(&mut common[j]) as usize;
            if shared as f64 / (set.len() + sets[j].len() - shared) as f64 >= min {
                all.insert((j, i));
            }
        }
    }
    all
}

/// Computes the exact resemblance of two sets in ascending order.
fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let common = a.iter().filter(|element| b.binary_search(element).is_ok()).count();
    common as f64 / (a.len() + b.len() - common) as f64
}

/// Finds pairs with a database. With `check`, common elements of possible pairs are counted.
fn found_pairs(
    sets: &[Vec<u64>],
    scheme: &Scheme,
    min: f64,
    check: bool,
) -> Result<Places, AnyError> {
    let folder = tempfile::tempdir()?;
    let db = Database::create(folder.path().join("x.ringer"), scheme, Options::default())?;
    let mut load = db.bulk_load();
    for (i, set) in sets.iter().enumerate() {
        load.put((i as u64).to_be_bytes(), set)?;
    }
    load.commit()?;
    let place = |key: &[u8]| key.iter().fold(0, |all, byte| all << 8 | usize::from(*byte));
    let snapshot = db.snapshot();
    let mut pairs = snapshot.pairs(min).expand();
    if min < 0.5 {
        // The slots of these schemes find few pairs of low resemblance.
        pairs = pairs.exhaustive();
    }
    if check {
        pairs = pairs.check(|a, b| Ok(Some(jaccard(&sets[place(a)], &sets[place(b)]))));
    }
    let pairs = pairs.collect()?;
    Ok(pairs.iter().map(|pair| (place(&pair.a), place(&pair.b))).collect())
}

fn quality(found: &Places, right: Option<&Places>) -> String {
    let Some(right) = right else { return format!("{:>6} {:>6} {:>6}", "-", "-", "-") };
    let hits = found.intersection(right).count() as f64;
    let (precision, recall) = (hits / found.len().max(1) as f64, hits / right.len().max(1) as f64);
    let f1 = 2.0 * precision * recall / (precision + recall).max(f64::MIN_POSITIVE);
    format!("{precision:6.3} {recall:6.3} {f1:6.3}")
}

fn main() -> Result<(), AnyError> {
    println!(
        "precision, recall and F1                      against labels       against exact resemblance"
    );
    for load in [cora, dblp_acm, cddb, answers, articles, descriptions] {
        let Some(Labelled { name, sets, labels }) = load()? else { continue };
        println!(
            "{name}: {} sets, {} labelled pairs",
            sets.len(),
            labels.as_ref().map_or(0, HashSet::len)
        );
        let thresholds = if name == "plagiarised-answers" { [0.1, 0.2] } else { [0.5, 0.8] };
        for min in thresholds {
            let exact = exact_pairs(&sets, min);
            let row = |who: &str, found: &Places| {
                let (people, counting) =
                    (quality(found, labels.as_ref()), quality(found, Some(&exact)));
                println!("  R >= {min}  {who:24} {:7} {people}   {counting}", found.len());
            };
            row("exact", &exact);
            let schemes =
                [("near-duplicate", Scheme::near_duplicate()), ("precise", Scheme::precise())];
            for (who, scheme) in schemes {
                row(who, &found_pairs(&sets, &scheme, min, false)?);
                row(&format!("{who}, checked"), &found_pairs(&sets, &scheme, min, true)?);
            }
        }
    }
    Ok(())
}
