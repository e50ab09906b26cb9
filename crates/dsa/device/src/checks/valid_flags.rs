//! Flags that an operation allows, and flags that it needs [S 5.5, tables 5-3 to 5-5].

use super::{CheckRules, Membership};
use crate::descriptor::Descriptor;
use crate::hardware::capabilities::gencap;
use crate::hardware::{Opcode, flags};

/// Cache control of destinations, all bits of it.
const CACHE_CONTROL: u32 = flags::CACHE_CONTROL_1 | flags::CACHE_CONTROL_2 | flags::CACHE_CONTROL_3;
/// Flags that every operation allows.
const COMMON: u32 = flags::RECORD_ADDRESS_VALID
    | flags::REQUEST_RECORD
    | flags::REQUEST_INTERRUPT
    | flags::TRAFFIC_CLASS_RECORD;
const RECORD: u32 = flags::RECORD_ADDRESS_VALID | flags::REQUEST_RECORD;

/// Flags that are set though reserved, or missing though needed.
pub(super) fn find_invalid(rules: &CheckRules<'_>, descriptor: &Descriptor, opcode: Opcode) -> u32 {
    let set = descriptor.flags();
    set & !allowed(rules, descriptor, opcode) | needed(descriptor, opcode) & !set
}

fn allowed(rules: &CheckRules<'_>, descriptor: &Descriptor, opcode: Opcode) -> u32 {
    let in_batch = if rules.membership == Membership::Queue { 0 } else { flags::FENCE };
    let mut allowed = COMMON | in_batch | operation_flags(descriptor, opcode);
    if !descriptor.has(flags::RECORD_ADDRESS_VALID) {
        allowed &= !(flags::REQUEST_RECORD | flags::TRAFFIC_CLASS_RECORD);
    }
    if !rules.queue.user_interrupts && !rules.is_privileged(descriptor) {
        allowed &= !flags::REQUEST_INTERRUPT;
    }
    if !rules.queue.block_on_fault {
        allowed &= !flags::BLOCK_ON_FAULT;
    }
    let flag_of = |bit, flags| if rules.capabilities.has(bit) { 0 } else { flags };
    let cache_1 = match opcode {
        Opcode::CacheFlush => gencap::FLUSH_CONTROL,
        _ => gencap::CACHE_CONTROL,
    };
    allowed
        & !flag_of(gencap::BLOCK_ON_FAULT, flags::BLOCK_ON_FAULT)
        & !flag_of(cache_1, flags::CACHE_CONTROL_1)
        & !flag_of(gencap::READBACK, flags::CACHE_CONTROL_2)
        & !flag_of(gencap::DURABLE, flags::CACHE_CONTROL_3)
        & !own_flags_missing(opcode, flag_of)
}

/// Flags of an operation that need a capability which the device does not have.
fn own_flags_missing(opcode: Opcode, flag_of: impl Fn(u64, u32) -> u32) -> u32 {
    match opcode {
        Opcode::Batch => flag_of(gencap::BATCH_CONTINUATION, flags::BATCH_ERROR),
        Opcode::Drain => flag_of(gencap::DRAIN_READBACK, flags::READBACK_1 | flags::READBACK_2),
        Opcode::Fill => flag_of(gencap::FILL_16, flags::PATTERN_16),
        Opcode::Crc | Opcode::CopyCrc => flag_of(gencap::CRC_64, flags::CRC_64),
        Opcode::TranslationFetch => flag_of(gencap::FETCH_STRIDE, flags::USE_STRIDE),
        _ => 0,
    }
}

const DRAIN_READBACK: u32 =
    flags::READBACK_1 | flags::READBACK_2 | flags::NO_READBACK_A | flags::NO_READBACK_B;
const CRC: u32 = flags::CRC_SEED_IN_MEMORY
    | flags::CRC_BYPASS_INVERSION
    | flags::CRC_BYPASS_REFLECTION
    | flags::CRC_64;

/// Flags that the tables allow for an operation, beside [`COMMON`].
fn operation_flags(descriptor: &Descriptor, opcode: Opcode) -> u32 {
    const FAULTS: u32 = flags::BLOCK_ON_FAULT;
    const WRITES: u32 = CACHE_CONTROL | flags::STRICT_ORDERING;
    const FIRST: u32 = flags::TRAFFIC_CLASS_1;
    const SECOND: u32 = flags::TRAFFIC_CLASS_2;
    const THIRD: u32 = flags::TRAFFIC_CLASS_3;
    let seed_class = if descriptor.has(flags::CRC_SEED_IN_MEMORY) { THIRD } else { 0 };
    match opcode {
        Opcode::NoOp => 0,
        Opcode::Batch => FIRST | flags::BATCH_ERROR,
        Opcode::Drain => {
            let first = if descriptor.has(flags::READBACK_1) { FIRST } else { 0 };
            let second = if descriptor.has(flags::READBACK_2) { SECOND } else { 0 };
            DRAIN_READBACK | first | second
        }
        Opcode::Move | Opcode::ApplyDelta => FAULTS | WRITES | FIRST | SECOND,
        Opcode::Fill => FAULTS | WRITES | SECOND | flags::PATTERN_16,
        Opcode::Compare => FAULTS | flags::CHECK_RESULT | FIRST | SECOND,
        Opcode::ComparePattern => FAULTS | flags::CHECK_RESULT | FIRST,
        Opcode::CreateDelta => FAULTS | flags::CHECK_RESULT | WRITES | FIRST | SECOND | THIRD,
        Opcode::Dualcast => FAULTS | WRITES | FIRST | SECOND | THIRD,
        Opcode::TranslationFetch => FAULTS | flags::USE_STRIDE,
        Opcode::Crc => FAULTS | FIRST | seed_class | CRC,
        Opcode::CopyCrc => FAULTS | WRITES | FIRST | SECOND | seed_class | CRC,
        Opcode::DifCheck => FAULTS | FIRST,
        Opcode::DifInsert | Opcode::DifStrip | Opcode::DifUpdate | Opcode::DixGenerate => {
            FAULTS | WRITES | FIRST | SECOND
        }
        // Write back, and write back without invalidation.
        Opcode::CacheFlush => {
            FAULTS
                | flags::CACHE_CONTROL_1
                | flags::CACHE_CONTROL_2
                | flags::STRICT_ORDERING
                | SECOND
        }
    }
}

/// Flags of which a drain needs one: its submitter has to learn of its end.
const END: u32 = flags::REQUEST_RECORD | flags::REQUEST_INTERRUPT;

fn needed(descriptor: &Descriptor, opcode: Opcode) -> u32 {
    match opcode {
        Opcode::Compare
        | Opcode::ComparePattern
        | Opcode::CreateDelta
        | Opcode::Crc
        | Opcode::CopyCrc
        | Opcode::DifCheck
        | Opcode::DixGenerate => RECORD,
        Opcode::Drain if descriptor.flags() & END == 0 => END,
        _ => 0,
    }
}
