//! Devices: what moves lines into and out of host memory by itself.
//!
//! [`DeviceKind`] is what a machine asks of every device; [`Device`] is the closed list of kinds, and the
//! only code that names them all. A kind has a folder of its own: its parameters, its queues in host
//! memory, its agents, and `as_device.rs`, which says how they fit the interface.

pub mod nic;
pub mod nvme;
pub mod queues;
pub mod ring;

use crate::fabric::Fabric;
use crate::tracer::Tracer;
use crate::traffic::PacketSource;
use std::ops::Add;
use units::{CoreId, Picos};

/// A device of a machine, by its place in [`crate::machine::Machine::devices`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceId(pub u16);

impl DeviceId {
    /// Its place among the devices of its machine.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What a step of a device's agent means for those around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// When the agent's last step was: it may have taken several by itself.
    pub last: Picos,
    /// When the agent acts next.
    pub wake: Picos,
    /// Another agent of the device that now acts at a different time, and when.
    pub rescheduled: Option<(usize, Picos)>,
    /// A queue in which software has something new to see, and from when on.
    pub visible: Option<(usize, Picos)>,
}

impl Stepped {
    /// One step at `now`, after which the agent acts at `wake`.
    #[must_use]
    pub fn once(now: Picos, wake: Picos) -> Self {
        Self { last: now, wake, rescheduled: None, visible: None }
    }
}

/// How full a device and its queues are. A run watches these levels to see whether it has settled; a
/// device whose software waits for it, such as an SSD, bounds them itself and reports none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Packets that software has handed to the device and whose payload it has not read.
    pub packets_to_send: usize,
    /// Packets that the device has delivered and software has not looked at.
    pub packets_unseen: usize,
    /// Buffers that software has posted and the device has not filled.
    pub buffers_posted: usize,
    /// Receive rings that have been used at all.
    pub rings_used: usize,
    /// Receive rings that have been used from end to end.
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

/// What a machine asks of a device of any kind.
///
/// A device has one or more *agents*, numbered from 0: each acts at times of its own, and of two that act
/// at the same time the lower goes first. All of a device's methods get its own queues.
pub trait DeviceKind {
    /// A queue, or pair of queues, in host memory that one core uses.
    type Queue;

    /// Number of agents; it never changes.
    fn agents(&self) -> usize;

    /// Number of queues; it never changes.
    fn queues(&self) -> usize;

    /// The agent to which new entries in `queue` matter.
    fn agent_of(&self, queue: usize) -> usize;

    /// Does before time zero what the device has done long before a run.
    fn prepare<T: Tracer>(&mut self, _fabric: &mut Fabric<T>, _queues: &mut [Self::Queue]) {}

    /// Learns which core polls each of its queues.
    fn steer(&mut self, _pollers: &[Option<CoreId>]) {}

    /// When `agent` acts next, not before `now`; [`Picos::NEVER`] if only new entries can make it act.
    fn next_wake(&self, agent: usize, queues: &[Self::Queue], now: Picos) -> Picos;

    /// Lets `agent` act at `now`: one small step. An agent whose steps nobody else can see may take
    /// further ones by itself, all of them before `until`, the next turn of anyone else.
    fn step<T: Tracer>(
        &mut self,
        agent: usize,
        fabric: &mut Fabric<T>,
        queues: &mut [Self::Queue],
        now: Picos,
        until: Picos,
    ) -> Stepped;

    /// Units of work done since time zero: what a run counts.
    fn progress(&self) -> u64;

    /// How full the device and its queues are.
    fn levels(&self, _queues: &[Self::Queue]) -> Levels {
        Levels::default()
    }

    /// Checks that nothing has been lost or done twice; for tests.
    ///
    /// # Errors
    /// What does not hold.
    fn check_invariants(&self, queues: &[Self::Queue]) -> Result<(), String>;
}

/// A device of any kind.
#[derive(Debug)]
pub enum Device<S> {
    /// A network card, fed by a source of packets.
    Nic(Box<nic::card::Nic<S>>),
    /// An SSD.
    Nvme(Box<nvme::controller::NvmeController>),
}

/// The queues of a device of any kind.
#[derive(Debug)]
pub enum DeviceQueues {
    /// Of a network card.
    Nic(Vec<nic::rings::QueuePair>),
    /// Of an SSD.
    Nvme(Vec<nvme::rings::NvmeQueuePair>),
}

/// Does the same for a device of any kind.
macro_rules! of_any_kind {
    ($device:expr, $own:ident => $done:expr) => {
        match $device {
            Device::Nic($own) => $done,
            Device::Nvme($own) => $done,
        }
    };
    ($device:expr, $queues:expr, ($own:ident, $own_queues:ident) => $done:expr) => {
        match ($device, $queues) {
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

    /// Whether these are its queues: of its kind, and as many as it has.
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
    /// As all that follow: if the queues are of another kind of device, which is our own fault.
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
    /// What does not hold.
    pub fn check_invariants(&self, queues: &DeviceQueues) -> Result<(), String> {
        of_any_kind!(self, queues, (device, queues) => device.check_invariants(queues))
    }
}
