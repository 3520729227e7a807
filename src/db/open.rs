//! The state that all clones of a database handle share, and how it is closed.
//!
//! In: an opened writer. Out: the writer, as long as the database is open and the process is the one that opened it. This
//! file must not know what is stored.

use std::sync::Arc;

use super::OpenReport;
use crate::error::{Error, Result};
use crate::ingest::{Background, Writer};
use crate::store::file_layer::FileLayer;
use crate::sync::Ranked;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::lock_order::HANDLE;

/// An open database. Dropping the last handle drops this and closes the database.
#[derive(Debug)]
pub(super) struct Open {
    writer: Arc<Writer>,
    background: Ranked<HANDLE, Background>,
    closed: AtomicBool,
    pub(super) report: OpenReport,
    /// The file layer to which [`pack`](super::Database::pack) writes copies.
    pub(super) copies: Arc<dyn FileLayer>,
}

impl Open {
    pub(super) fn new(writer: Writer, report: OpenReport, copies: Arc<dyn FileLayer>) -> Open {
        let writer = Arc::new(writer);
        let background = Ranked::new(Background::start(&writer));
        Open { writer, background, closed: AtomicBool::new(false), report, copies }
    }

    /// Returns the writer, even if the database is closed.
    pub(super) fn any_writer(&self) -> &Arc<Writer> {
        &self.writer
    }

    /// Returns the writer if the database is open.
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

    /// Closes the database. Later calls fail with [`Error::Closed`].
    pub(super) fn close(&self) -> Result<()> {
        self.writer.check_process()?;
        if self.closed.swap(true, Ordering::AcqRel) {
            return Err(self.closed_error());
        }
        self.background.lock().stop();
        self.writer.close()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.writer.check_process().is_err() {
            // The writer's files and locks belong to the parent process, so they must not be dropped here.
            std::mem::forget(Arc::clone(&self.writer));
            return;
        }
        // A caller who wants to know about failures calls `Database::close`. This does nothing after it.
        let _ = self.close();
    }
}
