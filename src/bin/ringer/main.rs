//! The `ringer` command-line tool. One file a command, and nothing but the library's public interface.

mod arguments;
mod commands;
mod exit;
mod grouping;
mod input;
mod interrupt;
mod load;
mod open;
mod problems;
mod progress;
mod show;
mod sources;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        // The one panic that is nobody's fault: a thread whose stacks the system has no memory for. As after a kill,
        // all that was acknowledged is there.
        if panic.payload_as_str().is_some_and(|text| text.contains("Cannot allocate memory")) {
            exit::say("error: the system has no memory to give: let the command have more");
            std::process::exit(3);
        }
        exit::say(&format!("error: ringer has a bug, please report it: {panic}"));
    }));
    // clap leaves with status 2 on bad usage, and prints help and version itself.
    let Arguments { command, style } = Arguments::parse();
    exit::report(command.run(style))
}
