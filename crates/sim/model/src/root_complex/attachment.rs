//! How a device is attached to its socket: behind a PCIe link, or on the mesh.
//!
//! Models: a link with headers and propagation; or a mesh stop of an accelerator in the package (a
//! root-complex integrated endpoint), with a rate for each direction and IIO entries of its own.
//! Source: pcie-bench for the link; the Intel DSA specification (341204) calls the device an integrated
//! endpoint with read buffers of its own.
//! Simplifies: a stop on the mesh moves data without headers, and requests take no time; the mesh
//! behind it never limits.

use super::iio::IioConfig;
use super::pcie_link::{PcieLink, PcieLinkConfig};
use crate::occupancy::Meter;
use units::{Bytes, GbitPerSec, Picos};

/// Where a device is attached.
#[derive(Clone, Debug)]
pub enum AttachmentConfig {
    /// Behind a link; its lines share the IIO entries of the socket.
    Pcie(PcieLinkConfig),
    /// On the mesh, with IIO entries of its own.
    Mesh(MeshStopConfig),
}

impl AttachmentConfig {
    /// The device's own IIO limits and latencies, if it does not share those of its socket.
    #[must_use]
    pub fn own_iio(&self) -> Option<&IioConfig> {
        match self {
            Self::Pcie(_) => None,
            Self::Mesh(stop) => Some(&stop.iio),
        }
    }
}

/// Parameters of a device's stop on the mesh.
#[derive(Clone, Debug)]
pub struct MeshStopConfig {
    /// Write rate of the device.
    pub write_rate: GbitPerSec,
    /// Read rate of the device.
    pub read_rate: GbitPerSec,
    /// Time from the device's logic to the mesh, and back.
    pub propagation: Picos,
    /// Lines in flight, and their latencies.
    pub iio: IioConfig,
}

/// A device's stop on the mesh.
#[derive(Clone, Debug)]
pub struct MeshStop {
    config: MeshStopConfig,
    writes: Meter,
    reads: Meter,
}

/// A device's attachment with its two directions.
#[derive(Clone, Debug)]
pub enum Attachment {
    /// Behind a link.
    Pcie(PcieLink),
    /// On the mesh.
    Mesh(MeshStop),
}

impl Attachment {
    /// An idle attachment.
    #[must_use]
    pub fn new(config: &AttachmentConfig) -> Self {
        match config {
            AttachmentConfig::Pcie(link) => Self::Pcie(PcieLink::new(link.clone())),
            AttachmentConfig::Mesh(stop) => Self::Mesh(MeshStop {
                config: stop.clone(),
                writes: Meter::default(),
                reads: Meter::default(),
            }),
        }
    }

    /// Clears all counters and reservations.
    pub fn forget(&mut self) {
        *self = match self {
            Self::Pcie(link) => Self::Pcie(PcieLink::new(link.config().clone())),
            Self::Mesh(stop) => Self::new(&AttachmentConfig::Mesh(stop.config.clone())),
        };
    }

    /// The link, if the device has one.
    #[must_use]
    pub fn link(&self) -> Option<&PcieLink> {
        match self {
            Self::Pcie(link) => Some(link),
            Self::Mesh(_) => None,
        }
    }

    /// The longest read in one request; a stop on the mesh has no limit.
    #[must_use]
    pub fn max_read_request_bytes(&self) -> u64 {
        self.link().map_or(u64::MAX, |link| link.config().max_read_request_bytes)
    }

    /// Time for which each direction (towards memory, towards the device) was busy until `now`.
    #[must_use]
    pub fn busy_until(&self, now: Picos) -> (Picos, Picos) {
        match self {
            Self::Pcie(link) => link.busy_until(now),
            Self::Mesh(stop) => (stop.writes.busy_until(now), stop.reads.busy_until(now)),
        }
    }

    /// When each direction (towards memory, towards the device) would serve a transfer of `now`.
    #[must_use]
    pub fn free_from(&self, now: Picos) -> (Picos, Picos) {
        match self {
            Self::Pcie(link) => link.free_from(now),
            Self::Mesh(stop) => (stop.writes.free_from(now), stop.reads.free_from(now)),
        }
    }

    /// Cost of a write of `bytes` towards memory.
    #[inline]
    #[must_use]
    pub fn write_bytes(&self, bytes: u64) -> u64 {
        match self {
            Self::Pcie(link) => link.config().write_bytes(bytes),
            Self::Mesh(_) => bytes,
        }
    }

    /// Cost of the requests for a read of `bytes` towards memory.
    #[inline]
    #[must_use]
    pub fn read_request_bytes(&self, bytes: u64) -> u64 {
        match self {
            Self::Pcie(link) => link.config().read_request_bytes(bytes),
            Self::Mesh(_) => 0,
        }
    }

    /// Cost of the data of a read of `bytes` towards the device.
    #[inline]
    #[must_use]
    pub fn completion_bytes(&self, bytes: u64) -> u64 {
        match self {
            Self::Pcie(link) => link.config().completion_bytes(bytes),
            Self::Mesh(_) => bytes,
        }
    }

    /// Sends writes with a total cost of `bytes` towards memory; returns when the last has arrived.
    #[inline]
    pub fn send_up(&mut self, now: Picos, bytes: u64) -> Picos {
        match self {
            Self::Pcie(link) => link.send_up(now, bytes),
            Self::Mesh(stop) => {
                let time = stop.config.write_rate.time_for(Bytes(bytes));
                stop.writes.reserve(now, time) + stop.config.propagation
            }
        }
    }

    /// Sends read requests with a total cost of `bytes`; returns when the last has arrived.
    #[inline]
    pub fn request_up(&mut self, now: Picos, bytes: u64) -> Picos {
        match self {
            Self::Pcie(link) => link.request_up(now, bytes),
            Self::Mesh(stop) => now + stop.config.propagation,
        }
    }

    /// Sends data with a total cost of `bytes` to the device; returns when all of it has arrived.
    #[inline]
    pub fn send_down(&mut self, now: Picos, bytes: u64) -> Picos {
        match self {
            Self::Pcie(link) => link.send_down(now, bytes),
            Self::Mesh(stop) => {
                let time = stop.config.read_rate.time_for(Bytes(bytes));
                stop.reads.reserve(now, time) + stop.config.propagation
            }
        }
    }
}
