//! A child process that commits to a database and reports it, and the state that the database must then have.
//!
//! Commit number s is a function of s alone. So the state after any number of commits is known to every process, and
//! any other state is wrong. The child is the test binary itself, started again with its test `child`; environment
//! variables tell it what to do. It prints `ack s` as soon as commit s has returned.

pub mod witness;

use crate::random::Random;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ringer::{Database, Error, LogKind, Options, Scheme, Signature, Sketcher, Snapshot};
use witness::Witness;

const KEYS: u64 = 300;

fn key(i: u64) -> Vec<u8> {
    format!("key{i:03}").into_bytes()
}

fn set(number: u64) -> Vec<u64> {
    (0..number % 9).map(|i| number + i * i).collect()
}

/// Returns what a commit does: whether it is a bulk load, and its changes.
fn plan(sequence: u64) -> (bool, Vec<(u64, Option<u64>)>) {
    let mut random = Random(sequence);
    random.below(1);
    let bulk = random.below(15) == 0;
    // Most commits are small. Some take several parts of the log.
    let most = if bulk { 40 } else { [6, 6, 6, 6, 6, 6, 6, 600][random.below(8) as usize] };
    let changes = 1 + random.below(most);
    let change = |random: &mut Random| {
        let number = (bulk || random.below(4) > 0).then(|| random.below(500));
        (random.below(KEYS), number)
    };
    (bulk, (0..changes).map(|_| change(&mut random)).collect())
}

/// Makes the next commit.
fn commit(db: &Database, sequence: u64) -> ringer::Result<u64> {
    let (bulk, changes) = plan(sequence);
    if bulk {
        let mut load = db.bulk_load();
        for (i, number) in changes {
            load.put(key(i), &set(number.unwrap_or_default()))?;
        }
        return load.commit().map(|committed| committed.sequence);
    }
    let mut batch = db.batch();
    for (i, number) in changes {
        match number {
            Some(number) => batch.put(key(i), &set(number))?,
            None => batch.delete(key(i))?,
        };
    }
    db.commit(batch).map(|committed| committed.sequence)
}

/// The states after each number of commits.
pub struct Known {
    sketcher: Sketcher,
    sequence: u64,
    rows: BTreeMap<Vec<u8>, (Signature, u64)>,
}

impl Known {
    pub fn new() -> Known {
        let sketcher = Sketcher::new(&Scheme::precise());
        Known { sketcher, sequence: 0, rows: BTreeMap::new() }
    }

    /// Moves to the state after `sequence` commits.
    fn go_to(&mut self, sequence: u64) {
        if sequence < self.sequence {
            *self = Known::new();
        }
        while self.sequence < sequence {
            self.sequence += 1;
            for (i, number) in plan(self.sequence).1 {
                match number {
                    Some(number) => {
                        let signature = self.sketcher.sketch(&set(number)).unwrap();
                        self.rows.insert(key(i), (signature, self.sequence));
                    }
                    None => drop(self.rows.remove(&key(i))),
                }
            }
        }
    }

    /// Asserts that a snapshot has the contents that belong to its sequence, and returns the sequence.
    pub fn check(&mut self, snapshot: &Snapshot) -> u64 {
        let sequence = snapshot.sequence();
        self.go_to(sequence);
        let rows: Vec<_> = snapshot.range::<&[u8]>(..).map(Result::unwrap).collect();
        let found = rows.iter().map(|(key, stored)| (&**key, &stored.signature, stored.sequence));
        let right = self.rows.iter().map(|(key, (signature, s))| (&**key, signature, *s));
        assert!(found.eq(right), "not the state after {sequence} commits");
        assert_eq!(snapshot.len().unwrap(), self.rows.len() as u64);
        for i in (sequence % 29..KEYS).step_by(29) {
            let stored = snapshot.get(key(i)).unwrap().map(|s| (s.signature, s.sequence));
            assert!(stored.as_ref() == self.rows.get(&key(i)), "key {i} after {sequence} commits");
        }
        sequence
    }
}

/// What the child should do.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// The seed of its random choices.
    pub seed: u64,
    /// The child closes the database and ends after this many commits.
    pub commits: u64,
    /// Three in this many steps, on average, are a checkpoint, a compaction or a vacuum. The least is 5.
    pub calm: u64,
    /// Where commits are kept between checkpoints.
    pub log: LogKind,
}

/// Returns a command that starts this test binary as the child.
pub fn command(path: &Path, task: Task) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    tell(&mut command, path, task);
    command.args(ARGUMENTS);
    command
}

/// The arguments that make the test binary the child.
pub const ARGUMENTS: [&str; 4] = ["--exact", "child", "--nocapture", "--test-threads=1"];

/// Puts the task into the environment of the child.
pub fn tell(command: &mut Command, path: &Path, task: Task) {
    let Task { seed, commits, calm, log } = task;
    let log = if log == LogKind::Plain { "plain" } else { "sled" };
    let task = format!("{seed} {commits} {calm} {log}");
    command.env(VARIABLE, path).env(TASK_VARIABLE, task);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

const VARIABLE: &str = "RINGER_CHILD_PATH";
const TASK_VARIABLE: &str = "RINGER_CHILD_TASK";

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Ignore the error if nobody listens any more.
    let _ = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
}

