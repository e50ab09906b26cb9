//! A NIC, and the costs of packet software on its machine, as facts.

use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use model::device::nic::NicConfig;
use model::device::nic::formats::{RxFormat, TxCompletionPlace, TxFormat};
use model::device::nic::pace::Pace;
use model::device::nic::pause::PauseConfig;
use model::root_complex::mmio::MmioPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, GbitPerSec, LINE_BYTES, Picos};
use workload::driver::mempool::MBUF_LINES;
use workload::driver::queues::QueueShape;
use workload::host_memory::PagePlacement;

pub(crate) const MOST_LINE_RATE_GBPS: f64 = 1e4;
/// Largest ring: larger than those of all cards.
pub(crate) const MOST_RX_DESCRIPTORS: u32 = 1 << 15;
pub(crate) const MOST_BUFFER_DATA_BYTES: u64 = 65_536;

/// A NIC and its driver.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NicFacts {
    /// Rate of the wire in each direction.
    pub line_rate_gbps: Sourced<f64>,
    /// Packets per second of one queue, in each direction. No limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_packets_per_s: Option<Sourced<f64>>,
    /// Packets per second of the port, in each direction. No limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_packets_per_s: Option<Sourced<f64>>,
    /// Received packets per second of the port while it drops packets. As without drops by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropping_packets_per_s: Option<Sourced<f64>>,
    /// Time of the port for a packet, in each direction, besides the time of its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_ns_per_packet: Option<Sourced<f64>>,
    /// Time of the port for a byte of a packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_ns_per_byte: Option<Sourced<f64>>,
    /// Most received bytes that wait for the link or a descriptor.
    pub rx_buffer_bytes: Sourced<u64>,
    /// Bytes among them that may wait for descriptors being fetched, with flow control off. All by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rx_wait_bytes: Option<Sourced<u64>>,
    /// Level of that buffer at which the port sends PAUSE, with flow control on.
    pub pause_xoff_bytes: Sourced<u64>,
    /// Level of the buffer at which the sender may resume.
    pub pause_xon_bytes: Sourced<u64>,
    /// Time from either decision until the wire is silent, or carries frames again.
    pub pause_response_ns: Sourced<f64>,
    /// Number of entries of the RSS indirection table.
    pub rss_indirection_entries: Sourced<u32>,
    /// Time from the end of a frame on the wire to its first DMA write.
    pub rx_pipeline_ns: Sourced<f64>,
    /// Number of receive descriptors that a queue prefetches to the chip.
    pub rx_descriptors_prefetched: Sourced<u32>,
    /// The card re-reads the doorbell record when at most ring / N known descriptors remain; by default
    /// when it has fetched all that it knows to be posted. Without effect where the driver writes a
    /// register instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rx_doorbell_read_ring_part: Option<Sourced<u32>>,
    /// Number of receive descriptors per DMA read.
    pub rx_descriptors_per_fetch: Sourced<u32>,
    /// Format of receive descriptors and completions.
    pub rx_format: Sourced<RxFormatName>,
    /// Largest number of packets that one completion, or one write of neighbouring completions,
    /// reports.
    pub packets_per_completion: Sourced<u32>,
    /// How long a completion waits for more packets.
    pub completion_gather_ns: Sourced<f64>,
    /// Whether the last line of a packet is padded to a full line.
    pub pads_tail: Sourced<bool>,
    /// Number of descriptors without a buffer at which the driver refills, ...
    pub rx_refill_most: Sourced<u32>,
    /// ... or this fraction (1 / N) of the ring, whichever is less.
    pub rx_refill_ring_part: Sourced<u32>,
    /// Time from the doorbell write to the queue's reaction.
    pub doorbell_ns: Sourced<f64>,
    /// Latency that the NIC itself adds to a DMA read.
    pub read_pipeline_ns: Sourced<f64>,
    /// Time from a packet's data in the NIC to the wire.
    pub tx_pipeline_ns: Sourced<f64>,
    /// Rate that the transmitter reaches on the wire. The line rate by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tx_rate_gbps: Option<Sourced<f64>>,
    /// Most bytes on the wire that are read ahead of the transmitter.
    pub tx_buffer_bytes: Sourced<u64>,
    /// Largest payload that all send queues together may have requested and not received; unlimited by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tx_port_read_bytes: Option<Sourced<u64>>,
    /// Number of entries of a send queue: one per packet and one per read request.
    pub tx_queue_entries: Sourced<u32>,
    /// Bytes of requests on the chip or under way at which a send queue stops fetching more.
    pub tx_request_bytes_ahead: Sourced<u64>,
    /// Format of send requests.
    pub tx_format: Sourced<TxFormatName>,
    /// Where sent packets are reported.
    pub tx_completion: Sourced<TxCompletionName>,
    /// Number of packets that a send completion reports.
    pub tx_packets_per_completion: Sourced<u32>,
    /// The driver copies packets up to this size into their request, ...
    pub tx_inline_bytes: Sourced<u64>,
    /// ... if the port has at least this number of queues.
    pub tx_inline_from_queues: Sourced<u32>,
    /// Most packets that a send ring holds, unless the scenario says otherwise.
    pub tx_ring_packets: Sourced<u32>,
    /// Most packets that a send ring holds with more than two queues.
    pub tx_ring_packets_many_queues: Sourced<u32>,
}

