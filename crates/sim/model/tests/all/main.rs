//! Tests of the hardware through its public interface: one program, one module per question.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "machines of the tests are small"
)]

mod accelerator_seams;
mod against_reference;
mod before_time_zero;
mod cbdma;
mod claims;
mod contract;
mod core_hints;
mod dram_curves;
mod dsa;
mod invariants;
mod io_semantics;
mod iommu_measured;
mod large_machine;
mod miss_kinds;
mod nic;
mod nvme;
mod one_set;
mod placement;
mod reference;
mod replacement_reference;
mod replacement_sequences;
mod root_complex_buffer;
mod root_complex_buffer_coherence;
mod slice_latency;
mod small_fabric;
mod sources;
