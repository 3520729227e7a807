//! Kills the real binary at random instants: output is complete or absent, and a repeated run gives the same result.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::oracle::{Row, planted};
use crate::run::Tool;
use testkit::random::Random;
use testkit::scale::cases;

const RUN: [&str; 16] = [
    "dedup",
    "--jsonl",
    "in.jsonl",
    "--features",
    "tokens",
    "--min",
    "0.7",
    "--out",
    "out",
    "--removed",
    "gone",
    "--clusters",
    "list.csv",
    "--db",
    "seen.ringer",
    "--force",
];

/// The result of a complete run: the output, and the stored keys.
type Left = ([Vec<u8>; 3], Vec<String>);

fn left(tool: &Tool) -> Left {
    let files = ["out/in.jsonl", "gone/in.jsonl", "list.csv"];
    (files.map(|name| fs::read(tool.path(name)).unwrap()), tool.keys("seen.ringer"))
}

#[test]
fn a_killed_run_leaves_whole_output_or_none_and_can_be_repeated() {
    let rows = planted(4000, 21);
    let (before, after) = rows.split_at(1000);
    let lines = |rows: &[Row]| rows.iter().map(Row::line).collect::<String>();
    let tool = Tool::new();
    tool.write("before.jsonl", lines(before)).write("in.jsonl", lines(after));
    let create = [
        "dedup",
        "--jsonl",
        "before.jsonl",
        "--features",
        "tokens",
        "--min",
        "0.7",
        "--out",
        "first",
        "--db",
        "start.ringer",
    ];
    tool.run(&create).with_status(0);
    let reset = || {
        for folder in ["out", "gone"] {
            let _ = fs::remove_dir_all(tool.path(folder));
        }
        let _ = fs::remove_file(tool.path("list.csv"));
        fs::copy(tool.path("start.ringer"), tool.path("seen.ringer")).unwrap();
    };
    reset();
    let started = Instant::now();
    tool.run(&RUN).with_status(0);
    let time = started.elapsed();
    let expected = left(&tool);
    assert!(expected.0.iter().all(|file| file.len() > 1000));

    let rounds = cases(12, 200);
    let (mut dice, mut killed) = (Random(5), 0);
    for _ in 0..rounds {
        reset();
        let mut command = tool.command(&RUN);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        thread::sleep(Duration::from_micros(dice.below(time.as_micros() as u64 + 1)));
        child.kill().unwrap();
        let ended = child.wait().unwrap().code();
        killed += u64::from(ended.is_none());
        for (name, whole) in
            ["out/in.jsonl", "gone/in.jsonl", "list.csv"].into_iter().zip(&expected.0)
        {
            if let Ok(found) = fs::read(tool.path(name)) {
                assert!(found == *whole, "{name} is not whole");
            }
        }
        if ended.is_none() {
            tool.run(&RUN).with_status(0);
        }
        assert!(left(&tool) == expected, "a repeated run has another result");
        tool.run(&["check", "seen.ringer", "--deep"]).with_status(0);
    }
    eprintln!("{killed} of {rounds} runs were killed");
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let tool = Tool::new();
    tool.write("in.jsonl", planted(20_000, 22).iter().map(Row::line).collect::<String>());
    let mut command = tool.command(&RUN);
    let child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // The database is created when reading starts, long before the end.
    while !tool.path("seen.ringer").exists() {
        thread::yield_now();
    }
    let process = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    // The run may have ended just before the kill.
    if ended.status.code() != Some(0) {
        assert_eq!(ended.status.code(), Some(130));
        assert_eq!(tool.names(), ["in.jsonl", "seen.ringer"]);
        assert!(tool.keys("seen.ringer").is_empty());
    }
}

#[test]
fn an_interrupt_while_files_are_written_leaves_nothing() {
    let rows = planted(10_000, 24);
    let tool = Tool::new();
    tool.write("in.jsonl", rows.iter().map(Row::line).collect::<String>());
    interrupt_writing(&tool, "--jsonl", "in.jsonl");
    #[cfg(feature = "parquet")]
    {
        use parquet::basic::Compression;
        super::parquet_files::write(&tool.path("in.parquet"), &rows, Compression::SNAPPY);
        fs::remove_file(tool.path("in.jsonl")).unwrap();
        interrupt_writing(&tool, "--parquet", "in.parquet");
    }
}

/// Interrupts a run when its output has a temporary name.
fn interrupt_writing(tool: &Tool, option: &str, name: &str) {
    let run = ["dedup", option, name, "--features", "tokens", "--out", "out", "--removed", "gone"];
    let mut command = tool.command(&[&run[..], &["--spill", "."]].concat());
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let is_written = || tool.names().iter().any(|name| name.starts_with(".gone.partial"));
    while !is_written() && child.try_wait().unwrap().is_none() {
        thread::yield_now();
    }
    if child.try_wait().unwrap().is_none() {
        let process = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    }
    let ended = child.wait_with_output().unwrap();
    // The run may have ended just before the interrupt.
    if ended.status.code() == Some(0) {
        assert_eq!(tool.names(), ["gone", name, "out"]);
        eprintln!("{name}: the run ended before the interrupt");
        ["gone", "out"].iter().for_each(|name| fs::remove_dir_all(tool.path(name)).unwrap());
    } else {
        assert_eq!(ended.status.code(), Some(130), "{name}");
        assert_eq!(tool.names(), [name]);
    }
}

/// Standard output is a pipe that nobody reads, so the run is still writing when the interrupt arrives, and cannot go on. The
/// second interrupt ends it at once. The removed rows were being written, too, and nothing is left of them.
#[test]
fn an_interrupt_while_rows_are_written_leaves_nothing() {
    let tool = Tool::new();
    let rows: String = planted(4000, 23).iter().map(Row::line).collect();
    tool.write("in.jsonl", rows);
    let run =
        ["dedup", "--jsonl", "-", "--features", "tokens", "--removed", "gone", "--spill", "."];
    let mut command = tool.command(&run);
    command.stdin(fs::File::open(tool.path("in.jsonl")).unwrap());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut rows = child.stdout.take().unwrap();
    // When the first row arrives, the others are being written.
    rows.read_exact(&mut [0]).unwrap();
    let process = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    let interrupt = || {
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    };
    interrupt();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("stopping") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it did not hear the interrupt");
    }
    interrupt();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("interrupted: the input is as it was"), "{rest}");
    assert_eq!(tool.names(), ["in.jsonl"]);
}
