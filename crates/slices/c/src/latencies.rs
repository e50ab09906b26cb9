//! `skl_latencies_*`, `skl_nearest_slices`, `skl_shared_slice`.
#![allow(unsafe_code)]

use crate::boundary::{
    CallFailure, ErrorText, array, count_of, guarded, path, required, required_out,
};
use libc::{c_char, c_int, c_uint};
use slices::LatencyFile;
use slices::nearest::{Latencies, SharedGoal};
use std::path::Path;

/// Latencies from cores to slices. A handle never changes: threads may share it.
pub struct LatenciesHandle(Latencies);

fn open(file: &Path) -> Result<Latencies, CallFailure> {
    let text =
        std::fs::read_to_string(file).map_err(|error| CallFailure::from_file(file, &error))?;
    let wrong = |reason| CallFailure::new(libc::EINVAL, format!("{}: {reason}", file.display()));
    Ok(LatencyFile::read(&text).map_err(wrong)?.latencies)
}

fn known_core(latencies: &Latencies, core: c_uint) -> Result<usize, CallFailure> {
    let known = latencies.cores();
    match core as usize {
        core if core < known => Ok(core),
        core => {
            let text = format!("no latencies of core {core}; there are: 0 to {}", known - 1);
            Err(CallFailure::new(libc::ERANGE, text))
        }
    }
}

/// Reads a latency file: TOML with the keys part, source, kind ("measured" or "modelled") and
/// cycles, a list of rows: core by core the read latency to each slice in cycles. On success
/// `*latencies` is to be closed with skl_latencies_close().
///
/// -EINVAL if the file is not a latency file, else the system's errno for the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_latencies_open(
    latency_path: *const c_char,
    latencies: *mut *mut LatenciesHandle,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let text = unsafe { ErrorText::new(error, error_bytes) };
    guarded(text, || {
        let out = required_out(latencies, "latencies")?;
        // SAFETY: the caller's string.
        let file = unsafe { path(latency_path, "latency_path") }?;
        let opened = Box::new(LatenciesHandle(open(file)?));
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(Box::into_raw(opened)) };
        Ok(0)
    })
}

/// Frees latencies; NULL does nothing. No other thread may be using them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_latencies_close(latencies: *mut LatenciesHandle) {
    if !latencies.is_null() {
        // SAFETY: it came from skl_latencies_open and is given back once.
        drop(unsafe { Box::from_raw(latencies) });
    }
}

/// Returns the number of cores; they are numbered from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_latencies_cores(latencies: *const LatenciesHandle) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        count_of(unsafe { required(latencies, "latencies") }?.0.cores())
    })
}

/// Returns the number of slices to which cores have latencies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_latencies_slices(latencies: *const LatenciesHandle) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        count_of(unsafe { required(latencies, "latencies") }?.0.slices())
    })
}

/// Writes the slices by their latency from `core`, nearest first, lower numbers first among equals:
/// the first `count` of them, or all if there are fewer. Returns how many were written.
///
/// -ERANGE if there are no latencies of the core.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_nearest_slices(
    latencies: *const LatenciesHandle,
    core: c_uint,
    slices: *mut u16,
    count: usize,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let latencies = &unsafe { required(latencies, "latencies") }?.0;
        let slices = required_out(slices, "slices")?;
        let order = latencies.by_distance(known_core(latencies, core)?);
        let written = order.len().min(count);
        for (index, slice) in order[..written].iter().enumerate() {
            // SAFETY: the caller's array has `count` elements.
            unsafe { slices.add(index).write(slice.0) };
        }
        count_of(written)
    })
}

/// Returns the slice for data that `count` cores share: the one with the lowest mean latency, the
/// lowest number among equals.
///
/// -EINVAL without cores, -ERANGE if there are no latencies of one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_shared_slice(
    latencies: *const LatenciesHandle,
    cores: *const c_uint,
    count: usize,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle and array.
        let (latencies, cores) =
            unsafe { (&required(latencies, "latencies")?.0, array(cores, count, "cores")?) };
        let known = cores.iter().map(|&core| known_core(latencies, core));
        let cores = known.collect::<Result<Vec<usize>, CallFailure>>()?;
        let shared = latencies.best_shared(&cores, SharedGoal::Mean);
        let none = || CallFailure::new(libc::EINVAL, "no cores");
        shared.map(|(slice, _)| c_int::from(slice.0)).ok_or_else(none)
    })
}
