//! The contract of a data streaming accelerator, executed slowly: the judge of the engine.
//!
//! Written from `design/dsa.md` alone; "section n" is a section of it. Everything is done byte by byte and
//! bit by bit. One descriptor runs at a time, members of a batch in list order, and no page request service
//! exists that could make a page present. Addresses are 64 bits wide.
//!
//! `OPEN:` marks a place that the contract leaves open, with the reading chosen here.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

const PAGE_BYTES: u64 = 4096;

/// Access to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Reads and writes succeed.
    ReadWrite,
    /// Reads succeed, writes fault.
    ReadOnly,
    /// Reads and writes fault.
    None,
}

/// Memory in pages of 4 KiB; an absent page is not mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The key is the address divided by 4096.
    pages: BTreeMap<u64, (Rights, Box<[u8; 4096]>)>,
}

impl Memory {
    /// Maps whole pages: `address` is page-aligned, the length of `bytes` a multiple of 4096.
    pub fn map(&mut self, address: u64, rights: Rights, bytes: &[u8]) {
        assert!(address.is_multiple_of(PAGE_BYTES), "address {address:#x} is not page-aligned");
        assert!(
            bytes.len().is_multiple_of(PAGE_BYTES as usize),
            "{} bytes are not whole pages",
            bytes.len()
        );
        for (index, content) in bytes.chunks(PAGE_BYTES as usize).enumerate() {
            let mut page = Box::new([0; 4096]);
            page.copy_from_slice(content);
            self.pages.insert(address / PAGE_BYTES + index as u64, (rights, page));
        }
    }

    /// The byte at `address`, or None for a fault.
    pub fn read(&self, address: u64) -> Option<u8> {
        let (rights, page) = self.pages.get(&(address / PAGE_BYTES))?;
        match rights {
            Rights::ReadWrite | Rights::ReadOnly => Some(page[(address % PAGE_BYTES) as usize]),
            Rights::None => None,
        }
    }

    /// Stores a byte; false is a fault and nothing is stored.
    pub fn write(&mut self, address: u64, byte: u8) -> bool {
        match self.pages.get_mut(&(address / PAGE_BYTES)) {
            Some((Rights::ReadWrite, page)) => {
                page[(address % PAGE_BYTES) as usize] = byte;
                true
            }
            _ => false,
        }
    }

    /// The page of an address, whatever its rights, for comparisons.
    ///
    /// # Panics
    /// If it is not mapped.
    pub fn page(&self, address: u64) -> &[u8; 4096] {
        &self.pages[&(address / 4096)].1
    }

    fn is_writable(&self, address: u64) -> bool {
        matches!(self.pages.get(&(address / PAGE_BYTES)), Some((Rights::ReadWrite, _)))
    }
}

/// Limits of the device and the queue.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The GENCAP register (section 14).
    pub gen_cap: u64,
    /// Word 0 of OPCAP: bit n is opcode n.
    pub op_cap: u64,
    /// The queue's block-on-fault enable.
    pub block_on_fault: bool,
    /// The queue's maximum transfer size.
    pub max_transfer_bytes: u64,
    /// The queue's maximum descriptor count.
    pub max_batch: u32,
    /// Whether user descriptors may request a completion interrupt.
    pub user_interrupts: bool,
    /// Handles 0 up to this number, exclusive, are valid.
    pub interrupt_handles: u16,
    /// Whether Priv = 1 is allowed.
    pub privileged: bool,
}

impl Settings {
    fn has(&self, gen_cap_bit: u32) -> bool {
        self.gen_cap >> gen_cap_bit & 1 == 1
    }
}

/// Result of a descriptor that software can see, apart from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A record was written.
    Record,
    /// It ended without a record (success and none requested).
    Silent,
    /// Its error went to the software error register or the event log: code.
    Logged(u8),
}

/// Executes a descriptor (also a batch, whose members run in list order) and writes its record and those of
/// members.
pub fn execute(memory: &mut Memory, descriptor: &[u8; 64], settings: &Settings) -> Outcome {
    let descriptor = Descriptor { bytes: *descriptor };
    let privileged = descriptor.is_privileged();
    run(memory, &Call { descriptor, settings, member: false, privileged }).0
}

// Section 1: the descriptor.

#[derive(Clone, Copy)]
struct Descriptor {
    bytes: [u8; 64],
}

impl Descriptor {
    fn little_endian(&self, offset: usize, length: usize) -> u64 {
        let mut value = 0;
        for index in 0..length {
            value |= u64::from(self.bytes[offset + index]) << (8 * index);
        }
        value
    }

    fn u8(&self, offset: usize) -> u8 {
        self.bytes[offset]
    }

    fn u16(&self, offset: usize) -> u16 {
        self.little_endian(offset, 2) as u16
    }

    fn u32(&self, offset: usize) -> u32 {
        self.little_endian(offset, 4) as u32
    }

    fn u64(&self, offset: usize) -> u64 {
        self.little_endian(offset, 8)
    }

    fn is_privileged(&self) -> bool {
        self.u32(0) >> 31 == 1
    }

    fn flags(&self) -> u32 {
        self.little_endian(4, 3) as u32
    }

    fn has(&self, flag: u32) -> bool {
        self.flags() >> flag & 1 == 1
    }

    fn completion_address(&self) -> u64 {
        self.u64(8)
    }

    /// Source, source 1, descriptor list, readback 1, delta record of apply, address of translation fetch.
    fn address_1(&self) -> u64 {
        self.u64(16)
    }

    /// Destination, source 2, readback 2, destination 1.
    fn address_2(&self) -> u64 {
        self.u64(24)
    }

    /// Transfer size, descriptor count, region size.
    fn size(&self) -> u32 {
        self.u32(32)
    }
}

/// A descriptor on its way: what it says and where it came from.
struct Call<'a> {
    descriptor: Descriptor,
    settings: &'a Settings,
    member: bool,
    /// Priv of the descriptor, or of the batch around it (section 10).
    privileged: bool,
}

// Section 2: opcodes.

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    NoOp,
    Batch,
    Drain,
    Move,
    Fill,
    Compare,
    ComparePattern,
    CreateDelta,
    ApplyDelta,
    Dualcast,
    TranslationFetch,
    Crc,
    CopyCrc,
    DifCheck,
    DifInsert,
    DifStrip,
    DifUpdate,
    DixGenerate,
    CacheFlush,
}

use Operation::*;

/// None is status 0x10.
fn operation(call: &Call) -> Option<Operation> {
    let opcode = call.descriptor.u8(7);
    if opcode >= 64 || call.settings.op_cap >> opcode & 1 == 0 {
        return None;
    }
    // OPEN: an opcode of version 3 or of the inter-domain set is 0x10 even where OPCAP names it.
    // OPEN: ATS is taken to be on, so translation fetch needs nothing but its bit in OPCAP.
    let operation = match opcode {
        0x00 => NoOp,
        0x01 => Batch,
        0x02 => Drain,
        0x03 => Move,
        0x04 => Fill,
        0x05 => Compare,
        0x06 => ComparePattern,
        0x07 => CreateDelta,
        0x08 => ApplyDelta,
        0x09 => Dualcast,
        0x0A => TranslationFetch,
        0x10 => Crc,
        0x11 => CopyCrc,
        0x12 => DifCheck,
        0x13 => DifInsert,
        0x14 => DifStrip,
        0x15 => DifUpdate,
        0x17 => DixGenerate,
        0x20 => CacheFlush,
        _ => return None,
    };
    if call.member && matches!(operation, Batch | Drain) {
        return None;
    }
    Some(operation)
}

