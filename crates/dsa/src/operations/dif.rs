//! Protection information: DIF check, insert, strip, update, and DIX generate [S 8.3.14-18, appendix B].
//!
//! Eight bytes behind each block, big-endian: guard (CRC-16 of the block), application tag, reference
//! tag.

use super::compare::slice;
use super::copy::copy;
use super::guard::Guard;
use super::{Job, Manner, Work, low};
use crate::descriptor::Descriptor;
use crate::hardware::PROTECTION_BYTES;
use crate::hardware::status::{self, Operand};
use crate::memory::{Span, bytes, bytes_mut, guarded};
use crate::record::Record;

/// Bits of the DIF flags.
const GUARD_SEED_ONES: u8 = 1 << 2;
const INVERT_GUARD: u8 = 1 << 3;

/// Bits of the source flags.
mod source {
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
mod destination {
    pub const REFERENCE_FIXED: u8 = 1 << 7;
    pub const REFERENCE_PASSES: u8 = 1 << 6;
    pub const GUARD_PASSES: u8 = 1 << 5;
    pub const APPLICATION_INCREMENTS: u8 = 1 << 4;
    pub const APPLICATION_PASSES: u8 = 1 << 3;
}

/// Bits of the DIF status.
const GUARD_DIFFERS: u8 = 1;
const APPLICATION_DIFFERS: u8 = 2;
const REFERENCE_DIFFERS: u8 = 4;
const ALL_ONES: u8 = 8;

/// Bytes of a block without its protection information.
pub(crate) fn block_bytes(dif_flags: u8) -> u64 {
    [512, 520, 4096, 4104][usize::from(dif_flags & 3)]
}

/// The protection information of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Protection {
    guard: u16,
    application: u16,
    reference: u32,
}

impl Protection {
    const ALL_ONES: Self = Self { guard: !0, application: !0, reference: !0 };

    fn of_bytes(bytes: [u8; 8]) -> Self {
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

    /// Reads it from memory. Called inside a guard.
    fn read(address: u64) -> Self {
        #[allow(unsafe_code)]
        // SAFETY: a fault is caught by the guard around it.
        Self::of_bytes(unsafe { bytes::<[u8; 8]>(address).read_unaligned() })
    }

    /// Writes it to memory. Called inside a guard.
    fn write(self, address: u64) {
        #[allow(unsafe_code)]
        // SAFETY: a fault is caught by the guard around it; the place is the submitter's.
        unsafe {
            bytes_mut::<[u8; 8]>(address).write_unaligned(self.bytes());
        }
    }
}

/// The tags of a block: what is expected of a source, or written to a destination.
#[derive(Clone, Copy)]
struct Tags {
    reference: u32,
    application: u16,
    /// Bits of the application tag that are no part of it.
    mask: u16,
    reference_increments: bool,
    application_increments: bool,
}

impl Tags {
    fn of_source(descriptor: &Descriptor) -> Self {
        let flags = descriptor.dif_source_flags();
        Self {
            reference: descriptor.source_reference(),
            application: descriptor.source_application(),
            mask: descriptor.source_mask(),
            reference_increments: flags & source::REFERENCE_FIXED == 0,
            application_increments: flags & source::APPLICATION_INCREMENTS != 0,
        }
    }

    fn of_destination(descriptor: &Descriptor) -> Self {
        let flags = descriptor.dif_destination_flags();
        Self {
            reference: descriptor.destination_reference(),
            application: descriptor.destination_application(),
            mask: descriptor.destination_mask(),
            reference_increments: flags & destination::REFERENCE_FIXED == 0,
            application_increments: flags & destination::APPLICATION_INCREMENTS != 0,
        }
    }

    /// The tags of the block behind.
    fn next(self) -> Self {
        Self {
            reference: self.reference.wrapping_add(u32::from(self.reference_increments)),
            application: self.application.wrapping_add(u16::from(self.application_increments)),
            ..self
        }
    }

    /// Puts the tags that a next block would have into a record, from byte `at` on.
    fn into_record(self, record: Record, at: usize) -> Record {
        record
            .with_u32(at, self.reference)
            .with_u16(at + 4, self.mask)
            .with_u16(at + 6, self.application)
    }
}

/// Where a record has the source's tags, and the destination's.
const SOURCE_TAGS: usize = 16;
const DESTINATION_TAGS: usize = 24;

/// What all operations on a descriptor's blocks need.
struct Format<'a> {
    descriptor: &'a Descriptor,
    manner: Manner,
    block: u64,
    guard: Guard,
    /// What the guard's CRC begins with.
    seed: u16,
}

