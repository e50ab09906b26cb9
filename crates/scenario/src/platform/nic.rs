//! A NIC, and what the packet software on its machine costs, as facts.

use crate::check::Check;
use crate::error::InputError;
use crate::sourced::Sourced;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A NIC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NicFacts {
    /// Rate of the wire in each direction.
    pub line_rate_gbps: Sourced<f64>,
    /// Received bytes that wait for the link at most.
    pub rx_buffer_bytes: Sourced<u64>,
    /// From the end of a frame on the wire to its first DMA write.
    pub rx_pipeline_ns: Sourced<f64>,
    /// Receive descriptors that a queue holds on the chip.
    pub rx_descriptors_prefetched: Sourced<u32>,
    /// Receive descriptors per DMA read.
    pub rx_descriptors_per_fetch: Sourced<u32>,
    /// Packets that one completion line reports at most.
    pub packets_per_completion: Sourced<u32>,
    /// How long a completion waits for more packets.
    pub completion_gather_ns: Sourced<f64>,
    /// From the doorbell write to the send queue's reaction.
    pub doorbell_ns: Sourced<f64>,
    /// What the NIC itself adds to the latency of a DMA read.
    pub read_pipeline_ns: Sourced<f64>,
    /// From a packet's data in the NIC to the wire.
    pub tx_pipeline_ns: Sourced<f64>,
    /// Entries of a send queue: one per packet and one per read request.
    pub tx_queue_entries: Sourced<u32>,
    /// Packets per send completion.
    pub tx_packets_per_completion: Sourced<u32>,
}

/// Costs of packet software.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SoftwareFacts {
    /// Work of the L2 forwarder per packet, outside memory stalls.
    pub l2_forward_cycles_per_packet: Sourced<f64>,
    /// Work of one look at an empty queue.
    pub poll_cycles: Sourced<f64>,
    /// One call of std::mt19937.
    pub rng_call_cycles: Sourced<f64>,
    /// Lines of the private area that are written per packet.
    pub annotation_lines: Sourced<u32>,
    /// Lines of the private area of a buffer.
    pub private_lines: Sourced<u32>,
    /// Room for packet data in a buffer.
    pub buffer_data_bytes: Sourced<u64>,
}

impl NicFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        let delays = [
            ("nic.rx_pipeline_ns", &self.rx_pipeline_ns),
            ("nic.completion_gather_ns", &self.completion_gather_ns),
            ("nic.doorbell_ns", &self.doorbell_ns),
            ("nic.read_pipeline_ns", &self.read_pipeline_ns),
            ("nic.tx_pipeline_ns", &self.tx_pipeline_ns),
        ];
        delays.iter().try_for_each(|(key, delay)| check.delay(key, delay.value))?;
        check.number("nic.line_rate_gbps", self.line_rate_gbps.value, (0.1, 1e4))?;
        let buffer = self.rx_buffer_bytes.value;
        check.whole("nic.rx_buffer_bytes", buffer, (16_384, 1 << 30), "bytes")?;
        let packets = self.packets_per_completion.value;
        check.whole("nic.packets_per_completion", packets, (1, 8), "")?;
        let fetched = self.rx_descriptors_per_fetch.value;
        check.whole("nic.rx_descriptors_per_fetch", fetched, (1, 64), "")?;
        let prefetched = self.rx_descriptors_prefetched.value;
        let what = "descriptors, no fewer than nic.rx_descriptors_per_fetch";
        check.whole("nic.rx_descriptors_prefetched", prefetched, (fetched, 4096), what)?;
        check.whole("nic.tx_queue_entries", self.tx_queue_entries.value, (2, 4096), "")?;
        let packets = self.tx_packets_per_completion.value;
        check.whole("nic.tx_packets_per_completion", packets, (1, 256), "")
    }
}

impl SoftwareFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        let forward = self.l2_forward_cycles_per_packet.value;
        check.delay("software.l2_forward_cycles_per_packet", forward)?;
        check.delay("software.poll_cycles", self.poll_cycles.value)?;
        check.delay("software.rng_call_cycles", self.rng_call_cycles.value)?;
        let private = self.private_lines.value;
        check.whole("software.private_lines", private, (0, 64), "lines")?;
        let what = "lines, no more than software.private_lines";
        let annotated = self.annotation_lines.value;
        check.whole("software.annotation_lines", annotated, (0, private), what)?;
        let bytes = self.buffer_data_bytes.value;
        check.whole("software.buffer_data_bytes", bytes, (64, 65_536), "bytes")
    }
}
