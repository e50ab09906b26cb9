//! Formats of descriptors, completions and doorbells of a queue in memory.
//!
//! Models: four families: ConnectX (16 B receive descriptors, 64 B completions in a ring of their own,
//! 64 B send entries), Intel (16 or 32 B descriptors that completions overwrite), and cards that report
//! events of 8 B (Solarflare).
//! Source: Linux and DPDK mlx5 drivers; pcie-bench's model of the 82599 (16 B descriptors and write-backs);
//! DPDK guide of ice (32 B); Intel XL710 datasheet and Linux sfc driver (recalled).
//! Simplifies: a tail register is written by the core at no cost of its own.

use units::LINE_BYTES;

/// Bytes of control and Ethernet segments at the head of a multi-packet send request.
const MULTI_PACKET_HEADER_BYTES: u64 = 32;
/// Bytes per packet of a multi-packet send request; inlined data are padded to it.
const MULTI_PACKET_SEGMENT_BYTES: u64 = 16;
/// Bytes of an entry of a ConnectX send ring: requests begin at multiples of it.
const MLX5_ENTRY_BYTES: u64 = 64;
/// Bytes of control and Ethernet segments of a request for one packet.
const SINGLE_PACKET_HEADER_BYTES: u64 = 32;
/// Bytes of a pointer to a buffer in a request for one packet.
const DATA_SEGMENT_BYTES: u64 = 16;
/// Length word before inlined data.
const INLINE_HEADER_BYTES: u64 = 4;
/// Bytes of an event, and of a descriptor of cards that report events.
const EVENT_BYTES: u64 = 8;
/// Bytes of an Intel send descriptor.
const INTEL_TX_BYTES: u64 = 16;

/// Descriptors and completions of a receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RxFormat {
    /// 16 B scatter entries; a completion of 64 B in a ring of its own, for one packet or, compressed,
    /// for several; the tail is a doorbell record in memory.
    Mlx5,
    /// Descriptors that completions overwrite; the tail is a register.
    Intel {
        /// Size of a descriptor and of its write-back: 16 or 32.
        bytes: u64,
    },
    /// 8 B descriptors, an event of 8 B per packet in a ring of its own; the tail is a register.
    Events,
}

impl RxFormat {
    /// Bytes of a receive descriptor.
    #[must_use]
    pub fn descriptor_bytes(self) -> u64 {
        match self {
            Self::Mlx5 => 16,
            Self::Intel { bytes } => bytes,
            Self::Events => EVENT_BYTES,
        }
    }

    /// Size of a completion in bytes.
    #[must_use]
    pub fn completion_bytes(self) -> u64 {
        match self {
            Self::Mlx5 => LINE_BYTES,
            Self::Intel { bytes } => bytes,
            Self::Events => EVENT_BYTES,
        }
    }

    /// Whether completions overwrite descriptors instead of filling a ring of their own.
    #[must_use]
    pub fn completes_in_place(self) -> bool {
        matches!(self, Self::Intel { .. })
    }

    /// Whether the NIC learns of new descriptors by reading a line in memory.
    #[must_use]
    pub fn has_doorbell_record(self) -> bool {
        self == Self::Mlx5
    }

    /// Completion entries of a packet in this number of buffers: a ConnectX reports packets, other
    /// cards each descriptor.
    #[must_use]
    pub fn completion_entries(self, buffers: u32) -> u64 {
        if self == Self::Mlx5 { 1 } else { buffers.into() }
    }

    /// Bytes that the NIC writes to report packets with `entries` completion entries at once: one
    /// compressed completion, or neighbouring entries.
    #[must_use]
    pub fn report_bytes(self, entries: u64) -> u64 {
        match self {
            Self::Mlx5 => LINE_BYTES,
            Self::Intel { .. } | Self::Events => entries * self.completion_bytes(),
        }
    }

    /// Entries that fit between entry `index` and the end of its line: a report does not cross a line's
    /// end, unless that of one chained packet must. A compressed completion is one line.
    #[must_use]
    pub fn entries_to_line_end(self, index: u64) -> u64 {
        let per_line = LINE_BYTES / self.completion_bytes();
        if self == Self::Mlx5 { u64::MAX } else { per_line - index % per_line }
    }
}

/// Requests of a send queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxFormat {
    /// One request for a burst: a header, then 16 B per packet, in entries of 64 B (enhanced
    /// multi-packet write).
    Mlx5MultiPacket,
    /// One entry of 64 B per packet, more if data are inlined.
    Mlx5,
    /// One descriptor of 16 B per packet.
    Intel,
    /// One descriptor of 8 B per packet.
    Events,
}

