//! A capture file read front to back, in pieces of a length that the caller has checked.

use std::io::{self, BufReader, Chain, Cursor, Read};

use pcap_file::Endianness;

use super::error::CaptureFault;

const MAGIC_BYTES: u64 = 4;

/// A reader that counts its bytes.
pub(super) struct CaptureInput<R> {
    /// The file, preceded by the bytes that were read to recognise it.
    reader: Chain<Cursor<Vec<u8>>, BufReader<R>>,
    offset: u64,
}

impl<R: Read> CaptureInput<R> {
    /// The input at its start, and its first four bytes as a big-endian number.
    pub(super) fn open(reader: R) -> Result<(Self, u32), CaptureFault> {
        let mut reader = BufReader::new(reader);
        let mut magic = Vec::new();
        let present = reader
            .by_ref()
            .take(MAGIC_BYTES)
            .read_to_end(&mut magic)
            .map_err(|error| CaptureFault::CannotRead { offset: 0, error })?;
        match present as u64 {
            0 => Err(CaptureFault::Empty),
            MAGIC_BYTES => {
                let found = u32_at(&magic, 0, Endianness::Big);
                Ok((Self { reader: Cursor::new(magic).chain(reader), offset: 0 }, found))
            }
            present => Err(CaptureFault::TruncatedHeader { present, needed: MAGIC_BYTES }),
        }
    }

    /// Bytes consumed so far.
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
            consumed.map_err(|error| CaptureFault::CannotRead { offset: self.offset, error })?;
        self.offset += consumed;
        Ok(consumed)
    }
}

/// The number at `at`.
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
