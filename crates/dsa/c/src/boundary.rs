//! The boundary to C: handling of the caller's pointers, of errors and of panics in every function.
#![allow(unsafe_code)]

use crate::handles::{self, HandleRefusal, HandleTable};
use dsa_client::error::Error;
use libc::{c_char, c_int};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::ptr::without_provenance_mut;
use std::sync::Once;

/// The failure of a function of the interface: an errno, and a sentence for people.
#[derive(Clone, Debug)]
pub struct SkdFailure {
    pub errno: c_int,
    pub text: Cow<'static, str>,
}

impl SkdFailure {
    pub fn new(errno: c_int, text: impl Into<Cow<'static, str>>) -> Self {
        Self { errno, text: text.into() }
    }

    pub fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(libc::EINVAL, text)
    }

    fn for_handle(refusal: HandleRefusal, kind: u64, name: &str) -> Self {
        let wanted = kind_name(kind);
        match refusal {
            HandleRefusal::Unknown => {
                let text =
                    format!("`{name}` is not a {wanted}: it was given back, or never was one");
                Self::new(libc::EBADF, text)
            }
            HandleRefusal::OfKind(other) => {
                let text = format!("`{name}` is a {}, and not a {wanted}", kind_name(other));
                Self::new(libc::EBADF, text)
            }
            HandleRefusal::Broken => {
                let text = format!("a fault of libskipline_dsa itself has broken `{name}`");
                Self::new(libc::ENOTRECOVERABLE, text)
            }
            HandleRefusal::Busy => {
                Self::new(libc::EBUSY, format!("another thread is using `{name}`, a {wanted}"))
            }
        }
    }
}

impl From<Error> for SkdFailure {
    fn from(error: Error) -> Self {
        Self::new(error.errno(), error.to_string())
    }
}

fn kind_name(kind: u64) -> &'static str {
    match kind {
        handles::CLIENT => "skd_client",
        handles::JOB => "skd_job",
        handles::SET => "skd_set",
        handles::RING => "skd_ring",
        _ => "skd_batch",
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The last sentence, and its copy for C once skd_error_text() was called.
    static TEXT: RefCell<(Cow<'static, str>, Option<CString>)> =
        const { RefCell::new((Cow::Borrowed(""), None)) };
}

/// Runs the body of a function of the interface, and returns its value or the negative errno of its failure.
/// The sentence is kept for skd_error_text() of this thread. A panic becomes -ENOTRECOVERABLE, without a
/// message on stderr.
pub fn guarded(body: impl FnOnce() -> Result<c_int, SkdFailure>) -> c_int {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let earlier_hook = take_hook();
        set_hook(Box::new(move |panic| {
            if !INSIDE.try_with(Cell::get).unwrap_or(true) {
                earlier_hook(panic);
            }
        }));
    });
    let outer = INSIDE.try_with(|inside| inside.replace(true));
    let result = catch_unwind(AssertUnwindSafe(body));
    if let Ok(outer) = outer {
        let _ = INSIDE.try_with(|inside| inside.set(outer));
    }
    let failure = match result {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(_) => SkdFailure::new(libc::ENOTRECOVERABLE, "a fault of libskipline_dsa itself"),
    };
    let errno = failure.errno;
    remember(failure.text);
    -errno
}

fn remember(text: Cow<'static, str>) {
    // A thread that ends has no text any more.
    let _ = TEXT.try_with(|kept| {
        if let Ok(mut kept) = kept.try_borrow_mut() {
            *kept = (text, None);
        }
    });
}

/// Returns why the last function that failed in this thread did so, as a sentence for people: the
/// request, what is wrong with it, and what is allowed. The text is empty if no function has failed,
/// and valid until the next one fails in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn skd_error_text() -> *const c_char {
    let text = TEXT.try_with(|kept| {
        let mut kept = kept.try_borrow_mut().ok()?;
        let (text, for_c) = &mut *kept;
        let made = || CString::new(text.replace('\0', " ")).unwrap_or_default();
        Some(for_c.get_or_insert_with(made).as_ptr())
    });
    text.ok().flatten().unwrap_or(c"".as_ptr())
}

/// Returns the version of the library as a text that lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn skd_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Runs `body` with the value of a handle; other threads may use the same value meanwhile.
pub fn with_shared<T: Send + Sync, H, R>(
    (table, kind): (&HandleTable<T>, u64),
    handle: *const H,
    name: &str,
    body: impl FnOnce(&T) -> Result<R, SkdFailure>,
) -> Result<R, SkdFailure> {
    let used = table.shared(number(handle, name)?, body);
    used.map_err(|refusal| SkdFailure::for_handle(refusal, kind, name))?
}

