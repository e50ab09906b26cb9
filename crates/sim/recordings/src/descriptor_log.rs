//! Logs of the descriptors that a program submitted to copy engines: a JSON object in each line.
//!
//! Models: descriptors with the time of their submission, portal, operation, flags, size and addresses;
//! members of batches in lines that follow one another.
//! Source: docs/reference/descriptor-log.md; opcodes and flags as in Intel's DSA specification, sections
//! 8.1.2 and 8.1.3.
//! Simplifies: flags that change no time are read past.

mod descriptor;
mod error;
mod line;
#[cfg(test)]
mod tests;

pub use descriptor::{LoggedDescriptor, LoggedOperation};
pub use error::{DescriptorLogError, DescriptorLogFault};

use line::LogLine;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// No writer needs lines as long as this.
const MOST_LINE_BYTES: u64 = 4096;
/// Descriptors of a log: those who replay it hold them in memory.
const MOST_DESCRIPTORS: u64 = 1 << 22;

/// Calls `each` with every descriptor of a log, in the order of its lines.
///
/// # Errors
/// If the file cannot be read, holds no descriptors, or a line is not as the format says; if a log that comes
/// through a pipe is longer than [`inputs::texts::LIMIT_BYTES`]. Descriptors before the fault were handed over.
pub fn read(
    path: impl AsRef<Path>,
    each: impl FnMut(LoggedDescriptor),
) -> Result<(), DescriptorLogError> {
    let path = path.as_ref();
    // Engines and cores replay the same log, and each replay reads it.
    let read = if inputs::is_pipe(path) {
        inputs::texts::read_bytes(&path.to_string_lossy())
            .map_err(DescriptorLogFault::CannotOpen)
            .and_then(|log| from_reader(log.as_slice(), each))
    } else {
        inputs::streams::open(path)
            .map_err(DescriptorLogFault::CannotOpen)
            .and_then(|log| from_reader(log, each))
    };
    read.map_err(|fault| DescriptorLogError { path: path.to_owned(), fault })
}

/// As [`read`], of a log that is already in memory; `path` is its name in messages.
///
/// # Errors
/// As [`read`].
pub fn of_text(
    path: impl AsRef<Path>,
    text: &str,
    each: impl FnMut(LoggedDescriptor),
) -> Result<(), DescriptorLogError> {
    let path = path.as_ref().to_owned();
    from_reader(text.as_bytes(), each).map_err(|fault| DescriptorLogError { path, fault })
}

fn from_reader(
    reader: impl Read,
    mut each: impl FnMut(LoggedDescriptor),
) -> Result<(), DescriptorLogFault> {
    let mut reader = BufReader::new(reader);
    let mut log = LogSoFar::default();
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let bytes = reader.by_ref().take(MOST_LINE_BYTES + 1).read_until(b'\n', &mut text);
        let bytes =
            bytes.map_err(|error| DescriptorLogFault::CannotRead { line: number, error })?;
        if bytes as u64 > MOST_LINE_BYTES {
            return Err(DescriptorLogFault::LineTooLong { line: number });
        }
        if bytes == 0 {
            break;
        }
        let content = text.trim_ascii();
        if content.is_empty() {
            continue;
        }
        let descriptor = LogLine::parse(content).and_then(|line| log.next_descriptor(&line));
        each(descriptor.map_err(|problem| DescriptorLogFault::BadLine { line: number, problem })?);
    }
    match log.last {
        None => Err(DescriptorLogFault::Empty),
        Some(_) => Ok(()),
    }
}

/// Facts on the lines before the next one.
#[derive(Default)]
struct LogSoFar {
    descriptors: u64,
    /// The first descriptor of the last submission, and its batch.
    last: Option<(LoggedDescriptor, Option<u64>)>,
}

impl LogSoFar {
    fn next_descriptor(&mut self, line: &LogLine) -> Result<LoggedDescriptor, String> {
        self.descriptors += 1;
        if self.descriptors > MOST_DESCRIPTORS {
            return Err(format!("a log has {MOST_DESCRIPTORS} descriptors at most"));
        }
        let continues_batch = self.last.is_some_and(|(last, batch)| {
            line.batch.is_some() && line.batch == batch && last.portal == line.portal
        });
        let descriptor = line.descriptor(continues_batch)?;
        if let Some((last, _)) = self.last
            && descriptor.time < last.time
        {
            let earlier = last.time.as_ns();
            return Err(format!("`time_ns` is less than {earlier} in the line before"));
        }
        if !continues_batch {
            self.last = Some((descriptor, line.batch));
        }
        Ok(descriptor)
    }
}
