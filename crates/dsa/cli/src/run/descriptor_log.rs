//! The log of descriptors of a run: merges the lines of all processes by time.

use super::directory::RunDirectory;
use crate::failure::CommandFailure;
use dsa_run::RECORDS_DIRECTORY;
use durable::error::DurableReason;
use durable::output::OutputFile;
use durable::whole_file::WriteOptions;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt::Display;
use std::io::Write;
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

    /// Writes the lines of all processes in the order of their times; returns the number of lines.
    pub fn merge(&self, directory: &RunDirectory) -> Result<usize, CommandFailure> {
        let (option, shown) = (self.option, self.output.named().display());
        let failed =
            |error: &dyn Display| CommandFailure::failed(format!("{option} {shown}: {error}"));
        let lines = read_all(&directory.path().join(RECORDS_DIRECTORY));
        let mut lines = lines.map_err(|error| failed(&error))?;
        lines.sort_by_key(|line| (line.time_ns, line.process, line.portal, line.member));
        let mut portals = HashMap::new();
        let writer = self.output.begin().map_err(|error| failed(&error.reason))?;
        let mut out = std::io::BufWriter::new(writer);
        let count = lines.len();
        for line in lines {
            let next = portals.len();
            let portal = *portals.entry((line.process, line.portal)).or_insert(next);
            let mut fields: Map<String, Value> =
                serde_json::from_str(&line.text).map_err(|error| failed(&error))?;
            fields.remove("member");
            fields.insert("portal".to_owned(), portal.into());
            serde_json::to_writer(&mut out, &fields).map_err(|error| failed(&error))?;
            out.write_all(b"\n").map_err(|error| failed(&error))?;
        }
        let writer = out.into_inner().map_err(|error| failed(error.error()))?;
        writer.finish().map_err(|error| failed(&error.reason))?;
        Ok(count)
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
