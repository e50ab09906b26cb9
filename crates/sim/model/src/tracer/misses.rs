//! Kinds of LLC misses: a fully associative shadow sees every request that reaches the LLC.
//!
//! Models: the shadow receives requests of cores beyond their L2, of prefetchers and of devices; a
//! device write that bypasses the LLC removes the line from it. A second shadow, as large as the ways in which
//! devices may allocate, receives the writes of devices alone: what misses there too is too much for these
//! ways, and what does not is lost to sets, other agents or the replacement policy.
//! Source: Hill and Smith (IEEE ToC 1989) for the kinds.
//! Simplifies: the shadow allocates every requested line, even where a victim cache would not.

use super::{Event, Found, LineOperation, Tracer};
use crate::miss_kinds::{AccessCounts, MissKinds};
use units::LineAddr;

/// Classifies LLC misses by kind, for each agent.
#[derive(Debug)]
pub struct WatchMisses {
    kinds: MissKinds,
    /// Writes of devices, if there are ways for them.
    device_writes: Option<MissKinds>,
}

impl WatchMisses {
    /// A shadow of LLCs with `lines` lines in total, of which devices may allocate `device_lines`.
    #[must_use]
    pub fn new(lines: u32, device_lines: u32) -> Self {
        let device_writes = (device_lines > 0).then(|| MissKinds::new(device_lines));
        Self { kinds: MissKinds::new(lines), device_writes }
    }

    fn device_write(&mut self, event: &Event, hit: bool) {
        // A line that goes to memory or to a core's L2 is not in the LLC afterwards.
        let is_elsewhere = event.found.is_memory() || event.found == Found::L2;
        for kinds in [Some(&mut self.kinds), self.device_writes.as_mut()].into_iter().flatten() {
            if is_elsewhere {
                kinds.invalidate(event.line);
            } else {
                kinds.access(event.agent, event.line, hit);
            }
        }
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
                self.device_write(&event, hit);
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

    fn packet_arrives(&mut self, _first: LineAddr, _lines: u64) {}

    fn packet_leaves(&mut self, _first: LineAddr) {}

    fn miss_counts(&self) -> &[AccessCounts] {
        self.kinds.all_counts()
    }

    fn device_write_counts(&self) -> &[AccessCounts] {
        self.device_writes.as_ref().map_or(&[], MissKinds::all_counts)
    }
}
