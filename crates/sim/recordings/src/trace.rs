//! Address traces: memory references of programs, recorded by other tools and read batch by batch.
//!
//! Models: fetches, loads and stores of one program in its order, with address and size.
//! Source: the manual of Dinero III (din), lackey's help in Valgrind (lackey), the `input_instr`
//! record of ChampSim (champsim); raw64 is eight little-endian bytes per address.
//! Simplifies: if a format has no size, a reference is one byte.
//!
//! [`Batches`] is the source of references: a file ([`TraceReader`]) or a list ([`LoadList`]).
//! `stoppable` and `input` split a file into pieces of its content, one file per format
//! converts these to references, `guess` chooses the format.

mod batch;
mod batches;
mod champsim;
mod din;
mod error;
mod format;
mod format_detection;
mod input;
mod lackey;
mod raw64;
mod stoppable;
#[cfg(test)]
mod test_files;
#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "references of the tests are small"
)]
mod tests;
mod text;

use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use units::Reference;

use self::input::TraceInput;
use self::stoppable::Stoppable;
use self::text::LineCount;

pub use self::batch::{BLOCK_LOADS, BLOCK_REFERENCES, Batch};
pub use self::batches::{Batches, LoadList};
pub use self::error::{TraceError, TraceFault};
pub use self::format::TraceFormat;
pub use self::stoppable::StopReading;
pub use crate::compression::Compression;

/// Loads of a [`Batch::Loads`]: so many that passing it between threads costs little.
const BATCH_LOADS: usize = 8 * BLOCK_LOADS;

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// Reads a trace front to back, block by block; unpacks gzip, xz, zstd and bzip2.
pub struct TraceReader {
    path: PathBuf,
    input: TraceInput,
    format: TraceFormat,
    lines: LineCount,
    state: TraceReaderState,
    progress: Option<Progress>,
}

/// How much of a file has been read, before unpacking.
struct Progress {
    read: Arc<AtomicU64>,
    file_bytes: u64,
}

/// A file that counts how much of it has been read.
struct CountingFile {
    file: Stoppable,
    read: Arc<AtomicU64>,
}

impl Read for CountingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

#[derive(PartialEq, Eq)]
enum TraceReaderState {
    Opened,
    Reading,
    Ended,
}

impl TraceReader {
    /// Opens the trace at `path`, `-` for standard input. Without a given format its name determines
    /// it, or else its content. After `stop`, no more bytes are read from it.
    ///
    /// # Errors
    /// If the file cannot be read or unpacked, or if its format is neither given nor recognised.
    pub fn open(
        path: impl AsRef<Path>,
        format: Option<TraceFormat>,
        stop: StopReading,
    ) -> Result<Self, TraceError> {
        let path = path.as_ref();
        match open_file(path) {
            Ok(file) => {
                let file_bytes = file.metadata().map_or(0, |facts| facts.len());
                let read = Arc::new(AtomicU64::new(0));
                let counted =
                    CountingFile { file: Stoppable::new(file, stop), read: Arc::clone(&read) };
                let reader = Self::from_reader(path, counted, format)?;
                let progress = (file_bytes > 0).then_some(Progress { read, file_bytes });
                Ok(Self { progress, ..reader })
            }
            Err(fault) => Err(TraceError { path: path.to_owned(), fault }),
        }
    }

