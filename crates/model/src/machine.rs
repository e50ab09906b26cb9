//! A machine: one fabric, its devices, the software on its cores, and what steers them.
//!
//! Models: nothing of its own; it steps the agent whose turn it is. Ties go to the lower index:
//! each NIC's receive port and send queues, SSDs, cores, controllers.
//! Source: ARCHITECTURE.md, "Two flows"; occupancy simulation as in zsim and Sniper.
//! Simplifies: nothing.

use crate::device::nic::card::Nic;
use crate::device::nvme::controller::NvmeController;
use crate::device::queues::{QueueId, Queues};
use crate::fabric::Fabric;
use crate::schedule::Schedule;
use crate::software::{Software, Turn};
use crate::tracer::Tracer;
use crate::traffic::PacketSource;
use std::fmt::Debug;
use units::Picos;

/// What changes settings while the machine runs: a schedule of events, or a feedback loop.
pub trait Controller<T: Tracer>: Debug {
    /// Looks and acts at `now`; returns when it wants to look again.
    fn step(&mut self, fabric: &mut Fabric<T>, now: Picos) -> Picos;
}

/// Who may act.
#[derive(Clone, Copy, Debug)]
enum Agent {
    Receive(usize),
    Send(usize, usize),
    Ssd(usize),
    Core(usize),
    Controller(usize),
}

/// Devices, software and controllers around a fabric.
#[derive(Debug)]
pub struct Machine<S, T: Tracer> {
    /// Caches, links, memory.
    pub fabric: Fabric<T>,
    /// Network cards.
    pub nics: Vec<Nic<S>>,
    /// SSDs.
    pub ssds: Vec<NvmeController>,
    /// Queues in host memory.
    pub queues: Queues,
    /// Software of each core.
    pub software: Vec<Box<dyn Software<T>>>,
    controllers: Vec<Box<dyn Controller<T>>>,
    agents: Vec<Agent>,
    /// Next turn of each agent.
    schedule: Schedule,
    /// Agents of the first send queue of each NIC, of the first SSD and of the first core.
    first_send: Vec<usize>,
    first_ssd: usize,
    first_core: usize,
    /// Whether each core polls in vain.
    idle: Vec<bool>,
    /// The core that polls each queue of each NIC and SSD.
    pollers: Pollers,
    /// Work of cores that a goal counts.
    goal: Goal,
    now: Picos,
}

/// What a run counts as progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Packets that left through a NIC.
    PacketsSent(usize),
    /// Work done by some cores.
    Work(std::ops::Range<usize>),
}

impl<S: PacketSource, T: Tracer> Machine<S, T> {
    /// Puts the parts together, with receive descriptors on the chips, and starts the clock.
    /// `queues` has an entry per device with one pair per queue of it.
    ///
    /// # Panics
    /// If the queues do not go with the devices, or two cores claim one queue: our own fault.
    pub fn new(
        mut fabric: Fabric<T>,
        mut nics: Vec<Nic<S>>,
        ssds: Vec<NvmeController>,
        mut queues: Queues,
        software: Vec<Box<dyn Software<T>>>,
        controllers: Vec<Box<dyn Controller<T>>>,
        goal: Goal,
    ) -> Self {
        assert!(nics.len() == queues.nics.len() && ssds.len() == queues.ssds.len());
        for (nic, pairs) in nics.iter_mut().zip(&mut queues.nics) {
            assert!(nic.queues() == pairs.len());
            nic.prepare(&mut fabric, pairs);
        }
        fabric.start_clock();
        let pollers = Pollers::of(&queues, &software);
        for (nic, cores) in nics.iter_mut().zip(&pollers.nics) {
            nic.port.steer(cores);
        }
        let mut machine = Self {
            pollers,
            idle: vec![false; software.len()],
            fabric,
            nics,
            ssds,
            queues,
            software,
            controllers,
            agents: Vec::new(),
            schedule: Schedule::new(vec![Picos::NEVER]),
            first_send: Vec::new(),
            first_ssd: 0,
            first_core: 0,
            goal,
            now: Picos::ZERO,
        };
        machine.number_agents();
        machine
    }

