//! Data operations, one after the other or several at a time: by the core itself, or by a copy engine.
//!
//! Models: the modes of dsa-perf-micros: synchronous (one descriptor in flight) and asynchronous, in batches,
//! over buffers used in turn; the core's own loops for the same operations.
//! Source: Intel's dsa-perf-micros (modes); ASPLOS'24, section 4.1.
//! Simplifies: nothing but the operations happens on the core.

use crate::driver::dsa::{DsaClient, Enqueued, work_of};
use hdrhistogram::Histogram;
use model::core::Core;
use model::device::dsa::descriptor::{Descriptor, Operands};
use model::device::dsa::portal::{Portal, Status};
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::latency_histogram;
use model::software::{Account, Software, Turn};
use model::tracer::Tracer;
use std::collections::BTreeMap;
use units::{Cycles, LINE_BYTES, Picos};

/// Lines that a core moves in a turn.
const LINES_PER_TURN: u64 = 16;

/// Who moves the data.
#[derive(Debug)]
pub enum Mover {
    /// The core itself.
    Core {
        /// A call of the operation.
        call: Cycles,
        /// Work for each line of the longest operand, memory apart.
        line: Cycles,
    },
    /// A copy engine behind this queue.
    Engine(Box<DsaClient>, QueueId),
}

/// What the core does.
#[derive(Debug)]
enum Phase {
    /// Looks for completions, or begins an operation.
    Look,
    /// Waits for the answer to an ENQCMD.
    Answer,
    /// Moves lines itself, from this one on; the latest data arrives then.
    Move { begun: Picos, line: u64, arrived: Picos },
}

/// Why the core waits, and since when.
#[derive(Clone, Copy, Debug)]
enum Wait {
    Completion(Picos),
    Answer(Picos),
}

/// The operations on their core.
#[derive(Debug)]
pub struct Offload {
    core: Core,
    mover: Mover,
    /// An operation on each set of buffers.
    operations: Vec<Descriptor>,
    /// Flushes the operands of an operation behind it.
    flushes: bool,
    next: usize,
    phase: Phase,
    waiting: Option<Wait>,
    /// When each descriptor in flight began, and its operations, by its slot.
    in_flight: BTreeMap<u64, (Picos, Vec<Descriptor>)>,
    account: Account,
    latency_ns: Histogram<u64>,
}