// Section 3: flags.

const FENCE: u32 = 0;
const BLOCK_ON_FAULT: u32 = 1;
const RECORD_ADDRESS_VALID: u32 = 2;
const REQUEST_RECORD: u32 = 3;
const REQUEST_INTERRUPT: u32 = 4;
const CACHE_CONTROL_3: u32 = 5;
const CHECK_RESULT: u32 = 7;
const CACHE_CONTROL_1: u32 = 8;
const TC_ADDRESS_1: u32 = 9;
const TC_ADDRESS_2: u32 = 10;
const TC_ADDRESS_3: u32 = 11;
const TC_RECORD: u32 = 12;
const STRICT_ORDERING: u32 = 13;
const CACHE_CONTROL_2: u32 = 14;

const BATCH_ERROR: u32 = 16;
const READBACK_1: u32 = 16;
const READBACK_2: u32 = 17;
const SUPPRESS_READBACK_A: u32 = 18;
const SUPPRESS_READBACK_B: u32 = 19;
const PATTERN_16: u32 = 18;
const SEED_FROM_MEMORY: u32 = 16;
const BYPASS_SEED_REFLECTION: u32 = 17;
const BYPASS_DATA_REFLECTION: u32 = 18;
const CRC_64: u32 = 19;
const USE_STRIDE: u32 = 16;

// Section 3.1: validity by operation.

/// The row of the table, and the operation-specific flags of section 3.
fn flags_of(operation: Operation, descriptor: &Descriptor) -> Vec<u32> {
    let cache_control = [CACHE_CONTROL_1, CACHE_CONTROL_2, CACHE_CONTROL_3];
    let mut flags = match operation {
        NoOp => vec![],
        Batch => vec![TC_ADDRESS_1, BATCH_ERROR],
        Drain => vec![READBACK_1, READBACK_2, SUPPRESS_READBACK_A, SUPPRESS_READBACK_B],
        Move | ApplyDelta => vec![BLOCK_ON_FAULT, STRICT_ORDERING, TC_ADDRESS_1, TC_ADDRESS_2],
        Fill => vec![BLOCK_ON_FAULT, STRICT_ORDERING, TC_ADDRESS_2, PATTERN_16],
        Compare => vec![BLOCK_ON_FAULT, CHECK_RESULT, TC_ADDRESS_1, TC_ADDRESS_2],
        ComparePattern => vec![BLOCK_ON_FAULT, CHECK_RESULT, TC_ADDRESS_1],
        CreateDelta => {
            vec![
                BLOCK_ON_FAULT,
                CHECK_RESULT,
                STRICT_ORDERING,
                TC_ADDRESS_1,
                TC_ADDRESS_2,
                TC_ADDRESS_3,
            ]
        }
        Dualcast => vec![BLOCK_ON_FAULT, STRICT_ORDERING, TC_ADDRESS_1, TC_ADDRESS_2, TC_ADDRESS_3],
        TranslationFetch => vec![BLOCK_ON_FAULT, USE_STRIDE],
        Crc => vec![BLOCK_ON_FAULT, TC_ADDRESS_1],
        CopyCrc => vec![BLOCK_ON_FAULT, STRICT_ORDERING, TC_ADDRESS_1, TC_ADDRESS_2],
        DifCheck => vec![BLOCK_ON_FAULT, TC_ADDRESS_1],
        DifInsert | DifStrip | DifUpdate | DixGenerate => {
            vec![BLOCK_ON_FAULT, STRICT_ORDERING, TC_ADDRESS_1, TC_ADDRESS_2]
        }
        CacheFlush => {
            vec![BLOCK_ON_FAULT, CACHE_CONTROL_1, CACHE_CONTROL_2, STRICT_ORDERING, TC_ADDRESS_2]
        }
    };
    match operation {
        Move | Fill | CreateDelta | ApplyDelta | Dualcast => flags.extend(cache_control),
        CopyCrc | DifInsert | DifStrip | DifUpdate | DixGenerate => flags.extend(cache_control),
        _ => {}
    }
    if matches!(operation, Crc | CopyCrc) {
        flags.extend([SEED_FROM_MEMORY, BYPASS_SEED_REFLECTION, BYPASS_DATA_REFLECTION, CRC_64]);
        if descriptor.has(SEED_FROM_MEMORY) {
            flags.push(TC_ADDRESS_3);
        }
    }
    // OPEN: a readback flag that is itself refused still makes its TC selector valid.
    if operation == Drain && descriptor.has(READBACK_1) {
        flags.push(TC_ADDRESS_1);
    }
    if operation == Drain && descriptor.has(READBACK_2) {
        flags.push(TC_ADDRESS_2);
    }
    flags.extend([FENCE, RECORD_ADDRESS_VALID, REQUEST_RECORD, REQUEST_INTERRUPT, TC_RECORD]);
    flags
}

/// The conditions under which a flag of `flags_of` is valid (sections 3, 3.1 "Conditional", 9).
fn condition_holds(operation: Operation, flag: u32, call: &Call) -> bool {
    let settings = call.settings;
    match (operation, flag) {
        (_, FENCE) => call.member,
        (_, BLOCK_ON_FAULT) => settings.block_on_fault && settings.has(0),
        (_, REQUEST_RECORD | TC_RECORD) => call.descriptor.has(RECORD_ADDRESS_VALID),
        // OPEN: the queue is taken to use PASID, as every user queue does.
        (_, REQUEST_INTERRUPT) => settings.user_interrupts || call.privileged,
        // OPEN: with GENCAP 3 flag 8 is valid for a flush beside 000 and 010, also together with flag 14, and
        // whatever GENCAP 2 is.
        (CacheFlush, CACHE_CONTROL_1) => settings.has(3),
        (_, CACHE_CONTROL_1) => settings.has(2),
        (_, CACHE_CONTROL_2) => settings.has(8),
        // OPEN: the version is not known here; flag 5 is valid exactly when GENCAP 5 is 1, which is 0 on v1.
        // The reserved encodings 101 and 111 are not detected (section 9).
        (_, CACHE_CONTROL_3) => settings.has(5),
        (Batch, BATCH_ERROR) => settings.has(15),
        // OPEN: the suppression flags 18 and 19 of drain depend on no capability.
        (Drain, READBACK_1 | READBACK_2) => settings.has(9),
        (Fill, PATTERN_16) => settings.has(10),
        (Crc | CopyCrc, CRC_64) => settings.has(11),
        (TranslationFetch, USE_STRIDE) => settings.has(7),
        _ => true,
    }
}

fn required_and_missing_flags(operation: Operation, descriptor: &Descriptor) -> u32 {
    let has_record = descriptor.has(REQUEST_RECORD);
    match operation {
        // OPEN: either flag would do, so both are named.
        Drain if !has_record && !descriptor.has(REQUEST_INTERRUPT) => {
            1 << REQUEST_RECORD | 1 << REQUEST_INTERRUPT
        }
        Compare | ComparePattern | CreateDelta | Crc | CopyCrc | DifCheck | DixGenerate => {
            let mut missing = 0;
            if !descriptor.has(RECORD_ADDRESS_VALID) {
                missing |= 1 << RECORD_ADDRESS_VALID;
            }
            if !has_record {
                missing |= 1 << REQUEST_RECORD;
            }
            missing
        }
        _ => 0,
    }
}

