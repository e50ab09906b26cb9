//! The protection information of a block, and the tags that it has in each block of a descriptor.

use crate::descriptor::Descriptor;
use crate::memory::{bytes, bytes_mut};
use crate::record::Record;

/// Bits of the source flags.
pub(super) mod source {
    pub const REFERENCE_FIXED: u8 = 1 << 7;
    pub const NO_REFERENCE_CHECK: u8 = 1 << 6;
    pub const NO_GUARD_CHECK: u8 = 1 << 5;
    pub const APPLICATION_INCREMENTS: u8 = 1 << 4;
    pub const ESCAPE_BOTH_TAGS: u8 = 1 << 3;
    pub const ESCAPE_APPLICATION: u8 = 1 << 2;
    pub const ESCAPE_ALL: u8 = 1 << 1;
    pub const ALL_ONES_IS_ERROR: u8 = 1 << 0;
}

/// Bits of the destination flags.
pub(super) mod destination {
    pub const REFERENCE_FIXED: u8 = 1 << 7;
    pub const REFERENCE_PASSES: u8 = 1 << 6;
    pub const GUARD_PASSES: u8 = 1 << 5;
    pub const APPLICATION_INCREMENTS: u8 = 1 << 4;
    pub const APPLICATION_PASSES: u8 = 1 << 3;
}

/// The protection information of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Protection {
    pub guard: u16,
    pub application: u16,
    pub reference: u32,
}

impl Protection {
    pub const ALL_ONES: Self = Self { guard: !0, application: !0, reference: !0 };

    fn from_bytes(bytes: [u8; 8]) -> Self {
        let [g0, g1, a0, a1, r0, r1, r2, r3] = bytes;
        Self {
            guard: u16::from_be_bytes([g0, g1]),
            application: u16::from_be_bytes([a0, a1]),
            reference: u32::from_be_bytes([r0, r1, r2, r3]),
        }
    }

    fn bytes(self) -> [u8; 8] {
        let [g0, g1] = self.guard.to_be_bytes();
        let [a0, a1] = self.application.to_be_bytes();
        let [r0, r1, r2, r3] = self.reference.to_be_bytes();
        [g0, g1, a0, a1, r0, r1, r2, r3]
    }

    /// Reads protection information from memory. Called inside a guard.
    pub fn read(address: u64) -> Self {
        #[allow(unsafe_code)]
        // SAFETY: a fault is caught by the guard around it.
        Self::from_bytes(unsafe { bytes::<[u8; 8]>(address).read_unaligned() })
    }

    /// Writes protection information to memory. Called inside a guard.
    pub fn write(self, address: u64) {
        #[allow(unsafe_code)]
        // SAFETY: a fault is caught by the guard around it; the place is the submitter's.
        unsafe {
            bytes_mut::<[u8; 8]>(address).write_unaligned(self.bytes());
        }
    }
}

/// The tags of a block: what is expected of a source, or written to a destination.
#[derive(Clone, Copy)]
pub(super) struct Tags {
    pub reference: u32,
    pub application: u16,
    /// Bits of the application tag that are ignored.
    pub mask: u16,
    reference_increments: bool,
    application_increments: bool,
}

impl Tags {
    fn from_source(descriptor: &Descriptor) -> Self {
        let flags = descriptor.dif_source_flags();
        Self {
            reference: descriptor.source_reference(),
            application: descriptor.source_application(),
            mask: descriptor.source_mask(),
            reference_increments: flags & source::REFERENCE_FIXED == 0,
            application_increments: flags & source::APPLICATION_INCREMENTS != 0,
        }
    }

    fn from_destination(descriptor: &Descriptor) -> Self {
        let flags = descriptor.dif_destination_flags();
        Self {
            reference: descriptor.destination_reference(),
            application: descriptor.destination_application(),
            mask: descriptor.destination_mask(),
            reference_increments: flags & destination::REFERENCE_FIXED == 0,
            application_increments: flags & destination::APPLICATION_INCREMENTS != 0,
        }
    }

    /// Returns the tags of the next block.
    pub fn next(self) -> Self {
        Self {
            reference: self.reference.wrapping_add(u32::from(self.reference_increments)),
            application: self.application.wrapping_add(u16::from(self.application_increments)),
            ..self
        }
    }

    /// Puts the tags that a next block would have into a record, from byte `at` on.
    pub fn into_record(self, record: Record, at: usize) -> Record {
        record
            .with_u32(at, self.reference)
            .with_u16(at + 4, self.mask)
            .with_u16(at + 6, self.application)
    }
}

/// Offsets in a completion record of the tags of source and destination.
pub(super) const SOURCE_TAGS: usize = 16;
pub(super) const DESTINATION_TAGS: usize = 24;

/// The tags of source and destination, block by block.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    pub source: Tags,
    pub destination: Tags,
}

impl Walk {
    pub fn new(descriptor: &Descriptor) -> Self {
        let (source, destination) =
            (Tags::from_source(descriptor), Tags::from_destination(descriptor));
        Self { source, destination }
    }

    pub fn next(self) -> Self {
        Self { source: self.source.next(), destination: self.destination.next() }
    }
}
