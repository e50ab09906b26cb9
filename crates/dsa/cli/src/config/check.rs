//! `config check`: the refusals and the changes that a file would lead to.

use super::preview::{ChangePreview, read};
use super::{ConfigContext, ConfigFormat};
use crate::failure::CommandFailure;
use std::io::Write;
use std::path::PathBuf;

/// Check a file against the present devices; nothing is written.
///
/// Each value that the driver or the device would refuse is named with file, key, value and what is
/// allowed; then the changes follow. Ends with 2 if a value is refused, and with 3 if a queue that would be
/// disabled is in use.
#[derive(clap::Args)]
pub struct CheckArguments {
    /// The file, as `accel-config save-config` and `config show --format json` write it; - reads it from
    /// the input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Do not refuse because programs have queues open.
    #[arg(long)]
    even_if_in_use: bool,
}

pub fn run(arguments: &CheckArguments, context: &ConfigContext) -> Result<(), CommandFailure> {
    let file = read(&arguments.file)?;
    let preview = ChangePreview::for_file(&arguments.file, &file, context)?;
    let mut out = std::io::stdout().lock();
    match context.format {
        ConfigFormat::Text => {
            out.write_all(preview.text(false, arguments.even_if_in_use).as_bytes())?;
        }
        ConfigFormat::Json => writeln!(out, "{:#}", preview.json(false))?,
    }
    preview.verdict(arguments.even_if_in_use)
}
