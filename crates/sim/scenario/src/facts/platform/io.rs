//! The path of devices into a socket as facts: DDIO, integrated I/O block, link.

use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Allocation of lines that devices write in the LLC (DDIO).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DdioFacts {
    /// Number of DDIO ways unless the scenario says otherwise, from the top.
    pub default_ways: Sourced<u32>,
    /// The number of ways, and the switch of a root port, can be changed on a running machine: hit rates
    /// follow. True by default. Simulated are changes on every machine; advice has none where it is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settable: Option<Sourced<bool>>,
    /// A write for the memory of another socket leaves a copy in the LLC of the device's socket. True
    /// by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_writes_pollute: Option<Sourced<bool>>,
    /// An allocation takes an empty way outside the mask before it evicts a line inside it. False by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fills_empty_ways: Option<Sourced<bool>>,
}

/// Address translation of devices: the IOTLB and its page walks.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IommuFacts {
    /// Number of translations that the IOTLB holds.
    pub iotlb_entries: Sourced<u32>,
    /// Duration of a page walk.
    pub walk_ns: Sourced<f64>,
    /// Most page walks at a time.
    pub concurrent_walks: Sourced<u32>,
}

/// A root-complex buffer as in the gem5 DDIO model.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RootComplexBufferFacts {
    /// Number of lines; 0: no buffer, as on Xeons.
    pub entries: Sourced<u32>,
    /// Most acquisitions under way at a time.
    pub mshrs: Sourced<u32>,
    /// Models the I/O cache of older gem5 models instead.
    pub separate_io_cache: Sourced<bool>,
    /// Follows the authors' public code where that departs from the paper.
    pub as_published_code: Sourced<bool>,
}

/// Integrated I/O block; latencies at the platform's own uncore clock.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IioFacts {
    /// Most lines of DMA writes in flight.
    pub write_entries: Sourced<u32>,
    /// Most lines of DMA reads in flight.
    pub read_entries: Sourced<u32>,
    /// Time from a write's arrival until the LLC has taken it.
    pub llc_write_ns: Sourced<f64>,
    /// Time from a write's arrival until the memory controller has taken it.
    pub dram_write_ns: Sourced<f64>,
    /// Time from the arrival of a write to memory until a core's read finds it. By default the time
    /// that the controller takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dram_visible_ns: Option<Sourced<f64>>,
    /// Time from a read's arrival until LLC data arrives.
    pub llc_read_ns: Sourced<f64>,
    /// Additional latency of a read from DRAM beyond a core's loaded latency.
    pub dram_read_extra_ns: Sourced<f64>,
    /// Transfers per second and lane of the slots; slower cards run at their own rate. The rate of the
    /// platform's own card by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot_gtransfers_per_s: Option<Sourced<f64>>,
}

/// A PCIe link: width, rate, and sizes of its packets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PcieFacts {
    /// Number of lanes of the link.
    pub lanes: Sourced<u32>,
    /// Transfers per second and lane, in billions.
    pub gtransfers_per_s: Sourced<f64>,
    /// Most payload bytes of a packet on the link (MPS).
    pub max_payload_bytes: Sourced<u64>,
    /// Most bytes that a read request asks for (MRRS).
    pub max_read_request_bytes: Sourced<u64>,
    /// Bytes between acknowledgements, and between flow control updates.
    pub data_link_interval_bytes: Sourced<f64>,
    /// Time from one end of the link to the logic of the other end.
    pub propagation_ns: Sourced<f64>,
}

impl DdioFacts {
    pub(super) fn check(&self, check: &Check<'_>, ways: u32) -> Result<(), InputError> {
        check.whole("ddio.default_ways", self.default_ways.value, (0, ways), "")
    }
}

impl IommuFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("iommu.iotlb_entries", self.iotlb_entries.value, (1, 4096), "")?;
        check.whole("iommu.concurrent_walks", self.concurrent_walks.value, (1, 256), "")?;
        check.delay("iommu.walk_ns", self.walk_ns.value)
    }
}

impl RootComplexBufferFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("root_complex_buffer.entries", self.entries.value, (0, 1024), "lines")?;
        check.whole("root_complex_buffer.mshrs", self.mshrs.value, (1, 1024), "")
    }
}

impl IioFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("iio.write_entries", self.write_entries.value, (1, 4096), "")?;
        check.whole("iio.read_entries", self.read_entries.value, (1, 4096), "")?;
        check.delay("iio.llc_write_ns", self.llc_write_ns.value)?;
        check.delay("iio.dram_write_ns", self.dram_write_ns.value)?;
        let visible = self.dram_visible_ns.as_ref();
        visible.map_or(Ok(()), |visible| check.delay("iio.dram_visible_ns", visible.value))?;
        check.delay("iio.llc_read_ns", self.llc_read_ns.value)?;
        check.delay("iio.dram_read_extra_ns", self.dram_read_extra_ns.value)?;
        let slots = self.slot_gtransfers_per_s.as_ref();
        slots.map_or(Ok(()), |rate| {
            check.number("iio.slot_gtransfers_per_s", rate.value, PcieFacts::GTRANSFERS_PER_S)
        })
    }
}

impl PcieFacts {
    /// Allowed rates of a lane.
    const GTRANSFERS_PER_S: (f64, f64) = (1.0, 256.0);

    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.one_of("pcie.lanes", self.lanes.value, &[1, 2, 4, 8, 16])?;
        let rate = self.gtransfers_per_s.value;
        check.number("pcie.gtransfers_per_s", rate, Self::GTRANSFERS_PER_S)?;
        let sizes = [128, 256, 512, 1024, 2048, 4096];
        check.one_of("pcie.max_payload_bytes", self.max_payload_bytes.value, &sizes)?;
        let request = self.max_read_request_bytes.value;
        check.one_of("pcie.max_read_request_bytes", request, &sizes)?;
        let interval = self.data_link_interval_bytes.value;
        check.number("pcie.data_link_interval_bytes", interval, (64.0, 1e6))?;
        check.delay("pcie.propagation_ns", self.propagation_ns.value)
    }
}
