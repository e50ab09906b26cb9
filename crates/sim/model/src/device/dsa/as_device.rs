//! The accelerator as a [`DeviceKind`]: an instance is one agent, a portal one queue.

use super::instance::Dsa;
use super::portal::Portal;
use crate::device::{Device, DeviceKind, Stepped};
use crate::fabric::Fabric;
use crate::tracer::Tracer;
use units::Picos;

/// The agent of the instance.
const INSTANCE: usize = 0;

impl<S> From<Dsa> for Device<S> {
    fn from(dsa: Dsa) -> Self {
        Self::Dsa(Box::new(dsa))
    }
}

impl<S> Device<S> {
    /// The accelerator, if the device is one.
    #[must_use]
    pub fn as_dsa(&self) -> Option<&Dsa> {
        if let Self::Dsa(dsa) = self { Some(dsa) } else { None }
    }
}

impl Dsa {
    /// The portal whose first descriptor the device sees next, and when.
    fn next_seen(portals: &[Portal]) -> Option<(Picos, usize)> {
        let first =
            |(number, portal): (usize, &Portal)| Some((portal.posted.front()?.visible, number));
        portals.iter().enumerate().filter_map(first).min()
    }
}

impl DeviceKind for Dsa {
    type Queue = Portal;

    fn agents(&self) -> usize {
        1
    }

    fn queues(&self) -> usize {
        self.config.portals.len()
    }

    fn agent_of(&self, _queue: usize) -> usize {
        INSTANCE
    }

    fn next_wake(&self, _agent: usize, portals: &[Portal], now: Picos) -> Picos {
        let seen = Self::next_seen(portals).map_or(Picos::NEVER, |(time, _)| time);
        seen.min(self.next_event_at()).max(now)
    }

    fn step<T: Tracer>(
        &mut self,
        agent: usize,
        fabric: &mut Fabric<T>,
        portals: &mut [Portal],
        now: Picos,
        _until: Picos,
    ) -> Stepped {
        let visible = match (Self::next_seen(portals), self.next_event_at()) {
            (Some((seen, portal)), event) if seen <= event => {
                let answered = self.see(portal, &mut portals[portal], now);
                answered.map(|received| (portal, received))
            }
            _ => match self.pop_event(now) {
                Some(event) => self.act(event, fabric, portals, now),
                None => None,
            },
        };
        Stepped { visible, ..Stepped::once(now, self.next_wake(agent, portals, now)) }
    }

    /// Descriptors completed, members of batches among them.
    fn progress(&self) -> u64 {
        self.counters().completed + self.counters().members_completed
    }

    fn check_invariants(&self, _portals: &[Portal]) -> Result<(), String> {
        let counters = self.counters();
        let queued = |job: &super::job::Job| matches!(job.origin, super::job::Origin::Queue { .. });
        let in_work = self.jobs.iter().filter(|(_, job)| queued(job)).count() as u64;
        if counters.accepted != counters.completed + self.entries_in_use() + in_work {
            return Err(format!("descriptors were lost: {counters:?}, {in_work} in work"));
        }
        let members = self.jobs.iter().filter_map(|(_, job)| job.members.as_ref());
        let open: u64 = members.map(|it| (it.fetched + it.in_work) as u64).sum();
        let ended = counters.members_completed + counters.members_abandoned;
        if counters.members_fetched != ended + open {
            return Err(format!("members were lost: {counters:?}, {open} open"));
        }
        if self.jobs.is_empty() && self.buffers.in_use() > 0 {
            return Err(format!("{} read buffers were not released", self.buffers.in_use()));
        }
        Ok(())
    }
}
