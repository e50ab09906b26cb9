//! Why accesses miss the LLC: every request that reaches it, seen by a fully associative shadow.
//!
//! Models: nothing; it watches. Requests of cores beyond their L2, of prefetchers and of devices
//! reach the shadow; a device write that bypasses the LLC takes the line out of it.
//! Source: Hill and Smith (IEEE ToC 1989) for the kinds.
//! Simplifies: the shadow takes in every line that is asked for, also where a victim cache would not.

use super::{Event, Found, Operation, Tracer};
use crate::miss_kinds::{AccessCounts, MissKinds};
use units::LineAddr;

/// Sorts LLC misses by their kind, for each agent.
#[derive(Debug)]
pub struct WatchMisses {
    kinds: MissKinds,
}

impl WatchMisses {
    /// For LLCs of `lines` lines in all.
    #[must_use]
    pub fn new(lines: u32) -> Self {
        Self { kinds: MissKinds::new(lines) }
    }

    /// What an agent's requests were.
    #[must_use]
    pub fn counts(&self, agent: crate::attribution::AgentId) -> &AccessCounts {
        self.kinds.counts(agent)
    }
}

impl Tracer for WatchMisses {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        let hit = !event.found.is_memory() && !matches!(event.found, Found::LlcAllocated(_));
        match event.operation {
            Operation::Load | Operation::Store | Operation::Prefetch | Operation::Fetch => {
                if !matches!(event.found, Found::L1 | Found::L2) {
                    self.kinds.access(event.agent, event.line, hit);
                }
            }
            Operation::DmaWriteFull | Operation::DmaWritePartial => {
                // Neither what goes to memory nor what goes to a core's L2 is in the LLC afterwards.
                if event.found.is_memory() || event.found == Found::L2 {
                    self.kinds.invalidate(event.line);
                } else {
                    self.kinds.access(event.agent, event.line, hit);
                }
            }
            Operation::DmaRead => {
                self.kinds.pass_by(event.agent, event.line, hit);
            }
            Operation::L2Victim
            | Operation::LlcFill
            | Operation::IoWriteBack
            | Operation::LlcEviction
            | Operation::DirectoryEviction => {}
        }
    }

    fn packet_arrives(&mut self, _sequence: u64, _first: LineAddr, _lines: u64) {}

    fn packet_leaves(&mut self, _sequence: u64) {}
}
