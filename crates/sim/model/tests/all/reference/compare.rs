//! The first difference between the reference and a fabric.

use super::kinds::Tally;
use super::{Reference, Seen};
use model::attribution::AgentId;
use model::fabric::Fabric;
use model::private_caches::{MesiState, PrivateCache};
use model::tracer::{Event, LineOperation, Tracer};
use std::fmt::Debug;
use units::{CoreId, Id, LineAddr, RootPortId, SocketId};

/// Records the fabric's operations in a step.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    pub seen: Vec<Seen>,
    pub tally: Tally,
}

impl Tracer for Observer {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        self.tally.count(&event);
        let Event { agent, operation, line, found, .. } = event;
        self.seen.push(Seen { agent, operation, line, found });
    }

    fn packet_arrives(&mut self, _first: LineAddr, _lines: u64) {}

    fn packet_leaves(&mut self, _first: LineAddr) {}
}

/// A line in an LLC: line, way, owner, dirty, consumed, cores that a tracked way lists.
type InLlc = (LineAddr, u32, AgentId, bool, bool, Vec<u8>);

fn same<T: PartialEq + Debug>(what: &str, fabric: &T, reference: &T) -> Result<(), String> {
    if fabric == reference {
        return Ok(());
    }
    Err(format!("{what}\n   fabric    {fabric:?}\n   reference {reference:?}"))
}

fn is_request(seen: &Seen) -> bool {
    match seen.operation {
        LineOperation::DmaWriteFull
        | LineOperation::DmaWritePartial
        | LineOperation::DmaRead
        | LineOperation::Load
        | LineOperation::Store
        | LineOperation::Prefetch
        | LineOperation::Fetch => true,
        LineOperation::L2Victim
        | LineOperation::LlcFill
        | LineOperation::IoWriteBack
        | LineOperation::LlcEviction
        | LineOperation::DirectoryEviction => false,
    }
}

fn is_eviction(seen: &Seen) -> bool {
    matches!(seen.operation, LineOperation::LlcEviction | LineOperation::DirectoryEviction)
}

fn only(seen: &[Seen], which: fn(&Seen) -> bool) -> Vec<Seen> {
    seen.iter().copied().filter(which).collect()
}

fn sorted_states(cache: &PrivateCache) -> Vec<(LineAddr, MesiState)> {
    let mut lines: Vec<_> = cache.lines().collect();
    lines.sort_unstable_by_key(|line| line.0);
    lines
}

impl Reference {
    /// Compares the whole observable state: the operations of the step, the counters, the content of
    /// every cache.
    ///
    /// # Errors
    /// Names the first difference.
    pub fn compare(&self, fabric: &Fabric<Observer>) -> Result<(), String> {
        self.compare_requests(fabric)?;
        self.compare_counts(fabric)?;
        for core in 0..self.cores.len() {
            self.compare_core(core, fabric)?;
        }
        for socket in 0..self.sockets.len() {
            self.compare_socket(socket, fabric)?;
        }
        (0..self.ports.len()).try_for_each(|port| self.compare_buffer(port, fabric))
    }

    fn compare_requests(&self, fabric: &Fabric<Observer>) -> Result<(), String> {
        let (theirs, ours) = (&fabric.tracer.seen, &self.seen);
        same("served", &only(theirs, is_request), &only(ours, is_request))?;
        same("evicted", &only(theirs, is_eviction), &only(ours, is_eviction))
    }

    fn compare_counts(&self, fabric: &Fabric<Observer>) -> Result<(), String> {
        same("counters", fabric.counters(), &self.counters)?;
        for (number, core) in (0..).zip(&self.cores) {
            let what = format!("counters of core {number}");
            same(&what, &fabric.private_caches(CoreId(number)).counters, &core.counters)?;
        }
        for (node, moved) in self.moved.iter().enumerate() {
            let what = format!("lines read from and written to node {node}");
            same(&what, &fabric.memory().node_lines_moved(node), moved)?;
        }
        let all = self.moved.iter().fold((0, 0), |sum, moved| (sum.0 + moved.0, sum.1 + moved.1));
        same("lines read and written", &fabric.memory().lines_moved(), &all)?;
        let agents = (self.cores.len() + self.ports.len()) as u8;
        for (evictor, owner) in (0..agents).flat_map(|a| (0..agents).map(move |b| (a, b))) {
            let (evictor, owner) = (AgentId(evictor), AgentId(owner));
            for read in [false, true] {
                let ours = self.evictions.get(&(evictor, owner, read)).copied().unwrap_or(0);
                let what = format!("evictions of {owner:?} by {evictor:?}, read: {read}");
                same(&what, &fabric.evictions().count(evictor, owner, read), &ours)?;
            }
        }
        let held_by = |agent| {
            let all = self.sockets.iter().flat_map(|socket| socket.llc.iter());
            all.filter(|(_, _, placed)| placed.owner == AgentId(agent)).count() as u64 * 64
        };
        let held: Vec<u64> = (0..agents).map(held_by).collect();
        same("LLC occupancy", &fabric.llc_occupancy_bytes(), &held)?;
        for (socket, own) in fabric.socket_ids().zip(&self.sockets) {
            let theirs = fabric.lines_of_ways(socket);
            let mut ours = vec![vec![[0; 2]; usize::from(agents)]; theirs.len()];
            for (way, _, placed) in own.llc.iter() {
                ours[way][usize::from(placed.owner.0)][usize::from(placed.consumed)] += 1;
            }
            same("lines of ways", &theirs, &ours)?;
        }
        Ok(())
    }

