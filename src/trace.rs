//! Spans and events for the crate `tracing`, with the feature `tracing`.
//!
//! In: the name of a step and its numbers. Out: a span or an event with the target `ringer` and the level DEBUG. Without the
//! feature both macros expand to nothing, and their arguments are not evaluated. Keys, sets and paths are never recorded.
//! `benches/tracing.rs` measures what they cost while nobody listens.

/// Opens a span that lasts until the end of the enclosing block.
#[cfg(feature = "tracing")]
macro_rules! span {
    ($name:literal $(, $field:ident = $value:expr)*) => {
        let _span = ::tracing::debug_span!(target: "ringer", $name $(, $field = $value)*).entered();
    };
}

/// Records that a step is done.
#[cfg(feature = "tracing")]
macro_rules! event {
    ($message:literal $(, $field:ident = $value:expr)*) => {
        ::tracing::debug!(target: "ringer", $($field = $value,)* $message);
    };
}

#[cfg(not(feature = "tracing"))]
macro_rules! span {
    ($($unused:tt)*) => {};
}

#[cfg(not(feature = "tracing"))]
macro_rules! event {
    ($($unused:tt)*) => {};
}

pub(crate) use {event, span};
