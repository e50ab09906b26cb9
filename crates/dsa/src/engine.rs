//! A descriptor from its checks to its record, and a batch from its list to its record [S 3.8, 5.8].

pub(crate) mod batch;

use batch::{Batch, Crew};

use crate::checks::{Place, QueueLimits, Refusal, Rules};
use crate::descriptor::Descriptor;
use crate::hardware::capabilities::{Capabilities, gencap};
use crate::hardware::status::{self, Operand};
use crate::hardware::{Opcode, flags};
use crate::inject::{Draws, Injector};
use crate::memory::Span;
use crate::operations::{self, Manner};
use crate::record::Record;

/// What the submitter can see of the end of a descriptor, beside memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A completion record was written.
    Recorded(Record),
    /// It succeeded, and no record was requested.
    Silent(Record),
    /// It failed, and the record could not take the error: it goes to the software error register, or to
    /// the event log.
    Logged(Record),
    /// The record could not be written, and waits in the event log until the driver writes it.
    Held {
        /// Why: the fault of the record, or that one of a member waits there.
        error: Record,
        /// The record.
        record: Record,
    },
}

impl Outcome {
    /// What the record says, or would say.
    #[must_use]
    pub fn record(&self) -> Record {
        match self {
            Self::Recorded(record)
            | Self::Silent(record)
            | Self::Logged(record)
            | Self::Held { record, .. } => *record,
        }
    }

    /// What the software error register or the event log has of it: as [`Self::record`], but for a record
    /// that could not be written.
    #[must_use]
    pub fn error(&self) -> Record {
        match self {
            Self::Held { error, .. } => *error,
            other => other.record(),
        }
    }
}

/// A descriptor that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// The descriptor.
    pub descriptor: &'a Descriptor,
    /// Its number in its batch, if it is a member.
    pub member: Option<u32>,
    /// The number of its batch among those under way, if it is one or a member.
    pub batch: Option<u8>,
    /// How it ended.
    pub outcome: Outcome,
}

impl Ended<'_> {
    /// Whether its error is no completion record's.
    #[must_use]
    pub fn is_logged(&self) -> bool {
        matches!(self.outcome, Outcome::Logged(_) | Outcome::Held { .. })
    }
}

/// Who helps with a batch, and what sees the end of each descriptor.
pub(crate) type With<'a> = (Option<&'a dyn Crew>, &'a mut dyn FnMut(&Ended<'_>));

/// What a descriptor is, beside its bytes.
#[derive(Clone, Copy)]
struct At<'a> {
    place: Place,
    /// Its number in its batch.
    member: Option<u32>,
    /// The number of that batch.
    batch: Option<u8>,
    /// With what it ends if it passes the checks.
    error: Option<u8>,
    /// What its members meet, if it is a batch.
    members: Option<Draws<'a>>,
}

/// Executes descriptors, one after the other, on the memory of its process.
///
/// It has no state: threads may share one.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    capabilities: Capabilities,
    /// Whether an event log takes records that cannot be written.
    has_event_log: bool,
}

impl Engine {
    /// An engine of a device that can do this.
    ///
    /// # Safety
    /// The caller answers for the memory that descriptors name: the engine reads and writes any of the
    /// process, as a device does, also where Rust holds references.
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn new(capabilities: Capabilities) -> Self {
        Self { capabilities, has_event_log: false }
    }

    /// The same engine of a device whose event log is enabled: an operation whose record cannot be written
    /// is done all the same, as its record can be written later.
    #[must_use]
    pub fn with_event_log(self) -> Self {
        Self { has_event_log: true, ..self }
    }

    /// What it can do.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Executes a descriptor of a queue, or a whole batch, and writes its completion record.
    ///
    /// The descriptor's addresses are those of this process. An address of no page ends in the record;
    /// what the descriptor says to write is written, whatever it is.
    pub fn execute(&self, descriptor: &Descriptor, queue: &QueueLimits) -> Outcome {
        self.execute_watched(descriptor, queue, &mut |_| {})
    }

