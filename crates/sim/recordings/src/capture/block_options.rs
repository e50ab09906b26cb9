//! The list of options at the end of a pcapng block.
//!
//! Source: draft-ietf-opsawg-pcapng, section 3.5.

use pcap_file::Endianness;

use super::input::u16_at;

/// Code and length of an option.
const OPTION_HEAD_BYTES: usize = 4;
const END_OF_OPTIONS: u16 = 0;

/// An option whose value would end behind its block.
pub(super) struct CutOff;

/// The options of a block: codes and values.
pub(super) struct BlockOptions<'a> {
    rest: &'a [u8],
    endianness: Endianness,
}

impl<'a> BlockOptions<'a> {
    pub(super) fn new(rest: &'a [u8], endianness: Endianness) -> Self {
        Self { rest, endianness }
    }

    pub(super) fn endianness(&self) -> Endianness {
        self.endianness
    }
}

impl<'a> Iterator for BlockOptions<'a> {
    type Item = Result<(u16, &'a [u8]), CutOff>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        if self.rest.len() < OPTION_HEAD_BYTES {
            self.rest = &[];
            return Some(Err(CutOff));
        }
        let code = u16_at(self.rest, 0, self.endianness);
        let bytes = usize::from(u16_at(self.rest, 2, self.endianness));
        if code == END_OF_OPTIONS {
            return None;
        }
        let after_head = &self.rest[OPTION_HEAD_BYTES..];
        let Some(value) = after_head.get(..bytes) else {
            self.rest = &[];
            return Some(Err(CutOff));
        };
        self.rest = after_head.get(bytes.next_multiple_of(4)..).unwrap_or_default();
        Some(Ok((code, value)))
    }
}
