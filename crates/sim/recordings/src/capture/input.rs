//! A capture file read front to back, in pieces of a length that the caller has checked.

use std::io::{self, BufReader, Chain, Cursor, Read};

use pcap_file::Endianness;

use super::error::CaptureFault;
use crate::compression::{self, Compression};

const MAGIC_BYTES: u64 = 4;
/// Bytes by which a compression that is not supported is recognised.
const HEAD_BYTES: u64 = 10;

/// A reader that unpacks and counts its bytes.
pub(super) struct CaptureInput<'f> {
    /// The content, preceded by the bytes that were read to recognise it.
    reader: Chain<Cursor<Vec<u8>>, BufReader<Box<dyn Read + Send + 'f>>>,
    compression: Option<Compression>,
    head: Vec<u8>,
    offset: u64,
}

impl<'f> CaptureInput<'f> {
    /// The input at its start, and its first four bytes as a big-endian number.
    ///
    /// # Errors
    /// If it cannot be read or unpacked, or has fewer bytes.
    pub(super) fn open(file: Box<dyn Read + Send + 'f>) -> Result<(Self, u32), CaptureFault> {
        let (compression, content) = compression::unpacked(file)
            .map_err(|error| CaptureFault::CannotRead { offset: 0, error })?;
        let mut content = BufReader::new(content);
        let mut head = Vec::new();
        let read = content.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
        read.map_err(|error| unreadable(compression, 0, error))?;
        match head.len() as u64 {
            0 => Err(CaptureFault::Empty),
            present @ 1..MAGIC_BYTES => {
                Err(CaptureFault::TruncatedHeader { present, needed: MAGIC_BYTES })
            }
            _ => {
                let found = u32_at(&head, 0, Endianness::Big);
                let reader = Cursor::new(head.clone()).chain(content);
                Ok((Self { reader, compression, head, offset: 0 }, found))
            }
        }
    }

    /// The refusal of content that starts with `found`, by the name of its compression if it has one.
    pub(super) fn unknown_format(&self, found: u32) -> CaptureFault {
        match compression::unsupported_name(&self.head) {
            Some(name) => CaptureFault::UnsupportedCompression { name },
            None => CaptureFault::WrongMagic { found },
        }
    }

    /// Number of bytes consumed so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Appends `bytes` bytes to `buffer`, fewer if the file ends first; returns how many.
    ///
    /// The buffer grows with the bytes present, never with the length that a record claims.
    pub(super) fn append(&mut self, buffer: &mut Vec<u8>, bytes: u64) -> Result<u64, CaptureFault> {
        let read = self.reader.by_ref().take(bytes).read_to_end(buffer);
        self.count(read.map(|read| read as u64))
    }

    /// Skips `bytes` bytes, fewer if the file ends first; returns how many.
    pub(super) fn skip(&mut self, bytes: u64) -> Result<u64, CaptureFault> {
        let skipped = io::copy(&mut self.reader.by_ref().take(bytes), &mut io::sink());
        self.count(skipped)
    }

    fn count(&mut self, consumed: io::Result<u64>) -> Result<u64, CaptureFault> {
        let consumed =
            consumed.map_err(|error| unreadable(self.compression, self.offset, error))?;
        self.offset += consumed;
        Ok(consumed)
    }
}

/// The fault of content that cannot be read on from `offset`.
fn unreadable(compression: Option<Compression>, offset: u64, error: io::Error) -> CaptureFault {
    match compression {
        Some(compression) => CaptureFault::CannotUnpack { compression, offset, error },
        None => CaptureFault::CannotRead { offset, error },
    }
}

/// The 16-bit number at `at`.
///
/// # Panics
/// If `bytes` ends before it: callers know their record's length.
pub(super) fn u16_at(bytes: &[u8], at: usize, endianness: Endianness) -> u16 {
    let field = std::array::from_fn(|i| bytes[at + i]);
    match endianness {
        Endianness::Big => u16::from_be_bytes(field),
        Endianness::Little => u16::from_le_bytes(field),
    }
}

/// The 32-bit number at `at`.
///
/// # Panics
/// If `bytes` ends before it: callers know their record's length.
pub(super) fn u32_at(bytes: &[u8], at: usize, endianness: Endianness) -> u32 {
    let field = std::array::from_fn(|i| bytes[at + i]);
    match endianness {
        Endianness::Big => u32::from_be_bytes(field),
        Endianness::Little => u32::from_le_bytes(field),
    }
}