    fn number_agents(&mut self) {
        let mut wake = Vec::new();
        for (number, nic) in self.nics.iter().enumerate() {
            self.agents.push(Agent::Receive(number));
            wake.push(nic.port.next_wake());
            self.first_send.push(self.agents.len());
            self.agents.extend((0..nic.queues()).map(|queue| Agent::Send(number, queue)));
            wake.resize(self.agents.len(), Picos::NEVER);
        }
        self.first_ssd = self.agents.len();
        self.agents.extend((0..self.ssds.len()).map(Agent::Ssd));
        wake.resize(self.agents.len(), Picos::NEVER);
        self.first_core = self.agents.len();
        self.agents.extend((0..self.software.len()).map(Agent::Core));
        self.agents.extend((0..self.controllers.len()).map(Agent::Controller));
        wake.resize(self.agents.len(), Picos::ZERO);
        self.schedule = Schedule::new(wake);
    }

    /// Turns the tie-break round: results must not depend on it beyond their intervals.
    pub fn give_ties_to_last(&mut self) {
        self.schedule.give_ties_to_last();
    }

    /// Simulated time: no agent acts before it.
    #[must_use]
    pub fn now(&self) -> Picos {
        self.now
    }

    /// What has been done of what a run counts.
    #[must_use]
    pub fn progress(&self) -> u64 {
        match &self.goal {
            Goal::PacketsSent(nic) => self.nics[*nic].egress.packets,
            Goal::Work(cores) => {
                let works = self.software[cores.clone()].iter();
                works.map(|software| software.account(self.now).work).sum()
            }
        }
    }

    /// Packets handed to send queues whose payload has not been read.
    #[must_use]
    pub fn packets_in_send_queues(&self) -> usize {
        let cards = self.nics.iter().zip(&self.queues.nics);
        cards.map(|(nic, pairs)| nic.packets_in_send_queues(pairs)).sum()
    }

    /// Buffers posted for receiving, on the chips or not.
    #[must_use]
    pub fn buffers_posted(&self) -> usize {
        let cards = self.nics.iter().zip(&self.queues.nics);
        cards.map(|(nic, pairs)| nic.buffers_posted(pairs)).sum()
    }

    /// Received packets that the software has not been told of or has not looked at.
    #[must_use]
    pub fn packets_completed_unseen(&self) -> usize {
        let cards = self.nics.iter().zip(&self.queues.nics);
        cards.map(|(nic, pairs)| nic.packets_completed_unseen(pairs)).sum()
    }

    /// Receive rings that have been used at all, and those that have been used from end to end.
    #[must_use]
    pub fn rings_used(&self) -> (usize, usize) {
        let cards = self.nics.iter().zip(&self.queues.nics);
        let used = cards.map(|(nic, pairs)| nic.port.rings_used(pairs));
        used.fold((0, 0), |sum, used| (sum.0 + used.0, sum.1 + used.1))
    }

    /// Runs until the goal has been counted up to `progress`, `until` has come, or nobody will act
    /// again. Returns whether anybody still will.
    pub fn run(&mut self, progress: u64, until: Picos) -> bool {
        while self.progress() < progress {
            let (agent, time) = self.schedule.earliest();
            if time == Picos::NEVER || self.only_background_left() {
                return false;
            }
            if time > until {
                self.now = until;
                return true;
            }
            self.now = time;
            self.step(agent, time, until);
        }
        true
    }

    /// Whether nothing will act again but software and controllers that never end.
    fn only_background_left(&self) -> bool {
        let last_core = self.first_core + self.software.len();
        let is_asleep = |agent: &usize| self.schedule.wake(*agent) == Picos::NEVER;
        if !(0..self.first_core).all(|agent| is_asleep(&agent)) {
            return false;
        }
        (self.first_core..last_core).all(|agent| {
            is_asleep(&agent) || self.software[agent - self.first_core].is_background()
        }) && !self.software.iter().all(|software| software.is_background())
    }

    fn step(&mut self, agent: usize, now: Picos, until: Picos) {
        match self.agents[agent] {
            Agent::Receive(nic) => self.step_receive(nic, agent, now, until),
            Agent::Send(nic, queue) => self.step_send(nic, queue, agent, now),
            Agent::Ssd(number) => self.step_ssd(number, agent, now),
            Agent::Core(core) => self.step_core(core, agent, now),
            Agent::Controller(number) => {
                let wake = self.controllers[number].step(&mut self.fabric, now);
                self.schedule.set(agent, wake);
            }
        }
    }

