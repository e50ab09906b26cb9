//! Copy engines of a machine as facts, the costs of their clients, and of a core's own loops.

use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use model::device::dsa::{DsaTiming, LEAST_BUFFERS_PER_ENGINE, QUEUE_ENTRIES};
use model::root_complex::attachment::{AttachmentConfig, MeshStopConfig};
use model::root_complex::iio::IioConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{GbitPerSec, Picos};

/// A data streaming accelerator: what each instance has.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DsaFacts {
    /// Number of engines of an instance.
    pub engines: Sourced<u32>,
    /// Number of work queues of an instance.
    pub work_queues: Sourced<u32>,
    /// Number of groups of an instance.
    pub groups: Sourced<u32>,
    /// Number of read buffers of all engines together, each of a line.
    pub read_buffers: Sourced<u32>,
    /// Most descriptors of a batch.
    pub max_batch: Sourced<u32>,
    /// Most bytes of a transfer.
    pub max_transfer_bytes: Sourced<u64>,
    /// Most descriptors that an engine processes at a time.
    pub descriptors_per_engine: Sourced<u32>,
    /// Number of pages behind the current one for whose translation an operand asks.
    pub pages_ahead: Sourced<u64>,
    /// Throughput of the instance's stop on the mesh, in each direction.
    pub gbytes_per_s: Sourced<f64>,
    /// Time from the instance's logic to the mesh.
    pub propagation_ns: Sourced<f64>,
    /// Most lines of the instance's writes in flight.
    pub write_entries: Sourced<u32>,
    /// Most lines of the instance's reads in flight.
    pub read_entries: Sourced<u32>,
    /// Time from a read's arrival on the mesh until LLC data arrives.
    pub llc_read_ns: Sourced<f64>,
    /// Time from a write's arrival on the mesh until the LLC has taken it.
    pub llc_write_ns: Sourced<f64>,
    /// Time from a write's arrival on the mesh until the memory controller has taken it.
    pub dram_write_ns: Sourced<f64>,
    /// Least time from one descriptor of an engine to the next.
    pub descriptor_interval_ns: Sourced<f64>,
    /// Time from the dispatch of a descriptor to its first request.
    pub dispatch_ns: Sourced<f64>,
    /// Time from the last data to the write of the completion record.
    pub finish_ns: Sourced<f64>,
    /// Time that a checksum adds to it.
    pub checksum_ns: Sourced<f64>,
    /// Time of a translation that an engine does not have, a page walk apart.
    pub translation_ns: Sourced<f64>,
    /// Time until the operating system has answered a page request.
    pub page_request_ns: Sourced<f64>,
    /// Time from a core's store to a portal until the device sees it; an answer takes as long.
    pub portal_ns: Sourced<f64>,
}

/// Costs of a program that submits descriptors.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DsaClientFacts {
    /// Cycles to fill in a descriptor.
    pub prepare_cycles: Sourced<f64>,
    /// Cycles to fill in a member of a batch.
    pub prepare_member_cycles: Sourced<f64>,
    /// Cycles of a posted write of a descriptor (MOVDIR64B).
    pub post_cycles: Sourced<f64>,
    /// Time from one posted write to the next on the same portal address.
    pub post_interval_ns: Sourced<f64>,
    /// Cycles of a write of a descriptor that is answered (ENQCMD), the way of write and answer
    /// apart.
    pub enqueue_cycles: Sourced<f64>,
    /// Cycles of the pause before an ENQCMD is repeated.
    pub pause_cycles: Sourced<f64>,
    /// Cycles of the longest pause, if pauses are doubled.
    pub back_off_most_cycles: Sourced<f64>,
    /// Cycles of an atomic exchange that takes the lock of a queue, beside the way of its line.
    pub lock_cycles: Sourced<f64>,
    /// Cycles of a look at a completion record.
    pub look_cycles: Sourced<f64>,
    /// Cycles to wake up from UMWAIT.
    pub umwait_wake_cycles: Sourced<f64>,
    /// Cycles of handler and wake-up, if completions are learnt of by interrupt.
    pub interrupt_cycles: Sourced<f64>,
    /// Time from a completion record in memory to its handler.
    pub interrupt_delivery_ns: Sourced<f64>,
}

