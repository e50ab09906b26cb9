//! An SSD as a [`DeviceKind`]: its controller is one agent.

use super::controller::NvmeController;
use super::rings::NvmeQueuePair;
use crate::device::{Device, DeviceKind, Stepped};
use crate::fabric::Fabric;
use crate::tracer::Tracer;
use units::Picos;

/// The agent of the controller.
const CONTROLLER: usize = 0;

impl<S> From<NvmeController> for Device<S> {
    fn from(ssd: NvmeController) -> Self {
        Self::Nvme(Box::new(ssd))
    }
}

impl<S> Device<S> {
    /// The SSD, if the device is one.
    #[must_use]
    pub fn as_ssd(&self) -> Option<&NvmeController> {
        if let Self::Nvme(ssd) = self { Some(ssd) } else { None }
    }
}

impl DeviceKind for NvmeController {
    type Queue = NvmeQueuePair;

    fn agents(&self) -> usize {
        1
    }

    fn queues(&self) -> usize {
        self.queue_pairs()
    }

    fn agent_of(&self, _queue: usize) -> usize {
        CONTROLLER
    }

    fn next_wake(&self, _agent: usize, queues: &[NvmeQueuePair], now: Picos) -> Picos {
        self.wake(queues, now)
    }

    fn step<T: Tracer>(
        &mut self,
        _agent: usize,
        fabric: &mut Fabric<T>,
        queues: &mut [NvmeQueuePair],
        now: Picos,
        _until: Picos,
    ) -> Stepped {
        let visible = self.act(fabric, queues, now);
        Stepped { visible, ..Stepped::once(now, self.wake(queues, now)) }
    }

    /// Commands completed.
    fn progress(&self) -> u64 {
        self.counters.completed
    }

    fn check_invariants(&self, _queues: &[NvmeQueuePair]) -> Result<(), String> {
        let in_work = self.commands_in_work() as u64;
        if self.counters.fetched != self.counters.completed + in_work {
            return Err(format!("commands were lost: {:?}, {in_work} in work", self.counters));
        }
        Ok(())
    }
}
