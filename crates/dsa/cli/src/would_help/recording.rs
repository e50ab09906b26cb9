//! The run of the program, with the preloaded library on a device in software.

use super::counts::{CountedCalls, RunCounts};
use crate::failure::CommandFailure;
use crate::run::program::{Program, library_named};
use crate::run::{FinishedProgram, RunArguments, RunEnvironment, run_program};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// File name of the preloaded library.
const LIBRARY: &str = "libskipline_dsa_preload.so";
/// Size in bytes from which on calls go to the device and so into the log. No engine that is known does
/// smaller ones sooner than a core, so that nothing is left out by which the answer could change.
pub const LEAST_BYTES: u64 = 1024;

/// A run of the program that has ended, with its log and counts.
pub struct ProgramRecording {
    /// How the run ended.
    pub ended: FinishedProgram,
    /// The log of descriptors.
    pub log: PathBuf,
    /// Calls of all processes.
    pub counts: RunCounts,
    /// Whether the command sets LD_PRELOAD itself, which keeps the libraries out.
    pub replaces_library: bool,
    _files: TempDir,
}

impl ProgramRecording {
    /// Runs the program with `words`; the log is written to `keep`, or to a file that goes with this value.
    pub fn make(
        program: Program,
        words: &[OsString],
        keep: Option<&Path>,
    ) -> Result<Self, CommandFailure> {
        let library = library_named(LIBRARY)
            .map_err(|failure| failure.with_line("make dsa builds it beside this command"))?;
        let failed = |error| CommandFailure::failed(format!("a directory for the log: {error}"));
        let files = tempfile::tempdir().map_err(failed)?;
        let (log, option) = match keep {
            Some(path) => (path.to_owned(), "--keep"),
            None => (files.path().join("offloads.jsonl"), "the log"),
        };
        let counts = files.path().join("counts");
        let program = program.preloading(library);
        let replaces_library = program.replaces_library();
        let arguments = RunArguments::recording(words, &log, option);
        let ended = run_program(&arguments, &program, settings(&counts))?;
        // A run in which nothing loads the library writes no report.
        let counts = RunCounts::parse(&std::fs::read_to_string(counts).unwrap_or_default());
        Ok(Self { ended, log, counts, replaces_library, _files: files })
    }

    /// Time of the run in nanoseconds, less the time for which calls waited for the device in software. Threads
    /// that wait at the same time are subtracted twice, so one percent of the run is left at least.
    pub fn program_ns(&self, calls: &CountedCalls) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a time of a run")]
        let took_ns = self.ended.took_ns as f64;
        (took_ns - calls.device_ns).max(took_ns / 100.0)
    }
}

/// The settings of the preloaded library: all that could leave a call to the CPU is switched off, whatever
/// the environment says.
fn settings(counts: &Path) -> RunEnvironment {
    let words = [
        ("SKIPLINE_DSA_PRELOAD", "on".to_owned()),
        ("SKIPLINE_DSA_QUEUES", String::new()),
        ("SKIPLINE_DSA_THRESHOLDS", String::new()),
        ("SKIPLINE_DSA_PRELOAD_MIN_BYTES", LEAST_BYTES.to_string()),
        ("SKIPLINE_DSA_PRELOAD_FUNCTIONS", "memcpy,memmove,memset,memcmp".to_owned()),
        ("SKIPLINE_DSA_PRELOAD_CPU_SHARE", "0".to_owned()),
        ("SKIPLINE_DSA_PRELOAD_TUNE", "off".to_owned()),
        ("SKIPLINE_DSA_PRELOAD_WAIT", "poll".to_owned()),
        ("SKIPLINE_DSA_PRELOAD_SIGNAL", String::new()),
    ];
    let counts = ("SKIPLINE_DSA_PRELOAD_STATISTICS", counts.as_os_str().to_owned());
    words.map(|(name, value)| (name, value.into())).into_iter().chain([counts]).collect()
}
