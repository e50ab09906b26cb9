//! A machine: one fabric, its devices, the software on its cores, and its controllers.
//!
//! Models: the order of agents: the machine steps the agent with the earliest time. Ties go to the
//! lower index: the agents of each device in the order of devices, then cores, then controllers.
//! Source: ARCHITECTURE.md, "Two flows"; occupancy simulation as in zsim and Sniper.

use crate::device::queues::Queues;
use crate::device::{Device, DeviceId, Levels};
use crate::fabric::Fabric;
use crate::schedule::Schedule;
use crate::software::{Software, Turn};
use crate::tracer::Tracer;
use crate::traffic::PacketSource;
use std::fmt::Debug;
use std::ops::Add;
use units::narrow::fit;
use units::{CoreId, Id, Picos};

/// Changes settings while the machine runs: a schedule of events, or a feedback loop.
pub trait Controller<T: Tracer>: Debug {
    /// Acts at `now`; returns the time of its next step.
    fn step(&mut self, fabric: &mut Fabric<T>, now: Picos) -> Picos;
}

/// An agent of the machine.
#[derive(Clone, Copy, Debug)]
enum Agent {
    /// An agent of a device, by its number in the device.
    Device(DeviceId, usize),
    Core(usize),
    Controller(usize),
}

/// Devices, software and controllers around a fabric.
#[derive(Debug)]
pub struct Machine<S, T: Tracer> {
    /// Caches, links and memory of the machine.
    pub fabric: Fabric<T>,
    /// Devices: agents outside the cores.
    pub devices: Vec<Device<S>>,
    /// Queues in host memory.
    pub queues: Queues,
    /// Software of each core.
    pub software: Vec<Box<dyn Software<T>>>,
    controllers: Vec<Box<dyn Controller<T>>>,
    agents: Vec<Agent>,
    /// Next turn of each agent.
    schedule: Schedule,
    /// Index of the first agent of each device, and of the first core.
    first_of_device: Vec<usize>,
    first_core: usize,
    /// Whether each core polls and finds nothing.
    idle: Vec<bool>,
    /// The core that polls each queue of each device.
    pollers: Pollers,
    /// Work that the run counts.
    goal: Goal,
    now: Picos,
}

/// Why a run returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The goal is reached.
    ToTheGoal,
    /// The end time is reached.
    OutOfTime,
    /// The limit of steps is reached.
    OutOfSteps,
    /// No agent will act again.
    OutOfWork,
}

/// The work that a run counts as progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Work done by a device: packets sent by a NIC, commands completed by an SSD.
    Device(DeviceId),
    /// Work done by the software of some cores.
    Work(std::ops::Range<usize>),
}

impl<S: PacketSource, T: Tracer> Machine<S, T> {
    /// Assembles the machine, lets the devices prepare, and starts the clock. `queues` has an entry per
    /// device.
    ///
    /// # Panics
    /// If the queues do not match the devices, or two cores claim one queue: a bug of the caller.
    pub fn new(
        mut fabric: Fabric<T>,
        mut devices: Vec<Device<S>>,
        mut queues: Queues,
        software: Vec<Box<dyn Software<T>>>,
        controllers: Vec<Box<dyn Controller<T>>>,
        goal: Goal,
    ) -> Self {
        assert!(devices.len() == queues.devices());
        for (id, device) in numbered(&mut devices) {
            assert!(device.owns(queues.device(id)));
            device.prepare(&mut fabric, queues.device_mut(id));
        }
        fabric.start_clock();
        let pollers = Pollers::new(&devices, &software);
        for (device, cores) in devices.iter_mut().zip(&pollers.of) {
            device.steer(cores);
        }
        let mut machine = Self {
            pollers,
            idle: vec![false; software.len()],
            fabric,
            devices,
            queues,
            software,
            controllers,
            agents: Vec::new(),
            schedule: Schedule::new(vec![Picos::NEVER]),
            first_of_device: Vec::new(),
            first_core: 0,
            goal,
            now: Picos::ZERO,
        };
        machine.number_agents();
        machine
    }

    fn number_agents(&mut self) {
        let mut wake = Vec::new();
        for (id, device) in numbered(&mut self.devices) {
            self.first_of_device.push(self.agents.len());
            for agent in 0..device.agents() {
                self.agents.push(Agent::Device(id, agent));
                wake.push(device.next_wake(agent, self.queues.device(id), Picos::ZERO));
            }
        }
        self.first_core = self.agents.len();
        self.agents.extend((0..self.software.len()).map(Agent::Core));
        self.agents.extend((0..self.controllers.len()).map(Agent::Controller));
        wake.resize(self.agents.len(), Picos::ZERO);
        self.schedule = Schedule::new(wake);
    }

    /// Reverses the tie-break: results must not depend on it beyond their intervals.
    pub fn give_ties_to_last(&mut self) {
        self.schedule.give_ties_to_last();
    }

    /// Simulated time: no agent acts before it.
    #[must_use]
    pub fn now(&self) -> Picos {
        self.now
    }

    /// Progress towards the goal.
    #[must_use]
    pub fn progress(&self) -> u64 {
        match &self.goal {
            Goal::Device(id) => self.devices[id.index()].progress(),
            Goal::Work(cores) => {
                let works = self.software[cores.clone()].iter();
                works.map(|software| software.work(self.now)).sum()
            }
        }
    }

