//! How far an operation is: which part comes next, and what the record of a part means for the whole.

use crate::error::Error;
use crate::operation::{Operation, advanced};
use crate::outcome::{Answer, Outcome};
use crate::statistics::{Counters, Reason};
use crate::touch;
use crate::words::{self, Limits};
use dsa::descriptor::Descriptor;
use dsa::hardware::status::{self, FAULT_ON_WRITE};
use dsa::hardware::{Opcode, flags};
use dsa::record::Record;
use units::narrow::fit;

/// What follows from a record.
pub(crate) enum Absorbed {
    /// The part is done.
    Done,
    /// What is left of it goes on as this descriptor, from that offset of the operation on.
    Resume(u64, Descriptor),
    /// The CPU has to do it.
    Redo(Reason),
}

/// Times that a page may be absent although it is there, before the CPU does the part.
const MOST_STUCK: u8 = 3;

/// What the CPU's way of an operation allows.
const CPU_LIMITS: Limits = Limits { most_transfer_bytes: u32::MAX as u64, most_batch: 1024 };

/// An operation that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    operation: Operation,
    /// Where the next part begins.
    next: u64,
    has_begun: bool,
    /// Whether an answer ends the operation before its last part.
    is_final: bool,
    outcome: Outcome,
}

impl Progress {
    pub fn new(operation: Operation) -> Self {
        let record = Record::with_status(status::SUCCESS);
        let answer = Answer::Done;
        let outcome = Outcome { answer, device_bytes: 0, cpu_bytes: 0, record };
        Self { operation, next: 0, has_begun: false, is_final: false, outcome }
    }

    pub fn opcode(&self) -> Opcode {
        self.operation.opcode()
    }

    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    pub fn count_cpu(&mut self, bytes: u64) {
        self.outcome.cpu_bytes += bytes;
    }

    pub fn count_device(&mut self, bytes: u64) {
        self.outcome.device_bytes += bytes;
    }

    /// The next part of at most so many bytes, with its offset; `None` behind the last one. Parts of an
    /// operation whose parts depend on each other may only be asked for when the one before is done.
    pub fn next_part(&mut self, most_bytes: u64) -> Option<(u64, Descriptor)> {
        let left = self.operation.bytes() - self.next;
        if self.is_final || self.has_begun && left == 0 {
            return None;
        }
        let unit = self.operation.unit_bytes();
        let most = (most_bytes / unit * unit).max(unit);
        let bytes = left.min(if self.divides() { most } else { left });
        self.has_begun = true;
        let (from, to) = self.operation.operands();
        // An overlapping move to higher addresses begins with its last part.
        let at = if self.operation.overlaps() && to > from { left - bytes } else { self.next };
        self.next += bytes;
        let part = self.operation.part(at, bytes);
        let is_first = at == 0 || !self.carries();
        Some((
            at,
            if is_first { part } else { carried(&part, self.opcode(), &self.outcome.record) },
        ))
    }

    /// Whether an operation that is too large for one descriptor may be several.
    fn divides(&self) -> bool {
        use Opcode::{ApplyDelta, CreateDelta};
        !matches!(self.opcode(), CreateDelta | ApplyDelta)
    }