/// Format of receive descriptors and completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RxFormatName {
    /// 16 B descriptors, completions of 64 B, compressed if they report several packets.
    Mlx5,
    /// 16 B descriptors that completions overwrite.
    #[serde(rename = "intel-16")]
    Intel16,
    /// 32 B descriptors that completions overwrite.
    #[serde(rename = "intel-32")]
    Intel32,
    /// 8 B descriptors, events of 8 B.
    Events,
}

/// Format of send requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TxFormatName {
    /// One request for a burst.
    #[serde(rename = "mlx5-multi-packet")]
    Mlx5MultiPacket,
    /// 64 B per packet.
    Mlx5,
    /// 16 B per packet.
    Intel,
    /// 8 B per packet.
    Events,
}

/// Where sent packets are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TxCompletionName {
    /// In a ring of its own.
    Queue,
    /// In the last packet's descriptor.
    DescriptorRing,
    /// In a word that holds the queue's progress.
    Head,
}

/// Costs of packet software: cycles, and shape of its buffers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SoftwareFacts {
    /// Cycles of the L2 forwarder's work per packet, outside memory stalls.
    pub l2_forward_cycles_per_packet: Sourced<f64>,
    /// Cycles of one poll of an empty queue.
    pub poll_cycles: Sourced<f64>,
    /// Cycles of one call of std::mt19937.
    pub rng_call_cycles: Sourced<f64>,
    /// Number of lines of the private area that are written per packet.
    pub annotation_lines: Sourced<u32>,
    /// Number of lines of a buffer's mbuf that freeing reads once its packet is sent or dropped.
    pub freed_mbuf_lines: Sourced<u32>,
    /// Number of lines of the private area of a buffer.
    pub private_lines: Sourced<u32>,
    /// Bytes for packet data in a buffer.
    pub buffer_data_bytes: Sourced<u64>,
    /// Cycles of a call on the ring of a pool, for taking or returning buffers, beside accesses to lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_call_cycles: Option<Sourced<f64>>,
    /// Physical placement of a pool's pages; scattered by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Sourced<PagesName>>,
    /// Pages together: the byte of the page at which the first region begins, a multiple of 4096; 0 unless
    /// stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_start_bytes: Option<Sourced<u64>>,
}

/// Rings of devices begin at boundaries of 4 KiB.
const START_STEP_BYTES: u64 = 4096;
/// Less than the largest page.
const MOST_START_BYTES: u64 = (1 << 30) - START_STEP_BYTES;

/// Physical placement of a region's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PagesName {
    /// Each at a random address.
    Scattered,
    /// Contiguous from a random address on.
    Contiguous,
    /// Regions lie one after another in one page while it has room.
    Together,
}

impl SoftwareFacts {
    /// Physical placement of a pool's pages.
    #[must_use]
    pub(crate) fn page_placement(&self) -> PagePlacement {
        match self.pages.as_ref().map(|pages| pages.value) {
            Some(PagesName::Contiguous) => PagePlacement::Contiguous,
            Some(PagesName::Together) => {
                let start = self.memory_start_bytes.as_ref();
                PagePlacement::Together(start.map_or(0, |start| start.value))
            }
            Some(PagesName::Scattered) | None => PagePlacement::Scattered,
        }
    }
}

