//! An NVMe SSD: queues in host memory, a controller that moves blocks by DMA, and its media.
//!
//! Models: submission and completion queues as real cache lines; fetch of entries and PRP lists;
//! blocks moved in bursts of 4 KiB; media of parallel units behind one bus.
//! Source: NVM Express base specification (entries of 64 and 16 bytes, phase, PRP lists, round
//! robin over queues); the device's numbers are in its file.
//! Simplifies: no namespaces, no errors, no flush; a block is a multiple of 4 KiB.

mod as_device;
pub mod controller;
pub mod media;
pub mod rings;

use crate::reading;
use media::MediaConfig;
use units::Picos;

/// Parameters of an SSD.
#[derive(Clone, Debug)]
pub struct NvmeConfig {
    /// Time from a submission entry in the controller to the first use of the media.
    pub command: Picos,
    /// Most commands that the controller processes at a time.
    pub commands: u32,
    /// Bytes of data that the controller can hold between link and media, for each direction.
    pub buffer_bytes: u64,
    /// Most DMA reads of 4 KiB under way at a time.
    pub data_reads: u32,
    /// Parameters of the media.
    pub media: MediaConfig,
}

/// Counters of an SSD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NvmeCounters {
    /// Number of commands fetched.
    pub fetched: u64,
    /// Number of commands whose completion has been written.
    pub completed: u64,
    /// Bytes of data written into host memory.
    pub bytes_to_host: u64,
    /// Bytes of data read from host memory.
    pub bytes_from_host: u64,
}

reading!(NvmeCounters { fetched, completed, bytes_to_host, bytes_from_host });
