//! `__words`: commands, options and their values as JSON, for the completion of `skipline host`.
//!
//! The command line's definition does not contain this command: help, completions and the suggestions for
//! a misspelt command would offer it.

use std::env;

use clap::builder::PossibleValue;
use clap::{Arg, Command};
use serde::Serialize;

use crate::failure::HostFailure;
use crate::output::emit_json;

/// The words of a command, and of the commands below it.
#[derive(Serialize)]
struct CommandWords {
    name: String,
    about: String,
    options: Vec<OptionWords>,
    /// Values of its positional arguments, where they are a fixed list.
    values: Vec<String>,
    commands: Vec<Self>,
}

/// The words of an option.
#[derive(Serialize)]
struct OptionWords {
    name: String,
    about: String,
    takes_value: bool,
    values: Vec<String>,
}

impl CommandWords {
    fn from_command(command: &Command) -> Self {
        let visible = || command.get_arguments().filter(|it| !it.is_hide_set());
        let below = command.get_subcommands().filter(|it| !it.is_hide_set());
        Self {
            name: command.get_name().into(),
            about: command.get_about().map(ToString::to_string).unwrap_or_default(),
            options: visible().filter_map(OptionWords::from_argument).collect(),
            values: visible().filter(|it| it.is_positional()).flat_map(values).collect(),
            commands: below.map(Self::from_command).collect(),
        }
    }
}

impl OptionWords {
    fn from_argument(argument: &Arg) -> Option<Self> {
        Some(Self {
            name: format!("--{}", argument.get_long()?),
            about: argument.get_help().map(ToString::to_string).unwrap_or_default(),
            takes_value: argument.get_action().takes_values(),
            values: if argument.get_action().takes_values() {
                values(argument)
            } else {
                Vec::new()
            },
        })
    }
}

fn values(argument: &Arg) -> Vec<String> {
    let listed = argument.get_possible_values();
    let shown = listed.iter().filter(|value| !value.is_hide_set());
    shown.map(PossibleValue::get_name).map(String::from).collect()
}

/// Whether the command line of this process is `__words` alone.
pub fn is_requested() -> bool {
    env::args_os().skip(1).eq(["__words"])
}

/// Prints the words of the program.
pub fn run(mut program: Command) -> Result<(), HostFailure> {
    // Copies global options to each command.
    program.build();
    emit_json(&CommandWords::from_command(&program))?;
    Ok(())
}