impl NicFacts {
    /// The card as parameters of the model.
    #[must_use]
    pub(crate) fn config(&self, flow_control: bool) -> NicConfig {
        let gap = |rate: &Option<Sourced<f64>>| {
            rate.as_ref().map_or(Picos::ZERO, |rate| Picos::from_ns(1e9 / rate.value))
        };
        let time = |time: &Option<Sourced<f64>>| time.as_ref().map_or(0.0, |time| time.value);
        NicConfig {
            line_rate: GbitPerSec(self.line_rate_gbps.value),
            rx_buffer_bytes: self.rx_buffer_bytes.value,
            rx_wait_bytes: self
                .rx_wait_bytes
                .as_ref()
                .map_or(self.rx_buffer_bytes.value, |bytes| bytes.value),
            flow_control: flow_control.then(|| PauseConfig {
                xoff_bytes: self.pause_xoff_bytes.value,
                xon_bytes: self.pause_xon_bytes.value,
                response: Picos::from_ns(self.pause_response_ns.value),
            }),
            rss_indirection_entries: self.rss_indirection_entries.value,
            queue_packet_gap: gap(&self.queue_packets_per_s),
            port_pace: Pace {
                least: gap(&self.port_packets_per_s),
                per_packet: Picos::from_ns(time(&self.port_ns_per_packet)),
                ps_per_byte: 1e3 * time(&self.port_ns_per_byte),
            },
            dropping_gap: gap(&self.dropping_packets_per_s),
            tx_rate: GbitPerSec(
                self.tx_rate_gbps.as_ref().map_or(self.line_rate_gbps.value, |rate| rate.value),
            ),
            tx_buffer: Bytes(self.tx_buffer_bytes.value),
            bypass_backlog: None,
            pads_tail: self.pads_tail.value,
            rx_pipeline: Picos::from_ns(self.rx_pipeline_ns.value),
            rx_descriptors_prefetched: self.rx_descriptors_prefetched.value,
            doorbell_read_ring_part: self.rx_doorbell_read_ring_part.as_ref().map(|it| it.value),
            rx_descriptors_per_fetch: self.rx_descriptors_per_fetch.value,
            packets_per_completion: self.packets_per_completion.value,
            completion_gather: Picos::from_ns(self.completion_gather_ns.value),
            doorbell: self.doorbell(),
            read_pipeline: Picos::from_ns(self.read_pipeline_ns.value),
            tx_pipeline: Picos::from_ns(self.tx_pipeline_ns.value),
            port_read_bytes: self.tx_port_read_bytes.as_ref().map(|most| Bytes(most.value)),
            tx_queue_entries: self.tx_queue_entries.value,
            tx_request_bytes_ahead: self.tx_request_bytes_ahead.value,
            tx_packets_per_completion: self.tx_packets_per_completion.value,
        }
    }

    /// A queue pair as the driver lays it out for its buffers when the port has `queues` of them.
    #[must_use]
    pub(crate) fn queue_shape(
        &self,
        queues: u32,
        rx_descriptors: u32,
        (tx_packets, buffer_bytes): (u32, u64),
    ) -> QueueShape {
        let inlines = queues >= self.tx_inline_from_queues.value;
        let part = rx_descriptors / self.rx_refill_ring_part.value;
        QueueShape {
            rx_format: match self.rx_format.value {
                RxFormatName::Mlx5 => RxFormat::Mlx5,
                RxFormatName::Intel16 => RxFormat::Intel { bytes: 16 },
                RxFormatName::Intel32 => RxFormat::Intel { bytes: 32 },
                RxFormatName::Events => RxFormat::Events,
            },
            rx_descriptors,
            refill_at: self.rx_refill_most.value.min(part).max(1),
            tx_format: self.tx_format.value.format(),
            tx_completion: match self.tx_completion.value {
                TxCompletionName::Queue => TxCompletionPlace::Queue,
                TxCompletionName::DescriptorRing => TxCompletionPlace::DescriptorRing,
                TxCompletionName::Head => TxCompletionPlace::Head,
            },
            inline_bytes: if inlines { self.tx_inline_bytes.value } else { 0 },
            tx_packets,
            buffer_bytes,
        }
    }