/// Runs `body` with the value of a handle; no other thread uses it meanwhile.
pub fn with_exclusive<T: Send + Sync, H, R>(
    (table, kind): (&HandleTable<T>, u64),
    handle: *const H,
    name: &str,
    body: impl FnOnce(&mut T) -> Result<R, SkdFailure>,
) -> Result<R, SkdFailure> {
    let used = table.exclusive(number(handle, name)?, body);
    used.map_err(|refusal| SkdFailure::for_handle(refusal, kind, name))?
}

/// Removes the value of a handle from its table and returns it, if `may` agrees.
pub fn remove<T: Send + Sync, H>(
    (table, kind): (&HandleTable<T>, u64),
    handle: *const H,
    name: &str,
    may: impl FnOnce(&mut T) -> Result<(), SkdFailure>,
) -> Result<T, SkdFailure> {
    let taken = table.remove(number(handle, name)?, may);
    taken.map_err(|refusal| SkdFailure::for_handle(refusal, kind, name))?
}

/// Adds a value to a table and writes its handle for the caller.
pub fn insert<T: Send + Sync, H>(
    (table, kind): (&HandleTable<T>, u64),
    value: T,
    out: *mut *mut H,
) -> Result<c_int, SkdFailure> {
    let full =
        |_| SkdFailure::new(libc::ENOMEM, format!("too many of {} are in use", kind_name(kind)));
    let handle = table.insert(value).map_err(full)?;
    // SAFETY: the pointer comes from `required_out`.
    unsafe { out.write(without_provenance_mut(units::narrow::usize_from(handle))) };
    Ok(0)
}

fn number<H>(handle: *const H, name: &str) -> Result<u64, SkdFailure> {
    if handle.is_null() { Err(missing(name)) } else { Ok(handle.addr() as u64) }
}

/// Converts a count for C.
///
/// # Errors
/// -EOVERFLOW if it does not fit an int.
pub fn count_of(number: usize) -> Result<c_int, SkdFailure> {
    let text = || format!("{number} of them; an int counts to {}", c_int::MAX);
    c_int::try_from(number).map_err(|_| SkdFailure::new(libc::EOVERFLOW, text()))
}

/// Checks a parameter that the function writes: it must not be NULL. The memory may be uninitialised, so
/// that only `write` is allowed.
pub fn required_out<T>(pointer: *mut T, name: &str) -> Result<*mut T, SkdFailure> {
    if pointer.is_null() { Err(missing(name)) } else { Ok(pointer) }
}

/// Reads a text of the caller; NULL gives `None`.
///
/// # Safety
/// `text` is NULL or a terminated string that lives as long as the result.
pub unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<Option<&'a str>, SkdFailure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller vouches for it.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| SkdFailure::invalid(format!("`{name}` is not UTF-8")))
}

/// Copies a text into an array: cut between characters if it is too long, and terminated.
pub fn text_array<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    let ends = 0..=(N - 1).min(text.len());
    let bytes = ends.rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    for (to, from) in array.iter_mut().zip(&text.as_bytes()[..bytes]) {
        *to = c_char::from_ne_bytes([*from]);
    }
    array
}

/// Writes as much of a text as fits into the array of the caller, terminated, and returns the bytes of the
/// whole text.
///
/// # Safety
/// `out` is NULL or valid for writes of `bytes` bytes.
pub unsafe fn write_text(text: &str, out: *mut c_char, bytes: usize) -> Result<c_int, SkdFailure> {
    if bytes > 0 {
        let out = required_out(out, "text")?;
        let ends = 0..=(bytes - 1).min(text.len());
        let written = ends.rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        // SAFETY: the caller vouches for `bytes` bytes, of which these are fewer.
        unsafe {
            text.as_ptr().cast::<c_char>().copy_to_nonoverlapping(out, written);
            *out.add(written) = 0;
        }
    }
    count_of(text.len())
}

/// The failure for a parameter that is NULL.
pub fn missing(name: &str) -> SkdFailure {
    SkdFailure::invalid(format!("`{name}` is NULL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: a text of this thread.
        unsafe { CStr::from_ptr(skd_error_text()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_panic_becomes_an_errno_and_a_sentence_of_this_thread() {
        assert_eq!(guarded(|| panic!("a fault")), -libc::ENOTRECOVERABLE);
        assert_eq!(last(), "a fault of libskipline_dsa itself");
        std::thread::spawn(|| assert_eq!(last(), ""))
            .join()
            .expect("has no text of another thread");
        assert_eq!(guarded(|| Ok(3)), 3);
        assert_eq!(last(), "a fault of libskipline_dsa itself");
        assert_eq!(guarded(|| Err(SkdFailure::invalid("a\0b"))), -libc::EINVAL);
        assert_eq!(last(), "a b");
    }

    #[test]
    fn a_text_in_an_array_is_cut_between_characters() {
        let bytes = |array: [c_char; 4]| array.map(|byte| byte.to_ne_bytes()[0]);
        assert_eq!(bytes(text_array("wq0")), *b"wq0\0");
        assert_eq!(bytes(text_array("ab\u{b5}s")), *b"ab\0\0");
    }
}