    /// Reads the trace of `reader`; `name` is its name in errors.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_reader(
        name: impl AsRef<Path>,
        reader: impl Read + Send + 'static,
        format: Option<TraceFormat>,
    ) -> Result<Self, TraceError> {
        let path = name.as_ref().to_owned();
        let opened = TraceInput::open(Box::new(reader)).and_then(|mut input| {
            let format = match format.or_else(|| format_detection::by_name(&path)) {
                Some(format) => {
                    format_detection::check_text(format, input.start()?)?;
                    format
                }
                None => format_detection::by_content(input.start()?)?,
            };
            Ok((input, format))
        });
        match opened {
            Ok((input, format)) => {
                let lines = LineCount::default();
                Ok(Self {
                    path,
                    input,
                    format,
                    lines,
                    state: TraceReaderState::Opened,
                    progress: None,
                })
            }
            Err(fault) => Err(TraceError { path, fault }),
        }
    }

    /// The format of the trace.
    #[must_use]
    pub fn format(&self) -> TraceFormat {
        self.format
    }

    /// The compression of the file, `None` if it is not compressed.
    #[must_use]
    pub fn compression(&self) -> Option<Compression> {
        self.input.compression()
    }

    /// Replaces the content of `into` by the next references, about [`BLOCK_REFERENCES`] of them;
    /// returns false if there are no more.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged or truncated, or holds no reference. The content of
    /// `into` then precedes the fault, and the trace is over: further calls return false.
    pub fn next_block(&mut self, into: &mut Vec<Reference>) -> Result<bool, TraceError> {
        into.clear();
        into.reserve(BLOCK_REFERENCES);
        if self.state == TraceReaderState::Ended {
            return Ok(false);
        }
        let read = self.read_block(into);
        self.ended(read, into.is_empty())
    }

    fn next_addresses(&mut self, into: &mut Vec<u64>) -> Result<bool, TraceError> {
        into.reserve(BATCH_LOADS);
        if self.state == TraceReaderState::Ended {
            return Ok(false);
        }
        let read = raw64::read_addresses(&mut self.input, into);
        self.ended(read, into.is_empty())
    }

    /// The result of an attempt to read: more, the end or a fault.
    fn ended(&mut self, read: Result<(), TraceFault>, nothing: bool) -> Result<bool, TraceError> {
        let first =
            mem::replace(&mut self.state, TraceReaderState::Reading) == TraceReaderState::Opened;
        let fault = match read {
            Ok(()) if !nothing => return Ok(true),
            Ok(()) if first => Some(TraceFault::Empty { format: self.format }),
            Ok(()) => None,
            Err(fault) => Some(fault),
        };
        self.state = TraceReaderState::Ended;
        fault.map_or(Ok(false), |fault| Err(TraceError { path: self.path.clone(), fault }))
    }

    /// Leaves `into` empty only at the end.
    fn read_block(&mut self, into: &mut Vec<Reference>) -> Result<(), TraceFault> {
        let Self { input, format, lines, .. } = self;
        match format {
            TraceFormat::Din => lines.read_block(input, into, *format, din::plain, din::reference),
            TraceFormat::Lackey => {
                lines.read_block(input, into, *format, lackey::plain, lackey::reference)
            }
            TraceFormat::ChampSim => champsim::read_block(input, into),
            TraceFormat::Raw64 => raw64::read_block(input, into),
        }
    }
}

impl Batches for TraceReader {
    fn next_batch(&mut self, into: &mut Batch) -> Result<bool, TraceError> {
        if self.format == TraceFormat::Raw64 {
            self.next_addresses(into.for_loads())
        } else {
            self.next_block(into.for_references())
        }
    }

    fn fraction(&self) -> Option<f64> {
        let progress = self.progress.as_ref()?;
        Some(progress.read.load(Ordering::Relaxed) as f64 / progress.file_bytes as f64)
    }

    fn format(&self) -> &'static str {
        self.format.name()
    }
}

fn open_file(path: &Path) -> Result<File, TraceFault> {
    let opened = if path == Path::new(STANDARD_INPUT) {
        // Not io::stdin(): its buffer reads more bytes than requested.
        io::stdin().as_fd().try_clone_to_owned().map(File::from)
    } else {
        inputs::streams::open_file(path)
    };
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => TraceFault::IsDirectory,
        _ => TraceFault::CannotOpen(error),
    })?;
    let is_directory = file.metadata().map_err(TraceFault::CannotOpen)?.is_dir();
    if is_directory { Err(TraceFault::IsDirectory) } else { Ok(file) }
}
