//! Invariants over all caches, which hold after every call (ARCHITECTURE.md, "Invariants").
//!
//! The state of a line is derived from its copies in the cores of each socket. For one line the caches
//! are looked up; for the whole machine they are walked once and the copies sorted by line.

use super::Fabric;
use super::socket::Socket;
use crate::llc::Sharers;
use crate::llc::inclusion::HoldersIn;
use crate::private_caches::{MesiState, PrivateCache, PrivateCaches};
use crate::root_complex::buffer::BufferState;
use crate::tracer::Tracer;
use units::{Id, LineAddr, SocketCore, SocketId};

/// Largest number of sockets: one bit each in a byte.
const MOST_SOCKETS: usize = 8;

/// Copies of a line in the cores of a socket.
#[derive(Clone, Copy, Default)]
struct Copies {
    holders: Sharers,
    /// Cores that may write it without a request.
    writers: Sharers,
    above_l2: Sharers,
    in_l2: Sharers,
}

/// Copies of a line in the cores of every socket.
type AllCopies = [Copies; MOST_SOCKETS];

/// A copy found in a walk over all private caches.
#[derive(Clone, Copy)]
struct CachedCopy {
    line: LineAddr,
    socket: SocketId,
    core: SocketCore,
    above_l2: bool,
    state: MesiState,
}

impl Copies {
    fn add(&mut self, core: SocketCore, above_l2: bool, state: MesiState) {
        self.holders = self.holders.with(core);
        if state != MesiState::Shared {
            self.writers = self.writers.with(core);
        }
        let level = if above_l2 { &mut self.above_l2 } else { &mut self.in_l2 };
        *level = level.with(core);
    }
}

/// The caches of a core, and whether each is above L2.
fn levels(core: &PrivateCaches) -> impl Iterator<Item = (bool, &PrivateCache)> {
    [(true, &core.l1), (false, &core.l2)].into_iter().chain(core.l1i.iter().map(|l1i| (true, l1i)))
}

impl<T: Tracer> Fabric<T> {
    /// Checks every line of every cache; for tests, because it walks the whole machine.
    ///
    /// # Errors
    /// Names the violated invariant and the line.
    pub fn check_invariants(&self) -> Result<(), String> {
        let mut lines: Vec<LineAddr> = self.elsewhere.recorded().map(|(line, _)| line).collect();
        let mut copies = Vec::new();
        for (socket, id) in self.sockets.iter().zip(self.sockets.ids()) {
            let before = lines.len();
            lines.extend(socket.llc.lines());
            each_once(&mut lines[before..])
                .map_err(|line| format!("{line:?} is twice in an LLC"))?;
            if let Some(directory) = &socket.directory {
                let before = lines.len();
                lines.extend(directory.lines());
                each_once(&mut lines[before..])
                    .map_err(|line| format!("{line:?} is twice in a directory"))?;
            }
            socket.collect(id, &mut copies);
        }
        copies.sort_unstable_by_key(|copy| copy.line);
        lines.extend(copies.iter().map(|copy| copy.line));
        lines.sort_unstable();
        lines.dedup();
        let mut copies = copies.into_iter().peekable();
        for line in lines {
            let mut all = AllCopies::default();
            while let Some(copy) = copies.next_if(|copy| copy.line == line) {
                all[copy.socket.index()].add(copy.core, copy.above_l2, copy.state);
            }
            self.check_copies(line, &all)?;
        }
        Ok(())
    }

    /// Checks one line in every cache of the machine.
    ///
    /// # Errors
    /// Names the violated invariant.
    pub fn check_line(&self, line: LineAddr) -> Result<(), String> {
        let mut all = AllCopies::default();
        for (socket, copies) in self.sockets.iter().zip(&mut all) {
            *copies = socket.copies(line);
        }
        self.check_copies(line, &all)
    }

    fn check_copies(&self, line: LineAddr, all: &AllCopies) -> Result<(), String> {
        let mut holding = 0u8;
        let mut writable = 0u8;
        for ((number, socket), copies) in self.sockets.iter().enumerate().zip(all) {
            socket.check_copies(line, copies)?;
            let set = socket.llc.set_of(line);
            let way = socket.llc.find(set, line);
            let dirty = way.is_some_and(|way| socket.llc.info(set, way).dirty);
            holding |= u8::from(way.is_some() || !copies.holders.is_empty()) << number;
            writable |= u8::from(dirty || !copies.writers.is_empty()) << number;
        }
        self.home_knows_other_sockets(line, holding)?;
        if writable != 0 && holding.count_ones() > 1 {
            return Err(format!("{line:?} may be written in one of sockets {holding:#b}"));
        }
        let core_writes = all.iter().any(|copies| !copies.writers.is_empty());
        self.buffers_agree_with_caches(line, holding, core_writes)
    }

