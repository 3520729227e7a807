//! The options that choose the slots of a scheme, for `create` and `reindex`.

use ringer::Parameters;
use ringer::scheme::Slots;

use crate::exit::Failure;

/// The options for slots. Values that are not given follow from the others.
#[derive(clap::Args)]
pub(crate) struct SlotChoices {
    /// Number of index slots (L); 0 for no index.
    #[arg(long, value_name = "L")]
    slots: Option<u16>,
    /// Samples per slot (g).
    #[arg(long, value_name = "G")]
    samples_per_slot: Option<u16>,
    /// Bits of a slot value (v), 1 to 32.
    #[arg(long, value_name = "V")]
    value_bits: Option<u8>,
    /// Equal slots that two sets need to be compared (m).
    #[arg(long, value_name = "M")]
    min_matches: Option<u16>,
    /// Choose slots so that a query meets at most 10 unrelated ones of so many sets by chance. `create` also chooses more
    /// bits or samples if slots alone would find fewer similar sets.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          conflicts_with_all = ["slots", "samples_per_slot", "value_bits", "min_matches"])]
    sets: Option<u64>,
}

impl SlotChoices {
    /// The number of sets to choose slots for.
    pub(super) fn sets(&self) -> Option<u64> {
        self.sets
    }

    /// Whether slots get another number of samples.
    pub(super) fn changes_length(&self) -> bool {
        self.samples_per_slot.is_some()
    }

    /// Whether no option is given.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_none() && self.sets.is_none() && !self.is_of_slots()
    }

    fn is_of_slots(&self) -> bool {
        self.samples_per_slot.is_some() || self.value_bits.is_some() || self.min_matches.is_some()
    }

    /// Rejects options that contradict each other.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.slots == Some(0) && self.is_of_slots() {
            let message = "--slots 0 means no index: leave out --samples-per-slot, --value-bits and --min-matches";
            return Err(Failure::Usage(message.into()));
        }
        Ok(())
    }

    /// Applies the options. Without them there are as many slots as the samples suffice for, if `changed` says that the
    /// numbers of the parameters no longer fit, and values have as many bits as the samples of a slot, up to
    /// `most_value_bits`.
    pub(super) fn apply(
        &self,
        mut parameters: Parameters,
        changed: bool,
        most_value_bits: u8,
    ) -> Parameters {
        let (samples, bits) = (parameters.samples, u32::from(parameters.bits));
        let slots = &mut parameters.slots;
        if self.slots == Some(0) {
            *slots = Slots::NONE;
            return parameters;
        }
        let changed = changed || self.samples_per_slot.is_some();
        let usual = u32::from(slots.samples_per_slot).min(samples.max(1)) as u16;
        slots.samples_per_slot = self.samples_per_slot.unwrap_or(usual);
        let enough = (samples / u32::from(slots.samples_per_slot.max(1))).max(1);
        let fitting = if changed { enough } else { u32::from(slots.count) };
        slots.count = self.slots.unwrap_or(u16::try_from(fitting).unwrap_or(u16::MAX));
        let most_bits = (u32::from(slots.samples_per_slot) * bits).min(32) as u8;
        slots.value_bits = self.value_bits.unwrap_or(most_value_bits.min(most_bits));
        let least = u16::from(slots.count > 0);
        let usual = slots.min_matches.max(least).min(slots.count.max(1));
        slots.min_matches = self.min_matches.unwrap_or(usual);
        parameters
    }
}
