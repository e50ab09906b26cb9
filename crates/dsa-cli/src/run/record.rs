//! The log of descriptors of a run: what all of its processes have written, by time.

use super::directory::Directory;
use crate::failure::Failure;
use dsa_run::RECORDS_DIRECTORY;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the log goes; it is there as a whole, or not at all.
pub struct Out {
    path: PathBuf,
    draft: PathBuf,
}

/// A line of a process.
struct Line {
    time_ns: u64,
    process: u64,
    portal: u64,
    /// Place in a batch.
    member: u64,
    fields: Map<String, Value>,
}

impl Out {
    /// Finds out before the run whether the file can be written.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        // A draft takes the place of the file at the end, which would replace a device like /dev/null.
        if path.file_name().is_none() || path.exists() && !path.is_file() {
            let message = format!("--record {shown}: it is no file; give one that may be replaced");
            return Err(Failure::bad_input(message));
        }
        let mut draft = path.as_os_str().to_owned();
        draft.push(".part");
        let draft = PathBuf::from(draft);
        std::fs::File::create(&draft)
            .map_err(|error| Failure::bad_input(format!("--record {shown}: {error}")))?;
        Ok(Self { path: path.to_owned(), draft })
    }

    /// Writes the lines of all processes in the order of their times; returns how many.
    pub fn merge(&self, directory: &Directory) -> Result<usize, Failure> {
        let failed = |error| Failure::failed(format!("--record {}: {error}", self.path.display()));
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

impl Drop for Out {
    fn drop(&mut self) {
        // After a merge it is gone.
        let _ = std::fs::remove_file(&self.draft);
    }
}

fn read_all(directory: &Path) -> std::io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for entry in directory.read_dir()? {
        let text = std::fs::read_to_string(entry?.path())?;
        // A process that was killed may have left half of its last line.
        lines.extend(text.lines().filter_map(parse));
    }
    Ok(lines)
}

fn parse(text: &str) -> Option<Line> {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(text) else { return None };
    let number = |name: &str| fields.get(name)?.as_u64();
    let (time_ns, process, portal) = (number("time_ns")?, number("process")?, number("portal")?);
    let member = number("member")?;
    fields.remove("member");
    Some(Line { time_ns, process, portal, member, fields })
}
