//! What the feature `tracing` costs if no subscriber listens: commits and queries of two builds of this program, without
//! the feature and with it.
//!
//! `cargo bench --bench tracing` builds the program a second time, with the feature, and starts both builds. They take
//! turns. Databases are in memory, so that no disk hides the cost.

#[path = "ratio/mod.rs"]
mod ratio;

use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ringer::{Database, Like, Scheme};
use testkit::random::Random;

/// Tells a process that it is one of the two contenders.
const CONTENDER: &str = "RINGER_BENCH_CONTENDER";

/// Sets that are stored before the first round, and that are queried.
const STORED: u64 = 5_000;
const ELEMENTS: u64 = 20;

const COMMITS: u64 = 500;
const QUERIES: u64 = 500;

fn set(i: u64) -> Vec<u64> {
    let mut random = Random(i);
    (0..ELEMENTS).map(|_| random.word()).collect()
}

/// Runs a round of commits or queries for each line of the input, and answers with a line.
fn contend() {
    let db = Database::in_memory(&Scheme::near_duplicate()).unwrap();
    let sets: Vec<Vec<u64>> = (0..STORED).map(set).collect();
    for (i, set) in (0_u64..).zip(&sets) {
        db.put(i.to_be_bytes(), set).unwrap();
    }
    db.checkpoint().unwrap();
    let snapshot = db.snapshot();
    let (mut next, mut asked) = (0, 0);
    for line in stdin().lines() {
        match &*line.unwrap() {
            // The same keys in each round, so that the database does not grow.
            "commits" => (0..COMMITS).for_each(|i| {
                next = (next + 1) % STORED;
                db.put(i.to_be_bytes(), &sets[next as usize]).unwrap();
            }),
            _ => (0..QUERIES).for_each(|_| {
                asked = (asked + 1) % STORED;
                let like = Like::Features(&sets[asked as usize]);
                assert!(!snapshot.query(like).top(1).run().unwrap().matches.is_empty());
            }),
        }
        println!("done");
        stdout().flush().unwrap();
    }
}

/// A running contender. It ends when its input does.
struct Contender {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Contender {
    fn start(program: &Path) -> Contender {
        let mut command = Command::new(program);
        let command = command.env(CONTENDER, "1").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Contender { child, input, output: BufReader::new(output) }
    }

    fn round(&mut self, work: &str) {
        writeln!(self.input.as_mut().unwrap(), "{work}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        assert_eq!(answer, "done\n", "the contender has ended");
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Builds this program with the feature.
fn build_with_feature() -> PathBuf {
    let arguments = ["bench", "--locked", "--no-run", "--bench", "tracing"];
    let built = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--features", "tracing", "--message-format", "json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(built.status.success(), "the build with the feature failed");
    let messages = String::from_utf8(built.stdout).unwrap();
    let mut programs = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        (message["target"]["name"] == "tracing")
            .then(|| message["executable"].as_str().map(PathBuf::from))?
    });
    programs.next_back().expect("a program")
}

fn main() {
    if std::env::var_os(CONTENDER).is_some() {
        return contend();
    }
    if !ratio::wanted() {
        return;
    }
    if cfg!(feature = "tracing") {
        println!("run this bench without the feature: it builds the other program itself");
        return;
    }
    let (mut without, mut with) = (
        Contender::start(&std::env::current_exe().unwrap()),
        Contender::start(&build_with_feature()),
    );
    let mut report = ratio::Ratio::new();
    for (work, count) in [("commits", COMMITS), ("queries", QUERIES)] {
        report.compare(
            &format!("{work} in memory, {ELEMENTS}-element sets"),
            &format!("k {work}/s"),
            count as f64 / 1e3,
            ("without the feature", &mut || without.round(work)),
            &mut [("with the feature, no subscriber", &mut || with.round(work))],
        );
    }
}
