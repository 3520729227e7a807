//! Unusual command lines for the real binary: the corpus of the fuzz target `arguments`, and random changes of it.
//!
//! Each ends with a documented status and without a message about a bug. It changes nothing outside its folder, and leaves
//! no temporary file. `RINGER_RANDOM` is the number of changes (default 150), `RINGER_RANDOM_START` the number of the
//! first one.
#![cfg(unix)]

use testkit::attacks;
use testkit::scale::cases;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use attacks::arguments::{Files, Given, given};
use testkit::random::Random;

/// The address space of a command: what its threads reserve, and much more than it uses.
const MOST_KIB: u64 = 4 << 20;

fn corpus() -> Vec<Vec<u8>> {
    testkit::corpus::inputs("arguments").into_iter().map(|(_, bytes)| bytes).collect()
}

/// A folder for commands, one for temporary files, and nothing else.
fn run(files: &Files, input: &[u8]) -> Option<i32> {
    let Given { arguments, lines } = given(input);
    if arguments.is_empty() {
        return None;
    }
    let root = tempfile::tempdir().unwrap();
    let [work, temporary] = ["work", "temporary"].map(|name| root.path().join(name));
    fs::create_dir(&work).unwrap();
    fs::create_dir(&temporary).unwrap();
    files.fill(&work, &lines).unwrap();
    let limited = format!("ulimit -v {MOST_KIB}; exec \"$0\" \"$@\"");
    let ran = Command::new("sh")
        .args(["-c", &limited, env!("CARGO_BIN_EXE_ringer")])
        .args(&arguments)
        .current_dir(&work)
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    let status = ran.status.code();
    assert!(matches!(status, Some(0..=6)), "{arguments:?}: {status:?} {err}");
    assert!(!err.contains("has a bug") && !err.contains("panicked"), "{arguments:?}: {err}");
    let names = |folder: &Path| fs::read_dir(folder).unwrap().count();
    assert_eq!((names(root.path()), names(&temporary)), (2, 0), "{arguments:?}");
    status
}

/// Changes an input a little: removes, adds, swaps or edits arguments.
fn change(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let end = input.iter().position(|byte| *byte == 1).unwrap_or(input.len());
    let (command, lines) = input.split_at(end);
    let mut arguments: Vec<Vec<u8>> = command.split(|b| *b == 0).map(<[u8]>::to_vec).collect();
    let others: Vec<&[u8]> = other.split(|byte| *byte < 2).collect();
    for _ in 0..=random.below(2) {
        let at = random.below(arguments.len() as u64) as usize;
        match random.below(6) {
            0 if arguments.len() > 1 => drop(arguments.remove(at)),
            0 | 1 => arguments.insert(at + 1, vec![128 + random.below(128) as u8]),
            2 => arguments
                .insert(at + 1, others[random.below(others.len() as u64) as usize].to_vec()),
            3 => {
                let to = random.below(arguments.len() as u64) as usize;
                arguments.swap(at, to);
            }
            4 => arguments[at].push(2 + random.below(254) as u8),
            _ => {
                let byte = 2 + random.below(254) as u8;
                if let Some(last) = arguments[at].last_mut() {
                    *last = byte;
                }
            }
        }
    }
    [arguments.join(&0), lines.to_vec()].concat()
}

fn tally(statuses: impl Iterator<Item = Option<i32>>) -> [usize; 7] {
    let mut tally = [0; 7];
    statuses.flatten().for_each(|status| tally[status as usize] += 1);
    tally
}

#[test]
fn the_corpus_of_the_fuzzer() {
    let files = Files::new().unwrap();
    let statuses = tally(corpus().iter().map(|input| run(&files, input)));
    println!("statuses 0 to 6: {statuses:?}");
    assert!(statuses[0] >= 20, "{statuses:?}: the corpus has commands that work");
}

#[test]
fn changed_command_lines() {
    let number = |name: &str, or| {
        std::env::var(name).map_or(or, |text| text.parse::<u64>().expect("a number"))
    };
    let (count, start) =
        (number("RINGER_RANDOM", cases(30, 150)), number("RINGER_RANDOM_START", 1));
    let (files, corpus) = (Files::new().unwrap(), corpus());
    let one = |n| {
        let mut random = Random(n);
        let [input, other] = [(); 2].map(|()| &corpus[random.below(corpus.len() as u64) as usize]);
        run(&files, &change(&mut random, input, other))
    };
    println!("statuses 0 to 6: {:?}", tally((start..start + count).map(one)));
}
