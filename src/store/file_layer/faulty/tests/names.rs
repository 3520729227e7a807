//! Tests which names a crash leaves.

use super::*;

const LOST: CrashKind = CrashKind::NothingUnsynced;

#[test]
fn a_synced_file_without_a_synced_name_is_lost() {
    let files = FaultyFiles::new();
    make(&files, "/f", b"x").sync().unwrap();
    assert!(names(&crash(&files, LOST)).is_empty());
    assert!(names(&crash(&files, CrashKind::LostNames)).is_empty());
    sync_dir(&files, "/");
    assert_eq!(crash(&files, LOST).contents("/f").unwrap(), b"x");
}

#[test]
fn a_synced_name_of_an_unsynced_file_is_an_empty_file() {
    let files = FaultyFiles::new();
    let file = make(&files, "/f", b"x");
    sync_dir(&files, "/");
    assert_eq!(crash(&files, LOST).contents("/f").unwrap(), b"");
    file.sync().unwrap();
    assert_eq!(crash(&files, LOST).contents("/f").unwrap(), b"x");
}

#[test]
fn a_rename_without_a_sync_of_its_directory_is_lost() {
    let (files, _) = with_durable(b"old");
    make(&files, "/new", b"new").sync().unwrap();
    sync_dir(&files, "/");
    rename(&files, "/new", "/f");
    let image = crash(&files, LOST);
    assert_eq!(image.contents("/f").unwrap(), b"old");
    assert_eq!(image.contents("/new").unwrap(), b"new");
    assert_eq!(crash(&files, CrashKind::Killed).contents("/f").unwrap(), b"new");
    sync_dir(&files, "/");
    let image = crash(&files, LOST);
    assert_eq!(names(&image), ["/f"]);
    assert_eq!(image.contents("/f").unwrap(), b"new");
}

#[test]
fn a_rename_can_arrive_before_the_bytes_of_the_file() {
    let (files, _) = with_durable(b"old");
    make(&files, "/new", b"new");
    rename(&files, "/new", "/f");
    assert_eq!(crash(&files, CrashKind::LostData).contents("/f").unwrap(), b"");
    assert_eq!(crash(&files, CrashKind::LostNames).contents("/f").unwrap(), b"old");
}

#[test]
fn a_removed_file_comes_back_as_it_was_synced() {
    let (files, file) = with_durable(b"old");
    file.write_all_at(b"new", 0).unwrap();
    files.remove_file(Path::new("/f")).unwrap();
    assert_eq!(crash(&files, LOST).contents("/f").unwrap(), b"old");
    assert_eq!(crash(&files, CrashKind::LostNames).contents("/f").unwrap(), b"new");
    assert!(names(&crash(&files, CrashKind::LostData)).is_empty());
    sync_dir(&files, "/");
    assert!(names(&crash(&files, LOST)).is_empty());
}

#[test]
fn a_link_is_durable_with_its_own_directory() {
    let (files, _) = with_durable(b"x");
    create_dirs(&files, &["/d"]);
    sync_dir(&files, "/");
    files.link(Path::new("/f"), Path::new("/d/g")).unwrap();
    sync_dir(&files, "/");
    assert_eq!(names(&crash(&files, LOST)), ["/f"]);
    sync_dir(&files, "/d");
    let image = crash(&files, LOST);
    assert_eq!(names(&image), ["/d/g", "/f"]);
    let file = image.open(Path::new("/d/g"), Access::Read).unwrap();
    assert_eq!(file.identity().unwrap().links, 2);
}

#[test]
fn a_move_is_durable_when_its_new_directory_is_synced_and_not_before() {
    let (files, _) = with_durable(b"x");
    create_dirs(&files, &["/a", "/b"]);
    sync_dir(&files, "/");
    rename(&files, "/f", "/a/f");
    sync_dir(&files, "/");
    assert_eq!(names(&crash(&files, LOST)), ["/f"]);
    // Two more renames: only the last directory is synced, and no name is left on the way.
    rename(&files, "/a/f", "/a/g");
    rename(&files, "/a/g", "/b/f");
    sync_dir(&files, "/b");
    assert_eq!(names(&crash(&files, LOST)), ["/b/f"]);
    sync_dir(&files, "/a");
    sync_dir(&files, "/");
    assert_eq!(names(&crash(&files, LOST)), ["/b/f"]);
}

