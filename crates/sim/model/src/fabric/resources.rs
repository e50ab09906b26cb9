//! Every resource that requests queue for: how far ahead of the present it is reserved, and how long it
//! has been busy.
//!
//! Models: the distance from now to a resource's first free time, and its utilisation. Queues of a
//! machine are short, so a long backlog is an error of the model or an input that no machine could
//! sustain.
//! Simplifies: reservations with gaps between them count up to the first gap. A channel of DRAM is busy
//! while it transfers data; turn-arounds, refresh and closed rows leave it idle.

use super::Fabric;
use crate::occupancy::Entries;
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

impl Resource {
    /// The root port whose devices alone use it.
    #[must_use]
    pub fn port(self) -> Option<RootPortId> {
        match self {
            Self::TowardsMemory(id)
            | Self::TowardsDevice(id)
            | Self::OwnWriteEntries(id)
            | Self::OwnReadEntries(id)
            | Self::PageWalks(id) => Some(id),
            Self::WriteEntries(_) | Self::ReadEntries(_) | Self::MemoryNode(_) | Self::Upi => None,
        }
    }

    /// The resource in words; `port` names root ports.
    #[must_use]
    pub fn describe(self, port: impl Fn(RootPortId) -> String) -> String {
        match self {
            Self::TowardsMemory(id) => format!("the link of {} towards memory", port(id)),
            Self::TowardsDevice(id) => format!("the link of {} towards the device", port(id)),
            Self::OwnWriteEntries(id) => format!("the entries for DMA writes of {}", port(id)),
            Self::OwnReadEntries(id) => format!("the entries for DMA reads of {}", port(id)),
            Self::PageWalks(id) => format!("the IOMMU's page walks for {}", port(id)),
            Self::WriteEntries(socket) => {
                format!("the IIO entries for DMA writes of socket {socket}")
            }
            Self::ReadEntries(socket) => {
                format!("the IIO entries for DMA reads of socket {socket}")
            }
            Self::MemoryNode(node) => format!("the memory of NUMA node {node}"),
            Self::Upi => "the links between sockets".into(),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.describe(|port| format!("root port {port}")))
    }
}

/// Use of a resource so far: enough to find the one that limits a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceState {
    /// Resource that is described.
    pub resource: Resource,
    /// Time from the present to the first at which the resource is free.
    pub ahead: Picos,
    /// Time since time zero for which the resource was busy; entries count by the share of them
    /// that was in use.
    pub busy: Picos,
}

impl<T: Tracer> Fabric<T> {
    /// Every resource at `now`, in the order in which a device's request meets them: a delay at one
    /// delays the later ones.
    pub fn resources(&self, now: Picos) -> impl Iterator<Item = ResourceState> + '_ {
        let state = move |(resource, free, busy): (Resource, Picos, Picos)| ResourceState {
            resource,
            ahead: free.saturating_sub(now),
            busy,
        };
        let ports = self.ports.iter().enumerate();
        let ports = ports.map(|(number, port)| (RootPortId::at(number), port));
        let links = ports.clone().flat_map(move |(id, port)| {
            let (up_free, down_free) = port.attachment.free_from(now);
            let (up, down) = port.attachment.busy_until(now);
            [
                (Resource::TowardsMemory(id), up_free, up),
                (Resource::TowardsDevice(id), down_free, down),
            ]
        });
        let behind_links = ports.flat_map(move |(id, port)| {
            let walks = &port.iommu;
            let walks = (Resource::PageWalks(id), walks.free_from(now), walks.busy_until(now));
            std::iter::once(walks).chain(port.own_iio.iter().flat_map(move |iio| {
                [
                    of_entries(Resource::OwnWriteEntries(id), &iio.writes, now),
                    of_entries(Resource::OwnReadEntries(id), &iio.reads, now),
                ]
            }))
        });
        let sockets = self.sockets.iter().enumerate().flat_map(move |(number, socket)| {
            let id = SocketId::at(number);
            [
                of_entries(Resource::WriteEntries(id), &socket.iio.writes, now),
                of_entries(Resource::ReadEntries(id), &socket.iio.reads, now),
            ]
        });
        let upi = self.memory.upi();
        let upi = upi.map(|upi| (Resource::Upi, upi.free_from(now), upi.most_busy_until(now)));
        let nodes = self.memory.nodes_at(now);
        let nodes = nodes.map(|(node, free, busy)| (Resource::MemoryNode(node), free, busy));
        links.chain(behind_links).chain(sockets).chain(upi).chain(nodes).map(state)
    }
}

fn of_entries(resource: Resource, entries: &Entries, now: Picos) -> (Resource, Picos, Picos) {
    (resource, entries.free_from(now), entries.busy_until(now))
}