    /// Fill levels summed over all devices and their queues.
    #[must_use]
    pub fn levels(&self) -> Levels {
        let devices = self.devices.iter().enumerate();
        let levels =
            devices.map(|(number, device)| device.levels(self.queues.device(id_of(number))));
        levels.fold(Levels::default(), Levels::add)
    }

    /// Checks the fabric and every device; for tests, because it walks the whole machine.
    ///
    /// # Errors
    /// Describes the violated invariant.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.fabric.check_invariants()?;
        self.devices.iter().enumerate().try_for_each(|(number, device)| {
            let checked = device.check_invariants(self.queues.device(id_of(number)));
            checked.map_err(|broken| format!("device {number}: {broken}"))
        })
    }

    /// Runs until the goal has counted `progress`, until `until`, or until no agent will act again.
    /// Returns whether any agent still will.
    pub fn run(&mut self, progress: u64, until: Picos) -> bool {
        self.run_slice(progress, until, u64::MAX) != Ran::OutOfWork
    }

    /// As [`Self::run`], for at most `steps` steps; returns why it stopped.
    pub fn run_slice(&mut self, progress: u64, until: Picos, steps: u64) -> Ran {
        let mut left = steps;
        while self.progress() < progress {
            let (agent, time) = self.schedule.earliest();
            if time == Picos::NEVER || (self.is_background(agent) && self.only_background_left()) {
                return Ran::OutOfWork;
            }
            if time > until {
                self.now = until;
                return Ran::OutOfTime;
            }
            if left == 0 {
                return Ran::OutOfSteps;
            }
            left -= 1;
            debug_assert!(time >= self.now, "{:?}", self.agents[agent]);
            self.now = time;
            self.step(agent, time, until);
        }
        Ran::ToTheGoal
    }

    /// The time of the next step of any agent; [`Picos::NEVER`] if there is none.
    pub fn next_step(&self) -> Picos {
        self.schedule.earliest().1
    }

    /// Whether an agent may be one of those that never end.
    #[inline]
    fn is_background(&self, agent: usize) -> bool {
        match self.agents[agent] {
            Agent::Device(..) => false,
            Agent::Core(core) => self.software[core].is_background(),
            Agent::Controller(_) => true,
        }
    }

    /// Whether only software and controllers that never end will act again.
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
            Agent::Device(id, own) => self.step_device(id, own, agent, until),
            Agent::Core(core) => self.step_core(core, agent, now),
            Agent::Controller(number) => {
                let wake = self.controllers[number].step(&mut self.fabric, now);
                self.schedule.set(agent, wake);
            }
        }
    }

    /// `own` is the agent's number at its device.
    fn step_device(&mut self, id: DeviceId, own: usize, agent: usize, until: Picos) {
        let (device, queues) = (&mut self.devices[id.index()], self.queues.device_mut(id));
        let until = self.schedule.earliest_beside(agent).min(until);
        let stepped = device.step(own, &mut self.fabric, queues, self.now, until);
        debug_assert!(self.now <= stepped.last && stepped.last <= until.max(self.now), "{id:?}");
        self.now = stepped.last;
        self.schedule.set(agent, stepped.wake);
        if let Some((other, wake)) = stepped.rescheduled {
            self.schedule.set(self.first_of_device[id.index()] + other, wake);
        }
        if let Some((queue, visible)) = stepped.visible {
            self.wake_poller(self.pollers.of[id.index()][queue], visible);
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
            let device = &self.devices[id.device.index()];
            let own = device.agent_of(id.index());
            let wake = device.next_wake(own, self.queues.device(id.device), now);
            self.schedule.set(self.first_of_device[id.device.index()] + own, wake);
        }
    }

    /// Wakes a core that polls an empty queue when an entry becomes visible to it.
    fn wake_poller(&mut self, poller: Option<CoreId>, visible: Picos) {
        let Some(core) = poller.map(CoreId::index).filter(|&core| self.idle[core]) else { return };
        let agent = self.first_core + core;
        let wake = self.schedule.wake(agent).min(visible.max(self.now));
        self.schedule.set(agent, wake);
    }
}

/// The id of the device at an index of [`Machine::devices`]. It fits: each device has an entry in
/// [`Queues`], which checks their number.
fn id_of(place: usize) -> DeviceId {
    DeviceId(fit(place))
}

fn numbered<S>(devices: &mut [Device<S>]) -> impl Iterator<Item = (DeviceId, &mut Device<S>)> {
    devices.iter_mut().enumerate().map(|(place, device)| (id_of(place), device))
}

/// The core that polls each queue of each device.
#[derive(Debug)]
struct Pollers {
    of: Vec<Vec<Option<CoreId>>>,
}

impl Pollers {
    fn new<S: PacketSource, T: Tracer>(
        devices: &[Device<S>],
        software: &[Box<dyn Software<T>>],
    ) -> Self {
        let mut of: Vec<_> = devices.iter().map(|device| vec![None; device.queues()]).collect();
        for (core, software) in software.iter().enumerate() {
            for id in software.queues() {
                let poller = &mut of[id.device.index()][id.index()];
                assert!(poller.is_none(), "a queue has one core");
                *poller = Some(CoreId::at(core));
            }
        }
        Self { of }
    }
}
