//! The names of companion files.
//!
//! In: the path of a database or of a companion. Out: the path of the other. Only this file knows the suffixes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A file or directory beside a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Companion {
    /// The file whose lock keeps other writers out.
    Lock,
    /// The database file while it is being created.
    New,
    /// The new file that a vacuum writes.
    Vacuum,
    /// The directory of the write-ahead log.
    Log,
    /// A log directory that is being created or removed.
    NewLog,
    /// A copy of the log directory, for a reader that would change the original.
    LogCopy,
    /// A log directory that could not be read in full and was set aside, with its number.
    Quarantine(u32),
}

/// The suffix of a quarantined log directory, before its number.
const QUARANTINE: &str = "-hot-quarantine-";

impl Companion {
    /// All companions without a number.
    pub const UNNUMBERED: [Companion; 6] = [
        Companion::Lock,
        Companion::New,
        Companion::Vacuum,
        Companion::Log,
        Companion::NewLog,
        Companion::LogCopy,
    ];

    /// The highest number of a quarantined log directory.
    pub const MOST_QUARANTINES: u32 = 9_999;

    /// The suffix after the database's name, without a number.
    fn ending(self) -> &'static str {
        match self {
            Companion::Lock => "-lock",
            Companion::New => "-new",
            Companion::Vacuum => "-vacuum",
            Companion::Log => "-hot",
            Companion::NewLog => "-hot-new",
            Companion::LogCopy => "-hot-replay",
            Companion::Quarantine(_) => QUARANTINE,
        }
    }

    /// Returns the path of this companion.
    pub fn path(self, database: &Path) -> PathBuf {
        let mut name = database.as_os_str().to_owned();
        name.push(self.ending());
        if let Companion::Quarantine(number) = self {
            name.push(number.to_string());
        }
        PathBuf::from(name)
    }

    /// The most bytes that a companion's name adds to its database's name.
    pub(super) fn longest_ending() -> usize {
        QUARANTINE.len() + Companion::MOST_QUARANTINES.to_string().len()
    }
}

/// Returns the database that a log directory belongs to.
pub fn database_of_log(directory: &Path) -> PathBuf {
    let name = directory.file_name().unwrap_or_default().as_encoded_bytes();
    let database = name.strip_suffix(Companion::Log.ending().as_bytes()).and_then(os_name);
    database.map_or_else(|| directory.into(), |database| directory.with_file_name(database))
}

/// Returns the databases of which a file named `name` would be a companion.
pub(super) fn databases_of(name: &OsStr) -> impl Iterator<Item = &OsStr> {
    let name = name.as_encoded_bytes();
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let numbered = name.get(..name.len().saturating_sub(digits)).filter(|_| digits > 0);
    let numbered = numbered.and_then(|name| name.strip_suffix(QUARANTINE.as_bytes()));
    let endings = Companion::UNNUMBERED.map(Companion::ending);
    let unnumbered = endings.into_iter().filter_map(|end| name.strip_suffix(end.as_bytes()));
    unnumbered.chain(numbered).filter(|stem| !stem.is_empty()).filter_map(os_name)
}

/// Whether `name` is a companion of `database` in the same directory: its lock, its log, or what an interrupted
/// step left. Both are file names without a directory.
///
/// ```
/// assert!(ringer::is_companion("notes.ringer".as_ref(), "notes.ringer-lock".as_ref()));
/// assert!(!ringer::is_companion("notes.ringer".as_ref(), "notes.ringer".as_ref()));
/// ```
pub fn is_companion(database: &OsStr, name: &OsStr) -> bool {
    databases_of(name).any(|found| found == database)
}

/// Converts bytes of a name back to a name.
#[cfg(unix)]
fn os_name(name: &[u8]) -> Option<&OsStr> {
    Some(std::os::unix::ffi::OsStrExt::from_bytes(name))
}

#[cfg(not(unix))]
fn os_name(name: &[u8]) -> Option<&OsStr> {
    std::str::from_utf8(name).ok().map(OsStr::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_companion_is_recognised_and_nothing_else() {
        let database = Path::new("/d/x.ringer");
        let numbers = [1, 42, Companion::MOST_QUARANTINES].map(Companion::Quarantine);
        for companion in Companion::UNNUMBERED.into_iter().chain(numbers) {
            let path = companion.path(database);
            let name = path.file_name().unwrap();
            assert!(is_companion("x.ringer".as_ref(), name), "{name:?}");
            assert!(!is_companion("y.ringer".as_ref(), name), "{name:?}");
            assert_eq!(path.parent(), database.parent());
            assert!(name.len() <= "x.ringer".len() + Companion::longest_ending());
        }
        for other in
            ["x.ringer", "x.ringer-", "x.ringer-hot-quarantine-", "x.ringer-lock2", "-lock"]
        {
            assert!(!is_companion("x.ringer".as_ref(), other.as_ref()), "{other}");
            assert!(!is_companion("".as_ref(), other.as_ref()), "{other}");
        }
    }

    /// Older versions find companions by the names that `format-spec` gives.
    #[test]
    fn names_are_those_of_the_specification() {
        let names = Companion::UNNUMBERED.map(|companion| companion.path(Path::new("x")));
        let expected = ["x-lock", "x-new", "x-vacuum", "x-hot", "x-hot-new", "x-hot-replay"];
        assert_eq!(names, expected.map(PathBuf::from));
        assert_eq!(Companion::Quarantine(7).path(Path::new("x")), Path::new("x-hot-quarantine-7"));
        assert_eq!(database_of_log(Path::new("/d/x-hot")), Path::new("/d/x"));
    }
}
