//! An SSD, its link, and the costs of storage software, as facts: a file of devices/ssd/.

use super::PcieFacts;
use super::what_if::{self, ReplacedFacts};
use crate::text::check::Check;
use crate::text::document;
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use facts::Kind;
use model::device::nvme::NvmeConfig;
use model::device::nvme::media::MediaConfig;
use model::device::nvme::rings::PAGE_BYTES;
use model::root_complex::pcie_link::PcieLinkConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::narrow::whole;
use units::{GbitPerSec, Picos};

/// An SSD with its link and the costs of storage software: a file of devices/ssd/.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SsdDevice {
    /// Description of the device.
    pub title: String,
    /// Parameters of the SSD.
    pub ssd: SsdFacts,
    /// PCIe link of the SSD.
    pub pcie: PcieFacts,
    /// Costs of the software that it was measured with.
    pub software: StorageSoftwareFacts,
}

/// An SSD: its controller and its media.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SsdFacts {
    /// Capacity of the SSD.
    pub capacity_gbytes: Sourced<f64>,
    /// Time from the doorbell write to the controller's reaction.
    pub doorbell_ns: Sourced<f64>,
    /// Time from a submission entry in the controller to the first use of the media.
    pub command_ns: Sourced<f64>,
    /// Most commands that the controller processes at a time.
    pub commands: Sourced<u32>,
    /// Bytes of data that the controller can hold between link and media, for each direction.
    pub buffer_bytes: Sourced<u64>,
    /// Most DMA reads of 4 KiB under way at a time.
    pub data_reads: Sourced<u32>,
    /// Number of flash units: pages that can be read or written at a time.
    pub units: Sourced<u32>,
    /// Bytes that a flash unit reads or writes at once.
    pub page_bytes: Sourced<u64>,
    /// Mean time to read a page.
    pub read_ns: Sourced<f64>,
    /// Most by which a read takes less or more than the mean.
    pub read_spread_ns: Sourced<f64>,
    /// Time from a page's arrival at its unit until its write counts as done.
    pub write_ns: Sourced<f64>,
    /// Throughput of reads.
    pub read_gbytes_per_s: Sourced<f64>,
    /// Throughput of writes.
    pub write_gbytes_per_s: Sourced<f64>,
}

/// Costs of block I/O on a core.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StorageSoftwareFacts {
    /// Cycles of system call, block layer and driver per submission.
    pub submit_cycles: Sourced<f64>,
    /// Cycles of driver, block layer and system call per completion.
    pub complete_cycles: Sourced<f64>,
    /// Cycles of the application itself, between two I/Os.
    pub work_cycles: Sourced<f64>,
    /// Cycles of a doorbell write.
    pub doorbell_cycles: Sourced<f64>,
    /// Cycles of one poll of an empty completion queue, if polling.
    pub poll_cycles: Sourced<f64>,
    /// Cycles of handler, wake-up and switch of context, if by interrupt.
    pub interrupt_cycles: Sourced<f64>,
    /// Time from a completion in memory to its handler.
    pub interrupt_delivery_ns: Sourced<f64>,
    /// Number of entries of a queue.
    pub queue_entries: Sourced<u32>,
}

impl SsdDevice {
    /// Reads a device from TOML; `file` is its name in messages.
    ///
    /// # Errors
    /// If the text is invalid, a key is unknown or missing, or a value is out of range.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        Self::read_with(file, text, &ReplacedFacts::new())
    }

    /// As [`Self::read`], with some facts of the SSD itself `replaced`. A scenario's `pcie` and
    /// `software` belong to NICs.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn read_with(
        file: &str,
        text: &str,
        replaced: &ReplacedFacts,
    ) -> Result<Self, InputError> {
        let replaced = what_if::of_tables(replaced, &["ssd"]);
        what_if::read_with(Kind::Ssd, file, text, &replaced, |document| {
            let device: Self = document::interpret(file, document)?;
            let check = Check { file };
            device.ssd.check(&check)?;
            device.pcie.check(&check)?;
            device.software.check(&check)?;
            Ok(device)
        })
    }

    /// The link as parameters of the model.
    #[must_use]
    pub fn link(&self) -> PcieLinkConfig {
        PcieLinkConfig {
            lanes: self.pcie.lanes.value,
            gtransfers_per_s: self.pcie.gtransfers_per_s.value,
            max_payload_bytes: self.pcie.max_payload_bytes.value,
            max_read_request_bytes: self.pcie.max_read_request_bytes.value,
            data_link_interval_bytes: self.pcie.data_link_interval_bytes.value,
            propagation_ns: self.pcie.propagation_ns.value,
        }
    }
}

