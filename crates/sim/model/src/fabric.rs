//! The memory system of a machine as timed calls: caches, root complex, links, memory.
//!
//! Models: one or two sockets. Devices enter through [`io_path`], cores through [`core_path`]; both
//! meet in the LLC of a [`socket`], and [`victims`] handles its evictions. [`home`] finds a line that
//! misses a socket, in another socket or in [`memory`]. Every call changes state at once and returns
//! when the operation completes.
//! Source: those named in each file; the parameters come from a platform file.
//! Simplifies: the sockets are alike.

mod buffered_io;
mod contents;
mod core_hints;
mod core_path;
mod expect;
mod extent;
mod fetch;
mod fetch_hit;
mod home;
mod initial_stores;
mod invariants;
mod io_path;
mod io_read;
mod io_write;
mod memory;
mod observe;
mod placed_io;
mod plain_io;
mod recent_sets;
mod resources;
mod root_port;
mod socket;
mod victims;

pub use contents::Contents;
pub use core_path::{AccessOutcome, CorePathConfig};
pub use extent::Extent;
pub use io_path::DmaDone;
pub use memory::{Memory, MemoryConfig, NodeConfig};
pub use resources::{Resource, ResourceState};
pub use root_port::{PortConfig, RootPort};
pub use socket::{DirectoryConfig, SocketConfig};

use crate::attribution::{AgentId, EvictionCounts, Owner};
use crate::counters::Counters;
use crate::llc::Evicted;
use crate::private_caches::PrivateCachesConfig;
use crate::root_complex::ddio::IoPolicy;
use crate::root_complex::iommu::Iommu;
use crate::tracer::{
    Event, Found, LineOperation, NoTrace, PushedOut, ResourceSpan, SpanPlace, Tracer,
};
use home::RemoteHolders;
use recent_sets::RecentSets;
use root_port::MachineShape;
use socket::Socket;
use units::narrow::fit;
use units::{
    ById, CoreId, Id, LINE_BYTES, LineAddr, Picos, RootPortId, SocketCore, SocketId, WayMask,
};

/// Configuration of a machine's memory system.
#[derive(Clone, Debug)]
pub struct FabricConfig {
    /// Simulated cores of each socket.
    pub cores: Vec<u32>,
    /// Simulated devices, each on its own root port.
    pub ports: Vec<PortConfig>,
    /// Private caches of each core.
    pub private: PrivateCachesConfig,
    /// Latencies and policies of cores' accesses.
    pub core_path: CorePathConfig,
    /// Components that the cores and devices of each socket share.
    pub socket: SocketConfig,
    /// Ways in which each core's lines may be allocated (CAT), socket by socket.
    pub core_way_masks: Vec<WayMask>,
    /// Memory behind the sockets.
    pub memory: MemoryConfig,
    /// Seed of all random choices in the fabric.
    pub seed: u64,
}

/// Direction in which a device moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DmaDirection {
    /// Into memory.
    Write,
    /// Out of memory.
    Read,
}

/// A core's socket, and its number there.
#[derive(Clone, Copy, Debug)]
struct CoreLocation {
    socket: SocketId,
    core: SocketCore,
}

/// A machine's memory system.
#[derive(Clone, Debug)]
pub struct Fabric<T: Tracer = NoTrace> {
    sockets: ById<SocketId, Socket>,
    locations: ById<CoreId, CoreLocation>,
    ports: ById<RootPortId, RootPort>,
    memory: Memory,
    elsewhere: RemoteHolders,
    /// The sets of lines that cores have looked up, the same in every socket.
    recent_sets: RecentSets,
    /// Whether any port has a root-complex buffer: only then do cores' fetches snoop buffers.
    buffered: bool,
    core_path: CorePathConfig,
    core_way_masks: ById<CoreId, WayMask>,
    counters: Counters,
    evictions: EvictionCounts,
    /// Receives the events of watched lines.
    pub tracer: T,
}

impl<T: Tracer> Fabric<T> {
    /// A fabric with empty caches.
    ///
    /// # Panics
    /// If a socket has more than 64 owners, or a core no way mask. Platforms are checked before they
    /// get here.
    #[must_use]
    pub fn new(config: &FabricConfig, tracer: T) -> Self {
        let cores: usize = config.cores.iter().map(|&cores| cores as usize).sum();
        assert!(config.core_way_masks.len() == cores);
        let agents = cores + config.ports.len();
        assert!(agents <= usize::from(AgentId::MOST));
        let mut locations = Vec::with_capacity(cores);
        let mut sockets = Vec::new();
        for (socket, &count) in config.cores.iter().enumerate() {
            assert!(count as usize + config.ports.len() <= usize::from(Owner::MOST));
            let socket = SocketId::at(socket);
            sockets.push(Socket::new(config, socket, CoreId::at(locations.len())));
            let cores = (0..count as usize).map(SocketCore::at);
            locations.extend(cores.map(|core| CoreLocation { socket, core }));
        }
        let buffered = config.ports.iter().any(|port| port.buffer.entries > 0);
        let around = MachineShape { one_socket: sockets.len() == 1, buffers: buffered };
        let mut fabric = Self {
            sockets: sockets.into_iter().collect(),
            locations: locations.into_iter().collect(),
            ports: config
                .ports
                .iter()
                .map(|port| RootPort::new(port, &config.socket.iio, around))
                .collect(),
            memory: Memory::new(&config.memory),
            elsewhere: RemoteHolders::default(),
            recent_sets: RecentSets::new(),
            buffered,
            core_path: config.core_path.clone(),
            core_way_masks: config.core_way_masks.iter().copied().collect(),
            counters: Counters::default(),
            evictions: EvictionCounts::new(agents),
            tracer,
        };
        fabric.note_io_priority();
        fabric
    }

