//! Sets of 64-bit elements to signatures: ringer beside rensa, for set sizes from 1 to 2,000, on one thread.
//!
//! rensa runs in a Python process that this one starts. They communicate over pipes: this process sends the sets
//! once, then requests one round at a time. The rounds of all contenders alternate. The best round of each counts, in
//! processor time.
//!
//! Ringer keeps the sizes of sets, rensa does not. So the steps behind a size are also measured alone: reading the
//! elements, counting the distinct ones exactly, and finding the code that is stored.

use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ::ringer::scheme::{CardinalityField, Sampler};
use ::ringer::{Parameters, Scheme, Sketcher, presets};

use crate::Result;
use crate::measure::Watch;
use testkit::random::Random;

/// 1,070 is the least size of its cardinality code. A lower bound cannot settle that code, so every element is
/// counted.
const SIZES: [usize; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 1070, 2000];
const ELEMENTS: usize = 1_000_000;
const MAX_SETS: usize = 50_000;
const ROUNDS: usize = 20;
/// The multiple of rensa's rate for which the last columns show the time that is left for sizes.
const GOAL: f64 = 1.5;

/// Prints millions of sets per second, and the cost of sizes. Without a Python interpreter rensa is left out.
pub(crate) fn run(python: Option<(&str, &str)>) -> Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let mut rensa = python.map(|(python, script)| Rensa::start(python, script)).transpose()?;
    println!("sets to signatures, one thread, best of {ROUNDS} rounds, processor time");
    println!(
        "millions of sets per second; the columns with sizes also count distinct elements, rensa does not"
    );
    println!(
        "sizes alone: nanoseconds per element to read, to find the stored code, to count exactly; left: what sketches without sizes leave of rensa's time / {GOAL}"
    );
    println!("{:42}sketches, M sets/s           {:>22}sizes alone, ns per element", "", "");
    println!(
        "    k  elements  one-permutation  every-bin     rensa  times  no sizes  times   read   code  exact   left"
    );
    for preset in [presets::NEAR_DUPLICATE, presets::PRECISE] {
        for elements in SIZES {
            case(preset, elements, rensa.as_mut())?;
        }
    }
    rensa.map_or(Ok(()), Rensa::end)
}

fn case(preset: Parameters, elements: usize, mut rensa: Option<&mut Rensa>) -> Result<()> {
    let mut random = Random::of(1, elements as u64);
    let count = (ELEMENTS / elements).min(MAX_SETS);
    let all: Vec<u64> = (0..count * elements).map(|_| random.word()).collect();
    let sets: Vec<&[u64]> = all.chunks(elements).collect();
    let sketcher = |sampler, cardinality| {
        let parameters = preset.with_sampler(sampler).with_cardinality(cardinality);
        Scheme::new(parameters).map(|scheme| Sketcher::new(&scheme))
    };
    let one = sketcher(Sampler::OnePermutation, preset.cardinality)?;
    let every = sketcher(Sampler::EveryBin, preset.cardinality)?;
    let no_sizes = sketcher(Sampler::EveryBin, CardinalityField::None)?;
    let sketch = |sketcher: &Sketcher| sketcher.sketch_all(&sets).map(|made| made.len() as u64);
    let works: [&dyn Fn() -> ::ringer::Result<u64>; 6] = [
        &|| sketch(&one),
        &|| sketch(&every),
        &|| sketch(&no_sizes),
        &|| Ok(read(&sets)),
        &|| every.size_codes(&sets),
        &|| Ok(every.distinct_counts(&sets)),
    ];
    let (mut ours, mut theirs) = ([f64::INFINITY; 6], f64::INFINITY);
    if let Some(rensa) = &mut rensa {
        rensa.send(preset.samples, elements, &all)?;
    }
    for _ in 0..ROUNDS {
        for (best, work) in ours.iter_mut().zip(works) {
            let mut watch = Watch::default();
            black_box(watch.time(work)?);
            *best = best.min(watch.seconds().1);
        }
        if let Some(rensa) = &mut rensa {
            theirs = theirs.min(rensa.round()?);
        }
    }
    if let Some(rensa) = &mut rensa {
        rensa.say("end")?;
    }
    print_row((preset.samples, elements), count, ours, theirs);
    Ok(())
}

/// Reads every element and does nothing else with them: no size costs less.
fn read(sets: &[&[u64]]) -> u64 {
    sets.iter().map(|set| black_box(set.iter().fold(0, |all, x| all ^ x))).fold(0, |a, b| a ^ b)
}

fn print_row((samples, elements): (u32, usize), count: usize, ours: [f64; 6], theirs: f64) {
    let [one, every, no_sizes, read, code, exact] = ours;
    let rate = |seconds: f64| count as f64 / seconds / 1e6;
    let per_element = |seconds: f64| seconds * 1e9 / (count * elements) as f64;
    println!(
        "{samples:5}{elements:10}{:17.3}{:11.3}{:10.3}{:7.2}{:10.3}{:7.2}{:7.2}{:7.2}{:7.2}{:7.2}",
        rate(one),
        rate(every),
        rate(theirs),
        theirs / every,
        rate(no_sizes),
        theirs / no_sizes,
        per_element(read),
        per_element(code),
        per_element(exact),
        per_element(theirs / GOAL - no_sizes),
    );
}

/// The Python process.
struct Rensa {
    process: Child,
    into: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Rensa {
    fn start(python: &str, script: &str) -> Result<Rensa> {
        let mut process = Command::new(python)
            .args([script, "sketch", "0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(into), Some(from)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("no pipes to the other process".into());
        };
        Ok(Rensa { process, into, from: BufReader::new(from) })
    }

    fn say(&mut self, line: &str) -> Result<()> {
        writeln!(self.into, "{line}")?;
        Ok(self.into.flush()?)
    }

    /// Sends the sets of a case.
    fn send(&mut self, samples: u32, elements: usize, all: &[u64]) -> Result<()> {
        self.say(&format!("{samples} {elements} {}", all.len() / elements))?;
        let bytes: Vec<u8> = all.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.into.write_all(&bytes)?;
        Ok(self.into.flush()?)
    }

    /// Seconds of processor time of one more round.
    fn round(&mut self) -> Result<f64> {
        self.say("round")?;
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }

    fn end(mut self) -> Result<()> {
        drop(self.into);
        let status = self.process.wait()?;
        if status.success() { Ok(()) } else { Err(format!("rensa: {status}").into()) }
    }
}
