//! A machine as facts: one file per machine, every number with its source.

use crate::check::Check;
use crate::document;
use crate::error::InputError;
use crate::sourced::{Confidence, Sourced};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A platform file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Platform {
    /// What machine this is, in words.
    pub title: String,
    /// Processor.
    pub cpu: Cpu,
    /// L1 data cache of a core.
    pub l1d: PrivateLevel,
    /// L2 of a core.
    pub l2: PrivateLevel,
    /// Last-level cache of the socket.
    pub llc: LastLevel,
    /// Directory-only ways beside the LLC.
    pub directory: DirectoryWays,
    /// I/O allocation in the LLC.
    pub ddio: DdioFacts,
    /// Integrated I/O block.
    pub iio: IioFacts,
    /// Memory.
    pub dram: DramFacts,
    /// Link between NIC and socket.
    pub pcie: PcieFacts,
    /// Network interface.
    pub nic: NicFacts,
    /// Costs of the packet software on this machine.
    pub software: SoftwareFacts,
}

/// Processor facts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Cores of the socket.
    pub cores: Sourced<u32>,
    /// Core clock unless the scenario says otherwise.
    pub core_ghz: Sourced<f64>,
    /// Clock of mesh and LLC unless the scenario says otherwise.
    pub uncore_ghz: Sourced<f64>,
    /// Line fill buffers of a core.
    pub fill_buffers: Sourced<u32>,
    /// The L2 prefetcher fetches the other line of a 128-byte pair on an L2 miss.
    pub adjacent_line_prefetch: Sourced<bool>,
    /// Lines that the L2 streamer fetches ahead of an ascending sequence; 0 switches it off.
    pub stream_prefetch_lines: Sourced<u32>,
    /// Load-to-use latency of a line that another core holds modified.
    pub core_to_core_ns: Sourced<f64>,
}

/// A private cache level.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrivateLevel {
    /// Sets, a power of two.
    pub sets: Sourced<u32>,
    /// Lines per set.
    pub ways: Sourced<u32>,
    /// Load-to-use latency in core cycles.
    pub latency_cycles: Sourced<f64>,
    /// Victim choice.
    pub replacement: Sourced<ReplacementName>,
}

/// The last-level cache.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LastLevel {
    /// Slices.
    pub slices: Sourced<u32>,
    /// Sets of a slice, a power of two.
    pub sets_per_slice: Sourced<u32>,
    /// Data ways.
    pub ways: Sourced<u32>,
    /// Lowest ways, in which lines live that a core holds too.
    pub inclusive_ways: Sourced<u32>,
    /// Victim choice.
    pub replacement: Sourced<ReplacementName>,
    /// Part of the mean load-to-use latency that passes in the core's clock.
    pub latency_core_cycles: Sourced<f64>,
    /// Part of the mean load-to-use latency that passes in the uncore's clock.
    pub latency_uncore_cycles: Sourced<f64>,
    /// How the slice of a line is chosen.
    pub slice_function: Sourced<SliceFunctionName>,
    /// How the set inside a slice is chosen.
    pub set_function: Sourced<SetFunctionName>,
    /// L2 victims that are not newer than memory are placed in the LLC too.
    pub clean_victims: Sourced<bool>,
}

/// Directory-only ways.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryWays {
    /// Entries per set beyond those of the inclusive ways.
    pub ways: Sourced<u32>,
    /// Victim choice.
    pub replacement: Sourced<ReplacementName>,
}

/// I/O allocation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DdioFacts {
    /// Ways unless the scenario says otherwise, from the top.
    pub default_ways: Sourced<u32>,
}

/// Integrated I/O block; latencies at the platform's own uncore clock.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IioFacts {
    /// Lines of DMA writes in flight.
    pub write_entries: Sourced<u32>,
    /// Lines of DMA reads in flight.
    pub read_entries: Sourced<u32>,
    /// From a write's arrival until the LLC has taken it.
    pub llc_write_ns: Sourced<f64>,
    /// From a write's arrival until the memory controller has taken it.
    pub dram_write_ns: Sourced<f64>,
    /// From a read's arrival until LLC data is there.
    pub llc_read_ns: Sourced<f64>,
    /// What a read from DRAM takes beyond a core's loaded latency.
    pub dram_read_extra_ns: Sourced<f64>,
}

/// Memory of the socket.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DramFacts {
    /// Highest traffic.
    pub sustained_gbytes_per_s: Sourced<f64>,
    /// Pairs of traffic in GB/s and load latency in ns, traffic rising.
    pub loaded_latency_ns: Sourced<Vec<(f64, f64)>>,
}

