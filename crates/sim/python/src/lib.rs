//! The Python module `skipline._core`: runs scenarios and returns facts, one function per concept.
//!
//! Bad input raises `InputError`, a failed run `RunError`; results are JSON texts.

mod arguments;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod dsa;
mod explorer;
mod input_files;
mod slices;
mod stores;
mod traces;
mod watch;

use arguments::TextArgument;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use scenario::result::PerfettoTrace;
use scenario::{
    InputError as BadInput, KernelJob, RecordingRequest, RunProgress, WindowRequest, builtin,
    metrics, schema,
};
use units::LineAddr;
use watch::{WatchedRun, failed};

create_exception!(_core, InputError, PyException, "Bad input: the message is for people.");
create_exception!(_core, RunError, PyException, "A run that failed although its input was good.");

/// Seed of runs without the argument `seed`.
const DEFAULT_SEED: u64 = 1;

/// Overrides of scenario keys, from Python: pairs of key and value.
type Overrides = Vec<(TextArgument, TextArgument)>;

fn bad_input(error: &BadInput) -> PyErr {
    input_files::exception(|| error.to_string())
}

fn as_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| RunError::new_err(error.to_string()))
}

/// Runs a scenario and returns its result as JSON.
///
/// `resolved` is called once, when the input has been checked and before the simulation begins.
/// `progress` is called about ten times a second with packets, fraction and simulated_ns. `perfetto` is
/// called once at the end with the timeline, its number of operations and whether it is cut off, if its
/// window has come: `perfetto_window` is the number of its first packet and of packets; without it, the
/// life of the traced descriptor. What any of them raises ends the run. Other Python threads run at the same time.
#[pyfunction]
#[pyo3(signature = (scenario, overrides, seed=None, trace_packet=None, progress=None, *,
                    trace_line=None, trace_descriptor=None, miss_kinds=false, resolved=None,
                    perfetto_window=None, perfetto=None))]
#[allow(clippy::too_many_arguments)]
fn run(
    py: Python<'_>,
    scenario: TextArgument,
    overrides: Overrides,
    #[pyo3(from_py_with = arguments::seed)] seed: Option<u64>,
    #[pyo3(from_py_with = arguments::trace_packet)] trace_packet: Option<u64>,
    progress: Option<Py<PyAny>>,
    #[pyo3(from_py_with = arguments::trace_line)] trace_line: Option<u64>,
    #[pyo3(from_py_with = arguments::trace_descriptor)] trace_descriptor: Option<u64>,
    miss_kinds: bool,
    resolved: Option<Py<PyAny>>,
    perfetto_window: Option<(u64, u64)>,
    perfetto: Option<Py<PyAny>>,
) -> PyResult<String> {
    let overrides = arguments::pairs(overrides);
    py.detach(|| {
        let seed = seed.unwrap_or(DEFAULT_SEED);
        let job =
            scenario::job(&scenario.0, &overrides, seed).map_err(|error| bad_input(&error))?;
        input_files::check_signal()?;
        if let Some(resolved) = resolved {
            Python::attach(|py| resolved.call0(py))?;
        }
        let line = trace_line.map(LineAddr::of_byte);
        let (packet, descriptor) = (trace_packet, trace_descriptor);
        let window = perfetto.is_some().then_some(WindowRequest {
            packets: perfetto_window,
            descriptor: descriptor.filter(|_| perfetto_window.is_none()),
        });
        let wanted = RecordingRequest { packet, descriptor, line, miss_kinds, window };
        let mut watched = WatchedRun::new(progress.as_ref());
        let mut result = job.run(wanted, |now| watched.report(|py| as_dict(py, now)));
        let trace = result.as_mut().ok().and_then(|result| result.perfetto.take());
        let text = watched.finish(result, failed)?;
        perfetto.zip(trace).map_or(Ok(()), |(receiver, trace)| hand_over(&receiver, &trace))?;
        Ok(text)
    })
}

/// Gives a timeline to the function that receives it.
fn hand_over(receiver: &Py<PyAny>, trace: &PerfettoTrace) -> PyResult<()> {
    Python::attach(|py| {
        let bytes = PyBytes::new(py, &trace.bytes);
        receiver.call1(py, (bytes, trace.operations, trace.is_cut)).map(drop)
    })
}

/// The progress of a run as a Python dictionary.
fn as_dict(py: Python<'_>, now: RunProgress) -> PyResult<(Py<PyDict>,)> {
    let progress = PyDict::new(py);
    progress.set_item("packets", now.packets)?;
    progress.set_item("fraction", now.fraction)?;
    progress.set_item("simulated_ns", now.simulated_ns)?;
    Ok((progress.unbind(),))
}

/// Runs the kernels with which a host measures itself on a platform; `kernels` and the result are
/// JSON.
///
/// `progress` is called about ten times a second with the share that is done; what it raises ends
/// the run.
#[pyfunction]
#[pyo3(signature = (machine, kernels, seed=None, progress=None))]
fn host_kernels(
    py: Python<'_>,
    machine: TextArgument,
    kernels: &str,
    #[pyo3(from_py_with = arguments::seed)] seed: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    py.detach(|| {
        let seed = seed.unwrap_or(DEFAULT_SEED);
        let job = KernelJob::new(&machine.0, kernels, seed).map_err(|error| bad_input(&error))?;
        let mut watched = WatchedRun::new(progress.as_ref());
        let result = job.run(|done| watched.report(|_| Ok((done,))));
        watched.finish(result, failed)
    })
}

