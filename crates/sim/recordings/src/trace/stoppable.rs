//! A file that one thread reads and another thread can stop: a pipe may be silent for hours, and bytes
//! that arrive later belong to its next reader.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

/// Stops the reader of a trace that was opened with a clone of this.
#[derive(Clone, Debug)]
pub struct StopReading(Arc<OwnedFd>);

impl StopReading {
    /// A handle that has not stopped anything yet.
    ///
    /// # Errors
    /// If the host has no file descriptors left.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // A clone's descriptor is above 2: if standard input is closed, this must not take its number.
        Ok(Self(Arc::new(event.try_clone()?)))
    }

    /// The reader's next read fails, including one that waits now. A read that is returning bytes
    /// completes.
    pub fn stop(&self) {
        // It fails only if the event's counter is full, and then the reader is already stopped.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// A file that is read to its end or until [`StopReading::stop`].
pub(super) struct Stoppable {
    file: File,
    stop: StopReading,
}

impl Stoppable {
    pub(super) fn new(file: File, stop: StopReading) -> Self {
        Self { file, stop }
    }
}

impl Read for Stoppable {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut watched =
                [PollFd::new(&self.stop.0, PollFlags::IN), PollFd::new(&self.file, PollFlags::IN)];
            match poll(&mut watched, None) {
                Err(Errno::INTR) => continue,
                polled => polled?,
            };
            if !watched[0].revents().is_empty() {
                return Err(io::Error::other("the reading was stopped"));
            }
            match self.file.read(buffer) {
                // Another reader took the bytes, or the descriptor does not block.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Write, pipe};
    use std::thread;

    #[test]
    fn a_reader_that_waits_is_stopped_and_takes_nothing_afterwards() {
        let (reads, mut writes) = pipe().expect("the host has pipes");
        let mut left_over = reads.try_clone().expect("the host has descriptors");
        let stop = StopReading::new().expect("the host has descriptors");
        let mut file = Stoppable::new(File::from(OwnedFd::from(reads)), stop.clone());
        let (tells, told) = std::sync::mpsc::channel();
        let reader = thread::spawn(move || {
            let mut buffer = [0; 8];
            let _ = tells.send(file.read(&mut buffer));
            file.read(&mut buffer)
        });
        writes.write_all(b"before").expect("the pipe has a reader");
        assert!(matches!(told.recv(), Ok(Ok(6))));
        stop.stop();
        // Whether it already waits or not.
        let ended = reader.join().expect("does not panic");
        assert_eq!(ended.map_err(|error| error.kind()), Err(ErrorKind::Other));
        writes.write_all(b"after").expect("the pipe takes it");
        let mut buffer = [0; 8];
        assert_eq!(left_over.read(&mut buffer).expect("there is something"), 5);
        assert_eq!(&buffer[..5], b"after");
    }

    #[test]
    fn a_pipe_ends_when_its_writer_is_gone() {
        let (reads, writes) = pipe().expect("the host has pipes");
        drop(writes);
        let stop = StopReading::new().expect("the host has descriptors");
        let mut file = Stoppable::new(File::from(OwnedFd::from(reads)), stop);
        assert_eq!(file.read(&mut [0; 8]).expect("can be read"), 0);
    }
}