/// All offending bits: reserved ones that are set, required ones that are missing. Zero is no error.
fn invalid_flags(operation: Operation, call: &Call) -> u32 {
    let descriptor = &call.descriptor;
    let listed = flags_of(operation, descriptor);
    let mut invalid = required_and_missing_flags(operation, descriptor);
    for flag in 0..24 {
        let allowed = listed.contains(&flag) && condition_holds(operation, flag, call);
        if descriptor.has(flag) && !allowed {
            invalid |= 1 << flag;
        }
    }
    invalid
}

/// The column "reserved bytes" of the table, and the conditions below it.
fn reserved_bytes(operation: Operation, descriptor: &Descriptor) -> Vec<RangeInclusive<usize>> {
    let mut reserved = match operation {
        NoOp => vec![16..=35, 38..=63],
        Batch => vec![24..=31, 38..=63],
        Drain => vec![32..=35, 38..=63],
        Move => vec![38..=63],
        Fill => vec![38..=39, 48..=63],
        // OPEN: bits 7:1 of the expected result are not checked, nor bits 7:3 of the mask of create delta;
        // the table starts at byte 41 and leaves out byte 56.
        Compare | ComparePattern => vec![38..=39, 41..=63],
        CreateDelta => vec![38..=39, 52..=55, 57..=63],
        ApplyDelta => vec![38..=39, 44..=63],
        Dualcast => vec![38..=39, 48..=63],
        TranslationFetch => vec![24..=31, 38..=47, 52..=63],
        Crc => vec![24..=31, 38..=39, 56..=63],
        CopyCrc => vec![38..=39, 56..=63],
        DifCheck => vec![24..=31, 38..=39, 41..=41, 43..=47, 56..=63],
        DifInsert | DixGenerate => vec![38..=39, 40..=40, 43..=55],
        DifStrip => vec![38..=39, 41..=41, 43..=47, 56..=63],
        DifUpdate => vec![38..=39, 43..=47],
        CacheFlush => vec![16..=23, 38..=63],
    };
    let unless = |flag: u32| !descriptor.has(flag);
    match operation {
        Drain if unless(READBACK_1) => reserved.push(16..=23),
        Fill if unless(PATTERN_16) => reserved.push(40..=47),
        TranslationFetch if unless(USE_STRIDE) => reserved.push(48..=51),
        Crc | CopyCrc if unless(SEED_FROM_MEMORY) => reserved.push(48..=55),
        Crc | CopyCrc => reserved.push(40..=43),
        _ => {}
    }
    if operation == Drain && unless(READBACK_2) {
        reserved.push(24..=31);
    }
    // OPEN: with a 64-bit seed from memory only 40-43 are reserved, as the table says, and 44-47 are not.
    if matches!(operation, Crc | CopyCrc) && unless(CRC_64) {
        reserved.push(44..=47);
    }
    if unless(REQUEST_INTERRUPT) {
        reserved.push(36..=37);
    }
    if unless(RECORD_ADDRESS_VALID) {
        reserved.push(8..=15);
    }
    reserved
}

fn reserved_field_is_set(operation: Operation, call: &Call) -> bool {
    let descriptor = &call.descriptor;
    for range in reserved_bytes(operation, descriptor) {
        for offset in range {
            if descriptor.u8(offset) != 0 {
                return true;
            }
        }
    }
    // OPEN: the queue is taken to be shared, so bits 30:20 of the first word are checked, except in a member.
    if !call.member && descriptor.u32(0) >> 20 & 0x7FF != 0 {
        return true;
    }
    // OPEN: "an implementation may not check": the reserved DIF bits are checked.
    let is_dif = matches!(operation, DifCheck | DifInsert | DifStrip | DifUpdate | DixGenerate);
    let has_destination_flags = matches!(operation, DifInsert | DifUpdate | DixGenerate);
    is_dif && descriptor.u8(42) & 0xF0 != 0
        || has_destination_flags && descriptor.u8(41) & 0x07 != 0
}

// Section 4: the completion record.

/// A completion record before it is written. What the contract does not define for a status stays 0.
#[derive(Clone, Copy, Default)]
struct Completion {
    status: u8,
    result: u8,
    fault_info: u8,
    completed: u32,
    fault_address: u64,
    /// Bytes 16-31.
    specific: [u8; 16],
}

impl Completion {
    fn with_status(status: u8) -> Completion {
        Completion { status, ..Completion::default() }
    }

    fn code(&self) -> u8 {
        self.status & 0x3F
    }

    /// Stores a little-endian field at its offset in the record.
    fn put(&mut self, offset: usize, length: usize, value: u64) {
        for index in 0..length {
            self.specific[offset - 16 + index] = (value >> (8 * index)) as u8;
        }
    }

    fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[0] = self.status;
        bytes[1] = self.result;
        bytes[2] = self.fault_info;
        for index in 0..4 {
            bytes[4 + index] = (self.completed >> (8 * index)) as u8;
        }
        for index in 0..8 {
            bytes[8 + index] = (self.fault_address >> (8 * index)) as u8;
        }
        bytes[16..].copy_from_slice(&self.specific);
        bytes
    }
}

/// The record is 32 B aligned, so one page holds it.
fn record_is_writable(memory: &Memory, descriptor: &Descriptor) -> bool {
    memory.is_writable(descriptor.completion_address())
}

/// Reports the end of a descriptor: into its record, into the log or nowhere (sections 4 and 5).
fn report(memory: &mut Memory, descriptor: &Descriptor, completion: Completion) -> Outcome {
    let code = completion.code();
    // OPEN: the code that is logged is bits 5:0; the log keeps the write bit apart (section 12).
    if matches!(code, COMPLETION_FAULT | COMPLETION_MISALIGNED | PRIVILEGE) {
        return Outcome::Logged(code);
    }
    // OPEN: with CRAV = 0 the statuses 1, 2 and 5 are no errors to be logged, as they need no record either.
    let needs_no_record = matches!(code, SUCCESS | FALSE_PREDICATE | BATCH_MEMBER_FAILED);
    if needs_no_record && !(descriptor.has(RECORD_ADDRESS_VALID) && descriptor.has(REQUEST_RECORD))
    {
        return Outcome::Silent;
    }
    if !descriptor.has(RECORD_ADDRESS_VALID) {
        return Outcome::Logged(code);
    }
    // OPEN: if the record of another error cannot be written, the code logged is 0x1A, not that error's.
    if !record_is_writable(memory, descriptor) {
        return Outcome::Logged(COMPLETION_FAULT);
    }
    let bytes = completion.to_bytes();
    for offset in (0..32).rev() {
        memory.write(descriptor.completion_address() + offset as u64, bytes[offset]);
    }
    Outcome::Record
}

// Section 5: status codes and the order of the checks.

