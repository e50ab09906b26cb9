//! What must hold of all caches together after every call (ARCHITECTURE.md, "Invariants").

use super::Fabric;
use super::socket::Socket;
use crate::core::private_cache::State;
use crate::llc::{Inclusion, Sharers};
use crate::root_complex::buffer::BufferState;
use crate::tracer::Tracer;
use std::collections::BTreeSet;
use units::LineAddr;

impl<T: Tracer> Fabric<T> {
    /// Checks every line of every cache; for tests, because it walks the whole machine.
    ///
    /// # Errors
    /// Says which invariant is broken, and by which line.
    pub fn check_invariants(&self) -> Result<(), String> {
        let mut lines: Vec<LineAddr> = self.elsewhere.recorded().map(|(line, _)| line).collect();
        for socket in &self.sockets {
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
            for core in &socket.cores {
                lines.extend(core.l1.lines().chain(core.l2.lines()).map(|(line, _)| line));
                lines.extend(core.l1i.iter().flat_map(|l1i| l1i.lines()).map(|(line, _)| line));
            }
        }
        lines.sort_unstable();
        lines.dedup();
        lines.into_iter().try_for_each(|line| self.check_line(line))
    }

    /// Checks one line in every cache of the machine.
    ///
    /// # Errors
    /// Says which invariant it breaks.
    pub fn check_line(&self, line: LineAddr) -> Result<(), String> {
        let holding: BTreeSet<usize> = (0..self.sockets.len())
            .filter(|&socket| {
                let socket = &self.sockets[socket];
                let in_cores = !socket.ask_every_core(line).is_empty();
                in_cores || socket.llc.find(socket.llc.set_of(line), line).is_some()
            })
            .collect();
        for socket in &self.sockets {
            socket.check_line(line)?;
        }
        self.home_knows_other_sockets(line, &holding)?;
        let newest = holding.iter().filter(|&&socket| self.sockets[socket].may_write(line)).count();
        if newest > 0 && holding.len() > 1 {
            return Err(format!("{line:?} may be written in one of sockets {holding:?}"));
        }
        self.buffers_agree_with_caches(line, &holding)
    }

    /// A root-complex buffer that may write a line has the only copy, and cores do not write what a
    /// buffer shares.
    fn buffers_agree_with_caches(
        &self,
        line: LineAddr,
        holding: &BTreeSet<usize>,
    ) -> Result<(), String> {
        let states = self.ports.iter().filter_map(|port| port.buffer.as_ref()?.state(line));
        let states: Vec<BufferState> = states.collect();
        let sole = states.iter().any(|&state| state != BufferState::Shared);
        if sole && (states.len() > 1 || !holding.is_empty()) {
            return Err(format!(
                "{line:?}: a buffer has the only copy, sockets {holding:?} another"
            ));
        }
        let core_writes = holding.iter().any(|&socket| self.sockets[socket].a_core_may_write(line));
        if !states.is_empty() && core_writes {
            return Err(format!("{line:?} is shared by a buffer, yet a core may write it"));
        }
        Ok(())
    }

    fn home_knows_other_sockets(
        &self,
        line: LineAddr,
        holding: &BTreeSet<usize>,
    ) -> Result<(), String> {
        if self.sockets.len() == 1 {
            return Ok(());
        }
        let home = self.memory.socket_of(line);
        for socket in 0..self.sockets.len() {
            let recorded = self.elsewhere.holders(line) >> socket & 1 == 1;
            if recorded != (socket != home && holding.contains(&socket)) {
                let known = if recorded { "recorded" } else { "not recorded" };
                return Err(format!("{line:?} of home {home} is {known} for socket {socket}"));
            }
        }
        Ok(())
    }
}

impl Socket {
    /// A core may write the line without asking, or its newest content is here.
    fn may_write(&self, line: LineAddr) -> bool {
        let set = self.llc.set_of(line);
        let dirty = self.llc.find(set, line).is_some_and(|way| self.llc.info(set, way).dirty);
        dirty || self.a_core_may_write(line)
    }

    fn a_core_may_write(&self, line: LineAddr) -> bool {
        let writable = |core: u8| {
            self.cores[usize::from(core)].state(line).is_some_and(|state| state != State::Shared)
        };
        self.ask_every_core(line).cores().any(writable)
    }

    fn check_line(&self, line: LineAddr) -> Result<(), String> {
        let set = self.llc.set_of(line);
        let really = self.ask_every_core(line);
        self.the_right_place_knows_the_holders(line, really)?;
        for core in really.cores() {
            let private = &self.cores[usize::from(core)];
            let state = private.state(line);
            if state != Some(State::Shared) && !really.without(core).is_empty() {
                return Err(format!("core {core} may write {line:?}, which others hold"));
            }
            if self.inclusion != Inclusion::Nine && private.l2.state(line).is_none() {
                return Err(format!("core {core} holds {line:?} in L1 but not in L2"));
            }
        }
        let in_llc = self.llc.find(set, line).is_some();
        if self.inclusion == Inclusion::Inclusive && !really.is_empty() && !in_llc {
            return Err(format!("cores hold {line:?}, the inclusive LLC does not"));
        }
        Ok(())
    }

    /// Tracked LLC ways or the snoop filter, not both, name exactly the cores that hold the line.
    fn the_right_place_knows_the_holders(
        &self,
        line: LineAddr,
        really: Sharers,
    ) -> Result<(), String> {
        let set = self.llc.set_of(line);
        let in_filter = self.directory.as_ref().map(|directory| directory.sharers(set, line));
        let in_llc = self.llc.find(set, line).map(|way| self.llc.sharers(set, way));
        if self.inclusion == Inclusion::Nine {
            return match in_filter {
                Some(known) if known != really => {
                    Err(format!("{line:?}: filter {known:?}, cores {really:?}"))
                }
                _ => Ok(()),
            };
        }
        let known = match (in_llc, in_filter) {
            (Some(_), Some(also)) if !also.is_empty() => {
                return Err(format!("{line:?} is in the LLC and in the directory"));
            }
            (Some(sharers), _) => sharers,
            (None, Some(known)) => known,
            (None, None) => self.untracked_holders(set, line),
        };
        if known == really {
            return Ok(());
        }
        Err(format!("{line:?}: known {known:?}, cores {really:?}"))
    }
}

/// Whether no line comes twice; the first that does otherwise.
fn each_once(lines: &mut [LineAddr]) -> Result<(), LineAddr> {
    lines.sort_unstable();
    match lines.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(pair[0]),
        None => Ok(()),
    }
}
