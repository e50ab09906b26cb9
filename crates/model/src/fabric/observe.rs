//! What can be read from a fabric: counters, components, cache contents.
//!
//! Models: nothing.
//! Source: none; these are the results' readings.
//! Simplifies: nothing.

use super::{Fabric, Memory, Tracer};
use crate::attribution::{AgentId, EvictionCounts, Owner};
use crate::counters::{CoreCounters, Counters, PortCounters};
use crate::llc::{Directory, Llc};
use crate::private_caches::{PrivateCaches, State};
use crate::root_complex::attachment::Attachment;
use crate::root_complex::buffer::RootComplexBuffer;
use crate::root_complex::ddio::IoPolicy;
use crate::root_complex::iio::Iio;
use crate::root_complex::iommu::Iommu;
use units::{LineAddr, SetIndex};

impl<T: Tracer> Fabric<T> {
    /// What a root port does.
    #[must_use]
    pub fn io_policy(&self, port: usize) -> IoPolicy {
        *self.ports[port].policy()
    }

    /// What has been counted so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What has been counted for the device on a root port so far.
    #[must_use]
    pub fn port_counters(&self, port: usize) -> &PortCounters {
        &self.ports[port].counters
    }

    /// What has been counted for `core` so far.
    #[must_use]
    pub fn core_counters(&self, core: u8) -> &CoreCounters {
        &self.private_caches(core).counters
    }

    /// The private caches of `core`.
    #[must_use]
    pub fn private_caches(&self, core: u8) -> &PrivateCaches {
        let place = self.places[usize::from(core)];
        &self.sockets[place.socket].cores[usize::from(place.local)]
    }

    /// Evictions so far, by evictor and owner.
    #[must_use]
    pub fn evictions(&self) -> &EvictionCounts {
        &self.evictions
    }

    /// The IOMMU in front of a device's root port.
    #[must_use]
    pub fn iommu(&self, port: usize) -> &Iommu {
        &self.ports[port].iommu
    }

    /// The root-complex buffer of a device's root port, if it has one.
    #[must_use]
    pub fn buffer(&self, port: usize) -> Option<&RootComplexBuffer> {
        self.ports[port].buffer.as_ref()
    }

    /// How a device is attached.
    #[must_use]
    pub fn attachment(&self, port: usize) -> &Attachment {
        &self.ports[port].attachment
    }

    /// The socket that a device is attached to.
    #[must_use]
    pub fn socket_of_port(&self, port: usize) -> usize {
        self.ports[port].socket
    }

    /// The integrated I/O block that the devices of a socket share.
    #[must_use]
    pub fn iio(&self, socket: usize) -> &Iio {
        &self.sockets[socket].iio
    }

    /// The entries that a device has for itself, if it does not share those of its socket.
    #[must_use]
    pub fn own_iio(&self, port: usize) -> Option<&Iio> {
        self.ports[port].own_iio.as_ref()
    }

    /// The memory of all sockets.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The shared cache of a socket.
    #[must_use]
    pub fn llc(&self, socket: usize) -> &Llc {
        &self.sockets[socket].llc
    }

    /// The lines that devices put into a set of a socket's LLC.
    pub fn device_lines_in(
        &self,
        socket: usize,
        set: SetIndex,
    ) -> impl Iterator<Item = LineAddr> + '_ {
        let part = &self.sockets[socket];
        let is_device = move |owner: Owner| part.devices() >> owner.0 & 1 == 1;
        let lines = part.llc.lines_in(set);
        lines.filter(move |(_, info)| is_device(info.owner)).map(|(line, _)| line)
    }

    /// The strongest state in which a core's own caches hold a line.
    #[must_use]
    pub fn core_state(&self, core: u8, line: LineAddr) -> Option<State> {
        let place = self.places[usize::from(core)];
        self.sockets[place.socket].cores[usize::from(place.local)].state(line)
    }

    /// The snoop filter of a socket, if it has one.
    #[must_use]
    pub fn directory(&self, socket: usize) -> Option<&Directory> {
        self.sockets[socket].directory.as_ref()
    }

    /// The agent behind an owner number in the LLC of a socket.
    #[must_use]
    pub fn agent_of_owner(&self, socket: usize, owner: Owner) -> AgentId {
        self.agent_of(&self.sockets[socket], owner)
    }

    /// Bytes that each agent holds in the LLCs of all sockets.
    #[must_use]
    pub fn llc_occupancy_bytes(&self) -> Vec<u64> {
        let mut bytes = vec![0; self.places.len() + self.ports.len()];
        for socket in &self.sockets {
            for (owner, held) in (0..).map(Owner).zip(socket.llc.occupancy_bytes()) {
                bytes[usize::from(self.agent_of(socket, owner).0)] += held;
            }
        }
        bytes
    }
}
