//! Execution of a descriptor from its checks to its record, and of a batch from its list to its record
//! [S 3.8, 5.8].

pub(crate) mod batch;

use batch::{Crew, RunningBatch};

use crate::checks::{CheckRules, Membership, QueueLimits, Refusal};
use crate::descriptor::Descriptor;
use crate::hardware::capabilities::{Capabilities, gencap};
use crate::hardware::status::{self, FaultOperand};
use crate::hardware::{Opcode, flags};
use crate::inject::{Injection, Injector};
use crate::memory::Span;
use crate::operations::{self, Manner};
use crate::record::Record;

/// Result of a descriptor that its submitter can see, apart from the memory that it wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A completion record was written.
    Recorded(Record),
    /// The descriptor succeeded, and no record was requested.
    Silent(Record),
    /// The descriptor failed, and the error could not be written to a record. It goes to the software error
    /// register or the event log.
    Logged(Record),
    /// The record could not be written. It waits in the event log until the driver writes it.
    Held {
        /// Reason: the fault of the record's page, or, for a batch, that the record of a member waits there.
        error: Record,
        /// The record for the driver to write.
        record: Record,
    },
}

impl Outcome {
    /// The completion record, written or not.
    #[must_use]
    pub fn record(&self) -> Record {
        match self {
            Self::Recorded(record)
            | Self::Silent(record)
            | Self::Logged(record)
            | Self::Held { record, .. } => *record,
        }
    }

    /// The error for the software error register or the event log: the reason if the record could not be
    /// written, otherwise [`Self::record`].
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
pub struct EndedDescriptor<'a> {
    /// The descriptor as it was submitted, or read from the list of its batch.
    pub descriptor: &'a Descriptor,
    /// Number of the descriptor in its batch from 0 on, if it is a member.
    pub member: Option<u32>,
    /// Number of the batch among those being executed, if the descriptor is a batch or a member of one.
    pub batch: Option<u8>,
    /// Result of the descriptor.
    pub outcome: Outcome,
}

impl EndedDescriptor<'_> {
    /// Whether the error goes to the software error register or the event log.
    #[must_use]
    pub fn is_logged(&self) -> bool {
        matches!(self.outcome, Outcome::Logged(_) | Outcome::Held { .. })
    }
}

/// Engines that may help with a batch, and the function to call for each descriptor that ends.
pub(crate) type Execution<'a> = (Option<&'a dyn Crew>, &'a mut dyn FnMut(&EndedDescriptor<'_>));

/// Whether a descriptor came from a queue or a batch, and the fault injected into it.
#[derive(Clone, Copy)]
struct DescriptorOrigin<'a> {
    membership: Membership,
    /// Number in its batch, if it is a member.
    member: Option<u32>,
    /// Number of that batch.
    batch: Option<u8>,
    /// Status of an injected error, with which the descriptor ends if it passes the checks.
    error: Option<u8>,
    /// Faults to inject into its members, if it is a batch.
    members: Option<Injection<'a>>,
}

/// An engine that executes descriptors, one after the other, on the memory of its process.
///
/// An engine has no state: threads may share one.
#[derive(Clone, Copy, Debug)]
pub struct SoftwareEngine {
    capabilities: Capabilities,
    /// Whether an event log takes records that cannot be written.
    has_event_log: bool,
}

impl SoftwareEngine {
    /// An engine of a device with these capabilities.
    ///
    /// # Safety
    /// The caller is responsible for the memory that descriptors name: the engine reads and writes any
    /// memory of the process, as a device does, also memory that Rust has references to.
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn new(capabilities: Capabilities) -> Self {
        Self { capabilities, has_event_log: false }
    }

    /// The same engine, with an enabled event log. An operation is executed even if its record cannot be
    /// written, as the driver can write the record later.
    #[must_use]
    pub fn with_event_log(self) -> Self {
        Self { has_event_log: true, ..self }
    }

    /// Capabilities of the device of the engine.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Executes a descriptor, or a whole batch, under the limits of its queue, and writes its completion
    /// record.
    ///
    /// Addresses in the descriptor are virtual addresses of this process. An access to an address without
    /// a page is reported in the record. Any memory that the descriptor names as destination is
    /// overwritten.
    pub fn execute(&self, descriptor: &Descriptor, queue: &QueueLimits) -> Outcome {
        self.execute_watched(descriptor, queue, &mut |_| {})
    }

