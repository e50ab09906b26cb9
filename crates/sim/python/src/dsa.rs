//! A data streaming accelerator for Python: operations on buffers, by devices or the CPU.
//!
//! An operation keeps its buffers alive, a job its operation, so that the memory which a device reads and
//! writes cannot be freed meanwhile.

mod client;
mod jobs;
mod operation;

use dsa_client::error::Error;
use dsa_client::outcome::{OffloadAnswer, OffloadOutcome};
use pyo3::create_exception;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

create_exception!(
    skipline.dsa,
    DsaError,
    PyOSError,
    "An operation that failed: errno, and a sentence for people."
);

/// Adds the classes and the exception to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("DsaError", module.py().get_type::<DsaError>())?;
    module.add_class::<client::PyDsaClient>()?;
    module.add_class::<operation::DsaOperation>()?;
    module.add_class::<operation::DsaTags>()?;
    module.add_class::<jobs::DsaJob>()?;
    module.add_class::<jobs::DsaBatchJob>()?;
    module.add_class::<DsaOutcome>()
}

/// An error that can be raised more than once.
#[derive(Clone)]
struct OperationFailure {
    errno: i32,
    text: String,
    is_input: bool,
}

impl From<Error> for OperationFailure {
    fn from(error: Error) -> Self {
        let is_input = matches!(
            error,
            Error::Argument { .. } | Error::Thresholds { .. } | Error::NoSuchQueue { .. }
        );
        Self { errno: error.errno(), text: error.to_string(), is_input }
    }
}

impl From<OperationFailure> for PyErr {
    fn from(failure: OperationFailure) -> Self {
        let OperationFailure { errno, text, is_input } = failure;
        if is_input { crate::InputError::new_err(text) } else { DsaError::new_err((errno, text)) }
    }
}

/// The outcome of an operation, or its error.
type OperationResult = Result<OffloadOutcome, OperationFailure>;

fn to_python(end: OperationResult) -> PyResult<DsaOutcome> {
    Ok(DsaOutcome { outcome: Box::new(end.map_err(PyErr::from)?) })
}

/// The outcome of an operation, and how many bytes a device and the CPU processed.
#[pyclass(module = "skipline.dsa", frozen)]
pub struct DsaOutcome {
    outcome: Box<OffloadOutcome>,
}

// Python aligns objects to 16 bytes; descriptors and records, which ask for more, are boxed in them.
const _: () = {
    assert!(align_of::<DsaOutcome>() <= 16 && align_of::<operation::DsaOperation>() <= 16);
    assert!(align_of::<jobs::DsaJob>() <= 16 && align_of::<jobs::DsaBatchJob>() <= 16);
    assert!(align_of::<client::PyDsaClient>() <= 16 && align_of::<operation::DsaTags>() <= 16);
};

#[pymethods]
impl DsaOutcome {
    /// "done", "equal", "differs", "crc", "delta" or "protection".
    #[getter]
    fn answer(&self) -> &'static str {
        match self.outcome.answer {
            OffloadAnswer::Done => "done",
            OffloadAnswer::Equal => "equal",
            OffloadAnswer::Differs { .. } => "differs",
            OffloadAnswer::Crc(_) => "crc",
            OffloadAnswer::Delta { .. } => "delta",
            OffloadAnswer::Protection { .. } => "protection",
        }
    }

    /// The offset of the first difference, or of the first wrong block; the CRC; the bytes of a record.
    #[getter]
    fn value(&self) -> Option<u64> {
        match self.outcome.answer {
            OffloadAnswer::Done | OffloadAnswer::Equal => None,
            OffloadAnswer::Differs { at } | OffloadAnswer::Protection { at, .. } => Some(at),
            OffloadAnswer::Crc(crc) => Some(crc),
            OffloadAnswer::Delta { bytes, .. } => Some(bytes.into()),
        }
    }

    /// Whether a record of differences was too small for all of them.
    #[getter]
    fn is_cut(&self) -> bool {
        matches!(self.outcome.answer, OffloadAnswer::Delta { is_cut: true, .. })
    }

    /// Faults of protection information, as a sum: 1 guard, 2 application tag, 4 reference tag, 8
    /// all ones.
    #[getter]
    fn dif_status(&self) -> u8 {
        match self.outcome.answer {
            OffloadAnswer::Protection { dif_status, .. } => dif_status,
            _ => 0,
        }
    }

    /// Number of bytes that devices processed.
    #[getter]
    fn device_bytes(&self) -> u64 {
        self.outcome.device_bytes
    }

    /// Number of bytes that the CPU processed.
    #[getter]
    fn cpu_bytes(&self) -> u64 {
        self.outcome.cpu_bytes
    }

    /// The completion record of the operation's last piece, in the layout of the hardware.
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.outcome.record.0)
    }

    fn __repr__(&self) -> String {
        let value = self.value().map_or(String::new(), |value| format!(" {value:#x}"));
        let (device, cpu) = (self.outcome.device_bytes, self.outcome.cpu_bytes);
        format!("<Outcome {}{value}: device {device} B, CPU {cpu} B>", self.answer())
    }
}
