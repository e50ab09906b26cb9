//! The frame of every pcapng block, checked before its content is held in memory.
//!
//! Models: block type, both lengths, and the byte order that each section chooses.
//! Source: draft-ietf-opsawg-pcapng, section 3.1.
//! Simplifies: blocks that hold neither packets nor what packets depend on are skipped.

use pcap_file::Endianness;
use pcap_file::pcapng::blocks::{
    ENHANCED_PACKET_BLOCK, INTERFACE_DESCRIPTION_BLOCK, PACKET_BLOCK, SECTION_HEADER_BLOCK,
    SIMPLE_PACKET_BLOCK,
};

use super::error::{CaptureFault, RecordPosition};
use super::input::{CaptureInput, u32_at};
use units::narrow::usize_from;

/// The largest packet with the longest options is well below this.
const MAX_BLOCK_BYTES: u32 = 1 << 20;
/// Type and length; the length is repeated at the end.
const HEAD_BYTES: u64 = 8;
const TRAILER_BYTES: u64 = 4;
/// A section header's length can be read only when its byte-order magic is known.
const SECTION_HEAD_BYTES: u64 = 12;

/// A block that was found; its bytes are in the reader if its kind is used.
pub(super) struct Framed {
    pub(super) kind: u32,
    pub(super) position: RecordPosition,
}

/// Reads the blocks of a pcapng file in order, and checks the frame of each: type and both lengths.
pub(super) struct BlockReader<'a, 'f> {
    input: &'a mut CaptureInput<'f>,
    endianness: Endianness,
    buffer: Vec<u8>,
}

impl<'a, 'f> BlockReader<'a, 'f> {
    pub(super) fn new(input: &'a mut CaptureInput<'f>) -> Self {
        Self { input, endianness: Endianness::Big, buffer: Vec::new() }
    }

    /// The current block without its type and both lengths; empty if its kind is skipped.
    pub(super) fn body(&self) -> &[u8] {
        let ends = usize_from(HEAD_BYTES)..self.buffer.len() - usize_from(TRAILER_BYTES);
        &self.buffer[ends]
    }

    /// The byte order of the current section.
    pub(super) fn endianness(&self) -> Endianness {
        self.endianness
    }

    /// The next block, `None` at the end of the file. `packet` is the number of a packet in it.
    pub(super) fn next_block(&mut self, packet: u64) -> Result<Option<Framed>, CaptureFault> {
        let mut position = RecordPosition { offset: self.input.offset(), packet: None };
        self.buffer.clear();
        if self.input.append(&mut self.buffer, HEAD_BYTES)? == 0 {
            return Ok(None);
        }
        self.require(HEAD_BYTES, position)?;
        let kind = u32_at(&self.buffer, 0, self.endianness);
        if matches!(kind, ENHANCED_PACKET_BLOCK | SIMPLE_PACKET_BLOCK | PACKET_BLOCK) {
            position.packet = Some(packet);
        }
        if kind == SECTION_HEADER_BLOCK {
            self.read_byte_order(position)?;
        }
        let block_bytes = self.block_bytes(position)?;
        if is_used(kind) {
            self.hold_body(block_bytes, position)?;
        } else {
            self.skip_body(block_bytes, position)?;
        }
        let repeated = u32_at(&self.buffer, self.buffer.len() - 4, self.endianness);
        if repeated != block_bytes {
            let problem = format!("its length is {block_bytes} in front and {repeated} at its end");
            return Err(CaptureFault::Malformed { position, problem });
        }
        Ok(Some(Framed { kind, position }))
    }

    fn read_byte_order(&mut self, position: RecordPosition) -> Result<(), CaptureFault> {
        self.input.append(&mut self.buffer, SECTION_HEAD_BYTES - HEAD_BYTES)?;
        self.require(SECTION_HEAD_BYTES, position)?;
        self.endianness = match u32_at(&self.buffer, 8, Endianness::Big) {
            0x1a2b_3c4d => Endianness::Big,
            0x4d3c_2b1a => Endianness::Little,
            other => {
                let problem = format!("{other:#010x} is not a byte-order magic");
                return Err(CaptureFault::Malformed { position, problem });
            }
        };
        Ok(())
    }

    fn block_bytes(&self, position: RecordPosition) -> Result<u32, CaptureFault> {
        let block_bytes = u32_at(&self.buffer, 4, self.endianness);
        let least_bytes = self.buffer.len() as u64 + TRAILER_BYTES;
        if u64::from(block_bytes) < least_bytes || !block_bytes.is_multiple_of(4) {
            let problem = format!(
                "its length of {block_bytes} is not a multiple of 4, or less than {least_bytes}"
            );
            return Err(CaptureFault::Malformed { position, problem });
        }
        Ok(block_bytes)
    }

    fn hold_body(
        &mut self,
        block_bytes: u32,
        position: RecordPosition,
    ) -> Result<(), CaptureFault> {
        if block_bytes > MAX_BLOCK_BYTES {
            let limit_bytes = MAX_BLOCK_BYTES;
            return Err(CaptureFault::OversizedBlock { position, block_bytes, limit_bytes });
        }
        let rest = u64::from(block_bytes) - self.buffer.len() as u64;
        self.input.append(&mut self.buffer, rest)?;
        self.require(block_bytes.into(), position)
    }

    fn skip_body(
        &mut self,
        block_bytes: u32,
        position: RecordPosition,
    ) -> Result<(), CaptureFault> {
        let needed = u64::from(block_bytes);
        let skipped = self.input.skip(needed - HEAD_BYTES - TRAILER_BYTES)?;
        let present = HEAD_BYTES + skipped + self.input.append(&mut self.buffer, TRAILER_BYTES)?;
        if present < needed {
            return Err(CaptureFault::TruncatedRecord { position, present, needed });
        }
        Ok(())
    }

    /// Refuses a block of which the file holds less than `needed` bytes.
    fn require(&self, needed: u64, position: RecordPosition) -> Result<(), CaptureFault> {
        let present = self.buffer.len() as u64;
        match (present < needed, position.offset) {
            (false, _) => Ok(()),
            (true, 0) => Err(CaptureFault::TruncatedHeader { present, needed }),
            (true, _) => Err(CaptureFault::TruncatedRecord { position, present, needed }),
        }
    }
}

fn is_used(kind: u32) -> bool {
    matches!(
        kind,
        SECTION_HEADER_BLOCK
            | INTERFACE_DESCRIPTION_BLOCK
            | ENHANCED_PACKET_BLOCK
            | SIMPLE_PACKET_BLOCK
            | PACKET_BLOCK
    )
}
