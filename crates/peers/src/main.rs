//! Compares Ringer with other indexes for set similarity, in one run and on one thread. The README explains how to run
//! it and what the figures mean.

mod asked;
mod dedup;
mod gaoya;
mod measure;
mod minwise;
mod race;
mod ringer;
mod sketch;
mod table;
mod text;

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use crate::gaoya::Gaoya;
use crate::measure::queries_of;
use crate::minwise::Minwise;
use crate::race::Race;
use crate::ringer::{Ringer, SCHEMES};
use crate::table::Row;
use testkit::workload::Workload;

const USAGE: &str = "\
usage: peers table [N [FILE]]   builds indexes, runs queries and prints a table of the results
       peers sketch [PYTHON SCRIPT]
                                measures how fast sets become signatures; with SCRIPT (beside.py), also in rensa
       peers text               measures how fast texts become signatures
       peers dedup [N [FILE]]   finds duplicates and prints a table of the results
       peers scans [N]          measures exhaustive queries, and writes their rows of the table
       peers asked DB           measures queries of a database by its keys
       peers documents [N]      writes the sets of `dedup`: 200 words of 64 bits each
       peers sets [N]           writes the sets: 200 words of 64 bits each
       peers signatures [N]     writes minwise signatures of the sets, then of the queries: 128 words of
                                32 bits each
N is the number of sets, 1,000,000 unless given. FILE has rows of other programs, which the table includes.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn run(arguments: &[&str]) -> Result<()> {
    if arguments == ["text"] {
        return text::run();
    }
    match arguments {
        ["asked", path] => return asked::run(path.as_ref()),
        ["sketch"] => return sketch::run(None),
        ["sketch", python, script] => return sketch::run(Some((python, script))),
        _ => {}
    }
    let sets = arguments.get(1).map_or(Ok(1_000_000), |n| n.parse::<u64>())?;
    if sets == 0 || sets % 100 != 0 {
        return Err("N is a multiple of 100".into());
    }
    let w2 = Workload::new(sets);
    match arguments {
        ["table", ..] => table(&w2, arguments.get(2).copied()),
        ["dedup", ..] => find_duplicates(&w2, arguments.get(2).copied()),
        ["scans", ..] => scans(&w2),
        ["documents", ..] => write_sets((0..w2.len()).map(|i| dedup::document(&w2, i))),
        ["sets", ..] => write_sets((0..w2.len()).map(|i| w2.set(i))),
        ["signatures", ..] => write_signatures(&w2),
        _ => Err(USAGE.into()),
    }
}

fn table(w2: &Workload, others: Option<&str>) -> Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let mut rows = Vec::new();
    if let Some(path) = others {
        for line in std::fs::read_to_string(path)?.lines() {
            rows.push(Row::parse(line)?);
        }
    }
    let mut race = Race::default();
    if gaoya::BYTES * w2.len() < measure::available_bytes() {
        race.enter(Gaoya::build(w2));
    } else {
        eprintln!("gaoya is left out: it takes {} bytes a set", gaoya::BYTES);
    }
    let folder = in_folder()?;
    for scheme in SCHEMES {
        race.enter(Ringer::build(w2, folder.path(), scheme, ringer::ROUNDS)?);
    }
    let (raced, recalls): (Vec<Row>, Vec<String>) = race.run(w2).into_iter().unzip();
    rows.extend(raced);
    println!("{} sets, {} queries, one thread", w2.len(), queries_of(w2));
    print!("{}", table::text(&rows));
    println!("{}", recalls.join("\n"));
    Ok(())
}

fn scans(w2: &Workload) -> Result<()> {
    for row in ringer::scans(w2, in_folder()?.path())? {
        println!("{}", row.line());
    }
    Ok(())
}

/// A folder for databases.
fn in_folder() -> Result<tempfile::TempDir> {
    let folder = std::env::var("PEERS_FOLDER").unwrap_or_else(|_| "target".into());
    Ok(tempfile::tempdir_in(folder)?)
}

fn find_duplicates(w2: &Workload, others: Option<&str>) -> Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    dedup::table(w2, in_folder()?.path(), others)
}

fn write_sets(sets: impl Iterator<Item = testkit::workload::Set>) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    for set in sets {
        for x in set {
            out.write_all(&x.to_le_bytes())?;
        }
    }
    Ok(out.flush()?)
}

fn write_signatures(w2: &Workload) -> Result<()> {
    let minwise = Minwise::new();
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    let sets = (0..w2.len()).map(|i| w2.set(i));
    for set in sets.chain((0..queries_of(w2)).map(|c| w2.query(c))) {
        for sample in minwise.sketch(&set) {
            out.write_all(&sample.to_le_bytes())?;
        }
    }
    Ok(out.flush()?)
}
