//! The descriptors that a thread has in flight on one queue.

#![allow(unsafe_code)]

use super::clock::{ALLOCATE, Clock, PREPARE, SUBMIT};
use crate::failure::Failure;
use crate::option_values::{DescriptorSource, WaitMethod};
use dsa::descriptor::Descriptor;
use dsa::hardware::{Opcode, status};
use dsa_client::lost_descriptor::{DescriptorLoss, LossDetector, LossPatience};
use dsa_client::operation::OffloadOperation;
use dsa_client::outcome::OffloadAnswer;
use dsa_client::portal::QueuePortal;
use dsa_client::record_slot::RecordSlot;
use dsa_client::wait::{WaitMethod as RecordWait, Waiter};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use units::narrow::fit;

/// Refusals of a descriptor before the thread yields the CPU.
const RETRIES_AT_ONCE: u64 = 64;
/// Refusals of a descriptor, and reads of a record, after which the thread reads in sysfs whether the queue
/// is still enabled.
const REFUSALS_PER_CHECK: u64 = 1 << 16;
const READS_PER_CHECK: u32 = 1 << 20;
/// Reads of a record, without PAUSE, before the thread yields the CPU: about as long as a device takes for
/// 4 KiB.
const READS_AT_ONCE: u32 = 512;
/// Time without an end after which the device is taken to hang.
const HANGS: Duration = Duration::from_secs(60);
/// The wait for a descriptor is measured: its queue is checked rarely.
const PATIENCE: LossPatience = LossPatience { looks: READS_PER_CHECK, ..LossPatience::OF_CALLS };

/// One descriptor with its records and, for a batch, its members: all memory that it names but operands.
struct DescriptorInFlight {
    members: Vec<Descriptor>,
    member_slots: Vec<RecordSlot>,
    slot: RecordSlot,
    descriptor: Descriptor,
    begun: Option<Instant>,
}

/// Fills in descriptors, submits them to one queue and waits for their completion.
pub struct SubmissionLane<'a> {
    /// The portal of the queue.
    pub portal: &'a QueuePortal,
    /// Locked around each submission, if threads share a dedicated queue.
    pub lock: Option<&'a Mutex<()>>,
    /// How the thread waits for a record.
    pub wait: WaitMethod,
    /// How often descriptors are made.
    pub origin: DescriptorSource,
    /// Flags of each descriptor beside those of its operation.
    pub flags: u32,
    /// The operations; those of one descriptor are next to each other.
    pub operations: &'a [OffloadOperation],
    /// Number of operations of a descriptor.
    pub batch: usize,
    /// Whether the last descriptor is a drain in place of its operations.
    pub is_last_drain: bool,
    /// The result of each operation; those behind the end of the list are not compared.
    pub expected: &'a [OffloadAnswer],
    ready: Vec<Option<Box<DescriptorInFlight>>>,
    under_way: VecDeque<(usize, Box<DescriptorInFlight>)>,
    /// Number of submissions that the queue has refused.
    pub retries: u64,
}

impl<'a> SubmissionLane<'a> {
    /// A lane for all of `operations`, with `batch` of them in each descriptor. The lane polls records,
    /// takes no lock, and makes descriptors once.
    pub fn new(portal: &'a QueuePortal, operations: &'a [OffloadOperation], batch: usize) -> Self {
        let ready = (0..operations.len() / batch).map(|_| None).collect();
        Self {
            portal,
            lock: None,
            wait: WaitMethod::Poll,
            origin: DescriptorSource::Prepared,
            flags: 0,
            is_last_drain: false,
            operations,
            batch,
            expected: &[],
            ready,
            under_way: VecDeque::new(),
            retries: 0,
        }
    }

    /// Number of descriptors in flight.
    pub fn in_flight(&self) -> usize {
        self.under_way.len()
    }

