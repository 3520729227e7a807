//! Records which process writes to a database, independently of its lock. The record is a file with a process id. A
//! writer registers there and deregisters before it releases the lock. If a writer finds another process registered,
//! that process must have been killed, and the operating system is asked to confirm it.

use std::fs;
use std::path::PathBuf;

/// The environment variable with the path of the file.
pub const VARIABLE: &str = "RINGER_CHILD_WITNESS";

/// While this value exists, this process is the writer.
pub struct Witness(PathBuf);

impl Witness {
    /// Registers this process as the writer, if a path is given, and asserts that no other process is.
    pub fn take() -> Option<Witness> {
        let path = PathBuf::from(std::env::var_os(VARIABLE)?);
        let before = fs::read_to_string(&path).unwrap_or_default();
        if let Some(process) = before.strip_prefix("writes ") {
            assert!(is_ending(process), "two writers: {process} and {}", std::process::id());
        }
        fs::write(&path, format!("writes {}", std::process::id())).unwrap();
        Some(Witness(path))
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let said = fs::read_to_string(&self.0).unwrap();
        assert_eq!(said, format!("writes {}", std::process::id()), "another one writes");
        fs::write(&self.0, "nobody").unwrap();
    }
}

/// Returns whether a process has ended or is ending. A kill releases locks shortly before the process is gone.
fn is_ending(process: &str) -> bool {
    const EXITING: u64 = 4;
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    // After the process name, which may contain anything, come the state, five numbers and the flags.
    let Some((_, rest)) = stat.rsplit_once(") ") else { return true };
    let words: Vec<&str> = rest.split(' ').collect();
    matches!(words[0], "Z" | "X") || words[6].parse::<u64>().unwrap() & EXITING != 0
}
