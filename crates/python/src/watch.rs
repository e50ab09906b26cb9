//! Runs that Python watches: it hears how far they are, and what it raises ends them.

use crate::{RunError, as_json};
use pyo3::prelude::*;
use serde::Serialize;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Time between two calls of a progress function.
const INTERVAL: Duration = Duration::from_millis(100);

/// A run without Python's lock that a progress function is told about.
pub(crate) struct Watched<'a> {
    progress: Option<&'a Py<PyAny>>,
    told_at: Instant,
    raised: Option<PyErr>,
}

impl<'a> Watched<'a> {
    pub(crate) fn by(progress: Option<&'a Py<PyAny>>) -> Self {
        Self { progress, told_at: Instant::now(), raised: None }
    }

    /// Calls the progress function if it is time, after looking for signals; `now` makes its arguments.
    pub(crate) fn tell<A>(&mut self, now: impl FnOnce(Python<'_>) -> PyResult<A>) -> ControlFlow<()>
    where
        A: for<'py> pyo3::call::PyCallArgs<'py>,
    {
        if self.told_at.elapsed() < INTERVAL {
            return ControlFlow::Continue(());
        }
        self.told_at = Instant::now();
        let told = Python::attach(|py| {
            py.check_signals()?;
            let Some(progress) = self.progress else { return Ok(()) };
            progress.call1(py, now(py)?).map(drop)
        });
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// The result as JSON, if neither Python nor the run has failed.
    pub(crate) fn ended<E>(
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
