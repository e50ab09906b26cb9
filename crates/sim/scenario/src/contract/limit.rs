//! Resources that requests queue for, as the rooms of devices state them.

use schemars::JsonSchema;
use serde::Serialize;
use units::Picos;

/// A kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// The busiest core of a tenant.
    Core,
    /// The wire from which packets arrive at a card.
    WireIn,
    /// The wire on which packets leave it.
    WireOut,
    /// A card's own pace for packets that it receives.
    ReceivePipeline,
    /// A card's own pace for packets that it sends.
    SendPipeline,
    /// Reads of an SSD's media.
    MediaReads,
    /// Writes of an SSD's media.
    MediaWrites,
    /// The pace at which copy engines take descriptors.
    CopyEngines,
    /// Read buffers of copy engines.
    ReadBuffers,
    /// The link between a device and its root port, in the direction of memory.
    LinkTowardsMemory,
    /// The link between a device and its root port, in the direction of the device.
    LinkTowardsDevice,
    /// Entries for DMA writes in flight.
    WriteEntries,
    /// Entries for DMA reads in flight.
    ReadEntries,
    /// Page walks of an IOMMU.
    PageWalks,
    /// Channels of memory, or a CXL card.
    Memory,
    /// Links between sockets.
    SocketLink,
}

impl LimitKind {
    /// The verb that fits its name.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::WriteEntries
            | Self::ReadEntries
            | Self::PageWalks
            | Self::MediaReads
            | Self::MediaWrites
            | Self::ReadBuffers
            | Self::SocketLink => "are",
            _ => "is",
        }
    }
}

/// A limited part of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// Kind of the resource.
    pub kind: LimitKind,
    /// Its name, with `{}` for that of the device.
    name: &'static str,
    /// The time that it needed for what it did.
    pub busy: Picos,
}

impl Limit {
    /// A part that was busy for so long; `name` has `{}` for the name of the device.
    pub(crate) fn new(kind: LimitKind, name: &'static str, busy: Picos) -> Self {
        Self { kind, name, busy }
    }

    /// Its name, for a device of this name.
    pub(crate) fn named(&self, device: &str) -> String {
        self.name.replace("{}", device)
    }
}
