//! The entry points: what is read, checked and run as a whole.

mod active;
pub mod builtin;
mod input_files;
mod kernel_run;
pub mod schema;
#[cfg(unix)]
mod trace_run;

pub use active::ActiveJob;
pub use input_files::input_files;
pub use kernel_run::{KernelJob, KernelResults};
#[cfg(unix)]
pub use trace_run::{
    TraceJob, TraceProgress, TraceResult, TraceRunError, TraceWanted, standard_named,
};

use crate::facts::by_name::platform_with;
use crate::facts::platform::Platform;
use crate::plan::{Plan, Resolved};
use crate::run::assemble::ScenarioMachine;
use crate::run::result::RunResult;
use crate::run::{RecordingRequest, RunFailure, RunProgress, Simulation};
use crate::scenario::Scenario;
use crate::text::error::InputError;
use crate::text::files;
use model::tracer::Tracer;
use std::ops::ControlFlow;

/// Reads scenario and platform and checks both.
///
/// # Errors
/// If any input is invalid; the message names file, key, value and what is allowed.
pub fn job(
    scenario_file: &str,
    overrides: &[(String, String)],
    seed: u64,
) -> Result<Job, InputError> {
    let text = files::read(scenario_file)?;
    let scenario = Scenario::read(scenario_file, &text, overrides)?;
    let name = scenario.machine.platform.clone();
    let platform = platform_with(scenario_file, &name, &scenario.platform_facts())?;
    Job::new(scenario_file, scenario, platform, &name, seed)
}

/// A checked scenario that can be run.
#[derive(Clone, Debug)]
pub struct Job {
    simulation: Simulation,
    /// The same without engines, if a replay of descriptors compares the two.
    by_cores: Option<Box<Simulation>>,
}

impl Job {
    /// Checks a scenario against its platform and reads its capture.
    ///
    /// # Errors
    /// If any input is invalid.
    pub fn new(
        file: &str,
        scenario: Scenario,
        platform: Platform,
        platform_name: &str,
        seed: u64,
    ) -> Result<Self, InputError> {
        let simulation = |scenario: Scenario, platform: Platform| {
            let Resolved { scenario, plan } = Plan::resolve(file, scenario, &platform, seed)?;
            let platform_name = platform_name.into();
            Ok::<_, InputError>(Simulation { scenario, plan, platform, platform_name, seed })
        };
        let by_cores = scenario.without_engines();
        let own = simulation(scenario, platform)?;
        let by_cores = by_cores.map(|by_cores| simulation(by_cores, own.platform.clone()));
        Ok(Self { by_cores: by_cores.transpose()?.map(Box::new), simulation: own })
    }

    /// The scenario with every default filled in.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.simulation.scenario
    }

    /// The plan of its machine.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.simulation.plan
    }

    /// The platform, with the facts that the scenario replaces.
    #[must_use]
    pub fn platform(&self) -> &Platform {
        &self.simulation.platform
    }

    /// The machine at time zero, for tests that inspect it.
    pub fn machine<T: Tracer>(&self, tracer: T) -> ScenarioMachine<T> {
        self.simulation.machine(tracer)
    }

    /// Runs to the end. `watch` receives the progress repeatedly, and may stop the run.
    ///
    /// # Errors
    /// If `watch` stopped the run, or it makes no progress.
    pub fn run(
        &self,
        wanted: RecordingRequest,
        mut watch: impl FnMut(RunProgress) -> ControlFlow<()>,
    ) -> Result<RunResult, RunFailure> {
        let Some(by_cores) = &self.by_cores else {
            // One simulator is compiled, not one for each watcher.
            return self.simulation.run(wanted, &mut watch);
        };
        let half =
            |now: RunProgress, done| RunProgress { fraction: done + now.fraction / 2.0, ..now };
        let mut result = self.simulation.run(wanted, &mut |now| watch(half(now, 0.0)))?;
        let other = by_cores.run(RecordingRequest::default(), &mut |now| watch(half(now, 0.5)))?;
        result.compare_replays(&other);
        Ok(result)
    }
}
