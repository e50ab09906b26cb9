//! Memory of all sockets: the node of an address, and the path to it.
//!
//! Models: NUMA nodes (DRAM of a socket, CXL memory attached to one), and the UPI links to those of
//! other sockets.
//! Source: Intel MLC local and remote latencies (platform file); ASPLOS'24 for CXL nodes.
//! Simplifies: nodes share the simulated address space evenly.

use super::home::sockets_of;
use crate::cxl::{Cxl, CxlConfig};
use crate::dram::{Dram, DramConfig};
use crate::tracer::Found;
use crate::upi::{Upi, UpiConfig};
use tag_array::TagArray;
use units::narrow::usize_from;
use units::{LINE_BYTES, LineAddr, Picos, SocketId};

/// Memory of a machine.
#[derive(Clone, Debug)]
pub struct MemoryConfig {
    /// Nodes in the order of their addresses.
    pub nodes: Vec<NodeConfig>,
    /// Links between sockets; needed if there are several.
    pub upi: Option<UpiConfig>,
}

impl MemoryConfig {
    /// Lines of a node: all have the same number.
    #[must_use]
    pub fn node_lines(&self) -> u64 {
        (TagArray::MAX_LINES + 1) / (self.nodes.len() as u64).next_power_of_two()
    }
}

/// Parameters of a NUMA node.
#[derive(Clone, Debug)]
pub enum NodeConfig {
    /// Channels of a socket.
    Dram {
        /// Number of the socket.
        socket: SocketId,
        /// Channels of the socket's memory.
        dram: DramConfig,
    },
    /// A CXL memory device.
    Cxl {
        /// The socket that it is attached to.
        socket: SocketId,
        /// Parameters of the CXL card.
        cxl: CxlConfig,
    },
}

impl NodeConfig {
    /// The socket that it is attached to.
    #[must_use]
    pub fn socket(&self) -> SocketId {
        match self {
            Self::Dram { socket, .. } | Self::Cxl { socket, .. } => *socket,
        }
    }
}

#[derive(Clone, Debug)]
enum NodeKind {
    Dram(Dram),
    Cxl(Cxl),
    /// A DRAM or CXL node before time zero, when accesses take no time and are not counted.
    Untimed,
}

#[derive(Clone, Debug)]
struct Node {
    socket: SocketId,
    kind: NodeKind,
}

/// Memory of all nodes, with the links between sockets.
#[derive(Clone, Debug)]
pub struct Memory {
    nodes: Vec<Node>,
    node_shift: u32,
    upi: Option<Upi>,
}

impl Memory {
    /// Idle memory.
    ///
    /// # Panics
    /// If there is no node. Platforms are checked before they get here.
    #[must_use]
    pub fn new(config: &MemoryConfig) -> Self {
        assert!(!config.nodes.is_empty());
        let node = |node: &NodeConfig| match node {
            NodeConfig::Dram { socket, dram } => {
                Node { socket: *socket, kind: NodeKind::Dram(Dram::new(dram.clone())) }
            }
            NodeConfig::Cxl { socket, cxl } => {
                Node { socket: *socket, kind: NodeKind::Cxl(Cxl::new(cxl.clone())) }
            }
        };
        Self {
            nodes: config.nodes.iter().map(node).collect(),
            node_shift: config.node_lines().trailing_zeros(),
            upi: config.upi.clone().map(Upi::new),
        }
    }

    /// The same nodes where accesses take no time and leave no trace.
    pub(super) fn untimed(&self) -> Self {
        let untimed = |node: &Node| Node { socket: node.socket, kind: NodeKind::Untimed };
        Self {
            nodes: self.nodes.iter().map(untimed).collect(),
            node_shift: self.node_shift,
            upi: None,
        }
    }

    #[inline]
    pub(super) fn node_of(&self, line: LineAddr) -> usize {
        let node = usize_from(line.0 >> self.node_shift);
        debug_assert!(node < self.nodes.len(), "{line:?} is in no node");
        node.min(self.nodes.len() - 1)
    }

    /// The socket that a line's memory is attached to: its home.
    #[inline]
    #[must_use]
    pub fn socket_of(&self, line: LineAddr) -> SocketId {
        self.nodes[self.node_of(line)].socket
    }

    /// How `socket` finds a line in memory: local or remote, by kind of node.
    #[must_use]
    pub fn found(&self, socket: SocketId, line: LineAddr) -> Found {
        let node = &self.nodes[self.node_of(line)];
        match node.kind {
            NodeKind::Cxl(_) => Found::Cxl,
            NodeKind::Dram(_) | NodeKind::Untimed if node.socket == socket => Found::Dram,
            NodeKind::Dram(_) | NodeKind::Untimed => Found::RemoteDram,
        }
    }

    /// Reads a line for `socket`; returns when its data arrives.
    #[inline]
    pub fn read(&mut self, socket: SocketId, line: LineAddr, now: Picos) -> Picos {
        let index = self.node_of(line);
        match &mut self.nodes[index] {
            Node { socket: home, kind: NodeKind::Dram(dram) } if *home == socket => {
                dram.read(line, now)
            }
            _ => self.read_other(index, socket, line, now),
        }
    }

