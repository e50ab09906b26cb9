//! The handle of a memory, and what asks or changes it as a whole.
#![allow(unsafe_code)]

use crate::boundary::{ErrorText, Failure, count_of, errno_of, guarded, required};
use crate::forks;
use crate::lock::Lock;
use crate::physical_address;
use libc::{c_char, c_int, c_void};
use slices::memory::{MemoryError, NodeError, PlacementError, SliceMemory};
use std::ffi::CString;

/// Memory whose lines are handed out by slice. Any number of threads may call its functions at once
/// but for skl_memory_close(). The first thread that calls one takes no lock; from the first call of
/// another one on all take a mutex. Children of the process do not inherit huge pages: they are
/// refused new memory, and may close the handle.
pub struct MemoryHandle {
    lock: Lock<SliceMemory>,
    /// Why slices are not known, as C reads it.
    reason: Option<CString>,
    /// [`forks::generation`] of the process that mapped the memory, unless children have it, too.
    of_process: Option<u32>,
}

impl MemoryHandle {
    /// A handle for C, to be closed by skl_memory_close().
    pub fn opened(memory: SliceMemory) -> *mut Self {
        let reason = memory.plain_because().map(|reason| CString::new(reason).unwrap_or_default());
        let of_process = (reason.is_none() && !memory.is_of_caller()).then(forks::generation);
        let handle = Box::into_raw(Box::new(Self { lock: Lock::new(memory), reason, of_process }));
        // SAFETY: it was made just now.
        forks::register(unsafe { &raw const (*handle).lock });
        handle
    }

    /// Whether this process has the pages: to touch those of a parent would end it.
    #[inline(always)]
    pub fn is_present(&self) -> bool {
        self.of_process.is_none_or(|process| process == forks::generation())
    }

    /// Runs `body` with the memory, if this process has its pages.
    pub fn present<R>(
        &self,
        body: impl FnOnce(&mut SliceMemory) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        if !self.is_present() {
            let text = "a parent's memory; children open their own after fork()";
            return Err(Failure::new(libc::ENXIO, text));
        }
        self.lock.with(body)
    }

    /// Runs the fast path of a function, which does not panic, if this thread is the lock's owner.
    #[inline(always)]
    pub fn quickly<R>(&self, body: impl FnOnce(&mut SliceMemory) -> Option<R>) -> Option<R> {
        self.lock.with_owned(body)
    }

    /// Runs `body` with the memory, whose pages it does not touch.
    #[inline(always)]
    pub fn lists<R>(&self, body: impl FnOnce(&mut SliceMemory) -> R) -> R {
        self.lock.with(body)
    }
}

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

pub fn open_failure(error: &MemoryError) -> Failure {
    let errno = match error {
        MemoryError::Huge(error) => error.answer.errno().unwrap_or(libc::ENOMEM),
        MemoryError::Plain(error) => errno_of(error),
        MemoryError::Placement(error) => placement_errno(error),
    };
    Failure::of(errno, error)
}

/// Gives the memory back to the system, or leaves it to the caller that has brought it, whatever of
/// it is handed out; NULL does nothing. No other thread may be using it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_close(memory: *mut MemoryHandle) {
    if !memory.is_null() {
        // SAFETY: it came from `MemoryHandle::opened` and is given back once.
        forks::unregister(unsafe { &raw const (*memory).lock });
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(memory) });
    }
}

/// Why the memory regards no slices, as a text that lives as long as the memory; NULL if it does
/// regard them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_plain_because(memory: *const MemoryHandle) -> *const c_char {
    // SAFETY: the caller's handle.
    let reason = unsafe { memory.as_ref() }.and_then(|memory| memory.reason.as_ref());
    reason.map_or(std::ptr::null(), |reason| reason.as_ptr())
}

/// Reads the physical addresses of the pages again: -ESTALE if the kernel moved one since.
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
        let verified = memory.lists(|memory| memory.verify());
        verified.map_err(|error| Failure::of(placement_errno(&error), &error))?;
        Ok(0)
    })
}

/// The slice of what is handed out at an address: -EINVAL if nothing is, -ENODATA if the memory
/// regards no slices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_slice(
    memory: *const MemoryHandle,
    address: *const c_void,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        if memory.reason.is_some() {
            return Err(Failure::new(libc::ENODATA, "the memory regards no slices"));
        }
        let slice = memory.lists(|memory| memory.slice_of(address as u64));
        let slice = slice.map(|slice| c_int::from(slice.0));
        slice.ok_or_else(|| Failure::new(libc::EINVAL, "nothing is handed out there"))
    })
}

/// Maps at least `bytes` more, in whole pages. A memory that may grow also does so by itself.
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
        memory.present(|memory| memory.grow(bytes).map_err(|error| open_failure(&error)))?;
        Ok(0)
    })
}

/// Gives pages of which nothing is handed out back to the system, and keeps at least `keep_bytes`.
/// Returns how many. Pages that the caller has brought are kept.
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
        let pages = memory.present(|memory| {
            memory.give_back(keep_bytes).map_err(|error| Failure::of(libc::ENOMEM, &error))
        })?;
        count_of(pages)
    })
}
