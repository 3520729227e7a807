//! Tokens that the caller provides. In: bytes. Out: their hashes (FEAT-2).

use xxhash_rust::xxh3::xxh3_64;

/// The feature of one token (FEAT-2).
pub fn token(token: impl AsRef<[u8]>) -> u64 {
    xxh3_64(token.as_ref())
}

/// The features of many tokens, in order and with repeats.
///
/// ```
/// let basket = ringer::features::tokens(["bread", "milk", "milk"]);
/// assert_eq!(basket[1], basket[2]);
/// ```
pub fn tokens<T: AsRef<[u8]>>(all: impl IntoIterator<Item = T>) -> Vec<u64> {
    all.into_iter().map(token).collect()
}