impl Offload {
    /// `operations` in turn, by `mover`.
    ///
    /// # Panics
    /// Without operations. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(core: Core, mover: Mover, operations: Vec<Descriptor>, flushes: bool) -> Self {
        assert!(!operations.is_empty());
        Self {
            core,
            mover,
            operations,
            flushes,
            next: 0,
            phase: Phase::Look,
            waiting: None,
            in_flight: BTreeMap::new(),
            account: Account::default(),
            latency_ns: latency_histogram::latency_histogram(),
        }
    }

    fn next_operation(&mut self) -> Descriptor {
        let operation = self.operations[self.next];
        self.next = (self.next + 1) % self.operations.len();
        operation
    }

    /// Ends a wait: its time counts for what the core waited for.
    fn end_wait(&mut self) {
        let now = self.core.now();
        match self.waiting.take() {
            Some(Wait::Completion(since)) => {
                self.account.idle += now - since;
                if let Mover::Engine(client, _) = &self.mover {
                    client.wake(&mut self.core);
                }
            }
            Some(Wait::Answer(since)) => self.account.offload.submit += now - since,
            None => {}
        }
    }

    /// A step of a core that has an engine.
    fn offload<T: Tracer>(&mut self, fabric: &mut Fabric<T>, portal: &mut Portal) -> Turn {
        let Mover::Engine(client, _) = &mut self.mover else { return Turn::Idle(Picos::NEVER) };
        if matches!(self.phase, Phase::Answer) {
            let before = self.core.now();
            match client.take_answer(&mut self.core, portal) {
                Enqueued::Taken => self.phase = Phase::Look,
                Enqueued::Again => self.account.offload.retries += 1,
                Enqueued::Waits => {}
            }
            self.account.offload.submit += self.core.now() - before;
            if matches!(self.phase, Phase::Answer) {
                self.waiting = Some(Wait::Answer(self.core.now()));
                return Turn::Idle(portal.answer.map_or(Picos::NEVER, |(_, received)| received));
            }
        }
        if let Some(completion) = client.reap(&mut self.core, fabric, portal) {
            let failed = completion.status != Status::Success;
            self.complete(fabric, completion.id, failed);
            return Turn::Busy(self.core.now());
        }
        if let Some((number, slot)) = client.take_slot() {
            let batch = client.config().batch;
            return self.begin(fabric, portal, (number, slot), batch);
        }
        let until = client.next_known(portal);
        self.waiting = Some(Wait::Completion(self.core.now()));
        Turn::Idle(until)
    }

    fn begin<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        portal: &mut Portal,
        (number, slot): (usize, crate::driver::dsa::Slot),
        batch: u32,
    ) -> Turn {
        let begun = self.core.now();
        let members: Vec<Descriptor> = (0..batch).map(|_| self.next_operation()).collect();
        self.in_flight.insert(number as u64, (begun, members.clone()));
        let work = work_of(members, number, slot);
        let Mover::Engine(client, _) = &mut self.mover else { return Turn::Idle(Picos::NEVER) };
        client.prepare(&mut self.core, fabric, slot, &work);
        let prepared = self.core.now();
        self.account.offload.prepare += prepared - begun;
        let waits = client.submit(&mut self.core, portal, work);
        self.account.offload.submit += self.core.now() - prepared;
        if waits {
            self.phase = Phase::Answer;
            self.waiting = Some(Wait::Answer(self.core.now()));
            return Turn::Idle(Picos::NEVER);
        }
        Turn::Busy(self.core.now())
    }

    fn complete<T: Tracer>(&mut self, fabric: &mut Fabric<T>, slot: u64, failed: bool) {
        let Some((begun, operations)) = self.in_flight.remove(&slot) else { return };
        let latency = self.core.now() - begun;
        self.latency_ns.saturating_record(latency.0 / 1_000);
        self.account.offload.failed += u64::from(failed);
        for operation in operations {
            self.count(fabric, &operation);
        }
    }

    /// Counts an operation that has ended.
    fn count<T: Tracer>(&mut self, fabric: &mut Fabric<T>, operation: &Descriptor) {
        self.account.work += 1;
        self.account.offload.bytes += operation.bytes;
        if self.flushes {
            let now = self.core.now();
            for operand in operation.operands().all() {
                for line in 0..operand.bytes.div_ceil(LINE_BYTES) {
                    fabric.flush(operand.first.step(line), now);
                }
            }
        }
    }

    /// A step of a core that moves the data itself.
    fn move_lines<T: Tracer>(&mut self, fabric: &mut Fabric<T>) -> Turn {
        let Mover::Core { call, line: work } = self.mover else { return Turn::Idle(Picos::NEVER) };
        let operation = self.operations[self.next];
        let operands = operation.operands();
        let (begun, first, mut arrived) = match self.phase {
            Phase::Move { begun, line, arrived } => (begun, line, arrived),
            Phase::Look | Phase::Answer => {
                let begun = self.core.now();
                self.core.compute(call);
                (begun, 0, begun)
            }
        };
        let end = operands.lines().min(first + LINES_PER_TURN);
        for line in first..end {
            arrived = arrived.max(touch_line(&mut self.core, fabric, &operands, line));
            self.core.compute(work);
        }
        self.phase = Phase::Move { begun, line: end, arrived };
        if end == operands.lines() {
            self.core.wait_until(arrived);
            self.phase = Phase::Look;
            let latency = self.core.now() - begun;
            self.latency_ns.saturating_record(latency.0 / 1_000);
            let operation = self.next_operation();
            self.count(fabric, &operation);
        }
        Turn::Busy(self.core.now())
    }
}

/// Loads, stores or flushes the lines of all operands that belong to one line of the longest. Returns when
/// the last data of a load arrives.
fn touch_line<T: Tracer>(
    core: &mut Core,
    fabric: &mut Fabric<T>,
    operands: &Operands,
    line: u64,
) -> Picos {
    let all = operands.lines();
    // A shorter operand is touched when its next line begins.
    let own = |bytes: u64| {
        let lines = bytes.div_ceil(LINE_BYTES);
        let at = line * lines / all;
        (line == 0 || (line - 1) * lines / all != at).then_some(at).filter(|&at| at < lines)
    };
    let mut arrived = core.now();
    for operand in operands.reads.iter().flatten() {
        if let Some(at) = own(operand.bytes) {
            arrived = arrived.max(core.load_independent(fabric, operand.first.step(at)));
        }
    }
    for operand in operands.writes.iter().flatten() {
        if let Some(at) = own(operand.bytes) {
            core.store(fabric, operand.first.step(at));
        }
    }
    if let Some(operand) = operands.flushes {
        arrived = arrived.max(fabric.flush(operand.first.step(line), core.now()));
    }
    arrived
}

impl<T: Tracer> Software<T> for Offload {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        self.end_wait();
        match &self.mover {
            Mover::Core { .. } => self.move_lines(fabric),
            Mover::Engine(_, queue) => {
                let queue = *queue;
                self.offload(fabric, queues.dsa_portal(queue))
            }
        }
    }

    fn queues(&self) -> &[QueueId] {
        match &self.mover {
            Mover::Core { .. } => &[],
            Mover::Engine(_, queue) => std::slice::from_ref(queue),
        }
    }

    fn account(&self, now: Picos) -> Account {
        let since = |start: Picos| now.saturating_sub(start);
        let mut account = self.account;
        match self.waiting {
            Some(Wait::Completion(start)) => account.idle += since(start),
            Some(Wait::Answer(start)) => account.offload.submit += since(start),
            None => {}
        }
        account
    }

    fn take_latencies(&mut self) -> Option<Histogram<u64>> {
        Some(latency_histogram::take(&mut self.latency_ns))
    }
}
