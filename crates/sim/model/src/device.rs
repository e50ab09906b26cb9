//! Devices: agents outside the cores that move lines into and out of host memory.
//!
//! [`DeviceKind`] is the interface of every device; [`Device`] is the closed list of kinds, and the
//! only code that names them all. A kind has a folder of its own: its parameters, its queues in host
//! memory, its agents, and `as_device.rs`, which implements the interface.

pub mod cbdma;
pub mod dsa;
pub mod nic;
pub mod nvme;
pub mod queues;
pub mod ring;

use crate::fabric::Fabric;
use crate::tracer::Tracer;
use crate::traffic::PacketSource;
use std::ops::Add;
use units::{CoreId, Picos};

/// A device of a machine, by its index in [`crate::machine::Machine::devices`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceId(pub u16);

impl DeviceId {
    /// Index of the device among those of its machine, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The effect of an agent's step on other agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// Time of the agent's last step: one call may take several.
    pub last: Picos,
    /// Time of the agent's next step.
    pub wake: Picos,
    /// Another agent of the device whose next step has moved, and its new time.
    pub rescheduled: Option<(usize, Picos)>,
    /// A queue with a new entry for software, and when it becomes visible.
    pub visible: Option<(usize, Picos)>,
}

impl Stepped {
    /// One step at `now`, after which the agent acts at `wake`.
    #[must_use]
    pub fn once(now: Picos, wake: Picos) -> Self {
        Self { last: now, wake, rescheduled: None, visible: None }
    }
}

/// How full a device and its queues are. A run checks from these levels whether it has settled. A
/// device whose software waits for it, such as an SSD, bounds them itself and reports none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Number of packets that software has handed to the device and whose payload it has not read.
    pub packets_to_send: usize,
    /// Number of packets that the device has delivered and software has not read.
    pub packets_unseen: usize,
    /// Number of buffers that software has posted and the device has not filled.
    pub buffers_posted: usize,
    /// Receive rings in which an entry has been used.
    pub rings_used: usize,
    /// Receive rings in which every entry has been used.
    pub rings_used_whole: usize,
}

impl Add for Levels {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            packets_to_send: self.packets_to_send + other.packets_to_send,
            packets_unseen: self.packets_unseen + other.packets_unseen,
            buffers_posted: self.buffers_posted + other.buffers_posted,
            rings_used: self.rings_used + other.rings_used,
            rings_used_whole: self.rings_used_whole + other.rings_used_whole,
        }
    }
}

/// The interface of every kind of device.
///
/// A device has one or more *agents*, numbered from 0. Each acts at times of its own; of two that act
/// at the same time the lower goes first. All of a device's methods receive its own queues.
pub trait DeviceKind {
    /// A queue, or pair of queues, in host memory that one core uses.
    type Queue;

    /// Number of agents; it never changes.
    fn agents(&self) -> usize;

    /// Number of queues; it never changes.
    fn queues(&self) -> usize;

    /// The agent that new entries in `queue` are for.
    fn agent_of(&self, queue: usize) -> usize;

    /// Brings the device before time zero into the state of a device that has long been running.
    fn prepare<T: Tracer>(&mut self, _fabric: &mut Fabric<T>, _queues: &mut [Self::Queue]) {}

    /// Tells the device which core polls each of its queues.
    fn steer(&mut self, _pollers: &[Option<CoreId>]) {}

    /// When `agent` acts next, not before `now`; [`Picos::NEVER`] if it waits for new entries.
    fn next_wake(&self, agent: usize, queues: &[Self::Queue], now: Picos) -> Picos;

    /// Lets `agent` act at `now`: one small step. An agent whose steps affect no other agent may take
    /// further ones in the same call, all of them before `until`, the next turn of another agent.
    fn step<T: Tracer>(
        &mut self,
        agent: usize,
        fabric: &mut Fabric<T>,
        queues: &mut [Self::Queue],
        now: Picos,
        until: Picos,
    ) -> Stepped;

    /// Units of work done since time zero, as a run counts them.
    fn progress(&self) -> u64;

    /// How full the device and its queues are.
    fn levels(&self, _queues: &[Self::Queue]) -> Levels {
        Levels::default()
    }

    /// Checks that no packet or command is lost or done twice; for tests.
    ///
    /// # Errors
    /// Describes the violated invariant.
    fn check_invariants(&self, queues: &[Self::Queue]) -> Result<(), String>;
}

