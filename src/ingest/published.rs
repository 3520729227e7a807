//! The state that readers see.

use std::sync::Arc;

use super::lock_order::PUBLISHED;
use crate::store::memtable::Memtable;
use crate::store::state::State;
use crate::sync::Ranked;

/// The current state. Readers keep the one they got; a change makes a new one.
#[derive(Debug)]
pub(super) struct Published(Ranked<PUBLISHED, Arc<State>>);

impl Published {
    pub(super) fn new(state: State) -> Published {
        Published(Ranked::new(Arc::new(state)))
    }

    /// What a reader sees now.
    pub(super) fn state(&self) -> Arc<State> {
        Arc::clone(&self.0.lock())
    }

    /// Makes a new state from the current one and shows it to all later readers.
    pub(super) fn publish(&self, change: impl FnOnce(&mut State)) {
        let mut published = self.0.lock();
        let mut state = State::clone(&published);
        change(&mut state);
        *published = Arc::new(state);
    }

    /// Starts a new memtable. The old one is frozen until a checkpoint has put it into a segment.
    pub(super) fn freeze(&self) {
        self.publish(|state| {
            let fresh = Arc::new(Memtable::new(&state.scheme));
            state.frozen = Some(std::mem::replace(&mut state.active, fresh));
        });
    }

    /// Whether a memtable waits for its checkpoint.
    pub(super) fn has_frozen(&self) -> bool {
        self.state().frozen.is_some()
    }
}
