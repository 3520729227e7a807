//! A new file that takes the place of the database file: the end of a vacuum and of a reindex (STEP-9, STEP-13).
//!
//! In: a complete, synced file with a temporary name. Out: the same file under the database's name, or a failure
//! before which nothing has changed. It must not know what is in the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::Context;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::store::companions::{self, Companion, Leftover, parent_of};
use crate::store::file_layer::{Access, File};

/// A file beside the database that is to replace it.
#[derive(Debug)]
pub(super) struct Replacement<'a> {
    context: &'a Context,
    path: PathBuf,
    file: Arc<dyn File>,
}

impl<'a> Replacement<'a> {
    /// Creates the file, with the temporary mark of this database and the rights of the database file. A leftover of
    /// an earlier try is replaced.
    pub(super) fn create(writer: &'a Writer) -> Result<Replacement<'a>> {
        let context = &*writer.context;
        let path = Companion::Vacuum.path(&context.path);
        let own = Some(context.database);
        if companions::remove_leftover(&*context.layer, &path, own, None)? == Leftover::Theirs {
            return Err(Error::NotOurs { path, database: context.path.to_path_buf() });
        }
        let file = context.layer.open(&path, Access::CreateNew);
        let file = file.map_err(|error| Error::io("create", &path, error))?;
        let new = Replacement { context, path, file };
        new.or_forget(|| {
            companions::write_mark(&*new.file, &new.path, context.database)?;
            let set = writer.rights()?.map_or(Ok(()), |rights| new.file.set_rights(&rights));
            set.map_err(|error| Error::io("set the rights of", &new.path, error))
        })?;
        Ok(new)
    }

    /// The file.
    pub(super) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// Its temporary name.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a step, and removes the file if that fails. Nothing refers to it. If it cannot be removed, closing or
    /// the next open removes it.
    pub(super) fn or_forget<T>(&self, step: impl FnOnce() -> Result<T>) -> Result<T> {
        step().inspect_err(|_| {
            let _ = companions::remove_own(&*self.context.layer, &self.path, &*self.file);
        })
    }

    /// V3 and V4: checks that the database's name belongs to the file that is open, `old`, and the temporary name to
    /// this one. Then gives it the database's name, and makes that durable. A failure after the checks poisons the
    /// writer. `mark` is the file that takes the commit marks. The caller holds its lock, so that no commit comes between
    /// the checks and the rename. Marks go to the new file as soon as it has the name, even if a later step fails.
    pub(super) fn take_place_of(&self, old: &dyn File, mark: &mut Arc<dyn File>) -> Result<()> {
        self.or_forget(|| {
            self.context.check_own(old)?;
            match companions::has_name(&*self.context.layer, &self.path, &*self.file)? {
                true => Ok(()),
                false => Err(Error::Replaced { path: self.path.clone() }),
            }
        })?;
        self.rename(mark).map_err(|error| self.context.health.poison(error))
    }

    fn rename(&self, mark: &mut Arc<dyn File>) -> Result<()> {
        let (layer, target) = (&self.context.layer, &self.context.path);
        let renamed = layer.rename(&self.path, target);
        // Over a network, a rename may report a failure although it was done.
        if renamed.is_ok() || companions::has_name(&**layer, target, &*self.file).unwrap_or(false) {
            *mark = Arc::clone(&self.file);
        }
        renamed.map_err(|error| Error::io("rename", &self.path, error))?;
        let parent = parent_of(target);
        layer.sync_dir(parent).map_err(|error| Error::io("sync", parent, error))?;
        companions::clear_mark(&*self.file, target)
    }
}