impl TxFormat {
    /// Bytes of a ring entry.
    #[must_use]
    pub fn entry_bytes(self) -> u64 {
        match self {
            Self::Mlx5MultiPacket | Self::Mlx5 => MLX5_ENTRY_BYTES,
            Self::Intel => INTEL_TX_BYTES,
            Self::Events => EVENT_BYTES,
        }
    }

    /// Whether packet data can be part of a request.
    #[must_use]
    pub fn can_inline(self) -> bool {
        matches!(self, Self::Mlx5MultiPacket | Self::Mlx5)
    }

    /// Whether the driver keeps a doorbell record in memory besides the register.
    #[must_use]
    pub fn has_doorbell_record(self) -> bool {
        self.can_inline()
    }

    /// Bytes of a request other than those of its packets.
    #[must_use]
    pub fn header_bytes(self) -> u64 {
        if self == Self::Mlx5MultiPacket { MULTI_PACKET_HEADER_BYTES } else { 0 }
    }

    /// Bytes of a request for a packet that lies in `buffers` buffers: a pointer of 16 B for each behind
    /// the control and Ethernet segments, or a descriptor for each. A multi-packet request has none such.
    #[must_use]
    pub fn chained_bytes(self, buffers: u64) -> u64 {
        match self {
            Self::Mlx5MultiPacket | Self::Mlx5 => {
                SINGLE_PACKET_HEADER_BYTES + buffers * DATA_SEGMENT_BYTES
            }
            Self::Intel | Self::Events => buffers * self.entry_bytes(),
        }
    }

    /// Bytes of a request for one packet, of which `inlined` are packet data.
    #[must_use]
    pub fn packet_bytes(self, inlined: u64) -> u64 {
        match (self, inlined) {
            (Self::Mlx5MultiPacket, 0) => MULTI_PACKET_SEGMENT_BYTES,
            (Self::Mlx5MultiPacket, _) => {
                (INLINE_HEADER_BYTES + inlined).next_multiple_of(MULTI_PACKET_SEGMENT_BYTES)
            }
            (Self::Mlx5, 0) => MLX5_ENTRY_BYTES,
            (Self::Mlx5, _) => (SINGLE_PACKET_HEADER_BYTES + INLINE_HEADER_BYTES + inlined)
                .next_multiple_of(MLX5_ENTRY_BYTES),
            (Self::Intel | Self::Events, _) => self.entry_bytes(),
        }
    }
}

/// Where a send queue reports sent packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxCompletionPlace {
    /// An entry of a ring of its own: 64 B, or an event of 8 B.
    Queue,
    /// The last packet's descriptor is overwritten.
    DescriptorRing,
    /// A word in memory holds the queue's progress.
    Head,
}

impl TxCompletionPlace {
    /// Bytes of a send completion in a queue of this format.
    #[must_use]
    pub fn bytes(self, format: TxFormat) -> u64 {
        match self {
            Self::Queue if format == TxFormat::Events => EVENT_BYTES,
            Self::Queue => LINE_BYTES,
            Self::DescriptorRing => format.entry_bytes(),
            Self::Head => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_a_burst_of_32_takes_544_bytes() {
        let format = TxFormat::Mlx5MultiPacket;
        assert_eq!(format.header_bytes() + 32 * format.packet_bytes(0), 544);
    }

    #[test]
    fn an_inlined_packet_lies_in_the_request_with_its_length() {
        assert_eq!(TxFormat::Mlx5MultiPacket.packet_bytes(60), 64);
        assert_eq!(TxFormat::Mlx5MultiPacket.packet_bytes(61), 80);
        assert_eq!(TxFormat::Mlx5.packet_bytes(60), 128);
    }

    #[test]
    fn a_write_back_never_passes_the_end_of_its_line() {
        let format = RxFormat::Intel { bytes: 32 };
        assert_eq!((format.entries_to_line_end(0), format.entries_to_line_end(1)), (2, 1));
        assert_eq!(format.report_bytes(2), 64);
    }

    #[test]
    fn a_compressed_completion_is_a_line_whatever_it_reports() {
        assert_eq!((RxFormat::Mlx5.report_bytes(1), RxFormat::Mlx5.report_bytes(8)), (64, 64));
    }
}
