//! The calls of an [`Offloader`](super::offloader::Offloader) on a queue, whatever the engine behind it.
//!
//! Models: which lines hold a descriptor and its completion; the way into the queue and out of it.
//! Source: as the clients of each engine.

use super::dsa::{EnqcmdAnswer, SubmitState};
use super::offloader::{EngineQueue, OnCore};
use model::core::Core;
use model::device::dsa::descriptor::DsaWork;
use model::device::dsa::portal::Completion;
use model::device::queues::{QueueId, Queues};
use model::tracer::Tracer;
use units::{LineAddr, Picos};

impl EngineQueue {
    pub(super) fn queue(&self) -> QueueId {
        match self {
            Self::Dsa(client) => client.queue(),
            Self::Cbdma(client) => client.queue(),
        }
    }

    pub(super) fn credits(&self) -> u32 {
        match self {
            Self::Dsa(client) => client.credits(),
            Self::Cbdma(client) => client.credits(),
        }
    }

    /// The lines of the next descriptor and of its completion, where the queue decides them.
    pub(super) fn lines(&self, queues: &mut Queues) -> Option<(LineAddr, LineAddr)> {
        match self {
            Self::Dsa(_) => None,
            Self::Cbdma(client) => Some((client.entry(queues), client.status(queues))),
        }
    }

    /// The line that no other descriptor under way has.
    pub(super) fn trace_key(&self, descriptor: LineAddr, record: LineAddr) -> LineAddr {
        match self {
            Self::Dsa(_) => record,
            Self::Cbdma(_) => descriptor,
        }
    }

    /// Submits a prepared descriptor. Adds to `lock` the time spent getting the queue's lock, if it has
    /// one.
    pub(super) fn submit<T: Tracer>(
        &mut self,
        at: &mut OnCore<'_, T>,
        work: DsaWork,
        lock: &mut Picos,
    ) -> SubmitState {
        match self {
            Self::Dsa(client) => client.submit(at.core, at.fabric, at.queues, work, lock),
            Self::Cbdma(client) => {
                client.submit(at.core, at.queues, &work);
                SubmitState::Posted
            }
        }
    }

    /// Takes the answer to a submission. A doorbell has none.
    pub(super) fn take_answer(&mut self, core: &mut Core, queues: &mut Queues) -> EnqcmdAnswer {
        match self {
            Self::Dsa(client) => client.take_answer(core, queues),
            Self::Cbdma(_) => EnqcmdAnswer::Taken,
        }
    }

    pub(super) fn next_recorded(&self, queues: &mut Queues) -> Picos {
        match self {
            Self::Dsa(client) => client.next_recorded(queues),
            Self::Cbdma(client) => client.next_recorded(queues),
        }
    }

    pub(super) fn take_completion(
        &mut self,
        queues: &mut Queues,
        now: Picos,
    ) -> Option<Completion> {
        match self {
            Self::Dsa(client) => client.take_completion(queues, now),
            Self::Cbdma(client) => client.take_completion(queues, now),
        }
    }
}
