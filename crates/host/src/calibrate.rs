//! Measures this host's caches and memory with its own kernels and writes them as a platform.
//!
//! | module | what it is |
//! | --- | --- |
//! | `arena` | memory for the kernels, in huge pages if the system gives them |
//! | `chain` | the order of a chase: a random cycle that avoids prefetch hits and most TLB misses |
//! | `cycle` | the chase itself (the only unsafe code) |
//! | `kernels` | what else is timed: streams, a line between two cores, the core's clock |
//! | `processor` | what kernel and CPUID say about the processor |
//! | `plan`, `session` | which sizes, in which order, for how long |
//! | `measurement` | what was measured, as a file |
//! | `curve` | from latencies over sizes to levels and their capacities |
//! | `donors`, `platform_file` | what cannot be measured; the platform as a file |
//!
//! Half of the sizes (`SizeRole::Fit`) fit parameters. The others (`SizeRole::Kept`) are held out: they only
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
