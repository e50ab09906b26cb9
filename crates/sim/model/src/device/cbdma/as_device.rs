//! The engine as a [`DeviceKind`]: it is one agent, a channel one queue.

use super::channel::Channel;
use super::engine::Cbdma;
use crate::device::{Device, DeviceKind, Stepped};
use crate::fabric::Fabric;
use crate::tracer::Tracer;
use units::Picos;

/// The agent of all channels.
const ENGINE: usize = 0;

impl<S> From<Cbdma> for Device<S> {
    fn from(cbdma: Cbdma) -> Self {
        Self::Cbdma(Box::new(cbdma))
    }
}

impl<S> Device<S> {
    /// The CBDMA, if the device is one.
    #[must_use]
    pub fn as_cbdma(&self) -> Option<&Cbdma> {
        if let Self::Cbdma(cbdma) = self { Some(cbdma) } else { None }
    }
}

impl Cbdma {
    /// The channel that sees a doorbell next, and when.
    fn next_doorbell(channels: &[Channel]) -> Option<(Picos, usize)> {
        let first = |(number, it): (usize, &Channel)| Some((it.doorbells.front()?.visible, number));
        channels.iter().enumerate().filter_map(first).min()
    }
}

impl DeviceKind for Cbdma {
    type Queue = Channel;

    fn agents(&self) -> usize {
        1
    }

    fn queues(&self) -> usize {
        self.config().channels as usize
    }

    fn agent_of(&self, _queue: usize) -> usize {
        ENGINE
    }

    fn next_wake(&self, _agent: usize, channels: &[Channel], now: Picos) -> Picos {
        let seen = Self::next_doorbell(channels).map_or(Picos::NEVER, |(time, _)| time);
        seen.min(self.next_event_at()).max(now)
    }

    fn step<T: Tracer>(
        &mut self,
        agent: usize,
        fabric: &mut Fabric<T>,
        channels: &mut [Channel],
        now: Picos,
        _until: Picos,
    ) -> Stepped {
        let visible = match (Self::next_doorbell(channels), self.next_event_at()) {
            (Some((seen, channel)), event) if seen <= event => {
                self.see(channel, fabric, &mut channels[channel], now);
                None
            }
            _ => self.pop_event(now).and_then(|event| self.act(event, fabric, channels, now)),
        };
        Stepped { visible, ..Stepped::once(now, self.next_wake(agent, channels, now)) }
    }

    /// Descriptors completed.
    fn progress(&self) -> u64 {
        self.counters().completed
    }

    fn check_invariants(&self, channels: &[Channel]) -> Result<(), String> {
        let counters = self.counters();
        let in_work = self.descriptors_in_work();
        if counters.fetched != counters.completed + in_work {
            return Err(format!("descriptors were lost: {counters:?}, {in_work} in work"));
        }
        let waiting: u64 = channels.iter().map(|channel| channel.written.len() as u64).sum();
        let written: u64 = channels.iter().map(|channel| channel.count).sum();
        if written != waiting + counters.fetched {
            return Err(format!("{written} descriptors written, {waiting} wait: {counters:?}"));
        }
        if counters.submitted > written || counters.fetched > counters.submitted {
            return Err(format!("{written} descriptors written, but {counters:?}"));
        }
        if in_work == 0 && self.lines_in_use() > 0 {
            return Err(format!("{} lines are still under way", self.lines_in_use()));
        }
        Ok(())
    }
}