const SUCCESS: u8 = 0x01;
const FALSE_PREDICATE: u8 = 0x02;
const PAGE_FAULT: u8 = 0x03;
const PAGE_REQUEST_REFUSED: u8 = 0x04;
const BATCH_MEMBER_FAILED: u8 = 0x05;
const LIST_FAULT: u8 = 0x06;
const DELTA_NOT_INCREASING: u8 = 0x07;
const DELTA_OUT_OF_RANGE: u8 = 0x08;
const DIF_ERROR: u8 = 0x09;
const OPCODE: u8 = 0x10;
const FLAGS: u8 = 0x11;
const RESERVED_FIELD: u8 = 0x12;
const SIZE: u8 = 0x13;
const COUNT: u8 = 0x14;
const DELTA_SIZE: u8 = 0x15;
const OVERLAP: u8 = 0x16;
const DUALCAST_OFFSETS: u8 = 0x17;
const LIST_MISALIGNED: u8 = 0x18;
const INTERRUPT_HANDLE: u8 = 0x19;
const COMPLETION_FAULT: u8 = 0x1A;
const COMPLETION_MISALIGNED: u8 = 0x1B;
const MISALIGNED: u8 = 0x1C;
const PRIVILEGE: u8 = 0x1D;
const READBACK_FAULT: u8 = 0x1F;
const WRITE_ACCESS: u8 = 0x80;

/// Runs a descriptor and reports its end; the second value is true if it ended with status 1.
fn run(memory: &mut Memory, call: &Call) -> (Outcome, bool) {
    let completion = match check(memory, call) {
        Ok(operation) => perform(memory, call, operation),
        Err(completion) => completion,
    };
    let outcome = report(memory, &call.descriptor, completion);
    (outcome, completion.code() == SUCCESS)
}

/// The fixed order: 0x1B, 0x10, 0x11, 0x12, 0x1D, 0x13/0x14, 0x15, 0x18/0x1C, 0x17, 0x16, 0x19, 0x1E, 0x1A.
fn check(memory: &Memory, call: &Call) -> Result<Operation, Completion> {
    let descriptor = &call.descriptor;
    let refuse_if =
        |wrong: bool, code: u8| if wrong { Err(Completion::with_status(code)) } else { Ok(()) };
    // OPEN: with CRAV = 0 bytes 8-15 are no address, only reserved (0x12), so 0x1B needs CRAV = 1.
    let has_record = descriptor.has(RECORD_ADDRESS_VALID);
    refuse_if(
        has_record && !descriptor.completion_address().is_multiple_of(32),
        COMPLETION_MISALIGNED,
    )?;
    let Some(operation) = operation(call) else { return Err(Completion::with_status(OPCODE)) };
    let invalid = invalid_flags(operation, call);
    if invalid != 0 {
        let mut completion = Completion::with_status(FLAGS);
        completion.put(16, 3, u64::from(invalid));
        return Err(completion);
    }
    refuse_if(reserved_field_is_set(operation, call), RESERVED_FIELD)?;
    refuse_if(!call.member && descriptor.is_privileged() && !call.settings.privileged, PRIVILEGE)?;
    if operation == Batch {
        refuse_if(count_is_wrong(call), COUNT)?;
    } else {
        refuse_if(size_is_wrong(operation, call), SIZE)?;
    }
    refuse_if(delta_size_is_wrong(operation, call), DELTA_SIZE)?;
    refuse_if(operation == Batch && !descriptor.address_1().is_multiple_of(64), LIST_MISALIGNED)?;
    refuse_if(is_misaligned(operation, descriptor), MISALIGNED)?;
    refuse_if(operation == Dualcast && dualcast_offsets_differ(descriptor), DUALCAST_OFFSETS)?;
    refuse_if(overlaps(operation, call), OVERLAP)?;
    let handle_is_wrong = descriptor.u16(36) >= call.settings.interrupt_handles;
    refuse_if(descriptor.has(REQUEST_INTERRUPT) && handle_is_wrong, INTERRUPT_HANDLE)?;
    // 0x1E cannot happen: every traffic class is taken to be usable.
    // OPEN: 0x1A is a check before the operation when RCR = 1, so that nothing is done then. With RCR = 0 the
    // address is first used when an error must be recorded (`report`).
    let writes_record = has_record && descriptor.has(REQUEST_RECORD);
    refuse_if(writes_record && !record_is_writable(memory, descriptor), COMPLETION_FAULT)?;
    Ok(operation)
}

fn count_is_wrong(call: &Call) -> bool {
    let count = call.descriptor.size();
    count == 0 || count > call.settings.max_batch || count == 1 && !call.settings.has(52)
}

fn size_is_wrong(operation: Operation, call: &Call) -> bool {
    if matches!(operation, NoOp | Drain) {
        return false;
    }
    // OPEN: the queue's maximum holds also for the region of translation fetch and for cache flush.
    let size = u64::from(call.descriptor.size());
    if size == 0 || size > call.settings.max_transfer_bytes {
        return true;
    }
    match operation {
        // OPEN: "delta size" is the transfer size, of create and of apply.
        CreateDelta | ApplyDelta => size > 512 * 1024,
        DifCheck | DifInsert | DifStrip | DifUpdate | DixGenerate => {
            !size.is_multiple_of(source_unit_bytes(operation, &call.descriptor))
        }
        _ => false,
    }
}

fn delta_size_is_wrong(operation: Operation, call: &Call) -> bool {
    match operation {
        CreateDelta => {
            let maximum = u64::from(call.descriptor.u32(48));
            maximum < 80 || maximum > call.settings.max_transfer_bytes
        }
        ApplyDelta => {
            let record_bytes = u64::from(call.descriptor.u32(40));
            record_bytes < 10 || record_bytes > call.settings.max_transfer_bytes
        }
        _ => false,
    }
}

fn is_misaligned(operation: Operation, descriptor: &Descriptor) -> bool {
    let off_eight = |value: u64| !value.is_multiple_of(8);
    let address_1 = descriptor.address_1();
    let address_2 = descriptor.address_2();
    let size = u64::from(descriptor.size());
    match operation {
        CreateDelta => {
            off_eight(address_1)
                || off_eight(address_2)
                || off_eight(descriptor.u64(40))
                || off_eight(size)
        }
        // OPEN: the record of apply is free: a continuation advances it by multiples of 10 (section 6).
        ApplyDelta => off_eight(address_2) || off_eight(size),
        Crc | CopyCrc if descriptor.has(SEED_FROM_MEMORY) => {
            let seed_bytes = if descriptor.has(CRC_64) { 8 } else { 4 };
            !descriptor.u64(48).is_multiple_of(seed_bytes)
        }
        DixGenerate => off_eight(address_2),
        TranslationFetch if descriptor.has(USE_STRIDE) => {
            let stride = descriptor.u32(48);
            stride < 4096 || stride.count_ones() != 1
        }
        _ => false,
    }
}

fn dualcast_offsets_differ(descriptor: &Descriptor) -> bool {
    descriptor.address_2() & 0xFFF != descriptor.u64(40) & 0xFFF
}

