//! Traces for Python: from files, by name, and from arrays.

use crate::arguments::{self, TextArgument};
use crate::watch::{WatchedRun, failed};
use crate::{DEFAULT_SEED, InputError, bad_input};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PySlice};
use recordings::trace::{Batch, Batches, TraceError, TraceFault};
use scenario::TraceJob;
use scenario::{TraceRunError, TraceWanted, standard_named};
use std::mem;
use std::ops::Range;
use units::{LINE_BYTES, Reference, ReferenceKind};

/// Kinds of references, by their numbers in arrays: the labels of din, and one more.
const KINDS: [ReferenceKind; 4] =
    [ReferenceKind::Load, ReferenceKind::Store, ReferenceKind::Fetch, ReferenceKind::Modify];

/// Replays a trace through a machine and returns the counts of each level, as JSON.
///
/// `progress` is called about ten times a second with the number of references so far and the share of
/// the file that has been read (None if unknown). If it raises an exception, the replay ends, and a pipe
/// keeps the bytes that have not been read by then. In a process that it forks, the replay fails.
#[pyfunction]
#[pyo3(signature = (trace, machine, trace_format=None, miss_kinds=false, seed=None, progress=None, *,
                    timed=false))]
#[allow(clippy::too_many_arguments)]
pub fn trace(
    py: Python<'_>,
    trace: TextArgument,
    machine: TextArgument,
    trace_format: Option<&str>,
    miss_kinds: bool,
    #[pyo3(from_py_with = arguments::seed)] seed: Option<u64>,
    progress: Option<Py<PyAny>>,
    timed: bool,
) -> PyResult<String> {
    let wanted = TraceWanted { time: timed, miss_kinds };
    py.detach(|| {
        let seed = seed.unwrap_or(DEFAULT_SEED);
        let job = TraceJob::of_file(&trace.0, &machine.0, trace_format, wanted, seed);
        run(job.map_err(|error| bad_input(&error))?, progress.as_ref())
    })
}

/// Replays a standard trace by its name and returns the counts of each level, as `trace` does.
#[pyfunction]
#[pyo3(signature = (name, machine, miss_kinds=false, seed=None, progress=None, *, timed=false))]
pub fn trace_standard(
    py: Python<'_>,
    name: TextArgument,
    machine: TextArgument,
    miss_kinds: bool,
    #[pyo3(from_py_with = arguments::seed)] seed: Option<u64>,
    progress: Option<Py<PyAny>>,
    timed: bool,
) -> PyResult<String> {
    let wanted = TraceWanted { time: timed, miss_kinds };
    py.detach(|| {
        let job = TraceJob::of_standard(&name.0, &machine.0, wanted, seed.unwrap_or(DEFAULT_SEED));
        run(job.map_err(|error| bad_input(&error))?, progress.as_ref())
    })
}

/// Replays the references of an array of unsigned 64-bit addresses, of bytes or of lines, and of
/// their kinds (0 load, 1 store, 2 instruction fetch, 3 modify); loads if there are none.
#[pyfunction]
#[pyo3(signature = (addresses, machine, kinds=None, *, of_lines=false, miss_kinds=false, seed=None,
                    progress=None, timed=false))]
#[allow(clippy::too_many_arguments)]
pub fn trace_array(
    py: Python<'_>,
    addresses: &Bound<'_, PyAny>,
    machine: TextArgument,
    kinds: Option<&Bound<'_, PyAny>>,
    of_lines: bool,
    miss_kinds: bool,
    #[pyo3(from_py_with = arguments::seed)] seed: Option<u64>,
    progress: Option<Py<PyAny>>,
    timed: bool,
) -> PyResult<String> {
    let array = Array::new(addresses, kinds, of_lines)?;
    let wanted = TraceWanted { time: timed, miss_kinds };
    py.detach(|| {
        let seed = seed.unwrap_or(DEFAULT_SEED);
        let job = TraceJob::of_batches("array", Box::new(array), &machine.0, wanted, seed);
        run(job.map_err(|error| bad_input(&error))?, progress.as_ref())
    })
}

/// The byte addresses of a standard trace in the format of a raw64 file.
#[pyfunction]
pub fn standard_trace<'py>(py: Python<'py>, name: TextArgument) -> PyResult<Bound<'py, PyBytes>> {
    let trace = standard_named(&name.0).map_err(|error| bad_input(&error))?;
    let bytes = trace.addresses().flat_map(u64::to_le_bytes);
    Ok(PyBytes::new(py, &bytes.collect::<Vec<u8>>()))
}

/// Runs a replay without Python's lock.
fn run(job: TraceJob, progress: Option<&Py<PyAny>>) -> PyResult<String> {
    let mut watched = WatchedRun::new(progress);
    let result = job.run(|now| watched.report(|_| Ok((now.references, now.fraction))));
    watched.finish(result, |error| match error {
        error @ (TraceRunError::Trace(_) | TraceRunError::TooManyRegions { .. }) => {
            InputError::new_err(error.to_string())
        }
        error => failed(error),
    })
}

