//! Logs of the descriptors that a program submitted to copy engines: a JSON object in each line.
//!
//! Models: descriptors with the time of their submission, portal, operation, flags, size and addresses;
//! members of batches in lines that follow one another.
//! Source: docs/reference/descriptor-log.md; opcodes and flags as in Intel's DSA specification, sections
//! 8.1.2 and 8.1.3.
//! Simplifies: addresses are rounded down to the start of a line; flags that change no time are read past.

mod error;
mod line;
#[cfg(test)]
mod tests;

pub use error::{DescriptorLogError, DescriptorLogFault};

use line::LogLine;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use units::Picos;
use workload::descriptor_log::{DescriptorLog, LoggedOffload};

/// No writer needs lines as long as this.
const MOST_LINE_BYTES: u64 = 4096;
/// Descriptors of a log: they are held in memory.
const MOST_DESCRIPTORS: u64 = 1 << 22;

/// Reads a log.
///
/// # Errors
/// If the file cannot be read, holds no descriptors, or a line is not as the format says; if a log that comes
/// through a pipe is longer than [`inputs::texts::LIMIT_BYTES`]. No descriptors of such a file are returned.
pub fn read(path: impl AsRef<Path>) -> Result<DescriptorLog, DescriptorLogError> {
    let path = path.as_ref();
    // Engines and cores replay the same log, and each replay reads it.
    let log = if inputs::is_pipe(path) {
        let content = inputs::texts::read_bytes(&path.to_string_lossy());
        content.map_err(DescriptorLogFault::CannotOpen).and_then(|log| from_reader(log.as_slice()))
    } else {
        inputs::streams::open(path).map_err(DescriptorLogFault::CannotOpen).and_then(from_reader)
    };
    log.map_err(|fault| DescriptorLogError { path: path.to_owned(), fault })
}

/// As [`read`], of a log that is already in memory; `path` is its name in messages.
///
/// # Errors
/// As [`read`].
pub fn of_text(path: impl AsRef<Path>, text: &str) -> Result<DescriptorLog, DescriptorLogError> {
    let path = path.as_ref().to_owned();
    from_reader(text.as_bytes()).map_err(|fault| DescriptorLogError { path, fault })
}

fn from_reader(reader: impl Read) -> Result<DescriptorLog, DescriptorLogFault> {
    let mut reader = BufReader::new(reader);
    let mut builder = LogBuilder::default();
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
        let added = LogLine::parse(content).and_then(|line| builder.add(&line));
        added.map_err(|problem| DescriptorLogFault::BadLine { line: number, problem })?;
    }
    match builder.log.offloads.is_empty() {
        true => Err(DescriptorLogFault::Empty),
        false => Ok(builder.log),
    }
}

/// The log so far, and the batch that its last line belongs to.
#[derive(Default)]
struct LogBuilder {
    log: DescriptorLog,
    batch: Option<u64>,
    descriptors: u64,
}

impl LogBuilder {
    fn add(&mut self, line: &LogLine) -> Result<(), String> {
        self.descriptors += 1;
        if self.descriptors > MOST_DESCRIPTORS {
            return Err(format!("a log has {MOST_DESCRIPTORS} descriptors at most"));
        }
        let descriptor = line.descriptor()?;
        let (time, portal) = (Picos::from_ns(line.time_ns), line.portal);
        let last = self.log.offloads.last_mut();
        if let Some(last) = &last
            && time < last.time
        {
            let earlier = last.time.as_ns();
            return Err(format!("`time_ns` is less than {earlier} in the line before"));
        }
        match last
            .filter(|it| line.batch.is_some() && line.batch == self.batch && it.portal == portal)
        {
            Some(open) => open.members.push(descriptor),
            None => {
                self.log.offloads.push(LoggedOffload { time, portal, members: vec![descriptor] });
            }
        }
        self.batch = line.batch;
        Ok(())
    }
}
