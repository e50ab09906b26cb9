//! The client: queues, thresholds and statistics.

use super::jobs::{DsaBatchJob, DsaJob};
use super::operation::DsaOperation;
use super::{DsaOutcome, OperationFailure, to_python};
use crate::InputError;
use crate::arguments::TextArgument;
use ::dsa::hardware::Opcode;
use dsa_client::batch::OffloadBatch;
use dsa_client::client::{OffloadClient, Options, Path};
use dsa_client::portal::SubmissionMethod;
use dsa_client::queues::SharingMode;
use dsa_client::statistics::{Amount, Reason};
use dsa_client::thresholds::Thresholds;
use dsa_client::wait::WaitMethod;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs operations on devices and the CPU. Threads may share a client.
#[pyclass(name = "DsaClient", module = "skipline.dsa", frozen)]
pub struct PyDsaClient {
    /// None after the client was closed.
    client: Mutex<Option<OffloadClient>>,
}

/// Finds the choice of a name.
fn choice<T: Copy>(argument: &str, name: &str, all: &[(&str, T)]) -> PyResult<T> {
    let known = all.iter().find(|(known, _)| *known == name);
    known.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
        let why = format!("`{argument}` = \"{name}\"; allowed: {}", names.join(", "));
        InputError::new_err(why)
    })
}

fn path(name: &str) -> PyResult<Path> {
    let all = [("automatic", Path::Automatic), ("device", Path::Device), ("cpu", Path::Cpu)];
    choice("path", name, &all)
}

