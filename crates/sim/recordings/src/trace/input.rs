//! A trace file read front to back, unpacked, through one buffer.

use std::io::{self, Read};

use super::error::TraceFault;
use crate::compression::{self, Compression};

/// Half of a small L2: data is decoded before it leaves the host's caches.
pub(super) const BUFFER_BYTES: usize = 1 << 17;
/// Enough bytes to recognise a format.
const START_BYTES: usize = 1 << 14;

/// The content of a file that has been read but not decoded, and the rest of the file.
pub(super) struct TraceInput {
    content: Box<dyn Read + Send>,
    compression: Option<Compression>,
    buffer: Vec<u8>,
    /// Start of the content that has not been decoded, in the buffer.
    from: usize,
    to: usize,
    /// Offset of that start in the content.
    offset: u64,
}

impl TraceInput {
    pub(super) fn open(file: Box<dyn Read + Send>) -> Result<Self, TraceFault> {
        let (compression, content) = compression::unpacked(file)
            .map_err(|error| TraceFault::CannotRead { offset: 0, error })?;
        let buffer = vec![0; BUFFER_BYTES];
        Ok(Self { content, compression, buffer, from: 0, to: 0, offset: 0 })
    }

    pub(super) fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// The start of the content, which is not consumed.
    pub(super) fn start(&mut self) -> Result<&[u8], TraceFault> {
        while self.to < START_BYTES && self.fill()? {}
        Ok(self.ready())
    }

    /// The content that can be decoded now.
    pub(super) fn ready(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    /// Byte offset of [`Self::ready`] in the content.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Removes decoded content from the front of [`Self::ready`].
    pub(super) fn consume(&mut self, bytes: usize) {
        self.from += bytes;
        self.offset += bytes as u64;
    }

    /// Reads more content; returns false if there is no more, or the buffer is full.
    pub(super) fn fill(&mut self) -> Result<bool, TraceFault> {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        loop {
            match self.content.read(&mut self.buffer[self.to..]) {
                Ok(read) => {
                    self.to += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unreadable(error)),
            }
        }
    }

    fn unreadable(&self, error: io::Error) -> TraceFault {
        let offset = self.offset + self.to as u64;
        match self.compression {
            Some(compression) => TraceFault::CannotUnpack { compression, offset, error },
            None => TraceFault::CannotRead { offset, error },
        }
    }
}
