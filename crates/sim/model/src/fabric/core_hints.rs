//! Operations of software on lines other than loads and stores: demotions, writes around the caches,
//! and invalidations that prepare an experiment.
//!
//! Models: CLDEMOTE; non-temporal stores of whole lines.
//! Source: Intel SDM (CLDEMOTE, MOVNTDQ).
//! Simplifies: a non-temporal store collects its line at once; a demotion is never ignored.

use super::Fabric;
use super::core_path::AccessOutcome;
use crate::attribution::AgentId;
use crate::private_caches::MesiState;
use crate::tracer::{LineOperation, Tracer};
use units::narrow::usize_from;
use units::{CoreId, LineAddr, Picos, SetIndex};

/// Lines whose sets are computed together.
const RUN: usize = 16;

impl<T: Tracer> Fabric<T> {
    /// Moves a line of a core's own caches into the LLC, as an eviction from its L2 does.
    pub fn demote(&mut self, core: CoreId, line: LineAddr, now: Picos) {
        if let Some(state) = self.private(core).invalidate(line) {
            self.take_l2_victim(core, line, state == MesiState::Modified, now);
        }
    }

    /// A core writes a whole line around the caches: every copy is invalidated, and memory receives the
    /// data. The store is done when memory has taken it and the core knows.
    pub fn core_write_around(&mut self, core: CoreId, line: LineAddr, now: Picos) -> AccessOutcome {
        self.discard(line, 1);
        let socket = self.location(core).socket;
        let there = now + self.core_path.llc.mean();
        let (done, found) =
            (self.write_memory(socket, line, there), self.memory.found(socket, line));
        self.trace(now, AgentId::of(core), LineOperation::Store, line, found, None);
        self.tracer.operation_ends(AgentId::of(core), line, done);
        AccessOutcome { done, found }
    }

    /// Invalidates every copy of `lines` lines, of which memory then has the only ones, without any traffic:
    /// for software that prepares an experiment outside its measured time.
    pub fn discard(&mut self, first: LineAddr, lines: u64) {
        let mut sets = [SetIndex(0); RUN];
        let mut from = 0;
        while from < lines {
            let run = (lines - from).min(RUN as u64);
            let sets = &mut sets[..usize_from(run)];
            for socket in self.sockets.iter_mut() {
                socket.llc.sets_of_run(first.step(from), sets);
                for (line, &set) in (from..).zip(&*sets) {
                    socket.drop_line_of(set, first.step(line));
                }
            }
            from += run;
        }
        for line in (0..lines).map(|line| first.step(line)) {
            if self.buffered {
                self.take_from_buffers(line, None);
            }
            self.elsewhere.forget(line);
        }
    }
}
