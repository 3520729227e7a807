//! The published state, which readers see.
//!
//! In: changes by commits, checkpoints and merges. Out: immutable states, shared by `Arc`.

use std::sync::Arc;

use crate::store::memtable::Memtable;
use crate::store::state::State;
use crate::sync::Ranked;
use crate::sync::lock_order::PUBLISHED;

/// The current state. A change publishes a new one; readers keep the one they have.
#[derive(Debug)]
pub(super) struct Published(Ranked<PUBLISHED, Arc<State>>);

impl Published {
    pub(super) fn new(state: State) -> Published {
        Published(Ranked::new(Arc::new(state)))
    }

    /// The state that readers see now.
    pub(super) fn state(&self) -> Arc<State> {
        Arc::clone(&self.0.lock())
    }

    /// Copies the current state, changes the copy, and publishes it.
    pub(super) fn publish(&self, change: impl FnOnce(&mut State)) {
        let mut published = self.0.lock();
        let mut state = State::clone(&published);
        change(&mut state);
        *published = Arc::new(state);
    }

    /// Starts a new memtable. The old one stays frozen until its checkpoint is published.
    pub(super) fn freeze(&self) {
        self.publish(|state| {
            let fresh = Arc::new(Memtable::new(&state.scheme));
            state.frozen = Some(std::mem::replace(&mut state.active, fresh));
        });
    }

    /// Whether a frozen memtable waits for its checkpoint.
    pub(super) fn has_frozen(&self) -> bool {
        self.state().frozen.is_some()
    }
}
