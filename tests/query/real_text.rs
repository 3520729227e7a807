//! Real texts through features, database and queries, compared with planted pairs, labels and exact resemblances.
//!
//! The data is not part of the repository. Set `RINGER_DATA` to its folder; the default is `../shared/data`. Without
//! the data these tests say so and pass.

use testkit::real;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use real::jaccard;
use ringer::features::{Ends, GramReader, ShingleReader, SpotReader};
use ringer::{Database, Like, Options, Scheme};

type Texts = Vec<(String, Vec<u8>)>;
type Sets = BTreeMap<String, Vec<u64>>;
type Pairs = BTreeSet<(String, String)>;

/// Returns the texts as sorted sets, by any kind of features.
fn sets(texts: &[(String, Vec<u8>)], mut features: impl FnMut(&[u8], &mut Vec<u64>)) -> Sets {
    let set = |(name, text): &(String, Vec<u8>)| {
        let mut set = Vec::new();
        features(text, &mut set);
        set.sort_unstable();
        set.dedup();
        (name.clone(), set)
    };
    texts.iter().map(set).collect()
}

fn shingled(texts: &[(String, Vec<u8>)], words: u16, ends: Ends) -> Sets {
    let mut reader = ShingleReader::new(words, ends).unwrap();
    sets(texts, |text, set| reader.features_into(text, set))
}

/// Returns a pair with the smaller name first.
fn pair(a: &str, b: &str) -> (String, String) {
    (a.min(b).to_string(), a.max(b).to_string())
}

/// Returns all pairs that queries find at a threshold, with their estimates.
fn found(sets: &Sets, threshold: f64) -> BTreeMap<(String, String), f64> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("texts.ringer");
    let db = Database::create(path, &Scheme::precise(), Options::default()).unwrap();
    let mut load = db.bulk_load();
    load.put_many(&sets.iter().collect::<Vec<_>>()).unwrap();
    load.commit().unwrap();
    let snapshot = db.snapshot();
    let mut pairs = BTreeMap::new();
    for name in sets.keys() {
        let answer =
            snapshot.query(Like::Key(name.as_bytes())).min_resemblance(threshold).run().unwrap();
        for like in &answer.matches {
            let other = String::from_utf8(like.key.to_vec()).unwrap();
            pairs.insert(pair(name, &other), like.similarity().value);
        }
    }
    pairs
}

fn articles(number: u32) -> Option<(Texts, Pairs)> {
    let folder = real::folder("mccormick-articles")?;
    let text = real::read(&folder.join(format!("articles_{number}.train.xz")));
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let named = lines.filter_map(|line| {
        let space = line.iter().position(|byte| *byte == b' ')?;
        Some((String::from_utf8(line[..space].to_vec()).ok()?, line[space + 1..].to_vec()))
    });
    let truth = fs::read_to_string(folder.join(format!("articles_{number}.truth"))).unwrap();
    let pairs = truth.lines().filter_map(|line| line.split_once(' '));
    Some((named.collect(), pairs.map(|(a, b)| pair(a, b.trim())).collect()))
}

/// With every kind of features, exactly the planted pairs are found, and the estimates are near the truth.
#[test]
fn planted_articles() {
    for number in [100, 1000, 2500] {
        let Some((texts, planted)) = articles(number) else { return };
        assert_eq!(texts.len(), number as usize);
        let mut grams = GramReader::new(5, Ends::Plain).unwrap();
        let mut spots = SpotReader::new(1, 2).unwrap();
        for (kind, sets) in [
            ("5-word shingles, looped", shingled(&texts, 5, Ends::Looped)),
            ("3-word shingles, plain", shingled(&texts, 3, Ends::Plain)),
            ("5-character grams", sets(&texts, |text, set| grams.features_into(text, set))),
            ("spots", sets(&texts, |text, set| spots.features_into(text, set))),
        ] {
            let pairs = found(&sets, 0.7);
            let exact = |(a, b): &(String, String)| jaccard(&sets[a], &sets[b]);
            let least = planted.iter().map(exact).fold(1.0, f64::min);
            println!(
                "{number} articles, {kind}: {} pairs, planted ones from {least:.3}",
                pairs.len()
            );
            assert!(least > 0.85, "{kind}: {least}");
            assert_eq!(pairs.keys().cloned().collect::<Pairs>(), planted, "{kind}");
            // Five standard errors of 128 samples.
            for (names, estimate) in &pairs {
                let truth = exact(names);
                let error = (truth * (1.0 - truth) / 128.0).sqrt().max(1.0 / 128.0);
                assert!((estimate - truth).abs() < 5.0 * error, "{names:?}: {estimate}, {truth}");
            }
        }
    }
}

