//! Finding duplicates: all pairs and clusters of similar sets, from signatures, beside rensa's flags.
//!
//! In: the workload, including the bases of its planted sets, and rows of other programs: name, seconds of wall and
//! of processor time, and a bit for each flagged set, in base 64. Out: seconds, recall and precision, of flagged sets
//! and of pairs.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use ::ringer::{Database, Found, Linkage, Options, Scheme, Sketcher, Snapshot, presets};

use crate::Result;
use crate::measure::Watch;
use testkit::workload::{ELEMENTS, MEMBERS, Set, Workload};

/// The resemblance from which two sets are duplicates.
const WANTED: f64 = 0.8;

/// The thresholds of the queries: the wanted one, and one low enough that estimates seldom fall below it.
const THRESHOLDS: [f64; 2] = [0.8, 0.7];

const ROUNDS: usize = 7;

/// The sets: first the bases, then the background.
pub(crate) fn document(w2: &Workload, i: u64) -> Set {
    if i < w2.clusters() { w2.query(i) } else { w2.set(i) }
}

/// Pairs of numbers, smaller first.
type Numbers = HashSet<(u64, u64)>;

/// The number of each key.
type Keys = HashMap<Box<[u8]>, u64>;

/// The true duplicates: bases and planted sets, counted exactly.
fn truth(w2: &Workload) -> Numbers {
    let mut all = Numbers::new();
    for cluster in 0..w2.clusters() {
        let members = (0..MEMBERS).map(|m| w2.member(cluster, m));
        let numbers: Vec<u64> = std::iter::once(cluster).chain(members).collect();
        let sets: Vec<HashSet<u64>> =
            numbers.iter().map(|i| document(w2, *i).into_iter().collect()).collect();
        for i in 0..sets.len() {
            for j in 0..i {
                let common = sets[i].intersection(&sets[j]).count() as f64;
                if common / (2.0 * ELEMENTS as f64 - common) >= WANTED {
                    all.insert((numbers[j], numbers[i]));
                }
            }
        }
    }
    all
}

/// Prints the table.
pub(crate) fn table(w2: &Workload, folder: &Path, others: Option<&str>) -> Result<()> {
    let truth = truth(w2);
    let flags = truth.iter().flat_map(|(a, b)| [*a, *b]).collect();
    println!("{} sets, {} pairs of resemblance {WANTED} and more", w2.len(), truth.len());
    println!("{:46} {:>8} {:>8}  recall and precision: of sets, of pairs", "", "seconds", "cpu");
    if let Some(path) = others {
        let text = std::fs::read_to_string(path)?;
        let mut best: Vec<(&str, f64, f64, &str)> = Vec::new();
        for line in text.lines() {
            let [name, wall, processor, bits] = line.split('\t').collect::<Vec<_>>()[..] else {
                return Err(format!("four columns in the line of {path}").into());
            };
            let (wall, processor) = (wall.parse::<f64>()?, processor.parse::<f64>()?);
            match best.iter_mut().find(|row| row.0 == name) {
                Some(row) => *row = (name, row.1.min(wall), row.2.min(processor), bits),
                None => best.push((name, wall, processor, bits)),
            }
        }
        for (name, wall, processor, bits) in best {
            let flagged = set_bits(bits)?;
            row(name, (wall, processor), &quality(&flags, &flagged));
        }
    }
    for (name, parameters) in
        [("near-duplicate", presets::NEAR_DUPLICATE), ("precise", presets::PRECISE)]
    {
        let path = folder.join(format!("dedup-{name}.ringer"));
        let (snapshot, numbers, _database) = filled(&path, &Scheme::new(parameters)?, w2)?;
        for threshold in THRESHOLDS {
            let name = format!("ringer {name}, threshold {threshold}");
            pairs(&snapshot, &numbers, threshold, (&flags, &truth), &name)?;
            clusters(&snapshot, threshold, &name)?;
        }
    }
    Ok(())
}

fn row(name: &str, (wall, processor): (f64, f64), rest: &str) {
    println!("{name:46} {wall:8.3} {processor:8.3}  {rest}");
}

fn quality<T: std::hash::Hash + Eq>(wanted: &HashSet<T>, found: &HashSet<T>) -> String {
    let hits = wanted.intersection(found).count() as f64;
    format!("{:.4} {:.3}", hits / wanted.len() as f64, hits / found.len().max(1) as f64)
}

/// The numbers of the set bits, from base 64.
fn set_bits(text: &str) -> Result<HashSet<u64>> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut all = HashSet::new();
    for (i, digit) in text.trim_end_matches('=').chars().enumerate() {
        let value = DIGITS.find(digit).ok_or("a digit of base 64")?;
        let bits = (0..6).filter(|bit| value >> (5 - bit) & 1 == 1);
        all.extend(bits.map(|bit| (6 * i + bit) as u64));
    }
    Ok(all)
}

/// A database of all sets, with one compacted segment and the default cache, and the numbers of keys.
fn filled(path: &Path, scheme: &Scheme, w2: &Workload) -> Result<(Snapshot, Keys, Database)> {
    let options = Options::default().with_threads(1).with_background(false);
    let database = Database::create(path, scheme, options)?;
    let sketcher = Sketcher::new(scheme);
    let (mut load, mut numbers) = (database.bulk_load(), Keys::new());
    for i in 0..w2.len() {
        let key = testkit::random::mix(i).to_be_bytes();
        load.put_signature(key, &sketcher.sketch(&document(w2, i))?)?;
        numbers.insert(key.into(), i);
    }
    load.commit()?;
    database.compact()?;
    Ok((database.snapshot(), numbers, database))
}

/// The best of several rounds, by wall and by processor time.
fn best(mut work: impl FnMut() -> Result<()>) -> Result<(f64, f64)> {
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        let mut watch = Watch::default();
        watch.time(&mut work)?;
        let (wall, processor) = watch.seconds();
        best = (best.0.min(wall), best.1.min(processor));
    }
    Ok(best)
}

fn pairs(
    snapshot: &Snapshot,
    numbers: &Keys,
    threshold: f64,
    (flags, truth): (&HashSet<u64>, &Numbers),
    name: &str,
) -> Result<()> {
    let mut found = Vec::new();
    let seconds = best(|| {
        found.clear();
        snapshot.pairs(threshold).expand().run(|pair| {
            if let Found::Pair(pair) = pair {
                found.push(pair);
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    })?;
    let pairs = found.iter().map(|pair| {
        let (a, b) = (numbers[&pair.a], numbers[&pair.b]);
        (a.min(b), a.max(b))
    });
    let pairs: Numbers = pairs.collect();
    let flagged = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let rest = format!("{}, {}", quality(flags, &flagged), quality(truth, &pairs));
    row(&format!("{name}: pairs"), seconds, &rest);
    Ok(())
}

fn clusters(snapshot: &Snapshot, threshold: f64, name: &str) -> Result<()> {
    for linkage in [Linkage::Connected, Linkage::Strict] {
        let mut clusters = 0;
        let seconds = best(|| {
            clusters = 0;
            snapshot.clusters(threshold).linkage(linkage).run(|_| {
                clusters += 1;
                ControlFlow::Continue(())
            })?;
            Ok(())
        })?;
        let kind = format!("{linkage:?}").to_lowercase();
        row(&format!("{name}: {kind} clusters"), seconds, &format!("{clusters} clusters"));
    }
    Ok(())
}
