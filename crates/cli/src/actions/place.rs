//! Puts links in the place of files, and files into another folder. Nothing is ever replaced but the file itself, and a
//! content is complete in its new place before it leaves the old one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::LinkKind;
use super::identity::Identity;
use crate::interrupt;
use crate::show;
use crate::staged::parent;

/// Replaces a file by a link to the kept one. The link is made under a temporary name, checked and renamed.
pub(super) fn link(kind: LinkKind, kept: &Path, file: &Path, state: Identity) -> io::Result<()> {
    let temporary = temporary(file);
    match kind {
        LinkKind::Hard => fs::hard_link(kept, &temporary)?,
        LinkKind::Symbolic => symbolic(&way(parent(file), kept)?, &temporary)?,
    }
    let replaced = leads_to(&temporary, state).and_then(|()| fs::rename(&temporary, file));
    if replaced.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

/// Fails if a link leads to another file.
fn leads_to(link: &Path, state: Identity) -> io::Result<()> {
    let found = Identity::of(&link.canonicalize()?)?;
    match found.is_same_file(&state) || !cfg!(unix) {
        true => Ok(()),
        false => Err(io::Error::other("the kept file was replaced")),
    }
}

#[cfg(unix)]
fn symbolic(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symbolic(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "symbolic links are not supported here"))
}

/// The path of a file as seen from a folder, so that both can be moved together.
fn way(folder: &Path, file: &Path) -> io::Result<PathBuf> {
    let (folder, file) = (folder.canonicalize()?, file.canonicalize()?);
    let common = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    Ok(up.chain(file.components().skip(common)).collect())
}

/// Moves a file into a folder, under its own path.
pub(super) fn move_into(folder: &Path, file: &Path, state: Identity) -> io::Result<()> {
    let target = folder.join(below(file));
    let shown = show::path(&target);
    let exists = || io::Error::new(io::ErrorKind::AlreadyExists, format!("{shown} exists"));
    if target.symlink_metadata().is_ok() {
        return Err(exists());
    }
    fs::create_dir_all(parent(&target))?;
    match rename_new(file, &target) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy_and_remove(file, &target, state)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists()),
        renamed => renamed,
    }
}

/// A path without what leads out of a folder: `../a/b` and `/a/b` become `a/b`.
fn below(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

/// Renames a file to a name that does not exist.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from) {
        // Not every file system can do this.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            link_and_remove(from, to)
        }
        renamed => renamed,
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    link_and_remove(from, to)
}

/// A hard link never replaces a file.
fn link_and_remove(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

/// Moves a file to another file system: copies it under a temporary name, syncs the copy, gives it its name, and removes the
/// file if nobody has changed it meanwhile.
fn copy_and_remove(file: &Path, target: &Path, state: Identity) -> io::Result<()> {
    let temporary = temporary(target);
    interrupt::remove_at_exit(&temporary);
    let copied = copy(file, &temporary, state).and_then(|()| rename_new(&temporary, target));
    if let Err(error) = copied {
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    File::open(parent(target))?.sync_all()?;
    if !Identity::of(file).is_ok_and(|found| found == state) {
        fs::remove_file(target)?;
        return Err(io::Error::other("it has changed while it was copied"));
    }
    fs::remove_file(file)
}

fn copy(file: &Path, temporary: &Path, state: Identity) -> io::Result<()> {
    let mut from = File::open(file)?;
    let found = from.metadata()?;
    let mut to = OpenOptions::new().write(true).create_new(true).open(temporary)?;
    let copied = io::copy(&mut from, &mut to)?;
    if copied != state.bytes {
        return Err(io::Error::other("it has changed while it was copied"));
    }
    to.set_permissions(found.permissions())?;
    if let Ok(time) = found.modified() {
        to.set_modified(time)?;
    }
    to.sync_all()
}

/// A short name beside a path that no other process uses.
fn temporary(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let unique = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.subsec_nanos());
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    parent(path).join(format!(".ringer-{}-{unique}-{next}", std::process::id()))
}