/// Section 6, last line.
fn overlaps(operation: Operation, call: &Call) -> bool {
    let descriptor = &call.descriptor;
    let size = u64::from(descriptor.size());
    let one = (descriptor.address_1(), size);
    let two = (descriptor.address_2(), size);
    match operation {
        Move => !call.settings.has(1) && share_a_byte(one, two),
        // OPEN: a seed in memory may overlap the destination; it is read before anything is written.
        CopyCrc => share_a_byte(one, two),
        Dualcast => {
            let three = (descriptor.u64(40), size);
            share_a_byte(one, two) || share_a_byte(one, three) || share_a_byte(two, three)
        }
        CreateDelta => {
            let record = (descriptor.u64(40), u64::from(descriptor.u32(48)));
            share_a_byte(one, record) || share_a_byte(two, record)
        }
        ApplyDelta => share_a_byte((descriptor.address_1(), u64::from(descriptor.u32(40))), two),
        DifInsert | DifStrip | DifUpdate | DixGenerate => {
            let blocks = size / source_unit_bytes(operation, descriptor);
            let written = blocks * destination_unit_bytes(operation, descriptor);
            share_a_byte(one, (descriptor.address_2(), written))
        }
        _ => false,
    }
}

/// Of two ranges, each an address and a length that is not 0. Ranges may wrap around the address space.
fn share_a_byte(a: (u64, u64), b: (u64, u64)) -> bool {
    b.0.wrapping_sub(a.0) < a.1 || a.0.wrapping_sub(b.0) < b.1
}

// Section 11: faults.

/// The operands that fault info names (section 4).
const SOURCE: u8 = 1;
const SOURCE_2: u8 = 2;
const SEED: u8 = 2;
const DESTINATION: u8 = 3;
const DESTINATION_2: u8 = 4;

/// The access that failed.
struct Fault {
    address: u64,
    operand: u8,
    write: bool,
}

// OPEN: an address range that passes 2^64 continues at 0.
fn read_byte(memory: &Memory, base: u64, offset: u64, operand: u8) -> Result<u8, Fault> {
    let address = base.wrapping_add(offset);
    memory.read(address).ok_or(Fault { address, operand, write: false })
}

fn can_write(memory: &Memory, base: u64, offset: u64, operand: u8) -> Result<(), Fault> {
    let address = base.wrapping_add(offset);
    if memory.is_writable(address) { Ok(()) } else { Err(Fault { address, operand, write: true }) }
}

fn write_byte(
    memory: &mut Memory,
    base: u64,
    offset: u64,
    byte: u8,
    operand: u8,
) -> Result<(), Fault> {
    can_write(memory, base, offset, operand)?;
    memory.write(base.wrapping_add(offset), byte);
    Ok(())
}

fn read_unit(
    memory: &Memory,
    base: u64,
    offset: u64,
    length: u64,
    operand: u8,
) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    for index in 0..length {
        bytes.push(read_byte(memory, base, offset + index, operand)?);
    }
    Ok(bytes)
}

// OPEN: a unit (an entry of a delta record, a block of DIF) is written whole or, if any byte of it would
// fault, not at all.
fn write_unit(
    memory: &mut Memory,
    base: u64,
    offset: u64,
    bytes: &[u8],
    operand: u8,
) -> Result<(), Fault> {
    for index in 0..bytes.len() as u64 {
        can_write(memory, base, offset + index, operand)?;
    }
    for (index, byte) in bytes.iter().enumerate() {
        write_byte(memory, base, offset + index as u64, *byte, operand)?;
    }
    Ok(())
}

fn faulted(call: &Call, code: u8, fault: &Fault, completed: u32) -> Completion {
    let mut completion = Completion::with_status(code);
    if fault.write {
        completion.status |= WRITE_ACCESS;
    }
    // OPEN: the fault address is the start of the page, so "address masked" is 1.
    if call.settings.has(12) {
        completion.fault_info = fault.operand << 1 | 1;
    }
    completion.fault_address = fault.address / PAGE_BYTES * PAGE_BYTES;
    completion.completed = completed;
    completion
}

/// Partial completion: no page request service answers, so BOF = 1 ends with "refused".
// OPEN: BOF decides so for the seed of a CRC as well.
fn partial(call: &Call, fault: &Fault, completed: u64) -> Completion {
    let blocks = call.descriptor.has(BLOCK_ON_FAULT);
    let code = if blocks { PAGE_REQUEST_REFUSED } else { PAGE_FAULT };
    faulted(call, code, fault, completed as u32)
}

// Section 6: the operations.

fn perform(memory: &mut Memory, call: &Call, operation: Operation) -> Completion {
    match operation {
        NoOp => Completion::with_status(SUCCESS),
        Batch => batch(memory, call),
        Drain => drain(memory, call),
        Move => copy(memory, call),
        Fill => fill(memory, call),
        Compare => compare(memory, call),
        ComparePattern => compare_pattern(memory, call),
        CreateDelta => create_delta(memory, call),
        ApplyDelta => apply_delta(memory, call),
        Dualcast => dualcast(memory, call),
        TranslationFetch => translation_fetch(memory, call),
        Crc | CopyCrc => crc(memory, call, operation == CopyCrc),
        DifCheck | DifInsert | DifStrip | DifUpdate | DixGenerate => dif(memory, call, operation),
        CacheFlush => cache_flush(memory, call),
    }
}

/// Move. It runs backward exactly when the source is below the destination and reaches into it.
fn copy(memory: &mut Memory, call: &Call) -> Completion {
    let (source, destination) = (call.descriptor.address_1(), call.descriptor.address_2());
    let size = u64::from(call.descriptor.size());
    let backward = source < destination && destination - source < size;
    for done in 0..size {
        let offset = if backward { size - 1 - done } else { done };
        if let Err(fault) = copy_byte(memory, source, destination, offset) {
            let mut completion = partial(call, &fault, done);
            completion.result = u8::from(backward);
            return completion;
        }
    }
    Completion::with_status(SUCCESS)
}

fn copy_byte(memory: &mut Memory, source: u64, destination: u64, offset: u64) -> Result<u8, Fault> {
    let byte = read_byte(memory, source, offset, SOURCE)?;
    write_byte(memory, destination, offset, byte, DESTINATION)?;
    Ok(byte)
}

fn fill(memory: &mut Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let pattern_bytes = if descriptor.has(PATTERN_16) { 16 } else { 8 };
    for offset in 0..u64::from(descriptor.size()) {
        let position = (offset % pattern_bytes) as usize;
        let byte = if position < 8 {
            descriptor.u8(16 + position)
        } else {
            descriptor.u8(40 + position - 8)
        };
        if let Err(fault) = write_byte(memory, descriptor.address_2(), offset, byte, DESTINATION) {
            return partial(call, &fault, offset);
        }
    }
    Completion::with_status(SUCCESS)
}

fn compare(memory: &Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    for offset in 0..u64::from(descriptor.size()) {
        let first = read_byte(memory, descriptor.address_1(), offset, SOURCE);
        let second = read_byte(memory, descriptor.address_2(), offset, SOURCE_2);
        match (first, second) {
            (Err(fault), _) | (Ok(_), Err(fault)) => return partial(call, &fault, offset),
            (Ok(first), Ok(second)) if first != second => {
                return compared(descriptor, Some(offset));
            }
            _ => {}
        }
    }
    compared(descriptor, None)
}

fn compare_pattern(memory: &Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    for offset in 0..u64::from(descriptor.size()) {
        let expected = descriptor.u8(24 + (offset % 8) as usize);
        match read_byte(memory, descriptor.address_1(), offset, SOURCE) {
            Err(fault) => return partial(call, &fault, offset),
            Ok(byte) if byte != expected => return compared(descriptor, Some(offset)),
            Ok(_) => {}
        }
    }
    compared(descriptor, None)
}

