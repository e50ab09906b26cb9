//! Determines the format of a trace if the user did not name it: by file name, else by content.

use std::path::Path;

use super::error::TraceFault;
use super::text::Parsed;
use super::{TraceFormat, din, lackey};
use crate::compression::{self, Compression};

/// The format of a file name, with any compression extension.
pub(super) fn by_name(path: &Path) -> Option<TraceFormat> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let (stem, extension) = name.rsplit_once('.')?;
    let compressed = Compression::ALL.iter().any(|kind| kind.extension() == extension);
    let extension = if compressed { stem.rsplit_once('.')?.1 } else { extension };
    match extension {
        "champsimtrace" => Some(TraceFormat::ChampSim),
        name => TraceFormat::from_name(name),
    }
}

/// The format of content with this start. Both binary formats are plain numbers and cannot be
/// distinguished.
pub(super) fn by_content(start: &[u8]) -> Result<TraceFormat, TraceFault> {
    if start.is_empty() {
        return Err(TraceFault::UnknownFormat { found: "no content" });
    }
    if let Some(name) = compression::unsupported_name(start) {
        return Err(TraceFault::UnsupportedCompression { name });
    }
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if !start.iter().all(is_text) {
        let found = "binary content, as both champsim and raw64 do";
        return Err(TraceFault::UnknownFormat { found });
    }
    if first_line_is(start, lackey::reference) {
        Ok(TraceFormat::Lackey)
    } else if first_line_is(start, din::reference) {
        Ok(TraceFormat::Din)
    } else {
        Err(TraceFault::UnknownFormat { found: "a first line of neither din nor lackey" })
    }
}

/// Refuses a text that is packed by a compression that cannot be unpacked. A binary trace may begin with
/// any bytes.
pub(super) fn check_text(format: TraceFormat, start: &[u8]) -> Result<(), TraceFault> {
    match (format, compression::unsupported_name(start)) {
        (TraceFormat::Din | TraceFormat::Lackey, Some(name)) => {
            Err(TraceFault::UnsupportedCompression { name })
        }
        _ => Ok(()),
    }
}

/// Whether the first line that is not blank is a reference.
fn first_line_is(text: &[u8], parse: fn(&[u8]) -> Parsed) -> bool {
    let first = text.split(|&byte| byte == b'\n').map(parse).find(|parsed| *parsed != Ok(None));
    first.is_some_and(|parsed| parsed.is_ok())
}
