//! `__words`: commands, options and their values as JSON, for the completion of `skipline host`.
//!
//! No command of the command line's definition: help, completions and what is guessed for a misspelt
//! command would offer it.

use std::env;

use clap::builder::PossibleValue;
use clap::{Arg, Command};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::emit_json;

/// A command, with the commands below it.
#[derive(Serialize)]
struct Words {
    name: String,
    about: String,
    options: Vec<OptionWords>,
    /// Values of its arguments that can be listed.
    values: Vec<String>,
    commands: Vec<Self>,
}

/// An option.
#[derive(Serialize)]
struct OptionWords {
    name: String,
    about: String,
    takes_value: bool,
    values: Vec<String>,
}

impl Words {
    fn of(command: &Command) -> Self {
        let visible = || command.get_arguments().filter(|it| !it.is_hide_set());
        let below = command.get_subcommands().filter(|it| !it.is_hide_set());
        Self {
            name: command.get_name().into(),
            about: command.get_about().map(ToString::to_string).unwrap_or_default(),
            options: visible().filter_map(OptionWords::of).collect(),
            values: visible().filter(|it| it.is_positional()).flat_map(values).collect(),
            commands: below.map(Self::of).collect(),
        }
    }
}

impl OptionWords {
    fn of(argument: &Arg) -> Option<Self> {
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

/// Whether this process was started for them.
pub fn are_asked_for() -> bool {
    env::args_os().skip(1).eq(["__words"])
}

/// Prints what the program takes.
pub fn run(mut program: Command) -> Result<(), Failure> {
    // Options of all commands are then those of each.
    program.build();
    emit_json(&Words::of(&program))?;
    Ok(())
}
