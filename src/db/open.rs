//! What all clones of a database handle share, and how it is closed.
//!
//! In: an opened writer. Out: the writer, as long as the database is open and this is the process that opened it. It must
//! not know what is stored.

use std::sync::Arc;

use super::OpenReport;
use crate::error::{Error, Result};
use crate::ingest::{Maintenance, Writer};
use crate::store::file_layer::FileLayer;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, PoisonError};

/// An open database. The last handle that is dropped drops this, which closes the database.
#[derive(Debug)]
pub(super) struct Open {
    writer: Arc<Writer>,
    maintenance: Mutex<Maintenance>,
    closed: AtomicBool,
    pub(super) report: OpenReport,
    /// The file system of copies that are packed.
    pub(super) copies: Arc<dyn FileLayer>,
}

impl Open {
    pub(super) fn new(writer: Writer, report: OpenReport, copies: Arc<dyn FileLayer>) -> Open {
        let writer = Arc::new(writer);
        let maintenance = Mutex::new(Maintenance::start(&writer));
        Open { writer, maintenance, closed: AtomicBool::new(false), report, copies }
    }

    /// The writer, whatever its state.
    pub(super) fn any_writer(&self) -> &Arc<Writer> {
        &self.writer
    }

    /// The writer of an open database.
    pub(super) fn writer(&self) -> Result<&Arc<Writer>> {
        self.writer.check_process()?;
        match self.closed.load(Ordering::Acquire) {
            true => Err(self.closed_error()),
            false => Ok(&self.writer),
        }
    }

    fn closed_error(&self) -> Error {
        Error::Closed { path: self.writer.path().to_path_buf() }
    }

    /// Closes the database. Only the first call does anything.
    pub(super) fn close(&self) -> Result<()> {
        self.writer.check_process()?;
        if self.closed.swap(true, Ordering::AcqRel) {
            return Err(self.closed_error());
        }
        self.maintenance.lock().unwrap_or_else(PoisonError::into_inner).stop();
        self.writer.close()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.writer.check_process().is_err() {
            // What the writer holds belongs to the process that this one was forked from: it is not even dropped.
            std::mem::forget(Arc::clone(&self.writer));
            return;
        }
        // Whoever wants to know of failures calls `Database::close`, after which this does nothing.
        let _ = self.close();
    }
}