    /// A root-complex buffer that may write a line has the only copy, and cores do not write a line
    /// that a buffer shares.
    fn buffers_agree_with_caches(
        &self,
        line: LineAddr,
        holding: u8,
        core_writes: bool,
    ) -> Result<(), String> {
        let states = self.ports.iter().filter_map(|port| port.buffer.as_ref()?.state(line));
        let states: Vec<BufferState> = states.collect();
        let sole = states.iter().any(|&state| state != BufferState::Shared);
        if sole && (states.len() > 1 || holding != 0) {
            return Err(format!(
                "{line:?}: a buffer has the only copy, sockets {holding:#b} another"
            ));
        }
        if !states.is_empty() && core_writes {
            return Err(format!("{line:?} is shared by a buffer, yet a core may write it"));
        }
        Ok(())
    }

    /// `holding` has a bit for each socket with a copy.
    fn home_knows_other_sockets(&self, line: LineAddr, holding: u8) -> Result<(), String> {
        if self.sockets.len() == 1 {
            return Ok(());
        }
        let home = self.memory.socket_of(line);
        let (recorded, held) = (self.elsewhere.holders(line), holding & !(1 << home.0));
        if recorded == held {
            return Ok(());
        }
        Err(format!("{line:?} of home {home}: recorded {recorded:#b}, held {held:#b}"))
    }
}

impl Socket {
    /// Copies of a line in the cores.
    fn copies(&self, line: LineAddr) -> Copies {
        let mut copies = Copies::default();
        for (core, number) in self.cores.iter().zip(self.cores.ids()) {
            for (above_l2, cache) in levels(core) {
                if let Some(state) = cache.state(line) {
                    copies.add(number, above_l2, state);
                }
            }
        }
        copies
    }

    /// All copies of all lines in the cores.
    fn collect(&self, socket: SocketId, copies: &mut Vec<CachedCopy>) {
        for (private, core) in self.cores.iter().zip(self.cores.ids()) {
            for (above_l2, cache) in levels(private) {
                let of_line = |(line, state)| CachedCopy { line, socket, core, above_l2, state };
                copies.extend(cache.lines().map(of_line));
            }
        }
    }

    fn check_copies(&self, line: LineAddr, copies: &Copies) -> Result<(), String> {
        self.the_right_place_knows_the_holders(line, copies.holders)?;
        for core in copies.writers.cores() {
            if !copies.holders.without(core).is_empty() {
                return Err(format!("core {core} may write {line:?}, which others hold"));
            }
        }
        for core in copies.above_l2.cores() {
            if !self.inclusion.levels_are_independent() && !copies.in_l2.contains(core) {
                return Err(format!("core {core} holds {line:?} in L1 but not in L2"));
            }
        }
        let held = !copies.holders.is_empty();
        if self.inclusion.llc_holds_all()
            && held
            && self.llc.find(self.llc.set_of(line), line).is_none()
        {
            return Err(format!("cores hold {line:?}, the inclusive LLC does not"));
        }
        Ok(())
    }

    /// Either the tracked LLC ways or the snoop filter, not both, list exactly the cores that hold the
    /// line.
    fn the_right_place_knows_the_holders(
        &self,
        line: LineAddr,
        really: Sharers,
    ) -> Result<(), String> {
        let set = self.llc.set_of(line);
        let way = self.llc.find(set, line);
        let in_filter = self.directory.as_ref().map(|directory| directory.sharers(set, line));
        let listed = way.map_or(HoldersIn::SnoopFilter, |way| self.on_device_hit(way));
        if listed != HoldersIn::SnoopFilter && in_filter.is_some_and(|also| !also.is_empty()) {
            return Err(format!("{line:?} is in the LLC and in the directory"));
        }
        let known = match (listed, in_filter) {
            (HoldersIn::None, _) => Sharers::NONE,
            (HoldersIn::Way, _) => way.map_or(Sharers::NONE, |way| self.llc.sharers(set, way)),
            (HoldersIn::SnoopFilter, Some(known)) => known,
            // Without a filter every core is snooped, unless the line must be in the LLC.
            (HoldersIn::SnoopFilter, None) => return Ok(()),
        };
        if known == really {
            return Ok(());
        }
        Err(format!("{line:?}: known {known:?}, cores {really:?}"))
    }
}

/// Checks that no line occurs twice; returns the first that does.
fn each_once(lines: &mut [LineAddr]) -> Result<(), LineAddr> {
    lines.sort_unstable();
    match lines.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(pair[0]),
        None => Ok(()),
    }
}
