//! The software error register: the first error that no completion record could take [S 9.2.12].

use crate::descriptor::Descriptor;
use crate::engine::Ended;
use crate::hardware::{PRIVILEGED, status};

/// The register: 32 bytes, as four words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoftwareError(pub [u64; 4]);

const VALID: u64 = 1 << 0;
const OVERFLOW: u64 = 1 << 1;
const DESCRIPTOR_VALID: u64 = 1 << 2;
const QUEUE_VALID: u64 = 1 << 3;
const BATCH_MEMBER: u64 = 1 << 4;
const ON_WRITE: u64 = 1 << 5;
const PRIVILEGE: u64 = 1 << 6;
const INFO_VALID: u64 = 1 << 7;
const CODE_SHIFT: u32 = 8;
const QUEUE_SHIFT: u32 = 16;
const OPCODE_SHIFT: u32 = 32;
const PASID_SHIFT: u32 = 40;
const PASID: u32 = 0xf_ffff;
/// Where the second word has information, such as invalid flags.
const INFO_SHIFT: u32 = 32;

impl SoftwareError {
    /// A descriptor that a full dedicated queue lost.
    pub(super) fn overflow(queue: usize, descriptor: &Descriptor) -> Self {
        Self::new(status::QUEUE_OVERFLOW, queue, descriptor)
    }

    /// An entry that a full event log lost.
    pub(super) fn log_full(queue: usize, descriptor: &Descriptor) -> Self {
        Self::new(status::LOG_FULL, queue, descriptor)
    }

    /// A descriptor that ended without a record that could say so.
    #[must_use]
    pub fn of(queue: usize, ended: &Ended<'_>) -> Self {
        let record = ended.outcome.error();
        let code = record.status() & !status::FAULT_ON_WRITE;
        let mut error = Self::new(code, queue, ended.descriptor);
        if record.status() & status::FAULT_ON_WRITE != 0 {
            error.0[0] |= ON_WRITE;
        }
        if let Some(number) = ended.member {
            error.0[0] |= BATCH_MEMBER;
            error.0[1] |= u64::from(number) & 0xffff;
        }
        if code == status::BAD_FLAGS {
            error.0[0] |= INFO_VALID;
            error.0[1] |= u64::from(record.invalid_flags()) << INFO_SHIFT;
        }
        let names_record = matches!(code, status::RECORD_ALIGNMENT | status::BATCH_HELD);
        let address = if names_record { ended.descriptor.record() } else { record.fault_address() };
        error.0[2] = address;
        error
    }

    fn new(code: u8, queue: usize, descriptor: &Descriptor) -> Self {
        let head = VALID
            | DESCRIPTOR_VALID
            | QUEUE_VALID
            | u64::from(code) << CODE_SHIFT
            | (queue as u64 & 0xff) << QUEUE_SHIFT
            | u64::from(descriptor.code()) << OPCODE_SHIFT
            | u64::from(descriptor.pasid_word() & PASID) << PASID_SHIFT;
        let privileged = descriptor.pasid_word() & PRIVILEGED != 0;
        Self([if privileged { head | PRIVILEGE } else { head }, 0, 0, 0])
    }

    /// Keeps the first error; a further one sets the overflow bit.
    pub(super) fn note(&mut self, error: Self) {
        if self.is_valid() {
            self.0[0] |= OVERFLOW;
        } else {
            *self = error;
        }
    }

    /// Whether there was an error since it was cleared.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0[0] & VALID != 0
    }

    /// Whether there was a further one.
    #[must_use]
    pub fn has_overflowed(&self) -> bool {
        self.0[0] & OVERFLOW != 0
    }

    /// The error code.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.0[0].to_le_bytes()[1]
    }
}
