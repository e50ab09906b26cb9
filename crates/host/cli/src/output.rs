//! Text on standard output, with emphasis on terminals only.

mod paint;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use inputs::foreign::is_unprintable;
use serde::Serialize;

pub use paint::{Paint, printable};

/// Format of a command's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TextOrJson {
    /// For people
    #[default]
    Text,
    /// One JSON object
    Json,
}

/// Writes text to standard output, all of it at once, printable. If the reader
/// has closed the pipe, like `head`, this succeeds: the command's result still decides its exit code.
pub fn emit(text: &str) -> io::Result<()> {
    match emit_while_read(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes text to standard error.
pub fn emit_error(text: &str) {
    // A failure to write to standard error cannot be reported anywhere.
    let _ = io::stderr().write_all(printable(text).as_bytes());
}

/// Writes text as [`emit`] does, but fails if the reader has closed the pipe: for streams, which then end.
pub fn emit_while_read(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(printable(text).as_bytes())?;
    out.flush()
}

/// Writes the text of a file to standard output: every character of it, but to a terminal.
pub fn emit_file(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.is_terminal() {
        true => out.write_all(printable(text).as_bytes())?,
        false => out.write_all(text.as_bytes())?,
    }
    out.flush()
}

/// Prints what the parser of the command line has to say: help on standard output, or an error, in which
/// arguments may be names of files that others chose. Returns the exit code.
pub fn emit_usage(error: &clap::Error) -> ExitCode {
    // An argument that is not UTF-8 is shown with replacement characters.
    let is_plain = !std::env::args_os()
        .any(|argument| argument.to_str().is_none_or(|text| text.contains(is_unprintable)));
    // A failure to write cannot be reported anywhere.
    if is_plain {
        let _ = error.print();
    } else if error.use_stderr() {
        emit_error(&error.render().to_string());
    } else {
        let _ = emit(&error.render().to_string());
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Version of the JSON output's schema; it grows when a field is renamed or removed, or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// A value of the JSON output behind the version of its schema.
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

/// Writes one JSON object, which begins with the version of its schema.
pub fn emit_json(value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(&Versioned::new(value))?;
    emit(&format!("{text}\n"))
}

/// Wraps text into lines of at most `width` characters; a longer word has a line of its own.
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

/// Formats bytes in the largest binary unit that leaves a number of 1 or more, like 1.5 MiB.
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
