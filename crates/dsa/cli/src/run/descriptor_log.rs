//! The log of descriptors of a run: merges the lines of all processes by time.

use super::directory::RunDirectory;
use crate::failure::CommandFailure;
use dsa_run::RECORDS_DIRECTORY;
use durable::error::{DurableError, DurableReason};
use durable::output::{OutputFile, OutputWriter};
use durable::whole_file::WriteOptions;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

/// The file of a record; it is complete, or not there.
pub struct RecordFile {
    output: OutputFile,
    /// The option that names the file, for messages.
    option: &'static str,
}

/// One descriptor, as a process has logged it.
struct RecordLine {
    time_ns: u64,
    process: u64,
    portal: u64,
    /// Index in its batch.
    member: u64,
    /// The line itself: parsed again when it is written, since its fields take many times as much memory.
    text: Box<str>,
}

impl RecordFile {
    /// Finds the file, so that a path which cannot be written is refused before the run.
    pub fn prepare(path: &Path, option: &'static str) -> Result<Self, CommandFailure> {
        let shown = path.display();
        let prepared = OutputFile::prepare_regular(path, WriteOptions::RESULT);
        let output = prepared.map_err(|error| match error.reason {
            DurableReason::NotReplaceable(_) => CommandFailure::bad_input(format!(
                "{option} {shown}: not a regular file; give one that may be replaced"
            )),
            reason => CommandFailure::bad_input(format!("{option} {shown}: {reason}")),
        })?;
        Ok(Self { output, option })
    }

    /// Writes the lines of all processes in the order of their times. Of a log that the disk has no room for it
    /// writes the first lines.
    pub fn merge(&self, directory: &RunDirectory) -> Result<MergedRecord, CommandFailure> {
        let (option, shown) = (self.option, self.output.named().display());
        let failed =
            |error: &dyn Display| CommandFailure::failed(format!("{option} {shown}: {error}"));
        let lines = read_all(&directory.path().join(RECORDS_DIRECTORY));
        let mut lines = lines.map_err(|error| failed(&error))?;
        lines.sort_by_key(|line| (line.time_ns, line.process, line.portal, line.member));
        let mut most_bytes = u64::MAX;
        loop {
            match self.write(&lines, most_bytes) {
                Ok(written) => {
                    let lost = (lines.len() - written) as u64;
                    return Ok(MergedRecord { written, lost });
                }
                // A later try may find less room: others write as well.
                Err(WriteFailure { bytes, is_full: true, .. }) if most_bytes > 0 => {
                    most_bytes = bytes.min(most_bytes / 2);
                }
                Err(failure) => return Err(failed(&failure.error)),
            }
        }
    }

    /// Writes lines until there are `most_bytes`. Returns their number.
    fn write(&self, lines: &[RecordLine], most_bytes: u64) -> Result<usize, WriteFailure> {
        let mut out = CountingWriter { to: self.output.begin()?, bytes: 0 };
        let mut portals = HashMap::new();
        let (mut taken, mut count) = (0, 0);
        let mut text = Vec::new();
        for line in lines {
            let next = portals.len();
            let portal = *portals.entry((line.process, line.portal)).or_insert(next);
            let begun = text.len();
            line.append_to(&mut text, portal);
            taken += (text.len() - begun) as u64;
            if taken > most_bytes {
                text.truncate(begun);
                break;
            }
            count += 1;
            if text.len() >= CHUNK_BYTES {
                out.write(&text)?;
                text.clear();
            }
        }
        out.write(&text)?;
        let bytes = out.bytes;
        out.to.finish().map_err(|error| WriteFailure { bytes, ..error.into() })?;
        Ok(count)
    }
}

/// Bytes that are written at once.
const CHUNK_BYTES: usize = 4 << 10;

/// The lines of a merged record.
pub struct MergedRecord {
    /// Number of lines in the file.
    pub written: usize,
    /// Number of lines for which the disk had no room.
    pub lost: u64,
}

/// Reason why a file could not be written, and the bytes that were.
struct WriteFailure {
    error: DurableReason,
    bytes: u64,
    is_full: bool,
}

impl From<DurableError> for WriteFailure {
    fn from(error: DurableError) -> Self {
        let is_full = match &error.reason {
            DurableReason::System(error) => is_full(error),
            _ => false,
        };
        Self { error: error.reason, bytes: 0, is_full }
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// A file, and the bytes that are in it.
struct CountingWriter {
    to: OutputWriter,
    bytes: u64,
}

impl CountingWriter {
    fn write(&mut self, mut text: &[u8]) -> Result<(), WriteFailure> {
        while !text.is_empty() {
            match self.to.write(text) {
                Ok(0) => break,
                Ok(count) => {
                    self.bytes += count as u64;
                    text = &text[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let (bytes, is_full) = (self.bytes, is_full(&error));
                    return Err(WriteFailure {
                        error: DurableReason::System(error),
                        bytes,
                        is_full,
                    });
                }
            }
        }
        Ok(())
    }
}

impl RecordLine {
    /// Appends the line of the merged record.
    fn append_to(&self, text: &mut Vec<u8>, portal: usize) {
        let Ok(Value::Object(mut fields)) = serde_json::from_str(&self.text) else { return };
        fields.remove("member");
        fields.insert("portal".to_owned(), portal.into());
        // Writing to memory does not fail, nor has a line of ours a key that is not a text.
        let _ = serde_json::to_writer(&mut *text, &fields);
        text.push(b'\n');
    }
}

fn read_all(directory: &Path) -> std::io::Result<Vec<RecordLine>> {
    let mut lines = Vec::new();
    for entry in directory.read_dir()? {
        let text = std::fs::read_to_string(entry?.path())?;
        // A process that was killed may have left half of its last line.
        lines.extend(text.lines().filter_map(parse));
    }
    Ok(lines)
}

fn parse(text: &str) -> Option<RecordLine> {
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return None };
    let number = |name: &str| fields.get(name)?.as_u64();
    let (time_ns, process, portal) = (number("time_ns")?, number("process")?, number("portal")?);
    let member = number("member")?;
    Some(RecordLine { time_ns, process, portal, member, text: text.into() })
}
