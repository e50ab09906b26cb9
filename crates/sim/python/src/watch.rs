//! Runs that report their progress to a Python function; an exception of that function ends them.

use crate::{RunError, as_json};
use pyo3::prelude::*;
use serde::Serialize;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Time between two calls of a progress function.
const INTERVAL: Duration = Duration::from_millis(100);

/// The progress reports of a run that does not hold Python's lock.
pub(crate) struct WatchedRun<'a> {
    progress: Option<&'a Py<PyAny>>,
    reported_at: Instant,
    raised: Option<PyErr>,
}

impl<'a> WatchedRun<'a> {
    pub(crate) fn new(progress: Option<&'a Py<PyAny>>) -> Self {
        Self { progress, reported_at: Instant::now(), raised: None }
    }

    /// Checks for signals and calls the progress function, if the last call was 100 ms ago or more; `now`
    /// makes its arguments. Breaks if either raises an exception.
    pub(crate) fn report<A>(
        &mut self,
        now: impl FnOnce(Python<'_>) -> PyResult<A>,
    ) -> ControlFlow<()>
    where
        A: for<'py> pyo3::call::PyCallArgs<'py>,
    {
        if self.reported_at.elapsed() < INTERVAL {
            return ControlFlow::Continue(());
        }
        self.reported_at = Instant::now();
        let reported = Python::attach(|py| {
            py.check_signals()?;
            let Some(progress) = self.progress else { return Ok(()) };
            progress.call1(py, now(py)?).map(drop)
        });
        match reported {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// The result as JSON, if neither Python nor the run has failed.
    pub(crate) fn finish<E>(
        self,
        result: Result<impl Serialize, E>,
        failure: impl FnOnce(E) -> PyErr,
    ) -> PyResult<String> {
        match (result, self.raised) {
            (_, Some(error)) => Err(error),
            (Ok(result), None) => as_json(&result),
            (Err(error), None) => Err(failure(error)),
        }
    }
}

/// The failure of a run whose input was good.
pub(crate) fn failed(error: impl std::error::Error) -> PyErr {
    RunError::new_err(error.to_string())
}
