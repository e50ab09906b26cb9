//! From a scenario file to a result.
//!
//! Floors, each of which knows only those before it: `text` (TOML with readable errors), `facts`
//! (machines, devices and software in numbers), `contract` (what the rooms of kinds implement and use),
//! `kinds` (one room for each kind of device and application, and the only lists of them), `scenario` (a
//! run on a machine), `plan` (numbers of cores and devices, and all rules), `run` (machine, batches until
//! the intervals are narrow, metrics, result), `job` (the entry points).

mod contract;
mod facts;
mod job;
mod kinds;
mod plan;
mod run;
mod scenario;
mod text;

pub use self::scenario::{Scenario, Testbed, changed_text};
pub use contract::hardware::address_map;
pub use contract::sample::Sample;
pub use facts::named_devices::NamedDevices;
pub use facts::platform;
pub use job::{ActiveJob, Job, KernelJob, KernelResults, builtin, input_files, job, schema};
#[cfg(unix)]
pub use job::{TraceJob, TraceProgress, TraceResult, TraceRunError, TraceWanted, standard_named};
pub use run::assemble::ScenarioMachine;
pub use run::{
    LlcContent, RecordingRequest, RunFailure, RunProgress, Stopped, WindowRequest, half_width_95,
    metrics, packet_trace, read_sample, result, run_batch,
};
pub use text::error::InputError;
