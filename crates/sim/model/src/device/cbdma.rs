//! The copy engine of processors before the data streaming accelerator (CBDMA, Intel QuickData Technology).
//!
//! Models: channels, each with a ring of descriptors in host memory; a doorbell that carries the number of
//! descriptors written; descriptors fetched by DMA; copies and fills in the order of the ring; a limited
//! number of lines under way for each channel; the completion written to the channel's status line.
//! Source: Linux drivers/dma/ioat (ring, DMACOUNT, CHANCMP); SPDK's ioat driver.
//! Simplifies: addresses are physical and pages pinned, so that nothing translates or faults; XOR, P+Q and
//! descriptor-less null operations are left out; interrupts are not coalesced; data is written as by any
//! device behind the root complex: descriptors have no cache control.

mod as_device;
pub mod channel;
mod engine;
mod job;
mod steps;

pub use engine::Cbdma;

use crate::reading;
use units::{Picos, RootPortId};

/// Bytes of a descriptor: a line.
pub const DESCRIPTOR_BYTES: u64 = 64;
/// Bytes of the completion that a channel writes: the address of its last descriptor, with its state.
pub const STATUS_BYTES: u64 = 8;
/// Lines that a channel reads or writes with one request: 256 bytes.
pub const PIECE_LINES: u64 = 4;

/// Durations of the device's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CbdmaTiming {
    /// Time from one descriptor of a channel to the next.
    pub descriptor_interval: Picos,
    /// Time from the arrival of a descriptor to its first request.
    pub dispatch: Picos,
    /// Time from the last data to the write of the completion.
    pub finish: Picos,
}

/// Parameters of the CBDMA of a socket.
#[derive(Clone, Debug)]
pub struct CbdmaConfig {
    /// The device's stop on the mesh.
    pub port: RootPortId,
    /// Number of channels.
    pub channels: u32,
    /// Most lines that a channel has asked for and not yet passed on.
    pub lines_per_channel: u32,
    /// Most descriptors that a channel fetches ahead.
    pub fetched_descriptors: u32,
    /// Durations of the device's steps.
    pub timing: CbdmaTiming,
}

/// Counters of a CBDMA device: descriptors, completions and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CbdmaCounters {
    /// Number of doorbells that channels have seen.
    pub doorbells: u64,
    /// Number of descriptors that doorbells have told of.
    pub submitted: u64,
    /// Number of descriptors fetched.
    pub fetched: u64,
    /// Number of descriptors completed.
    pub completed: u64,
    /// Number of completions written to memory.
    pub completions_written: u64,
    /// Bytes of data read.
    pub bytes_read: u64,
    /// Bytes of data written.
    pub bytes_written: u64,
    /// Bytes of descriptors read.
    pub descriptor_bytes: u64,
    /// Channels' time with a descriptor that has not completed, summed.
    pub channel_busy: Picos,
    /// Channels' time in which they could begin no other descriptor, summed.
    pub front_busy: Picos,
    /// Channels' time in which as many lines as they can have were under way, summed.
    pub line_wait: Picos,
}

reading!(CbdmaCounters {
    doorbells,
    submitted,
    fetched,
    completed,
    completions_written,
    bytes_read,
    bytes_written,
    descriptor_bytes,
    channel_busy,
    front_busy,
    line_wait,
});
