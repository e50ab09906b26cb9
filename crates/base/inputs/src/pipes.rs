//! Waiting for the bytes of pipes and terminals.
//!
//! The standard library retries a read that a signal interrupts, so that Ctrl-C would be ignored while a
//! pipe is silent: this polls first.

use crate::may_be_silent;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{SpliceFlags, pipe, tee};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time within which a program has to open a FIFO for writing.
pub const WRITER_LIMIT: Duration = Duration::from_secs(10);
/// Time between two looks for a signal.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

static INTERRUPTION: OnceLock<fn() -> bool> = OnceLock::new();

/// Installs the function that says whether the user has interrupted the command; the first one stays.
pub fn stop_when(is_interrupted: fn() -> bool) {
    INTERRUPTION.get_or_init(|| is_interrupted);
}

/// Fails if the user has interrupted the command.
fn check_interruption() -> io::Result<()> {
    if INTERRUPTION.get().is_some_and(|is_interrupted| is_interrupted()) {
        return Err(io::Error::other("the reading was interrupted"));
    }
    Ok(())
}

/// Opens a file or a pipe. A FIFO is opened when a program writes to it.
///
/// # Errors
/// If the system refuses it, it is a directory, no program opens a FIFO for writing within [`WRITER_LIMIT`], or
/// the user interrupts the waiting.
pub fn open(path: &Path) -> io::Result<File> {
    open_within(path, WRITER_LIMIT)
}

/// As [`open`], with another limit for the writer of a FIFO.
pub(crate) fn open_within(path: &Path, limit: Duration) -> io::Result<File> {
    if path.metadata()?.file_type().is_socket() {
        return Err(io::Error::other("it is a socket, from which nothing is read"));
    }
    // A FIFO without a writer would block here, and no signal would end that.
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if metadata.file_type().is_fifo() {
        wait_for_writer(&file, limit)?;
    }
    fcntl_setfl(&file, fcntl_getfl(&file)?.difference(OFlags::NONBLOCK))?;
    Ok(file)
}

/// Waits until a FIFO has bytes or a writer, or had one.
fn wait_for_writer(fifo: &File, limit: Duration) -> io::Result<()> {
    let (_probe, into) = pipe()?;
    let began = Instant::now();
    while !is_ready(fifo)? {
        check_interruption()?;
        // It copies nothing from an empty FIFO: the kernel says whether there is a writer to wait for.
        match tee(fifo, &into, 1, SpliceFlags::NONBLOCK) {
            Err(Errno::AGAIN) => return Ok(()),
            Ok(1..) => return Ok(()),
            Ok(0) if began.elapsed() < limit => {}
            Ok(_) => {
                let seconds = limit.as_secs();
                let message =
                    format!("no program has opened this FIFO for writing within {seconds} s");
                return Err(io::Error::new(ErrorKind::TimedOut, message));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits a moment for bytes or the end; returns whether one of them is there.
fn is_ready(file: &File) -> io::Result<bool> {
    let mut watched = [PollFd::new(file, PollFlags::IN)];
    match poll(&mut watched, Some(&LOOK)) {
        Err(Errno::INTR) => Ok(false),
        polled => Ok(polled? > 0),
    }
}

/// A file or pipe; a read fails when the user interrupts the command.
#[derive(Debug)]
pub struct Interruptible {
    file: File,
    may_be_silent: bool,
}

impl Interruptible {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let may_be_silent = may_be_silent(&file.metadata()?);
        Ok(Self { file, may_be_silent })
    }
}

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.may_be_silent && !is_ready(&self.file)? {
            check_interruption()?;
        }
        self.file.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::fs;
    use std::thread;

    fn fifo(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("fifo");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("can be made");
        path
    }

    #[test]
    fn a_fifo_without_a_writer_is_refused() {
        let folder = tempfile::tempdir().expect("can be made");
        let error = open_within(&fifo(folder.path()), Duration::ZERO).expect_err("has no writer");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("opened this FIFO for writing"), "{error}");
    }

    #[test]
    fn every_byte_of_a_fifo_is_read_whether_its_writer_comes_first_or_last() {
        for writer_first in [false, true] {
            let folder = tempfile::tempdir().expect("can be made");
            let path = fifo(folder.path());
            let target = path.clone();
            let writer = thread::spawn(move || fs::write(target, vec![7; 1 << 20]));
            if writer_first {
                thread::yield_now();
            }
            let file = open(&path).expect("has a writer");
            let mut content = Vec::new();
            Interruptible::new(file).expect("is open").read_to_end(&mut content).expect("is read");
            writer.join().expect("does not panic").expect("is written");
            assert_eq!(content, vec![7; 1 << 20]);
        }
    }

    #[test]
    fn a_directory_cannot_be_opened() {
        let error = open(Path::new("/")).expect_err("is a directory");
        assert_eq!(error.kind(), ErrorKind::IsADirectory);
    }
}