    /// Latency of doorbells to the card: their cost on the core is part of its driver's.
    #[must_use]
    pub(crate) fn doorbell(&self) -> MmioPath {
        MmioPath::free_stores(Picos::from_ns(self.doorbell_ns.value))
    }

    /// Packets that a send ring holds by default when the port has `queues` queues.
    #[must_use]
    pub(crate) fn default_tx_packets(&self, queues: u32) -> u32 {
        if queues > 2 { self.tx_ring_packets_many_queues.value } else { self.tx_ring_packets.value }
    }

    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        let delays = [
            ("nic.pause_response_ns", &self.pause_response_ns),
            ("nic.rx_pipeline_ns", &self.rx_pipeline_ns),
            ("nic.completion_gather_ns", &self.completion_gather_ns),
            ("nic.doorbell_ns", &self.doorbell_ns),
            ("nic.read_pipeline_ns", &self.read_pipeline_ns),
            ("nic.tx_pipeline_ns", &self.tx_pipeline_ns),
        ];
        delays.iter().try_for_each(|(key, delay)| check.delay(key, delay.value))?;
        check.number(
            "nic.line_rate_gbps",
            self.line_rate_gbps.value,
            (0.1, MOST_LINE_RATE_GBPS),
        )?;
        if let Some(rate) = &self.tx_rate_gbps {
            check.number("nic.tx_rate_gbps", rate.value, (0.1, self.line_rate_gbps.value))?;
        }
        for (key, rate) in [
            ("nic.queue_packets_per_s", &self.queue_packets_per_s),
            ("nic.port_packets_per_s", &self.port_packets_per_s),
            ("nic.dropping_packets_per_s", &self.dropping_packets_per_s),
        ] {
            rate.as_ref().map_or(Ok(()), |rate| check.number(key, rate.value, (1e3, 1e10)))?;
        }
        for (key, time) in [
            ("nic.port_ns_per_packet", &self.port_ns_per_packet),
            ("nic.port_ns_per_byte", &self.port_ns_per_byte),
        ] {
            time.as_ref().map_or(Ok(()), |time| check.delay(key, time.value))?;
        }
        let buffer = self.rx_buffer_bytes.value;
        check.whole("nic.rx_buffer_bytes", buffer, (16_384, 1 << 30), "bytes")?;
        check.whole(
            "nic.tx_buffer_bytes",
            self.tx_buffer_bytes.value,
            (2_048, 1 << 30),
            "bytes",
        )?;
        if let Some(wait) = &self.rx_wait_bytes {
            let what = "bytes, no more than nic.rx_buffer_bytes";
            check.whole("nic.rx_wait_bytes", wait.value, (0, buffer), what)?;
        }
        let xoff = self.pause_xoff_bytes.value;
        let what = "bytes, no more than nic.rx_buffer_bytes";
        check.whole("nic.pause_xoff_bytes", xoff, (1, buffer), what)?;
        let what = "bytes, no more than nic.pause_xoff_bytes";
        check.whole("nic.pause_xon_bytes", self.pause_xon_bytes.value, (0, xoff), what)?;
        let entries = self.rss_indirection_entries.value;
        check.whole("nic.rss_indirection_entries", entries, (1, 65_536), "")?;
        self.check_receive(check)?;
        self.check_send(check)
    }

    fn check_receive(&self, check: &Check<'_>) -> Result<(), InputError> {
        let packets = self.packets_per_completion.value;
        check.whole("nic.packets_per_completion", packets, (1, 8), "")?;
        let fetched = self.rx_descriptors_per_fetch.value;
        check.whole("nic.rx_descriptors_per_fetch", fetched, (1, 64), "")?;
        let prefetched = self.rx_descriptors_prefetched.value;
        let what = "descriptors, no fewer than nic.rx_descriptors_per_fetch";
        check.whole("nic.rx_descriptors_prefetched", prefetched, (fetched, 4096), what)?;
        if let Some(part) = &self.rx_doorbell_read_ring_part {
            let what = "(4: a quarter of the ring)";
            check.whole("nic.rx_doorbell_read_ring_part", part.value, (1, 64), what)?;
        }
        check.whole("nic.rx_refill_most", self.rx_refill_most.value, (1, 4096), "descriptors")?;
        let part = self.rx_refill_ring_part.value;
        check.whole("nic.rx_refill_ring_part", part, (2, 64), "")
    }

    fn check_send(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("nic.tx_queue_entries", self.tx_queue_entries.value, (2, 4096), "")?;
        if let Some(most) = &self.tx_port_read_bytes {
            check.whole("nic.tx_port_read_bytes", most.value, (LINE_BYTES, 1 << 24), "bytes")?;
        }
        let ahead = self.tx_request_bytes_ahead.value;
        check.whole("nic.tx_request_bytes_ahead", ahead, (LINE_BYTES, 1 << 20), "bytes")?;
        let packets = self.tx_packets_per_completion.value;
        check.whole("nic.tx_packets_per_completion", packets, (1, 256), "")?;
        let format = self.tx_format.value.format();
        let most = if format.can_inline() { 1024 } else { 0 };
        let what = "bytes with this nic.tx_format";
        check.whole("nic.tx_inline_bytes", self.tx_inline_bytes.value, (0, most), what)?;
        if self.tx_completion.value == TxCompletionName::DescriptorRing && format.can_inline() {
            let allowed = "descriptors that are overwritten need nic.tx_format = intel or events";
            return Err(check.refuse("nic.tx_completion", &"descriptor-ring", allowed.into()));
        }
        let queues = self.tx_inline_from_queues.value;
        check.whole("nic.tx_inline_from_queues", queues, (1, 4096), "queues")?;
        check.power_of_two("nic.tx_ring_packets", self.tx_ring_packets.value)?;
        let many = self.tx_ring_packets_many_queues.value;
        check.power_of_two("nic.tx_ring_packets_many_queues", many)
    }
}

