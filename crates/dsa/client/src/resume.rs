//! Progress of an operation: its division into pieces, and how a piece resumes after a page fault.

use crate::error::Error;
use crate::operation::{OffloadOperation, advanced};
use crate::outcome::{OffloadAnswer, OffloadOutcome};
use crate::page_in;
use crate::record_description::{self, Limits};
use crate::statistics::{ClientCounters, Reason};
use dsa::descriptor::Descriptor;
use dsa::hardware::status::{self, FAULT_ON_WRITE};
use dsa::hardware::{Opcode, flags};
use dsa::record::Record;
use units::narrow::fit;

/// The consequence of the record of a piece.
pub(crate) enum PieceResult {
    /// The piece is done.
    Done,
    /// The rest of the piece continues as this descriptor, from this offset of the operation on.
    Resume(u64, Descriptor),
    /// The CPU has to execute the piece, for this reason.
    Redo(Reason),
}

/// Times that a device may report a page absent although it is present, before the CPU executes the piece.
const MOST_STUCK: u8 = 3;

/// Limits of a descriptor that the CPU executes.
const CPU_LIMITS: Limits = Limits { most_transfer_bytes: u32::MAX as u64, most_batch: 1024 };

/// The progress of an operation that is under way.
#[derive(Clone, Debug)]
pub(crate) struct OperationProgress {
    operation: OffloadOperation,
    /// Offset of the next piece.
    next: u64,
    has_begun: bool,
    /// Whether an answer has ended the operation before its last piece.
    is_final: bool,
    outcome: OffloadOutcome,
}

impl OperationProgress {
    pub fn new(operation: OffloadOperation) -> Self {
        let record = Record::with_status(status::SUCCESS);
        let answer = OffloadAnswer::Done;
        let outcome = OffloadOutcome { answer, device_bytes: 0, cpu_bytes: 0, record };
        Self { operation, next: 0, has_begun: false, is_final: false, outcome }
    }

    pub fn opcode(&self) -> Opcode {
        self.operation.opcode()
    }

    pub fn operation(&self) -> &OffloadOperation {
        &self.operation
    }

    pub fn outcome(&self) -> OffloadOutcome {
        self.outcome
    }

    pub fn count_cpu(&mut self, bytes: u64) {
        self.outcome.cpu_bytes += bytes;
    }

    pub fn count_device(&mut self, bytes: u64) {
        self.outcome.device_bytes += bytes;
    }

    /// The next piece, of at most so many bytes, with its offset; `None` after the last one. If pieces of the
    /// operation depend on each other, each has to be done before the next one is taken.
    pub fn next_piece(&mut self, most_bytes: u64) -> Option<(u64, Descriptor)> {
        let left = self.operation.bytes() - self.next;
        if self.is_final || self.has_begun && left == 0 {
            return None;
        }
        let unit = self.operation.unit_bytes();
        let most = (most_bytes / unit * unit).max(unit);
        let bytes = left.min(if self.divides() { most } else { left });
        self.has_begun = true;
        let (from, to) = self.operation.operands();
        // An overlapping move to higher addresses begins with its last piece.
        let at = if self.operation.overlaps() && to > from { left - bytes } else { self.next };
        self.next += bytes;
        let piece = self.operation.piece(at, bytes);
        let is_first = at == 0 || !self.seeds_next();
        Some((
            at,
            if is_first { piece } else { seeded_by(&piece, self.opcode(), &self.outcome.record) },
        ))
    }

    /// Whether an operation that is too large for one descriptor may be several.
    fn divides(&self) -> bool {
        use Opcode::{ApplyDelta, CreateDelta};
        !matches!(self.opcode(), CreateDelta | ApplyDelta)
    }

    /// Whether the record of each piece has the seed or the tags of the next one.
    fn seeds_next(&self) -> bool {
        matches!(
            self.opcode(),
            Opcode::Crc
                | Opcode::CopyCrc
                | Opcode::DifCheck
                | Opcode::DifInsert
                | Opcode::DifStrip
                | Opcode::DifUpdate
                | Opcode::DixGenerate
        )
    }

    /// Evaluates the completion record of a piece that began at an offset, on a device or on the CPU.
    ///
    /// # Errors
    /// If the operation fails.
    pub fn evaluate(
        &mut self,
        (at, descriptor): (u64, &Descriptor),
        record: &Record,
        (is_device, stuck, counters): (bool, &mut u8, &ClientCounters),
    ) -> Result<PieceResult, Error> {
        match record.status() & !FAULT_ON_WRITE {
            status::SUCCESS | status::FALSE_PREDICATE => {
                self.succeed(at, record);
                Ok(PieceResult::Done)
            }
            status::DIF_ERROR => {
                let at = at + u64::from(record.completed());
                self.outcome.record = *record;
                self.outcome.answer = OffloadAnswer::Protection { dif_status: record.result(), at };
                self.is_final = true;
                Ok(PieceResult::Done)
            }
            status::PAGE_FAULT | status::PAGE_REQUEST_INVALID => {
                let is_write = record.status() & FAULT_ON_WRITE != 0;
                if !page_in::bring_in(record.fault_address(), is_write) {
                    return Err(self.fault(record));
                }
                counters.page();
                *stuck = if record.completed() > 0 { 0 } else { *stuck + 1 };
                // A record that reports a fault after all bytes are done is not trusted.
                let whole = match self.opcode() {
                    Opcode::ApplyDelta => descriptor.delta_bytes(),
                    _ => descriptor.size(),
                };
                let is_contradictory = record.completed() > 0 && record.completed() >= whole;
                if is_contradictory {
                    self.may_be_repeated("it counted more bytes than there are")?;
                    return Ok(PieceResult::Redo(Reason::Fault));
                }
                let next = self.resume(at, descriptor, record);
                if *stuck > MOST_STUCK { Ok(PieceResult::Redo(Reason::Fault)) } else { Ok(next) }
            }
            status::HARDWARE_READ | status::HARDWARE_WRITE | status::HARDWARE_TRANSLATION => {
                self.may_be_repeated(status::describe(record.status()))?;
                Ok(PieceResult::Redo(Reason::Hardware))
            }
            status::BAD_OPCODE if is_device => Ok(PieceResult::Redo(Reason::Unsupported)),
            // The CPU finds out whether the operation is wrong, or only not supported by this device.
            status::BAD_FLAGS..=status::BAD_TRAFFIC_CLASS if is_device => {
                Ok(PieceResult::Redo(Reason::Refused))
            }
            _ => {
                let words = record_description::describe(descriptor, record, CPU_LIMITS);
                Err(Error::Refused { status: record.status(), words })
            }
        }
    }

