//! The commands. Each has its own file.

mod add;
mod check;
mod clusters;
mod compact;
mod completions;
mod create;
mod dedup;
mod delete;
mod dump;
mod estimate;
mod export;
mod get;
mod keys;
mod man;
mod pack;
mod pairs;
mod plan;
mod query;
mod reindex;
mod repair;
mod salvage;
mod slots;
mod stat;
mod triples;
mod weights;

pub(crate) use create::scheme_of;

use clap::Subcommand;

use crate::exit::Failure;
use crate::show::Style;

/// All commands, in the order of the help.
#[derive(Subcommand)]
pub(crate) enum Command {
    Dedup(dedup::Dedup),
    Create(create::Create),
    Add(add::Add),
    Query(query::Query),
    Get(get::Get),
    Delete(delete::Delete),
    Keys(keys::Keys),
    Estimate(estimate::Estimate),
    Pairs(pairs::Pairs),
    Clusters(clusters::Clusters),
    Triples(triples::Triples),
    Plan(plan::Plan),
    Stat(stat::Stat),
    Check(check::Check),
    Repair(repair::Repair),
    Salvage(salvage::Salvage),
    Compact(compact::Compact),
    Reindex(reindex::Reindex),
    Pack(pack::Pack),
    Dump(dump::Dump),
    Weights(weights::Weights),
    Export(export::Export),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        match self {
            Command::Create(command) => command.run(style),
            Command::Add(command) => command.run(style),
            Command::Query(command) => command.run(style),
            Command::Get(command) => command.run(style),
            Command::Delete(command) => command.run(style),
            Command::Keys(command) => command.run(style),
            Command::Estimate(command) => command.run(style),
            Command::Plan(command) => command.run(style),
            Command::Dedup(command) => command.run(style),
            Command::Pairs(command) => command.run(style),
            Command::Clusters(command) => command.run(style),
            Command::Triples(command) => command.run(style),
            Command::Stat(command) => command.run(style),
            Command::Check(command) => command.run(style),
            Command::Repair(command) => command.run(style),
            Command::Salvage(command) => command.run(style),
            Command::Compact(command) => command.run(style),
            Command::Reindex(command) => command.run(style),
            Command::Pack(command) => command.run(style),
            Command::Dump(command) => command.run(style),
            Command::Weights(command) => command.run(style),
            Command::Export(command) => command.run(style),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
        }
    }
}

/// A temporary folder that other users cannot read.
pub(crate) fn private_folder_in(place: &std::path::Path) -> std::io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(place)
}
