//! Tests of what every file layer promises, run on each of them.

use std::io::ErrorKind;
use std::path::Path;

use super::faulty::FaultyFiles;
use super::memory::MemoryFiles;
use super::real::RealFiles;
use super::*;

/// One promise, checked in an empty directory of a layer.
type Promise = fn(&dyn FileLayer, &Path);

fn on_every_layer(promise: Promise) {
    let folder = tempfile::tempdir().unwrap();
    promise(&RealFiles, &folder.path().canonicalize().unwrap());
    let memory = MemoryFiles::new();
    memory.create_dir(Path::new("/here")).unwrap();
    promise(&memory, Path::new("/here"));
    let faulty = FaultyFiles::new();
    faulty.create_dir(Path::new("/here")).unwrap();
    promise(&faulty, Path::new("/here"));
}

fn kind_of<T: fmt::Debug>(result: io::Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

fn make(layer: &dyn FileLayer, path: &Path, bytes: &[u8]) {
    let file = layer.open(path, Access::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file.sync().unwrap();
}

fn read(layer: &dyn FileLayer, path: &Path) -> Vec<u8> {
    let file = layer.open(path, Access::Read).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize + 7];
    let n = file.read_up_to(&mut bytes, 0).unwrap();
    bytes.truncate(n);
    bytes
}

#[test]
fn bytes_come_back_from_where_they_were_written_with_zeros_between() {
    on_every_layer(|layer, here| {
        let file = layer.open(&here.join("f"), Access::CreateNew).unwrap();
        assert_eq!(file.length().unwrap(), 0);
        file.write_all_at(b"end", 5).unwrap();
        file.write_all_at(b"a", 1).unwrap();
        file.write_all_at(b"", 1 << 20).unwrap();
        file.sync().unwrap();
        assert_eq!(read(layer, &here.join("f")), b"\0a\0\0\0end");
        let mut two = [9; 2];
        assert_eq!(file.read_at(&mut two, 6).unwrap(), 2);
        assert_eq!(&two, b"nd");
        assert_eq!(file.read_at(&mut two, 8).unwrap(), 0);
        assert_eq!(file.read_at(&mut two, 1 << 40).unwrap(), 0);
        assert_eq!(file.read_at(&mut [], 0).unwrap(), 0);
    });
}

#[test]
fn a_file_is_cut_and_extended_with_zeros() {
    on_every_layer(|layer, here| {
        make(layer, &here.join("f"), b"abcd");
        let file = layer.open(&here.join("f"), Access::Write).unwrap();
        file.set_len(2).unwrap();
        file.set_len(4).unwrap();
        assert_eq!(file.length().unwrap(), 4);
        assert_eq!(read(layer, &here.join("f")), b"ab\0\0");
    });
}

#[test]
fn open_makes_no_file_unless_told_to_and_replaces_none() {
    on_every_layer(|layer, here| {
        let (f, d) = (here.join("f"), here.join("d"));
        assert_eq!(kind_of(layer.open(&f, Access::Read)), ErrorKind::NotFound);
        assert_eq!(kind_of(layer.open(&f, Access::Write)), ErrorKind::NotFound);
        assert_eq!(layer.kind(&f).unwrap(), None);
        make(layer, &f, b"x");
        layer.create_dir(&d).unwrap();
        assert_eq!(kind_of(layer.open(&f, Access::CreateNew)), ErrorKind::AlreadyExists);
        assert_eq!(kind_of(layer.open(&d, Access::CreateNew)), ErrorKind::AlreadyExists);
        assert_eq!(kind_of(layer.open(&d, Access::Read)), ErrorKind::IsADirectory);
        assert_eq!(kind_of(layer.open(&f.join("x"), Access::Read)), ErrorKind::NotADirectory);
        let missing = here.join("no").join("x");
        assert_eq!(kind_of(layer.open(&missing, Access::CreateNew)), ErrorKind::NotFound);
        assert_eq!(layer.kind(&f).unwrap(), Some(Kind::File));
        assert_eq!(layer.kind(&d).unwrap(), Some(Kind::Directory));
        assert_eq!(layer.kind(&f.join("x")).unwrap(), None);
        assert_eq!(read(layer, &f), b"x");
    });
}

#[test]
fn a_file_opened_to_read_cannot_be_changed() {
    on_every_layer(|layer, here| {
        make(layer, &here.join("f"), b"x");
        let file = layer.open(&here.join("f"), Access::Read).unwrap();
        assert!(file.write_all_at(b"y", 0).is_err());
        assert!(file.set_len(0).is_err());
        assert_eq!(read(layer, &here.join("f")), b"x");
    });
}

#[test]
fn a_link_is_the_same_file_and_replaces_nothing() {
    on_every_layer(|layer, here| {
        let (a, b) = (here.join("a"), here.join("b"));
        make(layer, &a, b"x");
        assert_eq!(kind_of(layer.link(&here.join("no"), &b)), ErrorKind::NotFound);
        layer.link(&a, &b).unwrap();
        assert_eq!(kind_of(layer.link(&a, &b)), ErrorKind::AlreadyExists);
        let open = |path| layer.open(path, Access::Write).unwrap();
        open(&b).write_all_at(b"y", 0).unwrap();
        assert_eq!(read(layer, &a), b"y");
        assert_eq!(open(&a).identity().unwrap(), open(&b).identity().unwrap());
        assert_eq!(open(&a).identity().unwrap().links, 2);
        layer.rename(&a, &b).unwrap();
        assert_eq!(open(&a).identity().unwrap().links, 2, "two names of one file both stay");
        layer.remove_file(&a).unwrap();
        assert_eq!(kind_of(layer.remove_file(&a)), ErrorKind::NotFound);
        assert_eq!(open(&b).identity().unwrap().links, 1);
    });
}

#[test]
fn a_rename_replaces_a_file_that_open_handles_still_read() {
    on_every_layer(|layer, here| {
        let (old, new) = (here.join("old"), here.join("new"));
        make(layer, &old, b"old");
        make(layer, &new, b"new");
        let handle = layer.open(&old, Access::Read).unwrap();
        let before = handle.identity().unwrap();
        layer.rename(&new, &old).unwrap();
        assert_eq!(layer.kind(&new).unwrap(), None);
        assert_eq!(read(layer, &old), b"new");
        let mut bytes = [0; 3];
        handle.read_up_to(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"old");
        assert_eq!(handle.identity().unwrap().links, 0);
        let after = layer.open(&old, Access::Read).unwrap().identity().unwrap();
        assert_ne!(before.inode, after.inode);
        assert_eq!(kind_of(layer.rename(&new, &old)), ErrorKind::NotFound);
        assert_eq!(kind_of(layer.rename(&old, &here.join("no/x"))), ErrorKind::NotFound);
    });
}

#[test]
fn a_renamed_directory_takes_along_what_is_in_it() {
    on_every_layer(|layer, here| {
        let (d, e) = (here.join("d"), here.join("e"));
        layer.create_dir(&d).unwrap();
        layer.create_dir(&d.join("sub")).unwrap();
        make(layer, &d.join("sub/f"), b"x");
        make(layer, &here.join("d-beside"), b"y");
        layer.rename(&d, &e).unwrap();
        assert_eq!(layer.kind(&d).unwrap(), None);
        assert_eq!(layer.kind(&d.join("sub/f")).unwrap(), None);
        assert_eq!(read(layer, &e.join("sub/f")), b"x");
        assert_eq!(read(layer, &here.join("d-beside")), b"y");
        assert_eq!(kind_of(layer.rename(&e, &e.join("sub/e"))), ErrorKind::InvalidInput);
        let beside = here.join("d-beside");
        assert_eq!(kind_of(layer.rename(&e, &beside)), ErrorKind::NotADirectory);
        assert_eq!(kind_of(layer.rename(&beside, &e)), ErrorKind::IsADirectory);
        layer.create_dir(&d).unwrap();
        assert_eq!(kind_of(layer.rename(&d, &e)), ErrorKind::DirectoryNotEmpty);
        layer.rename(&e, &d).unwrap();
        assert_eq!(read(layer, &d.join("sub/f")), b"x");
    });
}

#[test]
fn a_directory_is_removed_with_what_is_in_it_and_nothing_else() {
    on_every_layer(|layer, here| {
        let d = here.join("d");
        assert_eq!(kind_of(layer.remove_dir_all(&d)), ErrorKind::NotFound);
        assert_eq!(kind_of(layer.create_dir(&d.join("sub"))), ErrorKind::NotFound);
        layer.create_dir(&d).unwrap();
        assert_eq!(kind_of(layer.create_dir(&d)), ErrorKind::AlreadyExists);
        make(layer, &d.join("f"), b"x");
        make(layer, &here.join("d2"), b"y");
        assert!(layer.remove_file(&d).is_err());
        layer.sync_dir(&d).unwrap();
        layer.remove_dir_all(&d).unwrap();
        assert_eq!(layer.kind(&d.join("f")).unwrap(), None);
        assert_eq!(layer.kind(&d).unwrap(), None);
        assert_eq!(read(layer, &here.join("d2")), b"y");
        assert_eq!(kind_of(layer.sync_dir(&d)), ErrorKind::NotFound);
        assert_eq!(kind_of(layer.sync_dir(&here.join("d2"))), ErrorKind::NotADirectory);
        assert_eq!(kind_of(layer.remove_dir_all(&here.join("d2"))), ErrorKind::NotADirectory);
    });
}

#[test]
fn a_canonical_path_has_no_relative_parts_and_exists() {
    on_every_layer(|layer, here| {
        layer.create_dir(&here.join("d")).unwrap();
        make(layer, &here.join("f"), b"");
        let round = here.join("d").join("..").join(".").join("f");
        assert_eq!(layer.canonical(&round).unwrap(), here.join("f"));
        assert_eq!(kind_of(layer.canonical(&here.join("no"))), ErrorKind::NotFound);
    });
}

#[test]
fn a_lock_is_held_by_one_and_leaves_no_file() {
    on_every_layer(|layer, here| {
        let path = here.join("lock");
        let lock = layer.try_lock(&path, None).unwrap().expect("free");
        assert_eq!(layer.kind(&path).unwrap(), Some(Kind::File));
        assert!(layer.try_lock(&path, None).unwrap().is_none());
        assert!(layer.try_lock(&here.join("other"), None).unwrap().is_some());
        drop(lock);
        assert_eq!(layer.kind(&path).unwrap(), None);
        // A file that a killed holder left is not locked.
        make(layer, &path, b"");
        drop(layer.try_lock(&path, None).unwrap().expect("free"));
        assert_eq!(layer.kind(&path).unwrap(), None);
        assert_eq!(kind_of(layer.try_lock(&here.join("no/lock"), None)), ErrorKind::NotFound);
        // A file that is not empty belongs to somebody else.
        make(layer, &path, b"a letter");
        assert_eq!(kind_of(layer.try_lock(&path, None)), ErrorKind::AlreadyExists);
        assert_eq!(read(layer, &path), b"a letter");
        layer.remove_file(&path).unwrap();
        layer.create_dir(&path).unwrap();
        assert_eq!(kind_of(layer.try_lock(&path, None)), ErrorKind::IsADirectory);
    });
}

/// A log's id file is locked by its writer (LOG-20). Readers examine the lock, and read the file all the same.
#[cfg(unix)]
#[test]
fn a_file_stays_locked_until_its_holder_drops_it() {
    on_every_layer(|layer, here| {
        let path = here.join("f");
        let open = |access| layer.open(&path, access).unwrap();
        let holder = open(Access::CreateNew);
        let early = open(Access::Read);
        assert!(!early.is_locked().unwrap());
        assert!(holder.try_lock().unwrap());
        assert!(holder.try_lock().unwrap(), "it has the lock");
        holder.write_all_at(b"bytes", 0).unwrap();
        let late = open(Access::Read);
        for other in [&early, &late] {
            assert!(other.is_locked().unwrap());
            assert!(!other.try_lock().unwrap());
        }
        assert_eq!(read(layer, &path), b"bytes");
        layer.rename(&path, &here.join("g")).unwrap();
        assert!(late.is_locked().unwrap());
        drop(holder);
        assert!(!early.is_locked().unwrap());
        assert!(!late.is_locked().unwrap(), "examining takes no lock");
        assert!(late.try_lock().unwrap());
        assert!(early.is_locked().unwrap());
        late.unlock().unwrap();
        assert!(!early.is_locked().unwrap());
    });
}
