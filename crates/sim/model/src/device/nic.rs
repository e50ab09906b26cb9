//! A network interface: rings in host memory, a receive port, send queues.
//!
//! Models: descriptors, completions and doorbell records as real cache lines in the formats of several
//! cards; descriptor prefetch on both sides; completion compression and write-back; inlining; limits of
//! outstanding reads per queue and of packet rates per queue and port; an internal buffer with PAUSE.
//! Source: DPDK mlx5 guide and driver (completions of 64 B, 8 compressed into one, send completion every
//! 32 packets, enhanced multi-packet write of up to 32 packets); others at each file.
//! Simplifies: with flow control off, a packet without a descriptor waits for one that is being
//! fetched, if the internal buffer has space, or is dropped at once and counted as rx_out_of_buffer
//! (DEVIATIONS.md, 8).

mod as_device;
pub mod card;
pub mod dma_counts;
pub mod egress;
pub mod formats;
mod internal_buffer;
pub mod pace;
pub mod pause;
pub mod rings;
pub mod rx;
mod rx_counters;
mod rx_queue;
mod shared_reads;
pub mod steering;
pub mod tx;

use crate::root_complex::mmio::MmioPath;
use pace::Pace;
use pause::PauseConfig;
use units::{Bytes, GbitPerSec, Picos};

/// Parameters of a NIC.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// Rate of the wire in each direction.
    pub line_rate: GbitPerSec,
    /// Largest number of received bytes that wait for the link or a descriptor.
    pub rx_buffer_bytes: u64,
    /// Bytes among them that may wait for descriptors being fetched; with flow control all may.
    pub rx_wait_bytes: u64,
    /// When the port sends PAUSE. None: it sends none, and packets wait only for descriptors that are
    /// being fetched.
    pub flow_control: Option<PauseConfig>,
    /// Number of entries of the RSS indirection table.
    pub rss_indirection_entries: u32,
    /// Least time between packets of a queue, in each direction.
    pub queue_packet_gap: Picos,
    /// The packet rate of the port in each direction.
    pub port_pace: Pace,
    /// Least time from a received packet to the next if one was dropped before it.
    pub dropping_gap: Picos,
    /// Rate that the transmitter reaches on the wire.
    pub tx_rate: GbitPerSec,
    /// Bytes on the wire that may be read ahead of the transmitter; queues share them.
    pub tx_buffer: Bytes,
    /// A packet with more than this number of packets before it in its queue, whose descriptors the
    /// driver has not posted anew, is written to memory and bypasses DDIO. None: no packet bypasses it.
    pub bypass_backlog: Option<u32>,
    /// The last line of a packet is padded to a full line.
    pub pads_tail: bool,
    /// Time from the end of a frame on the wire until its first DMA write.
    pub rx_pipeline: Picos,
    /// Receive descriptors that a queue prefetches to the chip.
    pub rx_descriptors_prefetched: u32,
    /// The card re-reads the doorbell record when at most ring / N known descriptors remain. None: it
    /// does so when it has fetched all that it knows to be posted.
    pub doorbell_read_ring_part: Option<u32>,
    /// Receive descriptors read by one DMA read.
    pub rx_descriptors_per_fetch: u32,
    /// Largest number of packets that one completion, or write of neighbouring completions, reports.
    pub packets_per_completion: u32,
    /// How long a completion waits for more packets to report.
    pub completion_gather: Picos,
    /// How doorbells reach the card.
    pub doorbell: MmioPath,
    /// Latency that the NIC itself adds to a DMA read: scheduling, tags, reassembly.
    pub read_pipeline: Picos,
    /// Time from a packet's data in the NIC to the wire.
    pub tx_pipeline: Picos,
    /// Largest payload that all send queues together may have requested and not received. None: no
    /// limit.
    pub port_read_bytes: Option<Bytes>,
    /// Number of entries of a send queue: a packet takes one, and each of its read requests takes
    /// another.
    pub tx_queue_entries: u32,
    /// Bytes of requests on the chip or under way at which a send queue stops fetching more.
    pub tx_request_bytes_ahead: u64,
    /// Number of packets per send completion.
    pub tx_packets_per_completion: u32,
}
