//! Any bytes as a text: as many shingles as words, whatever the bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringer::features::shingles;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).count();
    for w in [1, 2, 5, 64] {
        assert_eq!(shingles(bytes, w).map(|s| s.len()), Ok(words));
    }
});