/// A device of one of the kinds.
#[derive(Debug)]
pub enum Device<S> {
    /// A CBDMA: the copy engine before the data streaming accelerator.
    Cbdma(Box<cbdma::Cbdma>),
    /// A data streaming accelerator.
    Dsa(Box<dsa::Dsa>),
    /// A network card, fed by a source of packets.
    Nic(Box<nic::card::Nic<S>>),
    /// An SSD.
    Nvme(Box<nvme::controller::NvmeController>),
}

/// The queues of a device of one of the kinds.
#[derive(Debug)]
pub enum DeviceQueues {
    /// Channels of a CBDMA.
    Cbdma(Vec<cbdma::channel::Channel>),
    /// Portals of a data streaming accelerator.
    Dsa(Vec<dsa::portal::Portal>),
    /// Queues of a network card.
    Nic(Vec<nic::rings::QueuePair>),
    /// Queues of an SSD.
    Nvme(Vec<nvme::rings::NvmeQueuePair>),
}

/// Calls the same method on a device of any kind.
macro_rules! of_any_kind {
    ($device:expr, $own:ident => $done:expr) => {
        match $device {
            Device::Cbdma($own) => $done,
            Device::Dsa($own) => $done,
            Device::Nic($own) => $done,
            Device::Nvme($own) => $done,
        }
    };
    ($device:expr, $queues:expr, ($own:ident, $own_queues:ident) => $done:expr) => {
        match ($device, $queues) {
            (Device::Cbdma($own), DeviceQueues::Cbdma($own_queues)) => $done,
            (Device::Dsa($own), DeviceQueues::Dsa($own_queues)) => $done,
            (Device::Nic($own), DeviceQueues::Nic($own_queues)) => $done,
            (Device::Nvme($own), DeviceQueues::Nvme($own_queues)) => $done,
            _ => panic!("a device got the queues of another kind"),
        }
    };
}

impl<S: PacketSource> Device<S> {
    /// See [`DeviceKind::agents`].
    #[must_use]
    pub fn agents(&self) -> usize {
        of_any_kind!(self, device => device.agents())
    }

    /// See [`DeviceKind::queues`].
    #[must_use]
    pub fn queues(&self) -> usize {
        of_any_kind!(self, device => device.queues())
    }

    /// Whether these are its queues: of its kind and number.
    #[must_use]
    pub fn owns(&self, queues: &DeviceQueues) -> bool {
        of_any_kind!(self, queues, (device, queues) => device.queues() == queues.len())
    }

    /// See [`DeviceKind::agent_of`].
    #[must_use]
    pub fn agent_of(&self, queue: usize) -> usize {
        of_any_kind!(self, device => device.agent_of(queue))
    }

    /// See [`DeviceKind::prepare`].
    ///
    /// # Panics
    /// As all methods below: if the queues belong to another kind of device, which is a bug of the
    /// caller.
    pub fn prepare<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut DeviceQueues) {
        of_any_kind!(self, queues, (device, queues) => device.prepare(fabric, queues));
    }

    /// See [`DeviceKind::steer`].
    pub fn steer(&mut self, pollers: &[Option<CoreId>]) {
        of_any_kind!(self, device => device.steer(pollers));
    }

    /// See [`DeviceKind::next_wake`].
    #[must_use]
    pub fn next_wake(&self, agent: usize, queues: &DeviceQueues, now: Picos) -> Picos {
        of_any_kind!(self, queues, (device, queues) =>
            device.next_wake(agent, queues, now))
    }

    /// See [`DeviceKind::step`].
    pub fn step<T: Tracer>(
        &mut self,
        agent: usize,
        fabric: &mut Fabric<T>,
        queues: &mut DeviceQueues,
        now: Picos,
        until: Picos,
    ) -> Stepped {
        of_any_kind!(self, queues, (device, queues) =>
            device.step(agent, fabric, queues, now, until))
    }

    /// See [`DeviceKind::progress`].
    #[must_use]
    pub fn progress(&self) -> u64 {
        of_any_kind!(self, device => device.progress())
    }

    /// See [`DeviceKind::levels`].
    #[must_use]
    pub fn levels(&self, queues: &DeviceQueues) -> Levels {
        of_any_kind!(self, queues, (device, queues) => device.levels(queues))
    }

    /// See [`DeviceKind::check_invariants`].
    ///
    /// # Errors
    /// Describes the violated invariant.
    pub fn check_invariants(&self, queues: &DeviceQueues) -> Result<(), String> {
        of_any_kind!(self, queues, (device, queues) => device.check_invariants(queues))
    }
}
