//! Data operations, one after the other or several at a time: by copy engines, or by the core itself.
//!
//! Models: the modes of dsa-perf-micros: synchronous (one descriptor in flight) and asynchronous, in batches,
//! over sets of buffers used in turn; the state of the buffers in the caches before each operation; pages
//! that are absent, and what software does about them. All movers use the same buffers in the same order.
//! Source: Intel's dsa-perf-micros (modes); DTO for software that goes on behind a fault; ASPLOS'24,
//! section 4.1.
//! Simplifies: buffers are prepared for the next operation in no time.

pub mod absent_pages;

use crate::driver::core_mover::CoreMover;
use crate::driver::offloader::{EndedOffload, Offloader, OnCore};
use absent_pages::AbsentPages;
use hdrhistogram::Histogram;
use model::core::Core;
use model::device::dsa::descriptor::{Descriptor, Destination};
use model::device::dsa::portal::Status;
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::latency_histogram;
use model::software::{Account, DESCRIPTOR_PHASES, Software, Turn};
use model::tracer::Tracer;
use std::collections::{BTreeMap, VecDeque};
use units::narrow::usize_from;
use units::{LINE_BYTES, Picos};

/// Where the data of an operation is before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataState {
    /// Where the core that wrote it and earlier operations left it.
    AsLeft,
    /// In the LLC, and not in the core's own caches.
    Llc,
    /// In memory only.
    Flushed,
}

/// Handling of pages that are absent when an operation needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFault {
    /// The engine waits for the operating system.
    Block,
    /// The descriptor ends; the core touches the page and submits the rest.
    Resubmit,
    /// The descriptor ends; the core does the rest itself.
    Software,
    /// The core touches all pages before it submits.
    Touch,
}

/// Parameters of an [`Offload`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffloadConfig {
    /// State of the data in the caches before each operation.
    pub data: DataState,
    /// Handling of absent pages: by the engine, by the core, or in advance.
    pub on_fault: OnFault,
    /// Operations that one descriptor carries: a batch, if more than 1.
    pub batch: u32,
    /// Whether all members of a batch use the same buffers.
    pub members_share_buffers: bool,
}

/// Operations on their core.
#[derive(Debug)]
pub struct Offload {
    config: OffloadConfig,
    core: Core,
    /// Engines, if the core does not do all by itself.
    offloader: Option<Offloader>,
    mover: CoreMover,
    pages: Option<AbsentPages>,
    /// An operation on each set of buffers.
    operations: Vec<Descriptor>,
    /// Changes of cache control, in time order.
    destinations: VecDeque<(Picos, Destination)>,
    /// Number of the next operation: the tag of a descriptor is the number of its first one.
    next: u64,
    members: Vec<Descriptor>,
    /// Rests of operations that ended at an absent page, by tag; they are submitted again.
    rests: BTreeMap<u64, Descriptor>,
    again: VecDeque<(u64, Picos)>,
    /// The operation that the core does itself: tag, begin, and begin of its own part.
    moving: (u64, Picos, Picos),
    account: Account,
    latency_ns: Histogram<u64>,
}

