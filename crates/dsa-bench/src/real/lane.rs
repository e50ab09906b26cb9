//! Descriptors of a thread in flight on one queue.

#![allow(unsafe_code)]

use super::clock::{ALLOCATE, Clock, PREPARE, SUBMIT};
use crate::choices::{Descriptors, Wait};
use crate::failure::Failure;
use dsa::descriptor::Descriptor;
use dsa::hardware::{Opcode, status};
use dsa_client::instructions::{Instructions, wait_for_line};
use dsa_client::operation::Operation;
use dsa_client::outcome::Answer;
use dsa_client::portal::Portal;
use dsa_client::record_slot::Slot;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use units::narrow::fit;

/// Looks at a record before other threads get the CPU.
const SPINS: u32 = 512;
/// Refusals before other threads get the CPU.
const RETRIES_AT_ONCE: u64 = 64;
/// Refusals, and looks at a record, after which sysfs is asked whether the queue is still there.
const LOOKS_AT_QUEUE: u64 = 1 << 16;
const LOOKS_AT_RECORD: u32 = 1 << 20;
/// After so long a descriptor is taken as lost.
const LOST: Duration = Duration::from_secs(60);
/// Cycles of a wait for a line, as long as kernels allow by default.
const LINE_WAIT_CYCLES: u64 = 100_000;

/// One descriptor, with all that it names but operands.
struct Flight {
    members: Vec<Descriptor>,
    member_slots: Vec<Slot>,
    slot: Slot,
    descriptor: Descriptor,
    begun: Option<Instant>,
}

/// What makes descriptors, and submits and ends them.
pub struct Lane<'a> {
    /// The queue.
    pub portal: &'a Portal,
    /// Taken around each submission, if threads take turns.
    pub lock: Option<&'a Mutex<()>>,
    /// How records are waited for.
    pub wait: Wait,
    /// Where descriptors come from.
    pub origin: Descriptors,
    /// Flags of each.
    pub flags: u32,
    /// Operations, those of a descriptor next to each other.
    pub operations: &'a [Operation],
    /// Operations of a descriptor.
    pub batch: usize,
    /// What each operation comes to; empty: results are not compared.
    pub expected: &'a [Answer],
    ready: Vec<Option<Box<Flight>>>,
    under_way: VecDeque<(usize, Box<Flight>)>,
    /// Submissions that a queue refused.
    pub retries: u64,
}

impl<'a> Lane<'a> {
    /// A lane for all of `operations`, `batch` in each descriptor.
    pub fn new(portal: &'a Portal, operations: &'a [Operation], batch: usize) -> Self {
        let ready = (0..operations.len() / batch).map(|_| None).collect();
        Self {
            portal,
            lock: None,
            wait: Wait::Poll,
            origin: Descriptors::Prepared,
            flags: 0,
            operations,
            batch,
            expected: &[],
            ready,
            under_way: VecDeque::new(),
            retries: 0,
        }
    }

    /// Descriptors in flight.
    pub fn in_flight(&self) -> usize {
        self.under_way.len()
    }

    /// Submits descriptor `number`, which is not in flight.
    pub fn submit(&mut self, number: usize, clock: &mut Clock) -> Result<(), Failure> {
        let begun = clock.now();
        let mut flight = match self.ready[number].take() {
            Some(flight) if self.origin != Descriptors::Allocated => flight,
            _ => {
                let flight = Flight::allocated(self.batch);
                clock.end(ALLOCATE, begun);
                flight
            }
        };
        let from = clock.now();
        if self.origin != Descriptors::Prepared || flight.members.is_empty() {
            let own = &self.operations[number * self.batch..(number + 1) * self.batch];
            flight.fill_in(own, self.flags);
        }
        flight.slot.clear();
        clock.end(PREPARE, from);
        flight.begun = begun;
        self.give(&flight, clock)?;
        self.under_way.push_back((number, flight));
        Ok(())
    }

