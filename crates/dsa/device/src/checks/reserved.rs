//! Reserved bytes of a descriptor: bytes that its operation does not use have to be zero [S 5.5, table 5-5].

use crate::descriptor::Descriptor;
use crate::hardware::{DESCRIPTOR_BYTES, Opcode, flags};

/// Words of a descriptor.
const WORDS: usize = DESCRIPTOR_BYTES / 8;
/// Bits of a descriptor.
type Mask = [u64; WORDS];

/// Whether all reserved bytes are zero.
pub(super) fn are_zero(descriptor: &Descriptor, opcode: Opcode) -> bool {
    let mask = unused_bytes(opcode);
    let set = descriptor.0.chunks_exact(8).zip(mask).fold(0, |set, (bytes, mask)| {
        let mut word = [0; 8];
        word.copy_from_slice(bytes);
        set | u64::from_le_bytes(word) & mask
    });
    let unless = |flag, field: u64| if descriptor.has(flag) { 0 } else { field };
    let common = unless(flags::RECORD_ADDRESS_VALID, descriptor.record())
        | unless(flags::REQUEST_INTERRUPT, descriptor.interrupt().into());
    set | common | without_flag(descriptor, opcode) | dif_flags(descriptor, opcode) == 0
}

/// Mask of the bytes that an operation never uses.
fn unused_bytes(opcode: Opcode) -> &'static Mask {
    /// A mask of ranges of bytes, each from its first byte to the one behind its last; bytes 38 and 39
    /// are reserved for all.
    const fn mask(ranges: &[(usize, usize)]) -> Mask {
        let mut mask = [0; WORDS];
        let mut number = 0;
        while number <= ranges.len() {
            let (mut byte, end) = if number < ranges.len() { ranges[number] } else { (38, 40) };
            while byte < end {
                mask[byte / 8] |= 0xff << (byte % 8 * 8);
                byte += 1;
            }
            number += 1;
        }
        mask
    }
    macro_rules! reserved {
        ($($from:literal..$to:literal)*) => { const { &mask(&[$(($from, $to)),*]) } };
    }
    match opcode {
        Opcode::NoOp => reserved!(16..36 40..64),
        Opcode::Batch => reserved!(24..32 40..64),
        Opcode::Drain => reserved!(32..36 40..64),
        Opcode::Move => reserved!(40..64),
        Opcode::Fill | Opcode::Dualcast => reserved!(48..64),
        Opcode::Compare | Opcode::ComparePattern => reserved!(41..64),
        Opcode::CreateDelta => reserved!(52..56 57..64),
        Opcode::ApplyDelta => reserved!(44..64),
        Opcode::TranslationFetch => reserved!(24..32 40..48 52..64),
        Opcode::Crc => reserved!(24..32 56..64),
        Opcode::CopyCrc => reserved!(56..64),
        Opcode::DifCheck => reserved!(24..32 41..42 43..48 56..64),
        Opcode::DifInsert | Opcode::DixGenerate => reserved!(40..41 43..56),
        Opcode::DifStrip => reserved!(41..42 43..48 56..64),
        Opcode::DifUpdate => reserved!(43..48),
        Opcode::CacheFlush => reserved!(16..24 40..64),
    }
}

/// Bits set in fields that the operation uses only with a flag, or only without one.
fn without_flag(descriptor: &Descriptor, opcode: Opcode) -> u64 {
    let unless = |flag, field: u64| if descriptor.has(flag) { 0 } else { field };
    match opcode {
        Opcode::Drain => {
            unless(flags::READBACK_1, descriptor.first())
                | unless(flags::READBACK_2, descriptor.second())
        }
        Opcode::Fill => unless(flags::PATTERN_16, descriptor.pattern_high()),
        Opcode::TranslationFetch => unless(flags::USE_STRIDE, descriptor.stride().into()),
        Opcode::Crc | Opcode::CopyCrc => {
            let upper_half = descriptor.crc_seed_64() >> 32;
            let seed = if descriptor.has(flags::CRC_SEED_IN_MEMORY) {
                descriptor.crc_seed().into()
            } else {
                descriptor.crc_seed_address()
            };
            seed | unless(flags::CRC_64, upper_half)
        }
        _ => 0,
    }
}

/// Bits set in the DIF flags that have no meaning for the operation.
fn dif_flags(descriptor: &Descriptor, opcode: Opcode) -> u64 {
    let (flags, destination) = match opcode {
        Opcode::DifCheck | Opcode::DifStrip => (0xf0, 0),
        Opcode::DifInsert | Opcode::DifUpdate | Opcode::DixGenerate => (0xf0, 0b111),
        _ => (0, 0),
    };
    let destination = descriptor.dif_destination_flags() & destination;
    u64::from(descriptor.dif_flags() & flags | destination)
}
