//! A core's way to let copy engines do data operations, for any application.
//!
//! Models: descriptors and batch lists written line by line, submitted to one or more queues in turn;
//! completion records that the core polls, waits for with UMWAIT, or is told of by an interrupt; the time of
//! each phase.
//! Source: Intel's dsa-perf-micros and DML for the loop; Intel SDM (UMONITOR, UMWAIT).
//! Simplifies: a record is a line; records that are allocated take one of four pages in turn; a core that
//! waits notices a record as soon as it is visible.
//!
//! An application has one [`Offloader`] for each of its cores, and in each step of its software:
//!
//! 1. calls [`Offloader::resume`] first, and returns the turn that it returns, if any: the core waits for the
//!    answer to an ENQCMD and can do nothing else;
//! 2. takes completions with [`Offloader::reap`]: each has the tag of its offload;
//! 3. offloads, while [`Offloader::has_room`], with [`Offloader::offload`]: one descriptor, or the members of
//!    a batch; if a turn is returned, it returns that turn;
//! 4. if it has nothing to do, returns [`Offloader::wait`], with the time at which it has other work.
//!
//! [`Offloader::queues`] belong to what `Software::queues` returns, [`Offloader::times`] and
//! [`Offloader::take_phases`] to what it accounts. Another kind of engine is a variant of [`EngineQueue`].

use super::cbdma::CbdmaClient;
use super::dsa::{DsaClient, EnqcmdAnswer, SubmitState};
use super::offload_trace::lines_of;
use crate::host_memory::Arena;
use hdrhistogram::Histogram;
use model::core::Core;
use model::device::dsa::descriptor::{DESCRIPTOR_BYTES, Descriptor, DsaWork};
use model::device::dsa::portal::{Completion, Status};
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::latency_histogram::phase_histogram;
use model::software::{DESCRIPTOR_PHASES, OffloadTimes, Turn};
use model::tracer::{DescriptorPhase, Tracer};
use std::array;
use units::narrow::usize_from;
use units::{Cycles, LINE_BYTES, LineAddr, Picos};

/// Pages that records are allocated in before one of them is used again: more than engines keep.
const FRESH_RECORDS: usize = 4;
/// Bytes of a page of a program.
const PAGE_BYTES: u64 = 4096;

/// How a core waits for a completion record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WaitMode {
    /// The core reads the record again and again.
    Poll,
    /// The core sleeps until the record's line is written.
    Umwait {
        /// Cycles to wake up.
        wake: Cycles,
    },
    /// The core sleeps until an interrupt.
    Interrupt {
        /// Time from the record in memory to the handler.
        delivery: Picos,
        /// Cycles of the handler and the wake-up.
        wake: Cycles,
    },
}

/// Memory of a descriptor and its record: reused, or allocated for each offload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DescriptorMemory {
    /// Lines that are reused: the descriptor is filled in for each offload.
    FilledIn,
    /// Lines that are reused: the descriptor is filled in for the first offload and submitted again as it is.
    Prepared,
    /// Pages that were not used before, at the cost of an allocation; the descriptor is filled in.
    Allocated(Cycles),
}

/// Costs of offloading, whatever the engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffloaderConfig {
    /// Where descriptors and records come from.
    pub origin: DescriptorMemory,
    /// Cycles to fill in a descriptor.
    pub prepare: Cycles,
    /// Cycles to fill in a member of a batch.
    pub prepare_member: Cycles,
    /// Number of members of the longest batch; 1: no batches.
    pub most_members: u32,
    /// Cycles of a look at a completion record.
    pub look: Cycles,
    /// How the core waits.
    pub waiting: WaitMode,
}

/// A queue of an engine.
#[derive(Debug)]
pub enum EngineQueue {
    /// A work queue of a data streaming accelerator.
    Dsa(DsaClient),
    /// A channel of a CBDMA, for copies and fills without batches.
    Cbdma(CbdmaClient),
}

/// A core, and what it reaches.
pub struct OnCore<'a, T: Tracer> {
    /// Core on which the offloader runs.
    pub core: &'a mut Core,
    /// Caches and memory that the core accesses.
    pub fabric: &'a mut Fabric<T>,
    /// Queues of devices to which the core submits.
    pub queues: &'a mut Queues,
}

/// An offload that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedOffload {
    /// The tag that the offload was given.
    pub tag: u64,
    /// Time at which the core began the offload.
    pub begun: Picos,
    /// How the offload ended.
    pub status: Status,
    /// Bytes done, if the offload did not succeed; of a batch, members.
    pub completed: u64,
}

