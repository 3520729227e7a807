//! When do two sets match? The one rule that queries, pairs and clusters share.
//!
//! In: what the caller asked for, and two signatures. Out: whether they match. Knows nothing of files, indexes or
//! rankings.
//!
//! Two sets match if
//! 1. their signatures agree in at least `min_slots` slots ([`slots`] counts them), and
//! 2. their similarity reaches the threshold ([`rule`] decides by the number of equal samples and the set sizes).
//!
//! [`requirements`] checks what the caller asked for against the scheme, and gives the [`Conditions`] that both parts
//! apply.

mod memo;
mod requirements;
mod rule;
mod slots;

pub(crate) use requirements::{Conditions, Requirements, Threshold, check_countable};
pub(crate) use rule::{MatchRule, Minimum};
pub(crate) use slots::SlotMatcher;
