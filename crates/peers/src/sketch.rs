//! Sets of 64-bit elements to signatures: ringer beside rensa, for set sizes from 1 to 2,000, one thread.
//!
//! rensa runs in a Python process that this one starts and speaks to over pipes: it sends the sets once, then asks for one round
//! at a time. Rounds are taken in turns, and the best of each counts, in processor time.

use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ::ringer::scheme::{CardinalityField, Sampler};
use ::ringer::{Parameters, Scheme, Sketcher, presets};

use crate::Result;
use crate::measure::Watch;
use testkit::random::Random;

/// 1,070 is just above the least size of its code: a lower bound does not tell the code, and every element is counted.
const SIZES: [usize; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 1070, 2000];
const ELEMENTS: usize = 1_000_000;
const MAX_SETS: usize = 50_000;
const ROUNDS: usize = 20;

/// Prints millions of sets a second. Without a Python interpreter rensa is left out.
pub(crate) fn run(python: Option<(&str, &str)>) -> Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let mut rensa = python.map(|(python, script)| Rensa::start(python, script)).transpose()?;
    println!(
        "sets to signatures, millions a second of processor time, one thread, best of {ROUNDS} rounds"
    );
    println!("sizes: the number of distinct elements is counted, too; rensa does not count");
    println!("    k  elements  one-permutation  every-bin     rensa  times  no sizes  times");
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
    let sketchers = [
        Parameters { sampler: Sampler::OnePermutation, ..preset },
        Parameters { sampler: Sampler::EveryBin, ..preset },
        Parameters { sampler: Sampler::EveryBin, cardinality: CardinalityField::None, ..preset },
    ];
    let sketchers = sketchers.map(|p| Scheme::new(p).map(|scheme| Sketcher::new(&scheme)));
    let (mut ours, mut theirs) = ([f64::INFINITY; 3], f64::INFINITY);
    if let Some(rensa) = &mut rensa {
        rensa.send(preset.samples, elements, &all)?;
    }
    for _ in 0..ROUNDS {
        for (best, sketcher) in ours.iter_mut().zip(&sketchers) {
            let sketcher = sketcher.as_ref().map_err(Clone::clone)?;
            let mut watch = Watch::default();
            black_box(watch.time(|| sketcher.sketch_all(&sets))?);
            *best = best.min(watch.seconds().1);
        }
        if let Some(rensa) = &mut rensa {
            theirs = theirs.min(rensa.round()?);
        }
    }
    if let Some(rensa) = &mut rensa {
        rensa.say("end")?;
    }
    let rate = |seconds: f64| count as f64 / seconds / 1e6;
    let [one, every, no_sizes] = ours;
    println!(
        "{:5}{elements:10}{:17.3}{:11.3}{:10.3}{:7.2}{:10.3}{:7.2}",
        preset.samples,
        rate(one),
        rate(every),
        rate(theirs),
        theirs / every,
        rate(no_sizes),
        theirs / no_sizes,
    );
    Ok(())
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