#[test]
fn a_move_on_that_is_lost_leaves_the_place_between() {
    let (files, _) = with_durable(b"x");
    create_dirs(&files, &["/a", "/b"]);
    sync_dir(&files, "/");
    rename(&files, "/f", "/a/f");
    rename(&files, "/a/f", "/b/f");
    sync_dir(&files, "/a");
    assert_eq!(names(&crash(&files, LOST)), ["/a/f"]);
}

#[test]
fn a_name_made_again_after_a_move_is_another_file() {
    let (files, _) = with_durable(b"first");
    create_dirs(&files, &["/a"]);
    sync_dir(&files, "/");
    rename(&files, "/f", "/a/f");
    make(&files, "/f", b"second").sync().unwrap();
    sync_dir(&files, "/");
    sync_dir(&files, "/a");
    let image = crash(&files, LOST);
    assert_eq!(image.contents("/f").unwrap(), b"second");
    assert_eq!(image.contents("/a/f").unwrap(), b"first");
}

#[test]
fn the_names_in_a_directory_belong_to_it_wherever_it_goes() {
    let files = FaultyFiles::new();
    create_dirs(&files, &["/d"]);
    sync_dir(&files, "/");
    make(&files, "/d/f", b"x").sync().unwrap();
    rename(&files, "/d", "/e");
    sync_dir(&files, "/e");
    assert_eq!(names(&crash(&files, LOST)), ["/d/f"]);
    sync_dir(&files, "/");
    assert_eq!(names(&crash(&files, LOST)), ["/e/f"]);
    assert_eq!(crash(&files, LOST).kind(Path::new("/d")).unwrap(), None);
}

#[test]
fn a_directory_without_a_synced_name_takes_its_files_along() {
    let files = FaultyFiles::new();
    create_dirs(&files, &["/d"]);
    make(&files, "/d/f", b"x").sync().unwrap();
    sync_dir(&files, "/d");
    assert_eq!(crash(&files, LOST).kind(Path::new("/d")).unwrap(), None);
    sync_dir(&files, "/");
    assert_eq!(names(&crash(&files, LOST)), ["/d/f"]);
}

#[test]
fn the_removal_of_a_directory_can_stop_anywhere() {
    let disk = MemoryFiles::new().with_file("/d/a", *b"1").with_file("/d/s/b", *b"2");
    let files = FaultyFiles::resume(disk);
    files.remove_dir_all(Path::new("/d")).unwrap();
    assert_eq!(files.operations(), 4);
    let left = |at| files.crash_image(at, CrashKind::Killed);
    assert_eq!(names(&left(0)), ["/d/a", "/d/s/b"]);
    assert_eq!(names(&left(1)), ["/d/a"]);
    assert_eq!(left(1).kind(Path::new("/d/s")).unwrap(), Some(Kind::Directory));
    assert!(names(&left(3)).is_empty());
    assert_eq!(left(3).kind(Path::new("/d")).unwrap(), Some(Kind::Directory));
    assert_eq!(left(4).kind(Path::new("/d")).unwrap(), None);
    assert_eq!(names(&crash(&files, LOST)), ["/d/a", "/d/s/b"]);
    sync_dir(&files, "/");
    assert_eq!(files.images_at(5), [CrashKind::Killed]);
}

#[test]
fn a_lock_is_in_no_image() {
    let files = FaultyFiles::new();
    let lock = files.try_lock(Path::new("/lock"), None).unwrap().expect("free");
    make(&files, "/f", b"x");
    let image = crash(&files, CrashKind::Killed);
    assert_eq!(names(&image), ["/f"]);
    assert!(image.try_lock(Path::new("/lock"), None).unwrap().is_some());
    assert!(files.try_lock(Path::new("/lock"), None).unwrap().is_none());
    drop(lock);
}

#[test]
fn a_run_goes_on_after_a_crash_and_crashes_again() {
    let (files, file) = with_durable(b"old");
    file.write_all_at(b"new", 0).unwrap();
    let again = FaultyFiles::resume(crash(&files, CrashKind::Killed));
    assert_eq!(again.operations(), 0);
    make(&again, "/g", b"x").sync().unwrap();
    // What a killed process left counts as durable. What came after does not.
    let image = crash(&again, LOST);
    assert_eq!(image.contents("/f").unwrap(), b"new");
    assert_eq!(names(&image), ["/f"]);
    assert_eq!(names(files.running()), ["/f"], "the first run is left alone");
}