    /// A port goes on by itself until somebody else's turn comes or its software has something to see:
    /// under overload most of its steps are packets that it drops.
    fn step_receive(&mut self, number: usize, agent: usize, now: Picos, until: Picos) {
        let (port, pairs) = (&mut self.nics[number].port, &mut self.queues.nics[number]);
        let others = self.schedule.earliest_beside(agent).min(until);
        let (seen, last) = port.run(&mut self.fabric, pairs, now, others);
        self.now = last;
        self.schedule.set(agent, port.next_wake());
        if let Some((queue, visible)) = seen {
            self.wake_poller(self.pollers.nics[number][queue], visible);
        }
    }

    fn step_ssd(&mut self, number: usize, agent: usize, now: Picos) {
        let (ssd, pairs) = (&mut self.ssds[number], &mut self.queues.ssds[number]);
        let seen = ssd.step(&mut self.fabric, pairs, now);
        self.schedule.set(agent, ssd.next_wake(pairs, now));
        if let Some((queue, visible)) = seen {
            self.wake_poller(self.pollers.ssds[number][queue], visible);
        }
    }

    fn step_send(&mut self, number: usize, queue: usize, agent: usize, now: Picos) {
        let nic = &mut self.nics[number];
        let ring = &mut self.queues.nics[number][queue].tx;
        let tx = &mut nic.tx[queue];
        let completed = tx.step(&mut self.fabric, ring, &mut nic.egress, now);
        self.schedule.set(agent, tx.next_wake(ring, now));
        if nic.port.answer(&mut nic.egress) {
            self.schedule.set(self.first_send[number] - 1, nic.port.next_wake());
        }
        if let Some(visible) = completed {
            self.wake_poller(self.pollers.nics[number][queue], visible);
        }
    }

    fn step_core(&mut self, core: usize, agent: usize, now: Picos) {
        let software = &mut self.software[core];
        let turn = software.step(&mut self.fabric, &mut self.queues, now);
        let (until, idle) = match turn {
            Turn::Busy(until) => (until, false),
            Turn::Idle(until) => (until, true),
        };
        self.schedule.set(agent, until);
        self.idle[core] = idle;
        for id in software.queues() {
            match *id {
                QueueId::Nic { nic, queue } => {
                    let ring = &self.queues.nics[nic][queue].tx;
                    let wake = self.nics[nic].tx[queue].next_wake(ring, now);
                    self.schedule.set(self.first_send[nic] + queue, wake);
                }
                QueueId::Ssd { ssd, .. } => {
                    let wake = self.ssds[ssd].next_wake(&self.queues.ssds[ssd], now);
                    self.schedule.set(self.first_ssd + ssd, wake);
                }
            }
        }
    }

    /// A core that polls in vain goes on when something becomes visible to it.
    fn wake_poller(&mut self, poller: Option<usize>, visible: Picos) {
        let Some(core) = poller.filter(|&core| self.idle[core]) else { return };
        let agent = self.first_core + core;
        let wake = self.schedule.wake(agent).min(visible.max(self.now));
        self.schedule.set(agent, wake);
    }
}

/// The core that polls each queue of each device.
#[derive(Debug)]
struct Pollers {
    nics: Vec<Vec<Option<usize>>>,
    ssds: Vec<Vec<Option<usize>>>,
}

impl Pollers {
    fn of<T: Tracer>(queues: &Queues, software: &[Box<dyn Software<T>>]) -> Self {
        let mut pollers = Self {
            nics: queues.nics.iter().map(|pairs| vec![None; pairs.len()]).collect(),
            ssds: queues.ssds.iter().map(|pairs| vec![None; pairs.len()]).collect(),
        };
        for (core, software) in software.iter().enumerate() {
            for id in software.queues() {
                let poller = match *id {
                    QueueId::Nic { nic, queue } => &mut pollers.nics[nic][queue],
                    QueueId::Ssd { ssd, queue } => &mut pollers.ssds[ssd][queue],
                };
                assert!(poller.is_none(), "a queue has one core");
                *poller = Some(core);
            }
        }
        pollers
    }
}
