//! A root port: the path of the devices behind it into the machine, and the treatment of their lines.
//!
//! Models: the link, the IOMMU and the root-complex buffer of a port, and its policy.
//! Source: as in [`crate::root_complex`].
//!
//! The port chooses how lines are written and read when it is built or its policy changes
//! ([`LineWriter`], [`LineReader`]): a request looks this up once, not for each line.

use super::expect::Expected;
use super::extent::Extent;
use crate::counters::PortCounters;
use crate::root_complex::attachment::{Attachment, AttachmentConfig};
use crate::root_complex::buffer::{BufferConfig, RootComplexBuffer};
use crate::root_complex::ddio::{Ddio, DmaKind, IoPolicy};
use crate::root_complex::iio::{Iio, IioConfig};
use crate::root_complex::iommu::{Iommu, IommuConfig, PageFault};
use crate::root_complex::line_placement::LinePlacement;
use units::{Picos, SocketId, WayMask};

/// Configuration of a root port.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// A PCIe link, or a stop on the mesh.
    pub attachment: AttachmentConfig,
    /// The socket that it is attached to.
    pub socket: SocketId,
    /// Treatment of the lines that the device writes and reads.
    pub policy: IoPolicy,
    /// A buffer of the root complex before the caches; none if it has no entries.
    pub buffer: BufferConfig,
    /// Translation of the device's addresses; none if they are physical.
    pub iommu: Option<IommuConfig>,
}

/// How the lines of a write reach the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineWriter {
    /// Full lines of a burst together, into these ways of the LLC ([`super::plain_io`]).
    Plain(WayMask),
    /// One by one, into the LLC, another socket or memory ([`super::io_write`]).
    General(Ddio),
    /// One by one, each by its number in the packet ([`super::placed_io`]).
    Placed(LinePlacement, Ddio),
    /// One by one through the port's own buffer ([`super::buffered_io`]).
    Buffered,
}

/// How the lines of a read are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineReader {
    /// Lines of a burst together; they stay where they are ([`super::plain_io`]).
    Plain,
    /// One by one; they stay where they are ([`super::io_read`]).
    General,
    /// One by one; they are evicted from the caches.
    Evicting,
    /// One by one through the port's own buffer ([`super::buffered_io`]).
    Buffered,
}

/// The properties of the machine that a port depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct MachineShape {
    /// Whether there is only one socket.
    pub one_socket: bool,
    /// Whether any root port has a root-complex buffer.
    pub buffers: bool,
}

impl LineWriter {
    /// The writer for writes of this kind through a port, which may be `buffered`.
    fn choose(policy: &IoPolicy, kind: DmaKind, buffered: bool, machine: MachineShape) -> Self {
        let &IoPolicy { placement, fills_empty_ways, .. } = policy;
        let alone = machine.one_socket && !machine.buffers && !fills_empty_ways;
        match policy.writes(kind) {
            _ if buffered => Self::Buffered,
            ddio if kind == DmaKind::Payload && !placement.leaves_writes_alone() => {
                Self::Placed(placement, ddio)
            }
            Ddio::Ways(mask) if alone => Self::Plain(mask),
            ddio => Self::General(ddio),
        }
    }
}

impl LineReader {
    /// The reader for reads through a port, which may be `buffered`.
    fn choose(policy: &IoPolicy, buffered: bool, machine: MachineShape) -> Self {
        if buffered {
            Self::Buffered
        } else if policy.drops_what_it_reads() {
            Self::Evicting
        } else if machine.buffers {
            Self::General
        } else {
            Self::Plain
        }
    }
}

/// A root port with its attachment, IOMMU, buffer, policy and counters.
#[derive(Clone, Debug)]
pub struct RootPort {
    pub(super) attachment: Attachment,
    /// IIO entries of this device alone.
    pub(super) own_iio: Option<Iio>,
    /// Latencies of its lines, from its own entries or its socket's.
    pub(super) times: IioConfig,
    pub(super) socket: SocketId,
    policy: IoPolicy,
    pub(super) buffer: Option<RootComplexBuffer>,
    pub(super) iommu: Iommu,
    /// Requests carry physical addresses, or the device has translated them itself.
    requests_translated: bool,
    pub(super) counters: PortCounters,
    /// Lines that the device has announced to write and to read.
    pub(super) expected: [Expected; 2],
    surroundings: MachineShape,
    /// Writers by [`DmaKind`].
    writers: [LineWriter; DmaKind::ALL.len()],
    pub(super) reader: LineReader,
}

