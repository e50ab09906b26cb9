//! Kinds of LLC misses: a fully associative shadow sees every request that reaches the LLC.
//!
//! Models: the shadow receives requests of cores beyond their L2, of prefetchers and of devices; a
//! device write that bypasses the LLC removes the line from it.
//! Source: Hill and Smith (IEEE ToC 1989) for the kinds.
//! Simplifies: the shadow allocates every requested line, even where a victim cache would not.

use super::{Event, Found, LineOperation, Tracer};
use crate::miss_kinds::{AccessCounts, MissKinds};
use units::LineAddr;

/// Classifies LLC misses by kind, for each agent.
#[derive(Debug)]
pub struct WatchMisses {
    kinds: MissKinds,
}

impl WatchMisses {
    /// A shadow of LLCs with `lines` lines in total.
    #[must_use]
    pub fn new(lines: u32) -> Self {
        Self { kinds: MissKinds::new(lines) }
    }
}

impl Tracer for WatchMisses {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        let hit = !event.found.is_memory() && !matches!(event.found, Found::LlcAllocated(_));
        match event.operation {
            LineOperation::Load
            | LineOperation::Store
            | LineOperation::Prefetch
            | LineOperation::Fetch => {
                if !matches!(event.found, Found::L1 | Found::L2) {
                    self.kinds.access(event.agent, event.line, hit);
                }
            }
            LineOperation::DmaWriteFull | LineOperation::DmaWritePartial => {
                // A line that goes to memory or to a core's L2 is not in the LLC afterwards.
                if event.found.is_memory() || event.found == Found::L2 {
                    self.kinds.invalidate(event.line);
                } else {
                    self.kinds.access(event.agent, event.line, hit);
                }
            }
            LineOperation::DmaRead => {
                self.kinds.pass_by(event.agent, event.line, hit);
            }
            LineOperation::L2Victim
            | LineOperation::LlcFill
            | LineOperation::IoWriteBack
            | LineOperation::LlcEviction
            | LineOperation::DirectoryEviction => {}
        }
    }

    fn packet_arrives(&mut self, _sequence: u64, _first: LineAddr, _lines: u64) {}

    fn packet_leaves(&mut self, _sequence: u64) {}

    fn miss_counts(&self) -> &[AccessCounts] {
        self.kinds.all_counts()
    }
}
