//! The log of descriptors of a run: merges the lines of all processes by time.

use super::directory::RunDirectory;
use crate::failure::CommandFailure;
use dsa_run::RECORDS_DIRECTORY;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file of --record; it is complete, or not there.
pub struct RecordFile {
    path: PathBuf,
    draft: PathBuf,
}

/// One descriptor, as a process has logged it.
struct RecordLine {
    time_ns: u64,
    process: u64,
    portal: u64,
    /// Index in its batch.
    member: u64,
    fields: Map<String, Value>,
}

impl RecordFile {
    /// Creates a draft beside the file, so that a path which cannot be written is refused before the run.
    pub fn create(path: &Path) -> Result<Self, CommandFailure> {
        let shown = path.display();
        // A draft takes the place of the file at the end, which would replace a device like /dev/null.
        if path.file_name().is_none() || path.exists() && !path.is_file() {
            let message =
                format!("--record {shown}: not a regular file; give one that may be replaced");
            return Err(CommandFailure::bad_input(message));
        }
        let mut draft = path.as_os_str().to_owned();
        draft.push(".part");
        let draft = PathBuf::from(draft);
        std::fs::File::create(&draft)
            .map_err(|error| CommandFailure::bad_input(format!("--record {shown}: {error}")))?;
        Ok(Self { path: path.to_owned(), draft })
    }

    /// Writes the lines of all processes in the order of their times; returns the number of lines.
    pub fn merge(&self, directory: &RunDirectory) -> Result<usize, CommandFailure> {
        let failed =
            |error| CommandFailure::failed(format!("--record {}: {error}", self.path.display()));
        let mut lines = read_all(&directory.path().join(RECORDS_DIRECTORY)).map_err(failed)?;
        lines.sort_by_key(|line| (line.time_ns, line.process, line.portal, line.member));
        let mut portals = HashMap::new();
        let file = std::fs::File::create(&self.draft).map_err(failed)?;
        let mut out = std::io::BufWriter::new(file);
        let count = lines.len();
        for mut line in lines {
            let next = portals.len();
            let portal = *portals.entry((line.process, line.portal)).or_insert(next);
            line.fields.insert("portal".to_owned(), portal.into());
            serde_json::to_writer(&mut out, &line.fields).map_err(|error| failed(error.into()))?;
            out.write_all(b"\n").map_err(failed)?;
        }
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        std::fs::rename(&self.draft, &self.path).map_err(failed)?;
        Ok(count)
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        // After a merge there is no draft.
        let _ = std::fs::remove_file(&self.draft);
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
    let Ok(Value::Object(mut fields)) = serde_json::from_str(text) else { return None };
    let number = |name: &str| fields.get(name)?.as_u64();
    let (time_ns, process, portal) = (number("time_ns")?, number("process")?, number("portal")?);
    let member = number("member")?;
    fields.remove("member");
    Some(RecordLine { time_ns, process, portal, member, fields })
}