/// The end of both comparisons.
fn compared(descriptor: &Descriptor, difference: Option<u64>) -> Completion {
    let mut completion = Completion::with_status(SUCCESS);
    if let Some(offset) = difference {
        completion.result = 1;
        completion.completed = offset as u32;
    }
    let expected = descriptor.u8(40) & 1;
    if descriptor.has(CHECK_RESULT) && completion.result != expected {
        completion.status = FALSE_PREDICATE;
    }
    completion
}

fn create_delta(memory: &mut Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let (record, maximum_bytes) = (descriptor.u64(40), u64::from(descriptor.u32(48)));
    let mut record_bytes = 0;
    let mut completion = Completion::with_status(SUCCESS);
    for offset in (0..u64::from(descriptor.size())).step_by(8) {
        let entry = match delta_entry(memory, descriptor, offset) {
            Ok(entry) => entry,
            Err(fault) => return partial_delta(call, &fault, offset, record_bytes),
        };
        let Some(entry) = entry else { continue };
        if record_bytes + 10 > maximum_bytes {
            completion.result = 2;
            // OPEN: "compared so far" leaves out the delta that did not fit, as a partial completion does.
            completion.completed = offset as u32;
            break;
        }
        if let Err(fault) = write_unit(memory, record, record_bytes, &entry, DESTINATION) {
            return partial_delta(call, &fault, offset, record_bytes);
        }
        record_bytes += 10;
        completion.result = 1;
    }
    completion.put(16, 4, record_bytes);
    if descriptor.has(CHECK_RESULT) && descriptor.u8(56) >> completion.result & 1 == 0 {
        completion.status = FALSE_PREDICATE;
    }
    completion
}

/// The entry for the unit at `offset`, or None where the sources are equal.
fn delta_entry(
    memory: &Memory,
    descriptor: &Descriptor,
    offset: u64,
) -> Result<Option<Vec<u8>>, Fault> {
    let first = read_unit(memory, descriptor.address_1(), offset, 8, SOURCE)?;
    let second = read_unit(memory, descriptor.address_2(), offset, 8, SOURCE_2)?;
    if first == second {
        return Ok(None);
    }
    let index = offset / 8;
    let mut entry = vec![(index & 0xFF) as u8, (index >> 8) as u8];
    entry.extend(second);
    Ok(Some(entry))
}

fn partial_delta(call: &Call, fault: &Fault, compared_bytes: u64, record_bytes: u64) -> Completion {
    let mut completion = partial(call, fault, compared_bytes);
    completion.result = u8::from(record_bytes > 0);
    completion.put(16, 4, record_bytes);
    completion
}

fn apply_delta(memory: &mut Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let mut previous = None;
    // A tail of less than one entry is ignored.
    for entry_index in 0..u64::from(descriptor.u32(40)) / 10 {
        let applied = 10 * entry_index;
        let entry = match read_unit(memory, descriptor.address_1(), applied, 10, SOURCE) {
            Ok(entry) => entry,
            Err(fault) => return partial(call, &fault, applied),
        };
        let offset = 8 * (u64::from(entry[0]) | u64::from(entry[1]) << 8);
        // OPEN: an entry that is both not increasing and out of range is reported as 7.
        let wrong = if previous.is_some_and(|previous| offset <= previous) {
            Some(DELTA_NOT_INCREASING)
        } else if offset >= u64::from(descriptor.size()) {
            Some(DELTA_OUT_OF_RANGE)
        } else {
            None
        };
        if let Some(code) = wrong {
            return Completion { completed: applied as u32, ..Completion::with_status(code) };
        }
        if let Err(fault) =
            write_unit(memory, descriptor.address_2(), offset, &entry[2..], DESTINATION)
        {
            return partial(call, &fault, applied);
        }
        previous = Some(offset);
    }
    Completion::with_status(SUCCESS)
}

fn dualcast(memory: &mut Memory, call: &Call) -> Completion {
    for offset in 0..u64::from(call.descriptor.size()) {
        if let Err(fault) = dualcast_byte(memory, &call.descriptor, offset) {
            return partial(call, &fault, offset);
        }
    }
    Completion::with_status(SUCCESS)
}

/// Neither destination gets the byte if one of them is inaccessible.
fn dualcast_byte(memory: &mut Memory, descriptor: &Descriptor, offset: u64) -> Result<(), Fault> {
    let (destination_1, destination_2) = (descriptor.address_2(), descriptor.u64(40));
    let byte = read_byte(memory, descriptor.address_1(), offset, SOURCE)?;
    can_write(memory, destination_1, offset, DESTINATION)?;
    can_write(memory, destination_2, offset, DESTINATION_2)?;
    write_byte(memory, destination_1, offset, byte, DESTINATION)?;
    write_byte(memory, destination_2, offset, byte, DESTINATION_2)
}

/// Touches the page of the address and then one page per stride, as far as the region reaches.
// OPEN: steps start at the start of the page that holds the address, so that without a stride (4096) every
// page of the region is touched. A touch is a read. Bytes completed are undefined: 0.
fn translation_fetch(memory: &Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let stride =
        if descriptor.has(USE_STRIDE) { u64::from(descriptor.u32(48)) } else { PAGE_BYTES };
    let first_page = descriptor.address_1() / PAGE_BYTES * PAGE_BYTES;
    let region_end = descriptor.address_1() - first_page + u64::from(descriptor.size());
    let mut offset = 0;
    while offset < region_end {
        if let Err(fault) = read_byte(memory, first_page, offset, SOURCE) {
            return partial(call, &fault, 0);
        }
        offset += stride;
    }
    Completion::with_status(SUCCESS)
}

/// No data is read and nothing changes, but every page must be there.
// OPEN: a page without rights faults; a read-only one does not, and the access is not called a write.
fn cache_flush(memory: &Memory, call: &Call) -> Completion {
    for offset in 0..u64::from(call.descriptor.size()) {
        if let Err(fault) = read_byte(memory, call.descriptor.address_2(), offset, DESTINATION) {
            return partial(call, &fault, offset);
        }
    }
    Completion::with_status(SUCCESS)
}

// Section 7: CRC.

/// Shifts one byte, highest bit first, through a register of `width` bits.
fn shift_in(mut register: u64, byte: u8, polynomial: u64, width: u32) -> u64 {
    for position in (0..8).rev() {
        let data_bit = u64::from(byte >> position & 1);
        let top_bit = register >> (width - 1) & 1;
        register = register << 1 & all_ones(width);
        if data_bit != top_bit {
            register ^= polynomial;
        }
    }
    register
}

fn all_ones(width: u32) -> u64 {
    let mut ones = 0;
    for position in 0..width {
        ones |= 1 << position;
    }
    ones
}

fn bits_reversed(value: u64, width: u32) -> u64 {
    let mut reversed = 0;
    for position in 0..width {
        reversed |= (value >> position & 1) << (width - 1 - position);
    }
    reversed
}

/// A CRC under way, as flags 17, 18 and 19 want it.
struct Checksum {
    register: u64,
    polynomial: u64,
    width: u32,
    bypass_seed_reflection: bool,
    bypass_data_reflection: bool,
}

