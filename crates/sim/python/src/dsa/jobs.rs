//! Jobs: operations that were submitted.

use super::operation::Buffers;
use super::{DsaOutcome, OperationFailure, OperationResult, to_python};
use crate::InputError;
use dsa_client::batch::BatchJob;
use dsa_client::job::OffloadJob;
use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::mem::take;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two checks for Python's signals.
const SLICE: Duration = Duration::from_millis(50);

/// The work of a job, or its result once the work has ended.
enum JobState<W, E> {
    UnderWay(W),
    Ended(E),
}

/// Submitted work, with its buffers until it has ended.
struct PendingWork<W, E> {
    state: Mutex<JobState<W, E>>,
    buffers: Mutex<Vec<Buffers>>,
}

impl<W: Send, E: Clone + Send> PendingWork<W, E> {
    fn new(work: W, buffers: Vec<Buffers>) -> Self {
        Self { state: Mutex::new(JobState::UnderWay(work)), buffers: Mutex::new(buffers) }
    }

    /// The result, if the work has ended before or `look` returns one. Releases Python's lock meanwhile,
    /// since the thread that has this job's lock may need it.
    fn look(&self, py: Python<'_>, look: impl FnOnce(&mut W) -> Option<E> + Send) -> Option<E> {
        let end = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if let JobState::UnderWay(work) = &mut *state
                && let Some(end) = look(work)
            {
                *state = JobState::Ended(end);
            }
            match &*state {
                JobState::Ended(end) => Some(end.clone()),
                JobState::UnderWay(_) => None,
            }
        });
        if end.is_some() {
            let buffers = self.buffers.lock().map(|mut kept| take(&mut *kept));
            drop(buffers);
        }
        end
    }

    /// Waits for the result; a signal ends the wait with an exception.
    fn wait(
        &self,
        py: Python<'_>,
        timeout_s: Option<f64>,
        look: impl Fn(&mut W, Duration) -> Option<E> + Send + Sync,
    ) -> PyResult<E> {
        let most = timeout_s.map(seconds).transpose()?;
        let begun = Instant::now();
        loop {
            let left = most.map_or(SLICE, |most| most.saturating_sub(begun.elapsed()));
            let slice = left.min(SLICE);
            if let Some(end) = self.look(py, |work| look(work, slice)) {
                return Ok(end);
            }
            if left.is_zero() {
                let limit = timeout_s.unwrap_or_default();
                let text = format!("the job is under way after {limit} s");
                return Err(PyTimeoutError::new_err(text));
            }
            py.check_signals()?;
        }
    }

    /// Leaks the buffers, unless the work has ended: a device may still write to them.
    fn leave(&mut self, has_ended: impl FnOnce(&mut W) -> bool) {
        if let Ok(JobState::UnderWay(work)) = self.state.get_mut()
            && !has_ended(work)
        {
            let buffers = self.buffers.get_mut().map(take).unwrap_or_default();
            std::mem::forget(buffers);
        }
    }
}

fn seconds(given: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(given)
        .map_err(|why| InputError::new_err(format!("`timeout_s` = {given}: {why}")))
}

/// An operation that was submitted. Its buffers belong to the device until it has ended.
#[pyclass(module = "skipline.dsa", frozen)]
pub struct DsaJob(Box<PendingWork<OffloadJob, OperationResult>>);

impl DsaJob {
    pub(super) fn new(job: OffloadJob, buffers: Buffers) -> Self {
        Self(Box::new(PendingWork::new(job, vec![buffers])))
    }
}

#[pymethods]
impl DsaJob {
    /// Whether the operation has ended, with or without success.
    fn has_ended(&self, py: Python<'_>) -> bool {
        self.0.look(py, |job| job.poll().map(operation_result)).is_some()
    }

    /// The outcome; None as long as the operation is under way. Raises the operation's error.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<DsaOutcome>> {
        self.0.look(py, |job| job.poll().map(operation_result)).map(to_python).transpose()
    }

    /// Waits for the outcome; raises TimeoutError after `timeout_s` seconds (None: no limit).
    #[pyo3(signature = (timeout_s=None))]
    fn wait(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<DsaOutcome> {
        to_python(self.0.wait(py, timeout_s, |job, most| job.wait_for(most).map(operation_result))?)
    }
}

impl Drop for DsaJob {
    fn drop(&mut self) {
        self.0.leave(OffloadJob::has_ended);
    }
}

/// A list of operations that was submitted as one batch.
#[pyclass(module = "skipline.dsa", frozen)]
pub struct DsaBatchJob(Box<PendingWork<BatchJob, Vec<OperationResult>>>);

impl DsaBatchJob {
    pub(super) fn new(job: BatchJob, buffers: Vec<Buffers>) -> Self {
        Self(Box::new(PendingWork::new(job, buffers)))
    }
}

#[pymethods]
impl DsaBatchJob {
    /// Whether all operations have ended, with or without success.
    fn has_ended(&self, py: Python<'_>) -> bool {
        self.0.look(py, poll_list).is_some()
    }

    /// The outcome of each operation, or its error, in the order of the list; None as long as any is under
    /// way.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        self.0.look(py, poll_list).map(|ends| to_python_list(py, ends)).transpose()
    }

    /// Waits for the outcomes of all operations; raises TimeoutError after `timeout_s` seconds (None: no
    /// limit).
    #[pyo3(signature = (timeout_s=None))]
    fn wait<'py>(&self, py: Python<'py>, timeout_s: Option<f64>) -> PyResult<Bound<'py, PyList>> {
        to_python_list(py, self.0.wait(py, timeout_s, wait_for_list)?)
    }
}

impl Drop for DsaBatchJob {
    fn drop(&mut self) {
        self.0.leave(|job| job.poll().is_some());
    }
}

fn operation_result(
    end: Result<dsa_client::outcome::OffloadOutcome, dsa_client::error::Error>,
) -> OperationResult {
    end.map_err(OperationFailure::from)
}

fn poll_list(job: &mut BatchJob) -> Option<Vec<OperationResult>> {
    job.poll().map(|ends| ends.into_iter().map(operation_result).collect())
}

fn wait_for_list(job: &mut BatchJob, most: Duration) -> Option<Vec<OperationResult>> {
    let begun = Instant::now();
    loop {
        let ends = poll_list(job);
        if ends.is_some() || begun.elapsed() >= most {
            return ends;
        }
        std::thread::yield_now();
    }
}

fn to_python_list(py: Python<'_>, ends: Vec<OperationResult>) -> PyResult<Bound<'_, PyList>> {
    let all = PyList::empty(py);
    for end in ends {
        match to_python(end) {
            Ok(outcome) => all.append(outcome)?,
            Err(error) => all.append(error.value(py))?,
        }
    }
    Ok(all)
}
