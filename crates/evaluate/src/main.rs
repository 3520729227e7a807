//! Repeats the experiments of the papers on b-bit minwise hashing, and draws their figures.
//!
//! ```sh
//! cargo run --release -p ringer-evaluate -- --report DIR            # 30 minutes on two cores at most
//! cargo run --release -p ringer-evaluate -- --report DIR --quick    # a few minutes; the same figures with more noise
//! ```
//!
//! DIR receives `index.html`, one self-contained page, and `points.csv` with every point of its figures. The real data is
//! not part of the repository: `RINGER_DATA` names its folder, and the default is `../shared/data`. Parts whose data is
//! missing say so. Seeds are fixed, so two runs give the same page.
//!
//! `learning.py` measures linear learners on signatures. It is run with `python3`, and takes this program as the tool: with
//! a command of the tool as its first argument, the program runs that command.
//!
//! Each part is a module. It returns figures and rows for the table of what the papers say and what was measured.

mod active;
mod baselines;
mod chart;
mod data;
mod duplicates;
mod half_bit;
mod learning;
mod lsh;
mod order;
mod page;
mod probing;
mod projections;
mod rdc;
mod samplers;
mod simulation;
mod theory;
mod three_way;
mod triples;
mod vectors;
mod word_pairs;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use page::Part;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// How much work is done: the number of repetitions and documents, never the method.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    quick: bool,
}

impl Effort {
    pub(crate) fn choose<T>(self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// The name of an experiment, and the function that runs it.
type Experiment = (&'static str, fn(Effort) -> Outcome<Part>);

const PARTS: [Experiment; 12] = [
    ("theory", theory::part),
    ("word pairs", word_pairs::part),
    ("duplicates", duplicates::part),
    ("three sets", three_way::part),
    ("groups of three", triples::part),
    ("half a bit", half_bit::part),
    ("samplers", samplers::part),
    ("index", lsh::part),
    ("vectors", vectors::part),
    ("remote differential compression", rdc::part),
    ("order of samples", order::part),
    ("learning", learning::part),
];

fn run() -> Outcome<()> {
    let (mut folder, mut effort, mut words) = (None, Effort { quick: false }, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--report" => folder = arguments.next().map(PathBuf::from),
            "--quick" => effort.quick = true,
            other => words.push(other.to_string()),
        }
    }
    let Some(folder) = folder.filter(|_| words.is_empty()) else {
        return Err("usage: ringer-evaluate --report DIR [--quick]".into());
    };
    std::fs::create_dir_all(&folder)?;
    let mut parts = Vec::new();
    for (name, part) in PARTS {
        let start = Instant::now();
        parts.push(part(effort)?);
        println!("{name}: {:.1} s", start.elapsed().as_secs_f64());
    }
    std::fs::write(folder.join("index.html"), page::html(&parts, effort.quick))?;
    std::fs::write(folder.join("points.csv"), page::csv(&parts))?;
    println!("wrote {}", folder.join("index.html").display());
    Ok(())
}

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| learning::COMMANDS.iter().any(|c| first == *c))
    {
        return ExitCode::from(ringer_cli::main_with(std::env::args_os()));
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
