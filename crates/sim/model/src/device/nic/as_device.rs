//! A NIC as a [`DeviceKind`].
//!
//! Agent 0 is the receive port; agent 1 + q is send queue q.

use super::card::Nic;
use super::rings::QueuePair;
use super::tx::TxQueue;
use crate::device::{Device, DeviceKind, Levels, Stepped};
use crate::fabric::Fabric;
use crate::tracer::Tracer;
use crate::traffic::PacketSource;
use units::{CoreId, Picos};

/// The agent of the receive port.
const RECEIVE: usize = 0;
/// The agent of the first send queue.
const FIRST_SEND: usize = 1;

impl<S> From<Nic<S>> for Device<S> {
    fn from(nic: Nic<S>) -> Self {
        Self::Nic(Box::new(nic))
    }
}

impl<S> Device<S> {
    /// The NIC, if the device is one.
    #[must_use]
    pub fn as_nic(&self) -> Option<&Nic<S>> {
        if let Self::Nic(nic) = self { Some(nic) } else { None }
    }

    /// The NIC, if the device is one, for changes.
    pub fn as_nic_mut(&mut self) -> Option<&mut Nic<S>> {
        if let Self::Nic(nic) = self { Some(nic) } else { None }
    }
}

impl<S: PacketSource> DeviceKind for Nic<S> {
    type Queue = QueuePair;

    fn agents(&self) -> usize {
        FIRST_SEND + self.tx.len()
    }

    fn queues(&self) -> usize {
        self.tx.len()
    }

    /// The receive port reads new descriptors when it needs them.
    fn agent_of(&self, queue: usize) -> usize {
        FIRST_SEND + queue
    }

    /// Fetches the first receive descriptors to the chip.
    fn prepare<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut [QueuePair]) {
        self.port.prepare(fabric, queues);
    }

    fn steer(&mut self, pollers: &[Option<CoreId>]) {
        self.port.steer(pollers);
    }

    #[inline]
    fn next_wake(&self, agent: usize, queues: &[QueuePair], now: Picos) -> Picos {
        match agent.checked_sub(FIRST_SEND) {
            None => self.port.next_wake(),
            Some(queue) => self.tx[queue].next_wake(&queues[queue].tx, now),
        }
    }

    #[inline]
    fn step<T: Tracer>(
        &mut self,
        agent: usize,
        fabric: &mut Fabric<T>,
        queues: &mut [QueuePair],
        now: Picos,
        until: Picos,
    ) -> Stepped {
        match agent.checked_sub(FIRST_SEND) {
            None => self.receive(fabric, queues, now, until),
            Some(queue) => self.send(queue, fabric, &mut queues[queue], now),
        }
    }

    /// Packets sent.
    fn progress(&self) -> u64 {
        self.egress.packets
    }

    fn levels(&self, queues: &[QueuePair]) -> Levels {
        let (rings_used, rings_used_whole) = self.port.rings_used(queues);
        Levels {
            packets_to_send: self.packets_in_send_queues(queues),
            packets_unseen: self.packets_completed_unseen(queues),
            buffers_posted: self.buffers_posted(queues),
            rings_used,
            rings_used_whole,
        }
    }

    fn check_invariants(&self, _queues: &[QueuePair]) -> Result<(), String> {
        let rx = &self.port.counters;
        let waiting = self.port.packets_waiting() as u64;
        let dropped = rx.dropped();
        if rx.offered_packets != rx.packets + dropped + waiting {
            return Err(format!("packets were lost or doubled: {rx:?}, {waiting} waiting"));
        }
        if !self.port.has_a_descriptor_for_each_waiting() {
            return Err(format!("{waiting} packets wait, some without a descriptor"));
        }
        let used = self.port.descriptors_used();
        if used != rx.buffers {
            return Err(format!("{used} descriptors used for {} buffers", rx.buffers));
        }
        Ok(())
    }
}

impl<S: PacketSource> Nic<S> {
    /// The port steps in a loop until another agent's turn or until software has a completion to see:
    /// under overload most of its steps drop packets.
    fn receive<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        queues: &mut [QueuePair],
        now: Picos,
        until: Picos,
    ) -> Stepped {
        let (visible, last) = self.port.run(fabric, queues, now, until);
        Stepped { last, wake: self.port.next_wake(), rescheduled: None, visible }
    }

    /// A packet that answers a closed-loop source changes the next arrival.
    fn send<T: Tracer>(
        &mut self,
        queue: usize,
        fabric: &mut Fabric<T>,
        pair: &mut QueuePair,
        now: Picos,
    ) -> Stepped {
        let tx: &mut TxQueue = &mut self.tx[queue];
        let completed = tx.step(fabric, &mut pair.tx, &mut self.egress, now);
        let wake = tx.next_wake(&pair.tx, now);
        let answered = self.port.answer(&mut self.egress);
        Stepped {
            last: now,
            wake,
            rescheduled: answered.then(|| (RECEIVE, self.port.next_wake())),
            visible: completed.map(|visible| (queue, visible)),
        }
    }
}
