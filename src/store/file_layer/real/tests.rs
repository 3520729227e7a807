//! Tests of what only the operating system's files can do. The tests of all layers cover the rest.

use super::lock::Attempt;
use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
#[cfg(unix)]
fn a_fifo_or_device_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    for path in [&*fifo, Path::new("/dev/zero")] {
        assert_eq!(RealFiles.kind(path).unwrap(), Some(Kind::Other));
        for access in [Access::Read, Access::Write] {
            let error = RealFiles.open(path, access).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
    assert_eq!(RealFiles.is_locked(&fifo).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(RealFiles.try_lock(&fifo, None).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    let error = RealFiles.sync_dir(&fifo).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
}

#[test]
#[cfg(unix)]
fn a_link_is_followed_and_a_lock_is_never_one() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&file, b"x").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_eq!(RealFiles.kind(&link).unwrap(), Some(Kind::File));
    assert_eq!(RealFiles.canonical(&link).unwrap(), fs::canonicalize(&file).unwrap());
    assert_eq!(RealFiles.try_lock(&link, None).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn a_lock_whose_file_was_replaced_leaves_the_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let first = RealFiles.try_lock(&path, None).unwrap().expect("free");
    // The old file keeps its inode number while the lock holds it open.
    fs::remove_file(&path).unwrap();
    let second = RealFiles.try_lock(&path, None).unwrap().expect("a new file, a new lock");
    drop(first);
    assert!(path.exists());
    assert!(RealFiles.try_lock(&path, None).unwrap().is_none());
    drop(second);
    assert!(!path.exists());
}

#[test]
fn a_file_that_its_last_holder_removed_is_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let folder = Arc::new(system::Folder::open(folder.path()).unwrap());
    let name = OsStr::new("lock");
    let lock_opened = |file| lock::lock_opened(&folder, name, file).unwrap();
    let lock = RealFiles.try_lock(&path, None).unwrap().expect("free");
    let [early, late, later] = [(); 3].map(|()| fs::File::open(&path).unwrap());
    assert!(matches!(lock_opened(early), Attempt::Held));
    drop(lock);
    assert!(matches!(lock_opened(late), Attempt::Stale));
    let _other = RealFiles.try_lock(&path, None).unwrap().expect("free");
    assert!(matches!(lock_opened(later), Attempt::Stale));
}

#[test]
fn threads_that_take_and_free_a_lock_never_hold_it_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let (inside, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    // If the file vanishes between check and open, this is not an error.
                    let Some(lock) = RealFiles.try_lock(&path, None).unwrap() else { continue };
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    taken.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(lock);
                }
            });
        }
    });
    assert!(taken.load(Ordering::SeqCst) > 0);
    assert!(!path.exists());
}

#[test]
#[cfg(unix)]
fn a_read_only_folder_gives_the_systems_error() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
    // The superuser may write anywhere, but even then `/sys` rejects new files.
    let free = fs::write(folder.path().join("probe"), b"").is_ok();
    let place = if free { PathBuf::from("/sys") } else { folder.path().to_path_buf() };
    for error in [
        RealFiles.try_lock(&place.join("lock"), None).unwrap_err(),
        RealFiles.open(&place.join("new"), Access::CreateNew).unwrap_err(),
    ] {
        let refused = [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem];
        assert!(refused.contains(&error.kind()), "{error}");
    }
}