impl RootPort {
    /// An idle port.
    ///
    /// # Panics
    /// If it has both a buffer and a placement policy. Scenarios are checked before they get here.
    pub(super) fn new(config: &PortConfig, socket: &IioConfig, surroundings: MachineShape) -> Self {
        let buffer = RootComplexBuffer::new(config.buffer);
        assert!(buffer.is_none() || config.policy.placement.leaves_writes_alone());
        let own_iio = config.attachment.own_iio();
        let mut port = Self {
            attachment: Attachment::new(&config.attachment),
            own_iio: own_iio.cloned().map(Iio::new),
            times: own_iio.unwrap_or(socket).clone(),
            socket: config.socket,
            policy: config.policy,
            buffer,
            iommu: config.iommu.clone().map_or_else(Iommu::off, Iommu::new),
            requests_translated: config.iommu.is_none() || own_iio.is_some(),
            counters: PortCounters::default(),
            expected: [Expected::NOTHING; 2],
            surroundings,
            writers: [LineWriter::Buffered; DmaKind::ALL.len()],
            reader: LineReader::Buffered,
        };
        port.choose();
        port
    }

    /// The socket of its root complex.
    #[must_use]
    pub fn socket(&self) -> SocketId {
        self.socket
    }

    /// How its device is attached.
    #[must_use]
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// The IIO entries of its device alone, if it does not share those of its socket.
    #[must_use]
    pub fn own_iio(&self) -> Option<&Iio> {
        self.own_iio.as_ref()
    }

    /// The IOMMU that translates the addresses of the port's device.
    #[must_use]
    pub fn iommu(&self) -> &Iommu {
        &self.iommu
    }

    /// The port's root-complex buffer, if it has one.
    #[must_use]
    pub fn buffer(&self) -> Option<&RootComplexBuffer> {
        self.buffer.as_ref()
    }

    /// Counters of the port's device.
    #[must_use]
    pub fn counters(&self) -> &PortCounters {
        &self.counters
    }

    /// The port's policy for the lines of its device.
    #[must_use]
    pub fn policy(&self) -> &IoPolicy {
        &self.policy
    }

    /// Changes the port's policy from now on.
    ///
    /// # Panics
    /// If it has a buffer: its behaviour follows from the policy that it was built with.
    pub(super) fn set_policy(&mut self, policy: IoPolicy) {
        assert!(self.buffer.is_none());
        self.policy = policy;
        self.choose();
    }

    /// Clears all counters and reservations.
    pub(super) fn forget(&mut self) {
        self.attachment.forget();
        if let Some(iio) = &mut self.own_iio {
            *iio = Iio::new(iio.config.clone());
        }
        self.iommu.forget();
        self.counters = PortCounters::default();
        if let Some(buffer) = &mut self.buffer {
            buffer.forget();
        }
    }

    /// How lines of this kind are written.
    #[inline]
    pub(super) fn writer(&self, kind: DmaKind) -> LineWriter {
        self.writers[kind as usize]
    }

    /// Whether lines that are written or read here may be in the buffer of another port.
    #[inline]
    pub(super) fn snoops_buffers(&self) -> bool {
        self.surroundings.buffers
    }

    fn choose(&mut self) {
        let (policy, buffered) = (&self.policy, self.buffer.is_some());
        let machine = self.surroundings;
        self.writers = DmaKind::ALL.map(|kind| LineWriter::choose(policy, kind, buffered, machine));
        self.reader = LineReader::choose(policy, buffered, machine);
    }

