//! The copy engine before the data streaming accelerator as facts, and the costs of its driver.

use super::IioFacts;
use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use model::device::cbdma::{CbdmaTiming, PIECE_LINES};
use model::root_complex::attachment::{AttachmentConfig, MeshStopConfig};
use model::root_complex::iio::IioConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::narrow::fit;
use units::{GbitPerSec, Picos};

/// More than any part has.
pub(crate) const MOST_CHANNELS: u32 = 64;
/// The counter of descriptors in a doorbell has 16 bits.
pub(crate) const MOST_RING_ENTRIES: u32 = 1 << 16;

/// The copy engine of a socket. Its requests take the latencies of the platform's IIO.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CbdmaFacts {
    /// Number of channels.
    pub channels: Sourced<u32>,
    /// Most bytes of a descriptor's transfer.
    pub max_transfer_bytes: Sourced<u64>,
    /// Most entries of a channel's ring.
    pub max_ring_entries: Sourced<u32>,
    /// Most descriptors that a channel fetches ahead.
    pub fetched_descriptors: Sourced<u32>,
    /// Most lines that a channel has under way.
    pub lines_per_channel: Sourced<u32>,
    /// Throughput of the engine's stop on the mesh, in each direction.
    pub gbytes_per_s: Sourced<f64>,
    /// Time from the engine's logic to the mesh.
    pub propagation_ns: Sourced<f64>,
    /// Most lines of the engine's writes in flight.
    pub write_entries: Sourced<u32>,
    /// Most lines of the engine's reads in flight.
    pub read_entries: Sourced<u32>,
    /// Least time from one descriptor of a channel to the next.
    pub descriptor_interval_ns: Sourced<f64>,
    /// Time from the arrival of a descriptor to its first request.
    pub dispatch_ns: Sourced<f64>,
    /// Time from the last data to the write of the completion.
    pub finish_ns: Sourced<f64>,
    /// Time from a core's store to a channel's register until the channel sees it.
    pub doorbell_ns: Sourced<f64>,
}

/// Costs of a program that drives channels.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CbdmaClientFacts {
    /// Cycles to fill in a descriptor.
    pub prepare_cycles: Sourced<f64>,
    /// Cycles of the store to a channel's register.
    pub doorbell_cycles: Sourced<f64>,
    /// Cycles of a look at a channel's completion.
    pub look_cycles: Sourced<f64>,
    /// Cycles of handler and wake-up, if completions are learnt of by interrupt.
    pub interrupt_cycles: Sourced<f64>,
    /// Time from a completion in memory to its handler.
    pub interrupt_delivery_ns: Sourced<f64>,
}

impl CbdmaFacts {
    /// The engine's stop on the mesh, as parameters of the model.
    pub(crate) fn attachment(&self, iio: &IioFacts) -> AttachmentConfig {
        let rate = GbitPerSec(8.0 * self.gbytes_per_s.value);
        let ns = |fact: &Sourced<f64>| Picos::from_ns(fact.value);
        AttachmentConfig::Mesh(MeshStopConfig {
            write_rate: rate,
            read_rate: rate,
            propagation: ns(&self.propagation_ns),
            iio: IioConfig {
                write_entries: self.write_entries.value,
                read_entries: self.read_entries.value,
                llc_write: ns(&iio.llc_write_ns),
                dram_write: ns(&iio.dram_write_ns),
                dram_visible: ns(iio.dram_visible_ns.as_ref().unwrap_or(&iio.dram_write_ns)),
                llc_read: ns(&iio.llc_read_ns),
                dram_read_extra: ns(&iio.dram_read_extra_ns),
            },
        })
    }

    /// Durations of the engine's steps, as parameters of the model.
    pub(crate) fn timing(&self) -> CbdmaTiming {
        let ns = |fact: &Sourced<f64>| Picos::from_ns(fact.value);
        CbdmaTiming {
            descriptor_interval: ns(&self.descriptor_interval_ns),
            dispatch: ns(&self.dispatch_ns),
            finish: ns(&self.finish_ns),
        }
    }

    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("cbdma.channels", self.channels.value, (1, MOST_CHANNELS), "")?;
        let transfer = self.max_transfer_bytes.value;
        check.whole("cbdma.max_transfer_bytes", transfer, (64, 1 << 30), "bytes")?;
        let entries = self.max_ring_entries.value;
        check.whole("cbdma.max_ring_entries", entries, (2, MOST_RING_ENTRIES), "")?;
        check.whole("cbdma.fetched_descriptors", self.fetched_descriptors.value, (1, 1024), "")?;
        let least: u32 = fit(PIECE_LINES);
        let what = "lines, no fewer than those of a request";
        check.whole(
            "cbdma.lines_per_channel",
            self.lines_per_channel.value,
            (least, 4096),
            what,
        )?;
        check.number("cbdma.gbytes_per_s", self.gbytes_per_s.value, (0.1, 1000.0))?;
        check.whole("cbdma.write_entries", self.write_entries.value, (1, 4096), "")?;
        check.whole("cbdma.read_entries", self.read_entries.value, (1, 4096), "")?;
        let delays = [
            ("cbdma.propagation_ns", &self.propagation_ns),
            ("cbdma.descriptor_interval_ns", &self.descriptor_interval_ns),
            ("cbdma.dispatch_ns", &self.dispatch_ns),
            ("cbdma.finish_ns", &self.finish_ns),
            ("cbdma.doorbell_ns", &self.doorbell_ns),
        ];
        delays.iter().try_for_each(|(key, delay)| check.delay(key, delay.value))
    }
}

impl CbdmaClientFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        let delays = [
            ("cbdma_client.prepare_cycles", &self.prepare_cycles),
            ("cbdma_client.doorbell_cycles", &self.doorbell_cycles),
            ("cbdma_client.look_cycles", &self.look_cycles),
            ("cbdma_client.interrupt_cycles", &self.interrupt_cycles),
            ("cbdma_client.interrupt_delivery_ns", &self.interrupt_delivery_ns),
        ];
        delays.iter().try_for_each(|(key, delay)| check.delay(key, delay.value))
    }
}
