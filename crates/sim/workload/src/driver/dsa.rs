//! The client of a work queue of a copy engine: how a core's descriptors get into the queue, and out of it.
//!
//! Models: MOVDIR64B (posted, with the least interval between two of them on one portal address) and ENQCMD
//! (answered, repeated after a back-off); credits for a dedicated queue; a lock around a dedicated queue that
//! several threads share.
//! Source: Intel SDM for the instructions; Intel DSA specification, section 3.3.
//! Simplifies: the interval of posted writes belongs to the core; threads receive a lock in the order in
//! which they ask for it, and those that wait do not slow its owner down; the credits of a shared dedicated
//! queue are divided among its threads.

use model::core::Core;
use model::device::dsa::descriptor::DsaWork;
use model::device::dsa::portal::{Completion, Portal, Submission};
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::root_complex::mmio::{Answer, MmioPath};
use model::tracer::Tracer;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Cycles, LineAddr, Picos};

/// How a client writes to its portal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PortalWrite {
    /// MOVDIR64B to a dedicated queue.
    Posted {
        /// Time from one write to the next on the same address.
        interval: Picos,
        /// Addresses of the portal that are used in turn.
        addresses: u32,
    },
    /// ENQCMD to a shared queue.
    Answered(BackOff),
}

/// Pauses before an ENQCMD is repeated: doubled from one refusal of a descriptor to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackOff {
    /// Cycles of the first pause.
    pub first: Cycles,
    /// Cycles of the longest pause.
    pub most: Cycles,
}

/// Parameters of a client: how it writes to its queue's portal, and how many descriptors it may
/// have there.
#[derive(Clone, Copy, Debug)]
pub struct DsaClientConfig {
    /// How the client writes to the portal.
    pub write: PortalWrite,
    /// The way of the client's stores to the portal.
    pub path: MmioPath,
    /// Most descriptors that the client may have in the device.
    pub credits: u32,
}

/// A lock around a dedicated queue.
#[derive(Debug)]
pub struct QueueLock {
    line: LineAddr,
    /// An atomic exchange of its owner, beside the way of the line.
    exchange: Cycles,
    free_at: Picos,
}

impl QueueLock {
    /// A free lock in `line`.
    #[must_use]
    pub fn new(line: LineAddr, exchange: Cycles) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self { line, exchange, free_at: Picos::ZERO }))
    }

    fn take<T: Tracer>(&self, core: &mut Core, fabric: &mut Fabric<T>) {
        core.wait_until(self.free_at);
        let owned = core.store(fabric, self.line);
        core.wait_until(owned);
        core.compute(self.exchange);
    }

    fn release<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>) {
        core.store(fabric, self.line);
        self.free_at = core.now();
    }
}

/// State of a submitted descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitState {
    /// The descriptor is on its way; the core continues.
    Posted,
    /// The core waits for an answer.
    Unanswered,
}

/// State of an ENQCMD: taken, refused and repeated, or without an answer yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqcmdAnswer {
    /// The queue has taken the descriptor.
    Taken,
    /// The queue has refused the descriptor, which is on its way again.
    Again,
    /// No answer has arrived yet; it does so at this time.
    Waits(Picos),
}

/// Software that submits descriptors to a DSA queue through its portal: posted writes, or ENQCMD
/// with back-off.
#[derive(Debug)]
pub struct DsaClient {
    config: DsaClientConfig,
    queue: QueueId,
    lock: Option<Rc<RefCell<QueueLock>>>,
    /// When each portal address takes its next posted write, and the next address.
    next_post: Vec<Picos>,
    address: usize,
    /// The pause before the next repetition.
    pause: Cycles,
}

impl DsaClient {
    /// A client of `queue`, with the lock that its threads share.
    ///
    /// # Panics
    /// Without a credit or a portal address. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(
        config: DsaClientConfig,
        queue: QueueId,
        lock: Option<Rc<RefCell<QueueLock>>>,
    ) -> Self {
        assert!(config.credits > 0);
        let addresses = match config.write {
            PortalWrite::Posted { addresses, .. } => addresses,
            PortalWrite::Answered(_) => 1,
        };
        assert!(addresses > 0);
        let next_post = vec![Picos::ZERO; addresses as usize];
        Self { config, queue, lock, next_post, address: 0, pause: Cycles(0.0) }
    }

    /// The portal that the client uses.
    #[must_use]
    pub fn queue(&self) -> QueueId {
        self.queue
    }

    /// Descriptors that it may have in the device.
    #[must_use]
    pub fn credits(&self) -> u32 {
        self.config.credits
    }

    /// Writes a prepared descriptor to the portal. Adds to `lock` the time spent getting the queue's
    /// lock, if it has one.
    pub fn submit<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        queues: &mut Queues,
        work: DsaWork,
        lock: &mut Picos,
    ) -> SubmitState {
        let asked = core.now();
        if let Some(shared) = &self.lock {
            shared.borrow().take(core, fabric);
            *lock += core.now() - asked;
        }
        let submitted = match self.config.write {
            PortalWrite::Posted { interval, .. } => {
                let next = &mut self.next_post[self.address];
                core.wait_until(*next);
                *next = core.now() + interval;
                self.address = (self.address + 1) % self.next_post.len();
                SubmitState::Posted
            }
            PortalWrite::Answered(back_off) => {
                self.pause = back_off.first;
                SubmitState::Unanswered
            }
        };
        self.write(core, queues, work);
        if let Some(shared) = &self.lock {
            shared.borrow_mut().release(core, fabric);
        }
        submitted
    }

    fn write(&self, core: &mut Core, queues: &mut Queues, work: DsaWork) {
        let visible = core.post(&self.config.path);
        queues.dsa_portal(self.queue).posted.push_back(Submission { visible, work });
    }

    /// Takes the answer to an ENQCMD, and repeats one that was refused.
    pub fn take_answer(&mut self, core: &mut Core, queues: &mut Queues) -> EnqcmdAnswer {
        let portal = queues.dsa_portal(self.queue);
        let Some((answer, _)) = portal.answer.take_if(|(_, received)| *received <= core.now())
        else {
            return EnqcmdAnswer::Waits(
                portal.answer.map_or(Picos::NEVER, |(_, received)| received),
            );
        };
        let refused = portal.refused.take();
        match (answer, refused, self.config.write) {
            (Answer::Retry, Some(work), PortalWrite::Answered(back_off)) => {
                core.compute(self.pause);
                self.pause = Cycles((2.0 * self.pause.0).min(back_off.most.0));
                self.write(core, queues, work);
                EnqcmdAnswer::Again
            }
            _ => EnqcmdAnswer::Taken,
        }
    }

    /// When the next completion record is visible; [`Picos::NEVER`] if none is under way.
    #[must_use]
    pub fn next_recorded(&self, queues: &mut Queues) -> Picos {
        let portal: &Portal = queues.dsa_portal(self.queue);
        portal.completed.front().map_or(Picos::NEVER, |it| it.phases.recorded)
    }

    /// The next completion record, if it is visible at `now`.
    pub fn take_completion(&mut self, queues: &mut Queues, now: Picos) -> Option<Completion> {
        let completed = &mut queues.dsa_portal(self.queue).completed;
        completed.front().filter(|it| it.phases.recorded <= now)?;
        completed.pop_front()
    }
}
