//! Kills the real tool at random moments while it adds, deletes, compacts, repairs, packs or reindexes. All rounds use one
//! database. After each kill, it has all acknowledged commits and at most one more. A model of the rows is the oracle.
//!
//! A quick run does 20 rounds, a full one 2,500.
#![cfg(unix)]

use crate::rows;
use crate::run;
use testkit::folder;
use testkit::random::Random;
use testkit::scale::cases;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ringer::{Database, Options, Sketcher};

use rows::{Put, Rows, acknowledged, dump, lines, put};
use run::Tool;

const DB: &str = "db.ringer";
const PACKED: &str = "packed.ringer";
const KEYS: u64 = 70;
const ABSENT: [&str; 3] = ["delete", DB, "no such key"];

/// The command of a round, and the rows after each of its commits.
struct Work {
    command: Vec<String>,
    states: Vec<Rows>,
    /// The number of sets in a commit, or 0 if the command acknowledges nothing before it ends.
    every: u64,
}

/// How a process ended.
struct Ended {
    status: Option<i32>,
    out: String,
}

#[derive(Debug, Default)]
struct Counts {
    killed: u64,
    acknowledged: u64,
    more: u64,
    logs: u64,
    packed: u64,
}

/// The database, and the rows that it must have.
struct Life {
    tool: Tool,
    rows: Rows,
    sketcher: Sketcher,
    random: Random,
    /// Whether the last process may have left a log or other companion files.
    open: bool,
    counts: Counts,
}

impl Life {
    fn new(seed: u64) -> Life {
        let tool = Tool::new();
        fs::create_dir(tool.path("work")).unwrap();
        tool.run(&["create", "work/db.ringer", "--features", "tokens"]).with_status(0);
        let reader = Database::open_read_only(tool.path("work/db.ringer"), Options::default());
        let sketcher = Sketcher::new(&reader.unwrap().scheme());
        let (random, counts) = (Random(seed), Counts::default());
        Life { tool, rows: Rows::new(), sketcher, random, open: false, counts }
    }

    /// Returns random sets. Many of their keys are already stored.
    fn puts(&mut self, count: u64) -> Vec<Put> {
        let one = |_| (format!("key{:02}", self.random.below(KEYS)), self.random.below(5000));
        (0..count).map(one).collect()
    }

    /// Returns the rows before the first and after each of these commits.
    fn after(&self, commits: &[&[Put]]) -> Vec<Rows> {
        let mut states = vec![self.rows.clone()];
        for puts in commits {
            let mut next = states.last().unwrap().clone();
            put(&mut next, puts, &self.sketcher);
            states.push(next);
        }
        states
    }

    fn adding(&mut self, count: u64, every: Option<u64>) -> Work {
        let puts = self.puts(count);
        fs::write(self.tool.path("input"), lines(&puts)).unwrap();
        let mut command = vec!["add", DB, "--sets", "../input", "--ack"];
        let number = every.map(|every| every.to_string());
        if let Some(number) = &number {
            command.extend(["--commit-every", number]);
        }
        let every = every.unwrap_or(count);
        let states = self.after(&puts.chunks(every as usize).collect::<Vec<_>>());
        Work { command: owned(&command), states, every }
    }

    fn deleting(&mut self) -> Work {
        let keys: Vec<String> = (0..1 + self.random.below(9))
            .map(|_| self.random.below(KEYS))
            .map(|i| format!("key{i:02}"))
            .collect();
        let mut fewer = self.rows.clone();
        fewer.retain(|key, _| !keys.contains(key));
        let command = [owned(&["delete", DB]), keys].concat();
        Work { command, states: vec![self.rows.clone(), fewer], every: 0 }
    }

    fn choose(&mut self) -> Work {
        let same = |command: &[&str], rows: &Rows| Work {
            command: owned(command),
            states: vec![rows.clone()],
            every: 0,
        };
        match self.random.below(12) {
            0 => same(&["compact", DB], &self.rows),
            1 => same(&["repair", DB], &self.rows),
            2 if self.random.below(2) == 0 => same(&["pack", DB, PACKED], &self.rows),
            2 => {
                let slots = (10 + self.random.below(11)).to_string();
                same(&["reindex", DB, "--slots", &slots], &self.rows)
            }
            3 | 4 => self.deleting(),
            5 => {
                let count = 1 + self.random.below(300);
                self.adding(count, None)
            }
            _ => {
                let (count, every) = (20 + self.random.below(200), 1 + self.random.below(6));
                self.adding(count, Some(every))
            }
        }
    }

