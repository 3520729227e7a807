//! All evaluations against the definition, word by word.

use super::lanes::MAX_FEW;
use super::*;
use crate::scheme::{Parameters, Sampler, Slots, presets};
use crate::sketch::hash::mix;

fn sampler(samples: u32, seed: u64) -> EveryBin {
    let (sampler, slots) = (Sampler::EveryBin, Slots::NONE);
    let scheme = Parameters { samples, seed, sampler, slots, ..presets::PRECISE };
    EveryBin::new(&Scheme::new(scheme).unwrap())
}

/// SAMPLE-12, SAMPLE-13, SAMPLE-14 and SAMPLE-15, one bin and one element at a time.
fn defined(sampler: &EveryBin, seed: u64, elements: &[u64]) -> Vec<u16> {
    let bins = sampler.orders.bins();
    let winner = |bin: usize| {
        let rank = |x: &u64| {
            let hash = sampler.hash(*x);
            let start = sampler.orders.start(hash, folded(hash));
            let rank = sampler.orders.ranks()[sampler.orders.place(start) + bin];
            (rank, sampler.tie(hash, bin, rank), hash)
        };
        elements.iter().map(rank).min().unwrap().2
    };
    let keys = Keys::new(seed, Purpose::Samples);
    let sample = |bin: usize| {
        let (f, key) = (folded(winner(bin)), keys.key(bin as u64));
        let half = |value: u32, mask: u64, times: u64| {
            let product = (value & 0xFFFF ^ mask as u32 & 0xFFFF) * (times as u32 & 0xFFFF | 1);
            product ^ product >> 16
        };
        (half(f, key, key >> 32) ^ half(f >> 16, key >> 16, key >> 48)) as u16
    };
    (0..bins).map(sample).collect()
}

#[test]
fn all_evaluations_are_the_definition() {
    let (mut visits, mut bitmap) = (Visits::default(), HashBitmap::default());
    for (bins, most, step) in [
        (64, 2000, 1),
        (128, 600, 1),
        (128, 2000, 7),
        (1, 130, 7),
        (2, 130, 7),
        (3, 200, 7),
        (37, 2000, 1),
        (100, 1000, 11),
        (255, 300, 19),
        (257, 300, 19),
        (1000, 300, 57),
    ] {
        let sampler = sampler(bins, u64::from(bins));
        let elements: Vec<u64> = (0..most).map(|i| mix(i + 1000 * u64::from(bins))).collect();
        for count in (1..=most as usize).step_by(step) {
            let elements = &elements[..count];
            let expected = defined(&sampler, u64::from(bins), elements);
            sampler.sample_many(elements, None, &mut visits);
            assert_eq!(visits.samples(), expected, "by time, {bins} bins, {count} elements");
            if HashBitmap::suits(count) {
                visits.samples.fill(0);
                assert!(bitmap.fill(sampler.element_key, elements, |_| true));
                sampler.sample_many(elements, Some(&bitmap), &mut visits);
                assert_eq!(visits.samples(), expected, "mapped, {bins} bins, {count} elements");
            }
            if count <= MAX_FEW {
                visits.samples.fill(0);
                sampler.sample_few(elements, &mut visits);
                assert_eq!(visits.samples(), expected, "in lanes, {bins} bins, {count} elements");
            }
        }
    }
}
