//! Arbitrary bytes in arbitrary pieces. The concatenated chunks are the input, lengths are within their bounds, and
//! the pieces make no difference.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use ringer::features::{Chunk, Chunker, chunks};
use ringer::limits::{MAX_HORIZON, MIN_HORIZON};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    horizon: u32,
    pieces: Vec<u16>,
    /// How often the bytes are repeated, so that a short input makes a long one.
    times: u8,
    bytes: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    if chunks(input.bytes, input.horizon).is_err() {
        assert!(!(MIN_HORIZON..=MAX_HORIZON).contains(&input.horizon));
    }
    let horizon = MIN_HORIZON + input.horizon % 128;
    let bytes = input.bytes.repeat(1 + usize::from(input.times % 16));
    let h = horizon as usize;

    let mut chunker = Chunker::new(horizon).expect("a horizon in range");
    let (mut joined, mut features, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    let mut keep = |chunk: Chunk<'_>| {
        assert_eq!(chunk.start(), joined.len() as u64);
        joined.extend_from_slice(chunk.bytes());
        features.push(chunk.feature());
        lengths.push(chunk.bytes().len());
    };
    let mut rest = &*bytes;
    for piece in &input.pieces {
        let (now, later) = rest.split_at(rest.len().min(usize::from(*piece)));
        chunker.push(now, &mut keep);
        rest = later;
    }
    chunker.push(rest, &mut keep);
    chunker.finish(&mut keep);

    assert_eq!(joined, bytes);
    assert_eq!(chunks(&bytes, horizon), Ok(features));
    if let [inner @ .., last] = &*lengths {
        assert!(inner.iter().all(|n| (h + 1..=8 * h).contains(n)));
        assert!((1..=8 * h).contains(last) && (*last >= h || inner.is_empty()));
    }
});
