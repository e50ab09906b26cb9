//! Reservations ahead of the present, resource by resource.
//!
//! Models: the distance from now to a resource's first free time. Queues of a machine are short, so a
//! long backlog is an error of the model or an input that no machine could sustain.
//! Source: none.
//! Simplifies: reservations with gaps between them count up to the first gap.

use super::Fabric;
use crate::tracer::Tracer;
use std::fmt;
use units::{Id, Picos, RootPortId, SocketId};

/// A resource with a limited rate or a limited number of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A device's attachment, in the direction of memory.
    TowardsMemory(RootPortId),
    /// A device's attachment, in the direction of the device.
    TowardsDevice(RootPortId),
    /// IIO entries of DMA writes of a device with entries of its own.
    OwnWriteEntries(RootPortId),
    /// IIO entries of DMA reads of a device with entries of its own.
    OwnReadEntries(RootPortId),
    /// Page walks of the IOMMU in front of a root port.
    PageWalks(RootPortId),
    /// IIO entries of DMA writes that the devices of a socket share.
    WriteEntries(SocketId),
    /// IIO entries of DMA reads that the devices of a socket share.
    ReadEntries(SocketId),
    /// The write queue of a channel of DRAM, or the CXL card, of a node.
    MemoryNode(usize),
    /// The links between sockets.
    Upi,
}

impl fmt::Display for Resource {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TowardsMemory(port) => write!(to, "the link of root port {port} towards memory"),
            Self::TowardsDevice(port) => {
                write!(to, "the link of root port {port} towards the device")
            }
            Self::OwnWriteEntries(port) => {
                write!(to, "the entries for DMA writes of the device at root port {port}")
            }
            Self::OwnReadEntries(port) => {
                write!(to, "the entries for DMA reads of the device at root port {port}")
            }
            Self::PageWalks(port) => write!(to, "the IOMMU's page walks for root port {port}"),
            Self::WriteEntries(socket) => {
                write!(to, "the IIO entries for DMA writes of socket {socket}")
            }
            Self::ReadEntries(socket) => {
                write!(to, "the IIO entries for DMA reads of socket {socket}")
            }
            Self::MemoryNode(node) => write!(to, "the memory of NUMA node {node}"),
            Self::Upi => write!(to, "the links between sockets"),
        }
    }
}

/// How far ahead a resource has been reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Which resource.
    pub resource: Resource,
    /// From the present to the first time at which it is free.
    pub ahead: Picos,
}

impl<T: Tracer> Fabric<T> {
    /// The backlog of every resource at `now`, in the order in which a device's request meets them: a
    /// delay at one delays the later ones.
    pub fn backlogs(&self, now: Picos) -> impl Iterator<Item = Backlog> + '_ {
        let ports = self.ports.iter().enumerate();
        let links = ports.clone().flat_map(move |(number, port)| {
            let id = RootPortId::at(number);
            let (up, down) = port.attachment.free_from(now);
            [(Resource::TowardsMemory(id), up), (Resource::TowardsDevice(id), down)]
        });
        let behind_links = ports.flat_map(move |(number, port)| {
            let id = RootPortId::at(number);
            let own = port.own_iio.as_ref();
            [
                (Resource::PageWalks(id), port.iommu.free_from(now)),
                (Resource::OwnWriteEntries(id), own.map_or(now, |iio| iio.writes.free_from(now))),
                (Resource::OwnReadEntries(id), own.map_or(now, |iio| iio.reads.free_from(now))),
            ]
        });
        let sockets = self.sockets.iter().enumerate().flat_map(move |(number, socket)| {
            let id = SocketId::at(number);
            [
                (Resource::WriteEntries(id), socket.iio.writes.free_from(now)),
                (Resource::ReadEntries(id), socket.iio.reads.free_from(now)),
            ]
        });
        let upi = std::iter::once((Resource::Upi, self.memory.upi_free_from(now)));
        let nodes =
            self.memory.free_from(now).map(|(node, free)| (Resource::MemoryNode(node), free));
        let all = links.chain(behind_links).chain(sockets).chain(upi).chain(nodes);
        all.map(move |(resource, free)| Backlog { resource, ahead: free.saturating_sub(now) })
    }
}