impl Offload {
    /// `operations` in turn, by engines if there is an offloader.
    ///
    /// # Panics
    /// Without operations. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(
        config: OffloadConfig,
        core: Core,
        (offloader, mover): (Option<Offloader>, CoreMover),
        pages: Option<AbsentPages>,
        operations: Vec<Descriptor>,
    ) -> Self {
        assert!(!operations.is_empty());
        Self {
            config,
            core,
            offloader,
            mover,
            pages,
            operations,
            destinations: VecDeque::new(),
            next: 0,
            members: Vec::new(),
            rests: BTreeMap::new(),
            again: VecDeque::new(),
            moving: (0, Picos::ZERO, Picos::ZERO),
            account: Account::default(),
            latency_ns: latency_histogram::latency_histogram(),
        }
    }

    /// Lets the destination of descriptors that are prepared from each time on be another one.
    #[must_use]
    pub fn with_destinations(mut self, mut changes: Vec<(Picos, Destination)>) -> Self {
        changes.sort_by_key(|&(from, _)| from);
        self.destinations = changes.into();
        self
    }

    fn operation(&self, tag: u64) -> Descriptor {
        let shared =
            if self.config.members_share_buffers { u64::from(self.config.batch) } else { 1 };
        self.operations[usize_from(tag / shared % self.operations.len() as u64)]
    }

    /// The next operation, its data prepared.
    fn next_operation<T: Tracer>(&mut self, fabric: &mut Fabric<T>) -> Descriptor {
        while let Some(&(from, destination)) = self.destinations.front()
            && from <= self.core.now()
        {
            self.operations.iter_mut().for_each(|operation| operation.destination = destination);
            self.destinations.pop_front();
        }
        let operation = self.operation(self.next);
        self.next += 1;
        let (core, now) = (self.core.id(), self.core.now());
        for operand in operation.operands().all() {
            let (first, lines) = (operand.first, operand.bytes.div_ceil(LINE_BYTES));
            match self.config.data {
                DataState::AsLeft => {}
                DataState::Llc => {
                    (0..lines).for_each(|line| fabric.demote(core, first.step(line), now));
                }
                DataState::Flushed => fabric.discard(first, lines),
            }
        }
        if let Some(pages) = &mut self.pages {
            pages.take_away(fabric, &operation);
        }
        operation
    }

    /// A step of a core with engines.
    fn offload<T: Tracer>(
        &mut self,
        offloader: &mut Offloader,
        fabric: &mut Fabric<T>,
        queues: &mut Queues,
    ) -> Turn {
        let at = &mut OnCore { core: &mut self.core, fabric, queues };
        if let Some(turn) = offloader.resume(at) {
            return turn;
        }
        if self.mover.is_busy() {
            return self.go_on_moving(Some(offloader), fabric);
        }
        if offloader.has_room()
            && let Some((tag, begun)) = self.again.pop_front()
        {
            return self.submit_rest(offloader, (tag, begun), fabric, queues);
        }
        // As dsa-perf-micros does: a descriptor that has ended is submitted again before the next record is
        // read.
        if offloader.has_room() {
            return self.begin(offloader, fabric, queues);
        }
        let at = &mut OnCore { core: &mut self.core, fabric, queues };
        if let Some(done) = offloader.reap(at) {
            self.completed(offloader, done, fabric);
        } else {
            return offloader.wait(&self.core, queues, Picos::NEVER);
        }
        Turn::Busy(self.core.now())
    }

    /// Begins a descriptor.
    fn begin<T: Tracer>(
        &mut self,
        offloader: &mut Offloader,
        fabric: &mut Fabric<T>,
        queues: &mut Queues,
    ) -> Turn {
        let (tag, begun) = (self.next, self.core.now());
        let mut members = std::mem::take(&mut self.members);
        members.clear();
        members.extend((0..self.config.batch).map(|_| self.next_operation(fabric)));
        if let (OnFault::Touch, Some(pages)) = (self.config.on_fault, &mut self.pages) {
            let times = offloader.times_mut();
            for operation in &members {
                times.page_faults += pages.touch(&mut self.core, fabric, operation);
            }
            times.touch += self.core.now() - begun;
        }
        let at = &mut OnCore { core: &mut self.core, fabric, queues };
        let turn = offloader.offload_since(at, (tag, begun), &members);
        self.members = members;
        turn.unwrap_or(Turn::Busy(self.core.now()))
    }

    /// Answers the fault of an operation and submits the rest of it.
    fn submit_rest<T: Tracer>(
        &mut self,
        offloader: &mut Offloader,
        (tag, begun): (u64, Picos),
        fabric: &mut Fabric<T>,
        queues: &mut Queues,
    ) -> Turn {
        let rest = self.rests.get(&tag).copied().unwrap_or_else(|| self.operation(tag));
        let before = self.core.now();
        if let Some(pages) = &mut self.pages {
            let times = offloader.times_mut();
            times.page_faults += pages.answer_first(&mut self.core, fabric, &rest);
            times.touch += self.core.now() - before;
        }
        let at = &mut OnCore { core: &mut self.core, fabric, queues };
        let turn = offloader.offload_rest(at, (tag, begun), rest);
        turn.unwrap_or(Turn::Busy(self.core.now()))
    }

    /// A completion record has been read.
    fn completed<T: Tracer>(
        &mut self,
        offloader: &mut Offloader,
        done: EndedOffload,
        fabric: &mut Fabric<T>,
    ) {
        let EndedOffload { tag, begun, status, completed } = done;
        let goes_on = matches!(self.config.on_fault, OnFault::Resubmit | OnFault::Software);
        if status != Status::PageFault || !goes_on {
            return self.end(Some(offloader), tag, begun);
        }
        let current = self.rests.get(&tag).copied().unwrap_or_else(|| self.operation(tag));
        let rest = current.rest(completed / LINE_BYTES * LINE_BYTES);
        self.rests.insert(tag, rest);
        if self.config.on_fault == OnFault::Resubmit {
            self.again.push_back((tag, begun));
        } else {
            self.begin_moving(Some(offloader), fabric, (tag, begun), &rest);
        }
    }

    /// The core begins an operation, or the rest of one.
    fn begin_moving<T: Tracer>(
        &mut self,
        offloader: Option<&mut Offloader>,
        fabric: &mut Fabric<T>,
        (tag, begun): (u64, Picos),
        operation: &Descriptor,
    ) {
        let before = self.core.now();
        if let Some(pages) = &mut self.pages {
            let times = times_of(offloader, &mut self.account);
            times.page_faults += pages.answer_all(&mut self.core, fabric, operation);
            times.touch += self.core.now() - before;
        }
        self.moving = (tag, begun, self.core.now());
        self.mover.begin(&mut self.core, operation);
    }

    fn go_on_moving<T: Tracer>(
        &mut self,
        mut offloader: Option<&mut Offloader>,
        fabric: &mut Fabric<T>,
    ) -> Turn {
        if self.mover.advance(&mut self.core, fabric) {
            let (tag, begun, since) = self.moving;
            times_of(offloader.as_deref_mut(), &mut self.account).work += self.core.now() - since;
            self.end(offloader, tag, begun);
        }
        Turn::Busy(self.core.now())
    }

    /// Counts the operations of a descriptor, or the one of the core, that has ended.
    fn end(&mut self, offloader: Option<&mut Offloader>, tag: u64, begun: Picos) {
        let latency = self.core.now() - begun;
        self.latency_ns.saturating_record(latency.0 / 1_000);
        self.rests.remove(&tag);
        let operations = if offloader.is_some() { u64::from(self.config.batch) } else { 1 };
        self.account.work += operations;
        times_of(offloader, &mut self.account).bytes += operations * self.operations[0].bytes;
    }

    /// A step of a core that does all by itself.
    fn move_alone<T: Tracer>(&mut self, fabric: &mut Fabric<T>) -> Turn {
        if !self.mover.is_busy() {
            let (tag, begun) = (self.next, self.core.now());
            let operation = self.next_operation(fabric);
            self.begin_moving(None, fabric, (tag, begun), &operation);
        }
        self.go_on_moving(None, fabric)
    }
}

