//! `config check`: what a file would be refused for, and what it would change.

use super::foreseen::{Foreseen, read};
use super::{Context, Format};
use crate::failure::Failure;
use std::io::Write;
use std::path::PathBuf;

/// Check a file against the devices that there are; nothing is written.
///
/// Each value that the driver or the device would refuse is named with file, key, value and what is
/// allowed; then what would change. Ends with 2 if a value is refused, and with 3 if a queue that would be
/// disabled is in use.
#[derive(clap::Args)]
pub struct Arguments {
    /// The file, as `accel-config save-config` and `config show --format json` write it; - reads it from
    /// the input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Queues that programs have open are no reason to refuse.
    #[arg(long)]
    even_if_in_use: bool,
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let file = read(&arguments.file)?;
    let foreseen = Foreseen::of(&arguments.file, &file, context)?;
    let mut out = std::io::stdout().lock();
    match context.format {
        Format::Text => {
            out.write_all(foreseen.text(false, arguments.even_if_in_use).as_bytes())?;
        }
        Format::Json => writeln!(out, "{:#}", foreseen.json(false))?,
    }
    foreseen.ending(arguments.even_if_in_use)
}