    fn compare_core(&self, core: usize, fabric: &Fabric<Observer>) -> Result<(), String> {
        let (theirs, ours) = (fabric.private_caches(CoreId::at(core)), &self.cores[core]);
        let levels = [
            ("L1D", Some(&theirs.l1), Some(&ours.l1)),
            ("L2", Some(&theirs.l2), Some(&ours.l2)),
            ("L1I", theirs.l1i.as_ref(), ours.l1i.as_ref()),
        ];
        for (level, theirs, ours) in levels {
            let theirs = theirs.map(sorted_states).unwrap_or_default();
            let held = ours.iter().flat_map(|level| level.iter());
            let mut ours: Vec<_> = held.map(|(_, line, held)| (line, held.state)).collect();
            ours.sort_unstable_by_key(|line| line.0);
            same(&format!("{level} of core {core}"), &theirs, &ours)?;
        }
        Ok(())
    }

    fn compare_socket(&self, socket: usize, fabric: &Fabric<Observer>) -> Result<(), String> {
        same(&format!("LLC {socket}"), &their_llc(socket, fabric), &self.our_llc(socket))?;
        let ours = self.sockets[socket].filter.iter().flat_map(|filter| filter.iter());
        let mut ours: Vec<(LineAddr, Vec<u8>)> =
            ours.map(|(_, line, ())| (line, self.local_holders(socket, line))).collect();
        ours.sort_unstable();
        let mut theirs = Vec::new();
        if let Some(directory) = fabric.directory(SocketId::at(socket)) {
            for line in directory.lines() {
                let set = fabric.llc(SocketId::at(socket)).set_of(line);
                theirs.push((
                    line,
                    directory.sharers(set, line).cores().map(|core| core.0).collect(),
                ));
            }
        }
        theirs.sort_unstable();
        same(&format!("snoop filter {socket}"), &theirs, &ours)
    }

    fn compare_buffer(&self, port: usize, fabric: &Fabric<Observer>) -> Result<(), String> {
        let Some(ours) = &self.ports[port].buffer else { return Ok(()) };
        let theirs = fabric
            .root_port(RootPortId::at(port))
            .buffer()
            .ok_or("the fabric has no buffer there")?;
        same(&format!("counters of buffer {port}"), &theirs.counters(), &ours.counters)?;
        self.asked.iter().try_for_each(|&line| {
            let what = format!("{line:?} in buffer {port}");
            same(&what, &theirs.state(line), &ours.state(line))
        })
    }

    fn first_core(&self, socket: usize) -> u8 {
        self.cores.iter().filter(|core| core.socket < socket).count() as u8
    }

    /// Cores that hold a line, by their numbers in the socket.
    fn local_holders(&self, socket: usize, line: LineAddr) -> Vec<u8> {
        let first = self.first_core(socket);
        self.holders(socket, line).iter().map(|&core| core as u8 - first).collect()
    }

    fn our_llc(&self, socket: usize) -> Vec<InLlc> {
        let tracked = self.tracked_ways();
        let described = |(way, line, placed): (usize, LineAddr, &super::Placed)| {
            let known = tracked.0 >> way & 1 == 1;
            let holders = if known { self.local_holders(socket, line) } else { Vec::new() };
            (line, way as u32, placed.owner, placed.dirty, placed.consumed, holders)
        };
        let mut lines: Vec<InLlc> = self.sockets[socket].llc.iter().map(described).collect();
        lines.sort_unstable_by_key(|line| line.0);
        lines
    }
}

fn their_llc(socket: usize, fabric: &Fabric<Observer>) -> Vec<InLlc> {
    let llc = fabric.llc(SocketId::at(socket));
    let described = |line| {
        let set = llc.set_of(line);
        let way = llc.find(set, line).expect("it is there");
        let info = llc.info(set, way);
        let owner = fabric.agent_of_owner(SocketId::at(socket), info.owner);
        let holders = llc.sharers(set, way).cores().map(|core| core.0).collect();
        (line, way, owner, info.dirty, info.consumed, holders)
    };
    let mut lines: Vec<InLlc> = llc.lines().map(described).collect();
    lines.sort_unstable_by_key(|line| line.0);
    lines
}
