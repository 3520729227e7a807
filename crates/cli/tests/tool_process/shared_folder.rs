//! Several users of one machine. Nobody can ever read the private database of another user, users of a shared database
//! can take turns, and links that somebody plants while a command runs have no effect.
//!
//! Only root can act as several users, so the tests are skipped for others. `RINGER_TOOL` names another build of the
//! tool, to see that these races fail with builds that set permissions by path.
#![cfg(target_os = "linux")]

use testkit::unprivileged;

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use unprivileged::Unprivileged;

const FOLDER: &str = "RINGER_SHARED_FOLDER";
const VICTIM: &str = "RINGER_SHARED_VICTIM";

/// Two users, and a group that both are in.
const ANNA: u32 = 64_001;
const BERT: u32 = 64_002;
const GROUP: u32 = 64_100;

/// Whether the test can run. Prints a message if not.
fn is_root(test: &str) -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0);
    if !root {
        eprintln!("{test}: skipped, because only the super user can be several users");
    }
    root
}

fn tool() -> PathBuf {
    std::env::var_os("RINGER_TOOL").map_or(env!("CARGO_BIN_EXE_ringer").into(), PathBuf::from)
}

/// Returns a command of the tool with umask 022, run by root or by a user in the group.
fn command(program: &Path, folder: &Path, user: Option<u32>, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let program = program.to_str().unwrap();
    let user = user.map_or(String::new(), |user| {
        format!("setpriv --reuid {user} --regid {user} --groups {GROUP} ")
    });
    command.arg("-c").arg(format!("umask 022; exec {user}{program} \"$@\"")).arg("sh");
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(&tool(), folder, None, arguments).output().unwrap()
}

#[track_caller]
fn works(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Returns the lines of this many sets.
fn lines(sets: usize, salt: usize) -> String {
    (0..sets).map(|i| format!("key {i}\tw{salt} w{i} w{} w{}\n", i * i, i % 7)).collect()
}

/// Fills a folder with a database of this many sets, and with files of sets to add.
fn database(folder: &Path, sets: usize) {
    works(&run(folder, &["create", "db.ringer", "--seed", "7"]));
    fs::write(folder.join("first"), lines(sets, 1)).unwrap();
    fs::write(folder.join("second"), lines(sets, 2)).unwrap();
    works(&run(folder, &["add", "db.ringer", "--sets", "first"]));
}

/// A process of an unprivileged user. It runs until its standard input ends.
struct Other(Child);

impl Other {
    fn start(place: &Unprivileged, test: &str, folder: &Path, victim: &Path) -> Other {
        let mut command = place.command();
        command.args([
            "--exact",
            &format!("shared_folder::{test}"),
            "--nocapture",
            "--test-threads=1",
        ]);
        command.env(FOLDER, folder).env(VICTIM, victim);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("started") {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
        }
        child.stdout = Some(out.into_inner());
        Other(child)
    }

    /// Ends the process, and returns what it counted.
    fn stop(mut self) -> u64 {
        drop(self.0.stdin.take());
        let mut said = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.0.wait().unwrap().success(), "{said}");
        let count = said.lines().find_map(|line| line.strip_prefix("counted "));
        count.unwrap_or_else(|| panic!("{said}")).parse().unwrap()
    }
}

/// Repeats an action until standard input ends, and prints the sum of its results.
fn until_told(mut act: impl FnMut() -> u64) {
    println!("\nstarted");
    std::io::stdout().flush().unwrap();
    let stopped = std::sync::atomic::AtomicBool::new(false);
    let count = std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::stdin().read(&mut [0]);
            stopped.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        let mut count = 0;
        while !stopped.load(std::sync::atomic::Ordering::SeqCst) {
            count += act();
        }
        count
    });
    println!("\ncounted {count}");
}

const COMPANIONS: [&str; 7] = [
    "db.ringer-vacuum",
    "db.ringer-hot/log",
    "db.ringer-hot/log-new",
    "db.ringer-hot-new/log",
    "db.ringer-new",
    "copy.ringer-new",
    "copy.ringer",
];

/// Not a test by itself: the process of a user who tries to read a private database.
#[test]
fn spy() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    assert!(fs::File::open(folder.join("db.ringer")).is_err(), "nothing is kept from him");
    let paths = COMPANIONS.map(|name| folder.join(name));
    until_told(|| {
        let read = |path: &&PathBuf| fs::read(path).is_ok_and(|bytes| bytes.iter().any(|b| *b > 0));
        paths.iter().filter(read).count() as u64
    });
}

