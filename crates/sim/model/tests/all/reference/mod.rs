//! A slow reference of the fabric's state, from the rules of the hardware alone.
//!
//! It keeps no state that could be inconsistent: the holders of a line are found by a search of every
//! cache. In return every copy carries the *version* of its content, so that the rules themselves are
//! checked: a reader sees the last write, and the last write is never lost. There is no time, and all
//! replacement is LRU. It takes from the model the slice and set functions, and the lines that a
//! prefetcher requests.
//!
//! [`core_side`] has the operations of cores, [`shared`] those between caches, [`device_side`] those of
//! devices, [`buffered`] those of root-complex buffers; [`content`] checks where versions are, and
//! [`compare`] finds the first difference to a fabric.

pub mod agents;
mod buffered;
mod compare;
mod content;
pub mod core_side;
mod device_side;
pub mod kinds;
mod sets;
mod shared;

pub use compare::Observer;

use buffered::Buffer;
use model::attribution::AgentId;
use model::counters::{CoreCounters, Counters};
use model::fabric::{FabricConfig, NodeConfig, PortConfig};
use model::llc::Inclusion;
use model::private_caches::{MesiState, Prefetcher, PrivateCacheConfig};
use model::root_complex::buffer::BufferCounters;
use model::root_complex::ddio::IoPolicy;
use model::tracer::{Found, LineOperation};
use sets::{Index, Sets};
use std::collections::{BTreeMap, BTreeSet};
use units::{Id, LineAddr, WayMask};

/// How often the line had been written when this content was current.
pub type Version = u64;

/// A line in a private cache.
#[derive(Clone, Copy, Debug)]
struct Held {
    state: MesiState,
    version: Version,
}

/// A line in an LLC.
#[derive(Clone, Copy, Debug)]
struct Placed {
    owner: AgentId,
    dirty: bool,
    consumed: bool,
    version: Version,
}

#[derive(Clone, Debug)]
struct Core {
    socket: usize,
    mask: WayMask,
    l1: Sets<Held>,
    l1i: Option<Sets<Held>>,
    l2: Sets<Held>,
    prefetcher: Prefetcher,
    counters: CoreCounters,
}

#[derive(Clone, Debug)]
struct Socket {
    llc: Sets<Placed>,
    /// Lines that have an entry; the cores' caches give their holders.
    filter: Option<Sets<()>>,
    /// Ways (set, way) of the LLC that I/O has emptied.
    freed_by_io: BTreeSet<(usize, usize)>,
}

#[derive(Clone, Debug)]
struct Port {
    socket: usize,
    policy: IoPolicy,
    buffer: Option<Buffer>,
}

/// An event, as the fabric's tracer records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub agent: AgentId,
    pub operation: LineOperation,
    pub line: LineAddr,
    pub found: Found,
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Reference {
    config: FabricConfig,
    cores: Vec<Core>,
    sockets: Vec<Socket>,
    ports: Vec<Port>,
    memory: BTreeMap<LineAddr, Version>,
    newest: BTreeMap<LineAddr, Version>,
    /// Every line that an agent has requested.
    asked: BTreeSet<LineAddr>,
    counters: Counters,
    /// Lines read and written, node by node.
    moved: Vec<(u64, u64)>,
    /// Evictor, owner, read or not.
    evictions: BTreeMap<(AgentId, AgentId, bool), u64>,
    /// Events of the last step.
    seen: Vec<Seen>,
    /// The first violation of the content rules.
    broken: Option<String>,
}