    /// Whether a part begins with what the record of the one before says.
    fn carries(&self) -> bool {
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

    /// Takes the record of a part that began at an offset, of a device or of the CPU.
    ///
    /// # Errors
    /// What the operation fails with.
    pub fn absorb(
        &mut self,
        (at, descriptor): (u64, &Descriptor),
        record: &Record,
        (is_device, stuck, counters): (bool, &mut u8, &Counters),
    ) -> Result<Absorbed, Error> {
        match record.status() & !FAULT_ON_WRITE {
            status::SUCCESS | status::FALSE_PREDICATE => {
                self.succeed(at, record);
                Ok(Absorbed::Done)
            }
            status::DIF_ERROR => {
                let at = at + u64::from(record.completed());
                self.outcome.record = *record;
                self.outcome.answer = Answer::Protection { dif_status: record.result(), at };
                self.is_final = true;
                Ok(Absorbed::Done)
            }
            status::PAGE_FAULT | status::PAGE_REQUEST_INVALID => {
                let is_write = record.status() & FAULT_ON_WRITE != 0;
                if !touch::page(record.fault_address(), is_write) {
                    return Err(self.fault(record));
                }
                counters.page();
                *stuck = if record.completed() > 0 { 0 } else { *stuck + 1 };
                // What says that it has done everything, and failed, is not trusted.
                let whole = match self.opcode() {
                    Opcode::ApplyDelta => descriptor.delta_bytes(),
                    _ => descriptor.size(),
                };
                let is_odd = record.completed() > 0 && record.completed() >= whole;
                if is_odd {
                    self.may_be_repeated("it counted more bytes than there are")?;
                    return Ok(Absorbed::Redo(Reason::Fault));
                }
                let next = self.resumed(at, descriptor, record);
                if *stuck > MOST_STUCK { Ok(Absorbed::Redo(Reason::Fault)) } else { Ok(next) }
            }
            status::HARDWARE_READ | status::HARDWARE_WRITE | status::HARDWARE_TRANSLATION => {
                self.may_be_repeated(status::describe(record.status()))?;
                Ok(Absorbed::Redo(Reason::Hardware))
            }
            status::BAD_OPCODE if is_device => Ok(Absorbed::Redo(Reason::Unsupported)),
            // The CPU knows whether it is the operation that is wrong, or what this device takes.
            status::BAD_FLAGS..=status::BAD_TRAFFIC_CLASS if is_device => {
                Ok(Absorbed::Redo(Reason::Refused))
            }
            _ => {
                let words = words::describe(descriptor, record, CPU_LIMITS);
                Err(Error::Refused { status: record.status(), words })
            }
        }
    }

    /// Refuses to repeat what a device may have half done within overlapping ranges.
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
            Opcode::Compare | Opcode::ComparePattern if record.result() == 0 => Answer::Equal,
            Opcode::Compare | Opcode::ComparePattern => {
                self.is_final = true;
                Answer::Differs { at: at + u64::from(record.completed()) }
            }
            Opcode::Crc | Opcode::CopyCrc => {
                let is_wide = self.operation.has(flags::CRC_64);
                Answer::Crc(if is_wide { record.crc() } else { record.crc() & 0xffff_ffff })
            }
            Opcode::CreateDelta => {
                let bytes = if record.result() == 0 { 0 } else { record.delta_bytes() };
                Answer::Delta { bytes, is_cut: record.result() == 2 }
            }
            _ => Answer::Done,
        };
    }

    /// How a part goes on behind a fault.
    fn resumed(&self, at: u64, descriptor: &Descriptor, record: &Record) -> Absorbed {
        let done = record.completed();
        let left = descriptor.size() - done.min(descriptor.size());
        let opcode = self.opcode();
        let shorter = descriptor.with_size(left);
        match opcode {
            // A move that went backwards has done its last bytes.
            Opcode::Move if record.result() == 1 => Absorbed::Resume(at, shorter),
            // The list says nothing of what a part of it came to; these are done again as a whole.
            Opcode::CreateDelta | Opcode::TranslationFetch | Opcode::NoOp | Opcode::Drain => {
                Absorbed::Resume(at, *descriptor)
            }
            Opcode::ApplyDelta => {
                let (record_at, bytes) = (descriptor.first(), descriptor.delta_bytes());
                let rest = bytes - done.min(bytes);
                let rest =
                    descriptor.with_first(record_at + u64::from(done)).with_delta_bytes(rest);
                Absorbed::Resume(at, rest)
            }
            _ if done == 0 => Absorbed::Resume(at, *descriptor),
            _ => {
                let next = advanced(&shorter, opcode, done.into());
                Absorbed::Resume(at + u64::from(done), carried(&next, opcode, record))
            }
        }
    }
}

/// A descriptor that goes on where a record says that another one has ended.
fn carried(descriptor: &Descriptor, opcode: Opcode, record: &Record) -> Descriptor {
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
        let (counters, mut stuck) = (Counters::default(), 0);
        let mut progress = Progress::new(Operation::copy(1 << 20, 2 << 20, 100));
        let (at, descriptor) = progress.next_part(1 << 20).expect("has a part");
        let refusal = Record::with_status(status::BAD_SIZE);
        let mut absorb = |is_device| {
            progress.absorb((at, &descriptor), &refusal, (is_device, &mut stuck, &counters))
        };
        assert!(matches!(absorb(true), Ok(Absorbed::Redo(Reason::Refused))));
        let error = absorb(false).err().expect("is an error").to_string();
        assert!(error.contains("status 0x13") && error.contains("transfer size 100"), "{error}");
    }
}
