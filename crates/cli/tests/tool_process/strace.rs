//! Runs the real binary under `strace`, and returns the system calls that take paths.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A system call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// Its paths. Relative ones are joined with the directory that the call names.
    pub(crate) paths: Vec<String>,
    /// Its line in the trace.
    pub(crate) text: String,
}

/// Calls that change nothing.
const LOOKING: [&str; 12] = [
    "execve",
    "access",
    "faccessat",
    "faccessat2",
    "stat",
    "lstat",
    "statx",
    "newfstatat",
    "readlink",
    "readlinkat",
    "getcwd",
    "statfs",
];

impl Call {
    fn parse(line: &str) -> Option<Call> {
        // `123 unlinkat(5</folder>, "name", 0) = 0`
        let text = line.split_once(' ')?.1.trim_start();
        let name = text.split_once('(')?.0.to_string();
        let parts: Vec<&str> = text.split('"').collect();
        let quoted = parts.chunks_exact(2).filter(|pair| !pair[1].is_empty());
        // Only the first string of `execve` is a path.
        let most = if name == "execve" { 1 } else { usize::MAX };
        let paths = quoted.take(most).map(|pair| {
            let folder = pair[0].strip_suffix(">, ").and_then(|before| before.rsplit_once('<'));
            match folder {
                // The folder itself.
                Some((_, folder)) if pair[1] == "." => folder.to_string(),
                Some((_, folder)) if !pair[1].starts_with('/') => format!("{folder}/{}", pair[1]),
                _ => pair[1].to_string(),
            }
        });
        let paths = paths.collect();
        Some(Call { name, paths, text: text.to_string() })
    }

    fn opens(&self) -> bool {
        matches!(&*self.name, "open" | "openat" | "openat2" | "creat")
    }

    /// Whether it opens a file for writing.
    pub(crate) fn opens_for_writing(&self) -> bool {
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_TMPFILE"];
        self.opens() && writes.iter().any(|flag| self.text.contains(flag))
    }

    /// Whether it could change something.
    pub(crate) fn changes(&self) -> bool {
        self.opens_for_writing() || !(self.opens() || LOOKING.contains(&&*self.name))
    }

    /// Whether it creates a new file that only its owner may open, or works inside a temporary directory.
    pub(crate) fn is_private(&self) -> bool {
        let new = self.text.contains("O_EXCL") || self.text.contains("O_TMPFILE");
        let inside = self.paths.iter().any(|path| path.contains("/temporary/.tmp"));
        (new && self.text.contains("0600")) || inside
    }
}

/// Whether `strace` works here.
pub(crate) fn is_there() -> bool {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=%file", "-o", "/dev/null", "true"]);
    command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs the tool in a folder, with another one for temporary files. Returns its status and its calls.
pub(crate) fn traced(arguments: &[&str], folder: &Path, temporary: &Path) -> (i32, Vec<Call>) {
    let log = tempfile::NamedTempFile::new().unwrap();
    let ran = Command::new("strace")
        .args(["-f", "-qq", "-y", "-s", "4096", "-e", "trace=%file", "-e", "signal=none", "-o"])
        .arg(log.path())
        .arg(env!("CARGO_BIN_EXE_ringer"))
        .args(arguments)
        .current_dir(folder)
        .env("TMPDIR", temporary)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(!err.contains("has a bug"), "{arguments:?}: {err}");
    let text = fs::read_to_string(log.path()).unwrap();
    let calls: Vec<Call> = text.lines().filter_map(Call::parse).collect();
    assert!(!calls.is_empty(), "{arguments:?}: {err}");
    (ran.status.code().unwrap_or(-1), calls)
}
