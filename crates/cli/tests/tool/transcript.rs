//! Ten tasks of a new user, as a transcript. Every command runs in a shell and prints the expected text, and `--help` lists
//! every option that is used.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::run::{Ran, Tool, ran, words};

/// A command line of a task, its status, and texts that it prints, in this order.
type Step = (&'static str, i32, &'static [&'static str]);

/// A user in a folder with a shell.
struct User {
    tool: Tool,
    path: String,
    helps: BTreeMap<String, String>,
}

impl User {
    fn new() -> User {
        let folder = Path::new(env!("CARGO_BIN_EXE_ringer")).parent().expect("a folder");
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
        User { tool: Tool::new(), path, helps: BTreeMap::new() }
    }

    fn shell(&self, line: &str) -> Ran {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.tool.folder.path()).env("PATH", &self.path);
        ran(&shell.output().expect("a shell"))
    }

    /// Returns options that the help of their command does not list.
    fn unlisted(&mut self, line: &str) -> Vec<String> {
        let mut unlisted = Vec::new();
        for part in line.split(['|', ';', '&', '\n']) {
            let mut words = part.split_whitespace().skip_while(|word| *word != "ringer").skip(1);
            let Some(command) = words.next() else { continue };
            let help = self.helps.entry(command.to_string()).or_default();
            if help.is_empty() {
                *help = self.tool.run(&[command, "--help"]).with_status(0).out;
            }
            let options = words.filter(|word| word.starts_with("--"));
            unlisted.extend(options.filter(|option| !help.contains(*option)).map(str::to_string));
        }
        unlisted
    }

    #[track_caller]
    fn does(&mut self, task: &str, steps: &[Step]) {
        for (line, status, says) in steps {
            assert_eq!(self.unlisted(line), [""; 0], "{task}: {line}");
            let ran = self.shell(line);
            let all = ran.out + &ran.err;
            assert_eq!(ran.status, Some(*status), "{task}: {line}\n{all}");
            let mut rest = &*all;
            for text in *says {
                let (_, after) = rest
                    .split_once(text)
                    .unwrap_or_else(|| panic!("{task}: {line}: no {text:?} in\n{all}"));
                rest = after;
            }
        }
    }
}

/// Two versions of a text, a copy, and another text.
fn texts() -> User {
    let user = User::new();
    user.tool.write("notes/a.txt", words(1)).write("notes/b.txt", words(1) + "and some more words");
    user.tool.write("notes/copy of a.txt", words(1)).write("notes/other.txt", words(2));
    user
}

#[test]
fn find_copies_and_delete_them() {
    texts().does(
        "dedup and delete",
        &[
            (
                "ringer dedup notes",
                0,
                &["notes/a.txt", "identical", "notes/copy of a.txt", "exact", "notes/b.txt"],
            ),
            ("ringer dedup notes --identical --delete", 2, &["(to be deleted)", "add --yes"]),
            ("ringer dedup notes --identical --delete --yes", 0, &["deleted 1 file"]),
            ("ls notes", 0, &["a.txt\nb.txt\nother.txt\n"]),
        ],
    );
}

#[test]
fn add_what_is_new_every_day() {
    texts().does(
        "daily increments",
        &[
            ("ringer create notes.ringer", 0, &["created notes.ringer"]),
            ("ringer add notes.ringer notes --sync", 0, &["added 4 sets"]),
            ("rm notes/b.txt; echo something entirely new is written here > notes/new.txt", 0, &[]),
            (
                "ringer add notes.ringer notes --sync",
                0,
                &["added 1 set", "deleted 1 key of files that no longer exist"],
            ),
            ("ringer keys notes.ringer --prefix notes/new", 0, &["notes/new.txt"]),
        ],
    );
}

#[test]
fn ask_in_a_loop_whether_a_text_is_new() {
    texts().does(
        "new or not",
        &[
            (
                "ringer create seen.ringer --quiet && ringer add seen.ringer notes/a.txt --quiet",
                0,
                &[],
            ),
            (
                "for file in notes/*; do
                   if ringer query seen.ringer --file \"$file\" --min 0.8 > /dev/null
                   then echo \"known: $file\"; else echo \"new: $file\"; fi
                 done",
                0,
                &[
                    "known: notes/a.txt",
                    "known: notes/b.txt",
                    "known: notes/copy of a.txt",
                    "new: notes/other.txt",
                ],
            ),
        ],
    );
}

#[test]
fn find_the_text_that_contains_a_snippet() {
    texts().does(
        "containment of a snippet",
        &[
            (
                "ringer create notes.ringer --preset precise && ringer add notes.ringer notes",
                0,
                &[],
            ),
            ("cut -c 1-900 notes/other.txt > snippet.txt", 0, &[]),
            (
                "ringer query notes.ringer --file snippet.txt --exhaustive --top 1 --json",
                0,
                &["\"key\":\"notes/other.txt\"", "\"containment_of_query\":"],
            ),
        ],
    );
}

#[test]
fn export_to_csv() {
    texts().does(
        "export to CSV",
        &[
            ("ringer create notes.ringer && ringer add notes.ringer notes", 0, &["added 4 sets"]),
            ("ringer pairs notes.ringer --min 0.8 --output pairs.csv", 0, &["found 3 pairs"]),
            ("head -n 2 pairs.csv", 0, &["a,b,resemblance,std_error,low,high,exact\nnotes/a.txt,"]),
            (
                "ringer clusters notes.ringer --min 0.8 --format csv",
                0,
                &["cluster,key,representative,"],
            ),
        ],
    );
}

#[test]
fn load_many_lines_of_json() {
    let rows = testkit::scale::cases(50_000, 1_000_000);
    let mut user = User::new();
    let mut all = String::new();
    for i in 0..rows {
        let n = i / 2;
        writeln!(
            all,
            "{{\"url\": \"u{i}\", \"page\": {{\"body\": \"a{n} b{n} c{n} d{n} e{n} f{n}\"}}}}"
        )
        .expect("memory");
    }
    user.tool.write("rows.jsonl", all);
    user.does(
        "one million JSONL lines",
        &[
            ("ringer create pages.ringer", 0, &[]),
            (
                "ringer add pages.ringer --jsonl rows.jsonl --key-field url --text-field page.body",
                0,
                &["added "],
            ),
            (
                "ringer dedup --jsonl rows.jsonl --key-field url --text-field page.body --out kept",
                0,
                &[],
            ),
        ],
    );
    let kept = std::fs::read_to_string(user.tool.path("kept/rows.jsonl")).expect("kept rows");
    assert_eq!(kept.lines().count(), rows / 2);
}

#[cfg(feature = "parquet")]
#[test]
fn read_compressed_files_and_standard_input() {
    let mut user = texts();
    let row = |id: u32, text: &str| format!("{{\"id\": {id}, \"text\": \"{text}\"}}\n");
    user.tool.write("day.jsonl", row(1, &words(5)) + &row(2, &words(6)) + &row(3, &words(5)));
    let rows = std::fs::read(user.tool.path("day.jsonl")).expect("rows");
    user.tool.write("day.jsonl.zst", zstd::encode_all(&rows[..], 1).expect("compressed"));
    user.does(
        "gz and zst",
        &[
            ("gzip --keep day.jsonl && ringer create days.ringer", 0, &[]),
            ("ringer add days.ringer --jsonl day.jsonl.gz", 0, &["added 3 sets"]),
            ("ringer add days.ringer --jsonl day.jsonl.zst --if-absent", 0, &["added 0 sets; 3 sets were already stored"]),
            ("ringer query days.ringer --jsonl day.jsonl.gz --json", 0, &["\"query\":\"1\",\"key\":\"1\""]),
            ("ringer dedup --jsonl day.jsonl.gz --out kept && gzip -dc kept/day.jsonl.gz | wc -l", 0, &["2"]),
        ],
    );
    user.does(
        "stdin",
        &[
            (
                "cat day.jsonl | ringer dedup --jsonl - > kept.jsonl && wc -l < kept.jsonl",
                0,
                &["2"],
            ),
            (
                "gzip -dc day.jsonl.gz | ringer add days.ringer --jsonl -",
                0,
                &["all of which replaced earlier ones"],
            ),
            ("find notes -name '*a.txt' | ringer dedup --files-from -", 0, &["group 1: 2 files"]),
            ("cat notes/a.txt | ringer query days.ringer --file -", 1, &["no match"]),
        ],
    );
}

#[test]
fn compare_a_very_large_file() {
    let mut user = User::new();
    let mebibytes = testkit::scale::cases(70, 1024);
    let lines = words(1) + "\n" + &words(2) + "\n";
    user.tool.write("lines", &lines);
    let large = format!("yes \"$(cat lines)\" | head -c {mebibytes}M > large.txt");
    assert_eq!(user.shell(&large).status, Some(0));
    user.does(
        "1 GB file",
        &[
            (
                "ringer create db.ringer && ringer add db.ringer large.txt",
                3,
                &["larger than 64.0 MiB", "--max-text"],
            ),
            (
                "ringer add db.ringer large.txt --max-text 2GiB --max-features 1000000000",
                0,
                &["added 1 set"],
            ),
            (
                "ringer create bytes.ringer --features chunks && ringer add bytes.ringer large.txt",
                0,
                &["added 1 set"],
            ),
        ],
    );
}

#[test]
fn files_that_cannot_be_read_are_counted() {
    let mut user = texts();
    user.tool.write("notes/picture.png", b"\x89PNG\0\0").write("notes/broken.gz", b"\x1f\x8b\x08");
    user.does(
        "unreadable files",
        &[
            ("ln -s nowhere notes/dangling", 0, &[]),
            (
                "ringer create db.ringer && ringer add db.ringer notes",
                0,
                &["broken.gz", "added 4 sets; skipped: 1 binary, 1 unreadable"],
            ),
            ("ringer add db.ringer notes --strict", 3, &["error: cannot read notes/broken.gz"]),
            ("ringer add db.ringer notes/broken.gz", 3, &["none of the input could be used"]),
            ("ringer dedup notes --json", 0, &["\"cluster\":1"]),
        ],
    );
}
