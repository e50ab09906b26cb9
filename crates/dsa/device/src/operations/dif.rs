//! Protection information: DIF check, insert, strip, update, and DIX generate [S 8.3.14-18, appendix B].
//!
//! Eight bytes behind each block, big-endian: guard (CRC-16 of the block), application tag, reference
//! tag.

mod protection;

use super::compare::slice;
use super::guard::{ABREAST, Guard};
use super::{Manner, UnitOperation, UnitsOutcome, low};
use crate::descriptor::Descriptor;
use crate::hardware::PROTECTION_BYTES;
use crate::hardware::status::{self, FaultOperand};
use crate::memory::{Span, copy_bytes, guarded};
use crate::record::Record;
use protection::{DESTINATION_TAGS, Protection, SOURCE_TAGS, Tags, Walk, destination, source};
use units::narrow::usize_from;

/// Looks at the CPU's features for guards.
pub(super) fn prepare() {
    let _ = Guard::new(0);
}

/// Bits of the DIF flags.
const GUARD_SEED_ONES: u8 = 1 << 2;
const INVERT_GUARD: u8 = 1 << 3;

/// Bits of the DIF status.
const GUARD_DIFFERS: u8 = 1;
const APPLICATION_DIFFERS: u8 = 2;
const REFERENCE_DIFFERS: u8 = 4;
const ALL_ONES: u8 = 8;

/// Bytes of a block without its protection information.
pub(crate) fn block_bytes(dif_flags: u8) -> u64 {
    [512, 520, 4096, 4104][usize::from(dif_flags & 3)]
}

/// Format of the blocks of a descriptor, as all DIF operations use it.
struct Format<'a> {
    descriptor: &'a Descriptor,
    manner: Manner,
    block: u64,
    guard: Guard,
    /// Initial value of the guard's CRC.
    seed: u16,
}

impl<'a> Format<'a> {
    fn new(descriptor: &'a Descriptor, manner: Manner) -> Self {
        let ones = descriptor.dif_flags() & GUARD_SEED_ONES != 0;
        let seed = if ones { 0xffff } else { 0 };
        let block = block_bytes(descriptor.dif_flags());
        Self { descriptor, manner, block, guard: Guard::new(seed), seed }
    }

    /// The guard of a block. Called inside a guard of memory.
    fn guard_of(&self, address: u64) -> u16 {
        self.as_stored(self.guard.compute(slice(address, self.block), self.seed))
    }

    /// The guards of the next of `left` blocks, which are `distance` bytes apart. Called inside a guard of
    /// memory.
    fn guards_of(&self, address: u64, distance: u64, left: u64) -> [u16; ABREAST] {
        let at = |number: usize| address + number as u64 * distance;
        if left < ABREAST as u64 {
            let of = |number| if number < usize_from(left) { self.guard_of(at(number)) } else { 0 };
            return std::array::from_fn(of);
        }
        let blocks = std::array::from_fn(|number| slice(at(number), self.block));
        self.guard.compute_each(blocks, self.seed).map(|guard| self.as_stored(guard))
    }

    fn as_stored(&self, guard: u16) -> u16 {
        if self.descriptor.dif_flags() & INVERT_GUARD == 0 { guard } else { !guard }
    }

