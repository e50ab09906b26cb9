//! Overlap of the ranges of a descriptor [S 8.3].

use crate::descriptor::Descriptor;
use crate::hardware::{Opcode, PROTECTION_BYTES};
use crate::operations::block_bytes;

/// Whether ranges overlap that may not.
pub(super) fn is_forbidden(descriptor: &Descriptor, opcode: Opcode, allows_moves: bool) -> bool {
    let (first, second) = (descriptor.first(), descriptor.second());
    let size = u64::from(descriptor.size());
    let block = block_bytes(descriptor.dif_flags());
    let protected = block + PROTECTION_BYTES;
    match opcode {
        Opcode::Move => !allows_moves && overlap((first, size), (second, size)),
        Opcode::CopyCrc | Opcode::DifUpdate => overlap((first, size), (second, size)),
        Opcode::Dualcast => {
            let third = descriptor.second_destination();
            overlap((first, size), (second, size))
                || overlap((first, size), (third, size))
                || overlap((second, size), (third, size))
        }
        Opcode::CreateDelta => {
            let record = (descriptor.delta_record(), u64::from(descriptor.most_delta_bytes()));
            overlap((first, size), record) || overlap((second, size), record)
        }
        Opcode::ApplyDelta => overlap((first, u64::from(descriptor.delta_bytes())), (second, size)),
        Opcode::DifInsert => overlap((first, size), (second, size / block * protected)),
        Opcode::DifStrip => overlap((first, size), (second, size / protected * block)),
        Opcode::DixGenerate => overlap((first, size), (second, size / block * PROTECTION_BYTES)),
        _ => false,
    }
}

/// Whether two ranges, each an address and a length, have a byte in common.
fn overlap((first, length): (u64, u64), (second, other_length): (u64, u64)) -> bool {
    second.wrapping_sub(first) < length || first.wrapping_sub(second) < other_length
}
