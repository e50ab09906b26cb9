//! Text on standard output, with emphasis on terminals only.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use serde::Serialize;

/// For people or for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// One JSON object
    Json,
}

/// Writes text, all of it at once. A reader that closed the pipe, like `head`, is no error: the
/// command's result still decides its exit code.
pub fn emit(text: &str) -> io::Result<()> {
    match emit_while_read(&without_control(text)) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes text to standard error: where standard output is another command's.
pub fn emit_error(text: &str) {
    // Without standard error there is nowhere to say that.
    let _ = io::stderr().write_all(without_control(text).as_bytes());
}

/// Replaces control characters other than colour codes: names of devices and groups come from files,
/// which may colour the terminal but not steer it.
pub fn without_control(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_control() && c != '\n') {
        safe += &rest[..at];
        rest = &rest[at..];
        let colour = rest
            .strip_prefix("\u{1b}[")
            .map_or(0, |codes| codes.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(0));
        let end = "\u{1b}[".len() + colour;
        if rest.starts_with("\u{1b}[") && rest[end..].starts_with('m') {
            safe += &rest[..=end];
            rest = &rest[end + 1..];
        } else {
            safe.push('\u{fffd}');
            rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
        }
    }
    safe + rest
}

/// As [`emit`], for streams: a closed pipe is an error that ends them.
pub fn emit_while_read(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The version of what JSON output means: it grows when a field is renamed, removed or read otherwise.
const SCHEMA_VERSION: u32 = 1;

/// What JSON output begins with.
#[derive(Serialize)]
pub struct Versioned<'a, T> {
    schema_version: u32,
    #[serde(flatten)]
    value: &'a T,
}

impl<'a, T> Versioned<'a, T> {
    pub fn new(value: &'a T) -> Self {
        Self { schema_version: SCHEMA_VERSION, value }
    }
}

/// Writes one JSON object, which says its schema's version.
pub fn emit_json(value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(&Versioned::new(value))?;
    emit(&format!("{text}\n"))
}

/// Emphasis on terminals, none elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    coloured: bool,
}

impl Paint {
    /// As standard output is: a terminal or not. NO_COLOR is obeyed.
    pub fn of_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { coloured: io::stdout().is_terminal() && !refused }
    }

    /// No emphasis.
    pub fn none() -> Self {
        Self { coloured: false }
    }

    fn with(self, style: Style, text: impl Display) -> String {
        if self.coloured { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    /// A heading.
    pub fn heading(self, text: impl Display) -> String {
        self.with(Style::new().bold(), text)
    }

    /// A good state.
    pub fn good(self, text: impl Display) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// A state that deserves attention.
    pub fn warning(self, text: impl Display) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// Secondary text.
    pub fn quiet(self, text: impl Display) -> String {
        self.with(Style::new().dimmed(), text)
    }
}

/// Text in lines of at most `width` characters.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Bytes in the largest unit that leaves a number above one.
pub fn bytes(count: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.iter().find(|(_, shift)| count >> shift > 0) {
        Some((unit, shift)) => {
            let value = count as f64 / (1u64 << shift) as f64;
            let text = format!("{value:.1}");
            format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
        }
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_pass_and_everything_else_that_steers_a_terminal_does_not() {
        let coloured = "\u{1b}[1;33mwarning\u{1b}[0m\n";
        assert_eq!(without_control(coloured), coloured);
        assert_eq!(without_control("a\u{1b}]0;pwn\u{7}b"), "a\u{fffd}]0;pwn\u{fffd}b");
        assert_eq!(without_control("\u{1b}[2J"), "\u{fffd}[2J");
        assert_eq!(without_control("\u{1b}["), "\u{fffd}[");
    }
}
