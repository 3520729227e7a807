//! sled's files under damage: a prefix or a report, never a wrong payload, a panic or a hang.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "a test fails by a panic"
)]

use super::super::tests::{Place, expected};
use super::*;
use crate::store::hot_tier::HotKind;

/// HOT-9: keys order as sequences and parts do.
#[test]
fn keys_order_as_sequences_and_parts_do() {
    let places = [(0, 0), (1, 0), (1, 1), (1, 255), (1, 256), (2, 0), (255, 7), (256, 0)];
    let keys = places.map(|(sequence, part)| key(sequence, part));
    assert!(keys.is_sorted());
    assert_eq!(key(0x0102_0304_0506_0708, 0x090a_0b0c), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
}

/// A tier with the commits `1..=40`, of which those up to 25 are trimmed, and its files.
fn written(folder: &Path) -> (Place, PathBuf) {
    let place = Place::real(folder, HotKind::Sled);
    let tier = place.create();
    place.append(&*tier, 1..=30);
    tier.trim(25).unwrap();
    place.append(&*tier, 31..=40);
    drop(tier);
    let log = place.directory.join(NAME).join(LOG);
    (place, log)
}

#[test]
fn an_intact_tier_of_sled_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let (place, _) = written(folder.path());
    place.holds(25, 40);
    assert_eq!(expected(25, 40).len(), 15);
}