impl Checksum {
    fn new(descriptor: &Descriptor, seed: u64) -> Checksum {
        let (polynomial, width) =
            if descriptor.has(CRC_64) { (0xAD93_D235_94C9_3659, 64) } else { (0x1EDC_6F41, 32) };
        let bypass_seed_reflection = descriptor.has(BYPASS_SEED_REFLECTION);
        let inverted = !seed & all_ones(width);
        let register = if bypass_seed_reflection { seed } else { bits_reversed(inverted, width) };
        let bypass_data_reflection = descriptor.has(BYPASS_DATA_REFLECTION);
        Checksum { register, polynomial, width, bypass_seed_reflection, bypass_data_reflection }
    }

    fn add(&mut self, byte: u8) {
        let reversed = bits_reversed(u64::from(byte), 8) as u8;
        let byte = if self.bypass_data_reflection { byte } else { reversed };
        self.register = shift_in(self.register, byte, self.polynomial, self.width);
    }

    /// The result so far, which is also the seed of a continuation.
    fn value(&self) -> u64 {
        if self.bypass_seed_reflection {
            return self.register;
        }
        !bits_reversed(self.register, self.width) & all_ones(self.width)
    }
}

/// CRC, and copy with CRC.
fn crc(memory: &mut Memory, call: &Call, copies: bool) -> Completion {
    let descriptor = &call.descriptor;
    let (source, destination) = (descriptor.address_1(), descriptor.address_2());
    // OPEN: the seed is read before the first byte, so its fault is the one reported if both would fault.
    let mut checksum = match crc_seed(memory, descriptor) {
        Ok(seed) => Checksum::new(descriptor, seed),
        Err(fault) => return partial(call, &fault, 0),
    };
    for offset in 0..u64::from(descriptor.size()) {
        let byte = if copies {
            copy_byte(memory, source, destination, offset)
        } else {
            read_byte(memory, source, offset, SOURCE)
        };
        match byte {
            Ok(byte) => checksum.add(byte),
            Err(fault) => {
                let mut completion = partial(call, &fault, offset);
                // Undefined if nothing was done: the seed, so that who continues needs no other case.
                completion.put(16, 8, checksum.value());
                return completion;
            }
        }
    }
    let mut completion = Completion::with_status(SUCCESS);
    completion.put(16, 8, checksum.value());
    completion
}

fn crc_seed(memory: &Memory, descriptor: &Descriptor) -> Result<u64, Fault> {
    let length = if descriptor.has(CRC_64) { 8 } else { 4 };
    if !descriptor.has(SEED_FROM_MEMORY) {
        return Ok(descriptor.little_endian(40, length));
    }
    let mut seed = 0;
    for (index, byte) in
        read_unit(memory, descriptor.u64(48), 0, length as u64, SEED)?.iter().enumerate()
    {
        seed |= u64::from(*byte) << (8 * index);
    }
    Ok(seed)
}

// Section 8: DIF and DIX.

const PROTECTION_BYTES: u64 = 8;

fn block_bytes(descriptor: &Descriptor) -> u64 {
    match descriptor.u8(42) & 3 {
        0 => 512,
        1 => 520,
        2 => 4096,
        _ => 4104,
    }
}

/// Bytes of the source for one block.
fn source_unit_bytes(operation: Operation, descriptor: &Descriptor) -> u64 {
    match operation {
        DifInsert | DixGenerate => block_bytes(descriptor),
        _ => block_bytes(descriptor) + PROTECTION_BYTES,
    }
}

/// Bytes of the destination for one block.
fn destination_unit_bytes(operation: Operation, descriptor: &Descriptor) -> u64 {
    match operation {
        DifCheck => 0,
        DifStrip => block_bytes(descriptor),
        DixGenerate => PROTECTION_BYTES,
        _ => block_bytes(descriptor) + PROTECTION_BYTES,
    }
}

fn guard_of(data: &[u8], dif_flags: u8) -> u16 {
    let mut register = if bit(dif_flags, 2) { 0xFFFF } else { 0 };
    for byte in data {
        register = shift_in(register, *byte, 0x8BB7, 16);
    }
    let guard = register as u16;
    if bit(dif_flags, 3) { !guard } else { guard }
}

fn bit(flags: u8, number: u32) -> bool {
    flags >> number & 1 == 1
}

/// The eight bytes after a block.
#[derive(Clone, Copy)]
struct Protection {
    guard: u16,
    application: u16,
    reference: u32,
}

impl Protection {
    fn from_bytes(bytes: &[u8]) -> Protection {
        Protection {
            guard: u16::from(bytes[0]) << 8 | u16::from(bytes[1]),
            application: u16::from(bytes[2]) << 8 | u16::from(bytes[3]),
            reference: u32::from(bytes[4]) << 24
                | u32::from(bytes[5]) << 16
                | u32::from(bytes[6]) << 8
                | u32::from(bytes[7]),
        }
    }

    fn to_bytes(self) -> [u8; 8] {
        [
            (self.guard >> 8) as u8,
            self.guard as u8,
            (self.application >> 8) as u8,
            self.application as u8,
            (self.reference >> 24) as u8,
            (self.reference >> 16) as u8,
            (self.reference >> 8) as u8,
            self.reference as u8,
        ]
    }
}

/// The tags of one side: seeds, mask and the side's flags.
struct Tags {
    flags: u8,
    reference_seed: u32,
    mask: u16,
    application_seed: u16,
}

impl Tags {
    fn of_source(descriptor: &Descriptor) -> Tags {
        Tags {
            flags: descriptor.u8(40),
            reference_seed: descriptor.u32(48),
            mask: descriptor.u16(52),
            application_seed: descriptor.u16(54),
        }
    }

    fn of_destination(descriptor: &Descriptor) -> Tags {
        Tags {
            flags: descriptor.u8(41),
            reference_seed: descriptor.u32(56),
            mask: descriptor.u16(60),
            application_seed: descriptor.u16(62),
        }
    }

    fn reference(&self, block: u64) -> u32 {
        let fixed = bit(self.flags, 7);
        if fixed { self.reference_seed } else { self.reference_seed.wrapping_add(block as u32) }
    }

    /// Before masking.
    fn application(&self, block: u64) -> u16 {
        let incrementing = bit(self.flags, 4);
        if incrementing {
            self.application_seed.wrapping_add(block as u16)
        } else {
            self.application_seed
        }
    }

    /// Puts the tags that `block` would use into the record.
    // OPEN: the application tag is recorded before masking, as the seed of a continuation.
    fn put_into(&self, completion: &mut Completion, offset: usize, block: u64) {
        completion.put(offset, 4, u64::from(self.reference(block)));
        completion.put(offset + 4, 2, u64::from(self.mask));
        completion.put(offset + 6, 2, u64::from(self.application(block)));
    }
}

