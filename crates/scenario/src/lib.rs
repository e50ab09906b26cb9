//! From a scenario file to a result.
//!
//! Reading order: [`scenario`] and [`platform`] (the run and its machine), [`input`] (TOML with
//! readable errors), [`layout`] (numbers of cores and devices), [`assemble`] (typed configuration to
//! machine), [`run`] (batches until the intervals are narrow), [`metrics`] and [`result`] (the
//! interface for scripts).

pub mod apps;
pub mod assemble;
pub mod co_runner;
pub mod devices;
pub mod input;
pub mod kernel_run;
pub mod layout;
pub mod metrics;
pub mod plan;
pub mod platform;
pub mod result;
pub mod run;
pub mod scenario;
pub mod trace_run;

pub use input::error::InputError;
pub use input::{builtin, input_files, schema};
pub use kernel_run::KernelJob;
pub use run::{Job, Progress, RunFailure, Stopped, Wanted};
pub use trace_run::TraceJob;

/// Reads scenario and platform and checks both.
///
/// # Errors
/// If any input is invalid; the message names file, key, value and what is allowed.
pub fn job(
    scenario_file: &str,
    overrides: &[(String, String)],
    seed: u64,
) -> Result<Job, InputError> {
    let text = builtin::read(scenario_file)?;
    let scenario = scenario::Scenario::read(scenario_file, &text, overrides)?;
    let name = scenario.machine.platform.clone();
    let platform = builtin::platform_with(scenario_file, &name, &scenario.platform_facts())?;
    Job::new(scenario_file, scenario, platform, &name, seed)
}
