//! Arbitrary bytes as a text, a page and a URL. The fast paths find what the definition finds, reused readers find
//! what new ones find, and nothing grows without bound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringer::features::{self, Ends, GramReader, ShingleReader, SpotReader, definition, html};

fn check(text: &[u8]) {
    let words = definition::words(text);
    let characters: Vec<String> = definition::gram_text(text).chars().map(String::from).collect();
    for n in [1, 2, 5, 64] {
        let of = |parts: &[String], looped, glue| {
            Ok(features::tokens(definition::runs(parts, n.into(), looped, glue)))
        };
        assert_eq!(features::shingles(text, n), of(&words, true, " "));
        assert_eq!(features::plain_shingles(text, n), of(&words, false, " "));
        assert_eq!(features::grams(text, n), of(&characters, true, ""));
        assert_eq!(features::plain_grams(text, n), of(&characters, false, ""));
    }
    for (distance, chain) in [(1, 1), (1, 3), (3, 2)] {
        let spots = features::spots(text, distance, chain).expect("spots");
        assert!(spots.len() <= words.len());
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let page = html::visible_text(bytes);
    // An entity of a few bytes becomes at most two characters.
    assert!(page.len() <= 6 * bytes.len());
    check(&page);
    assert!(features::url(bytes).len() <= bytes.len());

    let mut shingles = ShingleReader::new(5, Ends::Looped).expect("a reader");
    let mut grams = GramReader::new(5, Ends::Plain).expect("a reader");
    let mut spots = SpotReader::new(1, 2).expect("a reader");
    let mut features = Vec::new();
    for text in [bytes, &page, b"", bytes] {
        features.clear();
        shingles.features_into(text, &mut features);
        assert_eq!(Ok(&features), features::shingles(text, 5).as_ref());
        features.clear();
        grams.features_into(text, &mut features);
        assert_eq!(Ok(&features), features::plain_grams(text, 5).as_ref());
        features.clear();
        spots.features_into(text, &mut features);
        assert_eq!(Ok(&features), features::spots(text, 1, 2).as_ref());
    }
});