#[pymethods]
impl PyDsaClient {
    /// Opens work queues; without any the CPU runs all operations.
    #[new]
    #[pyo3(signature = (queues=None, *, thresholds=None, synchronous_bytes=None,
                        asynchronous_bytes=None, submission="automatic", wait="poll",
                        environment=true))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        queues: Option<Vec<String>>,
        thresholds: Option<TextArgument>,
        synchronous_bytes: Option<u64>,
        asynchronous_bytes: Option<u64>,
        submission: &str,
        wait: &str,
        environment: bool,
    ) -> PyResult<Self> {
        let mut options = Options::default();
        if environment {
            options = options.with_environment().map_err(OperationFailure::from)?;
        }
        options.queues = queues.or(options.queues);
        if let Some(file) = thresholds {
            options.thresholds =
                Thresholds::read(file.0.as_ref()).map_err(OperationFailure::from)?;
        }
        if synchronous_bytes.is_some() || asynchronous_bytes.is_some() {
            let given = &mut options.thresholds;
            for opcode in Opcode::ALL {
                let synchronous = synchronous_bytes.unwrap_or(given.synchronous_bytes(opcode));
                let asynchronous = asynchronous_bytes.unwrap_or(given.asynchronous_bytes(opcode));
                given.set(opcode, synchronous, asynchronous);
            }
        }
        let ways = [
            ("automatic", SubmissionMethod::Automatic),
            ("instruction", SubmissionMethod::Instruction),
            ("write", SubmissionMethod::Write),
        ];
        options.submission = choice("submission", submission, &ways)?;
        options.wait =
            choice("wait", wait, &[("poll", WaitMethod::Poll), ("line", WaitMethod::Line)])?;
        let client = OffloadClient::open(&options).map_err(OperationFailure::from)?;
        Ok(Self { client: Mutex::new(Some(client)) })
    }

    /// Runs an operation and waits for its outcome. Other Python threads run at the same time.
    #[pyo3(signature = (operation, path="automatic"))]
    fn run(&self, py: Python<'_>, operation: &DsaOperation, path: &str) -> PyResult<DsaOutcome> {
        let (client, path) = (self.open()?, self::path(path)?);
        // SAFETY: the operation keeps its buffers, whose sizes its maker has looked at.
        let ended = py.detach(|| unsafe { client.run(&operation.operation, path) });
        to_python(ended.map_err(OperationFailure::from))
    }

    /// Submits an operation.
    #[pyo3(signature = (operation, path="automatic"))]
    fn submit(&self, py: Python<'_>, operation: &DsaOperation, path: &str) -> PyResult<DsaJob> {
        let (client, path) = (self.open()?, self::path(path)?);
        // SAFETY: the job keeps the buffers until it has ended, or leaves them to the device for ever.
        let begun = py.detach(|| unsafe { client.submit(&operation.operation, path) });
        Ok(DsaJob::new(begun.map_err(OperationFailure::from)?, Arc::clone(&operation.buffers)))
    }

    /// Submits a list of operations as one batch; operations whose indices are in `behind_fence` begin when
    /// all before them have ended.
    #[pyo3(signature = (operations, path="automatic", *, behind_fence=None))]
    fn submit_batch(
        &self,
        py: Python<'_>,
        operations: Vec<PyRef<'_, DsaOperation>>,
        path: &str,
        behind_fence: Option<Vec<usize>>,
    ) -> PyResult<DsaBatchJob> {
        let behind_fence = behind_fence.unwrap_or_default();
        let (client, path) = (self.open()?, self::path(path)?);
        if let Some(number) = behind_fence.iter().find(|number| **number >= operations.len()) {
            let count = operations.len();
            let why = format!("`behind_fence` has {number}, and there are {count} operations");
            return Err(InputError::new_err(why));
        }
        if operations.is_empty() {
            return Err(InputError::new_err("`operations` is empty; one or more are needed"));
        }
        let mut batch = OffloadBatch::new();
        for (number, operation) in operations.iter().enumerate() {
            if behind_fence.contains(&number) {
                batch.add_behind_fence(*operation.operation);
            } else {
                batch.add(*operation.operation);
            }
        }
        let buffers = operations.iter().map(|operation| Arc::clone(&operation.buffers)).collect();
        // SAFETY: as above.
        let begun = py.detach(|| unsafe { client.submit_batch(&batch, path) });
        Ok(DsaBatchJob::new(begun.map_err(OperationFailure::from)?, buffers))
    }

    /// A dictionary for each of the client's queues.
    fn queues<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let client = self.open()?;
        let queues = client.portals().iter().map(|portal| {
            let (queue, entry) = (portal.queue(), PyDict::new(py));
            let mode = if queue.mode == SharingMode::Dedicated { "dedicated" } else { "shared" };
            entry.set_item("name", &queue.name)?;
            entry.set_item("device", &queue.device)?;
            entry.set_item("label", &queue.label)?;
            entry.set_item("mode", mode)?;
            entry.set_item("entries", queue.entries)?;
            entry.set_item("most_batch", queue.most_batch)?;
            entry.set_item("most_transfer_bytes", queue.most_transfer_bytes)?;
            entry.set_item("node", queue.node)?;
            entry.set_item("is_mapped", portal.is_mapped())?;
            entry.set_item("under_way", portal.under_way())?;
            entry.set_item("is_enabled", queue.is_enabled())?;
            Ok(entry)
        });
        queues.collect()
    }

    /// The reason why an enabled queue is not used, a sentence for each such queue.
    fn left_out(&self) -> PyResult<Vec<String>> {
        Ok(self.open()?.left_out().iter().map(ToString::to_string).collect())
    }

    /// Numbers of operations and bytes by device and by CPU for each operation, and by reason for the CPU.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let now = self.open()?.statistics();
        let pair = |amount: Amount| (amount.count, amount.bytes);
        let by = |amount: &dyn Fn(Opcode) -> Amount| -> BTreeMap<&str, (u64, u64)> {
            let all = Opcode::ALL.map(|opcode| (opcode.name(), pair(amount(opcode))));
            all.into_iter().filter(|(_, (count, _))| *count > 0).collect()
        };
        let reasons = Reason::ALL.map(|reason| (reason.words(), pair(now.by_reason(reason))));
        let statistics = PyDict::new(py);
        statistics.set_item("device", by(&|opcode| now.by_device(opcode)))?;
        statistics.set_item("cpu", by(&|opcode| now.by_cpu(opcode)))?;
        let reasons = reasons.into_iter().filter(|(_, (count, _))| *count > 0);
        statistics.set_item("reasons", reasons.collect::<BTreeMap<_, _>>())?;
        statistics.set_item("retries", now.retries)?;
        statistics.set_item("pages", now.pages)?;
        statistics.set_item("abandoned", now.abandoned)?;
        Ok(statistics)
    }

    /// Smallest sizes in bytes for which a device is used, for each operation: if the caller waits, and if
    /// it does not.
    fn thresholds(&self) -> PyResult<BTreeMap<&'static str, (u64, u64)>> {
        let client = self.open()?;
        let sizes = |opcode| {
            let all = client.thresholds();
            (all.synchronous_bytes(opcode), all.asynchronous_bytes(opcode))
        };
        Ok(Thresholds::names().map(|(name, opcode)| (name, sizes(opcode))).collect())
    }

    /// Closes the client and, once the last job has ended, its queues. A closed client refuses all calls.
    fn close(&self) {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(client);
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (_kind, _error, _traceback, /))]
    fn __exit__(
        &self,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        self.close();
    }
}

impl PyDsaClient {
    fn open(&self) -> PyResult<OffloadClient> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.clone().ok_or_else(|| InputError::new_err("the client is closed"))
    }
}
