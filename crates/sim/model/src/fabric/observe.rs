//! Read access to a fabric: counters, components, cache contents.
//!
//! Models: read access to the components; it changes no state.

use super::{Fabric, Memory, RootPort, Tracer};
use crate::attribution::{AgentId, EvictionCounts, Owner};
use crate::counters::Counters;
use crate::llc::{Directory, Llc};
use crate::private_caches::PrivateCaches;
use crate::root_complex::iio::Iio;
use units::{CoreId, LineAddr, RootPortId, SetIndex, SocketId};

impl<T: Tracer> Fabric<T> {
    /// The fabric's counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Evictions so far, by evictor and owner.
    #[must_use]
    pub fn evictions(&self) -> &EvictionCounts {
        &self.evictions
    }

    /// A device's root port.
    #[must_use]
    pub fn root_port(&self, port: RootPortId) -> &RootPort {
        &self.ports[port]
    }

    /// The caches of `core`, with their counters.
    #[must_use]
    pub fn private_caches(&self, core: CoreId) -> &PrivateCaches {
        let at = self.locations[core];
        &self.sockets[at.socket].cores[at.core]
    }

    /// The socket of a core.
    #[must_use]
    pub fn socket_of_core(&self, core: CoreId) -> SocketId {
        self.locations[core].socket
    }

    /// The integrated I/O block that the devices of a socket share.
    #[must_use]
    pub fn iio(&self, socket: SocketId) -> &Iio {
        &self.sockets[socket].iio
    }

    /// The sockets of the machine.
    pub fn socket_ids(&self) -> impl Iterator<Item = SocketId> + use<T> {
        self.sockets.ids()
    }

    /// The shared cache of a socket.
    #[must_use]
    pub fn llc(&self, socket: SocketId) -> &Llc {
        &self.sockets[socket].llc
    }

    /// The snoop filter of a socket, if it has one.
    #[must_use]
    pub fn directory(&self, socket: SocketId) -> Option<&Directory> {
        self.sockets[socket].directory.as_ref()
    }

    /// The memory of all sockets.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The lines in a set of a socket's LLC that devices allocated.
    pub fn device_lines_in(
        &self,
        socket: SocketId,
        set: SetIndex,
    ) -> impl Iterator<Item = LineAddr> + '_ {
        let socket = &self.sockets[socket];
        let lines = socket.llc.lines_in(set);
        lines.filter(|(_, info)| socket.is_device(info.owner)).map(|(line, _)| line)
    }

    /// The agent with an owner number in the LLC of a socket.
    #[must_use]
    pub fn agent_of_owner(&self, socket: SocketId, owner: Owner) -> AgentId {
        self.agent_of(&self.sockets[socket], owner)
    }

    /// Bytes that each agent holds in the LLCs of all sockets.
    #[must_use]
    pub fn llc_occupancy_bytes(&self) -> Vec<u64> {
        let mut bytes = vec![0; self.agents()];
        for socket in self.sockets.iter() {
            for (owner, held) in (0..).map(Owner).zip(socket.llc.occupancy_bytes()) {
                bytes[usize::from(self.agent_of(socket, owner).0)] += held;
            }
        }
        bytes
    }

    /// Lines in each way of a socket's LLC, by the agent that wrote them: first those that no agent has used
    /// since, then the others.
    #[must_use]
    pub fn lines_of_ways(&self, socket: SocketId) -> Vec<Vec<[u64; 2]>> {
        let owner = &self.sockets[socket];
        let mut lines = vec![vec![[0; 2]; self.agents()]; owner.llc.ways() as usize];
        for (way, info) in owner.llc.contents() {
            let agent = usize::from(self.agent_of(owner, info.owner).0);
            lines[way as usize][agent][usize::from(info.consumed)] += 1;
        }
        lines
    }
}
