//! Measures this host's caches and memory with its own kernels and writes them as a platform.
//!
//! | module | what it is |
//! | --- | --- |
//! | `arena` | memory for the kernels, in huge pages if the system gives them |
//! | `chain` | the order of a chase: a random cycle that avoids prefetch hits and most TLB misses |
//! | `cycle` | the chase itself (the only unsafe code) |
//! | `kernels` | further timed kernels: streams, a line between two cores, the core's clock |
//! | `processor` | description of the processor by kernel and CPUID |
//! | `plan`, `session` | the sizes to measure; the measurement, in passes |
//! | `measurement` | the measured values, as a file |
//! | `curve` | levels and their capacities, from latencies over sizes |
//! | `donors`, `platform_file` | named platforms for facts that cannot be measured; the platform as a file |
//!
//! Half of the sizes (`SizeRole::Fit`) fit parameters. The others (`SizeRole::Kept`) only
//! judge the fit.

mod arena;
mod chain;
pub mod curve;
mod cycle;
mod donors;
mod kernels;
mod measurement;
mod plan;
mod platform_file;
mod processor;
mod session;

pub use arena::PagesObtained;
pub use donors::DonorPlatform;
pub use measurement::{
    Bandwidth, Chase, ChaseKernel, CoreToCore, Measurement, RecordError, SizeRole, WorkingSetPages,
    lower_quartile,
};
pub use plan::{CalibrationPlan, CalibrationPlanError};
pub use platform_file::{CalibratedPlatform, format_bytes, platform};
pub use processor::{Processor, ReportedCache};
pub use session::{CalibrationProgress, MeasureError, measure};

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// Bytes of a page of the smallest kind.
const PAGE_BYTES: usize = 4096;