    /// As [`Self::read`], for a node of any kind at any socket. A function of its own, like that for
    /// writes, so that the path to a socket's own channels saves no registers for it.
    #[inline(never)]
    fn read_other(&mut self, index: usize, socket: SocketId, line: LineAddr, now: Picos) -> Picos {
        let home = self.nodes[index].socket;
        if home == socket {
            return self.nodes[index].read(line, now);
        }
        let asked = self.cross(socket, home, 0, now);
        let data = self.nodes[index].read(line, asked);
        self.cross(home, socket, LINE_BYTES, data)
    }

    /// Writes a line of `socket`; returns when memory has taken the write.
    #[inline]
    pub fn write(&mut self, socket: SocketId, line: LineAddr, now: Picos) -> Picos {
        let index = self.node_of(line);
        match &mut self.nodes[index] {
            Node { socket: home, kind: NodeKind::Dram(dram) } if *home == socket => {
                dram.write(line, now)
            }
            _ => self.write_other(index, socket, line, now),
        }
    }

    /// As [`Self::write`], for a node of any kind at any socket.
    #[inline(never)]
    fn write_other(&mut self, index: usize, socket: SocketId, line: LineAddr, now: Picos) -> Picos {
        let home = self.nodes[index].socket;
        let arrived = if home == socket { now } else { self.cross(socket, home, LINE_BYTES, now) };
        self.nodes[index].write(line, arrived)
    }

    /// Snoops the sockets in `others` (bit i for socket i) for a line; returns when the last answer
    /// arrives.
    pub fn snoop(&mut self, socket: SocketId, others: u8, now: Picos) -> Picos {
        sockets_of(others).fold(now, |latest, other| {
            let asked = self.cross(socket, other, 0, now);
            latest.max(self.cross(other, socket, LINE_BYTES, asked))
        })
    }

    fn cross(&mut self, from: SocketId, to: SocketId, bytes: u64, now: Picos) -> Picos {
        match &mut self.upi {
            Some(upi) => upi.cross(from, to, bytes, now),
            None => now,
        }
    }

    /// The number of each node, when it has a free entry for a write of `now`, and the time for which
    /// its busiest part was busy.
    pub fn nodes_at(&self, now: Picos) -> impl Iterator<Item = (usize, Picos, Picos)> + '_ {
        self.nodes.iter().enumerate().map(move |(number, node)| match &node.kind {
            NodeKind::Dram(dram) => (number, dram.writes_free_from(now), dram.busy()),
            NodeKind::Cxl(cxl) => {
                let parts = cxl.busy_until(now).into_iter();
                (number, cxl.free_from(now), parts.max().unwrap_or_default())
            }
            NodeKind::Untimed => (number, now, Picos::ZERO),
        })
    }

    /// The links between sockets, if there are several.
    #[must_use]
    pub fn upi(&self) -> Option<&Upi> {
        self.upi.as_ref()
    }

    /// Forgets all traffic so far.
    pub fn forget(&mut self) {
        for node in &mut self.nodes {
            match &mut node.kind {
                NodeKind::Dram(dram) => dram.forget(),
                NodeKind::Cxl(cxl) => cxl.forget(),
                NodeKind::Untimed => {}
            }
        }
        if let Some(upi) = &mut self.upi {
            upi.forget();
        }
    }

    /// Lines read and written since time zero, over all nodes.
    #[must_use]
    pub fn lines_moved(&self) -> (u64, u64) {
        (0..self.nodes.len())
            .map(|node| self.node_lines_moved(node))
            .fold((0, 0), |sum, moved| (sum.0 + moved.0, sum.1 + moved.1))
    }

    /// Lines read from and written to DRAM since time zero.
    #[must_use]
    pub fn dram_lines_moved(&self) -> (u64, u64) {
        let (all, cxl) = (self.lines_moved(), self.cxl_lines_moved());
        (all.0 - cxl.0, all.1 - cxl.1)
    }

    /// Lines read from and written to CXL memory since time zero.
    #[must_use]
    pub fn cxl_lines_moved(&self) -> (u64, u64) {
        let cards =
            (0..self.nodes.len()).filter(|&n| matches!(self.nodes[n].kind, NodeKind::Cxl(_)));
        cards
            .map(|node| self.node_lines_moved(node))
            .fold((0, 0), |sum, moved| (sum.0 + moved.0, sum.1 + moved.1))
    }

    /// Lines read from and written to one node since time zero.
    #[must_use]
    pub fn node_lines_moved(&self, node: usize) -> (u64, u64) {
        match &self.nodes[node].kind {
            NodeKind::Dram(dram) => dram.lines_moved(),
            NodeKind::Cxl(cxl) => cxl.lines_moved(),
            NodeKind::Untimed => (0, 0),
        }
    }
}

impl Node {
    #[inline]
    fn read(&mut self, line: LineAddr, now: Picos) -> Picos {
        match &mut self.kind {
            NodeKind::Dram(dram) => dram.read(line, now),
            NodeKind::Cxl(cxl) => cxl.read(line, now),
            NodeKind::Untimed => now,
        }
    }

    #[inline]
    fn write(&mut self, line: LineAddr, now: Picos) -> Picos {
        match &mut self.kind {
            NodeKind::Dram(dram) => dram.write(line, now),
            NodeKind::Cxl(cxl) => cxl.write(line, now),
            NodeKind::Untimed => now,
        }
    }
}
