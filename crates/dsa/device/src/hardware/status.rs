//! Status codes [S 5.8], results, and operands of faults.

/// The operation succeeded.
pub const SUCCESS: u8 = 0x01;
/// The operation succeeded, and the result was not the expected one.
pub const FALSE_PREDICATE: u8 = 0x02;
/// A page fault ended the operation, which is done in part.
pub const PAGE_FAULT: u8 = 0x03;
/// The request for a page was refused. The operation is done in part.
pub const PAGE_REQUEST_INVALID: u8 = 0x04;
/// A member of the batch did not end with success.
pub const BATCH_MEMBER_FAILED: u8 = 0x05;
/// The list of the batch is not present.
pub const BATCH_LIST_FAULT: u8 = 0x06;
/// Offsets of a delta record do not increase.
pub const DELTA_NOT_INCREASING: u8 = 0x07;
/// An offset of a delta record is beyond the destination.
pub const DELTA_BEYOND: u8 = 0x08;
/// Protection information is wrong.
pub const DIF_ERROR: u8 = 0x09;
/// The operation is not supported here.
pub const BAD_OPCODE: u8 = 0x10;
/// A flag is reserved or missing.
pub const BAD_FLAGS: u8 = 0x11;
/// A reserved field is not zero.
pub const RESERVED_FIELD: u8 = 0x12;
/// The transfer size is zero or too large.
pub const BAD_SIZE: u8 = 0x13;
/// The number of descriptors of a batch is too small or too large.
pub const BAD_COUNT: u8 = 0x14;
/// The size of a delta record is too small or too large.
pub const BAD_DELTA_SIZE: u8 = 0x15;
/// Ranges of the descriptor overlap that may not.
pub const OVERLAP: u8 = 0x16;
/// The destinations of a dualcast differ in bits 11:0.
pub const DUALCAST_ALIGNMENT: u8 = 0x17;
/// The list of a batch is not aligned to 64 bytes.
pub const LIST_ALIGNMENT: u8 = 0x18;
/// The interrupt handle is not valid.
pub const BAD_INTERRUPT: u8 = 0x19;
/// The completion record is not present.
pub const RECORD_FAULT: u8 = 0x1a;
/// The completion record is not aligned to 32 bytes.
pub const RECORD_ALIGNMENT: u8 = 0x1b;
/// An address or size is not aligned.
pub const MISALIGNED: u8 = 0x1c;
/// The descriptor may not be privileged.
pub const BAD_PRIVILEGE: u8 = 0x1d;
/// The traffic class is not configured.
pub const BAD_TRAFFIC_CLASS: u8 = 0x1e;
/// A readback address of a drain is not present.
pub const READBACK_FAULT: u8 = 0x1f;
/// Hardware error on a read.
pub const HARDWARE_READ: u8 = 0x20;
/// Hardware error on a write.
pub const HARDWARE_WRITE: u8 = 0x21;
/// Hardware error on a translation.
pub const HARDWARE_TRANSLATION: u8 = 0x22;
/// The record of a batch waits behind one of a member (only in the event log).
pub const BATCH_HELD: u8 = 0x27;
/// A dedicated queue was full (only in the software error register).
pub const QUEUE_OVERFLOW: u8 = 0x53;
/// An event could not be logged (only in the software error register).
pub const LOG_FULL: u8 = 0x54;

/// Bit of a status code: the access that faulted was a write.
pub const FAULT_ON_WRITE: u8 = 1 << 7;

/// The operand whose access faulted, as in the fault information of a record (GENCAP 12) [S 8.2].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FaultOperand {
    /// Source, first source, list, record to apply, first readback address.
    First = 1,
    /// Second source, seed of a CRC, second readback address.
    Second = 2,
    /// Destination, first destination, record to create.
    Destination = 3,
    /// Second destination.
    SecondDestination = 4,
    /// Completion record.
    Record = 5,
}

/// Describes a status code in words, for messages. Bit 7 is ignored.
#[must_use]
pub fn describe(status: u8) -> &'static str {
    match status & !FAULT_ON_WRITE {
        SUCCESS => "success",
        FALSE_PREDICATE => "success, but the result is not the expected one",
        PAGE_FAULT => "a page is not present: done in part",
        PAGE_REQUEST_INVALID => "the system refused a page: done in part",
        BATCH_MEMBER_FAILED => "a member of the batch did not end with success",
        BATCH_LIST_FAULT => "the list of the batch is not present",
        DELTA_NOT_INCREASING => "offsets of the delta record do not increase",
        DELTA_BEYOND => "an offset of the delta record is beyond the destination",
        DIF_ERROR => "protection information is wrong",
        BAD_OPCODE => "the operation is not supported by the device or the queue",
        BAD_FLAGS => "a flag is reserved for this operation, or a required one is missing",
        RESERVED_FIELD => "a reserved field is not zero",
        BAD_SIZE => "the transfer size is zero or above the maximum",
        BAD_COUNT => "the number of descriptors is below the minimum or above the maximum",
        BAD_DELTA_SIZE => "the size of the delta record is out of range",
        OVERLAP => "ranges overlap",
        DUALCAST_ALIGNMENT => "the destinations differ in bits 11:0",
        LIST_ALIGNMENT => "the list is not aligned to 64 bytes",
        BAD_INTERRUPT => "the interrupt handle is not valid",
        RECORD_FAULT => "the completion record is not present",
        RECORD_ALIGNMENT => "the completion record is not aligned to 32 bytes",
        MISALIGNED => "an address or size is not aligned",
        BAD_PRIVILEGE => "the descriptor may not be privileged",
        BAD_TRAFFIC_CLASS => "the traffic class is not configured",
        READBACK_FAULT => "a readback address is not present",
        HARDWARE_READ => "hardware error on a read",
        HARDWARE_WRITE => "hardware error on a write",
        HARDWARE_TRANSLATION => "hardware error on a translation",
        BATCH_HELD => "the record of the batch waits behind that of a member",
        QUEUE_OVERFLOW => "the dedicated queue was full",
        LOG_FULL => "the event log was full",
        _ => "a status that the specification does not name",
    }
}
