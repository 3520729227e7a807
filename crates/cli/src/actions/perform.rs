//! Acts on the files of a plan, one after the other.
//!
//! Before a file is touched, both it and the kept file are looked at and read again. If either is not the file that was
//! compared, or was written to, or their contents no longer agree, nothing is touched and the user is told. A kill at any
//! moment leaves each content in at least one file.

use std::fs::File;
use std::io;
use std::path::Path;

use ringer::Sketcher;
use serde_json::json;

use super::identity::Identity;
use super::plan::{Plan, Planned, Seen};
use super::{Action, place};
use crate::exit::{self, Failure};
use crate::input::{DocumentLimits, Worker};
use crate::interrupt;
use crate::show::{self, Output, Style};
use crate::sources;

/// The result of an action.
#[derive(Debug, Default)]
pub(crate) struct Performed {
    /// The files that are gone from where they were, or are links now.
    pub(crate) done: Vec<std::path::PathBuf>,
    bytes: u64,
    left: u64,
    interrupted: bool,
    declined: bool,
}

impl Plan<'_> {
    /// Asks, and then acts.
    pub(crate) fn perform(
        &self,
        sketcher: &Sketcher,
        limits: DocumentLimits,
        style: Style,
    ) -> Result<Performed, Failure> {
        let mut performed = Performed::default();
        if self.groups.is_empty() {
            if !style.quiet {
                exit::say(&format!("nothing to {}", self.action.verb()));
            }
            return Ok(performed);
        }
        if !self.is_confirmed(style)? {
            performed.declined = true;
            return Ok(performed);
        }
        interrupt::now_safe(format!("each file was {} or is untouched", self.action.done()));
        let mut worker = Worker::new(sketcher).limited(limits);
        let mut out = Output::new();
        for group in &self.groups {
            let mut kept = Seen { path: group.kept.path.clone(), state: group.kept.state };
            for planned in &group.others {
                if interrupt::requested() {
                    performed.interrupted = true;
                    return Ok(performed);
                }
                let path = &planned.file.path;
                if let Err(why) = self.one(&mut kept, planned, &mut worker) {
                    performed.left += 1;
                    exit::say(&format!("warning: {} was left alone: {why}", show::path(path)));
                    continue;
                }
                performed.bytes += planned.file.state.bytes;
                performed.done.push(path.clone());
                if style.json {
                    let key = |path: &Path| show::json_key(path.as_os_str().as_encoded_bytes());
                    out.line(json!({ (self.action.done()): key(path), "kept": key(&kept.path) }))?;
                } else if style.verbose {
                    exit::say(&format!("{} {}", self.action.done(), show::path(path)));
                }
            }
        }
        out.flush()?;
        Ok(performed)
    }

    /// Acts on one file, or says why not.
    fn one(
        &self,
        kept: &mut Seen,
        planned: &Planned,
        worker: &mut Worker<'_>,
    ) -> Result<(), String> {
        let file = &planned.file;
        let look = || -> Result<(), String> {
            unchanged(file, "it")?;
            unchanged(kept, &format!("the kept file {}", show::path(&kept.path)))
        };
        look()?;
        // Two paths through a linked folder may lead to one file.
        let whole = |path: &Path| path.canonicalize().map_err(|error| error.to_string());
        if whole(&file.path)? == whole(&kept.path)? {
            return Err(format!("it is the kept file {}", show::path(&kept.path)));
        }
        let alike = match planned.identical {
            true => sources::compare_bytes(&file.path, &kept.path)
                .map_err(|error| format!("cannot compare it: {error}"))?,
            false => resemblance(worker, &file.path, &kept.path)? >= self.min,
        };
        if interrupt::requested() {
            return Err("the command was interrupted".into());
        }
        if !alike {
            return Err(format!("it no longer resembles the kept file {}", show::path(&kept.path)));
        }
        // A power cut must not lose the content of the kept file.
        let _ = File::open(&kept.path).and_then(|kept| kept.sync_all());
        look()?;
        let acted = match self.action {
            Action::Delete => std::fs::remove_file(&file.path),
            Action::Link(_) if file.state.is_same_file(&kept.state) => Ok(()),
            Action::Link(kind) => place::link(kind, &kept.path, &file.path, kept.state),
            Action::Move(folder) => place::move_into(folder, &file.path, file.state),
            Action::Print => Ok(()),
        };
        acted.map_err(|error| told(&error, self.action))?;
        // A new hard link updates the kept file's change time.
        if let (Action::Link(_), Ok(state)) = (self.action, Identity::of(&kept.path)) {
            kept.state = if state.is_same_file(&kept.state) { state } else { kept.state };
        }
        Ok(())
    }
}

/// Fails if a path leads to another file, or the file was written to.
fn unchanged(seen: &Seen, name: &str) -> Result<(), String> {
    match Identity::of(&seen.path) {
        Ok(state) if state == seen.state => Ok(()),
        Ok(_) => Err(format!("{name} has changed since it was compared")),
        Err(error) => Err(format!("{name} cannot be found as it was compared: {error}")),
    }
}

/// The resemblance of two files, counted on their sets.
fn resemblance(worker: &mut Worker<'_>, a: &Path, b: &Path) -> Result<f64, String> {
    let mut set = |path| -> Result<Vec<u64>, String> {
        let set = worker.set_of_file(path).map_err(|problem| problem.message)?;
        let mut set = set.ok_or("the command was interrupted")?;
        set.sort_unstable();
        set.dedup();
        Ok(set)
    };
    let (a, b) = (set(a)?, set(b)?);
    let common = a.iter().filter(|element| b.binary_search(element).is_ok()).count();
    Ok(common as f64 / (a.len() + b.len() - common).max(1) as f64)
}

/// The reason of a failure, with advice.
fn told(error: &io::Error, action: Action<'_>) -> String {
    match (error.kind(), action) {
        (io::ErrorKind::CrossesDevices, Action::Link(_)) => {
            "the kept file is on another file system: use --link symbolic".into()
        }
        (io::ErrorKind::PermissionDenied, _) => {
            format!("no permission to change its folder: {error}")
        }
        (io::ErrorKind::AlreadyExists, Action::Move(_)) => {
            format!("{error}; choose another folder for --move")
        }
        _ => format!("cannot {} it: {error}", action.verb()),
    }
}

impl Performed {
    /// Says what was done. Fails if a file of the plan was left alone.
    pub(crate) fn end(&self, plan: &Plan<'_>, style: Style) -> Result<(), Failure> {
        let done = plan.action.done();
        let files = self.done.len() as u64;
        if self.declined {
            exit::say(&format!("nothing was {done}"));
            return Err(Failure::Findings);
        }
        if self.interrupted {
            interrupt::now_safe(format!(
                "{} {done}; the others are untouched",
                show::count_was(files, "file")
            ));
            return Err(Failure::Interrupted);
        }
        if !style.quiet && !plan.groups.is_empty() {
            exit::say(&format!(
                "{done} {}, {}",
                show::count(files, "file"),
                show::bytes(self.bytes)
            ));
        }
        match self.left {
            0 => Ok(()),
            left => Err(Failure::Io(format!(
                "{} left alone: see the warnings above",
                show::count_was(left, "file")
            ))),
        }
    }
}