    /// Submits the descriptor with this number, which must not be in flight. Waits for room in the queue.
    ///
    /// # Errors
    /// If the queue was disabled, or has taken no descriptor for 60 s.
    pub fn submit(&mut self, number: usize, clock: &mut Clock) -> Result<(), Failure> {
        let begun = clock.now();
        let mut flight = match self.ready[number].take() {
            Some(flight) if self.origin != DescriptorSource::Allocated => flight,
            _ => {
                let flight = DescriptorInFlight::allocate(self.batch);
                clock.end_phase(ALLOCATE, begun);
                flight
            }
        };
        let from = clock.now();
        if self.origin != DescriptorSource::Prepared || flight.members.is_empty() {
            if self.is_last_drain && number + 1 == self.ready.len() {
                flight.fill_in(&[OffloadOperation::drain()], 0);
            } else {
                let own = &self.operations[number * self.batch..(number + 1) * self.batch];
                flight.fill_in(own, self.flags);
            }
        }
        flight.slot.clear();
        clock.end_phase(PREPARE, from);
        flight.begun = begun;
        self.submit_until_taken(&flight, clock)?;
        self.under_way.push_back((number, flight));
        Ok(())
    }

    /// Submits a descriptor until the queue takes it. A queue that counts credits has some again when an
    /// ended descriptor of this lane is taken back.
    fn submit_until_taken(
        &mut self,
        flight: &DescriptorInFlight,
        clock: &mut Clock,
    ) -> Result<(), Failure> {
        let mut refused: Option<Instant> = None;
        loop {
            let from = clock.now();
            let guard = self
                .lock
                .map(|lock| lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
            // SAFETY: operands, list and records live until the descriptor has ended: lanes wait for it.
            let taken = unsafe { self.portal.submit(&flight.descriptor) };
            drop(guard);
            clock.end_phase(SUBMIT, from);
            if taken {
                return Ok(());
            }
            self.retries += 1;
            if self.under_way.front().is_some_and(|(_, oldest)| oldest.slot.status() != 0) {
                self.end_oldest(clock)?;
            } else if self.retries.is_multiple_of(RETRIES_AT_ONCE) {
                std::thread::yield_now();
            }
            let since = *refused.get_or_insert_with(Instant::now);
            if self.retries.is_multiple_of(REFUSALS_PER_CHECK) {
                self.check_queue(since)?;
            }
        }
    }

    /// Fails if the queue is disabled, or if the wait that began at `since` is longer than [`HANGS`].
    fn check_queue(&self, since: Instant) -> Result<(), Failure> {
        let queue = self.portal.queue();
        if !queue.is_enabled() {
            return Err(self.lost(DescriptorLoss::Disabled));
        }
        if since.elapsed() <= HANGS {
            return Ok(());
        }
        Err(Failure::Failed(format!(
            "{}: no descriptor has ended in {} s; see the `errors` of the device in sysfs",
            queue.name,
            HANGS.as_secs()
        )))
    }

    fn lost(&self, loss: DescriptorLoss) -> Failure {
        let what = match loss {
            DescriptorLoss::Disabled => "the queue was disabled meanwhile",
            DescriptorLoss::Dropped => {
                "the queue has dropped a descriptor; see the `errors` of the device in sysfs"
            }
        };
        Failure::Failed(format!("{}: {what}", self.portal.queue().name))
    }

    /// Waits for the completion of the oldest descriptor in flight, and checks its result. Without
    /// descriptors in flight it returns at once.
    ///
    /// # Errors
    /// If the descriptor failed, has another result than the CPU, or did not end.
    pub fn end_oldest(&mut self, clock: &mut Clock) -> Result<(), Failure> {
        let Some((number, flight)) = self.under_way.pop_front() else { return Ok(()) };
        if flight.slot.status() == 0 {
            let from = Instant::now();
            let waited = self.wait_for(&flight.slot, from);
            clock.add_wait(from.elapsed());
            if let Err(failure) = waited {
                // The device may still write to it.
                Box::leak(flight);
                return Err(failure);
            }
        }
        self.portal.ended();
        clock.note_latency(flight.begun);
        let ended = self.check_record(number, &flight);
        self.ready[number] = Some(flight);
        ended
    }

    fn wait_for(&self, slot: &RecordSlot, from: Instant) -> Result<(), Failure> {
        let mut waiter = Waiter::new(match self.wait {
            WaitMethod::Umwait => RecordWait::Line,
            WaitMethod::Pause => RecordWait::Poll,
            WaitMethod::Poll | WaitMethod::Interrupt => RecordWait::Yield,
        });
        let reads_at_once = if self.wait == WaitMethod::Poll { READS_AT_ONCE } else { 0 };
        let (mut loss, mut looks) = (LossDetector::new(PATIENCE), 0_u32);
        while slot.status() == 0 {
            if looks >= reads_at_once {
                waiter.pause(Some(slot));
            }
            if let Some(loss) = loss.find_loss(self.portal, || slot.status() != 0) {
                return Err(self.lost(loss));
            }
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(READS_PER_CHECK) {
                self.check_queue(from)?;
            }
        }
        Ok(())
    }

    /// Fails for each status but success, and for results other than the CPU's, if these are known.
    fn check_record(&self, number: usize, flight: &DescriptorInFlight) -> Result<(), Failure> {
        let record = flight.slot.record();
        if record.status() == status::SUCCESS && record.result() == 0 {
            return self.compare(number, flight);
        }
        let members = flight.member_slots.iter().map(|slot| slot.record());
        let failed = members.enumerate().find(|(_, it)| it.status() > status::SUCCESS);
        let (who, record) = match failed {
            Some((number, member)) => (format!(", member {number}"), member),
            None => (String::new(), record),
        };
        // A record of differences is one result, and so is the other operand of a comparison.
        if record.status() == status::SUCCESS && self.operations[0].opcode() == Opcode::CreateDelta
        {
            return self.compare(number, flight);
        }
        let (name, code) = (&self.portal.queue().name, record.status());
        Err(Failure::Failed(format!(
            "{name}: {}{who}: status {code:#04x}, {}; result {}, bytes completed {}, flags {:#x}",
            self.operations[0].opcode().name(),
            status::describe(code),
            record.result(),
            record.completed(),
            record.invalid_flags()
        )))
    }
}

impl SubmissionLane<'_> {
    /// Compares the results of a descriptor's operations with those of the CPU, if these are known.
    fn compare(&self, number: usize, flight: &DescriptorInFlight) -> Result<(), Failure> {
        let first = number * self.batch;
        let expected = self.expected.iter().skip(first).take(self.batch);
        for (member, expected) in expected.enumerate() {
            let slot = flight.member_slots.get(member).unwrap_or(&flight.slot);
            let record = slot.record();
            let is_right = match expected {
                OffloadAnswer::Crc(crc) => record.crc() & 0xffff_ffff == *crc,
                OffloadAnswer::Delta { bytes, .. } => record.delta_bytes() == *bytes,
                _ => record.result() == 0,
            };
            if record.status() != status::SUCCESS || !is_right {
                return Err(Failure::Failed(format!(
                    "-v 1: {}: {}: the CPU's answer is {expected:?}, not that of {record:?}",
                    self.portal.queue().name,
                    self.operations[first].opcode().name()
                )));
            }
        }
        Ok(())
    }
}

