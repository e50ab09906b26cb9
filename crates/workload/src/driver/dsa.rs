//! The client of a work queue of a copy engine: how a core submits descriptors and learns of completions.
//!
//! Models: descriptors and batch lists written line by line; MOVDIR64B (posted, with the least interval
//! between two of them on one portal address) and ENQCMD (answered, repeated after a pause); credits for a
//! dedicated queue; completion records that the core polls, waits for with UMWAIT, or is told of by an
//! interrupt.
//! Source: Intel SDM for the instructions; Intel DSA specification, section 3.3.
//! Simplifies: one portal address; records are a line each.

use crate::host_memory::Arena;
use model::core::Core;
use model::device::dsa::descriptor::{DESCRIPTOR_BYTES, Descriptor, Work};
use model::device::dsa::portal::{Completion, Portal, Submission};
use model::fabric::Fabric;
use model::root_complex::mmio::{Answer, MmioPath};
use model::tracer::Tracer;
use units::{Cycles, LINE_BYTES, LineAddr, Picos};

/// How a client writes to its portal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PortalWrite {
    /// MOVDIR64B to a dedicated queue.
    Posted {
        /// From one of them to the next on the same address.
        interval: Picos,
    },
    /// ENQCMD to a shared queue.
    Answered {
        /// Pause before it is repeated.
        pause: Cycles,
    },
}

/// How a client waits for a completion record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Waiting {
    /// It reads the record again and again.
    Poll,
    /// It sleeps until the record's line is written.
    Umwait {
        /// Waking up.
        wake: Cycles,
    },
    /// It sleeps until an interrupt.
    Interrupt {
        /// From the record in memory to the handler.
        delivery: Picos,
        /// Handler and wake-up.
        cycles: Cycles,
    },
}

/// Costs of a client.
#[derive(Clone, Copy, Debug)]
pub struct DsaClientConfig {
    /// How it writes.
    pub write: PortalWrite,
    /// The way of its stores to the portal.
    pub path: MmioPath,
    /// Filling in a descriptor.
    pub prepare: Cycles,
    /// Filling in a member of a batch.
    pub prepare_member: Cycles,
    /// A look at a completion record.
    pub look: Cycles,
    /// How it waits.
    pub waiting: Waiting,
    /// Descriptors in flight.
    pub depth: u32,
    /// Members of each batch; 1: no batches.
    pub batch: u32,
}

/// Lines that a descriptor in flight uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The descriptor itself.
    pub descriptor: LineAddr,
    /// The list of its batch.
    pub list: LineAddr,
    /// Its completion record.
    pub record: LineAddr,
}

/// The client of a portal.
#[derive(Debug)]
pub struct DsaClient {
    config: DsaClientConfig,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// When the portal address takes the next posted write.
    next_post: Picos,
    /// A descriptor whose ENQCMD has not been answered.
    unanswered: Option<Work>,
}

/// What became of an ENQCMD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// The queue has taken it.
    Taken,
    /// It was refused and is on its way again.
    Again,
    /// No answer has arrived yet.
    Waits,
}

