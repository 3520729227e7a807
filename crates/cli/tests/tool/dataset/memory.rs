//! Memory of `dedup` on generated input: the peak of a process stays far below the size of its input.
//!
//! The quick tier compares two inputs, one of which is much larger. The full tier reads 2 GB, under 1.2 GiB.
#![cfg(target_os = "linux")]

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use testkit::random::Random;
use testkit::scale::is_full;

use crate::run::Tool;

/// The bytes of one text.
const TEXT_BYTES: usize = 2_000;

const FULL_BYTES: usize = 2 << 30;
const FULL_LIMIT: usize = 1_200 << 20;

const SMALL_BYTES: usize = 8 << 20;
const LARGE_BYTES: usize = 64 << 20;

/// The larger input of the quick tier may take more memory by half of what it has more: offsets and signatures take about 300
/// bytes for each row of 2,000 bytes. A run that held the input, or the sets, would take more than all of it.
const GROWTH: usize = (LARGE_BYTES - SMALL_BYTES) / 2;

/// The memory that the larger input may take if its rows are stored as well: buffers, threads, a page cache, and a bulk load,
/// which holds 64 MiB.
const STORING: usize = 256 << 20;

/// The memory for signatures and comparisons. By default it is larger than the input of the quick tier.
const SMALL_BUDGET: &[&str] = &["--memory", "32MiB"];

/// How many of the last texts may be repeated. If it were all of them, groups would grow with the input.
const REPEATED: usize = 1000;

/// Texts of random words. Every fourth one repeats a recent one with another end.
struct Texts {
    random: Random,
    recent: VecDeque<String>,
}

impl Texts {
    fn new() -> Texts {
        Texts { random: Random(77), recent: VecDeque::new() }
    }

    fn next(&mut self) -> String {
        let number = self.random.below(u64::MAX);
        if number.is_multiple_of(4) && !self.recent.is_empty() {
            let earlier = &self.recent[(number >> 8) as usize % self.recent.len()];
            return format!("{}{number:x}", &earlier[..earlier.len() - 8]);
        }
        let mut text = String::with_capacity(TEXT_BYTES + 20);
        while text.len() < TEXT_BYTES {
            let word = self.random.below(1 << 24);
            text += &format!("{word:x} ");
        }
        if self.recent.len() == REPEATED {
            self.recent.pop_front();
        }
        self.recent.push_back(text.clone());
        text
    }
}

fn write_lines(tool: &Tool, bytes: usize) {
    let mut file = BufWriter::new(File::create(tool.path("in.jsonl")).unwrap());
    let mut texts = Texts::new();
    for row in 0..bytes / TEXT_BYTES {
        writeln!(file, "{{\"id\":{row},\"text\":\"{}\"}}", texts.next()).unwrap();
    }
    file.flush().unwrap();
}

#[cfg(feature = "parquet")]
fn write_columns(tool: &Tool, bytes: usize) {
    use super::parquet_files::column;
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;
    const GROUP_ROWS: usize = 4_000;
    let schema = "message m { REQUIRED BYTE_ARRAY text (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(tool.path("in.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut texts = Texts::new();
    for _ in 0..bytes / TEXT_BYTES / GROUP_ROWS {
        let mut group = writer.next_row_group().unwrap();
        let values: Vec<ByteArray> =
            (0..GROUP_ROWS).map(|_| ByteArray::from(&*texts.next())).collect();
        column::<ByteArrayType>(&mut group, &values, None, None);
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// The highest resident memory of a process, in bytes. The system's own figure grows only, so the last one that can be read
/// counts.
fn peak(mut child: Child) -> usize {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0) << 10);
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(ended.code(), Some(0));
    assert!(peak > 1 << 20, "the peak was not read");
    peak
}

/// The peak of a run with these options.
fn measured(input: Input, bytes: usize, options: &[&str]) -> usize {
    let (option, name, write) = input;
    let tool = Tool::new();
    write(&tool, bytes);
    let run = ["dedup", option, name, "--out", "out", "--clusters", "list.csv", "--quiet"];
    let mut command = tool.command(&[&run[..], &["--spill", "."], options].concat());
    let peak = peak(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    let list = fs::metadata(tool.path("list.csv")).unwrap().len();
    assert!(list > bytes as u64 / 1000, "the input has groups");
    eprintln!("{name}, {options:?}: {} MiB take {} MiB", bytes >> 20, peak >> 20);
    peak
}

/// The option for the input, its name, and what writes so many bytes of it.
type Input = (&'static str, &'static str, fn(&Tool, usize));

const STORED: &[&str] = &["--db", "seen.ringer"];

fn check(input: Input) {
    if is_full() {
        assert!(measured(input, FULL_BYTES, STORED) < FULL_LIMIT);
    }
    let small = measured(input, SMALL_BYTES, SMALL_BUDGET);
    let large = measured(input, LARGE_BYTES, SMALL_BUDGET);
    assert!(large < small + GROWTH, "{small} {large}");
}

#[test]
fn memory_for_jsonl_does_not_follow_the_input() {
    let input: Input = ("--jsonl", "in.jsonl", write_lines);
    check(input);
    assert!(measured(input, LARGE_BYTES, &[SMALL_BUDGET, STORED].concat()) < STORING);
}

#[cfg(feature = "parquet")]
#[test]
fn memory_for_parquet_does_not_follow_the_input() {
    check(("--parquet", "in.parquet", write_columns));
}
