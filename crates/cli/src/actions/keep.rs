//! Chooses the file or row of a group that is kept.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::dataset::KeepRow;
use crate::exit::Failure;
use crate::sources::path_of;

/// The names of `--keep`, for files and for rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum KeepName {
    /// Files: below the path that is named first, then the first one by name. Rows: the first one in the input.
    First,
    /// The file that was changed last.
    Newest,
    /// The file that was changed first.
    Oldest,
    /// The file with the most bytes.
    Largest,
    /// The file with the fewest bytes.
    Smallest,
    /// The file with the shortest path.
    ShortestPath,
    /// The last row in the input.
    Last,
    /// The row with the longest text.
    Longest,
    /// The row with the shortest text.
    Shortest,
}

impl KeepName {
    /// The choice among rows.
    pub(crate) fn of_rows(self) -> Result<KeepRow, Failure> {
        match self {
            KeepName::First => Ok(KeepRow::First),
            KeepName::Last => Ok(KeepRow::Last),
            KeepName::Longest => Ok(KeepRow::Longest),
            KeepName::Shortest => Ok(KeepRow::Shortest),
            KeepName::Newest | KeepName::Oldest | KeepName::Largest | KeepName::Smallest | KeepName::ShortestPath => {
                Err(Failure::Usage(
                    "this --keep is for files: rows can be kept by first, last, longest or shortest, or by --keep-by FIELD".into(),
                ))
            }
        }
    }

    /// The choice among files. `roots` are the paths of the command line.
    pub(crate) fn of_files(self, roots: &[PathBuf]) -> Result<Keep<'_>, Failure> {
        match self {
            KeepName::Last | KeepName::Longest | KeepName::Shortest => Err(Failure::Usage(
                "this --keep is for rows: files can be kept by first, newest, oldest, largest, smallest or shortest-path".into(),
            )),
            name => Ok(Keep { name, roots }),
        }
    }
}

/// Which file of a group is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keep<'a> {
    name: KeepName,
    roots: &'a [PathBuf],
}

impl Keep<'static> {
    /// The first file by name.
    pub(crate) const FIRST: Keep<'static> = Keep { name: KeepName::First, roots: &[] };
}

impl Keep<'_> {
    /// The place of the file that is kept among paths in ascending order. Regular files come before links, and among equal
    /// files the rule of `first` decides.
    pub(crate) fn choose(&self, keys: &[Box<[u8]>]) -> usize {
        // The smallest key is the first one, and needs no look at the disk.
        if self.name == KeepName::First && self.roots.len() < 2 && self.is_file(keys, 0) {
            return 0;
        }
        let rank = |at: &usize| {
            let path = path_of(&keys[*at]);
            (!self.is_file(keys, *at), self.rank(path), self.root(path), *at)
        };
        (0..keys.len()).min_by_key(rank).unwrap_or(0)
    }

    fn is_file(&self, keys: &[Box<[u8]>], at: usize) -> bool {
        keys.get(at)
            .is_some_and(|key| path_of(key).symlink_metadata().is_ok_and(|found| found.is_file()))
    }

    /// The named path that a file is below.
    fn root(&self, path: &Path) -> usize {
        self.roots.iter().position(|root| path.starts_with(root)).unwrap_or(usize::MAX)
    }

    /// The rank of a file; the lowest one is kept. A file that is gone comes last.
    fn rank(&self, path: &Path) -> Rank {
        let found = path.metadata().ok();
        let bytes = found.as_ref().map(std::fs::Metadata::len);
        let changed = found.and_then(|found| found.modified().ok());
        let rank = match self.name {
            KeepName::Newest => changed.map(|time| Rank::Late(Reverse(time))),
            KeepName::Oldest => changed.map(Rank::Early),
            KeepName::Largest => bytes.map(|bytes| Rank::Number(u64::MAX - bytes)),
            KeepName::Smallest => bytes.map(Rank::Number),
            KeepName::ShortestPath => Some(Rank::Number(path.as_os_str().len() as u64)),
            KeepName::First | KeepName::Last | KeepName::Longest | KeepName::Shortest => {
                Some(Rank::Number(0))
            }
        };
        rank.unwrap_or(Rank::Gone)
    }
}

/// What files are ordered by. All files of a group have the same kind of rank, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Late(Reverse<SystemTime>),
    Early(SystemTime),
    Number(u64),
    Gone,
}