impl Reference {
    /// An idle machine with empty caches.
    pub fn new(config: &FabricConfig) -> Self {
        let private = |level: PrivateCacheConfig| Sets::new(Index::Modulo(level.sets), level.ways);
        let core = |(number, socket)| Core {
            socket,
            mask: config.core_way_masks[number],
            l1: private(config.private.l1),
            l1i: config.private.l1i.map(private),
            l2: private(config.private.l2),
            prefetcher: Prefetcher::new(config.private.prefetcher),
            counters: CoreCounters::default(),
        };
        let shared = || Index::Sliced(config.socket.llc.map.clone());
        let socket = Socket {
            llc: Sets::new(shared(), config.socket.llc.ways),
            filter: config.socket.directory.map(|filter| Sets::new(shared(), filter.ways)),
            freed_by_io: BTreeSet::new(),
        };
        let port = |port: &PortConfig| Port {
            socket: port.socket.index(),
            policy: port.policy,
            buffer: Buffer::new(port.buffer),
        };
        let sockets_of_cores = (0..config.cores.len())
            .flat_map(|socket| (0..config.cores[socket]).map(move |_| socket));
        Self {
            cores: sockets_of_cores.enumerate().map(core).collect(),
            sockets: vec![socket; config.cores.len()],
            ports: config.ports.iter().map(port).collect(),
            memory: BTreeMap::new(),
            newest: BTreeMap::new(),
            asked: BTreeSet::new(),
            counters: Counters::default(),
            moved: vec![(0, 0); config.memory.nodes.len()],
            evictions: BTreeMap::new(),
            seen: Vec::new(),
            broken: None,
            config: config.clone(),
        }
    }

    /// Changes the policy of a root port from now on.
    pub fn set_io_policy(&mut self, port: usize, policy: IoPolicy) {
        self.ports[port].policy = policy;
    }

    /// The policy of a root port.
    pub fn io_policy(&self, port: usize) -> IoPolicy {
        self.ports[port].policy
    }

    /// Clears the counters; cache content stays.
    pub fn start_clock(&mut self) {
        self.counters = Counters::default();
        for core in &mut self.cores {
            core.counters = CoreCounters::default();
        }
        for buffer in self.ports.iter_mut().filter_map(|port| port.buffer.as_mut()) {
            buffer.counters = BufferCounters::default();
        }
        self.moved.fill((0, 0));
        self.evictions.clear();
    }

    /// Begins a step: clears the events of the previous one.
    pub fn begin_step(&mut self) {
        self.seen.clear();
    }

    fn inclusion(&self) -> Inclusion {
        self.config.socket.llc.inclusion
    }

    fn device(&self, port: usize) -> AgentId {
        AgentId((self.cores.len() + port) as u8)
    }

    fn all_ways(&self) -> WayMask {
        WayMask::bottom(self.config.socket.llc.ways)
    }

    /// The tracked ways, whose lines cores may hold too.
    fn tracked_ways(&self) -> WayMask {
        match self.inclusion() {
            Inclusion::Inclusive => self.all_ways(),
            Inclusion::NonInclusive { inclusive_ways, .. } => WayMask::bottom(inclusive_ways),
            Inclusion::ExclusiveVictim | Inclusion::Nine => WayMask(0),
        }
    }

    fn node_of(&self, line: LineAddr) -> usize {
        (line.0 / self.config.memory.node_lines()) as usize
    }

    /// The socket whose memory a line belongs to.
    fn home_of(&self, line: LineAddr) -> usize {
        match &self.config.memory.nodes[self.node_of(line)] {
            NodeConfig::Dram { socket, .. } | NodeConfig::Cxl { socket, .. } => socket.index(),
        }
    }

    /// The level at which an agent in `socket` finds a line that misses every cache.
    fn in_memory(&self, socket: usize, line: LineAddr) -> Found {
        match &self.config.memory.nodes[self.node_of(line)] {
            NodeConfig::Cxl { .. } => Found::Cxl,
            NodeConfig::Dram { socket: home, .. } if home.index() == socket => Found::Dram,
            NodeConfig::Dram { .. } => Found::RemoteDram,
        }
    }

    fn see(&mut self, agent: AgentId, operation: LineOperation, line: LineAddr, found: Found) {
        self.asked.insert(line);
        self.seen.push(Seen { agent, operation, line, found });
    }
}
