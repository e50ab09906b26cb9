//! `skl_slice_map_*`, `skl_slice_of`, `skl_slices_of`.
#![allow(unsafe_code)]

use crate::boundary::{ErrorText, Failure, array, count_of, guarded, path, required, required_out};
use libc::{c_char, c_int};
use slices::{SliceMap, TableFile};
use std::path::Path;

/// The slice function of a part, and for which physical addresses it is established. It is never
/// changed: threads may share it.
pub struct SliceMapHandle(pub(crate) SliceMap);

fn open(table: &Path) -> Result<SliceMap, Failure> {
    if let Some(published) = slices::published::of_path(table) {
        let known = published.map_err(|error| Failure::of(libc::ENOENT, &error))?;
        return Ok(known.map());
    }
    let text = std::fs::read_to_string(table).map_err(|error| Failure::of_file(table, &error))?;
    let wrong =
        |reason: String| Failure::new(libc::EINVAL, format!("{}: {reason}", table.display()));
    let file = TableFile::read(&text).map_err(|error| wrong(error.to_string()))?;
    SliceMap::new(&file).map_err(|error| wrong(error.to_string()))
}

/// Reads a slice table, as `skipline-host slices map` writes it. On success `*map` is to be closed
/// with skl_slice_map_close().
///
/// In the place of a path, `published:NAME` is the published function of that name, like
/// `published:skx-18`; -ENOENT if there is none, with a list of names as text.
///
/// -EINVAL if the file is no slice table, else what the system says about the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_slice_map_open(
    table_path: *const c_char,
    map: *mut *mut SliceMapHandle,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let text = unsafe { ErrorText::new(error, error_bytes) };
    guarded(text, || {
        let out = required_out(map, "map")?;
        // SAFETY: the caller's string.
        let table = unsafe { path(table_path, "table_path") }?;
        let opened = Box::new(SliceMapHandle(open(table)?));
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(Box::into_raw(opened)) };
        Ok(0)
    })
}

/// Frees a slice map; NULL does nothing. No other thread may be using it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_slice_map_close(map: *mut SliceMapHandle) {
    if !map.is_null() {
        // SAFETY: it came from skl_slice_map_open and is given back once.
        drop(unsafe { Box::from_raw(map) });
    }
}

/// Slices of the part.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_slice_map_slices(map: *const SliceMapHandle) -> c_int {
    // SAFETY: the caller's handle.
    guarded(ErrorText::none(), || count_of(unsafe { required(map, "map") }?.0.slices() as usize))
}

/// The slice of the line at a physical address; -ERANGE if the table does not cover it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_slice_of(map: *const SliceMapHandle, physical_address: u64) -> c_int {
    // Not `guarded`: this is short and cannot panic.
    // SAFETY: the caller's handle.
    match unsafe { map.as_ref() }.map(|map| map.0.slice_of(physical_address)) {
        Some(Ok(slice)) => c_int::from(slice.0),
        Some(Err(_)) => -libc::ERANGE,
        None => -libc::EINVAL,
    }
}

/// The slices of the lines at `count` physical addresses, into as many `slices`.
///
/// -ERANGE if the table does not cover one of them; what is in `slices` is undefined then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_slices_of(
    map: *const SliceMapHandle,
    physical_addresses: *const u64,
    slices: *mut u16,
    count: usize,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle and array.
        let (map, addresses) = unsafe {
            (required(map, "map")?, array(physical_addresses, count, "physical_addresses")?)
        };
        if count > 0 {
            required_out(slices, "slices")?;
        }
        for (index, &address) in addresses.iter().enumerate() {
            let slice = map.0.slice_of(address).map_err(|e| Failure::of(libc::ERANGE, &e))?;
            // SAFETY: the caller's array has `count` elements.
            unsafe { slices.add(index).write(slice.0) };
        }
        Ok(0)
    })
}