    /// As [`Self::execute`]; `watch` is called for each descriptor that ends, members before their batch.
    pub fn execute_watched(
        &self,
        descriptor: &Descriptor,
        queue: &QueueLimits,
        watch: &mut dyn FnMut(&Ended<'_>),
    ) -> Outcome {
        self.execute_with(descriptor, queue, (None, watch))
    }

    /// As [`Self::execute_watched`]; a crew helps with a batch.
    pub(crate) fn execute_with(
        &self,
        descriptor: &Descriptor,
        queue: &QueueLimits,
        (crew, watch): With<'_>,
    ) -> Outcome {
        let at = At { place: Place::Queue, member: None, batch: None, error: None, members: None };
        self.execute_at(descriptor, queue, at, (crew, watch))
    }

    /// As [`Self::execute_watched`], with the faults that an injector draws for descriptor number
    /// `number` of queue number `queue`.
    pub fn execute_injected(
        &self,
        injector: &Injector,
        (queue, number): (usize, u64),
        (descriptor, limits): (&Descriptor, &QueueLimits),
        watch: &mut dyn FnMut(&Ended<'_>),
    ) -> Outcome {
        injector.without_ranges(|| {
            let draws = injector.of(queue, number);
            self.execute_in_trouble(descriptor, limits, draws, (None, watch))
        })
    }

    /// As [`Self::execute_with`], with the trouble that an injector draws.
    pub(crate) fn execute_in_trouble(
        &self,
        descriptor: &Descriptor,
        queue: &QueueLimits,
        draws: Draws<'_>,
        (crew, watch): With<'_>,
    ) -> Outcome {
        draws.meet(descriptor, |error| {
            let members = Some(draws);
            let at = At { place: Place::Queue, member: None, batch: None, error, members };
            self.execute_at(descriptor, queue, at, (crew, watch))
        })
    }

    fn execute_at(
        &self,
        descriptor: &Descriptor,
        queue: &QueueLimits,
        At { place, member, mut batch, error, members: draws }: At<'_>,
        (crew, watch): With<'_>,
    ) -> Outcome {
        let rules = Rules { capabilities: &self.capabilities, queue, place };
        let outcome = match (rules.check(descriptor), error) {
            (Ok(_), _) if !self.has_event_log && !record_is_there(descriptor) => {
                Outcome::Logged(record_fault(descriptor, self.manner()))
            }
            (Ok(_), Some(code)) => self.end(descriptor, Record::of(code)),
            (Ok(Opcode::Batch), None) => {
                let place = Place::Batch { privileged: rules.is_privileged(descriptor) };
                let members = Batch::new(descriptor, queue, place, draws);
                batch = Some(members.number());
                let (record, is_held) = members.run(self, (crew, watch));
                if is_held { self.hold(descriptor, record) } else { self.end(descriptor, record) }
            }
            (Ok(opcode), None) => {
                let record = operations::execute(descriptor, opcode, self.manner());
                self.end(descriptor, record)
            }
            (Err(refusal), _) => self.refused(descriptor, refusal),
        };
        watch(&Ended { descriptor, member, batch, outcome });
        outcome
    }

    /// A descriptor that is not taken.
    fn refused(&self, descriptor: &Descriptor, refusal: Refusal) -> Outcome {
        let record = Record::of(refusal.code).with_u32(16, refusal.invalid_flags);
        match refusal.code {
            status::RECORD_ALIGNMENT | status::BAD_PRIVILEGE => Outcome::Logged(record),
            _ => self.end(descriptor, record),
        }
    }

    /// Writes the record, if one is due.
    fn end(&self, descriptor: &Descriptor, record: Record) -> Outcome {
        if let Some(without) = without_record(descriptor, record) {
            return without;
        }
        if record.write(descriptor.record()) {
            return Outcome::Recorded(record);
        }
        let error = record_fault(descriptor, self.manner());
        if self.has_event_log { Outcome::Held { error, record } } else { Outcome::Logged(error) }
    }

    /// Ends a batch of which a member's record waits in the event log: its own, if one is due, follows there.
    fn hold(&self, descriptor: &Descriptor, record: Record) -> Outcome {
        without_record(descriptor, record).unwrap_or_else(|| {
            let error = Record::of(status::BATCH_HELD).with_u64(8, descriptor.record());
            Outcome::Held { error, record }
        })
    }

    fn manner(&self) -> Manner {
        Manner { fault_info: self.capabilities.has(gencap::FAULT_INFO) }
    }
}

/// How a descriptor ends that no record is written for; `None` if one is due.
fn without_record(descriptor: &Descriptor, record: Record) -> Option<Outcome> {
    let is_error = !matches!(
        record.status(),
        status::SUCCESS | status::FALSE_PREDICATE | status::BATCH_MEMBER_FAILED
    );
    match descriptor.has(flags::RECORD_ADDRESS_VALID) {
        false if is_error => Some(Outcome::Logged(record)),
        true if is_error || descriptor.has(flags::REQUEST_RECORD) => None,
        _ => Some(Outcome::Silent(record)),
    }
}

/// Whether a record that is certain to be written can be: nothing is done for one that cannot.
fn record_is_there(descriptor: &Descriptor) -> bool {
    if !descriptor.has(flags::RECORD_ADDRESS_VALID | flags::REQUEST_RECORD) {
        return true;
    }
    // Aligned as it is, it lies in one page.
    Span::written_in_part(Operand::Record, descriptor.record(), 1).reach(1).1.is_none()
}

fn record_fault(descriptor: &Descriptor, manner: Manner) -> Record {
    let address = descriptor.record();
    let fault = Span::written_in_part(Operand::Record, address, 1).fault_at(address);
    Record::of_fault(status::RECORD_FAULT, fault, manner.fault_info)
}