/// References that are taken from Python's arrays at once: enough that its lock, which other threads
/// may hold for milliseconds, does not matter, and few enough for the host's L2.
const TAKEN_AT_ONCE: usize = 1 << 16;

/// Arrays of addresses and kinds from Python, read in batches.
struct Array {
    addresses: Py<PyMemoryView>,
    kinds: Option<Py<PyMemoryView>>,
    of_lines: bool,
    references: usize,
    given: usize,
    /// Buffers for addresses and kinds, which are used again.
    copied: (Vec<u64>, Vec<u8>),
}

fn refused(what: &str, problem: &str) -> PyErr {
    InputError::new_err(format!("{what}: {problem}"))
}

/// A view of an array of `T`, and the array's length.
fn view<T: Element>(
    what: &str,
    array: &Bound<'_, PyAny>,
    bits: u32,
) -> PyResult<(Py<PyMemoryView>, usize)> {
    if array.len().is_ok_and(|length| length == 0) {
        // An empty buffer need not be aligned, and is refused for that.
        return Err(refused(what, "the array holds no references"));
    }
    let buffer = arguments::buffer::<T>(array, bits).map_err(|problem| refused(what, &problem))?;
    if buffer.dimensions() == 1 {
        Ok((PyMemoryView::from(array)?.unbind(), buffer.item_count()))
    } else {
        Err(refused(what, "the array has more than one dimension"))
    }
}

/// Replaces the content of `into` by a range of elements.
fn copy<T: Element + Default>(
    py: Python<'_>,
    view: &Py<PyMemoryView>,
    which: &Range<usize>,
    into: &mut Vec<T>,
) -> PyResult<()> {
    let slice = PySlice::new(py, which.start.cast_signed(), which.end.cast_signed(), 1);
    into.resize(which.len(), T::default());
    PyBuffer::<T>::get(&view.bind(py).get_item(slice)?)?.copy_to_slice(py, into)
}

impl Array {
    fn new(
        addresses: &Bound<'_, PyAny>,
        kinds: Option<&Bound<'_, PyAny>>,
        of_lines: bool,
    ) -> PyResult<Self> {
        let (addresses, references) = view::<u64>("addresses", addresses, 64)?;
        let kinds = kinds.map(|kinds| view::<u8>("kinds", kinds, 8)).transpose()?;
        if let Some((_, count)) = kinds
            && count != references
        {
            let problem = format!("{count} for {references} addresses; as many are needed");
            return Err(refused("kinds", &problem));
        }
        let kinds = kinds.map(|(view, _)| view);
        Ok(Self { addresses, kinds, of_lines, references, given: 0, copied: Default::default() })
    }

    /// Copies addresses out of their array.
    fn copy_addresses(
        &self,
        py: Python<'_>,
        which: &Range<usize>,
        into: &mut Vec<u64>,
    ) -> Result<(), TraceFault> {
        copy(py, &self.addresses, which, into).map_err(unreadable)?;
        if !self.of_lines {
            return Ok(());
        }
        for (index, number) in which.clone().zip(into) {
            let address = number.checked_mul(LINE_BYTES);
            *number = address.ok_or(TraceFault::LineBeyondAddresses { index, number: *number })?;
        }
        Ok(())
    }

    /// Copies references out of the arrays.
    fn copy_next(
        &mut self,
        py: Python<'_>,
        which: Range<usize>,
        into: &mut Batch,
    ) -> Result<(), TraceFault> {
        let Some(kinds) = &self.kinds else {
            return self.copy_addresses(py, &which, into.for_loads());
        };
        let (mut addresses, mut numbers) = mem::take(&mut self.copied);
        self.copy_addresses(py, &which, &mut addresses)?;
        copy(py, kinds, &which, &mut numbers).map_err(unreadable)?;
        let references = into.for_references();
        for (index, (&address, &number)) in which.zip(addresses.iter().zip(&numbers)) {
            let kind = KINDS.get(usize::from(number));
            let &kind = kind.ok_or(TraceFault::BadKind { index, number })?;
            references.push(Reference { address, bytes: 1, kind });
        }
        self.copied = (addresses, numbers);
        Ok(())
    }
}

/// The fault of an array that had the right elements when the replay began.
fn unreadable(error: PyErr) -> TraceFault {
    TraceFault::CannotRead { offset: 0, error: std::io::Error::other(error.to_string()) }
}

impl Batches for Array {
    fn next_batch(&mut self, into: &mut Batch) -> Result<bool, TraceError> {
        let next = self.given..self.references.min(self.given + TAKEN_AT_ONCE);
        self.given = next.end;
        let goes_on = !next.is_empty();
        if goes_on {
            let copied = Python::attach(|py| self.copy_next(py, next, into));
            copied.map_err(|fault| TraceError { path: "array".into(), fault })?;
        }
        Ok(goes_on)
    }

    fn fraction(&self) -> Option<f64> {
        Some(self.given as f64 / self.references as f64)
    }

    fn format(&self) -> &'static str {
        "array"
    }
}
