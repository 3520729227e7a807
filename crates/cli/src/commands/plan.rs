//! `ringer plan`: helps to choose a scheme.

use ringer::estimate::advice::{Advice, advise};
use ringer::estimate::capacity::{self, CHANCE_CANDIDATES};
use ringer::estimate::planning::{at_least, found, lsh_exponent};
use ringer::estimate::{Chance, Law};
use ringer::scheme::Packing;
use ringer::{Scheme, presets};
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
  ringer plan --min 0.5 --error 0.03 --sets 10000000
  ringer plan --min 0.5 --theory --universe 65536 --set-size 2000")]
pub(crate) struct Plan {
    /// The minimum resemblance that has to be found, above 0 and at most 1.
    #[arg(long, visible_alias = "threshold", value_name = "R", allow_negative_numbers = true)]
    min: f64,
    /// The largest acceptable standard error at that resemblance.
    #[arg(long, value_name = "E", default_value_t = 0.05)]
    error: f64,
    /// The number of sets that the database will hold. A query of an indexed scheme meets at most 10 unrelated ones by
    /// chance.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    sets: u64,
    /// Also print what theory says of each number of bits: storage, exponent of the index, precision.
    #[arg(long)]
    theory: bool,
    /// Theory for sets of elements below D, such as numbers of documents. Without it, sets are tiny compared with their
    /// universe.
    #[arg(long, value_name = "D", requires = "set_size", value_parser = clap::value_parser!(u64).range(2..))]
    universe: Option<u64>,
    /// The size of a set, with --universe.
    #[arg(long, value_name = "F", requires = "universe", value_parser = clap::value_parser!(u64).range(1..))]
    set_size: Option<u64>,
}

/// What theory says of a scheme at the least resemblance.
struct Theory {
    /// B(b): bits of a signature times the variance.
    storage_factor: f64,
    /// The space that 64-bit samples need at the same error, as a multiple of the space of this scheme.
    improvement: f64,
    /// rho: a query compares about N^rho of N sets, if all sets below the least resemblance have at most half of it.
    exponent: f64,
    /// Among the pairs whose estimate reaches the least resemblance, the share whose true resemblance reaches it, if all
    /// resemblances are equally frequent.
    precision: f64,
    /// The textbook rule for an index of N sets.
    rule: Rule,
}

/// The rule of locality-sensitive hashing, for near sets of the least resemblance and far ones of half of it. P2 is the
/// probability that a sample of a far set agrees. With `g = log N / log(1/P2)` samples a slot, about one of N far sets
/// agrees in a slot by chance. With `L = N^rho` slots, a near set agrees in at least one of them with a probability of
/// about `1 - 1/e` (at least that, if g were not rounded up). With a probability of a half or more, all L slots together
/// have at most 2 L far sets that agree, so a query may stop after 2 L of them.
struct Rule {
    samples_per_slot: u64,
    slots: u64,
    stop: u64,
}

impl Rule {
    fn of(sets: u64, far_agreement: f64, exponent: f64) -> Rule {
        let n = (sets as f64).max(2.0);
        let samples_per_slot = (n.ln() / -far_agreement.ln()).ceil().max(1.0) as u64;
        let slots = n.powf(exponent).ceil().max(1.0) as u64;
        Rule { samples_per_slot, slots, stop: slots.saturating_mul(2) }
    }
}

impl Theory {
    fn of(scheme: &Scheme, min: f64, share: f64, sets: u64) -> Theory {
        let law_of = |bits| {
            let chance = Chance::dense(bits, share, share);
            match scheme.packing {
                Packing::XorPairs if bits == 1 => Law::HalfBit(chance),
                _ => Law::Minwise(chance),
            }
        };
        let law = law_of(scheme.bits.into());
        let factor = |bits: f64, law: Law| bits * law.variance(law.agreement(min), MANY) * MANY;
        let (own, full) = (factor(scheme.bits.into(), law), 64.0 * min * (1.0 - min));
        let near = 1.0 - min;
        let exponent = match law {
            Law::Minwise(chance) if near > 0.0 => {
                lsh_exponent(&chance, near, (1.0 - min / 2.0) / near)
            }
            _ => law.agreement(min).ln() / law.agreement(min / 2.0).ln(),
        };
        let k = scheme.samples;
        let needed = (0..=k).find(|x| law.similarity(f64::from(*x) / f64::from(k)) >= min - 1e-9);
        let passes = |i: u32| {
            let p = law.agreement((f64::from(i) + 0.5) / f64::from(STEPS)).clamp(0.0, 1.0);
            at_least(needed.unwrap_or(k), k, p)
        };
        let right = |i: &u32| (f64::from(*i) + 0.5) / f64::from(STEPS) >= min;
        let all: f64 = (0..STEPS).map(passes).sum();
        let kept: f64 = (0..STEPS).filter(right).map(passes).sum();
        let exponent = exponent.max(0.0);
        Theory {
            storage_factor: own,
            improvement: full / own,
            exponent,
            rule: Rule::of(sets, law.agreement(min / 2.0), exponent),
            precision: kept / all.max(f64::MIN_POSITIVE),
        }
    }
}

/// Resemblances over which the precision is averaged.
const STEPS: u32 = 1000;

/// A number of samples so large that the variance is inversely proportional to it.
const MANY: f64 = 1e9;

