//! A job that is run step by step, for a caller that shows results while they come.

use crate::job::Job;
use crate::run::result::{RunResult, StoppedBy};
use crate::run::{
    LlcContent, RecordingRequest, RunFailure, RunProgress, Simulation, SimulationRun, Stopped,
};
use std::ops::ControlFlow;

/// A job under way. It does what [`Job::run`] does, in steps.
pub struct ActiveJob {
    /// The job.
    pub job: Job,
    run: SimulationRun,
    ended: Option<StoppedBy>,
    /// The same without engines, once the job's own run has ended.
    by_cores: Option<(SimulationRun, Option<StoppedBy>)>,
}

/// A job at time zero, with its machine built, and what is recorded of its run.
impl From<(Job, RecordingRequest)> for ActiveJob {
    fn from((job, wanted): (Job, RecordingRequest)) -> Self {
        let run = job.simulation.start(wanted);
        Self { job, run, ended: None, by_cores: None }
    }
}

impl ActiveJob {
    /// Goes on until a batch or the job ends, or `watch` stops it: a further call goes on from there. Returns
    /// whether the job has ended.
    ///
    /// # Errors
    /// If the run makes no progress.
    pub fn advance(
        &mut self,
        mut watch: impl FnMut(RunProgress) -> ControlFlow<()>,
    ) -> Result<bool, RunFailure> {
        let other = self.job.by_cores.as_deref();
        let share = if other.is_some() { 0.5 } else { 1.0 };
        let stage = |done: f64, now: RunProgress| RunProgress {
            fraction: done + now.fraction * share,
            ..now
        };
        if self.ended.is_none() {
            let own = &self.job.simulation;
            self.ended = step(own, &mut self.run, &mut |now| watch(stage(0.0, now)))?;
            return Ok(self.ended.is_some() && other.is_none());
        }
        let Some(other) = other else { return Ok(true) };
        let start = || (other.start(RecordingRequest::default()), None);
        let (run, ended) = self.by_cores.get_or_insert_with(start);
        if ended.is_none() {
            *ended = step(other, run, &mut |now| watch(stage(0.5, now)))?;
        }
        Ok(ended.is_some())
    }

    /// The result of the batches so far, and the content of the LLCs; `None` before the first batch has ended.
    /// Before the end of the job the result says that the cap of batches was reached. `wall_s` is the time that
    /// the caller measured.
    #[must_use]
    pub fn result(&self, wall_s: f64) -> Option<(RunResult, LlcContent)> {
        if self.run.batches() == 0 {
            return None;
        }
        let stopped_by = self.ended.unwrap_or(StoppedBy::Cap);
        let mut result = self.job.simulation.result(&self.run, stopped_by, wall_s);
        if let (Some(other), Some((run, Some(stopped_by)))) =
            (self.job.by_cores.as_deref(), &self.by_cores)
        {
            result.compare_replays(&other.result(run, *stopped_by, wall_s));
        }
        Some((result, self.run.llc_content(self.job.plan().layout.agent_names())))
    }
}

/// Goes on with a run; returns why it has ended, if it has.
fn step(
    simulation: &Simulation,
    run: &mut SimulationRun,
    watch: &mut dyn FnMut(RunProgress) -> ControlFlow<()>,
) -> Result<Option<StoppedBy>, RunFailure> {
    match simulation.advance(run, watch) {
        Err(RunFailure::Stopped(Stopped)) => Ok(None),
        advanced => advanced,
    }
}
