//! Tests which operation fails, and what it leaves.

use super::*;
use std::io::ErrorKind;

/// Makes seven changes, one of each kind.
fn seven(files: &FaultyFiles) -> io::Result<()> {
    let file = files.open(Path::new("/a"), Access::CreateNew)?;
    file.write_all_at(b"abcd", 0)?;
    file.set_len(3)?;
    file.sync()?;
    files.rename(Path::new("/a"), Path::new("/b"))?;
    files.sync_dir(Path::new("/"))?;
    files.remove_file(Path::new("/b"))
}

#[test]
fn the_operation_that_was_asked_for_fails_and_changes_nothing() {
    for n in 0..7 {
        let files = FaultyFiles::new();
        files.arm(Fault::after(n, Failure::Full));
        assert_eq!(seven(&files).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(files.tripped(), 1);
        // A failed sync of a file is the only failure that is recorded as a change.
        let expected = if n == 3 { 4 } else { n };
        assert_eq!(files.operations(), expected);
        let image = crash(&files, CrashKind::Killed);
        assert_eq!(names(&image), names(files.running()));
    }
    let files = FaultyFiles::new();
    files.arm(Fault::after(7, Failure::Full));
    seven(&files).unwrap();
    assert_eq!((files.operations(), files.tripped()), (7, 0));
}

#[test]
fn a_fault_strikes_once_or_from_then_on() {
    let files = FaultyFiles::new();
    files.arm(Fault::after(0, Failure::Device));
    assert_eq!(seven(&files).unwrap_err().raw_os_error(), Some(5));
    seven(&files).unwrap();
    files.arm(Fault::after(0, Failure::Kind(ErrorKind::PermissionDenied)).sticky());
    for _ in 0..3 {
        assert_eq!(seven(&files).unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
    assert_eq!(files.tripped(), 3);
    files.disarm();
    seven(&files).unwrap();
}

#[test]
fn only_syncs_are_counted_and_fail_if_so_asked() {
    for (n, done) in [(0, 4), (1, 5)] {
        let files = FaultyFiles::new();
        files.arm(Fault::after_syncs(n, Failure::Device).sticky());
        seven(&files).unwrap_err();
        assert_eq!(files.operations(), done, "{n}");
        files.remove_file(Path::new(if n == 0 { "/a" } else { "/b" })).unwrap();
        files.sync_dir(Path::new("/")).unwrap_err();
    }
}

#[test]
fn a_short_write_leaves_its_first_bytes() {
    for (kept, left) in [(0, &b"...."[..]), (2, b"ab.."), (9, b"abcd")] {
        let (files, file) = with_durable(b"....");
        files.arm(Fault::after(0, Failure::ShortWrite(kept)));
        let error = file.write_all_at(b"abcd", 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(files.running().contents("/f").unwrap(), left);
        assert_eq!(crash(&files, CrashKind::Killed).contents("/f").unwrap(), left);
    }
}

#[test]
fn what_fails_by_itself_is_not_counted() {
    let files = FaultyFiles::new();
    files.arm(Fault::after(1, Failure::Full));
    assert_eq!(files.remove_file(Path::new("/no")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(files.sync_dir(Path::new("/no")).unwrap_err().kind(), ErrorKind::NotFound);
    files.create_dir(Path::new("/d")).unwrap();
    assert_eq!(files.create_dir(Path::new("/e")).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(files.operations(), 1);
}

#[test]
fn reading_never_fails_and_is_never_counted() {
    let (files, file) = with_durable(b"abc");
    files.arm(Fault::after(0, Failure::Device).sticky());
    let mut bytes = [0; 3];
    assert_eq!(file.read_up_to(&mut bytes, 0).unwrap(), 3);
    assert_eq!(file.length().unwrap(), 3);
    assert!(files.try_lock(Path::new("/lock"), None).unwrap().is_some());
    file.write_all_at(b"", 0).unwrap();
    assert_eq!((files.operations(), files.tripped()), (0, 0));
}