    /// As [`Self::execute`], and calls `watch` for each descriptor that ends, members before their batch.
    pub fn execute_watched(
        &self,
        descriptor: &Descriptor,
        queue: &QueueLimits,
        watch: &mut dyn FnMut(&EndedDescriptor<'_>),
    ) -> Outcome {
        self.execute_with(descriptor, queue, (None, watch))
    }

    /// As [`Self::execute_watched`], with a crew that helps with a batch.
    pub(crate) fn execute_with(
        &self,
        descriptor: &Descriptor,
        queue: &QueueLimits,
        (crew, watch): Execution<'_>,
    ) -> Outcome {
        let at = DescriptorOrigin {
            membership: Membership::Queue,
            member: None,
            batch: None,
            error: None,
            members: None,
        };
        self.execute_at(descriptor, queue, at, (crew, watch))
    }

    /// As [`Self::execute_watched`], with the faults that an injector draws for descriptor number
    /// `number` of queue number `queue`.
    pub fn execute_injected(
        &self,
        injector: &Injector,
        (queue, number): (usize, u64),
        (descriptor, limits): (&Descriptor, &QueueLimits),
        watch: &mut dyn FnMut(&EndedDescriptor<'_>),
    ) -> Outcome {
        injector.without_ranges(|| {
            let injection = injector.draw_for(queue, number);
            self.execute_with_injection(descriptor, limits, injection, (None, watch))
        })
    }

    /// As [`Self::execute_with`], with injected faults.
    pub(crate) fn execute_with_injection(
        &self,
        descriptor: &Descriptor,
        queue: &QueueLimits,
        injection: Injection<'_>,
        (crew, watch): Execution<'_>,
    ) -> Outcome {
        injection.inflict(descriptor, |error| {
            let members = Some(injection);
            let at = DescriptorOrigin {
                membership: Membership::Queue,
                member: None,
                batch: None,
                error,
                members,
            };
            self.execute_at(descriptor, queue, at, (crew, watch))
        })
    }

    fn execute_at(
        &self,
        descriptor: &Descriptor,
        queue: &QueueLimits,
        DescriptorOrigin { membership, member, mut batch, error, members: injection }: DescriptorOrigin<
            '_,
        >,
        (crew, watch): Execution<'_>,
    ) -> Outcome {
        let rules = CheckRules { capabilities: &self.capabilities, queue, membership };
        let outcome = match (rules.check(descriptor), error) {
            (Ok(_), _) if !self.has_event_log && !is_record_writable(descriptor) => {
                Outcome::Logged(record_fault(descriptor, self.manner()))
            }
            (Ok(_), Some(code)) => self.end(descriptor, Record::with_status(code)),
            (Ok(Opcode::Batch), None) => {
                let membership = Membership::Batch { privileged: rules.is_privileged(descriptor) };
                let members = RunningBatch::new(descriptor, queue, membership, injection);
                batch = Some(members.number());
                let (record, is_held) = members.run(self, (crew, watch));
                if is_held { self.hold(descriptor, record) } else { self.end(descriptor, record) }
            }
            (Ok(opcode), None) => {
                let record = operations::execute(descriptor, opcode, self.manner());
                self.end(descriptor, record)
            }
            (Err(refusal), _) => self.refuse(descriptor, refusal),
        };
        watch(&EndedDescriptor { descriptor, member, batch, outcome });
        outcome
    }

    /// Ends a descriptor that a check has refused.
    fn refuse(&self, descriptor: &Descriptor, refusal: Refusal) -> Outcome {
        let record = Record::with_status(refusal.code).with_u32(16, refusal.invalid_flags);
        match refusal.code {
            status::RECORD_ALIGNMENT | status::BAD_PRIVILEGE => Outcome::Logged(record),
            _ => self.end(descriptor, record),
        }
    }

    /// Ends a descriptor: writes its record, if its flags or its status require one.
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

    /// Ends a batch while the record of a member waits in the event log. The record of the batch, if one is
    /// required, goes to the event log behind it.
    fn hold(&self, descriptor: &Descriptor, record: Record) -> Outcome {
        without_record(descriptor, record).unwrap_or_else(|| {
            let error = Record::with_status(status::BATCH_HELD).with_u64(8, descriptor.record());
            Outcome::Held { error, record }
        })
    }

    fn manner(&self) -> Manner {
        Manner { fault_info: self.capabilities.has(gencap::FAULT_INFO) }
    }
}

/// Outcome of a descriptor without a record; `None` if a record has to be written.
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

/// Whether a requested record can be written. A descriptor whose record cannot be written is not executed.
fn is_record_writable(descriptor: &Descriptor) -> bool {
    if !descriptor.has(flags::RECORD_ADDRESS_VALID | flags::REQUEST_RECORD) {
        return true;
    }
    // Aligned as it is, it lies in one page.
    Span::written_in_part(FaultOperand::Record, descriptor.record(), 1).reach(1).1.is_none()
}

fn record_fault(descriptor: &Descriptor, manner: Manner) -> Record {
    let address = descriptor.record();
    let fault = Span::written_in_part(FaultOperand::Record, address, 1).fault_at(address);
    Record::from_fault(status::RECORD_FAULT, fault, manner.fault_info)
}