/// A PCIe link.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PcieFacts {
    /// Lanes.
    pub lanes: Sourced<u32>,
    /// Transfers per second and lane.
    pub gtransfers_per_s: Sourced<f64>,
    /// Maximum payload size.
    pub max_payload_bytes: Sourced<u64>,
    /// Maximum read request size.
    pub max_read_request_bytes: Sourced<u64>,
    /// Bytes between acknowledgements, and between flow control updates.
    pub data_link_interval_bytes: Sourced<f64>,
    /// From one end of the link into the other end's logic.
    pub propagation_ns: Sourced<f64>,
}

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

/// A replacement policy.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplacementName {
    /// Least recently used.
    Lru,
    /// Not recently used: one bit per way.
    Nru,
    /// Random.
    Random,
}

/// A slice function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SliceFunctionName {
    /// The published XOR masks, for 2, 4, 8 or 16 slices.
    Xor,
    /// A stand-in for any number that spreads a huge page as evenly as XOR masks do.
    Balanced,
    /// A uniform mixing stand-in for any number.
    Mixing,
}

/// A set function.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SetFunctionName {
    /// Low address bits.
    Plain,
    /// Low address bits XORed with a mix of the others.
    Hashed,
}

/// A parameter that was chosen by fitting.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FittedParameter {
    /// Path of the key in the platform file.
    pub key: String,
    /// Its value.
    pub value: serde_json::Value,
    /// Which measurements chose it.
    pub fitted_on: String,
}