/// Another user read whole copies that a compaction of a database of mode 0600 had made, before their mode was set.
#[test]
fn nobody_reads_a_copy_of_what_he_may_not_read() {
    if !is_root("nobody_reads_a_copy_of_what_he_may_not_read") {
        return;
    }
    let place = Unprivileged::new(&std::env::current_exe().unwrap());
    let folder = place.folder("open");
    set_mode(&folder, 0o755);
    database(&folder, 20_000);
    set_mode(&folder.join("db.ringer"), 0o600);
    let spy = Other::start(&place, "spy", &folder, &folder);
    for round in 0..12 {
        let lines = if round % 2 == 0 { "second" } else { "first" };
        works(&run(&folder, &["add", "db.ringer", "--sets", lines, "--commit-every", "2000"]));
        works(&run(&folder, &["compact", "db.ringer"]));
    }
    assert_eq!(spy.stop(), 0, "he read what a compaction made");
    assert_eq!(mode(&folder.join("db.ringer")), 0o600);
    let spy = Other::start(&place, "spy", &folder, &folder);
    for command in ["pack", "salvage"].into_iter().cycle().take(8) {
        works(&run(&folder, &[command, "db.ringer", "copy.ringer"]));
        assert_eq!(mode(&folder.join("copy.ringer")), 0o600, "{command}");
        fs::remove_file(folder.join("copy.ringer")).unwrap();
    }
    assert_eq!(spy.stop(), 0, "he read a copy");
}

/// Not a test by itself: the process of a user who may change the folder, and plants links at the names of companions.
#[test]
fn planter() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let Some(victim) = std::env::var_os(VICTIM).map(PathBuf::from) else { return };
    let names = ["-lock", "-vacuum", "-hot-new", "-new", "-hot"];
    let mut round = 0_usize;
    until_told(|| {
        round += 1;
        let name = folder.join(format!("db.ringer{}", names[round % names.len()]));
        let target = ["secret", "absent", "folder"][round / names.len() % 3];
        let aside = folder.join("aside");
        // Moves the file away, and puts a link in its place for a moment.
        let moved = fs::rename(&name, &aside).is_ok();
        let planted = symlink(victim.join(target), &name).is_ok();
        std::thread::yield_now();
        let _ = fs::remove_file(&name);
        if moved {
            let _ = fs::rename(&aside, &name);
            let _ = fs::remove_file(&aside);
            let _ = fs::remove_dir_all(&aside);
        }
        u64::from(planted)
    });
}

/// Returns everything in the victim's folder: names, bytes, modes and owners.
fn kept(victim: &Path) -> Vec<(PathBuf, Vec<u8>, u32, u32, u32)> {
    let mut all = Vec::new();
    for path in [victim.to_path_buf(), victim.join("folder")] {
        let entries = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        for path in entries.chain([path.clone()]) {
            let found = fs::symlink_metadata(&path).unwrap();
            let bytes = fs::read(&path).unwrap_or_default();
            all.push((path, bytes, found.mode(), found.uid(), found.gid()));
        }
    }
    all.sort();
    all
}

/// Links that were planted between a check and its use changed modes of files elsewhere, and created files there.
#[test]
fn links_planted_while_a_command_runs_lead_nowhere() {
    if !is_root("links_planted_while_a_command_runs_lead_nowhere") {
        return;
    }
    let place = Unprivileged::new(&std::env::current_exe().unwrap());
    let (folder, victim) = (place.folder("shared"), place.folder("victim"));
    database(&folder, 50);
    chown(&folder, Some(65_534), Some(65_534)).unwrap();
    set_mode(&folder, 0o777);
    set_mode(&folder.join("db.ringer"), 0o644);
    fs::write(victim.join("secret"), "").unwrap();
    set_mode(&victim.join("secret"), 0o600);
    fs::create_dir(victim.join("folder")).unwrap();
    fs::write(victim.join("folder/diary"), "dear diary").unwrap();
    set_mode(&victim.join("folder"), 0o700);
    set_mode(&victim, 0o711);
    let before = kept(&victim);
    let planter = Other::start(&place, "planter", &folder, &victim);
    let mut worked = 0;
    for round in 0..250 {
        let lines = if round % 2 == 0 { "second" } else { "first" };
        // Commands may fail if a planted link is in their way, but they must do no harm.
        for arguments in [
            &["add", "db.ringer", "--sets", lines, "--commit-every", "10"][..],
            &["compact", "db.ringer"],
            &["delete", "db.ringer", "key 1"],
        ] {
            worked += u64::from(run(&folder, arguments).status.success());
            assert!(kept(&victim) == before, "round {round}: {arguments:?} changed something");
        }
    }
    let planted = planter.stop();
    println!("{planted} links, {worked} of 750 commands worked");
    assert!(planted > 100);
}

/// A compaction by root locked the owner of the database out.
#[test]
fn a_database_stays_its_owners_and_its_groups() {
    if !is_root("a_database_stays_its_owners_and_its_groups") {
        return;
    }
    for given in [0o600, 0o640, 0o664] {
        let folder = tempfile::tempdir().unwrap();
        database(folder.path(), 500);
        let path = folder.path().join("db.ringer");
        chown(&path, Some(ANNA), Some(GROUP)).unwrap();
        set_mode(&path, given);
        let number = fs::metadata(&path).unwrap().ino();
        works(&run(folder.path(), &["add", "db.ringer", "--sets", "second"]));
        works(&run(folder.path(), &["compact", "db.ringer"]));
        let found = fs::metadata(&path).unwrap();
        assert_ne!(found.ino(), number, "it was copied");
        assert_eq!((found.uid(), found.gid(), mode(&path)), (ANNA, GROUP, given));
        for (name, arguments) in [
            ("packed", ["pack", "db.ringer", "packed"]),
            ("salvaged", ["salvage", "db.ringer", "salvaged"]),
        ] {
            works(&run(folder.path(), &arguments));
            let copy = fs::metadata(folder.path().join(name)).unwrap();
            assert_eq!((copy.uid(), copy.gid(), copy.mode() & 0o777), (0, GROUP, given));
        }
    }
}