impl Drop for SubmissionLane<'_> {
    /// Waits for all descriptors in flight, as a device may still write to their memory; memory whose
    /// descriptor does not end is leaked.
    fn drop(&mut self) {
        while let Some((_, flight)) = self.under_way.pop_front() {
            match self.wait_for(&flight.slot, Instant::now()) {
                Ok(()) => self.portal.ended(),
                Err(_) => {
                    Box::leak(flight);
                }
            }
        }
    }
}

impl DescriptorInFlight {
    fn allocate(batch: usize) -> Box<Self> {
        let slots = if batch > 1 { batch } else { 0 };
        Box::new(Self {
            members: Vec::with_capacity(batch),
            member_slots: (0..slots).map(|_| RecordSlot::default()).collect(),
            slot: RecordSlot::default(),
            descriptor: Descriptor::default(),
            begun: None,
        })
    }

    fn fill_in(&mut self, operations: &[OffloadOperation], flags: u32) {
        self.members.clear();
        let is_batch = operations.len() > 1;
        for (number, operation) in operations.iter().enumerate() {
            let slot = if is_batch { &self.member_slots[number] } else { &self.slot };
            let it = operation.descriptor().recording(slot.address());
            self.members.push(it.with_flags(it.flags() | flags));
        }
        self.descriptor = if is_batch {
            Descriptor::of(Opcode::Batch)
                .with_first(self.members.as_ptr() as u64)
                .with_size(fit(self.members.len()))
                .recording(self.slot.address())
        } else {
            self.members[0]
        };
    }
}