/// Checks a scenario and returns it with every default filled in, as JSON. Recordings that come through a
/// pipe are refused: the run would find it empty.
#[pyfunction]
fn check_scenario(
    py: Python<'_>,
    scenario: TextArgument,
    overrides: Overrides,
) -> PyResult<String> {
    let overrides = arguments::pairs(overrides);
    py.detach(|| as_json(input_files::planned(&scenario.0, &overrides)?.scenario()))
}

/// Returns a scenario as `check_scenario` does, and the paths of the files that decide its result, as its
/// run finds them; files that are not on disk are part of the program. Other Python threads run at the same
/// time.
#[pyfunction]
fn resolve_scenario(
    py: Python<'_>,
    scenario: TextArgument,
    overrides: Overrides,
) -> PyResult<(String, Vec<String>)> {
    let overrides = arguments::pairs(overrides);
    py.detach(|| {
        let job = input_files::planned(&scenario.0, &overrides)?;
        Ok((as_json(job.scenario())?, scenario::input_files(&scenario.0, &job)))
    })
}

/// Names of the platforms that are part of the program.
#[pyfunction]
fn platform_names() -> Vec<String> {
    builtin::platform_names()
}

/// Names of the testbeds that are part of the program.
#[pyfunction]
fn testbed_names() -> Vec<String> {
    builtin::testbed_names()
}

/// A testbed by name or path, as JSON: its settings with value, source and confidence.
#[pyfunction]
fn testbed(py: Python<'_>, name_or_path: TextArgument) -> PyResult<String> {
    let found = py.detach(|| builtin::testbed("testbeds", &name_or_path.0));
    as_json(&found.map_err(|e| bad_input(&e))?)
}

/// A platform by name or path, as JSON; every leaf has value, source and confidence. `named_in` is the
/// scenario that names it: its folder is searched first.
#[pyfunction]
#[pyo3(signature = (name_or_path, named_in=None))]
fn platform(
    py: Python<'_>,
    name_or_path: TextArgument,
    named_in: Option<TextArgument>,
) -> PyResult<String> {
    let named_in = named_in.as_ref().map_or(builtin::BY_COMMAND, |file| &file.0);
    let platform = py.detach(|| builtin::platform(named_in, &name_or_path.0));
    as_json(&platform.map_err(|e| bad_input(&e))?)
}

/// The JSON schema of "scenario", "platform" or "result".
#[pyfunction(name = "schema")]
fn schema_of(kind: &str) -> PyResult<String> {
    match schema::for_kind(kind) {
        Some(schema) => as_json(&schema),
        None => Err(InputError::new_err(format!(
            "no schema `{kind}`; there are: scenario, platform, result"
        ))),
    }
}

/// Every metric of results with unit, group, label and meaning, in the order of tables, as JSON.
#[pyfunction(name = "metrics")]
fn reference_of_metrics() -> PyResult<String> {
    as_json(&metrics::reference())
}

/// The text of a file under platforms/ or experiments/ that is part of the program.
#[pyfunction]
fn builtin_file(relative_path: TextArgument) -> Option<&'static str> {
    builtin::file(&relative_path.0)
}

/// Paths of all files that are part of the program.
#[pyfunction]
fn builtin_files() -> Vec<String> {
    builtin::files()
}

/// Half width of the 95 % interval of the mean of independent values; None for fewer than five.
#[pyfunction]
fn half_width_95(values: Vec<f64>) -> Option<f64> {
    scenario::half_width_95(&values)
}

/// Version of Skipline.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("RunError", module.py().get_type::<RunError>())?;
    module.add_class::<slices::PySliceMap>()?;
    module.add_class::<slices::PyLatencies>()?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_array, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_standard, module)?)?;
    module.add_function(wrap_pyfunction!(traces::standard_trace, module)?)?;
    module.add_function(wrap_pyfunction!(host_kernels, module)?)?;
    module.add_function(wrap_pyfunction!(check_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(resolve_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(platform_names, module)?)?;
    module.add_function(wrap_pyfunction!(platform, module)?)?;
    module.add_function(wrap_pyfunction!(testbed_names, module)?)?;
    module.add_function(wrap_pyfunction!(testbed, module)?)?;
    module.add_function(wrap_pyfunction!(schema_of, module)?)?;
    module.add_function(wrap_pyfunction!(reference_of_metrics, module)?)?;
    module.add_function(wrap_pyfunction!(builtin_file, module)?)?;
    module.add_function(wrap_pyfunction!(builtin_files, module)?)?;
    module.add_function(wrap_pyfunction!(input_files::read_text, module)?)?;
    module.add_function(wrap_pyfunction!(input_files::is_pipe, module)?)?;
    module.add_function(wrap_pyfunction!(input_files::kept_inputs, module)?)?;
    module.add_function(wrap_pyfunction!(input_files::keep_inputs, module)?)?;
    module.add_function(wrap_pyfunction!(input_files::kept_input, module)?)?;
    input_files::watch_signals();
    module.add_function(wrap_pyfunction!(explorer::explorer_run, module)?)?;
    module.add_function(wrap_pyfunction!(explorer::explorer_fact, module)?)?;
    module.add_function(wrap_pyfunction!(stores::store_checksum, module)?)?;
    module.add_function(wrap_pyfunction!(half_width_95, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add("DEFAULT_SEED", DEFAULT_SEED)?;
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    dsa::add_to(module)?;
    Ok(())
}
