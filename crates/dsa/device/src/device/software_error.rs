//! The software error register: the first error that could not be written to a completion record [S 9.2.12].

use crate::descriptor::Descriptor;
use crate::engine::EndedDescriptor;
use crate::hardware::{PRIVILEGED, status};

/// Value of the software error register (SWERROR): 32 bytes, as four words. Default: no error.
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
/// Lowest bit of the error information in the second word, such as invalid flags.
const INFO_SHIFT: u32 = 32;

impl SoftwareError {
    /// The error of a descriptor that was lost because a dedicated queue was full.
    pub(super) fn overflow(queue: usize, descriptor: &Descriptor) -> Self {
        Self::new(status::QUEUE_OVERFLOW, queue, descriptor)
    }

    /// The error of an entry that was lost because the event log was full.
    pub(super) fn log_full(queue: usize, descriptor: &Descriptor) -> Self {
        Self::new(status::LOG_FULL, queue, descriptor)
    }

    /// The error of a descriptor that could not be written to a completion record. `queue` is the number of
    /// its queue in the device.
    #[must_use]
    pub fn from_ended(queue: usize, ended: &EndedDescriptor<'_>) -> Self {
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

    /// Adds an error: the first one is stored, a further one sets the overflow bit.
    pub(super) fn note(&mut self, error: Self) {
        if self.is_valid() {
            self.0[0] |= OVERFLOW;
        } else {
            *self = error;
        }
    }

    /// Whether there was an error since the register was cleared.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0[0] & VALID != 0
    }

    /// Whether there was a second error since the register was cleared.
    #[must_use]
    pub fn has_overflowed(&self) -> bool {
        self.0[0] & OVERFLOW != 0
    }

    /// The error code, a status code of the specification.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.0[0].to_le_bytes()[1]
    }
}