impl<'a> Format<'a> {
    fn of(descriptor: &'a Descriptor, manner: Manner) -> Self {
        let ones = descriptor.dif_flags() & GUARD_SEED_ONES != 0;
        let seed = if ones { 0xffff } else { 0 };
        let block = block_bytes(descriptor.dif_flags());
        Self { descriptor, manner, block, guard: Guard::new(seed), seed }
    }

    /// The guard of a block. Called inside a guard of memory.
    fn guard_of(&self, address: u64) -> u16 {
        let guard = self.guard.of(slice(address, self.block), self.seed);
        if self.descriptor.dif_flags() & INVERT_GUARD == 0 { guard } else { !guard }
    }

    /// Checks the block at `address`; returns its DIF status, 0 if it is right.
    fn check(&self, address: u64, expected: Tags) -> u8 {
        let flags = self.descriptor.dif_source_flags();
        let found = Protection::read(address + self.block);
        let escapes_all = flags & source::ESCAPE_ALL != 0 && found == Protection::ALL_ONES;
        if escapes_all && flags & source::ALL_ONES_IS_ERROR != 0 {
            return ALL_ONES;
        }
        let application_ones = found.application == !0;
        let escapes = escapes_all
            || flags & source::ESCAPE_APPLICATION != 0 && application_ones
            || flags & source::ESCAPE_BOTH_TAGS != 0 && application_ones && found.reference == !0;
        if escapes {
            return 0;
        }
        let mut wrong = 0;
        if flags & source::NO_GUARD_CHECK == 0 && found.guard != self.guard_of(address) {
            wrong |= GUARD_DIFFERS;
        }
        if (found.application ^ expected.application) & !expected.mask != 0 {
            wrong |= APPLICATION_DIFFERS;
        }
        if flags & source::NO_REFERENCE_CHECK == 0 && found.reference != expected.reference {
            wrong |= REFERENCE_DIFFERS;
        }
        wrong
    }

    /// The protection information of a block with these tags.
    fn protect(&self, address: u64, tags: Tags) -> Protection {
        Protection {
            guard: self.guard_of(address),
            application: tags.application & !tags.mask,
            reference: tags.reference,
        }
    }

    /// Bytes of a block with its protection information.
    fn protected(&self) -> u64 {
        self.block + PROTECTION_BYTES
    }

    /// Runs an operation over blocks. `source_bytes` are those of a block in the source; `check` returns
    /// the DIF status of block number n, `on_block` does it if that is 0; `tags` adds those behind the
    /// last block to a record.
    fn run(
        &self,
        (source_bytes, written): (u64, Option<(u64, u64)>),
        check: impl Fn(u64, Walk) -> u8,
        on_block: impl Fn(u64, Walk),
        tags: impl Fn(Record, Walk) -> Record,
    ) -> Record {
        let error = |wrong, number| {
            let record = Record::of(status::DIF_ERROR).with_result(wrong);
            record.with_completed(low(number * source_bytes))
        };
        let read = Span::read(Operand::First, self.descriptor.first(), source_bytes);
        let wrong_behind = |units, walk| match read.reach(units + 1) {
            (_, None) => guarded(|| check(units, walk)).unwrap_or(0),
            _ => 0,
        };
        let to = written.map(|(to, bytes)| Span::written(Operand::Destination, to, bytes));
        let spans = [read, to.unwrap_or(read)];
        let spans = &spans[..1 + usize::from(to.is_some())];
        let blocks = u64::from(self.descriptor.size()) / source_bytes;
        let job = Job::new(self.descriptor, blocks, spans, self.manner);
        // Without a check of guards the blocks are read all the same.
        job.run_where_accessible(
            |units| {
                let mut walk = Walk::new(self.descriptor);
                for number in 0..units {
                    let wrong = check(number, walk);
                    if wrong != 0 {
                        return Work::Stopped(error(wrong, number));
                    }
                    on_block(number, walk);
                    walk = walk.next();
                }
                Work::Done(walk)
            },
            |walk| tags(Record::of(status::SUCCESS), walk),
            // A block is checked before it is written: if it is wrong, the page that it would be written
            // to does not matter.
            |record, walk, units| match wrong_behind(units, walk) {
                0 => tags(record.with_completed(low(units * source_bytes)), walk),
                wrong => error(wrong, units),
            },
        )
    }
}

