//! Arbitrary bytes as a scheme: an error, or a usable scheme that encodes to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringer::{Scheme, Sketcher};

fuzz_target!(|bytes: &[u8]| {
    let Ok(scheme) = Scheme::from_bytes(bytes) else { return };
    assert_eq!(&scheme.to_bytes()[..], bytes);
    assert_eq!(Scheme::new(*scheme), Ok(scheme.clone()));
    // Tables grow with the number of samples; a few hundred are enough for the test.
    if scheme.samples <= 300 {
        let sketcher = Sketcher::new(&scheme);
        let signature = sketcher.sketch(&[0, 1]).expect("every universe has two elements");
        assert_eq!(signature.count_equal(&signature), Ok(scheme.samples));
    }
});
