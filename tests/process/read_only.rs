//! Databases in read-only folders and files, used by an unprivileged user, after a close and after a kill that left a
//! log. Everything that reads works and changes nothing. Everything that writes fails with an error that names the
//! file (`Error::Io`).

use testkit::child;
use testkit::folder;
use testkit::unprivileged;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use child::{Known, Task};
use ringer::{Database, Depth, Error, Like, LogKind, Options, Result, Scheme, Snapshot};
use unprivileged::{Unprivileged, Writable, allow, image};

const PATH: &str = "RINGER_READ_ONLY_PATH";

fn is_refused<T: std::fmt::Debug>(result: Result<T>, folder: &Path) {
    match result {
        Err(Error::Io { path, source, .. }) => {
            assert_eq!(source.kind(), ErrorKind::PermissionDenied);
            assert!(path.starts_with(folder), "{}", path.display());
        }
        other => panic!("{other:?}"),
    }
}

/// Not a test by itself: the unprivileged process, which reads everything and tries to write.
#[test]
fn look() {
    let Some(path) = std::env::var_os(PATH).map(PathBuf::from) else { return };
    let folder = path.parent().unwrap();
    // The rest shows nothing if these writes succeed.
    let anything = std::fs::OpenOptions::new().write(true).open(&path);
    let name = std::fs::File::create_new(folder.join("name"));
    assert!(anything.is_err() || name.is_err(), "nothing is forbidden");
    if name.is_ok() {
        std::fs::remove_file(folder.join("name")).unwrap();
    }
    let reader = Database::open_read_only(&path, Options::default()).unwrap();
    let checkpointed = Known::new().check(&reader.snapshot());
    reader.refresh().unwrap();
    assert!(!reader.has_writer().unwrap());
    assert!(checkpointed > 0 && reader.stat().unwrap().sets > 0);
    let first = reader.snapshot().keys::<&[u8]>(..).next().unwrap().unwrap();
    reader.snapshot().query(Like::Key(&first)).run().unwrap();
    assert!(reader.snapshot().pairs(0.5).collect().is_ok());
    for depth in [Depth::Quick, Depth::Full, Depth::Deep] {
        assert!(Database::check(&path, depth).unwrap().findings.is_empty());
    }
    let aside = tempfile::tempdir().unwrap();
    reader.pack(aside.path().join("packed")).unwrap();
    let salvaged = aside.path().join("salvaged");
    let saved = Database::salvage(&path, &salvaged, Options::default());
    if folder.join("corpus.ringer-hot/sled").exists() {
        // sled cannot read a log without writing. It works on a copy beside the database, which has the permissions
        // of the original.
        is_refused(saved, folder);
    } else {
        let copy = Database::open_read_only(&salvaged, Options::default()).unwrap();
        assert_eq!(saved.unwrap().sets, copy.snapshot().len().unwrap());
        let keys =
            |snapshot: Snapshot| snapshot.keys::<&[u8]>(..).map(Result::unwrap).collect::<Vec<_>>();
        assert!(!reader.is_clean() || keys(copy.snapshot()) == keys(reader.snapshot()));
    }

    is_refused(Database::open(&path, Options::default()), folder);
    is_refused(Database::repair(&path, &Options::default()), folder);
    if name.is_err() {
        let new = folder.join("new.ringer");
        is_refused(Database::create(&new, &Scheme::precise(), Options::default()), folder);
        is_refused(reader.pack(&new), folder);
        is_refused(Database::salvage(&path, &new, Options::default()), folder);
    }
    println!("looked");
}

/// Creates databases after a close and after a kill, with each kind of log.
fn databases(place: &Unprivileged) -> Vec<PathBuf> {
    let mut made = Vec::new();
    for (name, log) in [("plain", LogKind::Plain), ("sled", LogKind::Sled)] {
        let path = place.folder(name).join("corpus.ringer");
        let task = Task { seed: 3, commits: 60, calm: 10, log };
        let mut process = child::command(&path, task).spawn().unwrap();
        let mut stop = |said: &child::Said| said.acknowledged.is_some_and(|n| n > 40);
        assert!(child::listen(&mut process, &mut stop).opened.is_some());
        process.kill().unwrap();
        process.wait().unwrap();
        let closed = place.folder(&format!("{name}-closed"));
        folder::copy(path.parent().unwrap(), &closed);
        drop(Database::open(closed.join("corpus.ringer"), Options::default()).unwrap());
        assert_eq!(folder::names(&closed), ["corpus.ringer"]);
        made.extend([path, closed.join("corpus.ringer")]);
    }
    made
}

#[test]
fn read_only_files_can_be_read_and_stay_unchanged() {
    let place = Unprivileged::new(&std::env::current_exe().unwrap());
    for path in databases(&place) {
        let folder = path.parent().unwrap();
        for writable in [Writable::Nothing, Writable::Files, Writable::Names] {
            allow(folder, writable);
            let before = image(folder);
            let mut command = place.command();
            command
                .args(["--exact", "read_only::look", "--nocapture", "--test-threads=1"])
                .env(PATH, &path);
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            let at = format!("{}, {writable:?} may be written", folder.display());
            assert!(output.status.success() && said.contains("looked"), "{at}: {said}{errors}");
            // A killed writer leaves its lock file. A user who may write that and the other files recovers the
            // database up to the point where names would change.
            let taken = writable == Writable::Files && folder.join("corpus.ringer-lock").exists();
            assert!(taken || image(folder) == before, "{at}: something was written");
        }
        // With all permissions restored, nothing is lost.
        allow(folder, Writable::Names);
        for file in image(folder).into_iter().map(|(path, _, _)| path).filter(|path| path.is_file())
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(file, PermissionsExt::from_mode(0o666)).unwrap();
        }
        let db = Database::open(&path, Options::default()).unwrap();
        assert!(Known::new().check(&db.snapshot()) > 40);
    }
}
