//! Each status in a sentence that names the field at fault.

use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::engine::SoftwareEngine;
use dsa::hardware::capabilities::Capabilities;
use dsa::hardware::{Opcode, flags};
use dsa::record::Record;
use dsa_client::record_description::{Limits, describe};

const PART: Capabilities = Capabilities::VERSION_1;

/// The answer of the engine to a descriptor, in words.
fn said(descriptor: Descriptor) -> String {
    let queue =
        QueueLimits { most_transfer_bytes: 1 << 20, most_batch: 32, ..QueueLimits::of(&PART) };
    let mut slot = Record::default();
    let recording = descriptor.recording((&raw mut slot) as u64);
    // SAFETY: the descriptors of these tests are refused, or name memory of their own.
    let record = unsafe { SoftwareEngine::new(PART) }.execute(&recording, &queue).record();
    describe(&recording, &record, Limits { most_transfer_bytes: 1 << 20, most_batch: 32 })
}

#[test]
fn refusals_name_the_field_and_what_is_allowed() {
    let memory = [0_u64; 64];
    let at = memory.as_ptr() as u64;
    let copy = Descriptor::of(Opcode::Move).with_first(at).with_second(at).with_size(8);
    let with = |flags| copy.with_flags(copy.flags() | flags);
    let mut reserved = copy;
    reserved.0[45] = 1;
    let delta = Descriptor::of(Opcode::CreateDelta).with_first(at).with_second(at).with_size(16);
    let list = Descriptor::of(Opcode::Batch).with_first(at & !63);
    for (descriptor, words) in [
        (
            copy.with_code(0x7f),
            "unknown operation: status 0x10, the operation is not supported by \
          the device or the queue (operation code 0x7f, byte 7)",
        ),
        (with(1 << 6), "flag 6 (reserved) is set and reserved"),
        (with(flags::FENCE), "flag 0 (fence) is set and reserved"),
        (
            reserved,
            "memory move: status 0x12, a reserved field is not zero (bytes 45 have to be 0)",
        ),
        (copy.with_size(0), "(transfer size 0, bytes 32 to 35; 1 to 1048576 are allowed"),
        (
            list.with_size(33),
            "batch: status 0x14, the number of descriptors is below the minimum or \
          above the maximum (33 descriptors, bytes 32 to 35; 2 to 32 are allowed)",
        ),
        (list.with_size(2).with_first(at | 8), "not aligned to 64 bytes (list at 0x"),
        (delta.with_most_delta_bytes(70), "(70 bytes, bytes 48 to 51; at least 80)"),
        (delta.with_most_delta_bytes(80).with_size(12), "multiples of 8 are needed"),
        (
            Descriptor::of(Opcode::Dualcast)
                .with_first(at)
                .with_second(4096)
                .with_second_destination(8191)
                .with_size(8),
            "the destinations differ in bits 11:0 (destinations 0x1000 and 0x1fff)",
        ),
        (
            Descriptor::of(Opcode::CopyCrc).with_first(at).with_second(at + 4).with_size(8),
            "copy with CRC generation: status 0x16, ranges overlap (of 8 bytes at 0x",
        ),
        (copy.with_first(0x1000), "(read of 0x1000, 0 bytes done)"),
        (copy.with_second(0x2000), "(write of 0x2000, 0 bytes done)"),
    ] {
        let said = said(descriptor);
        assert!(said.contains(words), "{said}\n{words}");
    }
}
