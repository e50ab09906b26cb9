//! The guest behind a virtual switch: it sends every packet back.
//!
//! Models: a core of a virtual machine that polls its receive queues, swaps the addresses of each packet
//! and makes it available for sending; buffers from a stack of its own.
//! Source: DPDK's testpmd with forwarding mode macswap over virtio, as the guest of ASPLOS'24, section 6.4.
//! Simplifies: no exits to the hypervisor; the work for a packet is a number of cycles.

use crate::driver::virtqueue::Virtqueue;
use model::core::Core;
use model::device::nic::rings::{Buffer, Packet};
use model::device::queues::Queues;
use model::fabric::Fabric;
use model::software::{Account, Software, SwitchCounts, Turn};
use model::tracer::Tracer;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use units::{Cycles, LineAddr, Picos};

/// The line of a packet's header in a buffer of the guest: the one before its data.
#[must_use]
pub fn header_line(buffer: Buffer) -> LineAddr {
    LineAddr(buffer.data.0 - 1)
}

/// A pair of queues between a guest and a core of the switch.
#[derive(Debug)]
pub struct GuestQueues {
    /// Empty buffers for packets to the guest.
    pub receive: Virtqueue<Buffer, Packet>,
    /// Packets from the guest; their buffers return to it.
    pub send: Virtqueue<Packet, Buffer>,
}

/// A pair of queues as the guest sees it.
#[derive(Debug)]
pub struct GuestPort {
    /// The queues, shared with the switch.
    pub queues: Rc<RefCell<GuestQueues>>,
    /// Buffers that no queue holds: the next to be used is the last.
    pub spare: Vec<Buffer>,
    /// Number of the last packet received.
    pub last: Option<u64>,
}

/// Cycles that a core of a guest takes for packets, and its burst.
#[derive(Clone, Copy, Debug)]
pub struct GuestConfig {
    /// Most packets that the guest takes at a time.
    pub burst: usize,
    /// Cycles of the guest's work for a packet.
    pub work: Cycles,
    /// Cycles of a look at a queue without packets.
    pub poll: Cycles,
}

/// A core of the guest.
#[derive(Debug)]
pub struct Guest {
    config: GuestConfig,
    core: Core,
    ports: Vec<GuestPort>,
    /// The port whose turn it is.
    next: usize,
    /// Packets of the burst in progress, and those of it that are done.
    burst: VecDeque<Packet>,
    done: Vec<Packet>,
    disordered: u64,
    idle: Picos,
}

impl Guest {
    /// A core that serves `ports`.
    ///
    /// # Panics
    /// Without ports. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(config: GuestConfig, core: Core, ports: Vec<GuestPort>) -> Self {
        assert!(!ports.is_empty());
        let (burst, done) = (VecDeque::new(), Vec::new());
        Self { config, core, ports, next: 0, burst, done, disordered: 0, idle: Picos::ZERO }
    }

    /// Takes a burst from the port whose turn it is, or polls.
    fn receive<T: Tracer>(&mut self, fabric: &mut Fabric<T>) {
        let (begun, most) = (self.core.now(), self.config.burst);
        let next = (self.next + 1) % self.ports.len();
        let port = &mut self.ports[self.next];
        let mut queues = port.queues.borrow_mut();
        port.spare.extend(queues.send.reclaim(&mut self.core, fabric, most));
        // Each packet taken is replaced by a spare buffer, so that neither ring overflows.
        let most = most.min(port.spare.len());
        self.burst.extend(queues.receive.reclaim(&mut self.core, fabric, most));
        for packet in &self.burst {
            self.disordered += u64::from(port.last.is_some_and(|last| packet.sequence < last));
            port.last = port.last.max(Some(packet.sequence));
        }
        if self.burst.is_empty() {
            self.core.compute(self.config.poll);
            self.idle += self.core.now() - begun;
            self.next = next;
            return;
        }
        let refill = port.spare.split_off(port.spare.len() - self.burst.len());
        queues.receive.offer(&mut self.core, fabric, refill);
        for packet in &self.burst {
            self.core.prefetch(fabric, packet.buffer.data);
        }
    }

    /// Handles a packet; the last of a burst makes all available.
    fn forward<T: Tracer>(&mut self, fabric: &mut Fabric<T>, packet: Packet) {
        self.core.load_independent(fabric, header_line(packet.buffer));
        self.core.load(fabric, packet.buffer.data);
        self.core.store(fabric, packet.buffer.data);
        self.core.compute(self.config.work);
        self.done.push(packet);
        if !self.burst.is_empty() {
            return;
        }
        let mut queues = self.ports[self.next].queues.borrow_mut();
        queues.send.offer(&mut self.core, fabric, self.done.drain(..));
        drop(queues);
        self.next = (self.next + 1) % self.ports.len();
    }
}

impl<T: Tracer> Software<T> for Guest {
    fn step(&mut self, fabric: &mut Fabric<T>, _: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        match self.burst.pop_front() {
            Some(packet) => self.forward(fabric, packet),
            None => self.receive(fabric),
        }
        Turn::Busy(self.core.now())
    }

    fn account(&self, _: Picos) -> Account {
        let switch = SwitchCounts { disordered: self.disordered, ..SwitchCounts::default() };
        Account { idle: self.idle, switch, ..Account::default() }
    }

    /// It polls for ever.
    fn is_background(&self) -> bool {
        true
    }
}
