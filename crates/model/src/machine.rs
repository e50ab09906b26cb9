//! A machine: one fabric, a NIC with its queues, and the software on its cores.
//!
//! Models: nothing of its own; it steps the agent whose turn it is. Ties go to the lower index:
//! receive port, then send queues, then cores with queues, then the others.
//! Source: ARCHITECTURE.md, "Two flows"; occupancy simulation as in zsim and Sniper.
//! Simplifies: one port.

use crate::device::nic::NicConfig;
use crate::device::nic::egress::Egress;
use crate::device::nic::rings::QueuePair;
use crate::device::nic::rx::RxPort;
use crate::device::nic::tx::TxQueue;
use crate::fabric::Fabric;
use crate::tracer::Tracer;
use crate::traffic::PacketSource;
use units::Picos;

/// How software wants to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It works until this time and goes on then.
    Busy(Picos),
    /// It polls in vain: nothing is to be seen in its queues before this time, or before the NIC
    /// writes something new. [`Picos::NEVER`] if nothing is under way at all.
    Idle(Picos),
}

/// What runs on a core: it sees the memory system and its own queue pair.
pub trait Software<T: Tracer> {
    /// Does the next small piece of work at `now`.
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut QueuePair, now: Picos) -> Turn;
}

/// What runs on a core without a queue: it sees only the memory system.
pub trait Kernel<T: Tracer> {
    /// Does the next small piece of work at `now`; returns when it goes on.
    fn step(&mut self, fabric: &mut Fabric<T>, now: Picos) -> Picos;
}

/// A machine that runs one software per core, each with a queue pair of the NIC, and kernels on the
/// cores after them.
#[derive(Debug)]
pub struct Machine<S, W, K, T: Tracer> {
    /// Caches, links, memory.
    pub fabric: Fabric<T>,
    /// Queues in host memory, one pair per core.
    pub queues: Vec<QueuePair>,
    /// Receive side of the port.
    pub port: RxPort<S>,
    /// Sending side of the port.
    pub egress: Egress,
    /// Software of each core with a queue.
    pub software: Vec<W>,
    /// What the other cores run.
    pub kernels: Vec<K>,
    tx: Vec<TxQueue>,
    /// Next turn of each agent.
    wake: Vec<Picos>,
    /// Whether each core polls in vain.
    idle: Vec<bool>,
    now: Picos,
    /// Ties go to the highest agent index instead of the lowest.
    ties_to_last: bool,
}

impl<S: PacketSource, W: Software<T>, K: Kernel<T>, T: Tracer> Machine<S, W, K, T> {
    /// Puts the parts together, with receive descriptors on the chip, and starts the clock; `queues`
    /// and `software` have one entry per core.
    pub fn new(
        mut fabric: Fabric<T>,
        nic: &NicConfig,
        source: S,
        mut queues: Vec<QueuePair>,
        software: Vec<W>,
        kernels: Vec<K>,
    ) -> Self {
        let cores = software.len();
        let mut port = RxPort::new(0, nic.clone(), source, cores);
        port.prepare(&mut fabric, &mut queues);
        fabric.start_clock();
        let mut wake = vec![Picos::ZERO; 1 + 2 * cores + kernels.len()];
        wake[0] = port.next_wake();
        wake[1..=cores].fill(Picos::NEVER);
        Self {
            fabric,
            queues,
            port,
            egress: Egress::new(nic.line_rate),
            software,
            kernels,
            tx: (0..cores).map(|_| TxQueue::new(0, nic.clone())).collect(),
            wake,
            idle: vec![false; cores],
            now: Picos::ZERO,
            ties_to_last: false,
        }
    }

    /// Turns the tie-break round: results must not depend on it beyond their intervals.
    pub fn give_ties_to_last(&mut self) {
        self.ties_to_last = true;
    }

    /// Simulated time: no agent acts before it.
    #[must_use]
    pub fn now(&self) -> Picos {
        self.now
    }

    /// Packets handed to a send queue whose payload has not been read.
    #[must_use]
    pub fn packets_in_send_queues(&self) -> usize {
        let posted = self.queues.iter().flat_map(|pair| &pair.tx.queued);
        let fetched: usize = self.tx.iter().map(TxQueue::packets_fetched).sum();
        fetched + posted.map(|request| request.packets.len()).sum::<usize>()
    }

    /// Buffers posted for receiving, on the chip or not.
    #[must_use]
    pub fn buffers_posted(&self) -> usize {
        let in_memory: usize = self.queues.iter().map(|pair| pair.rx.posted.len()).sum();
        in_memory + self.port.descriptors_on_chip()
    }

    /// Received packets that the software has not been told of or has not looked at.
    #[must_use]
    pub fn packets_completed_unseen(&self) -> usize {
        let completed = self.queues.iter().flat_map(|pair| &pair.rx.completed);
        self.port.packets_gathered() + completed.map(|line| line.packets.len()).sum::<usize>()
    }

    /// Runs until `packets` have been sent in all, `until` has come, or nobody will act again.
    /// Returns whether anybody still will.
    pub fn run(&mut self, packets: u64, until: Picos) -> bool {
        while self.egress.packets < packets {
            let (agent, time) = self.earliest();
            if time == Picos::NEVER || self.only_kernels_left() {
                return false;
            }
            if time > until {
                self.now = until;
                return true;
            }
            self.now = time;
            self.step(agent, time);
        }
        true
    }

    /// Whether nothing that moves packets will act again.
    fn only_kernels_left(&self) -> bool {
        let movers = self.wake.len() - self.kernels.len();
        !self.kernels.is_empty() && self.wake[..movers].iter().all(|&time| time == Picos::NEVER)
    }

    fn earliest(&self) -> (usize, Picos) {
        let mut first = (0, self.wake[0]);
        for (agent, &time) in self.wake.iter().enumerate().skip(1) {
            if time < first.1 || (self.ties_to_last && time == first.1) {
                first = (agent, time);
            }
        }
        first
    }

    fn step(&mut self, agent: usize, now: Picos) {
        let cores = self.software.len();
        if agent == 0 {
            if let Some((queue, visible)) = self.port.step(&mut self.fabric, &mut self.queues, now)
            {
                self.wake_core(queue, visible);
            }
            self.wake[0] = self.port.next_wake();
        } else if agent <= cores {
            let index = agent - 1;
            let ring = &mut self.queues[index].tx;
            let completed = self.tx[index].step(&mut self.fabric, ring, &mut self.egress, now);
            self.wake[agent] = self.tx[index].next_wake(ring, now);
            if let Some(visible) = completed {
                self.wake_core(index, visible);
            }
        } else if agent <= 2 * cores {
            let index = agent - 1 - cores;
            let pair = &mut self.queues[index];
            let turn = self.software[index].step(&mut self.fabric, pair, now);
            (self.wake[agent], self.idle[index]) = match turn {
                Turn::Busy(until) => (until, false),
                Turn::Idle(until) => (until, true),
            };
            self.wake[1 + index] = self.tx[index].next_wake(&pair.tx, now);
        } else {
            let kernel = &mut self.kernels[agent - 1 - 2 * cores];
            self.wake[agent] = kernel.step(&mut self.fabric, now);
        }
    }

    /// A core that polls in vain goes on when something becomes visible to it.
    fn wake_core(&mut self, core: usize, visible: Picos) {
        if !self.idle[core] {
            return;
        }
        let wake = &mut self.wake[1 + self.software.len() + core];
        *wake = (*wake).min(visible.max(self.now));
    }
}