/// Loads answers of students, and the five articles that some of them copied from.
fn answers() -> Option<(Texts, BTreeMap<String, String>)> {
    let folder = real::folder("plagiarised-answers")?;
    let bytes = fs::read(folder.join("corpus-20090418.zip")).unwrap();
    let archive = rawzip::ZipArchive::from_slice(&bytes).expect("a zip file");
    let mut texts = Vec::new();
    let mut entries = archive.entries();
    while let Some(entry) = entries.next_entry().expect("an entry") {
        let path = entry.file_path().try_normalize().unwrap().as_ref().to_string();
        let Some(name) = path.rsplit('/').next().filter(|name| name.ends_with(".txt")) else {
            continue;
        };
        let data = archive.get_entry(entry.wayfinder()).unwrap().data();
        let text = match entry.compression_method() {
            rawzip::CompressionMethod::STORE => data.to_vec(),
            _ => miniz_oxide::inflate::decompress_to_vec(data).expect("deflated text"),
        };
        texts.push((name.to_string(), text));
    }
    let labels = fs::read_to_string(folder.join("file_information.csv")).unwrap();
    let labels = labels.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.trim().split(',').collect();
        Some((columns.first()?.to_string(), columns.get(2)?.to_string()))
    });
    Some((texts, labels.collect()))
}

/// Prints precision and recall against the labels. Labels do not correspond to a resemblance threshold. So the test
/// asserts only that copied answers are more similar than the rest, and that queries find what is exactly similar.
#[test]
fn plagiarised_answers() {
    let Some((texts, labels)) = answers() else { return };
    assert_eq!(labels.values().filter(|label| *label != "orig").count(), 95);
    let sets = shingled(&texts, 2, Ends::Plain);
    // The original of g0pA_taska.txt is orig_taska.txt.
    let original = |name: &str| format!("orig_{}", name.rsplit('_').next().unwrap());
    let mut exact: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut copied: Vec<(f64, bool)> = Vec::new();
    for (name, label) in labels.iter().filter(|(_, label)| *label != "orig") {
        let resemblance = jaccard(&sets[name], &sets[&original(name)]);
        exact.entry(label).or_default().push(resemblance);
        copied.push((resemblance, label != "non"));
    }
    let mean = |label: &str| exact[label].iter().sum::<f64>() / exact[label].len() as f64;
    for (label, all) in &exact {
        println!("{label}: {} answers, mean resemblance {:.3}", all.len(), mean(label));
    }
    assert!(mean("cut") > mean("light") && mean("light") > mean("heavy"));
    assert!(mean("heavy") > 5.0 * mean("non"));
    for threshold in [0.02, 0.05, 0.1, 0.2, 0.3] {
        let above =
            |is_copy| copied.iter().filter(|(r, c)| *r >= threshold && *c == is_copy).count();
        let (hits, false_alarms) = (above(true), above(false));
        let all = copied.iter().filter(|(_, copy)| *copy).count();
        let (precision, recall) =
            (hits as f64 / (hits + false_alarms) as f64, hits as f64 / all as f64);
        println!("resemblance >= {threshold}: precision {precision:.3}, recall {recall:.3}");
        assert!(threshold < 0.1 || precision > 0.8, "{threshold}: {precision}");
        assert!(threshold > 0.1 || recall > 0.8, "{threshold}: {recall}");
    }
    // The database finds pairs that are clearly similar (all but one in a million), and none that clearly are not.
    let found = found(&sets, 0.5);
    let names: Vec<&String> = sets.keys().collect();
    for (i, a) in names.iter().enumerate() {
        for b in &names[i + 1..] {
            let (truth, estimate) = (jaccard(&sets[*a], &sets[*b]), found.get(&pair(a, b)));
            assert!(truth < 0.75 || estimate.is_some(), "{a} {b}: {truth}");
            assert!(truth > 0.3 || estimate.is_none(), "{a} {b}: {truth}");
        }
    }
}
