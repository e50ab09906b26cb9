//! The handle of a memory, and the functions that query or change the memory as a whole.
#![allow(unsafe_code)]

use crate::boundary::{CallFailure, ErrorText, count_of, errno_of, guarded, required};
use crate::forks;
use crate::lock::Lock;
use crate::physical_address;
use libc::{c_char, c_int, c_void};
use slices::memory::{MemoryError, NodeError, PlacementError, SliceMemory};
use std::ffi::CString;

/// Memory whose lines are allocated by slice. Any number of threads may call its functions at once,
/// except skl_memory_close(). The first thread that calls one takes no lock; after the first call of
/// another thread all take a mutex. Children of the process do not inherit huge pages: allocations
/// fail in them, and they may close the handle.
pub struct MemoryHandle {
    lock: Lock<SliceMemory>,
    /// The reason why slices are not known, as a C string.
    reason: Option<CString>,
    /// [`forks::generation`] of the process that mapped the memory, unless children have it, too.
    of_process: Option<u32>,
}

impl MemoryHandle {
    /// Makes a handle for C, which skl_memory_close() closes.
    pub fn into_c(memory: SliceMemory) -> *mut Self {
        let reason = memory.plain_reason().map(|reason| CString::new(reason).unwrap_or_default());
        let of_process = (reason.is_none() && !memory.is_caller_memory()).then(forks::generation);
        let handle = Box::into_raw(Box::new(Self { lock: Lock::new(memory), reason, of_process }));
        // SAFETY: it was made just now.
        forks::register(unsafe { &raw const (*handle).lock });
        handle
    }

    /// Whether this process has the pages: touching those of a parent would end the process.
    #[inline(always)]
    pub fn is_present(&self) -> bool {
        self.of_process.is_none_or(|process| process == forks::generation())
    }

    /// Runs `body` with the memory, if this process has its pages; fails with ENXIO otherwise.
    pub fn with_pages<R, E: Into<CallFailure>>(
        &self,
        body: impl FnOnce(&mut SliceMemory) -> Result<R, E>,
    ) -> Result<R, CallFailure> {
        if !self.is_present() {
            let text = "a parent's memory; children open their own after fork()";
            return Err(CallFailure::new(libc::ENXIO, text));
        }
        self.lock.with(body).map_err(E::into)
    }

    /// Runs the fast path of a function, which does not panic, if this thread is the lock's owner;
    /// `None` otherwise.
    #[inline(always)]
    pub fn with_owned<R>(&self, body: impl FnOnce(&mut SliceMemory) -> Option<R>) -> Option<R> {
        self.lock.with_owned(body)
    }

    /// Runs `body`, which does not touch the pages, with the memory.
    #[inline(always)]
    pub fn with_lists<R>(&self, body: impl FnOnce(&mut SliceMemory) -> R) -> R {
        self.lock.with(body)
    }
}

/// The errno for memory whose lines cannot be sorted by slice.
pub fn placement_errno(error: &PlacementError) -> c_int {
    match error {
        PlacementError::Unknown(error) => physical_address::errno(error),
        PlacementError::NotHuge(_) => libc::EINVAL,
        PlacementError::Moved(_) => libc::ESTALE,
        PlacementError::NotCovered(_) => libc::ERANGE,
        PlacementError::Node(NodeError::Unknown(..)) => libc::ENODATA,
        PlacementError::Node(_) => libc::ENODEV,
        PlacementError::NoMemory(_) => libc::ENOMEM,
    }
}

/// The failure of a request for memory.
pub fn open_failure(error: &MemoryError) -> CallFailure {
    let errno = match error {
        MemoryError::Huge(error) => error.answer.errno().unwrap_or(libc::ENOMEM),
        MemoryError::Plain(error) => errno_of(error),
        MemoryError::Placement(error) => placement_errno(error),
    };
    CallFailure::from_error(errno, error)
}

/// Closes the handle and unmaps its memory, even if objects are still allocated in it; memory of
/// skl_memory_open_on() stays mapped. NULL does nothing. No other thread may be using the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_close(memory: *mut MemoryHandle) {
    if !memory.is_null() {
        // SAFETY: it came from `MemoryHandle::into_c` and is given back once.
        forks::unregister(unsafe { &raw const (*memory).lock });
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(memory) });
    }
}

/// Returns the reason why the memory is allocated regardless of slices, as a text that lives as long
/// as the memory; NULL if it is allocated by slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_plain_because(memory: *const MemoryHandle) -> *const c_char {
    // SAFETY: the caller's handle.
    let reason = unsafe { memory.as_ref() }.and_then(|memory| memory.reason.as_ref());
    reason.map_or(std::ptr::null(), |reason| reason.as_ptr())
}

/// Reads the physical addresses of the pages again: -ESTALE if the kernel has moved a page since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_verify(
    memory: *const MemoryHandle,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let text = unsafe { ErrorText::new(error, error_bytes) };
    guarded(text, || {
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        let verified = memory.with_lists(|memory| memory.verify());
        verified.map_err(|error| CallFailure::from_error(placement_errno(&error), &error))?;
        Ok(0)
    })
}

/// Returns the slice of the allocated object at an address: -EINVAL if there is none, -ENODATA if the
/// memory is allocated regardless of slices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_slice(
    memory: *const MemoryHandle,
    address: *const c_void,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        if memory.reason.is_some() {
            return Err(CallFailure::new(libc::ENODATA, "the memory regards no slices"));
        }
        let slice = memory.with_lists(|memory| memory.slice_of(address as u64));
        let slice = slice.map(|slice| c_int::from(slice.0));
        slice.ok_or_else(|| CallFailure::new(libc::EINVAL, "nothing is handed out there"))
    })
}

/// Maps at least `bytes` more, in whole pages. A memory that may grow also grows when an owner's
/// slices are full.
///
/// -ENOMEM if there are too few pages or the memory may not grow so far, else as skl_memory_open();
/// -ENXIO in a child of the process that opened the memory. Nothing is mapped then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_grow(
    memory: *mut MemoryHandle,
    bytes: usize,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let text = unsafe { ErrorText::new(error, error_bytes) };
    guarded(text, || {
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        memory.with_pages(|memory| memory.grow(bytes).map_err(|error| open_failure(&error)))?;
        Ok(0)
    })
}

/// Gives pages without an allocated object back to the system, and keeps at least `keep_bytes`.
/// Returns the number of pages. Pages of skl_memory_open_on() are kept.
///
/// -ENOMEM if memory is short, -ENXIO in a child of the process that opened the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_give_back(
    memory: *mut MemoryHandle,
    keep_bytes: usize,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        let pages = memory.with_pages(|memory| {
            memory
                .give_back(keep_bytes)
                .map_err(|error| CallFailure::from_error(libc::ENOMEM, &error))
        })?;
        count_of(pages)
    })
}
