//! A descriptor from its checks to its record, and a batch from its list to its record [S 3.8, 5.8].

pub(crate) mod batch;

use batch::{Batch, Crew};

use crate::checks::{Place, QueueLimits, Refusal, Rules};
use crate::descriptor::Descriptor;
use crate::hardware::capabilities::{Capabilities, gencap};
use crate::hardware::status::{self, Operand};
use crate::hardware::{Opcode, flags};
use crate::inject::Draws;
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
}

impl Outcome {
    /// What the record says, or would say.
    #[must_use]
    pub fn record(&self) -> Record {
        match self {
            Self::Recorded(record) | Self::Silent(record) | Self::Logged(record) => *record,
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
    /// How it ended.
    pub outcome: Outcome,
}

impl Ended<'_> {
    /// Whether its error is no completion record's.
    #[must_use]
    pub fn is_logged(&self) -> bool {
        matches!(self.outcome, Outcome::Logged(_))
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
        Self { capabilities }
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
        let at = At { place: Place::Queue, member: None, error: None, members: None };
        self.execute_at(descriptor, queue, at, (crew, watch))
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
            let at = At { place: Place::Queue, member: None, error, members: Some(draws) };
            self.execute_at(descriptor, queue, at, (crew, watch))
        })
    }

    fn execute_at(
        &self,
        descriptor: &Descriptor,
        queue: &QueueLimits,
        At { place, member, error, members }: At<'_>,
        (crew, watch): With<'_>,
    ) -> Outcome {
        let rules = Rules { capabilities: &self.capabilities, queue, place };
        let outcome = match (rules.check(descriptor), error) {
            (Ok(_), _) if !record_is_there(descriptor) => record_fault(descriptor, self.manner()),
            (Ok(_), Some(code)) => end(descriptor, Record::of(code), self.manner()),
            (Ok(Opcode::Batch), None) => {
                let place = Place::Batch { privileged: rules.is_privileged(descriptor) };
                let batch = Batch::new(descriptor, queue, place, members);
                end(descriptor, batch.run(self, (crew, watch)), self.manner())
            }
            (Ok(opcode), None) => {
                let record = operations::execute(descriptor, opcode, self.manner());
                end(descriptor, record, self.manner())
            }
            (Err(refusal), _) => refused(descriptor, refusal, self.manner()),
        };
        watch(&Ended { descriptor, member, outcome });
        outcome
    }

    fn manner(&self) -> Manner {
        Manner { fault_info: self.capabilities.has(gencap::FAULT_INFO) }
    }
}

/// A descriptor that is not taken.
fn refused(descriptor: &Descriptor, refusal: Refusal, manner: Manner) -> Outcome {
    let record = Record::of(refusal.code).with_u32(16, refusal.invalid_flags);
    match refusal.code {
        status::RECORD_ALIGNMENT | status::BAD_PRIVILEGE => Outcome::Logged(record),
        _ => end(descriptor, record, manner),
    }
}

/// Writes the record, if one is due.
fn end(descriptor: &Descriptor, record: Record, manner: Manner) -> Outcome {
    let is_error = !matches!(
        record.status(),
        status::SUCCESS | status::FALSE_PREDICATE | status::BATCH_MEMBER_FAILED
    );
    if !descriptor.has(flags::RECORD_ADDRESS_VALID) {
        return if is_error { Outcome::Logged(record) } else { Outcome::Silent(record) };
    }
    if !is_error && !descriptor.has(flags::REQUEST_RECORD) {
        return Outcome::Silent(record);
    }
    if record.write(descriptor.record()) {
        return Outcome::Recorded(record);
    }
    record_fault(descriptor, manner)
}

/// Whether a record that is certain to be written can be: nothing is done for one that cannot.
fn record_is_there(descriptor: &Descriptor) -> bool {
    if !descriptor.has(flags::RECORD_ADDRESS_VALID | flags::REQUEST_RECORD) {
        return true;
    }
    // Aligned as it is, it lies in one page.
    Span::written_in_part(Operand::Record, descriptor.record(), 1).reach(1).1.is_none()
}

fn record_fault(descriptor: &Descriptor, manner: Manner) -> Outcome {
    let address = descriptor.record();
    let fault = Span::written_in_part(Operand::Record, address, 1).fault_at(address);
    Outcome::Logged(Record::of_fault(status::RECORD_FAULT, fault, manner.fault_info))
}
