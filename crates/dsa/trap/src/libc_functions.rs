//! The C library's own functions, for which this library has functions of the same name; and its error number.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the C library, which is looked up at its first call.
pub struct NextFunction {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl NextFunction {
    /// The function with this name.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Address of the function. Panics if the C library does not have it.
    pub fn address(&self) -> *mut c_void {
        let known = self.found.load(Ordering::Acquire);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name ends with zero; the C library has all functions that are named here.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        assert!(!found.is_null(), "the C library has no {}", self.name.to_string_lossy());
        self.found.store(found, Ordering::Release);
        found
    }
}

/// Error number of the last call of this thread that failed.
pub fn errno() -> c_int {
    // SAFETY: each thread has its own.
    unsafe { *libc::__errno_location() }
}

/// Sets the error number of this thread.
pub fn set_errno(error: c_int) {
    // SAFETY: each thread has its own.
    unsafe { *libc::__errno_location() = error };
}

/// Calls the C library's function of a name, whose type is given.
macro_rules! next {
    ($name:literal as fn($($type:ty),* $(,)?) -> $result:ty; $($argument:expr),* $(,)?) => {{
        static NEXT: $crate::libc_functions::NextFunction = $crate::libc_functions::NextFunction::new($name);
        type Function = unsafe extern "C" fn($($type),*) -> $result;
        // SAFETY: the C library's function of that name has this type.
        let function = unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(NEXT.address()) };
        // SAFETY: the caller's arguments.
        unsafe { function($($argument),*) }
    }};
}
pub(crate) use next;
