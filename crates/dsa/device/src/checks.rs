//! The checks that a device makes of a descriptor before it does anything [S 5.4, 5.5].
//!
//! The order of checks is an implementation's own [S 5.4]. Ours is fixed: alignment of the record,
//! operation, flags, reserved fields, privilege, sizes, alignment, overlap, interrupt handle.

mod overlap;
mod reserved;
mod valid_flags;

use crate::descriptor::Descriptor;
use crate::hardware::capabilities::{Capabilities, gencap};
use crate::hardware::{
    DELTA_ENTRY_BYTES, DESCRIPTOR_BYTES, LEAST_DELTA_RECORD_BYTES, MOST_DELTA_BYTES, Opcode,
    PRIVILEGED, PROTECTION_BYTES, RESERVED_PASID_BITS, flags, status,
};
use crate::operations::block_bytes;

/// Limits that a work queue sets for its descriptors, within the capabilities of its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Most bytes that a descriptor may transfer.
    pub most_transfer_bytes: u64,
    /// Most descriptors that a batch may have.
    pub most_batch: u32,
    /// Whether descriptors may ask to block on faults.
    pub block_on_fault: bool,
    /// Operations that the queue allows: bit n for opcode n.
    pub operations: u64,
    /// Whether descriptors may be privileged.
    pub privileged: bool,
    /// Whether descriptors of user programs may request interrupts.
    pub user_interrupts: bool,
    /// Number of interrupt handles, which count from 0. Default: 0.
    pub interrupt_handles: u16,
    /// Whether each descriptor names its PASID, as the descriptors of a shared queue do.
    pub has_pasid: bool,
}

impl QueueLimits {
    /// The widest limits that a device has for a user program: no privilege, no interrupts.
    #[must_use]
    pub fn of(capabilities: &Capabilities) -> Self {
        Self {
            most_transfer_bytes: capabilities.most_transfer_bytes(),
            most_batch: capabilities.most_batch(),
            block_on_fault: capabilities.has(gencap::BLOCK_ON_FAULT),
            operations: capabilities.op_cap,
            privileged: false,
            user_interrupts: false,
            interrupt_handles: 0,
            has_pasid: true,
        }
    }
}

/// Whether a descriptor was submitted to a queue, or is a member of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// The descriptor was submitted to a work queue.
    Queue,
    /// A member of a batch. It has the privilege of the batch.
    Batch {
        /// Whether the batch is privileged.
        privileged: bool,
    },
}

/// The reason why a descriptor fails a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Status code of the completion record.
    pub code: u8,
    /// Flags that are reserved or missing, for [`status::BAD_FLAGS`].
    pub invalid_flags: u32,
}

impl Refusal {
    fn new(code: u8) -> Self {
        Self { code, invalid_flags: 0 }
    }
}

/// Rules that a descriptor is checked against.
#[derive(Clone, Copy, Debug)]
pub struct CheckRules<'a> {
    /// Capabilities of the device.
    pub capabilities: &'a Capabilities,
    /// Limits of the queue.
    pub queue: &'a QueueLimits,
    /// Whether the descriptor was submitted to the queue or is a member of a batch.
    pub membership: Membership,
}