    /// Gives a descriptor to the queue, and waits for room: a queue that counts credits has some again when
    /// a descriptor of this lane that has ended is taken back.
    fn give(&mut self, flight: &Flight, clock: &mut Clock) -> Result<(), Failure> {
        let mut refused: Option<Instant> = None;
        loop {
            let from = clock.now();
            let guard = self
                .lock
                .map(|lock| lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
            // SAFETY: operands, list and records live until the descriptor has ended: lanes wait for it.
            let taken = unsafe { self.portal.submit(&flight.descriptor) };
            drop(guard);
            clock.end(SUBMIT, from);
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
            if self.retries.is_multiple_of(LOOKS_AT_QUEUE) {
                self.check_queue(since)?;
            }
        }
    }

    /// Refuses to wait for a queue that is no more, or since very long.
    fn check_queue(&self, since: Instant) -> Result<(), Failure> {
        let queue = self.portal.queue();
        if !queue.is_enabled() {
            let message = format!("{}: the queue was disabled meanwhile", queue.name);
            return Err(Failure::Failed(message));
        }
        if since.elapsed() <= LOST {
            return Ok(());
        }
        Err(Failure::Failed(format!(
            "{}: no descriptor has ended in {} s: one was lost, or the device hangs; see the `errors` of the \
             device in sysfs",
            queue.name,
            LOST.as_secs()
        )))
    }

    /// Waits for the oldest descriptor in flight.
    pub fn end_oldest(&mut self, clock: &mut Clock) -> Result<(), Failure> {
        let Some((number, flight)) = self.under_way.pop_front() else { return Ok(()) };
        if flight.slot.status() == 0 {
            let from = Instant::now();
            let waited = self.wait_for(&flight.slot, from);
            clock.waited(from.elapsed());
            if let Err(failure) = waited {
                // The device may still write to it.
                Box::leak(flight);
                return Err(failure);
            }
        }
        self.portal.ended();
        clock.latency(flight.begun);
        let ended = self.judge(number, &flight);
        self.ready[number] = Some(flight);
        ended
    }

    fn wait_for(&self, slot: &Slot, from: Instant) -> Result<(), Failure> {
        let by_line = self.wait == Wait::Umwait && Instructions::here().waits_for_lines;
        let mut looks = 0_u32;
        while slot.status() == 0 {
            looks = looks.wrapping_add(1);
            if by_line {
                wait_for_line(slot.line(), LINE_WAIT_CYCLES, || slot.status() != 0);
            } else if looks < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
            if looks.is_multiple_of(LOOKS_AT_RECORD) {
                self.check_queue(from)?;
            }
        }
        Ok(())
    }

    /// Refuses any end but success, and results that are not those of the CPU, if they are known.
    fn judge(&self, number: usize, flight: &Flight) -> Result<(), Failure> {
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

impl Lane<'_> {
    /// Compares the results of operations with those of the CPU, if they are known.
    fn compare(&self, number: usize, flight: &Flight) -> Result<(), Failure> {
        let first = number * self.batch;
        let expected = self.expected.iter().skip(first).take(self.batch);
        for (member, expected) in expected.enumerate() {
            let slot = flight.member_slots.get(member).unwrap_or(&flight.slot);
            let record = slot.record();
            let is_right = match expected {
                Answer::Crc(crc) => record.crc() & 0xffff_ffff == *crc,
                Answer::Delta { bytes, .. } => record.delta_bytes() == *bytes,
                _ => record.result() == 0,
            };
            if record.status() != status::SUCCESS || !is_right {
                return Err(Failure::Failed(format!(
                    "-v: {}: {}: the CPU's answer is {expected:?}, not that of {record:?}",
                    self.portal.queue().name,
                    self.operations[first].opcode().name()
                )));
            }
        }
        Ok(())
    }
}

impl Drop for Lane<'_> {
    /// Nothing that a device may still write to goes before the descriptor has ended.
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

impl Flight {
    fn allocated(batch: usize) -> Box<Self> {
        let slots = if batch > 1 { batch } else { 0 };
        Box::new(Self {
            members: Vec::with_capacity(batch),
            member_slots: (0..slots).map(|_| Slot::default()).collect(),
            slot: Slot::default(),
            descriptor: Descriptor::default(),
            begun: None,
        })
    }

    fn fill_in(&mut self, operations: &[Operation], flags: u32) {
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
