//! Tests of what only in-memory files can do. The tests of all layers cover the rest.

use super::*;
use std::io::ErrorKind;

#[test]
fn a_clone_is_the_same_file_system_and_entries_make_another() {
    let files = MemoryFiles::new().with_file("/a/b/f", *b"x");
    files.link(Path::new("a/b/f"), Path::new("/g")).unwrap();
    let other = MemoryFiles::from_entries(files.entries());
    let handle = files.clone().open(Path::new("/g"), Access::Write).unwrap();
    handle.write_all_at(b"y", 0).unwrap();
    assert_eq!(files.contents("/a/b/f").unwrap(), b"y");
    assert_eq!(other.contents("/g").unwrap(), b"x");
    assert_eq!(other.files(), [PathBuf::from("/a/b/f"), PathBuf::from("/g")]);
    let handle = other.open(Path::new("/g"), Access::Write).unwrap();
    assert_eq!(handle.identity().unwrap().links, 2);
    handle.write_all_at(b"z", 0).unwrap();
    assert_eq!(other.contents("/a/b/f").unwrap(), b"z");
    assert_eq!(files.contents("/g").unwrap(), b"y");
}

#[test]
fn with_file_replaces_what_had_the_name() {
    let files = MemoryFiles::new().with_file("/f", *b"1").with_file("/f", *b"2");
    assert_eq!(files.contents("f").unwrap(), b"2");
    let files = files.with_file("/f/below", *b"3");
    assert_eq!(files.files(), [PathBuf::from("/f/below")]);
    assert_eq!(files.with_file("/f", *b"4").files(), [PathBuf::from("/f")]);
}

#[test]
fn numbers_are_never_used_again() {
    let files = MemoryFiles::new().with_file("/f", *b"1");
    let before = files.entries().pop().unwrap().number;
    files.remove_file(Path::new("/f")).unwrap();
    let files = files.with_file("/f", *b"2");
    assert_ne!(files.entries().pop().unwrap().number, before);
    assert_eq!(files.contents("/g"), None);
}

#[test]
fn absurd_growth_is_refused_and_changes_nothing() {
    let files = MemoryFiles::new().with_file("/f", *b"abc");
    let file = files.open(Path::new("/f"), Access::Write).unwrap();
    for (length, offset) in
        [(1 << 40, 1 << 40), (u64::MAX, u64::MAX), (DEFAULT_LIMIT + 1, DEFAULT_LIMIT)]
    {
        assert_eq!(file.set_len(length).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(file.write_all_at(b"x", offset).unwrap_err().kind(), ErrorKind::StorageFull);
    }
    let files = files.limited_to(2);
    assert_eq!(file.write_all_at(b"x", 3).unwrap_err().kind(), ErrorKind::StorageFull);
    file.write_all_at(b"X", 2).unwrap();
    assert_eq!(files.contents("/f").unwrap(), b"abX");
    file.set_len(1).unwrap();
    file.write_all_at(b"Y", 1).unwrap();
    assert_eq!(files.contents("/f").unwrap(), b"aY");
}

#[test]
fn the_root_can_be_neither_removed_nor_renamed() {
    let files = MemoryFiles::new().with_file("/f", *b"1");
    let root = Path::new("/");
    assert_eq!(files.remove_dir_all(root).unwrap_err().kind(), ErrorKind::ResourceBusy);
    assert_eq!(files.rename(root, Path::new("/r")).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(files.remove_file(root).unwrap_err().kind(), ErrorKind::IsADirectory);
    files.sync_dir(Path::new("")).unwrap();
    assert_eq!(files.contents("/f").unwrap(), b"1");
}

#[test]
fn a_lock_is_shared_by_clones_and_survives_the_loss_of_its_file() {
    let files = MemoryFiles::new();
    let lock = files.try_lock(Path::new("/l"), None).unwrap().expect("free");
    files.remove_file(Path::new("/l")).unwrap();
    assert!(files.clone().try_lock(Path::new("/l"), None).unwrap().is_none());
    drop(lock);
    assert!(files.try_lock(Path::new("/l"), None).unwrap().is_some());
    assert!(files.files().is_empty());
}