/// The body of the test `child`. It does nothing unless this process is the child.
pub fn be_the_child() {
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    let task = std::env::var(TASK_VARIABLE).unwrap();
    let words: Vec<&str> = task.split(' ').collect();
    let number = |i: usize| words[i].parse::<u64>().unwrap();
    let log = match words[3] {
        "plain" => LogKind::Plain,
        "sled" => LogKind::Sled,
        other => panic!("no log kind {other}"),
    };
    let task = Task { seed: number(0), commits: number(1), calm: number(2), log };
    work(Path::new(&path), task);
}

fn open(path: &Path, random: &mut Random, log: LogKind) -> ringer::Result<Database> {
    let options = Options::default()
        .with_memtable_rows(1 + random.below(60) as usize)
        .with_build_bytes(1 << random.below(16))
        .with_cache_bytes(1 << random.below(22))
        .with_background(random.below(2) == 0)
        .with_log(log);
    if !path.exists() {
        match Database::create(path, &Scheme::precise(), options.clone()) {
            // Another process was faster.
            Err(Error::Exists { .. }) => {}
            created => return created,
        }
    }
    Database::open(path, options)
}

fn work(path: &Path, task: Task) {
    let mut random = Random(task.seed);
    let db = match open(path, &mut random, task.log) {
        Ok(db) => db,
        Err(error) => return fail("open", &error),
    };
    let witness = Witness::take();
    let mut last = db.snapshot().sequence();
    say(&format!("open {last}"));
    let end = last.saturating_add(task.commits);
    let mut failures = 0;
    while last < end && failures < 20 {
        let did = match random.below(task.calm.max(5)) {
            0 => db.checkpoint().map(|()| "checkpoint"),
            1 => db.compact().map(|()| "compact"),
            2 => db.vacuum().map(|()| "vacuum"),
            _ => commit(&db, last + 1).map(|sequence| {
                assert_eq!(sequence, last + 1);
                last = sequence;
                say(&format!("ack {sequence}"));
                "commit"
            }),
        };
        if let Err(error) = did {
            fail("work", &error);
            failures += 1;
            // Reading still works after any failure, and shows what was acknowledged.
            assert_eq!(Known::new().check(&db.snapshot()), last);
        }
    }
    drop(witness);
    match db.close() {
        Ok(()) => say("closed"),
        Err(error) => fail("close", &error),
    }
}

/// Prints the variant and the message of an error.
fn fail(what: &str, error: &Error) {
    let variant = match error {
        Error::NoSpace { .. } => "NoSpace".to_string(),
        Error::Poisoned { .. } => "Poisoned".to_string(),
        Error::Locked { .. } => "Locked".to_string(),
        Error::Io { source, .. } => format!("Io-{:?}", source.kind()),
        _ => "Other".to_string(),
    };
    say(&format!("fail {what} {variant} {error}"));
}

/// What a child reported.
#[derive(Debug, Default, Clone)]
pub struct Said {
    /// The last commit that it found when it opened the database.
    pub opened: Option<u64>,
    /// The last acknowledged commit.
    pub acknowledged: Option<u64>,
    /// Whether it closed the database.
    pub closed: bool,
    /// The failures: where, the variant, the message.
    pub failures: Vec<String>,
}

impl Said {
    pub fn hear(&mut self, line: &str) {
        // The test harness prints "test child ... " in front of the first line.
        let line = line.rsplit(" ... ").next().unwrap_or(line);
        match line.split_once(' ') {
            Some(("open", n)) => self.opened = n.parse().ok(),
            Some(("ack", n)) => self.acknowledged = n.parse().ok(),
            Some(("fail", text)) => self.failures.push(text.to_string()),
            _ if line == "closed" => self.closed = true,
            _ => {}
        }
    }

    /// Returns the last commit that is known to be durable.
    pub fn last(&self) -> Option<u64> {
        self.acknowledged.or(self.opened)
    }
}

/// Reads the lines of a child until `stop` returns true or the child ends.
pub fn listen(child: &mut Child, stop: impl FnMut(&Said) -> bool) -> Said {
    read(child.stdout.as_mut().expect("piped"), stop)
}

/// Kills a child after it has opened the database and printed this many lines, and then `wait`. Returns all that it
/// reported, including what arrived after its end. `heard` sees the report grow.
pub fn kill_after(
    mut child: Child,
    lines: u64,
    wait: Duration,
    heard: impl Fn(&Said) + Send,
) -> Said {
    let out = child.stdout.take().expect("piped");
    let (sender, heard_lines) = mpsc::channel();
    thread::scope(|scope| {
        let listener = scope.spawn(move || {
            read(out, |said| {
                heard(said);
                if said.opened.is_some() {
                    let _ = sender.send(());
                }
                false
            })
        });
        // If the child ends by itself, the wait ends too.
        let _ = (0..lines).try_for_each(|_| heard_lines.recv());
        thread::sleep(wait);
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!errors.contains("panicked"), "{errors}");
        listener.join().unwrap()
    })
}

fn read(out: impl Read, mut stop: impl FnMut(&Said) -> bool) -> Said {
    let mut said = Said::default();
    for line in BufReader::new(out).lines() {
        said.hear(&line.unwrap());
        if stop(&said) {
            break;
        }
    }
    said
}
