//! Memory ranges that a descriptor names, by operation [S 8.3]: the pages that may be made absent.

use crate::descriptor::Descriptor;
use crate::hardware::{DESCRIPTOR_BYTES, Opcode};

/// A range that a descriptor reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub address: u64,
    pub bytes: u64,
    pub is_write: bool,
}

fn read(address: u64, bytes: u64) -> Option<Range> {
    Some(Range { address, bytes, is_write: false })
}

fn written(address: u64, bytes: u64) -> Option<Range> {
    Some(Range { address, bytes, is_write: true })
}

/// The ranges of a descriptor, without the few bytes that protection information adds behind a destination.
pub(super) fn operands(descriptor: &Descriptor) -> [Option<Range>; 3] {
    let (first, second) = (descriptor.first(), descriptor.second());
    let bytes = u64::from(descriptor.size());
    match descriptor.opcode() {
        None | Some(Opcode::NoOp | Opcode::Drain) => [None; 3],
        Some(Opcode::Batch) => [read(first, bytes * DESCRIPTOR_BYTES as u64), None, None],
        Some(Opcode::Fill) => [written(second, bytes), None, None],
        Some(Opcode::CacheFlush) => [read(second, bytes), None, None],
        Some(Opcode::Compare) => [read(first, bytes), read(second, bytes), None],
        Some(
            Opcode::ComparePattern | Opcode::Crc | Opcode::DifCheck | Opcode::TranslationFetch,
        ) => [read(first, bytes), None, None],
        Some(Opcode::CreateDelta) => {
            let record = written(descriptor.delta_record(), descriptor.most_delta_bytes().into());
            [read(first, bytes), read(second, bytes), record]
        }
        Some(Opcode::ApplyDelta) => {
            [read(first, descriptor.delta_bytes().into()), written(second, bytes), None]
        }
        Some(Opcode::Dualcast) => {
            let also = written(descriptor.second_destination(), bytes);
            [read(first, bytes), written(second, bytes), also]
        }
        Some(Opcode::DixGenerate) => {
            let blocks = bytes / crate::operations::block_bytes(descriptor.dif_flags());
            let protection = crate::hardware::PROTECTION_BYTES * blocks;
            [read(first, bytes), written(second, protection), None]
        }
        Some(
            Opcode::Move
            | Opcode::CopyCrc
            | Opcode::DifInsert
            | Opcode::DifStrip
            | Opcode::DifUpdate,
        ) => [read(first, bytes), written(second, bytes), None],
    }
}