impl DsaClient {
    /// A client with all its lines in `arena`.
    ///
    /// # Panics
    /// If depth or batch is 0. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(config: DsaClientConfig, arena: &mut Arena) -> Self {
        assert!(config.depth > 0 && config.batch > 0);
        let mut slot = |_| Slot {
            descriptor: arena.place(DESCRIPTOR_BYTES),
            list: arena.place(u64::from(config.batch) * DESCRIPTOR_BYTES),
            record: arena.place(LINE_BYTES),
        };
        let slots: Vec<Slot> = (0..config.depth).map(&mut slot).collect();
        let free = (0..slots.len()).rev().collect();
        Self { config, slots, free, next_post: Picos::ZERO, unanswered: None }
    }

    /// Bytes that a client needs in an arena.
    #[must_use]
    pub fn arena_bytes(config: &DsaClientConfig, page_bytes: u64) -> u64 {
        let slot = 2 * LINE_BYTES + u64::from(config.batch) * DESCRIPTOR_BYTES;
        // A list that does not fit the rest of a page begins at the next.
        let in_page = (page_bytes / slot).max(1);
        u64::from(config.depth).div_ceil(in_page) * page_bytes.max(slot)
    }

    /// A free slot and its number.
    pub fn take_slot(&mut self) -> Option<(usize, Slot)> {
        let number = self.free.pop()?;
        Some((number, self.slots[number]))
    }

    /// Descriptors in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Writes a descriptor, and the list of a batch, into memory.
    pub fn prepare<T: Tracer>(
        &self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        slot: Slot,
        work: &Work,
    ) {
        if let Work::Batch { members, .. } = work {
            for line in 0..members.len() as u64 {
                core.compute(self.config.prepare_member);
                core.store(fabric, slot.list.step(line));
            }
        }
        core.compute(self.config.prepare);
        core.store(fabric, slot.descriptor);
    }

    /// Writes a prepared descriptor to the portal. Returns whether the core has to wait for an answer.
    pub fn submit(&mut self, core: &mut Core, portal: &mut Portal, work: Work) -> bool {
        match self.config.write {
            PortalWrite::Posted { interval } => {
                core.wait_until(self.next_post);
                self.next_post = core.now() + interval;
                let visible = core.post(&self.config.path);
                portal.posted.push_back(Submission { visible, work });
                false
            }
            PortalWrite::Answered { .. } => {
                let visible = core.post(&self.config.path);
                self.unanswered = Some(work.clone());
                portal.posted.push_back(Submission { visible, work });
                true
            }
        }
    }

    /// Takes the answer to an ENQCMD, and repeats one that was refused.
    pub fn take_answer(&mut self, core: &mut Core, portal: &mut Portal) -> Enqueued {
        let Some((answer, _)) = portal.answer.take_if(|(_, received)| *received <= core.now())
        else {
            return Enqueued::Waits;
        };
        match (answer, self.unanswered.take()) {
            (Answer::Retry, Some(work)) => {
                if let PortalWrite::Answered { pause } = self.config.write {
                    core.compute(pause);
                }
                self.submit(core, portal, work);
                Enqueued::Again
            }
            _ => Enqueued::Taken,
        }
    }

    /// When the client can learn of the next completion; [`Picos::NEVER`] if none is under way.
    #[must_use]
    pub fn next_known(&self, portal: &Portal) -> Picos {
        let visible = portal.completed.front().map_or(Picos::NEVER, |it| it.phases.recorded);
        match self.config.waiting {
            Waiting::Interrupt { delivery, .. } => visible.saturating_add(delivery),
            Waiting::Poll | Waiting::Umwait { .. } => visible,
        }
    }

    /// The cost of waking up from a wait.
    pub fn wake(&self, core: &mut Core) {
        match self.config.waiting {
            Waiting::Poll => {}
            Waiting::Umwait { wake } => core.compute(wake),
            Waiting::Interrupt { cycles, .. } => core.compute(cycles),
        }
    }

    /// Reads the next completion record and frees the slot whose number is its descriptor's identifier.
    pub fn reap<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        portal: &mut Portal,
    ) -> Option<Completion> {
        if self.next_known(portal) > core.now() {
            return None;
        }
        let completion = portal.completed.pop_front()?;
        let slot = units::narrow::usize_from(completion.id);
        core.load(fabric, self.slots[slot].record);
        core.compute(self.config.look);
        self.free.push(slot);
        Some(completion)
    }

    /// Its costs.
    #[must_use]
    pub fn config(&self) -> &DsaClientConfig {
        &self.config
    }
}

/// A batch of `members`, whose list and record are those of a slot; as a descriptor it has the number of the
/// slot. One member is submitted without a batch.
#[must_use]
pub fn work_of(members: Vec<Descriptor>, number: usize, slot: Slot) -> Work {
    let id = number as u64;
    match members[..] {
        [only] => Work::One(Descriptor { id, record: slot.record, wants_record: true, ..only }),
        _ => {
            let descriptor = Descriptor {
                id,
                source: slot.list,
                record: slot.record,
                wants_record: true,
                ..members[0]
            };
            Work::Batch { descriptor, members }
        }
    }
}
