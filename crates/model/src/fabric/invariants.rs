//! What must hold of all caches together after every call (ARCHITECTURE.md, "Invariants").

use super::Fabric;
use crate::core::private_cache::State;
use crate::tracer::Tracer;
use std::collections::BTreeSet;
use units::LineAddr;

impl<T: Tracer> Fabric<T> {
    /// Checks every line of every cache; for tests, because it walks the whole machine.
    ///
    /// # Errors
    /// Says which invariant is broken, and by which line.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.each_llc_line_is_held_once()?;
        for core in 0..self.cores.len() as u8 {
            self.core_lines_are_known(core)?;
        }
        self.known_sharers_hold_their_lines()
    }

    fn each_llc_line_is_held_once(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for line in self.llc.lines().chain(self.directory.lines()) {
            if !seen.insert(line) {
                return Err(format!("{line:?} is twice in the LLC and directory"));
            }
        }
        Ok(())
    }

    /// L1D within L2, every L2 line known as held by this core, and writable only if by it alone.
    fn core_lines_are_known(&self, core: u8) -> Result<(), String> {
        let private = &self.cores[usize::from(core)];
        for (line, _) in private.l1.lines() {
            if private.l2.state(line).is_none() {
                return Err(format!("core {core} holds {line:?} in L1D but not in L2"));
            }
        }
        for (line, state) in private.l2.lines() {
            let sharers = self.known_sharers(line);
            if !sharers.contains(core) {
                return Err(format!("core {core} holds {line:?} unknown to LLC and directory"));
            }
            let alone = sharers.without(core).is_empty();
            let writable = state != State::Shared
                || private.l1.state(line).is_some_and(|state| state != State::Shared);
            if writable && !alone {
                return Err(format!("core {core} may write {line:?}, which others hold"));
            }
        }
        Ok(())
    }

    fn known_sharers_hold_their_lines(&self) -> Result<(), String> {
        for line in self.llc.lines().chain(self.directory.lines()) {
            for core in self.known_sharers(line).cores() {
                if self.cores[usize::from(core)].l2.state(line).is_none() {
                    return Err(format!("{line:?} is recorded for core {core}, which lacks it"));
                }
            }
        }
        Ok(())
    }

    fn known_sharers(&self, line: LineAddr) -> crate::llc::Sharers {
        let set = self.llc.set_of(line);
        match self.llc.find(set, line) {
            Some(way) => self.llc.sharers(set, way),
            None => self.directory.sharers(set, line),
        }
    }
}
