//! `skl_spread_buffers`.
#![allow(unsafe_code)]

use crate::boundary::{CallFailure, ErrorText, array, count_of, guarded, required, required_out};
use crate::slice_map::SliceMapHandle;
use libc::{c_char, c_int};
use slices::memory::{SpreadError, SpreadPool, SpreadRequest};
use units::narrow::usize_from;

/// A pool of buffers that are chosen by slice and set.
#[repr(C)]
pub struct CSpreadRequest {
    /// Number of buffers.
    buffers: usize,
    /// Bytes of a buffer: a power of two, from a line to those of the sets of a slice. Buffers are
    /// aligned to their size in physical memory.
    buffer_bytes: usize,
    /// Sets of a slice: a power of two, as `skipline-host slices sets` tells.
    sets_per_slice: u32,
}

/// Chooses buffers among `count` ones, given their physical addresses, so that no set of a slice gets
/// more lines of them than the mean, rounded up, and one more. The set is bits 6 and up of the
/// address. Four times as many as are wanted suffice for nearly all memory. Writes the numbers of the
/// chosen ones in `physical_addresses` to `chosen`, request->buffers of them, so that those of every
/// stretch are spread as well; the same addresses give the same choice. Returns the lines of the set
/// that has most.
///
/// -EINVAL if the request is not valid or an address not aligned, -ENOSPC if there are fewer buffers
/// or they are too alike, -ERANGE if the table does not cover an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_spread_buffers(
    map: *const SliceMapHandle,
    request: *const CSpreadRequest,
    physical_addresses: *const u64,
    count: usize,
    chosen: *mut usize,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let text = unsafe { ErrorText::new(error, error_bytes) };
    guarded(text, || {
        // SAFETY: the caller's handle, request and array.
        let (map, request, addresses) = unsafe {
            (
                &required(map, "map")?.map,
                required(request, "request")?,
                array(physical_addresses, count, "physical_addresses")?,
            )
        };
        let chosen = required_out(chosen, "chosen")?;
        let request = SpreadRequest {
            buffers: request.buffers,
            buffer_bytes: request.buffer_bytes as u64,
            sets_per_slice: request.sets_per_slice,
        };
        let pool = SpreadPool::choose_among(map, addresses, request)
            .map_err(|error| CallFailure::from_error(errno(&error), &error))?;
        for (place, &number) in pool.buffers().iter().enumerate() {
            // SAFETY: the caller's array has an element for each buffer of the request.
            unsafe { chosen.add(place).write(usize_from(number)) };
        }
        count_of(pool.most_lines_of_a_set() as usize)
    })
}

fn errno(error: &SpreadError) -> c_int {
    match error {
        SpreadError::BufferBytes { .. } | SpreadError::Sets(_) | SpreadError::Unaligned { .. } => {
            libc::EINVAL
        }
        SpreadError::Pages { .. } | SpreadError::Alike { .. } => libc::ENOSPC,
        SpreadError::NotCovered(_) => libc::ERANGE,
    }
}