/// Cycles of a core's own loops for each line of data, accesses to memory apart.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CoreKernelFacts {
    /// Cycles of a call, whatever its size.
    pub call_cycles: Sourced<f64>,
    /// Cycles to copy a line.
    pub copy_cycles: Sourced<f64>,
    /// Cycles to fill a line with a pattern.
    pub fill_cycles: Sourced<f64>,
    /// Cycles to compare a line of one range with that of another.
    pub compare_cycles: Sourced<f64>,
    /// Cycles to compare a line with a pattern.
    pub compare_pattern_cycles: Sourced<f64>,
    /// Cycles of the CRC-32C of a line.
    pub crc_cycles: Sourced<f64>,
    /// Cycles to look for differences in a line, or to apply them.
    pub delta_cycles: Sourced<f64>,
    /// Cycles of the protection information of a line.
    pub dif_cycles: Sourced<f64>,
    /// Cycles to flush a cache line.
    pub flush_cycles: Sourced<f64>,
    /// Cycles to copy or fill a line by a string instruction.
    pub rep_movsb_cycles: Sourced<f64>,
    /// Cycles of the start of a string instruction.
    pub rep_movsb_start_cycles: Sourced<f64>,
    /// How much longer than the way to memory a non-temporal store takes a fill buffer.
    pub around_ns: Sourced<f64>,
    /// Cycles of a page fault: to the handler that finds or clears a page, and back.
    pub page_fault_cycles: Sourced<f64>,
    /// Cycles of an allocation of aligned memory, page faults apart.
    pub allocate_cycles: Sourced<f64>,
    /// Cycles of a store of 8 bytes in a loop that fills a buffer, in L1.
    pub store_word_cycles: Sourced<f64>,
}

impl DsaFacts {
    /// The stop on the mesh of an instance. A read from DRAM takes `dram_read_extra` more than a core's.
    pub(crate) fn attachment(&self, dram_read_extra: Picos) -> AttachmentConfig {
        let rate = GbitPerSec(8.0 * self.gbytes_per_s.value);
        let ns = |fact: &Sourced<f64>| Picos::from_ns(fact.value);
        AttachmentConfig::Mesh(MeshStopConfig {
            write_rate: rate,
            read_rate: rate,
            propagation: ns(&self.propagation_ns),
            iio: IioConfig {
                write_entries: self.write_entries.value,
                read_entries: self.read_entries.value,
                llc_write: ns(&self.llc_write_ns),
                dram_write: ns(&self.dram_write_ns),
                dram_visible: ns(&self.dram_write_ns),
                llc_read: ns(&self.llc_read_ns),
                dram_read_extra,
            },
        })
    }

