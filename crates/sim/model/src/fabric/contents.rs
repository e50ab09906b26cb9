//! Contents of the caches before time zero.
//!
//! Models: initialisation that ran long before: its lines are in the caches, its traffic is over.
//! Simplifies: memory takes no time for the initialisation, a choice that no measurement supports;
//! devices have not begun.

use super::home::RemoteHolders;
use super::recent_sets::RecentSets;
use super::socket::Socket;
use super::{Fabric, FabricConfig};
use crate::counters::Counters;
use crate::tracer::Tracer;
use units::{ById, SocketId};

/// Content of all caches, to copy it into another fabric.
#[derive(Clone, Debug)]
pub struct Contents {
    sockets: ById<SocketId, Socket>,
    elsewhere: RemoteHolders,
    recent_sets: RecentSets,
}

impl FabricConfig {
    /// Lines that the LLCs and L2s hold together.
    #[must_use]
    pub fn cached_lines(&self) -> usize {
        let llc = (self.socket.llc.map.total_sets() * self.socket.llc.ways) as usize;
        let l2 = (self.private.l2.sets * self.private.l2.ways) as usize;
        self.cores.iter().map(|&cores| llc + cores as usize * l2).sum()
    }

    /// All that decides, with the accesses themselves, what accesses before time zero leave in the
    /// caches. Devices have done nothing by then, and memory takes no time: neither root ports, but for
    /// their number, nor the timing of memory matter. The IIO's latencies are among it because it is
    /// copied with its socket. The text states each value exactly.
    #[must_use]
    pub fn decides_contents(&self) -> String {
        let homes: Vec<SocketId> = self.memory.nodes.iter().map(|node| node.socket()).collect();
        let caches = (&self.cores, &self.private, &self.socket, &self.core_way_masks, self.seed);
        format!("{caches:?} {:?} {} {homes:?}", self.core_path, self.ports.len())
    }
}

impl<T: Tracer> Fabric<T> {
    /// Makes accesses of the initialisation: they fill the caches, and memory takes no time for them.
    pub fn before_time_zero(&mut self, accesses: impl FnOnce(&mut Self)) {
        let untimed = self.memory.untimed();
        let timed = std::mem::replace(&mut self.memory, untimed);
        accesses(self);
        self.memory = timed;
    }

    /// A copy of what the caches hold.
    #[must_use]
    pub fn contents(&self) -> Contents {
        Contents {
            sockets: self.sockets.clone(),
            elsewhere: self.elsewhere.clone(),
            recent_sets: self.recent_sets.clone(),
        }
    }

    /// Takes over what the caches of another fabric held before time zero; counters do not change. Its
    /// configuration has to have the same [`FabricConfig::decides_contents`] as this one's.
    pub fn take_over(&mut self, contents: &Contents) {
        self.sockets.clone_from(&contents.sockets);
        self.elsewhere.clone_from(&contents.elsewhere);
        self.recent_sets.clone_from(&contents.recent_sets);
        // The owners whose lines are spared follow from this fabric's own root ports.
        self.note_io_priority();
    }

    /// Ends the initialisation: cache content stays, counters and reservations are cleared.
    pub fn start_clock(&mut self) {
        self.tracer.clock_starts();
        self.counters = Counters::default();
        self.evictions.clear();
        self.memory.forget();
        for socket in self.sockets.iter_mut() {
            socket.forget();
        }
        for port in self.ports.iter_mut() {
            port.forget();
        }
    }
}
