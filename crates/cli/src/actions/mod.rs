//! What `dedup` does with the files of a group that are not kept: delete them, move them away, or replace them by links.
//!
//! In: groups whose members are compared with the kept file. Out: a [`plan`], which is shown before anything happens
//! ([`confirm`]). Then [`perform`] looks at both files again and acts on one file after the other. A file that has changed
//! since it was compared is left alone, and so is everything that would lose the last copy of a content: links replace
//! identical files only.

mod confirm;
mod identity;
mod keep;
mod perform;
mod place;
mod plan;

use std::path::PathBuf;

pub(crate) use keep::{Keep, KeepName};
pub(crate) use perform::Performed;
pub(crate) use plan::{Plan, Role};

/// Actions on files.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Files that repeat others")]
pub(crate) struct ActionArguments {
    /// Delete the files of each group, except the one that is kept. Only files that resemble the kept one by at least --min
    /// are deleted. The files are listed first, and you are asked; --yes answers.
    #[arg(long, groups = ["action", "chosen"], conflicts_with_all = ["jsonl", "parquet", "estimate"])]
    delete: bool,
    /// Replace files that are identical to the kept one by links to it. Files that are only similar stay.
    #[arg(long, value_enum, value_name = "KIND", groups = ["action", "chosen"], conflicts_with_all = ["jsonl", "parquet", "estimate"])]
    link: Option<LinkKind>,
    /// Move the files of each group, except the one that is kept, into this folder, with their paths. Nothing in it is
    /// replaced.
    #[arg(long = "move", value_name = "DIR", groups = ["action", "chosen"], conflicts_with_all = ["jsonl", "parquet", "estimate"])]
    move_to: Option<PathBuf>,
    /// Delete, move or print only files that are identical to the kept one, byte by byte.
    #[arg(long, requires = "chosen", conflicts_with_all = ["jsonl", "parquet"])]
    identical: bool,
    /// Do it without asking.
    #[arg(long, short, requires = "action")]
    yes: bool,
    /// Print only the files that are not kept, one per line, instead of the groups.
    #[arg(long, group = "chosen", conflicts_with_all = ["print0", "json", "jsonl", "parquet", "estimate", "action"])]
    print: bool,
    /// The same with a zero byte after each file, for `xargs -0`.
    #[arg(long, group = "chosen", conflicts_with_all = ["json", "jsonl", "parquet", "estimate", "action"])]
    print0: bool,
}

/// The kinds of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LinkKind {
    /// Another name of the kept file. Both must be on one file system.
    Hard,
    /// A link with the path of the kept file.
    Symbolic,
}

/// What happens to a file that is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action<'a> {
    Delete,
    Link(LinkKind),
    Move(&'a std::path::Path),
    /// Print its name.
    Print,
}

impl ActionArguments {
    pub(crate) fn action(&self) -> Option<Action<'_>> {
        match self {
            ActionArguments { delete: true, .. } => Some(Action::Delete),
            ActionArguments { link: Some(kind), .. } => Some(Action::Link(*kind)),
            ActionArguments { move_to: Some(folder), .. } => Some(Action::Move(folder)),
            ActionArguments { print, print0, .. } => (*print || *print0).then_some(Action::Print),
        }
    }

    /// The folder that files are moved to. It is not searched.
    pub(crate) fn target(&self) -> Option<&std::path::Path> {
        self.move_to.as_deref()
    }

    /// Whether names are printed instead of groups.
    pub(crate) fn prints(&self) -> bool {
        self.print || self.print0
    }
}

impl Action<'_> {
    /// The verb: `delete`.
    fn verb(self) -> &'static str {
        match self {
            Action::Delete => "delete",
            Action::Link(_) => "link",
            Action::Move(_) => "move",
            Action::Print => "print",
        }
    }

    /// The participle: `deleted`.
    fn done(self) -> &'static str {
        match self {
            Action::Delete => "deleted",
            Action::Link(_) => "linked",
            Action::Move(_) => "moved",
            Action::Print => "printed",
        }
    }
}