/// The tags of source and destination, block by block.
#[derive(Clone, Copy)]
struct Walk {
    source: Tags,
    destination: Tags,
}

impl Walk {
    fn new(descriptor: &Descriptor) -> Self {
        let (source, destination) = (Tags::of_source(descriptor), Tags::of_destination(descriptor));
        Self { source, destination }
    }

    fn next(self) -> Self {
        Self { source: self.source.next(), destination: self.destination.next() }
    }
}

pub(super) fn checked(descriptor: &Descriptor, manner: Manner) -> Record {
    let format = Format::of(descriptor, manner);
    let (from, bytes) = (descriptor.first(), format.protected());
    format.run(
        (bytes, None),
        |number, walk| format.check(from + number * bytes, walk.source),
        |_, _| {},
        |record, walk| walk.source.into_record(record, SOURCE_TAGS),
    )
}

pub(super) fn inserted(descriptor: &Descriptor, manner: Manner) -> Record {
    let format = Format::of(descriptor, manner);
    let (from, to) = (descriptor.first(), descriptor.second());
    let (block, protected) = (format.block, format.protected());
    format.run(
        (block, Some((to, protected))),
        |_, _| 0,
        |number, walk| {
            let (source, place) = (from + number * block, to + number * protected);
            let protection = format.protect(source, walk.destination);
            copy(source, place, block);
            protection.write(place + block);
        },
        |record, walk| walk.destination.into_record(record, DESTINATION_TAGS),
    )
}

pub(super) fn stripped(descriptor: &Descriptor, manner: Manner) -> Record {
    let format = Format::of(descriptor, manner);
    let (from, to) = (descriptor.first(), descriptor.second());
    let (block, protected) = (format.block, format.protected());
    format.run(
        (protected, Some((to, block))),
        |number, walk| format.check(from + number * protected, walk.source),
        |number, _| copy(from + number * protected, to + number * block, block),
        |record, walk| walk.source.into_record(record, SOURCE_TAGS),
    )
}

pub(super) fn updated(descriptor: &Descriptor, manner: Manner) -> Record {
    let format = Format::of(descriptor, manner);
    let (from, to) = (descriptor.first(), descriptor.second());
    let (block, protected) = (format.block, format.protected());
    let flags = descriptor.dif_destination_flags();
    format.run(
        (protected, Some((to, protected))),
        |number, walk| format.check(from + number * protected, walk.source),
        |number, walk| {
            let (source, place) = (from + number * protected, to + number * protected);
            let found = Protection::read(source + block);
            let mut protection = format.protect(source, walk.destination);
            if flags & destination::GUARD_PASSES != 0 {
                protection.guard = found.guard;
            }
            if flags & destination::APPLICATION_PASSES != 0 {
                protection.application = found.application;
            }
            if flags & destination::REFERENCE_PASSES != 0 {
                protection.reference = found.reference;
            }
            copy(source, place, block);
            protection.write(place + block);
        },
        |record, walk| {
            let record = walk.source.into_record(record, SOURCE_TAGS);
            walk.destination.into_record(record, DESTINATION_TAGS)
        },
    )
}

pub(super) fn generated(descriptor: &Descriptor, manner: Manner) -> Record {
    let format = Format::of(descriptor, manner);
    let (from, to, block) = (descriptor.first(), descriptor.second(), format.block);
    format.run(
        (block, Some((to, PROTECTION_BYTES))),
        |_, _| 0,
        |number, walk| {
            let protection = format.protect(from + number * block, walk.destination);
            protection.write(to + number * PROTECTION_BYTES);
        },
        |record, walk| walk.destination.into_record(record, DESTINATION_TAGS),
    )
}

#[cfg(test)]
mod tests {
    use crc_fast::{CrcAlgorithm, Digest};

    #[test]
    fn the_guard_is_that_of_the_catalogue() {
        // CRC-16/T10-DIF in the catalogue of parametrised CRC algorithms.
        let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc16T10Dif, 0);
        digest.update(b"123456789");
        assert_eq!(digest.get_state(), 0xd0db);
    }
}
