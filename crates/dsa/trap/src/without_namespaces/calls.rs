//! Functions of the C library that take a path.

use super::paths::{self, OpenRequest, RunPath};
use super::requests::send;
use crate::libc_functions::{errno, next, set_errno};
use libc::{c_char, c_int, c_void, size_t, ssize_t};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Opens a file of the run by a request to the supervisor; `None` if the path is a directory or another file.
fn open_in_run(own: &RunPath<'_>, flags: c_int) -> Option<Result<OwnedFd, c_int>> {
    let is_for_reading = flags & libc::O_ACCMODE == libc::O_RDONLY;
    match own.open_request()? {
        OpenRequest::Queue(queue) => {
            let answer = send(own.run, &format!("open {queue}"));
            Some(answer.and_then(|answer| answer.file.ok_or(libc::EIO)))
        }
        // Programs may not change attributes; accel-config and `--config` do.
        OpenRequest::Attribute(..) if !is_for_reading => Some(Err(libc::EACCES)),
        OpenRequest::Attribute(node, attribute) => {
            match send(own.run, &format!("read {node} {attribute}")) {
                Ok(answer) => Some(text_file(&answer.bytes)),
                // Not an attribute of a node: a directory, or another file.
                Err(libc::ENODEV | libc::ENOENT) => None,
                Err(error) => Some(Err(error)),
            }
        }
    }
}

/// Creates a file in memory with this text.
fn text_file(text: &[u8]) -> Result<OwnedFd, c_int> {
    // SAFETY: the name ends with zero; the descriptor is new; the bytes are those of the text.
    unsafe {
        let file = libc::memfd_create(c"skipline-dsa attribute".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return Err(errno());
        }
        let file = OwnedFd::from_raw_fd(file);
        let written = libc::pwrite(file.as_raw_fd(), text.as_ptr().cast(), text.len(), 0);
        if written == text.len().cast_signed() { Ok(file) } else { Err(libc::EIO) }
    }
}

/// Duplicates a file descriptor to the lowest free number, as `open` returns it.
fn with_lowest_number(file: &OwnedFd, flags: c_int) -> c_int {
    let command = if flags & libc::O_CLOEXEC == 0 { libc::F_DUPFD } else { libc::F_DUPFD_CLOEXEC };
    // SAFETY: the descriptor is open.
    unsafe { libc::fcntl(file.as_raw_fd(), command, 0) }
}

fn fail(error: c_int) -> c_int {
    set_errno(error);
    -1
}

/// Opens a path of the run by a request, or calls the C library: for a path of the run with the path of its
/// ordinary file.
fn open_or(path: *const c_char, flags: c_int, next: impl FnOnce(*const c_char) -> c_int) -> c_int {
    let Some(own) = paths::run_path(path) else { return next(path) };
    match open_in_run(&own, flags) {
        Some(Ok(file)) => with_lowest_number(&file, flags),
        Some(Err(error)) => fail(error),
        None => own.with_file(next),
    }
}

/// Functions that open a path. In the C library the permissions of a new file are an optional argument; here
/// they always are one, which callers cannot notice.
macro_rules! opens {
    ($($name:ident = $text:literal ($($before:ident: $type:ty),*);)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($before: $type,)* path: *const c_char, flags: c_int, mode: libc::mode_t,
        ) -> c_int {
            open_or(path, flags, |path| {
                next!($text as fn($($type,)* *const c_char, c_int, libc::mode_t) -> c_int;
                    $($before,)* path, flags, mode)
            })
        }
    )*};
}

opens! {
    open = c"open" ();
    open64 = c"open64" ();
    __open_2 = c"__open_2" ();
    __open64_2 = c"__open64_2" ();
    openat = c"openat" (directory: c_int);
    openat64 = c"openat64" (directory: c_int);
    __openat_2 = c"__openat_2" (directory: c_int);
    __openat64_2 = c"__openat64_2" (directory: c_int);
}

/// Functions that look a path up. The path is their first argument, or follows a directory.
macro_rules! looks {
    ($($name:ident = $text:literal ($($before:ident: $first:ty),*) ($($argument:ident: $type:ty),*)
        -> $result:ty;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($before: $first,)* path: *const c_char, $($argument: $type),*
        ) -> $result {
            let next = |path| {
                next!($text as fn($($first,)* *const c_char, $($type),*) -> $result;
                    $($before,)* path, $($argument),*)
            };
            match paths::run_path(path) {
                Some(own) => own.with_file(next),
                None => next(path),
            }
        }
    )*};
}

looks! {
    access = c"access" () (mode: c_int) -> c_int;
    faccessat = c"faccessat" (directory: c_int) (mode: c_int, flags: c_int) -> c_int;
    getxattr = c"getxattr" ()
        (name: *const c_char, to: *mut c_void, bytes: size_t) -> ssize_t;
    lgetxattr = c"lgetxattr" ()
        (name: *const c_char, to: *mut c_void, bytes: size_t) -> ssize_t;
    opendir = c"opendir" () () -> *mut c_void;
    readlink = c"readlink" () (to: *mut c_char, bytes: size_t) -> ssize_t;
    readlinkat = c"readlinkat" (directory: c_int) (to: *mut c_char, bytes: size_t) -> ssize_t;
    realpath = c"realpath" () (to: *mut c_char) -> *mut c_char;
}

/// Opens a file of the run as a stream.
fn stream_or(
    path: *const c_char,
    mode: *const c_char,
    next: impl FnOnce(*const c_char) -> *mut libc::FILE,
) -> *mut libc::FILE {
    let Some(own) = paths::run_path(path) else { return next(path) };
    // SAFETY: the mode is a text of the caller's.
    let is_for_reading = unsafe { *mode } == b'r'.cast_signed()
        && unsafe { libc::strchr(mode, c_int::from(b'+')) }.is_null();
    let flags = if is_for_reading { libc::O_RDONLY } else { libc::O_RDWR };
    match open_in_run(&own, flags) {
        // SAFETY: the descriptor is the stream's.
        Some(Ok(file)) => unsafe { libc::fdopen(with_lowest_number(&file, flags), mode) },
        Some(Err(error)) => {
            fail(error);
            std::ptr::null_mut()
        }
        None => own.with_file(next),
    }
}

/// `fopen` of the C library. It redirects paths of the run.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    stream_or(
        path,
        mode,
        |path| next!(c"fopen" as fn(*const c_char, *const c_char) -> *mut libc::FILE; path, mode),
    )
}

/// `fopen64` of the C library. It redirects paths of the run.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    stream_or(
        path,
        mode,
        |path| next!(c"fopen64" as fn(*const c_char, *const c_char) -> *mut libc::FILE; path, mode),
    )
}
