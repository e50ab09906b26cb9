//! Agents of a machine, and the owners of the lines that they evict.
//!
//! Models: attribution of every LLC eviction to an evictor and an owner.

use units::{CoreId, SocketCore};

/// Numbers every agent that moves lines in a machine: cores first, socket by socket (core i is agent
/// i), then devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId(pub u8);

impl AgentId {
    /// Largest number of agents of a machine.
    pub const MOST: u8 = u8::MAX;

    /// A core as an agent.
    #[inline]
    #[must_use]
    pub fn of(core: CoreId) -> Self {
        Self(core.0)
    }
}

/// An agent as one socket numbers it: its own cores first, then all devices of the machine. One of
/// these allocated each line in the socket's LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(pub u8);

impl Owner {
    /// Largest number of owners of a socket: the number shares a byte with two flags.
    pub const MOST: u8 = 64;

    /// A core as an owner in its own socket.
    #[inline]
    #[must_use]
    pub fn core(core: SocketCore) -> Self {
        Self(core.0)
    }
}

/// Evictions from the LLC: evictor x owner x whether the line was read before its eviction.
#[derive(Clone, Debug)]
pub struct EvictionCounts {
    agents: usize,
    counts: Vec<[u64; 2]>,
}

impl EvictionCounts {
    /// Zero counts for `agents` agents.
    #[must_use]
    pub fn new(agents: usize) -> Self {
        Self { agents, counts: vec![[0; 2]; agents * agents] }
    }

    /// Resets all counts to zero.
    pub fn clear(&mut self) {
        self.counts.fill([0; 2]);
    }

    /// Counts one line of `owner` evicted by `evictor`.
    #[inline]
    pub fn add(&mut self, evictor: AgentId, owner: AgentId, read: bool) {
        let cell = usize::from(evictor.0) * self.agents + usize::from(owner.0);
        self.counts[cell][usize::from(read)] += 1;
    }

    /// Lines of `owner` that `evictor` evicted, read before or not.
    #[must_use]
    pub fn count(&self, evictor: AgentId, owner: AgentId, read: bool) -> u64 {
        self.counts[usize::from(evictor.0) * self.agents + usize::from(owner.0)][usize::from(read)]
    }
}
