//! Reports to a page: the checked scenario, and the batches of its run.

use crate::request::RequestRefusal;
use scenario::result::RunResult;
use scenario::{ActiveJob, Job, LlcContent, RunProgress};
use serde::Serialize;
use serde_json::value::RawValue;

/// The answer to a request: the scenario with every default filled in, and the shape of its cache.
#[derive(Serialize)]
pub(crate) struct CheckedScenario<'j> {
    pub(crate) scenario: &'j scenario::Scenario,
    pub(crate) platform: CheckedPlatform<'j>,
}

/// The platform of a checked scenario.
#[derive(Serialize)]
pub(crate) struct CheckedPlatform<'j> {
    pub(crate) name: &'j str,
    pub(crate) title: &'j str,
    pub(crate) llc_ways: u32,
    pub(crate) llc_bytes: u64,
    pub(crate) cores: u32,
}

impl<'j> CheckedScenario<'j> {
    pub(crate) fn new(job: &'j Job) -> Self {
        let platform = job.platform();
        let llc = &platform.llc;
        let lines = llc.slices.value * llc.sets_per_slice.value * llc.ways.value;
        Self {
            scenario: job.scenario(),
            platform: CheckedPlatform {
                name: job.scenario().platform_name(),
                title: &platform.title,
                llc_ways: llc.ways.value,
                llc_bytes: u64::from(lines) * units::LINE_BYTES,
                cores: platform.cpu.cores.value,
            },
        }
    }
}

/// A step of a run.
#[derive(Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(crate) enum StepReport {
    /// The run goes on; nothing new is to be drawn.
    UnderWay { progress: ReportedProgress },
    /// Batches have ended, and others follow.
    Batch { progress: ReportedProgress, result: Box<RawValue>, llc: LlcContent },
    /// The run has ended. `text` is the result as `skipline run --format json` has it.
    Ended { progress: ReportedProgress, result: Box<RawValue>, text: String, llc: LlcContent },
    /// The run has failed, or was refused.
    Refused { error: RequestRefusal },
}

/// ReportedProgress of a run.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct ReportedProgress {
    packets: u64,
    fraction: f64,
    simulated_ns: f64,
}

impl From<RunProgress> for ReportedProgress {
    fn from(now: RunProgress) -> Self {
        let RunProgress { packets, fraction, simulated_ns } = now;
        Self { packets, fraction, simulated_ns }
    }
}

impl StepReport {
    /// The report of a job's results so far; without any, its progress alone.
    pub(crate) fn new(
        job: &ActiveJob,
        has_ended: bool,
        progress: ReportedProgress,
        wall_s: f64,
    ) -> Self {
        let Some((result, llc)) = job.result(wall_s) else {
            return Self::UnderWay { progress };
        };
        let text = as_json(&result);
        match RawValue::from_string(text.clone()) {
            Err(error) => Self::Refused {
                error: RequestRefusal {
                    message: format!("the result is not JSON: {error}"),
                    key: None,
                },
            },
            Ok(result) if has_ended => Self::Ended { progress, result, text, llc },
            Ok(result) => Self::Batch { progress, result, llc },
        }
    }
}

fn as_json(result: &RunResult) -> String {
    // Maps with text keys and numbers: writing them cannot fail.
    serde_json::to_string(result).unwrap_or_default()
}
