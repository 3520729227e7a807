//! Who writes to a database just now, by another way than its lock: a file with the number of the process. A process
//! that is told of one says there that it writes, and that it has ended before it frees the lock. Whoever comes after
//! one that did not say so knows that it was killed, and asks the system whether that is true.

use std::fs;
use std::path::PathBuf;

/// The variable of the environment with the path of the file.
pub const VARIABLE: &str = "RINGER_CHILD_WITNESS";

/// This process writes as long as it has this.
pub struct Witness(PathBuf);

impl Witness {
    /// Says that this process writes, if it is told where, and asserts that no other one does.
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

/// Whether a process is gone, or on its way: a kill frees locks a little before the process is gone.
fn is_ending(process: &str) -> bool {
    const EXITING: u64 = 4;
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    // Behind the name, which may hold anything: the state, five numbers, and the flags.
    let Some((_, rest)) = stat.rsplit_once(") ") else { return true };
    let words: Vec<&str> = rest.split(' ').collect();
    matches!(words[0], "Z" | "X") || words[6].parse::<u64>().unwrap() & EXITING != 0
}