    /// Durations of the device's steps, as parameters of the model.
    pub(crate) fn timing(&self) -> DsaTiming {
        let ns = |fact: &Sourced<f64>| Picos::from_ns(fact.value);
        DsaTiming {
            descriptor_interval: ns(&self.descriptor_interval_ns),
            dispatch: ns(&self.dispatch_ns),
            finish: ns(&self.finish_ns),
            checksum: ns(&self.checksum_ns),
            translation: ns(&self.translation_ns),
            page_request: ns(&self.page_request_ns),
            portal: ns(&self.portal_ns),
        }
    }

    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("dsa.engines", self.engines.value, (1, 64), "")?;
        check.whole("dsa.work_queues", self.work_queues.value, (1, QUEUE_ENTRIES), "")?;
        check.whole("dsa.groups", self.groups.value, (1, 64), "")?;
        let least = LEAST_BUFFERS_PER_ENGINE * self.engines.value;
        let what = "lines, no fewer than four for each engine";
        check.whole("dsa.read_buffers", self.read_buffers.value, (least, 4096), what)?;
        check.whole("dsa.max_batch", self.max_batch.value, (1, 1024), "")?;
        let transfer = self.max_transfer_bytes.value;
        check.whole("dsa.max_transfer_bytes", transfer, (64, 1 << 31), "bytes")?;
        let descriptors = self.descriptors_per_engine.value;
        check.whole("dsa.descriptors_per_engine", descriptors, (1, 1024), "")?;
        check.whole("dsa.pages_ahead", self.pages_ahead.value, (0, 64), "pages")?;
        check.number("dsa.gbytes_per_s", self.gbytes_per_s.value, (0.1, 1000.0))?;
        check.whole("dsa.write_entries", self.write_entries.value, (1, 4096), "")?;
        check.whole("dsa.read_entries", self.read_entries.value, (1, 4096), "")?;
        let delays = [
            ("dsa.propagation_ns", &self.propagation_ns),
            ("dsa.llc_read_ns", &self.llc_read_ns),
            ("dsa.llc_write_ns", &self.llc_write_ns),
            ("dsa.dram_write_ns", &self.dram_write_ns),
            ("dsa.descriptor_interval_ns", &self.descriptor_interval_ns),
            ("dsa.dispatch_ns", &self.dispatch_ns),
            ("dsa.finish_ns", &self.finish_ns),
            ("dsa.checksum_ns", &self.checksum_ns),
            ("dsa.translation_ns", &self.translation_ns),
            ("dsa.page_request_ns", &self.page_request_ns),
            ("dsa.portal_ns", &self.portal_ns),
        ];
        delays.iter().try_for_each(|(key, delay)| check.delay(key, delay.value))
    }
}

impl DsaClientFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        let delays = [
            ("dsa_client.prepare_cycles", &self.prepare_cycles),
            ("dsa_client.prepare_member_cycles", &self.prepare_member_cycles),
            ("dsa_client.post_cycles", &self.post_cycles),
            ("dsa_client.post_interval_ns", &self.post_interval_ns),
            ("dsa_client.enqueue_cycles", &self.enqueue_cycles),
            ("dsa_client.pause_cycles", &self.pause_cycles),
            ("dsa_client.back_off_most_cycles", &self.back_off_most_cycles),
            ("dsa_client.lock_cycles", &self.lock_cycles),
            ("dsa_client.look_cycles", &self.look_cycles),
            ("dsa_client.umwait_wake_cycles", &self.umwait_wake_cycles),
            ("dsa_client.interrupt_cycles", &self.interrupt_cycles),
            ("dsa_client.interrupt_delivery_ns", &self.interrupt_delivery_ns),
        ];
        delays.iter().try_for_each(|(key, delay)| check.delay(key, delay.value))
    }
}

impl CoreKernelFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        let delays = [
            ("core_kernels.call_cycles", &self.call_cycles),
            ("core_kernels.copy_cycles", &self.copy_cycles),
            ("core_kernels.fill_cycles", &self.fill_cycles),
            ("core_kernels.compare_cycles", &self.compare_cycles),
            ("core_kernels.compare_pattern_cycles", &self.compare_pattern_cycles),
            ("core_kernels.crc_cycles", &self.crc_cycles),
            ("core_kernels.delta_cycles", &self.delta_cycles),
            ("core_kernels.dif_cycles", &self.dif_cycles),
            ("core_kernels.flush_cycles", &self.flush_cycles),
            ("core_kernels.rep_movsb_cycles", &self.rep_movsb_cycles),
            ("core_kernels.rep_movsb_start_cycles", &self.rep_movsb_start_cycles),
            ("core_kernels.around_ns", &self.around_ns),
            ("core_kernels.page_fault_cycles", &self.page_fault_cycles),
            ("core_kernels.allocate_cycles", &self.allocate_cycles),
            ("core_kernels.store_word_cycles", &self.store_word_cycles),
        ];
        delays.iter().try_for_each(|(key, delay)| check.delay(key, delay.value))
    }
}