    /// Starts the tool in the folder of the database.
    fn spawn(&self, command: &[String]) -> Child {
        let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        let mut command = self.tool.command(&arguments);
        command.current_dir(self.tool.path("work")).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs a command and kills it after a random number of output lines and a random time. It may end before that.
    fn run_and_kill(&mut self, work: &Work) -> Ended {
        let mut process = self.spawn(&work.command);
        let lines_first =
            if work.every > 0 { self.random.below(work.states.len() as u64) } else { 0 };
        let most = if lines_first > 0 { 1_500 } else { 30_000 };
        let wait = Duration::from_micros(self.random.below(most));
        let out = process.stdout.take().unwrap();
        let (sender, heard) = mpsc::channel();
        let listener = thread::spawn(move || {
            // Reads everything, including what arrives after the kill.
            let (mut text, mut out) = (String::new(), BufReader::new(out));
            while out.read_line(&mut text).unwrap() > 0 {
                let _ = sender.send(());
            }
            text
        });
        // If the process ends by itself, `recv` fails and the wait ends.
        let _ = (0..lines_first).try_for_each(|_| heard.recv());
        thread::sleep(wait);
        process.kill().unwrap();
        let mut errors = String::new();
        process.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let status = process.wait().unwrap().code();
        assert!(!errors.contains("panicked") && !errors.contains("has a bug"), "{errors}");
        let documented =
            matches!(status, None | Some(0)) || work.command[0] == "delete" && status == Some(1);
        assert!(documented, "{:?}: {status:?} {errors}", work.command);
        Ended { status, out: listener.join().unwrap() }
    }

    /// Recovers the database in a folder: deletes an absent key, which opens and closes the database for writing.
    /// Checks the database and returns its rows.
    fn put_in_order(&self, name: &str) -> Rows {
        let place = self.tool.path(name);
        let run = |arguments: &[&str], status| {
            let mut command = self.tool.command(arguments);
            let ran = run::ran(&command.current_dir(&place).output().unwrap());
            ran.with_status(status)
        };
        run(&ABSENT, 1);
        assert_eq!(folder::names(&place), [DB]);
        run(&["check", DB, "--deep"], 0);
        dump(&self.tool, &format!("{name}/{DB}"))
    }

    /// Checks that the packed copy is complete or absent and that its source is unchanged. Removes the copy.
    fn check_packed(&mut self, ended: &Ended, before: &[u8]) {
        assert!(fs::read(self.tool.path("work/db.ringer")).unwrap() == before);
        let there = self.tool.path("work/packed.ringer").exists();
        assert!(there || ended.status.is_none());
        if there {
            self.counts.packed += 1;
            self.tool.run(&["check", "work/packed.ringer", "--deep"]).with_status(0);
            assert!(dump(&self.tool, "work/packed.ringer") == self.rows);
        }
        for name in folder::names(&self.tool.path("work")) {
            if name.starts_with(PACKED) {
                fs::remove_file(self.tool.path("work").join(name)).unwrap();
            }
        }
    }

    fn round(&mut self) {
        let work = self.choose();
        let packing = work.command[0] == "pack";
        if packing && self.open {
            // `pack` copies only what is in the file, so recovery must move the commits of the log there first.
            assert!(self.put_in_order("work") == self.rows);
        }
        let before = fs::read(self.tool.path("work/db.ringer")).unwrap();
        let ended = self.run_and_kill(&work);
        self.counts.killed += u64::from(ended.status.is_none());
        self.counts.logs += u64::from(self.tool.path("work/db.ringer-hot").exists());
        if packing {
            self.check_packed(&ended, &before);
        }
        let safe = acknowledged(&ended.out);
        self.counts.acknowledged += safe;
        let last = work.states.len() - 1;
        // The last commit may have fewer sets.
        let told = if work.every == 0 { 0 } else { safe.div_ceil(work.every) as usize };
        let least = if ended.status.is_some() { last } else { told };
        let rows = self.look();
        let found = (least..=last.min(least + 1)).find(|i| work.states[*i] == rows);
        let found =
            found.unwrap_or_else(|| panic!("{:?}: not the rows after {least}", work.command));
        self.counts.more += u64::from(found > least);
        self.rows = rows;
    }

    /// Returns the rows that the next process will find. In half of the rounds, chosen at random, it recovers a copy
    /// instead of the database, so that the next process has to recover the database itself.
    fn look(&mut self) -> Rows {
        self.open = self.random.below(2) == 0;
        if !self.open {
            return self.put_in_order("work");
        }
        fs::create_dir(self.tool.path("copy")).unwrap();
        folder::copy(&self.tool.path("work"), &self.tool.path("copy"));
        let rows = self.put_in_order("copy");
        fs::remove_dir_all(self.tool.path("copy")).unwrap();
        rows
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_string()).collect()
}

#[test]
fn a_killed_command_loses_nothing_that_it_acknowledged() {
    let rounds = cases(20, 2500);
    let mut life = Life::new(2026);
    for round in 0..rounds {
        life.round();
        if round % 1000 == 999 {
            println!("{} rounds: {:?}", round + 1, life.counts);
        }
    }
    println!("{rounds} rounds: {:?}, {} keys", life.counts, life.rows.len());
    let Counts { killed, acknowledged, logs, .. } = life.counts;
    // How many commands end before they are killed depends on the machine.
    assert!(killed > rounds / 10 && logs > rounds / 30 && acknowledged > 5 * rounds);
}
