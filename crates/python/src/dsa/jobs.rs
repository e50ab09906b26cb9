//! Operations under way.

use super::operation::Buffers;
use super::{DsaOutcome, End, Failure, told};
use crate::InputError;
use dsa_client::batch::BatchJob;
use dsa_client::job::Job;
use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::mem::take;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two looks at whether Python has a signal.
const SLICE: Duration = Duration::from_millis(50);

/// What was begun, until its end is there.
enum State<W, E> {
    UnderWay(W),
    Ended(E),
}

/// What was begun, and its buffers until it has ended.
struct Begun<W, E> {
    state: Mutex<State<W, E>>,
    buffers: Mutex<Vec<Buffers>>,
}

impl<W: Send, E: Clone + Send> Begun<W, E> {
    fn new(work: W, buffers: Vec<Buffers>) -> Self {
        Self { state: Mutex::new(State::UnderWay(work)), buffers: Mutex::new(buffers) }
    }

    /// The end, if `look` finds one. Without Python's lock, which other threads need to let go of it.
    fn look(&self, py: Python<'_>, look: impl FnOnce(&mut W) -> Option<E> + Send) -> Option<E> {
        let end = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if let State::UnderWay(work) = &mut *state
                && let Some(end) = look(work)
            {
                *state = State::Ended(end);
            }
            match &*state {
                State::Ended(end) => Some(end.clone()),
                State::UnderWay(_) => None,
            }
        });
        if end.is_some() {
            let buffers = self.buffers.lock().map(|mut kept| take(&mut *kept));
            drop(buffers);
        }
        end
    }

    /// Waits for the end; signals end it.
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

    /// Leaves the buffers to a device that may write them still.
    fn leave(&mut self, has_ended: impl FnOnce(&mut W) -> bool) {
        if let Ok(State::UnderWay(work)) = self.state.get_mut()
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

/// An operation that was begun. Its buffers are the device's until it has ended.
#[pyclass(module = "skipline.dsa", frozen)]
pub struct DsaJob(Box<Begun<Job, End>>);

impl DsaJob {
    pub(super) fn new(job: Job, buffers: Buffers) -> Self {
        Self(Box::new(Begun::new(job, vec![buffers])))
    }
}

#[pymethods]
impl DsaJob {
    /// Whether it has ended, in whatever way.
    fn has_ended(&self, py: Python<'_>) -> bool {
        self.0.look(py, |job| job.poll().map(end_of)).is_some()
    }

    /// What it came to; None as long as it is under way.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<DsaOutcome>> {
        self.0.look(py, |job| job.poll().map(end_of)).map(told).transpose()
    }

    /// Waits for its end, but not longer than `timeout_s`, which raises TimeoutError.
    #[pyo3(signature = (timeout_s=None))]
    fn wait(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<DsaOutcome> {
        told(self.0.wait(py, timeout_s, |job, most| job.wait_for(most).map(end_of))?)
    }
}

impl Drop for DsaJob {
    fn drop(&mut self) {
        self.0.leave(Job::has_ended);
    }
}

/// A list of operations that was begun.
#[pyclass(module = "skipline.dsa", frozen)]
pub struct DsaBatchJob(Box<Begun<BatchJob, Vec<End>>>);

impl DsaBatchJob {
    pub(super) fn new(job: BatchJob, buffers: Vec<Buffers>) -> Self {
        Self(Box::new(Begun::new(job, buffers)))
    }
}

#[pymethods]
impl DsaBatchJob {
    /// Whether all operations have ended, in whatever way.
    fn has_ended(&self, py: Python<'_>) -> bool {
        self.0.look(py, poll_list).is_some()
    }

    /// What each operation came to, or the error that it failed with, in the order of the list;
    /// None as long as any is under way.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        self.0.look(py, poll_list).map(|ends| told_all(py, ends)).transpose()
    }

    /// Waits for the last end, but not longer than `timeout_s`, which raises TimeoutError.
    #[pyo3(signature = (timeout_s=None))]
    fn wait<'py>(&self, py: Python<'py>, timeout_s: Option<f64>) -> PyResult<Bound<'py, PyList>> {
        told_all(py, self.0.wait(py, timeout_s, wait_for_list)?)
    }
}

impl Drop for DsaBatchJob {
    fn drop(&mut self) {
        self.0.leave(|job| job.poll().is_some());
    }
}

fn end_of(end: Result<dsa_client::outcome::Outcome, dsa_client::error::Error>) -> End {
    end.map_err(Failure::from)
}

fn poll_list(job: &mut BatchJob) -> Option<Vec<End>> {
    job.poll().map(|ends| ends.into_iter().map(end_of).collect())
}

fn wait_for_list(job: &mut BatchJob, most: Duration) -> Option<Vec<End>> {
    let begun = Instant::now();
    loop {
        let ends = poll_list(job);
        if ends.is_some() || begun.elapsed() >= most {
            return ends;
        }
        std::thread::yield_now();
    }
}

fn told_all(py: Python<'_>, ends: Vec<End>) -> PyResult<Bound<'_, PyList>> {
    let all = PyList::empty(py);
    for end in ends {
        match told(end) {
            Ok(outcome) => all.append(outcome)?,
            Err(error) => all.append(error.value(py))?,
        }
    }
    Ok(all)
}
