//! Selects the operation that fails, and how it fails.

use std::io;

/// What a failing operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It does nothing and reports a device error (`EIO`).
    Device,
    /// It does nothing and reports a full device (`ENOSPC`).
    Full,
    /// It does nothing and reports an error of this kind.
    Kind(io::ErrorKind),
    /// A write leaves up to this many of its first bytes, and then reports a full device. Any other operation does
    /// nothing.
    ShortWrite(usize),
    /// It does nothing and panics, as a defect would.
    Panic,
}

impl Failure {
    pub(super) fn error(self) -> io::Error {
        match self {
            Failure::Device => io::Error::from_raw_os_error(5),
            Failure::Full | Failure::ShortWrite(_) => io::ErrorKind::StorageFull.into(),
            Failure::Kind(kind) => kind.into(),
            Failure::Panic => panic!("the file system was told to panic"),
        }
    }
}

/// A failure to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    succeed: usize,
    failure: Failure,
    syncs_only: bool,
    sticky: bool,
}

impl Fault {
    /// Lets the next `succeed` changing operations succeed. The one after them fails.
    pub fn after(succeed: usize, failure: Failure) -> Fault {
        Fault { succeed, failure, syncs_only: false, sticky: false }
    }

    /// Lets the next `succeed` syncs of files or directories succeed. The one after them fails. No other operation
    /// fails.
    pub fn after_syncs(succeed: usize, failure: Failure) -> Fault {
        Fault { syncs_only: true, ..Fault::after(succeed, failure) }
    }

    /// Makes all later operations of the same kind fail too.
    pub fn sticky(self) -> Fault {
        Fault { sticky: true, ..self }
    }
}

/// The armed fault, if any, and how often one tripped.
#[derive(Debug, Default)]
pub(super) struct Armed {
    fault: Option<Fault>,
    pub(super) tripped: usize,
}

impl Armed {
    pub(super) fn set(&mut self, fault: Option<Fault>) {
        *self = Armed { fault, tripped: 0 };
    }

    /// Returns how the next operation fails, if it does.
    pub(super) fn trip(&mut self, is_sync: bool) -> Option<Failure> {
        let fault = self.fault.filter(|f| f.succeed == 0 && (is_sync || !f.syncs_only))?;
        self.tripped += 1;
        if !fault.sticky {
            self.fault = None;
        }
        Some(fault.failure)
    }

    /// Counts an operation that succeeded.
    pub(super) fn count(&mut self, is_sync: bool) {
        if let Some(fault) = self.fault.as_mut().filter(|f| is_sync || !f.syncs_only) {
            fault.succeed = fault.succeed.saturating_sub(1);
        }
    }
}