/// The DIF status of a source block: 1 guard, 2 application, 4 reference, 8 all bytes F; 0 is good.
// OPEN: where bits 1 and 0 make all bytes F an error, bits 2 and 3 do not excuse the block.
fn dif_status(data: &[u8], found: Protection, tags: &Tags, block: u64, dif_flags: u8) -> u8 {
    let application_f = found.application == 0xFFFF;
    let reference_f = found.reference == 0xFFFF_FFFF;
    let all_f = found.guard == 0xFFFF && application_f && reference_f;
    if all_f && bit(tags.flags, 1) && bit(tags.flags, 0) {
        return 8;
    }
    let excused = application_f && bit(tags.flags, 2)
        || application_f && reference_f && bit(tags.flags, 3)
        || all_f && bit(tags.flags, 1);
    if excused {
        return 0;
    }
    let mut status = 0;
    if !bit(tags.flags, 5) && found.guard != guard_of(data, dif_flags) {
        status |= 1;
    }
    if found.application & !tags.mask != tags.application(block) & !tags.mask {
        status |= 2;
    }
    if !bit(tags.flags, 6) && found.reference != tags.reference(block) {
        status |= 4;
    }
    status
}

/// The protection that insert and DIX generate, and update does where nothing is passed through.
fn generated(data: &[u8], tags: &Tags, block: u64, dif_flags: u8) -> Protection {
    Protection {
        guard: guard_of(data, dif_flags),
        application: tags.application(block) & !tags.mask,
        reference: tags.reference(block),
    }
}

/// The protection that update writes.
// OPEN: a tag that is passed through is not masked. A source block excused by an all-F escape gets new tags
// like any other.
fn updated(data: &[u8], found: Protection, tags: &Tags, block: u64, dif_flags: u8) -> Protection {
    let mut protection = generated(data, tags, block, dif_flags);
    if bit(tags.flags, 3) {
        protection.application = found.application;
    }
    if bit(tags.flags, 5) {
        protection.guard = found.guard;
    }
    if bit(tags.flags, 6) {
        protection.reference = found.reference;
    }
    protection
}

/// How one block ended badly.
enum BlockError {
    Fault(Fault),
    /// DIF status.
    Protection(u8),
}

/// All five operations, block by block.
fn dif(memory: &mut Memory, call: &Call, operation: Operation) -> Completion {
    let descriptor = &call.descriptor;
    let unit = source_unit_bytes(operation, descriptor);
    let blocks = u64::from(descriptor.size()) / unit;
    for block in 0..blocks {
        match dif_block(memory, descriptor, operation, block) {
            Ok(()) => {}
            Err(BlockError::Fault(fault)) => {
                let mut completion = partial(call, &fault, block * unit);
                put_next_tags(&mut completion, descriptor, operation, block);
                return completion;
            }
            // OPEN: the record of a DIF error holds no tags; they are defined for success and faults.
            Err(BlockError::Protection(status)) => {
                let completed = (block * unit) as u32;
                return Completion {
                    result: status,
                    completed,
                    ..Completion::with_status(DIF_ERROR)
                };
            }
        }
    }
    let mut completion = Completion::with_status(SUCCESS);
    put_next_tags(&mut completion, descriptor, operation, blocks);
    completion
}

/// Reads, checks, then writes one block.
// OPEN: a bad block is reported before its destination is looked at.
fn dif_block(
    memory: &mut Memory,
    descriptor: &Descriptor,
    operation: Operation,
    block: u64,
) -> Result<(), BlockError> {
    let unit = source_unit_bytes(operation, descriptor);
    let source = read_unit(memory, descriptor.address_1(), block * unit, unit, SOURCE)
        .map_err(BlockError::Fault)?;
    let (data, after) = source.split_at(block_bytes(descriptor) as usize);
    let dif_flags = descriptor.u8(42);
    if matches!(operation, DifCheck | DifStrip | DifUpdate) {
        let found = Protection::from_bytes(after);
        let status = dif_status(data, found, &Tags::of_source(descriptor), block, dif_flags);
        if status != 0 {
            return Err(BlockError::Protection(status));
        }
    }
    let tags = Tags::of_destination(descriptor);
    let mut output = Vec::new();
    if matches!(operation, DifInsert | DifStrip | DifUpdate) {
        output.extend(data);
    }
    if matches!(operation, DifInsert | DixGenerate) {
        output.extend(generated(data, &tags, block, dif_flags).to_bytes());
    }
    if operation == DifUpdate {
        output.extend(
            updated(data, Protection::from_bytes(after), &tags, block, dif_flags).to_bytes(),
        );
    }
    let offset = block * destination_unit_bytes(operation, descriptor);
    write_unit(memory, descriptor.address_2(), offset, &output, DESTINATION)
        .map_err(BlockError::Fault)
}

/// Section 4: source tags at 16, destination tags at 24, for the block that would be next.
fn put_next_tags(
    completion: &mut Completion,
    descriptor: &Descriptor,
    operation: Operation,
    block: u64,
) {
    if matches!(operation, DifCheck | DifStrip | DifUpdate) {
        Tags::of_source(descriptor).put_into(completion, 16, block);
    }
    if matches!(operation, DifInsert | DifUpdate | DixGenerate) {
        Tags::of_destination(descriptor).put_into(completion, 24, block);
    }
}

// Section 9: cache control and ordering have no effect that this memory could show; after full success a
// readback cannot fault, because its pages have just been written.

// Section 10: batch and drain.

// OPEN: GENCAP 15's flag 16 stands for a failure before the first member: it counts for the first fence, for
// the status and for the result.
// OPEN: section 12's rule that a batch is logged (0x27) when a member's record was is left out.
fn batch(memory: &mut Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let mut failed = descriptor.has(BATCH_ERROR);
    let mut processed = 0;
    let mut list_fault = None;
    // Members behind an abandoning fence are not fetched.
    while processed < descriptor.size() {
        let offset = 64 * u64::from(processed);
        let bytes = match read_unit(memory, descriptor.address_1(), offset, 64, SOURCE) {
            Ok(bytes) => bytes,
            Err(fault) => {
                list_fault = Some(fault);
                break;
            }
        };
        let member = member_of(call, &bytes);
        if member.descriptor.has(FENCE) && failed {
            break;
        }
        let (_, succeeded) = run(memory, &member);
        failed |= !succeeded;
        processed += 1;
    }
    let mut completion = match list_fault {
        Some(fault) => faulted(call, LIST_FAULT, &fault, processed),
        None if failed => {
            Completion { completed: processed, ..Completion::with_status(BATCH_MEMBER_FAILED) }
        }
        None => Completion { completed: processed, ..Completion::with_status(SUCCESS) },
    };
    if call.settings.has(15) {
        completion.result = u8::from(failed);
    }
    completion
}

fn member_of<'a>(batch: &Call<'a>, bytes: &[u8]) -> Call<'a> {
    let mut descriptor = Descriptor { bytes: [0; 64] };
    for (index, byte) in bytes.iter().enumerate() {
        descriptor.bytes[index] = *byte;
    }
    Call { descriptor, settings: batch.settings, member: true, privileged: batch.privileged }
}

/// Nothing else is under way, so only the readbacks can fail.
// OPEN: a readback reads one byte at its address. The event log's completion of a drain (0x26, section 12) is
// left out: the drain writes its record.
fn drain(memory: &Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let first = (READBACK_1, descriptor.address_1(), SOURCE);
    let second = (READBACK_2, descriptor.address_2(), SOURCE_2);
    for (flag, address, operand) in [first, second] {
        if !descriptor.has(flag) {
            continue;
        }
        if let Err(fault) = read_byte(memory, address, 0, operand) {
            return faulted(call, READBACK_FAULT, &fault, 0);
        }
    }
    Completion::with_status(SUCCESS)
}
