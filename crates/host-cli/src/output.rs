//! Text on standard output, with emphasis on terminals only.

mod paint;

use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;

pub use paint::{Paint, without_control};

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
    match emit_while_read(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes text to standard error: where standard output is another command's.
pub fn emit_error(text: &str) {
    // Without standard error there is nowhere to say that.
    let _ = io::stderr().write_all(without_control(text).as_bytes());
}

/// As [`emit`], for streams: a closed pipe is an error that ends them.
pub fn emit_while_read(text: &str) -> io::Result<()> {
    emit_file(&without_control(text))
}

/// Writes the text of a file as it is.
pub fn emit_file(text: &str) -> io::Result<()> {
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