impl SsdFacts {
    /// The SSD as parameters of the model.
    #[must_use]
    pub fn config(&self) -> NvmeConfig {
        let rate = |gbytes: &Sourced<f64>| GbitPerSec(gbytes.value * 8.0);
        NvmeConfig {
            command: Picos::from_ns(self.command_ns.value),
            commands: self.commands.value,
            buffer_bytes: self.buffer_bytes.value,
            data_reads: self.data_reads.value,
            media: MediaConfig {
                units: self.units.value,
                page_bytes: self.page_bytes.value,
                read: Picos::from_ns(self.read_ns.value),
                read_spread: Picos::from_ns(self.read_spread_ns.value),
                write: Picos::from_ns(self.write_ns.value),
                read_rate: rate(&self.read_gbytes_per_s),
                write_rate: rate(&self.write_gbytes_per_s),
            },
        }
    }

    /// Capacity of the SSD in bytes.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        whole(self.capacity_gbytes.value * 1e9)
    }

    fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.number("ssd.capacity_gbytes", self.capacity_gbytes.value, (1.0, 1e5))?;
        check.delay("ssd.doorbell_ns", self.doorbell_ns.value)?;
        check.delay("ssd.command_ns", self.command_ns.value)?;
        check.whole("ssd.commands", self.commands.value, (1, 65_536), "")?;
        let sizes = [PAGE_BYTES, 2 * PAGE_BYTES, 4 * PAGE_BYTES, 8 * PAGE_BYTES, 16 * PAGE_BYTES];
        let page = self.page_bytes.value;
        check.one_of("ssd.page_bytes", page, &sizes)?;
        let what = "bytes, no fewer than ssd.page_bytes";
        check.whole("ssd.buffer_bytes", self.buffer_bytes.value, (page, 1 << 32), what)?;
        check.whole("ssd.data_reads", self.data_reads.value, (1, 1024), "")?;
        check.whole("ssd.units", self.units.value, (1, 4096), "")?;
        let read = self.read_ns.value;
        check.delay("ssd.read_ns", read)?;
        check.number("ssd.read_spread_ns", self.read_spread_ns.value, (0.0, read))?;
        check.delay("ssd.write_ns", self.write_ns.value)?;
        check.number("ssd.read_gbytes_per_s", self.read_gbytes_per_s.value, (0.01, 100.0))?;
        check.number("ssd.write_gbytes_per_s", self.write_gbytes_per_s.value, (0.01, 100.0))
    }
}

impl StorageSoftwareFacts {
    fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        let delays = [
            ("software.submit_cycles", &self.submit_cycles),
            ("software.complete_cycles", &self.complete_cycles),
            ("software.work_cycles", &self.work_cycles),
            ("software.doorbell_cycles", &self.doorbell_cycles),
            ("software.poll_cycles", &self.poll_cycles),
            ("software.interrupt_cycles", &self.interrupt_cycles),
            ("software.interrupt_delivery_ns", &self.interrupt_delivery_ns),
        ];
        delays.iter().try_for_each(|(key, delay)| check.delay(key, delay.value))?;
        check.whole("software.queue_entries", self.queue_entries.value, (2, 65_536), "")
    }
}
