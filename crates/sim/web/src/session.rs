//! A run step by step: what a worker of a page, or a request of `skipline explore`, has under way.

use crate::report::{CheckedScenario, ReportedProgress, StepReport};
use crate::request::{PageRequest, RequestRefusal};
use scenario::ActiveJob;
use serde::Serialize;
use std::ops::ControlFlow;
#[cfg(not(target_family = "wasm"))]
use std::time::{Duration, Instant};
// A browser has no clock of its own in the standard library.
#[cfg(target_family = "wasm")]
use web_time::{Duration, Instant};

/// Time between two reports of results: to compute one takes some milliseconds.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// A place for one run at a time.
#[derive(Default)]
pub struct ExplorerSession {
    active: Option<ActiveRun>,
}

/// A run under way.
struct ActiveRun {
    job: ActiveJob,
    progress: ReportedProgress,
    /// Time spent in steps.
    wall: Duration,
    /// `wall` at the last report of results.
    reported: Option<Duration>,
}

impl ExplorerSession {
    /// Checks a request and builds its machine; a run under way is dropped. The answer is the scenario with
    /// every default filled in, or the refusal, which leaves no run under way.
    pub fn start(&mut self, request: &str) -> String {
        self.active = None;
        let started = PageRequest::read(request).and_then(|request| {
            let job = request.job()?;
            let answer = as_json(&CheckedScenario::new(&job));
            Ok((ActiveJob::from((job, request.recordings())), answer))
        });
        match started {
            Ok((job, answer)) => {
                let (progress, wall) = (ReportedProgress::default(), Duration::ZERO);
                self.active = Some(ActiveRun { job, progress, wall, reported: None });
                answer
            }
            Err(error) => refused(error),
        }
    }

    /// Goes on for about `budget_ms` and reports. Results come with the first batch, then at most every tenth of a
    /// second, and at the end, after which no run is under way.
    pub fn advance(&mut self, budget_ms: f64) -> String {
        let Some(run) = &mut self.active else {
            let message = "no run is under way; start one first".into();
            return refused(RequestRefusal { message, key: None });
        };
        let budget = Duration::try_from_secs_f64(budget_ms.max(0.0) / 1e3).unwrap_or_default();
        let report = run.advance(budget);
        if matches!(report, StepReport::Ended { .. } | StepReport::Refused { .. }) {
            self.active = None;
        }
        as_json(&report)
    }

    /// Whether a run is under way.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.active.is_some()
    }

    /// Drops the run under way, if there is one.
    pub fn stop(&mut self) {
        self.active = None;
    }
}

impl ActiveRun {
    fn advance(&mut self, budget: Duration) -> StepReport {
        let (began, before) = (Instant::now(), self.wall);
        loop {
            let progress = &mut self.progress;
            let mut is_over = false;
            let ended = self.job.advance(|now| {
                *progress = now.into();
                is_over = began.elapsed() >= budget;
                if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            self.wall = before + began.elapsed();
            let has_ended = match ended {
                Ok(has_ended) => has_ended,
                Err(failure) => {
                    let error = RequestRefusal { message: failure.to_string(), key: None };
                    return StepReport::Refused { error };
                }
            };
            let is_due = self.reported.is_none_or(|then| self.wall - then >= REPORT_INTERVAL);
            if has_ended || is_due {
                let wall_s = self.wall.as_secs_f64();
                let report = StepReport::new(&self.job, has_ended, self.progress, wall_s);
                if !matches!(report, StepReport::UnderWay { .. }) {
                    self.reported = Some(self.wall);
                    return report;
                }
            }
            if is_over {
                return StepReport::UnderWay { progress: self.progress };
            }
        }
    }
}

/// The answer to a request that is refused.
pub(crate) fn refused(error: RequestRefusal) -> String {
    as_json(&StepReport::Refused { error })
}

fn as_json(value: &impl Serialize) -> String {
    // Maps with text keys and numbers: writing them cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}
