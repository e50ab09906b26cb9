//! A data streaming accelerator (Intel DSA): work queues, engines that move data by DMA, completion records.
//!
//! Models: groups of work queues and engines; dedicated queues (MOVDIR64B, posted) and shared ones (ENQCMD,
//! refused from a threshold on); an arbiter by priority; batches whose list is fetched by DMA, fences,
//! drains; descriptors that are refused for their size or number of members; one cached translation for each descriptor field of an engine, page faults that block an engine
//! or end a descriptor; read buffers; destinations in the DDIO ways or in memory by the cache-control flag;
//! completion records in the LLC.
//! Source: Intel DSA specification (341204-006US); ASPLOS'24 "A Quantitative Analysis and Guidelines of Data
//! Streaming Accelerator"; DSAssassin (HPCA'26) for the translations that an engine keeps.
//! Simplifies: a buffer is contiguous; the content of data is not kept, so that software states the size
//! of a delta record; traffic classes share one path; no event log.

mod arbiter;
mod as_device;
mod completion;
pub mod descriptor;
mod dispatch;
mod engine;
mod instance;
mod job;
pub mod portal;
mod read_buffers;
mod steps;
mod translation;

pub use instance::Dsa;

use crate::reading;
use units::{Picos, RootPortId};

/// Entries of all work queues of an instance together (WQCAP of Sapphire Rapids).
pub const QUEUE_ENTRIES: u32 = 128;
/// Lines that an engine reads or writes with one request.
pub const PIECE_LINES: u64 = 4;
/// Read buffers that each engine of a group must be allowed: the specification's least.
pub const LEAST_BUFFERS_PER_ENGINE: u32 = 4;

/// How descriptors reach a work queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMode {
    /// One client; posted writes (MOVDIR64B). A write that finds no free entry is lost.
    Dedicated,
    /// Several clients; ENQCMD is refused while the queue holds this many descriptors.
    Shared {
        /// Entries from which on it refuses.
        threshold: u32,
    },
}

/// Parameters of a work queue.
#[derive(Clone, Debug)]
pub struct WorkQueueConfig {
    /// How descriptors reach the queue.
    pub mode: QueueMode,
    /// Number of entries: descriptors that the queue holds.
    pub size: u32,
    /// Most descriptors of the queue in a round of the arbiter, 1 to 15.
    pub priority: u32,
    /// Most members of a batch; a longer one, or one of a single member, is refused.
    pub max_batch: u32,
    /// Most bytes of a transfer; a longer one is refused.
    pub max_transfer_bytes: u64,
    /// Later thresholds of a shared queue, each from a time on: the one part of its configuration that
    /// software may write while the queue is enabled.
    pub thresholds: Vec<(Picos, u32)>,
}

/// Work queues and the engines that serve them.
#[derive(Clone, Debug)]
pub struct GroupConfig {
    /// Work queues of the group.
    pub queues: Vec<WorkQueueConfig>,
    /// Number of engines of the group.
    pub engines: u32,
    /// Number of read buffers that no other group takes.
    pub read_buffers_reserved: u32,
    /// Most read buffers that the group may use at a time.
    pub read_buffers_allowed: u32,
    /// Whether the group shares the limit of [`DsaConfig::read_buffer_limit`] with others.
    pub uses_read_buffer_limit: bool,
}

/// A portal: the page through which one core writes to one work queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortalConfig {
    /// Number of the group to which the queue belongs.
    pub group: usize,
    /// Number of the queue in its group.
    pub queue: usize,
}

/// Durations of the steps that a DSA takes with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsaTiming {
    /// Least time from the start of one descriptor of an engine to the start of the next.
    pub descriptor_interval: Picos,
    /// Time from the dispatch of a descriptor to its first request.
    pub dispatch: Picos,
    /// Time from the last data to the write of the completion record.
    pub finish: Picos,
    /// Time that a checksum adds to it.
    pub checksum: Picos,
    /// Time of a translation that the engine does not have: to the IOMMU and back, a page walk apart.
    pub translation: Picos,
    /// Time of the operating system's answer to a page request.
    pub page_request: Picos,
    /// Time from a core's store to the portal until the device sees it; an answer takes as long.
    pub portal: Picos,
}

/// Parameters of an instance of the device.
#[derive(Clone, Debug)]
pub struct DsaConfig {
    /// The instance's stop on the mesh.
    pub port: RootPortId,
    /// Groups of work queues and engines.
    pub groups: Vec<GroupConfig>,
    /// Portals: the device's queues as software sees them.
    pub portals: Vec<PortalConfig>,
    /// Number of read buffers of all groups together, each of a line.
    pub read_buffers: u32,
    /// Most read buffers that the groups which share a limit use together.
    pub read_buffer_limit: Option<u32>,
    /// Most descriptors that an engine processes at a time.
    pub descriptors_per_engine: u32,
    /// Number of pages behind the current one for whose translation an operand asks.
    pub pages_ahead: u64,
    /// Number of lines of a page of the clients' memory.
    pub page_lines: u64,
    /// Durations of the device's steps.
    pub timing: DsaTiming,
}

/// Counters of a DSA instance: descriptors, members of batches, bytes and waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DsaCounters {
    /// Number of descriptors that a work queue has taken; members of batches are not in a queue.
    pub accepted: u64,
    /// Number of ENQCMDs refused at the threshold.
    pub refused: u64,
    /// Number of posted writes that found their queue full.
    pub dropped: u64,
    /// Number of descriptors of queues whose completion record has been written.
    pub completed: u64,
    /// Number of members of batches that have been fetched.
    pub members_fetched: u64,
    /// Number of members of batches that have ended.
    pub members_completed: u64,
    /// Number of members that were not processed, behind a fence that failed.
    pub members_abandoned: u64,
    /// Number of descriptors and members among those completed that were refused: their size or
    /// number of members is not allowed.
    pub invalid: u64,
    /// Bytes of operands read.
    pub bytes_read: u64,
    /// Bytes of operands written.
    pub bytes_written: u64,
    /// Bytes of descriptor lists read.
    pub list_bytes: u64,
    /// Number of lines flushed.
    pub lines_flushed: u64,
    /// Number of translations requested, because the engine did not have them.
    pub translations: u64,
    /// Number of pages that were not present.
    pub page_faults: u64,
    /// Engines' time from a request that found no read buffer to the next that did, summed.
    pub buffer_wait: Picos,
    /// Engines' time with a descriptor in work, summed.
    pub engine_busy: Picos,
    /// Engines' time in which their front could begin no other descriptor, summed.
    pub front_busy: Picos,
    /// Entries of the work queues in use, summed over time.
    pub queue_entry_time: Picos,
}

reading!(DsaCounters {
    accepted,
    refused,
    dropped,
    completed,
    members_fetched,
    members_completed,
    members_abandoned,
    invalid,
    bytes_read,
    bytes_written,
    list_bytes,
    lines_flushed,
    translations,
    page_faults,
    buffer_wait,
    engine_busy,
    front_busy,
    queue_entry_time,
});