    /// Checks that a piece may be repeated.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the ranges overlap, since a device may have copied half of the bytes.
    pub fn may_be_repeated(&self, why: &'static str) -> Result<(), Error> {
        if self.operation.overlaps() {
            return Err(Error::Damaged { operation: self.opcode().name(), why });
        }
        Ok(())
    }

    /// The fault of a page that this process may not access.
    pub fn fault(&self, record: &Record) -> Error {
        Error::Fault {
            operation: self.opcode().name(),
            address: record.fault_address() & !0xfff,
            is_write: record.status() & FAULT_ON_WRITE != 0,
        }
    }

    fn succeed(&mut self, at: u64, record: &Record) {
        self.outcome.record = *record;
        self.outcome.answer = match self.opcode() {
            Opcode::Compare | Opcode::ComparePattern if record.result() == 0 => {
                OffloadAnswer::Equal
            }
            Opcode::Compare | Opcode::ComparePattern => {
                self.is_final = true;
                OffloadAnswer::Differs { at: at + u64::from(record.completed()) }
            }
            Opcode::Crc | Opcode::CopyCrc => {
                let is_wide = self.operation.has(flags::CRC_64);
                OffloadAnswer::Crc(if is_wide { record.crc() } else { record.crc() & 0xffff_ffff })
            }
            Opcode::CreateDelta => {
                let bytes = if record.result() == 0 { 0 } else { record.delta_bytes() };
                OffloadAnswer::Delta { bytes, is_cut: record.result() == 2 }
            }
            _ => OffloadAnswer::Done,
        };
    }

    /// The descriptor with which a piece resumes after a page fault.
    fn resume(&self, at: u64, descriptor: &Descriptor, record: &Record) -> PieceResult {
        let done = record.completed();
        let left = descriptor.size() - done.min(descriptor.size());
        let opcode = self.opcode();
        let shorter = descriptor.with_size(left);
        match opcode {
            // A move that went backwards has done its last bytes.
            Opcode::Move if record.result() == 1 => PieceResult::Resume(at, shorter),
            // The record has no partial result of these operations; they are repeated as a whole.
            Opcode::CreateDelta | Opcode::TranslationFetch | Opcode::NoOp | Opcode::Drain => {
                PieceResult::Resume(at, *descriptor)
            }
            Opcode::ApplyDelta => {
                let (record_at, bytes) = (descriptor.first(), descriptor.delta_bytes());
                let rest = bytes - done.min(bytes);
                let rest =
                    descriptor.with_first(record_at + u64::from(done)).with_delta_bytes(rest);
                PieceResult::Resume(at, rest)
            }
            _ if done == 0 => PieceResult::Resume(at, *descriptor),
            _ => {
                let next = advanced(&shorter, opcode, done.into());
                PieceResult::Resume(at + u64::from(done), seeded_by(&next, opcode, record))
            }
        }
    }
}

/// A descriptor with the seed or the tags of the record of the piece before it.
fn seeded_by(descriptor: &Descriptor, opcode: Opcode, record: &Record) -> Descriptor {
    let tags_at = |at: usize| {
        let bytes = &record.0[at..at + 8];
        let reference = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        (reference, u16::from_le_bytes([bytes[6], bytes[7]]))
    };
    let source = |it: Descriptor| {
        let (reference, application) = tags_at(16);
        it.with_source_reference(reference).with_source_application(application)
    };
    let destination = |it: Descriptor| {
        let (reference, application) = tags_at(24);
        it.with_destination_reference(reference).with_destination_application(application)
    };
    match opcode {
        Opcode::Crc | Opcode::CopyCrc if descriptor.has(flags::CRC_64) => {
            descriptor.with_crc_seed_64(record.crc())
        }
        Opcode::Crc | Opcode::CopyCrc => descriptor.with_crc_seed(fit(record.crc() & 0xffff_ffff)),
        Opcode::DifCheck | Opcode::DifStrip => source(*descriptor),
        Opcode::DifInsert | Opcode::DixGenerate => destination(*descriptor),
        Opcode::DifUpdate => destination(source(*descriptor)),
        _ => *descriptor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_refuses_is_for_the_cpu_to_judge() {
        let (counters, mut stuck) = (ClientCounters::default(), 0);
        let mut progress = OperationProgress::new(OffloadOperation::copy(1 << 20, 2 << 20, 100));
        let (at, descriptor) = progress.next_piece(1 << 20).expect("has a piece");
        let refusal = Record::with_status(status::BAD_SIZE);
        let mut absorb = |is_device| {
            progress.evaluate((at, &descriptor), &refusal, (is_device, &mut stuck, &counters))
        };
        assert!(matches!(absorb(true), Ok(PieceResult::Redo(Reason::Refused))));
        let error = absorb(false).err().expect("is an error").to_string();
        assert!(error.contains("status 0x13") && error.contains("transfer size 100"), "{error}");
    }
}
