//! The files that an action would touch, collected group by group before anything happens.

use std::path::PathBuf;

use super::identity::Identity;
use super::{Action, ActionArguments};
use crate::clustering::{Group, Member};
use crate::exit::Failure;
use crate::show::Output;
use crate::sources::path_of;

/// What an action does with a member of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Kept,
    Delete,
    Link,
    Move,
    /// Its name is printed.
    Repeats,
    /// It resembles another member, but not the kept file closely enough.
    TooFar,
    /// It is not identical to the kept file.
    OnlySimilar,
    /// It is a file of an earlier run, or it or the kept file is a link or gone.
    Other,
}

impl Role {
    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Kept => "kept",
            Role::Delete => "delete",
            Role::Link => "link",
            Role::Move => "move",
            Role::Repeats => "repeats",
            Role::TooFar | Role::OnlySimilar | Role::Other => "left",
        }
    }

    /// The remark after the name of a file.
    pub(crate) fn note(self) -> &'static str {
        match self {
            Role::Kept => "  (kept)",
            Role::Delete => "  (to be deleted)",
            Role::Link => "  (to be linked)",
            Role::Move => "  (to be moved)",
            Role::Repeats | Role::Other => "",
            Role::TooFar => "  (stays: it is less similar to the kept file than --min)",
            Role::OnlySimilar => "  (stays: it is not identical)",
        }
    }
}

/// A file, and the state in which it was compared.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) path: PathBuf,
    pub(super) state: Identity,
}

/// A file that an action would touch.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) file: Seen,
    pub(super) identical: bool,
}

/// The kept file of a group, and the others.
#[derive(Debug)]
pub(super) struct PlannedGroup {
    pub(super) kept: Seen,
    pub(super) others: Vec<Planned>,
}

/// The files that an action would touch.
pub(crate) struct Plan<'a> {
    pub(super) arguments: &'a ActionArguments,
    pub(super) action: Action<'a>,
    pub(super) min: f64,
    pub(super) groups: Vec<PlannedGroup>,
}

/// The numbers of planned files, and their bytes in all.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    pub(super) identical: u64,
    pub(super) similar: u64,
    pub(super) bytes: u64,
}

impl<'a> Plan<'a> {
    /// Starts a plan if the options ask for an action.
    pub(crate) fn new(arguments: &'a ActionArguments, min: f64) -> Option<Plan<'a>> {
        Some(Plan { arguments, action: arguments.action()?, min, groups: Vec::new() })
    }

    /// Adds a group. Returns the roles of its members.
    pub(crate) fn add(&mut self, group: &Group) -> Vec<Role> {
        let Some((first, others)) = group.split() else { return Vec::new() };
        let kept = seen(&first.key);
        let mut roles = vec![if kept.is_some() { Role::Kept } else { Role::Other }];
        let mut planned = Vec::new();
        for member in others {
            let file = seen(&member.key).filter(|_| kept.is_some() && !member.earlier);
            let role = if file.is_some() { self.role(member) } else { Role::Other };
            roles.push(role);
            let touched = matches!(role, Role::Delete | Role::Link | Role::Move | Role::Repeats);
            planned.extend(
                file.filter(|_| touched).map(|file| Planned { file, identical: member.identical }),
            );
        }
        if let Some(kept) = kept.filter(|_| !planned.is_empty()) {
            self.groups.push(PlannedGroup { kept, others: planned });
        }
        roles
    }

    fn role(&self, member: &Member) -> Role {
        // An estimate is not enough here: the files themselves must have been compared.
        if !member.exact || member.similarity.value < self.min {
            return Role::TooFar;
        }
        let needs_identical = self.arguments.identical || matches!(self.action, Action::Link(_));
        if needs_identical && !member.identical {
            return Role::OnlySimilar;
        }
        match self.action {
            Action::Delete => Role::Delete,
            Action::Link(_) => Role::Link,
            Action::Move(_) => Role::Move,
            Action::Print => Role::Repeats,
        }
    }

    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for planned in self.groups.iter().flat_map(|group| &group.others) {
            counts.identical += u64::from(planned.identical);
            counts.similar += u64::from(!planned.identical);
            counts.bytes += planned.file.state.bytes;
        }
        counts
    }

    /// Prints the names of the files, byte for byte. Identical files come first.
    pub(crate) fn print_names(&self) -> Result<(), Failure> {
        let end = if self.arguments.print0 { b"\0" } else { b"\n" };
        let mut out = Output::new();
        for identical in [true, false] {
            let all = self.groups.iter().flat_map(|group| &group.others);
            for planned in all.filter(|planned| planned.identical == identical) {
                out.bytes(planned.file.path.as_os_str().as_encoded_bytes())?;
                out.bytes(end)?;
            }
        }
        out.flush()
    }
}

/// Returns a file and its state, or `None` if it is not a regular file.
fn seen(key: &[u8]) -> Option<Seen> {
    let path = path_of(key).to_path_buf();
    let state = Identity::of(&path).ok()?;
    Some(Seen { path, state })
}