impl CheckRules<'_> {
    /// Checks a descriptor and returns its operation.
    ///
    /// # Errors
    /// The first check that fails, in the fixed order.
    pub fn check(&self, descriptor: &Descriptor) -> Result<Opcode, Refusal> {
        if descriptor.has(flags::RECORD_ADDRESS_VALID) && !descriptor.record().is_multiple_of(32) {
            return Err(Refusal::new(status::RECORD_ALIGNMENT));
        }
        let opcode = self.operation(descriptor)?;
        let invalid_flags = valid_flags::find_invalid(self, descriptor, opcode);
        if invalid_flags != 0 {
            return Err(Refusal { code: status::BAD_FLAGS, invalid_flags });
        }
        if self.has_reserved_pasid_bits(descriptor) || !reserved::are_zero(descriptor, opcode) {
            return Err(Refusal::new(status::RESERVED_FIELD));
        }
        let code = self
            .privilege(descriptor)
            .or_else(|| self.sizes(descriptor, opcode))
            .or_else(|| alignment(descriptor, opcode))
            .or_else(|| {
                let allows_moves = self.capabilities.has(gencap::OVERLAP);
                overlap::is_forbidden(descriptor, opcode, allows_moves).then_some(status::OVERLAP)
            })
            .or_else(|| self.interrupt(descriptor));
        code.map_or(Ok(opcode), |code| Err(Refusal::new(code)))
    }

    fn operation(&self, descriptor: &Descriptor) -> Result<Opcode, Refusal> {
        let allowed = self.capabilities.op_cap & self.queue.operations;
        let in_batch = self.membership != Membership::Queue;
        descriptor
            .opcode()
            .filter(|opcode| allowed & opcode.bit() != 0)
            .filter(|opcode| !in_batch || !matches!(opcode, Opcode::Batch | Opcode::Drain))
            .ok_or(Refusal::new(status::BAD_OPCODE))
    }

    /// Whether bits between PASID and privilege are set, in a descriptor that names its PASID.
    fn has_reserved_pasid_bits(&self, descriptor: &Descriptor) -> bool {
        let counts = self.queue.has_pasid && self.membership == Membership::Queue;
        counts && descriptor.pasid_word() & RESERVED_PASID_BITS != 0
    }

    /// Whether a descriptor acts with privilege: its own, or that of its batch.
    pub(crate) fn is_privileged(&self, descriptor: &Descriptor) -> bool {
        match self.membership {
            Membership::Queue if self.queue.has_pasid => descriptor.pasid_word() & PRIVILEGED != 0,
            Membership::Queue => self.queue.privileged,
            Membership::Batch { privileged } => privileged,
        }
    }

    fn privilege(&self, descriptor: &Descriptor) -> Option<u8> {
        let asks = self.membership == Membership::Queue && self.is_privileged(descriptor);
        (asks && !self.queue.privileged).then_some(status::BAD_PRIVILEGE)
    }

    fn sizes(&self, descriptor: &Descriptor, opcode: Opcode) -> Option<u8> {
        let size = u64::from(descriptor.size());
        let most = self.queue.most_transfer_bytes;
        match opcode {
            Opcode::NoOp | Opcode::Drain => None,
            Opcode::Batch => {
                let least = if self.capabilities.has(gencap::BATCH_OF_ONE) { 1 } else { 2 };
                let fits = (least..=self.queue.most_batch).contains(&descriptor.size());
                (!fits).then_some(status::BAD_COUNT)
            }
            _ if size == 0 || size > most || !is_whole(descriptor, opcode) => {
                Some(status::BAD_SIZE)
            }
            Opcode::CreateDelta | Opcode::ApplyDelta if size > MOST_DELTA_BYTES => {
                Some(status::BAD_SIZE)
            }
            Opcode::CreateDelta => {
                let record = descriptor.most_delta_bytes();
                let fits = record >= LEAST_DELTA_RECORD_BYTES && u64::from(record) <= most;
                (!fits).then_some(status::BAD_DELTA_SIZE)
            }
            Opcode::ApplyDelta => {
                let record = descriptor.delta_bytes();
                let fits = record >= DELTA_ENTRY_BYTES && u64::from(record) <= most;
                (!fits).then_some(status::BAD_DELTA_SIZE)
            }
            _ => None,
        }
    }

    fn interrupt(&self, descriptor: &Descriptor) -> Option<u8> {
        let asks = descriptor.has(flags::REQUEST_INTERRUPT);
        let is_there = descriptor.interrupt() < self.queue.interrupt_handles;
        (asks && !is_there).then_some(status::BAD_INTERRUPT)
    }
}

/// Numbers of the bytes for which a device reports [`status::RESERVED_FIELD`]: reserved and not zero.
#[must_use]
pub fn reserved_bytes(descriptor: &Descriptor) -> Vec<usize> {
    let Some(opcode) = descriptor.opcode() else { return Vec::new() };
    // The reserved bytes depend on operation and flags alone.
    let mut alone = Descriptor::of(opcode).with_flags(descriptor.flags());
    let mut is_wrong = |at: &usize| {
        let byte = std::mem::replace(&mut alone.0[*at], descriptor.0[*at]);
        let is_wrong = !reserved::are_zero(&alone, opcode);
        alone.0[*at] = byte;
        is_wrong
    };
    (8..DESCRIPTOR_BYTES).filter(|at| is_wrong(at)).collect()
}

/// Whether a transfer consists of whole blocks, where it has blocks.
fn is_whole(descriptor: &Descriptor, opcode: Opcode) -> bool {
    let block = block_bytes(descriptor.dif_flags());
    let size = u64::from(descriptor.size());
    match opcode {
        Opcode::DifInsert | Opcode::DixGenerate => size.is_multiple_of(block),
        Opcode::DifCheck | Opcode::DifStrip | Opcode::DifUpdate => {
            size.is_multiple_of(block + PROTECTION_BYTES)
        }
        _ => true,
    }
}

fn alignment(descriptor: &Descriptor, opcode: Opcode) -> Option<u8> {
    let is_aligned = |address: u64, bytes: u64| address.is_multiple_of(bytes);
    let (first, second) = (descriptor.first(), descriptor.second());
    let size = u64::from(descriptor.size());
    match opcode {
        Opcode::Batch => (!is_aligned(first, 64)).then_some(status::LIST_ALIGNMENT),
        Opcode::CreateDelta => {
            let all = first | second | size | descriptor.delta_record();
            (!is_aligned(all, 8)).then_some(status::MISALIGNED)
        }
        // A continuation moves the record by whole entries of ten bytes.
        Opcode::ApplyDelta => (!is_aligned(second | size, 8)).then_some(status::MISALIGNED),
        Opcode::Crc | Opcode::CopyCrc if descriptor.has(flags::CRC_SEED_IN_MEMORY) => {
            let bytes = if descriptor.has(flags::CRC_64) { 8 } else { 4 };
            (!is_aligned(descriptor.crc_seed_address(), bytes)).then_some(status::MISALIGNED)
        }
        Opcode::DixGenerate => (!is_aligned(second, 8)).then_some(status::MISALIGNED),
        Opcode::TranslationFetch if descriptor.has(flags::USE_STRIDE) => {
            let stride = descriptor.stride();
            let fits = stride >= 4096 && stride.is_power_of_two();
            (!fits).then_some(status::MISALIGNED)
        }
        Opcode::Dualcast => {
            let differ = (second ^ descriptor.second_destination()) & 0xfff != 0;
            differ.then_some(status::DUALCAST_ALIGNMENT)
        }
        _ => None,
    }
}
