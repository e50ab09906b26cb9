//! Who did it: agents, and whose lines they pushed out.
//!
//! Models: attribution of every eviction from the LLC.
//! Source: none needed; every eviction has an evictor and an owner.
//! Simplifies: nothing.

use units::{CoreId, SocketCore};

/// A number for everything that moves lines in a machine: cores first, socket by socket (core i is
/// agent i), devices after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId(pub u8);

impl AgentId {
    /// Agents of a machine at most.
    pub const MOST: u8 = u8::MAX;

    /// A core as an agent.
    #[inline]
    #[must_use]
    pub fn of(core: CoreId) -> Self {
        Self(core.0)
    }
}

/// An agent as one socket numbers it: its own cores first, all devices of the machine after. Lines
/// in a socket's LLC were all put there by one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(pub u8);

impl Owner {
    /// Owners of a socket at most: their number has to fit beside two flags in a byte.
    pub const MOST: u8 = 64;

    /// A core as an owner in its own socket.
    #[inline]
    #[must_use]
    pub fn core(core: SocketCore) -> Self {
        Self(core.0)
    }
}

/// Evictions from the LLC: evictor x owner x whether the line had been read before it left.
#[derive(Clone, Debug)]
pub struct EvictionCounts {
    agents: usize,
    counts: Vec<[u64; 2]>,
}

impl EvictionCounts {
    /// All zero, for `agents` agents.
    #[must_use]
    pub fn new(agents: usize) -> Self {
        Self { agents, counts: vec![[0; 2]; agents * agents] }
    }

    /// Back to zero.
    pub fn clear(&mut self) {
        self.counts.fill([0; 2]);
    }

    /// Counts one line of `owner` pushed out by `evictor`.
    #[inline]
    pub fn add(&mut self, evictor: AgentId, owner: AgentId, read: bool) {
        let cell = usize::from(evictor.0) * self.agents + usize::from(owner.0);
        self.counts[cell][usize::from(read)] += 1;
    }

    /// Lines of `owner` pushed out by `evictor`, read before or not.
    #[must_use]
    pub fn count(&self, evictor: AgentId, owner: AgentId, read: bool) -> u64 {
        self.counts[usize::from(evictor.0) * self.agents + usize::from(owner.0)][usize::from(read)]
    }
}