    /// When the addresses of a request that arrived at `arrived` are translated. A device on the mesh has
    /// asked for its translations before, and sends translated addresses.
    ///
    /// # Errors
    /// The first page that is not present.
    #[inline]
    pub(super) fn translate_request(
        &mut self,
        extents: &[Extent],
        arrived: Picos,
    ) -> Result<Picos, PageFault> {
        if self.requests_translated { Ok(arrived) } else { self.translate(extents, arrived) }
    }

    /// When the translations of all pages of `extents` are there, asked for at `arrived`.
    ///
    /// # Errors
    /// The first page that is not present.
    #[inline]
    pub(super) fn translate(
        &mut self,
        extents: &[Extent],
        arrived: Picos,
    ) -> Result<Picos, PageFault> {
        if self.iommu.is_off() {
            return Ok(arrived);
        }
        let mut latest = arrived;
        for extent in extents {
            let mut page = Some(extent.first);
            while let Some(line) = page {
                latest = latest.max(self.iommu.translate(line, arrived)?);
                page = extent.page_behind(line);
            }
        }
        Ok(latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: WayMask = WayMask(0x600);
    const ALONE: MachineShape = MachineShape { one_socket: true, buffers: false };
    const BESIDE_BUFFERS: MachineShape = MachineShape { one_socket: true, buffers: true };
    const TWO_SOCKETS: MachineShape = MachineShape { one_socket: false, buffers: false };

    fn writer(policy: &IoPolicy, kind: DmaKind, machine: MachineShape) -> LineWriter {
        LineWriter::choose(policy, kind, false, machine)
    }

    #[test]
    fn writes_are_plain_where_only_the_llc_of_one_socket_is_concerned() {
        let policy = IoPolicy::uniform(Ddio::Ways(MASK));
        let general = LineWriter::General(Ddio::Ways(MASK));
        for kind in [DmaKind::Payload, DmaKind::Descriptor] {
            assert_eq!(writer(&policy, kind, ALONE), LineWriter::Plain(MASK));
            assert_eq!(writer(&policy, kind, TWO_SOCKETS), general);
            assert_eq!(writer(&policy, kind, BESIDE_BUFFERS), general);
        }
        let past_ddio = writer(&policy, DmaKind::PayloadForMemory, ALONE);
        assert_eq!(past_ddio, LineWriter::General(Ddio::Off));
        let fills_empty_ways = IoPolicy { fills_empty_ways: true, ..policy };
        assert_eq!(writer(&fills_empty_ways, DmaKind::Payload, ALONE), general);
    }

    #[test]
    fn a_placement_policy_is_for_packet_data_alone() {
        let placement = LinePlacement { injected_lines: Some(1), ..LinePlacement::default() };
        let policy = IoPolicy { placement, ..IoPolicy::uniform(Ddio::Ways(MASK)) };
        let placed = LineWriter::Placed(placement, Ddio::Ways(MASK));
        assert_eq!(writer(&policy, DmaKind::Payload, ALONE), placed);
        assert_eq!(writer(&policy, DmaKind::Descriptor, ALONE), LineWriter::Plain(MASK));
    }

    #[test]
    fn everything_goes_through_a_ports_own_buffer() {
        let policy = IoPolicy::uniform(Ddio::Ways(MASK));
        for kind in DmaKind::ALL {
            let writer = LineWriter::choose(&policy, kind, true, BESIDE_BUFFERS);
            assert_eq!(writer, LineWriter::Buffered);
        }
        assert_eq!(LineReader::choose(&policy, true, BESIDE_BUFFERS), LineReader::Buffered);
    }

    #[test]
    fn reads_are_plain_unless_the_port_evicts_or_buffers_are_snooped() {
        let policy = IoPolicy::uniform(Ddio::Ways(MASK));
        assert_eq!(LineReader::choose(&policy, false, TWO_SOCKETS), LineReader::Plain);
        assert_eq!(LineReader::choose(&policy, false, BESIDE_BUFFERS), LineReader::General);
        let evicting = IoPolicy { evict_on_dma_read: true, ..IoPolicy::uniform(Ddio::Off) };
        assert_eq!(LineReader::choose(&evicting, false, ALONE), LineReader::Evicting);
    }
}
