//! Texts that the command line reads, and Ctrl-C while an input is waited for.

use crate::arguments::TextArgument;
use crate::{InputError, bad_input};
use inputs::{pipes, streams, texts};
use pyo3::prelude::*;
use scenario::InputError as BadInput;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::{Mutex, PoisonError};

/// The exception of a signal that ended a reading.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

/// Has readings end when a signal raises an exception in Python.
pub(crate) fn watch_signals() {
    pipes::stop_when(|| match Python::attach(|py| py.check_signals()) {
        Ok(()) => false,
        Err(error) => {
            *RAISED.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            true
        }
    });
}

/// The exception for bad input: that of the signal, if one ended the reading.
pub(crate) fn exception(message: impl FnOnce() -> String) -> PyErr {
    let raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner).take();
    raised.unwrap_or_else(|| InputError::new_err(message()))
}

/// Raises the exception of a signal that ended a reading which was not needed in the end.
pub(crate) fn check_signal() -> PyResult<()> {
    let raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner).take();
    raised.map_or(Ok(()), Err)
}

/// Checks a scenario for a command that reads its inputs again later.
pub(crate) fn planned(
    scenario: &str,
    overrides: &[(String, String)],
) -> Result<scenario::Job, PyErr> {
    let job = || scenario::job(scenario, overrides, crate::DEFAULT_SEED);
    let job = streams::files_only(job).map_err(|error: BadInput| bad_input(&error))?;
    check_signal()?;
    Ok(job)
}

/// The text of a file or a pipe; None if there is no such file. The text of a pipe can be read again.
/// Of a file of keys less is read than of others.
#[pyfunction]
#[pyo3(signature = (path, *, keys=false))]
pub(crate) fn read_text(
    py: Python<'_>,
    path: TextArgument,
    keys: bool,
) -> PyResult<Option<String>> {
    let read = if keys { texts::read_keys } else { texts::read };
    py.detach(|| match read(&path.0) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(exception(|| format!("{}: cannot be read: {}", path.0, inputs::reason(&error))))
        }
    })
}

/// Whether a path is a pipe, a device or standard input: what is read there once is gone.
#[pyfunction]
pub(crate) fn is_pipe(path: TextArgument) -> bool {
    inputs::is_pipe(path.0)
}

/// The contents of pipes that this process has read, by path.
#[pyfunction]
pub(crate) fn kept_inputs(py: Python<'_>) -> BTreeMap<String, Vec<u8>> {
    py.detach(texts::kept)
}

/// The content of a pipe that has been read; None if it has not.
#[pyfunction]
pub(crate) fn kept_input(py: Python<'_>, path: TextArgument) -> Option<Vec<u8>> {
    py.detach(|| texts::kept_bytes(&path.0))
}

/// Takes over the contents of pipes that another process has read.
#[pyfunction]
pub(crate) fn keep_inputs(py: Python<'_>, by_path: BTreeMap<String, Vec<u8>>) {
    py.detach(|| texts::keep(by_path));
}
