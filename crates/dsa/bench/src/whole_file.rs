//! Files that options name: written as a whole, or left as they were before.

use crate::failure::Failure;
use durable::error::DurableReason;
use durable::output::OutputFile;
use durable::whole_file::WriteOptions;
use std::path::Path;

/// The file that an option names.
pub struct ResultFile {
    option: &'static str,
    file: OutputFile,
}

impl ResultFile {
    /// Checks that the file can be written; to be called before a long measurement.
    pub fn prepare(option: &'static str, path: &Path) -> Result<Self, Failure> {
        let prepared = OutputFile::prepare(path, WriteOptions::RESULT);
        let file = prepared.map_err(|error| match error.reason {
            DurableReason::NotReplaceable(kind) => Failure::refused_value(
                option,
                path.display(),
                &format!("it is {kind}; a file is needed"),
            ),
            reason => failed(option, path, &reason),
        })?;
        Ok(Self { option, file })
    }

    /// Replaces the file by a text, or leaves it as it was.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        let written = self.file.write(text);
        written.map_err(|error| failed(self.option, self.file.named(), &error.reason))
    }
}

fn failed(option: &str, path: &Path, reason: &DurableReason) -> Failure {
    let shown = path.display();
    Failure::BadInput(match reason {
        DurableReason::Unsynced(_) => format!("{option} {shown} {reason}"),
        _ => format!("{option} {shown}: cannot be written: {reason}"),
    })
}