/// A killed writer left a lock and a log that other members of the group could not open.
#[test]
fn whoever_may_write_a_database_goes_on_after_a_killed_writer() {
    let test = "whoever_may_write_a_database_goes_on_after_a_killed_writer";
    if !is_root(test) || !Command::new("setpriv").arg("true").status().is_ok_and(|s| s.success()) {
        eprintln!("{test}: needs setpriv");
        return;
    }
    let place = Unprivileged::new(&tool());
    let program = place.program();
    for rounds in [[ANNA, BERT], [BERT, ANNA], [0, BERT]] {
        let folder = place.folder(&format!("group {rounds:?}"));
        database(&folder, 50);
        chown(&folder, Some(0), Some(GROUP)).unwrap();
        set_mode(&folder, 0o770);
        let path = folder.join("db.ringer");
        chown(&path, Some(ANNA), Some(GROUP)).unwrap();
        set_mode(&path, 0o660);
        for name in ["first", "second"] {
            set_mode(&folder.join(name), 0o644);
        }
        let arguments = ["add", "db.ringer", "--sets", "-", "--commit-every", "1", "--ack"];
        let user = Some(rounds[0]).filter(|user| *user > 0);
        let mut first = command(program, &folder, user, &arguments);
        let mut first = first.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = first.stdin.take().unwrap();
        input.write_all(b"one\ta b c\ntwo\ta b d\n").unwrap();
        let mut out = BufReader::new(first.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("committed 2") {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
        }
        first.kill().unwrap();
        first.wait().unwrap();
        assert_eq!(mode(&folder.join("db.ringer-lock")), 0o660);
        assert_eq!(mode(&folder.join("db.ringer-hot")), 0o770);
        let next = ["add", "db.ringer", "--sets", "second"];
        works(&command(program, &folder, Some(rounds[1]), &next).output().unwrap());
        works(
            &command(program, &folder, Some(rounds[1]), &["compact", "db.ringer"])
                .output()
                .unwrap(),
        );
        let names: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| !name.to_string_lossy().contains('-')), "{names:?}");
        assert_eq!((fs::metadata(&path).unwrap().gid(), mode(&path)), (GROUP, 0o660));
        let keys = command(program, &folder, Some(ANNA), &["keys", "db.ringer"]).output().unwrap();
        works(&keys);
        assert_eq!(String::from_utf8_lossy(&keys.stdout).lines().count(), 52);
    }
}

/// A new database has the mode that the system gives new files.
#[test]
fn a_new_database_has_the_usual_rights() {
    for (mask, expected) in [("022", 0o644), ("077", 0o600), ("027", 0o640), ("000", 0o666)] {
        let folder = tempfile::tempdir().unwrap();
        let tool = tool();
        let line = format!("umask {mask}; exec {} create x.ringer", tool.display());
        works(&Command::new("sh").arg("-c").arg(line).current_dir(&folder).output().unwrap());
        assert_eq!(mode(&folder.path().join("x.ringer")), expected, "{mask}");
    }
}

/// `create` failed on file systems that have neither hard links nor `renameat2` with `RENAME_NOREPLACE`.
#[test]
fn a_database_is_made_without_hard_links() {
    let folder = tempfile::tempdir().unwrap();
    let refused = [
        &["inject=link,linkat:error=EPERM"][..],
        &["inject=link,linkat:error=EOPNOTSUPP", "inject=renameat2:error=EINVAL"],
        &["inject=renameat2:error=ENOSYS"],
    ];
    for (i, refused) in refused.into_iter().enumerate() {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=link,linkat,renameat2"]);
        for inject in refused {
            command.args(["-e", inject]);
        }
        let name = format!("{i}.ringer");
        let made = command.arg(tool()).args(["create", &name]).current_dir(&folder).output();
        match made {
            Ok(made) => works(&made),
            Err(_) => return eprintln!("skipped: there is no strace"),
        }
        let mut add = run(folder.path(), &["add", &name, "--sets", "/dev/null"]);
        works(&add);
        fs::write(folder.path().join("lines"), lines(3, 1)).unwrap();
        add = run(folder.path(), &["add", &name, "--sets", "lines"]);
        works(&add);
        // None of these ways replaces an existing file.
        let again = run(folder.path(), &["create", &name]);
        assert_eq!(again.status.code(), Some(5));
    }
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}