    /// Agents of the machine: cores and root ports.
    #[must_use]
    pub fn agents(&self) -> usize {
        self.locations.len() + self.ports.len()
    }

    /// The agent of a device: devices come after all cores.
    #[must_use]
    pub fn device_agent(&self, port: RootPortId) -> AgentId {
        AgentId(fit::<u8, _>(self.locations.len()) + port.0)
    }

    /// Changes the policy of a root port from now on; lines stay in the caches.
    ///
    /// # Panics
    /// If the port has a root-complex buffer: its behaviour follows from the policy that it was built
    /// with.
    pub fn set_io_policy(&mut self, port: RootPortId, policy: IoPolicy) {
        self.ports[port].set_policy(policy);
        self.note_io_priority();
    }

    /// Changes a core's CAT mask from now on; lines stay in the caches.
    pub fn set_core_way_mask(&mut self, core: CoreId, mask: WayMask) {
        self.core_way_masks[core] = mask;
    }

    /// The IOMMU before a device's root port, to unmap pages and map them again.
    pub fn iommu_mut(&mut self, port: RootPortId) -> &mut Iommu {
        &mut self.ports[port].iommu
    }

    /// Tells each socket whose unread lines its cores' fills spare.
    fn note_io_priority(&mut self) {
        for (id, socket) in self.sockets.ids().zip(self.sockets.iter_mut()) {
            let has_priority =
                |port: &RootPort| port.socket == id && port.policy().placement.io_priority;
            let ports = self.ports.ids().filter(|&port| has_priority(&self.ports[port]));
            socket.spared_owners = ports.fold(0, |all, port| all | 1 << socket.device(port).0);
        }
    }

    /// Counts lines of one agent's request once: operations at further levels are not counted again.
    #[inline]
    fn count_line_ops(&mut self, lines: u64) {
        self.counters.line_ops += lines;
    }

    /// The agent behind a socket's owner number.
    #[inline]
    fn agent_of(&self, socket: &Socket, owner: Owner) -> AgentId {
        if self.sockets.len() == 1 {
            // Both count the cores first, then the devices.
            return AgentId(owner.0);
        }
        let cores = fit(socket.cores.len());
        if owner.0 < cores {
            AgentId(socket.first_core.0 + owner.0)
        } else {
            self.device_agent(RootPortId(owner.0 - cores))
        }
    }

    /// Reads a line from memory for `socket`; returns when its data arrives.
    #[inline(always)]
    fn read_memory(&mut self, socket: SocketId, line: LineAddr, now: Picos) -> Picos {
        let end = self.memory.read(socket, line, now);
        if T::WATCHING {
            let place = SpanPlace::MemoryRead(self.memory.node_of(line));
            self.watch_memory(place, line, now, end);
        }
        end
    }

    /// Tells the tracer how long memory took for a line.
    fn watch_memory(&mut self, place: SpanPlace, first: LineAddr, start: Picos, end: Picos) {
        self.tracer.span(ResourceSpan { place, first, bytes: LINE_BYTES, start, end });
    }

    /// Writes a line of `socket` to memory; returns when memory has taken it.
    #[inline(always)]
    fn write_memory(&mut self, socket: SocketId, line: LineAddr, now: Picos) -> Picos {
        let end = self.memory.write(socket, line, now);
        if T::WATCHING {
            let place = SpanPlace::MemoryWrite(self.memory.node_of(line));
            self.watch_memory(place, line, now, end);
        }
        end
    }

    #[inline]
    fn trace(
        &mut self,
        time: Picos,
        agent: AgentId,
        operation: LineOperation,
        line: LineAddr,
        found: Found,
        evicted: Option<(SocketId, &Evicted)>,
    ) {
        if T::WATCHING {
            let pushed_out = evicted.map(|(socket, evicted)| PushedOut {
                line: evicted.line,
                owner: self.agent_of(&self.sockets[socket], evicted.info.owner),
                dirty: evicted.info.dirty,
                consumed: evicted.info.consumed,
            });
            self.tracer.record(Event { time, agent, line, operation, found, pushed_out });
        }
    }
}