impl Platform {
    /// Reads a platform from TOML; `file` is its name in messages.
    ///
    /// # Errors
    /// If the text is damaged, a key is unknown or missing, or a value is out of range.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        let platform: Self = document::interpret(file, document::parse(file, text, &[])?)?;
        platform.check(file)?;
        Ok(platform)
    }

    /// All parameters that were chosen by fitting, in the order of their keys.
    #[must_use]
    pub fn fitted(&self) -> Vec<FittedParameter> {
        let mut found = Vec::new();
        if let Ok(document) = serde_json::to_value(self) {
            collect_fitted("", &document, &mut found);
        }
        found
    }

    fn check(&self, file: &str) -> Result<(), InputError> {
        let check = Check { file };
        check.whole("cpu.cores", self.cpu.cores.value, (1, 63), "")?;
        check.whole("cpu.fill_buffers", self.cpu.fill_buffers.value, (1, 256), "")?;
        check.power_of_two("l1d.sets", self.l1d.sets.value)?;
        check.whole("l1d.ways", self.l1d.ways.value, (1, 32), "")?;
        check.power_of_two("l2.sets", self.l2.sets.value)?;
        check.whole("l2.ways", self.l2.ways.value, (1, 32), "")?;
        let llc = &self.llc;
        check.whole("llc.slices", llc.slices.value, (1, 256), "")?;
        check.power_of_two("llc.sets_per_slice", llc.sets_per_slice.value)?;
        check.whole("llc.ways", llc.ways.value, (1, 31), "")?;
        check.whole("llc.inclusive_ways", llc.inclusive_ways.value, (1, llc.ways.value), "")?;
        if llc.slice_function.value == SliceFunctionName::Xor {
            check.one_of("llc.slices", llc.slices.value, &[2, 4, 8, 16])?;
        }
        check.whole("directory.ways", self.directory.ways.value, (1, 32), "")?;
        check.whole("ddio.default_ways", self.ddio.default_ways.value, (0, llc.ways.value), "")?;
        check.whole("iio.write_entries", self.iio.write_entries.value, (1, 4096), "")?;
        check.whole("iio.read_entries", self.iio.read_entries.value, (1, 4096), "")?;
        check.rising("dram.loaded_latency_ns", &self.dram.loaded_latency_ns.value)?;
        self.check_delays(&check)?;
        self.check_sizes(&check)?;
        self.check_link_and_nic(&check)
    }

    fn check_delays(&self, check: &Check<'_>) -> Result<(), InputError> {
        let (nic, software) = (&self.nic, &self.software);
        let delays = [
            ("l1d.latency_cycles", &self.l1d.latency_cycles),
            ("l2.latency_cycles", &self.l2.latency_cycles),
            ("llc.latency_core_cycles", &self.llc.latency_core_cycles),
            ("llc.latency_uncore_cycles", &self.llc.latency_uncore_cycles),
            ("cpu.core_to_core_ns", &self.cpu.core_to_core_ns),
            ("iio.llc_write_ns", &self.iio.llc_write_ns),
            ("iio.dram_write_ns", &self.iio.dram_write_ns),
            ("iio.llc_read_ns", &self.iio.llc_read_ns),
            ("iio.dram_read_extra_ns", &self.iio.dram_read_extra_ns),
            ("pcie.propagation_ns", &self.pcie.propagation_ns),
            ("nic.rx_pipeline_ns", &nic.rx_pipeline_ns),
            ("nic.completion_gather_ns", &nic.completion_gather_ns),
            ("nic.doorbell_ns", &nic.doorbell_ns),
            ("nic.read_pipeline_ns", &nic.read_pipeline_ns),
            ("nic.tx_pipeline_ns", &nic.tx_pipeline_ns),
            ("software.l2_forward_cycles_per_packet", &software.l2_forward_cycles_per_packet),
            ("software.poll_cycles", &software.poll_cycles),
            ("software.rng_call_cycles", &software.rng_call_cycles),
        ];
        delays.iter().try_for_each(|(key, delay)| check.delay(key, delay.value))
    }

    /// Sizes that decide how much memory a simulation needs, and what a buffer may look like.
    fn check_sizes(&self, check: &Check<'_>) -> Result<(), InputError> {
        let sets = self.llc.slices.value * self.llc.sets_per_slice.value;
        check.whole("llc.slices x llc.sets_per_slice", sets, (1, 1 << 20), "sets in all")?;
        let software = &self.software;
        check.whole("software.private_lines", software.private_lines.value, (0, 64), "lines")?;
        let private = software.private_lines.value;
        let what = "lines, no more than software.private_lines";
        check.whole(
            "software.annotation_lines",
            software.annotation_lines.value,
            (0, private),
            what,
        )?;
        let bytes = software.buffer_data_bytes.value;
        check.whole("software.buffer_data_bytes", bytes, (64, 65_536), "bytes")?;
        check.whole(
            "nic.rx_buffer_bytes",
            self.nic.rx_buffer_bytes.value,
            (16_384, 1 << 30),
            "bytes",
        )?;
        check.number(
            "dram.sustained_gbytes_per_s",
            self.dram.sustained_gbytes_per_s.value,
            (0.1, 1e4),
        )?;
        check.number("nic.line_rate_gbps", self.nic.line_rate_gbps.value, (0.1, 1e4))?;
        check.number("pcie.gtransfers_per_s", self.pcie.gtransfers_per_s.value, (1.0, 256.0))?;
        let interval = self.pcie.data_link_interval_bytes.value;
        check.number("pcie.data_link_interval_bytes", interval, (64.0, 1e6))?;
        check.number("cpu.core_ghz", self.cpu.core_ghz.value, (0.1, 10.0))?;
        check.number("cpu.uncore_ghz", self.cpu.uncore_ghz.value, (0.1, 10.0))?;
        let streamed = self.cpu.stream_prefetch_lines.value;
        check.whole("cpu.stream_prefetch_lines", streamed, (0, 20), "lines")
    }

    fn check_link_and_nic(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.one_of("pcie.lanes", self.pcie.lanes.value, &[1, 2, 4, 8, 16])?;
        let sizes = [128, 256, 512, 1024, 2048, 4096];
        check.one_of("pcie.max_payload_bytes", self.pcie.max_payload_bytes.value, &sizes)?;
        check.one_of(
            "pcie.max_read_request_bytes",
            self.pcie.max_read_request_bytes.value,
            &sizes,
        )?;
        check.whole(
            "nic.packets_per_completion",
            self.nic.packets_per_completion.value,
            (1, 8),
            "",
        )?;
        check.whole(
            "nic.rx_descriptors_per_fetch",
            self.nic.rx_descriptors_per_fetch.value,
            (1, 64),
            "",
        )?;
        check.whole(
            "nic.rx_descriptors_prefetched",
            self.nic.rx_descriptors_prefetched.value,
            (self.nic.rx_descriptors_per_fetch.value, 4096),
            "",
        )?;
        check.whole("nic.tx_queue_entries", self.nic.tx_queue_entries.value, (2, 4096), "")?;
        check.whole(
            "nic.tx_packets_per_completion",
            self.nic.tx_packets_per_completion.value,
            (1, 256),
            "",
        )
    }
}

fn collect_fitted(path: &str, value: &serde_json::Value, found: &mut Vec<FittedParameter>) {
    let Some(table) = value.as_object() else { return };
    if table.get("confidence") == Some(&serde_json::json!(Confidence::Fitted)) {
        let fitted_on = table.get("fitted_on").and_then(|on| on.as_str()).unwrap_or("not stated");
        found.push(FittedParameter {
            key: path.into(),
            value: table["value"].clone(),
            fitted_on: fitted_on.into(),
        });
        return;
    }
    for (key, inner) in table {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        collect_fitted(&path, inner, found);
    }
}
