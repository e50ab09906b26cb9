//! The log of descriptors of this process: a file in the directory of the run, which the supervisor
//! merges with those of other processes at the end.

use crate::leaked::load_or_leak;
use crate::run::CurrentRun;
use dsa::descriptor::Descriptor;
use dsa::device::Tag;
use dsa::engine::EndedDescriptor;
use dsa::hardware::Opcode;
use dsa::log::LogSource;
use dsa_run::registers::RunRegisters;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The log of this process. It writes a line for each descriptor as soon as the descriptor has ended: a
/// process may be killed.
pub struct Recorder {
    registers: &'static RunRegisters,
    state: Mutex<RecorderState>,
}

struct RecorderState {
    /// `None`: the file could not be opened, and all lines are lost.
    log: Option<LogFile>,
    /// Portal numbers: one for each pair of a thread and a queue.
    portals: HashMap<(u64, (u32, u32)), u32>,
    process: u32,
}

/// The recorder of this process; null before the first queue is mapped.
static RECORDER: AtomicPtr<Option<Arc<Recorder>>> = AtomicPtr::new(std::ptr::null_mut());

/// The recorder of this process; `None` if the run does not record.
pub fn start(run: &CurrentRun) -> Option<Arc<Recorder>> {
    load_or_leak(&RECORDER, || Box::into_raw(Box::new(open(run)))).clone()
}

/// Forgets the recorder in a forked child, which logs to a file of its own.
pub fn forget() {
    RECORDER.store(std::ptr::null_mut(), Ordering::Release);
}

fn open(run: &CurrentRun) -> Option<Arc<Recorder>> {
    let directory = run.directory.join(dsa_run::RECORDS_DIRECTORY);
    if !directory.is_dir() {
        return None;
    }
    let process = std::process::id();
    let log = LogFile::open(directory.join(format!("{process}.jsonl"))).ok();
    let state = Mutex::new(RecorderState { log, portals: HashMap::new(), process });
    Some(Arc::new(Recorder { registers: run.registers, state }))
}

/// A log file in a process whose program may close any file descriptor and reuse its number.
struct LogFile {
    path: PathBuf,
    file: File,
    /// Device and inode number of the file.
    identity: (u64, u64),
    /// Whether the file may end with an incomplete line, after a failed write.
    ends_in_part: bool,
}

impl LogFile {
    fn open(path: PathBuf) -> io::Result<Self> {
        /// Lowest file descriptor for the log: programs expect to get low numbers.
        const LEAST_NUMBER: libc::c_int = 900;
        let low = File::options().create(true).append(true).open(&path)?;
        // SAFETY: the descriptor is open; the new one, if there is one, belongs to nothing else.
        let file = unsafe {
            match libc::fcntl(low.as_raw_fd(), libc::F_DUPFD_CLOEXEC, LEAST_NUMBER) {
                -1 => low,
                high => File::from_raw_fd(high),
            }
        };
        let found = file.metadata()?;
        Ok(Self { path, file, identity: (found.dev(), found.ino()), ends_in_part: false })
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        let is_own = |found: &std::fs::Metadata| (found.dev(), found.ino()) == self.identity;
        if !self.file.metadata().is_ok_and(|found| is_own(&found)) {
            let new = Self::open(self.path.clone())?;
            // Its number belongs to another file now, or to none.
            std::mem::forget(std::mem::replace(self, new).file);
        }
        if self.ends_in_part {
            self.file.write_all(b"\n")?;
        }
        let written = self.file.write_all(text.as_bytes());
        self.ends_in_part = written.is_err();
        written
    }
}

/// The label of a submission: the time, and the thread pointer as portal.
pub fn tag() -> Tag {
    Tag { time_ns: now_ns(), portal: crate::context::thread_pointer() }
}

/// The monotonic clock, which all processes of a machine share.
fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the time in; a signal handler may make it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Transfer size of a descriptor in bytes; 0 for operations that transfer no data.
pub fn data_bytes(descriptor: &Descriptor) -> u64 {
    match descriptor.opcode() {
        None | Some(Opcode::NoOp | Opcode::Batch | Opcode::Drain | Opcode::TranslationFetch) => 0,
        Some(_) => descriptor.size().into(),
    }
}

impl Recorder {
    /// Writes the line of a descriptor, or of a member of a batch, that has ended.
    pub fn log_ended(&self, queue: (u32, u32), tag: Tag, ended: &EndedDescriptor<'_>) {
        let start_ns = self.registers.start_ns.load(Ordering::Relaxed);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let next = units::narrow::fit(state.portals.len());
        let portal = *state.portals.entry((tag.portal, queue)).or_insert(next);
        let source = LogSource {
            time_ns: tag.time_ns.saturating_sub(start_ns),
            portal,
            queue: &format!("wq{}.{}", queue.0, queue.1),
            process: state.process,
        };
        if let Some(line) = source.line(ended) {
            // Members end in any order; the supervisor sorts them by their number in the list.
            let member = ended.member.unwrap_or_default();
            let text = line.replacen('{', &format!("{{\"member\": {member}, "), 1);
            // The program goes on; at its end the run reports the number of lost lines.
            let written = state.log.as_mut().map(|log| log.write(&text));
            if !matches!(written, Some(Ok(()))) {
                self.registers.lost_lines.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
