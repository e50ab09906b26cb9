//! The engine of `skipline explore`: what a page in a browser asks, answered by this machine.

use pyo3::prelude::*;
use web::{ExplorerSession, facts};

/// Time between two reports of a run's progress, in ms: after each of them the caller may end the run.
const STEP_MS: f64 = 50.0;

/// Runs what a page asks for. `report` is called with each line for the page, and ends the run by returning
/// false. Other Python threads run at the same time.
#[pyfunction]
pub(crate) fn explorer_run(py: Python<'_>, request: &str, report: Py<PyAny>) -> PyResult<()> {
    py.detach(|| {
        let send = |line: String| {
            Python::attach(|py| report.call1(py, (line,)).and_then(|goes_on| goes_on.extract(py)))
        };
        let mut session = ExplorerSession::default();
        let mut goes_on: bool = send(session.start(request))?;
        while goes_on && session.is_under_way() {
            goes_on = send(session.advance(STEP_MS))?;
        }
        Ok(())
    })
}

/// Calls a function of the facts that a page shows, by its name; None if it has no answer. Other Python threads
/// run at the same time.
#[pyfunction]
pub(crate) fn explorer_fact(py: Python<'_>, name: &str, argument: &str) -> Option<String> {
    py.detach(|| facts::by_name(name, argument))
}