impl Plan {
    /// The share of the universe that a set fills.
    fn share(&self) -> Result<f64, Failure> {
        match (self.universe, self.set_size) {
            (Some(universe), Some(size)) if size > universe => Err(Failure::Usage(format!(
                "--set-size {size}: a set has at most as many elements as its universe, {universe}: give a smaller size"
            ))),
            (Some(universe), Some(size)) => Ok(size as f64 / universe as f64),
            _ => Ok(0.0),
        }
    }

    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let share = self.share()?;
        let all = advise(self.min, self.error, self.sets).map_err(exit::bad_argument)?;
        let mut out = Output::new();
        if style.json {
            for advice in &all {
                out.line(as_json(advice, &Theory::of(&advice.scheme, self.min, share, self.sets)))?;
            }
            return out.flush();
        }
        out.line(
            "samples bits  slots        bytes/set   (index)  error   found   chance candidates",
        )?;
        for advice in &all {
            let slots = advice.scheme.slots;
            let slots = match slots.count {
                0 => "none".to_string(),
                count if slots.min_matches > 1 => {
                    format!("{} of {count} of {}", slots.min_matches, slots.samples_per_slot)
                }
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
                advice.chance_candidates,
            ))?;
        }
        if self.theory || self.universe.is_some() {
            self.print_theory(&all, share, &mut out)?;
        }
        let Some(best) = all.first() else { return out.flush() };
        out.line(format_args!(
            "\nStandard error and probability to be found at resemblance {}, in a database of {} sets. Sizes are without \
             keys. \"2 of 21 of 3\" means that 2 of 21 slots of 3 samples must match.\n\
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
            out.line(format_args!(
                "No index finds 99 % of these sets without comparing more than {CHANCE_CANDIDATES} unrelated sets by chance, so \
                 every query scans all signatures."
            ))?;
            self.print_preset(&mut out)?;
            return out.flush();
        }
        out.line("probability to be found")?;
        for line in plot(&best.scheme, self.min) {
            out.line(line)?;
        }
        self.print_preset(&mut out)?;
        out.flush()
    }

    /// Prints what `create --sets N` chooses.
    fn print_preset(&self, out: &mut Output) -> Result<(), Failure> {
        let Some(scheme) = preset_for(self.sets) else { return Ok(()) };
        let (signature, index) = capacity::bytes_a_set(&scheme, self.sets);
        out.line(format_args!(
            "\n`ringer create DB --sets {}` chooses {} samples of {} bits and {} slots of {} samples, with {} bits:\n  \
             {:.1} bytes per set, {:.1} of them for the index; found at resemblance {}: {:.5}; chance candidates per query: {:.1}",
            self.sets,
            scheme.samples,
            scheme.bits,
            scheme.slots.count,
            scheme.slots.samples_per_slot,
            scheme.slots.value_bits,
            signature + index,
            index,
            self.min,
            found(&scheme, self.min),
            capacity::chance_candidates(&scheme, self.sets),
        ))
    }

    fn print_theory(&self, all: &[Advice], share: f64, out: &mut Output) -> Result<(), Failure> {
        out.line("\nsamples bits     B(b)  B(64)/B(b)     rho  precision     g      L   stop")?;
        for advice in all {
            let theory = Theory::of(&advice.scheme, self.min, share, self.sets);
            out.line(format_args!(
                "{:>7} {:>4}  {:>7.3}  {:>10.2}  {:.4}  {:>9.4}  {:>4}  {:>5}  {:>5}",
                advice.scheme.samples,
                bits(&advice.scheme),
                theory.storage_factor,
                theory.improvement,
                theory.exponent,
                theory.precision,
                theory.rule.samples_per_slot,
                theory.rule.slots,
                theory.rule.stop,
            ))?;
        }
        out.line(format_args!(
            "B(b) is the bits of a signature times the variance at resemblance {min}, and B(64)/B(b) is how many times the space \
             64-bit samples need. An index makes a query compare about N^rho of N sets, if the others have at most resemblance \
             {half}. The precision is the share of right pairs among those with an estimate of at least {min}, if all \
             resemblances are equally frequent. Sets fill {share} of their universe.\n\
             By the rule of locality-sensitive hashing, an index of {sets} sets has L = N^rho slots of g = log N / log(1/P2) \
             samples, where P2 is the probability that a sample agrees at resemblance {half}. A near set is then in one of \
             the slots with a probability of about 0.63, and a query stops after 2 L sets that are not near. The schemes \
             above have as many slots as make near sets likely to be found.",
            min = self.min,
            half = self.min / 2.0,
            sets = self.sets,
        ))
    }
}

/// The scheme that `create` chooses for a number of sets.
fn preset_for(sets: u64) -> Option<Scheme> {
    Scheme::new(capacity::parameters_for(presets::DEFAULT, sets).ok()?).ok()
}

/// The command that creates a database with this scheme.
fn command(scheme: &Scheme) -> String {
    let slots = scheme.slots;
    let index = match slots.count {
        0 => "--slots 0".to_string(),
        count => {
            let matches = match slots.min_matches {
                1 => String::new(),
                more => format!(" --min-matches {more}"),
            };
            format!(
                "--slots {count} --samples-per-slot {} --value-bits {}{matches}",
                slots.samples_per_slot, slots.value_bits
            )
        }
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

fn as_json(advice: &Advice, theory: &Theory) -> Value {
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
        "chance_candidates": advice.chance_candidates,
        "storage_factor": theory.storage_factor,
        "storage_improvement": theory.improvement,
        "lsh_exponent": theory.exponent,
        "precision": theory.precision,
        "rule_samples_per_slot": theory.rule.samples_per_slot,
        "rule_slots": theory.rule.slots,
        "rule_stop": theory.rule.stop,
    })
}