    /// Checks the block at `address`, whose guard is known. Returns its DIF status; 0: no error.
    #[inline]
    fn check(&self, address: u64, guard: u16, expected: Tags) -> u8 {
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
        if flags & source::NO_GUARD_CHECK == 0 && found.guard != guard {
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

    /// The protection information of a block with this guard and these tags.
    fn protect(guard: u16, tags: Tags) -> Protection {
        Protection { guard, application: tags.application & !tags.mask, reference: tags.reference }
    }

    /// Bytes of a block with its protection information.
    fn protected(&self) -> u64 {
        self.block + PROTECTION_BYTES
    }

    /// Runs an operation over blocks. `source_bytes` is the size of a block in the source. `check`
    /// returns the DIF status of block number n, `on_block` processes the block if that is 0; both get
    /// its guard. `tags` adds the tags behind the last block to a record.
    fn run(
        &self,
        (source_bytes, written): (u64, Option<(u64, u64)>),
        check: impl Fn(u64, u16, Walk) -> u8,
        on_block: impl Fn(u64, u16, Walk),
        tags: impl Fn(Record, Walk) -> Record,
    ) -> Record {
        let error = |wrong, number| {
            let record = Record::with_status(status::DIF_ERROR).with_result(wrong);
            record.with_completed(low(number * source_bytes))
        };
        let from = self.descriptor.first();
        let read = Span::read(FaultOperand::First, from, source_bytes);
        let at = |number: u64| from + number * source_bytes;
        let wrong_behind = |units, walk| match read.reach(units + 1) {
            (_, None) => guarded(|| check(units, self.guard_of(at(units)), walk)).unwrap_or(0),
            _ => 0,
        };
        let to = written.map(|(to, bytes)| Span::written(FaultOperand::Destination, to, bytes));
        let spans = [read, to.unwrap_or(read)];
        let spans = &spans[..1 + usize::from(to.is_some())];
        let blocks = u64::from(self.descriptor.size()) / source_bytes;
        let job = UnitOperation::new(self.descriptor, blocks, spans, self.manner);
        // The device reads the blocks even if their guards are not checked.
        job.run_where_accessible(
            |units| {
                let mut walk = Walk::new(self.descriptor);
                let mut guards = [0; ABREAST];
                for number in 0..units {
                    let place = usize_from(number) % ABREAST;
                    if place == 0 {
                        guards = self.guards_of(at(number), source_bytes, units - number);
                    }
                    let wrong = check(number, guards[place], walk);
                    if wrong != 0 {
                        return UnitsOutcome::Stopped(error(wrong, number));
                    }
                    on_block(number, guards[place], walk);
                    walk = walk.next();
                }
                UnitsOutcome::Done(walk)
            },
            |walk| tags(Record::with_status(status::SUCCESS), walk),
            // A block is checked before it is written: if it is wrong, the page that it would be written
            // to does not matter.
            |record, walk, units| match wrong_behind(units, walk) {
                0 => tags(record.with_completed(low(units * source_bytes)), walk),
                wrong => error(wrong, units),
            },
        )
    }
}

pub(super) fn check_blocks(descriptor: &Descriptor, manner: Manner) -> Record {
    let format = Format::new(descriptor, manner);
    let (from, bytes) = (descriptor.first(), format.protected());
    format.run(
        (bytes, None),
        |number, guard, walk| format.check(from + number * bytes, guard, walk.source),
        |_, _, _| {},
        |record, walk| walk.source.into_record(record, SOURCE_TAGS),
    )
}

pub(super) fn insert_protection(descriptor: &Descriptor, manner: Manner) -> Record {
    let format = Format::new(descriptor, manner);
    let (from, to) = (descriptor.first(), descriptor.second());
    let (block, protected) = (format.block, format.protected());
    format.run(
        (block, Some((to, protected))),
        |_, _, _| 0,
        |number, guard, walk| {
            let (source, place) = (from + number * block, to + number * protected);
            let protection = Format::protect(guard, walk.destination);
            copy_bytes(source, place, block);
            protection.write(place + block);
        },
        |record, walk| walk.destination.into_record(record, DESTINATION_TAGS),
    )
}

pub(super) fn strip_protection(descriptor: &Descriptor, manner: Manner) -> Record {
    let format = Format::new(descriptor, manner);
    let (from, to) = (descriptor.first(), descriptor.second());
    let (block, protected) = (format.block, format.protected());
    format.run(
        (protected, Some((to, block))),
        |number, guard, walk| format.check(from + number * protected, guard, walk.source),
        |number, _, _| copy_bytes(from + number * protected, to + number * block, block),
        |record, walk| walk.source.into_record(record, SOURCE_TAGS),
    )
}

pub(super) fn update_protection(descriptor: &Descriptor, manner: Manner) -> Record {
    let format = Format::new(descriptor, manner);
    let (from, to) = (descriptor.first(), descriptor.second());
    let (block, protected) = (format.block, format.protected());
    let flags = descriptor.dif_destination_flags();
    format.run(
        (protected, Some((to, protected))),
        |number, guard, walk| format.check(from + number * protected, guard, walk.source),
        |number, guard, walk| {
            let (source, place) = (from + number * protected, to + number * protected);
            let found = Protection::read(source + block);
            let mut protection = Format::protect(guard, walk.destination);
            if flags & destination::GUARD_PASSES != 0 {
                protection.guard = found.guard;
            }
            if flags & destination::APPLICATION_PASSES != 0 {
                protection.application = found.application;
            }
            if flags & destination::REFERENCE_PASSES != 0 {
                protection.reference = found.reference;
            }
            copy_bytes(source, place, block);
            protection.write(place + block);
        },
        |record, walk| {
            let record = walk.source.into_record(record, SOURCE_TAGS);
            walk.destination.into_record(record, DESTINATION_TAGS)
        },
    )
}

pub(super) fn generate_dix(descriptor: &Descriptor, manner: Manner) -> Record {
    let format = Format::new(descriptor, manner);
    let (to, block) = (descriptor.second(), format.block);
    format.run(
        (block, Some((to, PROTECTION_BYTES))),
        |_, _, _| 0,
        |number, guard, walk| {
            let protection = Format::protect(guard, walk.destination);
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
