//! `ringer plan`: helps to choose a scheme.

use ringer::Scheme;
use ringer::estimate::advice::{Advice, advise};
use ringer::estimate::planning::found;
use ringer::scheme::Packing;
use serde_json::{Value, json};

use crate::exit::{self, Failure};
use crate::show::{Output, Style};

/// Width of the plot, for resemblance 0 to 1.
const WIDTH: usize = 60;

/// Height of the plot, for probability 0 to 1.
const HEIGHT: usize = 12;

/// Choose a scheme that finds sets of a given resemblance and estimates it with a given error.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer plan --min 0.8
  ringer plan --min 0.5 --error 0.03 --sets 10000000")]
pub(crate) struct Plan {
    /// The minimum resemblance that has to be found, above 0 and at most 1.
    #[arg(long, visible_alias = "threshold", value_name = "R", allow_negative_numbers = true)]
    min: f64,
    /// The largest acceptable standard error at that resemblance.
    #[arg(long, value_name = "E", default_value_t = 0.05)]
    error: f64,
    /// The number of sets that the database will hold.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    sets: u64,
}

impl Plan {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let all = advise(self.min, self.error, self.sets).map_err(exit::bad_argument)?;
        let mut out = Output::new();
        if style.json {
            for advice in &all {
                out.line(as_json(advice))?;
            }
            return out.flush();
        }
        out.line(
            "samples bits  slots        bytes/set   (index)  error   found    false candidates",
        )?;
        for advice in &all {
            let slots = advice.scheme.slots;
            let slots = match slots.count {
                0 => "none".to_string(),
                count => format!("{count} of {}", slots.samples_per_slot),
            };
            out.line(format_args!(
                "{:>7} {:>4}  {slots:<12} {:>11.1} {:>7.1}  {:.4}  {:.5}  {:>16.1}",
                advice.scheme.samples,
                bits(&advice.scheme),
                advice.bytes_a_set,
                advice.index_bytes_a_set,
                advice.std_error,
                advice.found,
                advice.in_vain,
            ))?;
        }
        let Some(best) = all.first() else { return out.flush() };
        out.line(format_args!(
            "\nStandard error and probability to be found at resemblance {}, in a database of {} sets. Sizes are without \
             keys.\n\
             {}:\n  {}\n",
            self.min,
            self.sets,
            if best.scheme.slots.count > 0 {
                "The smallest scheme with an index"
            } else {
                "The smallest scheme"
            },
            command(&best.scheme)
        ))?;
        if best.scheme.slots.count == 0 {
            out.line(
                "An index would have to compare most sets to find these, so every query scans all signatures.",
            )?;
            return out.flush();
        }
        out.line("probability to be found")?;
        for line in plot(&best.scheme, self.min) {
            out.line(line)?;
        }
        out.flush()
    }
}

/// The command that creates a database with this scheme.
fn command(scheme: &Scheme) -> String {
    let slots = scheme.slots;
    let index = match slots.count {
        0 => "--slots 0".to_string(),
        count => format!(
            "--slots {count} --samples-per-slot {} --value-bits {}",
            slots.samples_per_slot, slots.value_bits
        ),
    };
    let kept = match scheme.packing {
        Packing::LowBits => format!("--bits {}", scheme.bits),
        packing => format!("--packing {packing} --sampler {}", scheme.sampler),
    };
    format!("ringer create DB --samples {} {kept} {index}", scheme.samples)
}

/// The bits stored per drawn sample.
fn bits(scheme: &Scheme) -> String {
    let kept = f64::from(scheme.bits) * f64::from(scheme.samples);
    match kept / f64::from(scheme.drawn_samples()) {
        0.5 => "1/2".into(),
        bits => bits.to_string(),
    }
}

/// A plot of the probability to be found against resemblance, with a mark at `--min`.
fn plot(scheme: &Scheme, min: f64) -> Vec<String> {
    let chances: Vec<f64> = (0..=WIDTH).map(|i| found(scheme, i as f64 / WIDTH as f64)).collect();
    let eighths = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let mut lines: Vec<String> = (0..HEIGHT)
        .rev()
        .map(|row| {
            let label = match row {
                _ if row + 1 == HEIGHT => "1.0",
                _ if row == HEIGHT / 2 => "0.5",
                0 => "0.0",
                _ => "   ",
            };
            let cell = |chance: &f64| {
                let filled = (chance * HEIGHT as f64 - row as f64).clamp(0.0, 1.0);
                eighths[(filled * 8.0).round() as usize]
            };
            format!("{label} │{}", chances.iter().map(cell).collect::<String>())
        })
        .collect();
    lines.push(format!("    └{}", "─".repeat(WIDTH + 1)));
    lines.push(format!("     0{:>1$}{2:>1$}  resemblance", "0.5", WIDTH / 2, "1"));
    let mark = " ".repeat((min * WIDTH as f64).round() as usize);
    lines.push(format!("     {mark}^ --min"));
    lines
}

fn as_json(advice: &Advice) -> Value {
    let scheme = &advice.scheme;
    json!({
        "samples": scheme.samples,
        "bits": scheme.bits,
        "packing": scheme.packing.name(),
        "sampler": scheme.sampler.name(),
        "slots": scheme.slots.count,
        "samples_per_slot": scheme.slots.samples_per_slot,
        "value_bits": scheme.slots.value_bits,
        "min_matches": scheme.slots.min_matches,
        "bytes_a_set": advice.bytes_a_set,
        "index_bytes_a_set": advice.index_bytes_a_set,
        "std_error": advice.std_error,
        "found": advice.found,
        "in_vain": advice.in_vain,
    })
}