/// Where times are counted: with an offloader, by it.
fn times_of<'a>(
    offloader: Option<&'a mut Offloader>,
    account: &'a mut Account,
) -> &'a mut model::software::OffloadTimes {
    offloader.map_or(&mut account.offload, Offloader::times_mut)
}

impl<T: Tracer> Software<T> for Offload {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        let Some(mut offloader) = self.offloader.take() else { return self.move_alone(fabric) };
        let turn = self.offload(&mut offloader, fabric, queues);
        self.offloader = Some(offloader);
        turn
    }

    fn queues(&self) -> &[QueueId] {
        self.offloader.as_ref().map_or(&[], Offloader::queues)
    }

    fn account(&self, now: Picos) -> Account {
        let mut account = self.account;
        match &self.offloader {
            Some(offloader) => account.offload = offloader.times(now),
            None if self.mover.is_busy() => {
                account.offload.work += now.saturating_sub(self.moving.2);
            }
            None => {}
        }
        account.idle = account.offload.wait;
        account
    }

    fn work(&self, _: Picos) -> u64 {
        self.account.work
    }

    fn take_latencies(&mut self) -> Option<Histogram<u64>> {
        Some(latency_histogram::take(&mut self.latency_ns))
    }

    fn take_descriptor_phases(&mut self) -> Option<[Histogram<u64>; DESCRIPTOR_PHASES]> {
        self.offloader.as_mut().map(Offloader::take_phases)
    }
}