impl TxFormatName {
    fn format(self) -> TxFormat {
        match self {
            Self::Mlx5MultiPacket => TxFormat::Mlx5MultiPacket,
            Self::Mlx5 => TxFormat::Mlx5,
            Self::Intel => TxFormat::Intel,
            Self::Events => TxFormat::Events,
        }
    }
}

impl SoftwareFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        let forward = self.l2_forward_cycles_per_packet.value;
        check.delay("software.l2_forward_cycles_per_packet", forward)?;
        check.delay("software.poll_cycles", self.poll_cycles.value)?;
        check.delay("software.rng_call_cycles", self.rng_call_cycles.value)?;
        let call = self.pool_call_cycles.as_ref().map_or(0.0, |cycles| cycles.value);
        check.delay("software.pool_call_cycles", call)?;
        let freed = u64::from(self.freed_mbuf_lines.value);
        check.whole("software.freed_mbuf_lines", freed, (1, MBUF_LINES), "lines")?;
        let private = self.private_lines.value;
        check.whole("software.private_lines", private, (0, 64), "lines")?;
        let what = "lines, no more than software.private_lines";
        let annotated = self.annotation_lines.value;
        check.whole("software.annotation_lines", annotated, (0, private), what)?;
        let bytes = self.buffer_data_bytes.value;
        check.whole("software.buffer_data_bytes", bytes, (64, MOST_BUFFER_DATA_BYTES), "bytes")?;
        self.check_memory_start(check)
    }

    fn check_memory_start(&self, check: &Check<'_>) -> Result<(), InputError> {
        let Some(start) = self.memory_start_bytes.as_ref().map(|start| start.value) else {
            return Ok(());
        };
        let key = "software.memory_start_bytes";
        if self.pages.as_ref().is_none_or(|pages| pages.value != PagesName::Together) {
            return Err(check.refuse(
                key,
                &start,
                "only with software.pages = \"together\"".into(),
            ));
        }
        if !start.is_multiple_of(START_STEP_BYTES) {
            let allowed = format!("allowed: a multiple of {START_STEP_BYTES}");
            return Err(check.refuse(key, &start, allowed));
        }
        check.whole(key, start, (0, MOST_START_BYTES), "bytes")
    }
}
