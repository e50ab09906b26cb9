//! `skl_slice_map_*`, `skl_slice_of`, `skl_slices_of`.
#![allow(unsafe_code)]

use crate::boundary::{
    CallFailure, ErrorText, array, count_of, guarded, path, required, required_out,
};
use libc::{c_char, c_int};
use slices::{ShortForm, SliceMap, TableFile};
use std::mem::offset_of;
use std::path::Path;
use units::SliceId;

/// The slice function of a CPU model, and the physical addresses for which it is established. A handle
/// never changes: threads may share it.
// The generator of the header does not read conditional attributes: the type stays opaque there.
#[cfg_attr(target_pointer_width = "64", repr(C))]
pub struct SliceMapHandle {
    /// Pointer that the header's `skl_slice_of` reads: at the start, as asserted below.
    short_form: *const ShortForm,
    pub(crate) map: SliceMap,
}

// The header has the layout: a change raises the version in the shared library's name.
const _: () = {
    assert!(offset_of!(SliceMapHandle, short_form) == 0);
    assert!(offset_of!(ShortForm, limit) == 0 && offset_of!(ShortForm, fixed) == 16);
    assert!(offset_of!(ShortForm, parts) == 24 && offset_of!(ShortForm, base) == 24 + 4096);
};

fn open(table: &Path) -> Result<SliceMap, CallFailure> {
    if let Some(published) = slices::published::from_path(table) {
        let known = published.map_err(|error| CallFailure::from_error(libc::ENOENT, &error))?;
        return Ok(known.map());
    }
    let text =
        std::fs::read_to_string(table).map_err(|error| CallFailure::from_file(table, &error))?;
    let wrong =
        |reason: String| CallFailure::new(libc::EINVAL, format!("{}: {reason}", table.display()));
    let file = TableFile::read(&text).map_err(|error| wrong(error.to_string()))?;
    SliceMap::new(&file).map_err(|error| wrong(error.to_string()))
}

/// Reads a slice table, as `skipline-host slices map` writes it. On success `*map` is to be closed
/// with skl_slice_map_close().
///
/// `published:NAME` in place of a path is the published function of that name, like
/// `published:skx-18`; -ENOENT if there is none, with a list of names as text.
///
/// -EINVAL if the file is not a slice table, else the system's errno for the file.
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
        let map = open(table)?;
        let opened = Box::new(SliceMapHandle { short_form: map.short_form(), map });
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

/// Returns the number of slices; they are numbered from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_slice_map_slices(map: *const SliceMapHandle) -> c_int {
    // SAFETY: the caller's handle.
    guarded(ErrorText::none(), || count_of(unsafe { required(map, "map") }?.map.slices() as usize))
}

/// Returns the slice of the line at a physical address; -ERANGE if the table does not cover it. Calls
/// are compiled into programs, unless SKL_NO_INLINE is defined.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_slice_of(map: *const SliceMapHandle, physical_address: u64) -> c_int {
    // Not `guarded`: this is short and cannot panic.
    // SAFETY: the caller's handle.
    match unsafe { map.as_ref() }.map(|map| map.map.slice_of(physical_address)) {
        Some(Ok(slice)) => c_int::from(slice.0),
        Some(Err(_)) => -libc::ERANGE,
        None => -libc::EINVAL,
    }
}

/// Writes the slices of the lines at `count` physical addresses to as many `slices`.
///
/// -ERANGE if the table does not cover one of them; what is in `slices` is undefined then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_slices_of(
    map: *const SliceMapHandle,
    physical_addresses: *const u64,
    slices: *mut u16,
    count: usize,
) -> c_int {
    // Not `guarded`: this cannot panic.
    // SAFETY: the caller's handle and array.
    let (map, addresses) = unsafe {
        match (map.as_ref(), array(physical_addresses, count, "physical_addresses")) {
            (Some(map), Ok(addresses)) if !slices.is_null() || count == 0 => (map, addresses),
            _ => return -libc::EINVAL,
        }
    };
    // SAFETY: the caller's array has `count` elements.
    let put = move |index: usize, slice: SliceId| unsafe { slices.add(index).write(slice.0) };
    map.map.for_each_slice(addresses, put).map_or(-libc::ERANGE, |()| 0)
}
