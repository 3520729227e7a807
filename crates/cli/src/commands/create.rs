//! `ringer create`: creates an empty database.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use ringer::estimate::capacity;
use ringer::scheme::{CardinalityField, Elements, Features, Measure, Packing, Sampler, Universe};
use ringer::{Database, Parameters, Scheme, presets};
use serde_json::json;

use super::slots::SlotChoices;
use crate::exit::{self, Failure};
use crate::open;
use crate::show::{self, Output, Style};

/// Create an empty database.
///
/// How documents become sets, and what is stored of each set, cannot be changed later. Only the slots of the index can, and
/// bits can become fewer: see `ringer reindex`. The presets suit most data. `ringer plan` helps to choose other values.
#[derive(Args)]
#[command(after_help = "Examples:
  ringer create notes.ringer
  ringer create web.ringer --sets 1000000000
  ringer create baskets.ringer --features tokens --preset precise
  ringer create files.ringer --features chunks
  ringer create words.ringer --features ids --universe 65536 --samples 256 --bits 2
  ringer create small.ringer --features tokens --keep-sets
  ringer create recipes.ringer --features tokens --sampler weighted
  ringer create vectors.ringer --features ids --preset cosine")]
pub(crate) struct Create {
    /// The path of the new database. It must not exist.
    #[arg(value_name = "DB")]
    path: PathBuf,
    #[command(flatten)]
    choices: Choices,
}

/// The options that determine a scheme.
#[derive(Args)]
pub(crate) struct Choices {
    /// The scheme to start from. Other options change single values [default: near-duplicate].
    #[arg(long, value_parser = preset_names())]
    preset: Option<String>,
    /// How documents become sets: text, grams, spots, chunks, url, tokens or ids. A number can follow, such as text:3 for
    /// three-word shingles.
    #[arg(long, default_value = "text")]
    features: Features,
    /// Number of samples in a signature (k).
    #[arg(long, value_name = "K")]
    samples: Option<u32>,
    /// Bits stored of each sample (b), 1 to 16.
    #[arg(long, value_name = "B")]
    bits: Option<u8>,
    #[command(flatten)]
    slots: SlotChoices,
    /// The sampler: every-bin, one-permutation, independent or lazy; weighted for sets whose elements have weights;
    /// sign-projection for the cosine of vectors [default: the preset's sampler; with --universe, one-permutation].
    #[arg(long)]
    sampler: Option<Sampler>,
    /// How samples are stored: low-bits, or xor-pairs of single bits, which are more precise above resemblance 0.58.
    #[arg(long)]
    packing: Option<Packing>,
    /// All elements are numbers below D. Use this if sets contain a large part of these numbers.
    #[arg(long, value_name = "D")]
    universe: Option<u64>,
    /// How the size of a set is stored: none, linear4, linear8, log8 or exact.
    #[arg(long, value_name = "FIELD")]
    cardinality: Option<CardinalityField>,
    /// Also store the elements of each set, so that answers are exact. With fewer than 64 bits per element, 8 to 63, they take
    /// less space, and answers remain estimates.
    #[arg(long, value_name = "BITS", num_args = 0..=1, require_equals = true, default_missing_value = "64")]
    keep_sets: Option<u8>,
    /// The seed of all hash functions. Signatures with different seeds cannot be compared [default: random, so that nobody can
    /// construct colliding sets].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

fn preset_names() -> clap::builder::PossibleValuesParser {
    presets::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().into()
}

impl Choices {
    /// The scheme, if the choices fit together.
    pub(crate) fn scheme(&self) -> Result<Scheme, Failure> {
        self.slots.check()?;
        let preset = self.preset().with_random_seed();
        // The every-bin sampler does not support a bounded universe.
        let usual = match (preset.sampler, self.universe) {
            (Sampler::EveryBin, Some(_)) => Sampler::OnePermutation,
            (sampler, _) => sampler,
        };
        let sampler = self.sampler.unwrap_or(usual);
        let parameters = preset
            .with_features(self.features)
            .with_sampler(sampler)
            .with_packing(self.packing.unwrap_or(preset.packing))
            .with_universe(self.universe.map_or(preset.universe, Universe::Bounded))
            .with_seed(self.seed.unwrap_or(preset.seed))
            .with_samples(self.samples.unwrap_or(preset.samples))
            .with_bits(self.bits.unwrap_or(preset.bits))
            .with_cardinality(self.cardinality.unwrap_or(preset.cardinality))
            .with_elements(self.keep_sets.map_or(preset.elements, |bits| Elements::Kept { bits }));
        self.with_slots(parameters).and_then(Scheme::new).map_err(exit::bad_argument)
    }

    /// The named preset, or the one that fits the sampler and the packing.
    fn preset(&self) -> Parameters {
        let named = presets::ALL.iter().find(|(name, _)| Some(*name) == self.preset.as_deref());
        let preset = match (named, self.sampler, self.packing) {
            (Some((_, preset)), ..) => *preset,
            (None, Some(Sampler::SignProjection), _) => presets::COSINE,
            (None, _, Some(Packing::XorPairs)) => presets::HALF_BIT,
            _ => presets::NEAR_DUPLICATE,
        };
        let weighs = self.sampler.is_some_and(|sampler| sampler.measure() != Measure::Jaccard);
        let cardinality = if weighs { CardinalityField::None } else { preset.cardinality };
        preset.with_cardinality(cardinality)
    }

    /// Chooses the slots. For a number of sets, samples and bits that were not given are chosen, too.
    fn with_slots(&self, parameters: Parameters) -> ringer::Result<Parameters> {
        let fixed = self.samples.is_some() || self.bits.is_some();
        let usual = parameters.slots.value_bits;
        let chosen = self.slots.apply(parameters, self.samples.is_some(), usual);
        match self.slots.sets() {
            None => Ok(chosen),
            Some(sets) if fixed => {
                let slots = capacity::slots_for(&Scheme::new(chosen)?, sets)?;
                Ok(chosen.with_slots(slots))
            }
            Some(sets) => capacity::parameters_for(chosen, sets),
        }
    }
}

/// The scheme of options, or why there is none.
pub(crate) fn scheme_of(options: impl IntoIterator<Item = OsString>) -> Result<Scheme, String> {
    let command = Choices::augment_args(clap::Command::new("scheme").no_binary_name(true));
    let parsed = command.try_get_matches_from(options);
    let choices = parsed.and_then(|matches| Choices::from_arg_matches(&matches));
    let choices = choices.map_err(|error| {
        // The first paragraph says what is wrong. The others are about the command line.
        let message = error.to_string();
        let first = message.split("\n\n").next().unwrap_or_default();
        first.trim().trim_start_matches("error: ").to_string()
    })?;
    choices.scheme().map_err(|failure| match failure {
        Failure::Usage(message) | Failure::Io(message) | Failure::Limit(message) => message,
        Failure::Library(error) => error.to_string(),
        Failure::Findings | Failure::Interrupted | Failure::OutputClosed => String::new(),
    })
}

impl Create {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let scheme = self.choices.scheme()?;
        open::folder_of(&self.path)?;
        Database::create(&self.path, &scheme, style.options())?.close()?;
        let mut out = Output::new();
        if style.json {
            let path = show::json_key(self.path.as_os_str().as_encoded_bytes());
            out.line(json!({ "created": path, "scheme": scheme.to_string() }))?;
        } else if !style.quiet {
            out.line(format_args!("created {}: {scheme}", show::path(&self.path)))?;
        }
        out.flush()
    }
}
