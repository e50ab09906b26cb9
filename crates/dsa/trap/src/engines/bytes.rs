//! Bytes that a descriptor transfers, those of the members of a batch included.

use crate::descriptor_log::data_bytes;
use dsa::descriptor::Descriptor;
use dsa::hardware::{DESCRIPTOR_BYTES, Opcode};

/// Most members of a batch that a device takes [GENCAP 24:21].
const MOST_MEMBERS: u32 = 1 << 15;

/// Bytes that a descriptor transfers. Counts the members of a batch until there are more than `most`, and up
/// to the end of the memory of its list. It allocates nothing.
pub fn transfer_bytes(descriptor: &Descriptor, most: u64) -> u64 {
    if descriptor.opcode() != Some(Opcode::Batch) {
        return data_bytes(descriptor);
    }
    let mut bytes = 0_u64;
    for number in 0..u64::from(descriptor.size().min(MOST_MEMBERS)) {
        let address = descriptor.first().wrapping_add(number * DESCRIPTOR_BYTES as u64);
        let Some(member) = dsa::memory::load(address).map(Descriptor) else { break };
        bytes += data_bytes(&member);
        if bytes > most {
            break;
        }
    }
    bytes
}
