//! The reference page of a command line in Markdown, made of its definition: a section for each command,
//! with its usage, arguments and options.

use clap::{Arg, Command};
use std::fmt::Write;

/// The width of prose.
const COLUMNS: usize = 100;

/// The page of all commands.
pub fn page(mut command: Command) -> String {
    // So that the width of the terminal that asks does not matter.
    command = command.term_width(COLUMNS);
    command.build();
    let mut text = format!("# Commands of `{}`\n\n", command.get_name());
    let _ = writeln!(text, "{}", wrapped(&prose(&description(&command))));
    push_block(&mut text, command.get_after_help().map(ToString::to_string));
    for below in shown(&command) {
        push_section(&mut text, below, &command, command.get_name());
    }
    text
}

/// The section of a command, then those of the commands below it.
fn push_section(text: &mut String, command: &Command, above: &Command, path: &str) {
    let name = format!("{path} {}", command.get_name());
    let _ = writeln!(text, "\n## {name}\n\n{}", wrapped(&prose(&description(command))));
    let usage = command.clone().bin_name(&name).render_usage().to_string();
    push_block(text, Some(usage.trim_start_matches("Usage: ").to_owned()));
    // Options for all commands below one are shown with that one.
    let is_shown_above = |one: &Arg| above.get_arguments().any(|it| it.get_id() == one.get_id());
    let is_own = |one: &&Arg| is_shown(one) && !(one.is_global_set() && is_shown_above(one));
    let arguments: Vec<&Arg> = command.get_arguments().filter(is_own).collect();
    if !arguments.is_empty() {
        text.push_str("\n| argument or option | meaning |\n| --- | --- |\n");
        for argument in arguments {
            let _ = writeln!(text, "| `{}` | {} |", cell(&spelling(argument)), meaning(argument));
        }
    }
    push_block(text, command.get_after_help().map(ToString::to_string));
    for below in shown(command) {
        push_section(text, below, command, &name);
    }
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

fn is_shown(argument: &Arg) -> bool {
    !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str())
}

fn description(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about());
    sentence(&about.map(ToString::to_string).unwrap_or_default())
}

/// clap takes the full stop from texts of one sentence.
fn sentence(text: &str) -> String {
    let is_whole = text.is_empty() || text.ends_with(['.', ']']);
    if is_whole { text.to_owned() } else { format!("{text}.") }
}

/// A text as it is typed, in a block of its own.
fn push_block(text: &mut String, block: Option<String>) {
    if let Some(block) = block {
        let _ = writeln!(text, "\n```text\n{}\n```", block.trim());
    }
}

/// Short and long name with the values; an argument by position by its values alone.
fn spelling(argument: &Arg) -> String {
    let names = [
        argument.get_short().map(|short| format!("-{short}")),
        argument.get_long().map(|long| format!("--{long}")),
    ];
    let names: Vec<String> = names.into_iter().flatten().collect();
    let values: Vec<String> = match argument.get_value_names() {
        Some(values) if argument.get_action().takes_values() || names.is_empty() => {
            values.iter().map(ToString::to_string).collect()
        }
        _ => Vec::new(),
    };
    let words = [names.join(", "), values.join(" ")];
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// The help of an argument, with its allowed values and its default.
fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help());
    let mut parts = vec![sentence(&help.map(ToString::to_string).unwrap_or_default())];
    let takes_values = argument.get_action().takes_values();
    let values = argument.get_possible_values();
    let values: Vec<String> = values
        .iter()
        .filter(|value| takes_values && !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() {
        parts.push(format!("Values: {}.", values.join(", ")));
    }
    let defaults = argument.get_default_values();
    let defaults: Vec<String> =
        defaults.iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if takes_values && !defaults.is_empty() {
        parts.push(format!("Default: {}.", defaults.join(", ")));
    }
    cell(&prose(&parts.join(" ")).replace('\n', " "))
}

/// Placeholders between angle brackets, which Markdown takes for HTML.
fn prose(text: &str) -> String {
    let mut inside_code = false;
    let escaped = text.chars().map(|letter| {
        inside_code ^= letter == '`';
        match letter {
            '<' if !inside_code => "&lt;".to_owned(),
            '*' | '_' if !inside_code => format!("\\{letter}"),
            _ => letter.to_string(),
        }
    });
    escaped.collect()
}

/// Paragraphs of lines that fit the width of pages.
fn wrapped(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut wrapped = String::new();
        for word in line.split(' ') {
            if !wrapped.is_empty() && wrapped.len() + 1 + word.len() > COLUMNS {
                lines.push(std::mem::take(&mut wrapped));
            }
            if !wrapped.is_empty() {
                wrapped.push(' ');
            }
            wrapped += word;
        }
        lines.push(wrapped);
    }
    lines.join("\n")
}

fn cell(text: &str) -> String {
    text.replace('|', r"\|")
}
