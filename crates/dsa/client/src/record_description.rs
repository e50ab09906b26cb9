//! Completion records in sentences: the error, and the field of the descriptor at fault.

use dsa::checks::reserved_bytes;
use dsa::descriptor::Descriptor;
use dsa::hardware::{Opcode, PRIVILEGED, RESERVED_PASID_BITS, flags, status};
use dsa::record::Record;

/// Limits of a queue, for sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes that a descriptor may transfer.
    pub most_transfer_bytes: u64,
    /// Most descriptors that a batch may have.
    pub most_batch: u32,
}

/// Names of flags by bit [dsa contract 3].
const FLAGS: [(u32, &str); 20] = [
    (flags::FENCE, "fence"),
    (flags::BLOCK_ON_FAULT, "block on fault"),
    (flags::RECORD_ADDRESS_VALID, "completion record address valid"),
    (flags::REQUEST_RECORD, "request completion record"),
    (flags::REQUEST_INTERRUPT, "request completion interrupt"),
    (flags::CACHE_CONTROL_3, "cache control 3"),
    (1 << 6, "reserved"),
    (flags::CHECK_RESULT, "check result"),
    (flags::CACHE_CONTROL_1, "cache control 1"),
    (flags::TRAFFIC_CLASS_1, "traffic class of address 1"),
    (flags::TRAFFIC_CLASS_2, "traffic class of address 2"),
    (flags::TRAFFIC_CLASS_3, "traffic class of address 3"),
    (flags::TRAFFIC_CLASS_RECORD, "traffic class of the record"),
    (flags::STRICT_ORDERING, "strict ordering"),
    (flags::CACHE_CONTROL_2, "cache control 2"),
    (1 << 15, "reserved"),
    (1 << 16, "the operation's own, 16"),
    (1 << 17, "the operation's own, 17"),
    (1 << 18, "the operation's own, 18"),
    (1 << 19, "the operation's own, 19"),
];

/// Describes a completion record in words: operation, status, and the field of the descriptor at fault with
/// its value.
#[must_use]
pub fn describe(descriptor: &Descriptor, record: &Record, limits: Limits) -> String {
    let name = descriptor.opcode().map_or("unknown operation", Opcode::name);
    let code = record.status() & !status::FAULT_ON_WRITE;
    let field = field(descriptor, record, limits, code).unwrap_or_default();
    format!("{name}: status {code:#04x}, {}{field}", status::describe(record.status()))
}

/// The field at fault, and its value, in words.
fn field(descriptor: &Descriptor, record: &Record, limits: Limits, code: u8) -> Option<String> {
    let (first, second) = (descriptor.first(), descriptor.second());
    let size = descriptor.size();
    Some(match code {
        status::BAD_OPCODE => format!(" (operation code {:#04x}, byte 7)", descriptor.code()),
        status::BAD_FLAGS => format!(" ({})", flag_names(descriptor, record.invalid_flags())),
        status::RESERVED_FIELD => {
            format!(" (bytes {} have to be 0)", nonzero(descriptor))
        }
        status::BAD_SIZE => format!(
            " (transfer size {size}, bytes 32 to 35; 1 to {} are allowed, in whole blocks)",
            limits.most_transfer_bytes
        ),
        status::BAD_COUNT => {
            format!(" ({size} descriptors, bytes 32 to 35; 2 to {} are allowed)", limits.most_batch)
        }
        status::BAD_DELTA_SIZE if descriptor.opcode() == Some(Opcode::ApplyDelta) => {
            format!(" ({} bytes, bytes 40 to 43; at least 10)", descriptor.delta_bytes())
        }
        status::BAD_DELTA_SIZE => {
            format!(" ({} bytes, bytes 48 to 51; at least 80)", descriptor.most_delta_bytes())
        }
        status::OVERLAP => format!(" (of {size} bytes at {first:#x} and {second:#x})"),
        status::DUALCAST_ALIGNMENT => {
            format!(" (destinations {second:#x} and {:#x})", descriptor.second_destination())
        }
        status::LIST_ALIGNMENT => format!(" (list at {first:#x}, bytes 16 to 23)"),
        status::BAD_INTERRUPT => format!(" (handle {}, bytes 36, 37)", descriptor.interrupt()),
        status::RECORD_ALIGNMENT => {
            format!(" (record at {:#x}, bytes 8 to 15)", descriptor.record())
        }
        status::MISALIGNED => {
            format!(" (of {first:#x}, {second:#x}, size {size}; multiples of 8 are needed)")
        }
        status::BAD_PRIVILEGE => " (bit 31 of bytes 0 to 3)".to_owned(),
        status::PAGE_FAULT | status::PAGE_REQUEST_INVALID | status::BATCH_LIST_FAULT => {
            let how = if record.status() & status::FAULT_ON_WRITE != 0 { "write" } else { "read" };
            format!(" ({how} of {:#x}, {} bytes done)", record.fault_address(), record.completed())
        }
        status::DIF_ERROR => {
            format!(" ({}, behind {} bytes)", dif_names(record.result()), record.completed())
        }
        status::DELTA_NOT_INCREASING | status::DELTA_BEYOND => {
            format!(" (entry at byte {} of the record)", record.completed())
        }
        _ => return None,
    })
}

fn flag_names(descriptor: &Descriptor, invalid: u32) -> String {
    let named = FLAGS.iter().filter(|(bit, _)| invalid & bit != 0).map(|(bit, name)| {
        let what = if descriptor.has(*bit) { "is set and reserved" } else { "is missing" };
        format!("flag {} ({name}) {what}", bit.trailing_zeros())
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() { "the record names no flag".to_owned() } else { named.join(", ") }
}

/// The bytes that are reserved and not zero.
fn nonzero(descriptor: &Descriptor) -> String {
    let pasid = descriptor.pasid_word() & (RESERVED_PASID_BITS | PRIVILEGED) != 0;
    let own = reserved_bytes(descriptor).into_iter().map(|at| at.to_string());
    let all = pasid.then(|| "0 to 3".to_owned()).into_iter().chain(own);
    all.collect::<Vec<_>>().join(", ")
}

/// The names of the checks that failed by a DIF status, with commas between them.
#[must_use]
pub fn dif_names(dif_status: u8) -> String {
    let names = [(1, "guard"), (2, "application tag"), (4, "reference tag"), (8, "all ones")];
    let wrong = names.iter().filter(|(bit, _)| dif_status & bit != 0).map(|(_, name)| *name);
    wrong.collect::<Vec<_>>().join(", ")
}