/// Lines that a descriptor in flight uses, and whose it is.
#[derive(Clone, Copy, Debug)]
struct OffloadSlot {
    descriptor: LineAddr,
    list: LineAddr,
    record: LineAddr,
    /// Lines of records that are allocated in its stead, one after the other.
    fresh: [LineAddr; FRESH_RECORDS],
    uses: usize,
    /// Whether its descriptor and list are there from an offload before, as the next one submits them.
    is_prepared: bool,
    tag: u64,
    begun: Picos,
}

#[derive(Debug)]
struct Lane {
    channel: EngineQueue,
    slots: Vec<OffloadSlot>,
    free: Vec<usize>,
}

/// Why the core waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitCause {
    Completion,
    Answer,
}

/// The offloads of a core.
#[derive(Debug)]
pub struct Offloader {
    config: OffloaderConfig,
    lanes: Vec<Lane>,
    queues: Vec<QueueId>,
    /// The lane of the next offload.
    next: usize,
    /// The lane whose ENQCMD has not been answered.
    unanswered: Option<usize>,
    waits: Option<(WaitCause, Picos)>,
    times: OffloadTimes,
    phases: [Histogram<u64>; DESCRIPTOR_PHASES],
}

impl Offloader {
    /// An offloader with at most `depth` descriptors in each of its channels, all lines in `arena`.
    ///
    /// # Panics
    /// Without channels or depth. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(
        config: OffloaderConfig,
        channels: Vec<EngineQueue>,
        depth: u32,
        arena: &mut Arena,
    ) -> Self {
        assert!(!channels.is_empty() && depth > 0);
        let list = list_bytes(&config);
        let mut slot = || OffloadSlot {
            descriptor: arena.place(DESCRIPTOR_BYTES),
            list: if list > 0 { arena.place(list) } else { LineAddr(0) },
            record: arena.place(LINE_BYTES),
            fresh: match config.origin {
                DescriptorMemory::Allocated(_) => array::from_fn(|_| arena.place(PAGE_BYTES)),
                DescriptorMemory::FilledIn | DescriptorMemory::Prepared => {
                    [LineAddr(0); FRESH_RECORDS]
                }
            },
            uses: 0,
            is_prepared: false,
            tag: 0,
            begun: Picos::ZERO,
        };
        let lane = |channel: EngineQueue| {
            let slots: Vec<OffloadSlot> =
                (0..depth.min(channel.credits())).map(|_| slot()).collect();
            Lane { channel, free: (0..slots.len()).rev().collect(), slots }
        };
        let queues = channels.iter().map(EngineQueue::queue).collect();
        Self {
            config,
            queues,
            lanes: channels.into_iter().map(lane).collect(),
            next: 0,
            unanswered: None,
            waits: None,
            times: OffloadTimes::default(),
            phases: array::from_fn(|_| phase_histogram()),
        }
    }

    /// Bytes that the lines of `descriptors` descriptors need in an arena of such pages.
    #[must_use]
    pub fn arena_bytes(config: &OffloaderConfig, descriptors: u64, page_bytes: u64) -> u64 {
        let fresh = match config.origin {
            DescriptorMemory::Allocated(_) => FRESH_RECORDS as u64 * PAGE_BYTES,
            DescriptorMemory::FilledIn | DescriptorMemory::Prepared => 0,
        };
        let slot = 2 * LINE_BYTES + list_bytes(config) + fresh;
        // A list that does not fit the rest of a page begins at the next.
        let in_page = (page_bytes / slot).max(1);
        descriptors.div_ceil(in_page) * page_bytes.max(slot)
    }

    /// The queues that it uses, each once.
    #[must_use]
    pub fn queues(&self) -> &[QueueId] {
        &self.queues
    }

    /// Whether another offload may begin: there are a free descriptor and a credit.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.unanswered.is_none() && self.lanes.iter().any(|lane| !lane.free.is_empty())
    }

    /// Number of offloads in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.lanes.iter().map(|lane| lane.slots.len() - lane.free.len()).sum()
    }

    /// The first call of each step: ends a wait. Returns a turn if the core still waits for the answer to an
    /// ENQCMD.
    pub fn resume<T: Tracer>(&mut self, at: &mut OnCore<'_, T>) -> Option<Turn> {
        self.end_wait(at.core);
        let lane = self.unanswered?;
        let before = at.core.now();
        let answered = self.lanes[lane].channel.take_answer(at.core, at.queues);
        self.times.submit += at.core.now() - before;
        match answered {
            EnqcmdAnswer::Taken => {
                self.unanswered = None;
                None
            }
            EnqcmdAnswer::Again => {
                self.times.retries += 1;
                Some(self.wait_for_answer(at.core, Picos::NEVER))
            }
            EnqcmdAnswer::Waits(received) => Some(self.wait_for_answer(at.core, received)),
        }
    }

    fn wait_for_answer(&mut self, core: &Core, received: Picos) -> Turn {
        self.waits = Some((WaitCause::Answer, core.now()));
        Turn::Idle(received)
    }

    /// Ends a wait: its time counts for what the core waited for.
    fn end_wait(&mut self, core: &mut Core) {
        let Some((wait, since)) = self.waits.take() else { return };
        let waited = core.now() - since;
        match wait {
            WaitCause::Answer => self.times.submit += waited,
            WaitCause::Completion => {
                let woken = match self.config.waiting {
                    WaitMode::Poll => None,
                    WaitMode::Umwait { wake } | WaitMode::Interrupt { wake, .. } => Some(wake),
                };
                if let Some(wake) = woken {
                    self.times.asleep += waited;
                    core.compute(wake);
                }
                self.times.wait += core.now() - since;
            }
        }
    }

    /// Begins an offload of one descriptor, or of the members of a batch; their records and identifiers are
    /// chosen here. Returns a turn if the core waits for an answer.
    ///
    /// # Panics
    /// If there is no room for it, which is a bug of the caller.
    pub fn offload<T: Tracer>(
        &mut self,
        at: &mut OnCore<'_, T>,
        tag: u64,
        members: &[Descriptor],
    ) -> Option<Turn> {
        let begun = at.core.now();
        self.offload_since(at, (tag, begun), members)
    }

    /// As [`Self::offload`], for an offload that began at an earlier time.
    ///
    /// # Panics
    /// As [`Self::offload`].
    pub fn offload_since<T: Tracer>(
        &mut self,
        at: &mut OnCore<'_, T>,
        (tag, begun): (u64, Picos),
        members: &[Descriptor],
    ) -> Option<Turn> {
        self.begin(at, (tag, begun), members, false)
    }

    /// Offloads what is left of an operation that began at an earlier time. Its descriptor is filled in: no
    /// prepared one has its addresses and its size.
    ///
    /// # Panics
    /// As [`Self::offload`].
    pub fn offload_rest<T: Tracer>(
        &mut self,
        at: &mut OnCore<'_, T>,
        (tag, begun): (u64, Picos),
        rest: Descriptor,
    ) -> Option<Turn> {
        self.begin(at, (tag, begun), &[rest], true)
    }

    fn begin<T: Tracer>(
        &mut self,
        at: &mut OnCore<'_, T>,
        (tag, begun): (u64, Picos),
        members: &[Descriptor],
        is_rest: bool,
    ) -> Option<Turn> {
        let lanes = self.lanes.len();
        let turns = (0..lanes).map(|turn| (self.next + turn) % lanes);
        let lane = turns.into_iter().find(|&lane| !self.lanes[lane].free.is_empty());
        let lane = lane.expect("callers ask whether there is room");
        self.next = (lane + 1) % lanes;
        let own = &mut self.lanes[lane];
        let number = own.free.pop().expect("the lane has been chosen for its free slot");
        let slot = &mut own.slots[number];
        (slot.tag, slot.begun) = (tag, begun);
        if let DescriptorMemory::Allocated(_) = self.config.origin {
            slot.uses += 1;
            slot.record = slot.fresh[slot.uses % FRESH_RECORDS];
        }
        let is_prepared = slot.is_prepared && !is_rest;
        slot.is_prepared = self.config.origin == DescriptorMemory::Prepared && !is_rest;
        if let Some(own) = own.channel.lines(at.queues) {
            (slot.descriptor, slot.record) = own;
        }
        let slot = *slot;
        let key = self.lanes[lane].channel.trace_key(slot.descriptor, slot.record);
        if T::WATCHING {
            let lines = lines_of(slot.descriptor, slot.list, slot.record, members);
            at.fabric.tracer.descriptor_begins(key, at.core.now(), &lines);
        }
        if !is_prepared {
            self.prepare(at, slot, members.len());
        }
        let work = work_of(members, number as u64, slot);
        let (before, mut lock) = (at.core.now(), Picos::ZERO);
        at.fabric.tracer.descriptor_phase(key, DescriptorPhase::Prepared, before);
        let submitted = self.lanes[lane].channel.submit(at, work, &mut lock);
        at.fabric.tracer.descriptor_phase(key, DescriptorPhase::Submitted, at.core.now());
        self.times.lock += lock;
        self.times.submit += at.core.now() - before - lock;
        match submitted {
            SubmitState::Posted => None,
            SubmitState::Unanswered => {
                self.unanswered = Some(lane);
                Some(self.wait_for_answer(at.core, Picos::NEVER))
            }
        }
    }

    /// Writes a descriptor, and the list of a batch, into memory.
    fn prepare<T: Tracer>(&mut self, at: &mut OnCore<'_, T>, slot: OffloadSlot, members: usize) {
        let begun = at.core.now();
        if let DescriptorMemory::Allocated(cost) = self.config.origin {
            at.core.compute(cost);
        }
        let allocated = at.core.now();
        if members > 1 {
            for line in 0..members as u64 {
                at.core.compute(self.config.prepare_member);
                at.core.store(at.fabric, slot.list.step(line));
            }
        }
        at.core.compute(self.config.prepare);
        at.core.store(at.fabric, slot.descriptor);
        self.times.allocate += allocated - begun;
        self.times.prepare += at.core.now() - allocated;
    }

    /// When the core can learn of the next completion; [`Picos::NEVER`] if none is under way.
    pub fn next_known(&self, queues: &mut Queues) -> Picos {
        let recorded = |lane: &Lane| lane.channel.next_recorded(queues);
        let first = self.lanes.iter().map(recorded).min().unwrap_or(Picos::NEVER);
        match self.config.waiting {
            WaitMode::Interrupt { delivery, .. } => first.saturating_add(delivery),
            WaitMode::Poll | WaitMode::Umwait { .. } => first,
        }
    }

    /// Reads the next completion record, if the core has learnt of one.
    pub fn reap<T: Tracer>(&mut self, at: &mut OnCore<'_, T>) -> Option<EndedOffload> {
        let delivery = match self.config.waiting {
            WaitMode::Interrupt { delivery, .. } => delivery,
            WaitMode::Poll | WaitMode::Umwait { .. } => Picos::ZERO,
        };
        let begun = at.core.now();
        // A record that the core learns of at `begun` has been visible for the time of delivery.
        let visible = begun.saturating_sub(delivery);
        for lane in &mut self.lanes {
            let Some(completion) = lane.channel.take_completion(at.queues, visible) else {
                continue;
            };
            let number = usize_from(completion.id);
            lane.free.push(number);
            let slot = lane.slots[number];
            at.core.load(at.fabric, slot.record);
            at.core.compute(self.config.look);
            let key = lane.channel.trace_key(slot.descriptor, slot.record);
            at.fabric.tracer.descriptor_phase(key, DescriptorPhase::Reaped, at.core.now());
            self.times.wait += at.core.now() - begun;
            self.times.failed += u64::from(completion.status != Status::Success);
            self.note_phases(slot.begun, &completion, at.core.now());
            return Some(EndedOffload {
                tag: slot.tag,
                begun: slot.begun,
                status: completion.status,
                completed: completion.completed,
            });
        }
        None
    }

    fn note_phases(&mut self, begun: Picos, completion: &Completion, read: Picos) {
        let it = &completion.phases;
        let ends = [begun, it.seen, it.dispatched, it.ready, it.moved, it.recorded, read];
        for (histogram, span) in self.phases.iter_mut().zip(ends.windows(2)) {
            histogram.saturating_record(span[1].saturating_sub(span[0]).0 / 1_000);
        }
    }

    /// The turn of a core that has nothing to do until the next completion, or until `other`.
    pub fn wait(&mut self, core: &Core, queues: &mut Queues, other: Picos) -> Turn {
        self.waits = Some((WaitCause::Completion, core.now()));
        Turn::Idle(self.next_known(queues).min(other))
    }

    /// The times of its phases at `now`, with a wait that still continues.
    #[must_use]
    pub fn times(&self, now: Picos) -> OffloadTimes {
        let mut times = self.times;
        if let Some((wait, since)) = self.waits {
            let waited = now.saturating_sub(since);
            match wait {
                WaitCause::Answer => times.submit += waited,
                WaitCause::Completion => {
                    times.wait += waited;
                    if self.config.waiting != WaitMode::Poll {
                        times.asleep += waited;
                    }
                }
            }
        }
        times
    }

    /// Times of the offloader, to which an application adds its own: work, page touches, bytes.
    pub fn times_mut(&mut self) -> &mut OffloadTimes {
        &mut self.times
    }

    /// The phases of its descriptors since the last call.
    pub fn take_phases(&mut self) -> [Histogram<u64>; DESCRIPTOR_PHASES] {
        std::mem::replace(&mut self.phases, array::from_fn(|_| phase_histogram()))
    }
}

/// Bytes of the list of the longest batch.
fn list_bytes(config: &OffloaderConfig) -> u64 {
    if config.most_members > 1 { u64::from(config.most_members) * DESCRIPTOR_BYTES } else { 0 }
}

/// The members as a batch, whose list and record are those of a slot; as a descriptor it has the number of
/// the slot. One member is submitted without a batch.
fn work_of(members: &[Descriptor], id: u64, slot: OffloadSlot) -> DsaWork {
    let own = Descriptor { id, record: slot.record, wants_record: true, ..members[0] };
    match members.len() {
        1 => DsaWork::One(own),
        _ => DsaWork::Batch {
            descriptor: Descriptor { source: slot.list, fence: false, ..own },
            members: members.to_vec(),
        },
    }
}
