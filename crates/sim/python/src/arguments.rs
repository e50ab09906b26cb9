//! Conversion of Python arguments. Values that the types allow and the core does not raise `InputError`.

use crate::InputError;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyString};

/// A text, or a path as text. Names of files that are not UTF-8, which Python allows, are refused.
pub struct TextArgument(pub String);

impl FromPyObject<'_, '_> for TextArgument {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let given = given.py().import("os")?.call_method1("fspath", (given,))?;
        let text = given.cast::<PyString>()?;
        match text.to_str() {
            Ok(text) => Ok(Self(text.into())),
            Err(_) => Err(InputError::new_err(format!(
                "{}: this is not UTF-8; a file can be renamed, or named through a link",
                printable(text)?
            ))),
        }
    }
}

/// The text with its bytes that are not UTF-8 as `\xff`.
fn printable(text: &Bound<'_, PyString>) -> PyResult<String> {
    let escaped = text.call_method1("encode", ("utf-8", "backslashreplace"))?;
    let escaped = String::from_utf8_lossy(&escaped.extract::<Vec<u8>>()?).into_owned();
    // Python keeps such bytes as U+DC80 to U+DCFF.
    Ok(escaped.replace("\\udc", "\\x"))
}

/// Converts keys of a scenario and their values.
pub fn pairs(overrides: Vec<(TextArgument, TextArgument)>) -> Vec<(String, String)> {
    overrides.into_iter().map(|(key, value)| (key.0, value.0)).collect()
}

/// The argument `seed`.
pub fn seed(given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    whole("seed", given)
}

/// The argument `trace_packet`.
pub fn trace_packet(given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    whole("trace_packet", given)
}

/// The argument `trace_descriptor`.
pub fn trace_descriptor(given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    whole("trace_descriptor", given)
}

/// The argument `trace_line`.
pub fn trace_line(given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    whole("trace_line", given)
}

fn whole(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    given.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(given.py()) {
            let allowed = "allowed: whole numbers from 0 to 2^64 - 1";
            InputError::new_err(format!("`{name}` = {given}: {allowed}"))
        } else {
            error
        }
    })
}

/// First characters of formats of buffers whose numbers have the byte order opposite to this machine's.
const REVERSED: &[char] = if cfg!(target_endian = "little") { &['>', '!'] } else { &['<'] };

/// The buffer of an array of unsigned numbers of `bits` bits.
///
/// # Errors
/// If the array has other elements; the message says how to convert it.
pub fn buffer<T: Element>(array: &Bound<'_, PyAny>, bits: u32) -> Result<PyBuffer<T>, String> {
    // PyO3 does not check the byte order.
    if format(array).is_some_and(|format| format.starts_with(REVERSED)) {
        return Err(format!(
            "its integers have the bytes in the other order than this machine; convert the array, \
             with numpy: .astype(\"uint{bits}\")"
        ));
    }
    PyBuffer::get(array).map_err(|_| {
        format!("this is not an array of unsigned {bits}-bit integers (numpy's uint{bits})")
    })
}

/// Format of the elements of a buffer, in letters of Python's `struct`.
fn format(array: &Bound<'_, PyAny>) -> Option<String> {
    PyMemoryView::from(array).ok()?.getattr("format").ok()?.extract().ok()
}
