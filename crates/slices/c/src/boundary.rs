//! Treatment of the caller's pointers, of errors and of panics in every function of the interface.
#![allow(unsafe_code)]

use libc::{c_char, c_int};
use std::cell::Cell;
use std::error::Error;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;

/// CallFailure of a function of the interface: an errno, and a text for people.
pub struct CallFailure {
    errno: c_int,
    text: String,
}

impl CallFailure {
    pub fn new(errno: c_int, text: impl Into<String>) -> Self {
        Self { errno, text: text.into() }
    }

    /// A failure whose text is that of the error and all its causes.
    pub fn from_error(errno: c_int, error: &dyn Error) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        Self { errno, text }
    }

    /// The failure to read a file, with the system's errno.
    pub fn from_file(path: &Path, error: &io::Error) -> Self {
        Self::new(errno_of(error), format!("{}: cannot be read: {error}", path.display()))
    }
}

/// The errno of an error: the system's, or EINVAL for a file that is not text (UTF-8).
pub fn errno_of(error: &io::Error) -> c_int {
    let errno = match error.kind() {
        io::ErrorKind::OutOfMemory => libc::ENOMEM,
        io::ErrorKind::InvalidData => libc::EINVAL,
        _ => libc::EIO,
    };
    error.raw_os_error().unwrap_or(errno)
}

/// The caller's buffer for an error's text.
#[derive(Clone, Copy)]
pub struct ErrorText {
    start: *mut c_char,
    bytes: usize,
}

impl ErrorText {
    /// # Safety
    /// `start` is NULL or valid for writes of `bytes` bytes until the function of the interface
    /// returns.
    pub unsafe fn new(start: *mut c_char, bytes: usize) -> Self {
        Self { start, bytes }
    }

    /// No buffer: for functions without a text for errors.
    pub fn none() -> Self {
        Self { start: std::ptr::null_mut(), bytes: 0 }
    }

    /// Writes as much of `text` as fits, and a terminating zero.
    pub fn write(self, text: &str) {
        if self.start.is_null() || self.bytes == 0 {
            return;
        }
        let ends = 0..=(self.bytes - 1).min(text.len());
        let bytes = ends.rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        // SAFETY: the caller of `new` vouches for `self.bytes` bytes; `bytes` is less than that, and
        // a text of this library does not lie in the caller's buffer.
        unsafe {
            text.as_ptr().cast::<c_char>().copy_to_nonoverlapping(self.start, bytes);
            *self.start.add(bytes) = 0;
        }
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs the body of a function of the interface. Returns its value, or writes the text of its failure
/// and returns the negative errno. A panic becomes -ENOTRECOVERABLE, without a message on stderr.
pub fn guarded(text: ErrorText, body: impl FnOnce() -> Result<c_int, CallFailure>) -> c_int {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic| {
            if !INSIDE.get() {
                others(panic);
            }
        }));
    });
    let outer = INSIDE.replace(true);
    let result = catch_unwind(AssertUnwindSafe(body));
    INSIDE.set(outer);
    let failure = match result {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(_) => CallFailure::new(libc::ENOTRECOVERABLE, "a fault of libskipline_slices itself"),
    };
    text.write(&failure.text);
    -failure.errno
}

/// A count as an int.
///
/// # Errors
/// EOVERFLOW if the count does not fit an int: truncated, it would look like a smaller count or an
/// error.
pub fn count_of(number: usize) -> Result<c_int, CallFailure> {
    let text = || format!("{number} of them; an int counts to {}", c_int::MAX);
    c_int::try_from(number).map_err(|_| CallFailure::new(libc::EOVERFLOW, text()))
}

/// The value behind a pointer of the caller, or EINVAL if it is NULL.
///
/// # Safety
/// `pointer` is NULL or valid for reads as long as the result lives.
pub unsafe fn required<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, CallFailure> {
    // SAFETY: the caller vouches for the pointer.
    unsafe { pointer.as_ref() }.ok_or_else(|| missing(name))
}

/// A pointer to which the function writes, or EINVAL if it is NULL. The value behind it may be
/// uninitialised: only `write` is allowed.
pub fn required_out<T>(pointer: *mut T, name: &str) -> Result<*mut T, CallFailure> {
    if pointer.is_null() { Err(missing(name)) } else { Ok(pointer) }
}

/// An array of the caller, or EINVAL if `start` is NULL and `count` is not 0.
///
/// # Safety
/// `start` is NULL or has `count` elements that are not written as long as the result lives.
pub unsafe fn array<'a, T>(
    start: *const T,
    count: usize,
    name: &str,
) -> Result<&'a [T], CallFailure> {
    match (start.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(missing(name)),
        // SAFETY: the caller vouches for it.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(start, count) }),
    }
}

/// A C string of the caller as a path, or EINVAL if it is NULL.
///
/// # Safety
/// `text` is NULL or a terminated string that lives as long as the result.
pub unsafe fn path<'a>(text: *const c_char, name: &str) -> Result<&'a Path, CallFailure> {
    if text.is_null() {
        return Err(missing(name));
    }
    // SAFETY: the caller vouches for it.
    let text = unsafe { CStr::from_ptr(text) };
    Ok(Path::new(OsStr::from_bytes(text.to_bytes())))
}

fn missing(name: &str) -> CallFailure {
    CallFailure::new(libc::EINVAL, format!("`{name}` is NULL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(buffer: &[c_char]) -> String {
        let bytes: Vec<u8> = buffer.iter().flat_map(|byte| byte.to_ne_bytes()).collect();
        CStr::from_bytes_until_nul(&bytes).expect("is terminated").to_string_lossy().into()
    }

    #[test]
    fn a_panic_becomes_an_errno_and_a_text() {
        let mut buffer = [1; 100];
        // SAFETY: the buffer outlives the call.
        let text = unsafe { ErrorText::new(buffer.as_mut_ptr(), buffer.len()) };
        assert_eq!(guarded(text, || panic!("a fault")), -libc::ENOTRECOVERABLE);
        assert_eq!(text_of(&buffer), "a fault of libskipline_slices itself");
    }

    #[test]
    fn a_text_is_cut_between_characters_and_always_terminated() {
        for (bytes, expected) in [(1, ""), (2, "m"), (3, "m"), (4, "m\u{b5}"), (5, "m\u{b5}s")] {
            let mut buffer = [1; 5];
            // SAFETY: the buffer outlives the call.
            let text = unsafe { ErrorText::new(buffer.as_mut_ptr(), bytes) };
            let failed = guarded(text, || Err(CallFailure::new(libc::EIO, "m\u{b5}s")));
            assert_eq!((failed, text_of(&buffer).as_str()), (-libc::EIO, expected));
            assert!(buffer[bytes..].iter().all(|&byte| byte == 1), "beyond the buffer");
        }
    }
}
