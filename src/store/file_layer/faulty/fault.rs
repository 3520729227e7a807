//! Which operation is to fail, and how.

use std::io;

/// What an operation that fails does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Nothing, and the error is that of a broken device (`EIO`).
    Device,
    /// Nothing, and the device is full (`ENOSPC`).
    Full,
    /// Nothing, with an error of this kind.
    Kind(io::ErrorKind),
    /// A write leaves so many of its first bytes, all of them at most, and then finds the device full.
    /// Any other operation does nothing.
    ShortWrite(usize),
    /// Nothing: it panics, as a defect would.
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
    /// The next `succeed` changing operations succeed, the one after them fails.
    pub fn after(succeed: usize, failure: Failure) -> Fault {
        Fault { succeed, failure, syncs_only: false, sticky: false }
    }

    /// The next `succeed` syncs of files or directories succeed, the one after them fails. No other
    /// operation does.
    pub fn after_syncs(succeed: usize, failure: Failure) -> Fault {
        Fault { syncs_only: true, ..Fault::after(succeed, failure) }
    }

    /// All later operations of the kind fail too.
    pub fn sticky(self) -> Fault {
        Fault { sticky: true, ..self }
    }
}

/// The fault that is set, if any, and how often one struck.
#[derive(Debug, Default)]
pub(super) struct Armed {
    fault: Option<Fault>,
    pub(super) struck: usize,
}

impl Armed {
    pub(super) fn set(&mut self, fault: Option<Fault>) {
        *self = Armed { fault, struck: 0 };
    }

    /// How the operation that is about to be made fails, if it does.
    pub(super) fn strike(&mut self, is_sync: bool) -> Option<Failure> {
        let fault = self.fault.filter(|f| f.succeed == 0 && (is_sync || !f.syncs_only))?;
        self.struck += 1;
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
