//! Functions of the C library that return the status of a file. The file of a queue, which is a regular one in a
//! run, has the status of a character device, as with the kernel's driver. In a run without namespaces the
//! functions that take a path redirect it, as the others do ([`crate::without_namespaces`]).
//!
//! A program that makes such a system call itself finds the regular file.

use crate::libc_functions::next;
use crate::run;
use crate::without_namespaces::paths;
use dsa_run::QUEUE_FILE_MODE;
use libc::{c_char, c_int, c_uint};
use std::sync::atomic::Ordering;

/// The fields of a status that tell the kind of a file.
trait FileStatus {
    /// Number of the file system.
    fn file_system(&self) -> u64;
    /// Kind and permissions.
    fn mode(&self) -> u32;
    fn bytes(&self) -> u64;
    /// Seconds and nanoseconds of the last change.
    fn changed(&self) -> (i64, i64);
    /// Makes it the status of a character device, which has changed when it was created.
    fn set_device(&mut self, mode: u32, number: u64);
}

impl FileStatus for libc::stat {
    fn file_system(&self) -> u64 {
        self.st_dev
    }

    fn mode(&self) -> u32 {
        self.st_mode
    }

    fn bytes(&self) -> u64 {
        self.st_size.cast_unsigned()
    }

    fn changed(&self) -> (i64, i64) {
        (self.st_mtime, self.st_mtime_nsec)
    }

    fn set_device(&mut self, mode: u32, number: u64) {
        (self.st_mode, self.st_rdev) = (mode, number);
        (self.st_mtime, self.st_mtime_nsec) = (self.st_ctime, self.st_ctime_nsec);
    }
}

impl FileStatus for libc::statx {
    fn file_system(&self) -> u64 {
        libc::makedev(self.stx_dev_major, self.stx_dev_minor)
    }

    fn mode(&self) -> u32 {
        self.stx_mode.into()
    }

    fn bytes(&self) -> u64 {
        self.stx_size
    }

    fn changed(&self) -> (i64, i64) {
        (self.stx_mtime.tv_sec, self.stx_mtime.tv_nsec.into())
    }

    fn set_device(&mut self, mode: u32, number: u64) {
        self.stx_mode = units::narrow::fit(mode);
        (self.stx_rdev_major, self.stx_rdev_minor) = (libc::major(number), libc::minor(number));
        self.stx_mtime = self.stx_ctime;
    }
}

/// Shows the status that a call has filled in, if it has succeeded.
fn show_filled(answer: c_int, found: *mut impl FileStatus, is_queue: bool) {
    if answer != 0 {
        return;
    }
    // SAFETY: a call that succeeds has filled the status in.
    if let Some(found) = unsafe { found.as_mut() } {
        show(found, is_queue);
    }
}

/// Shows the status of a queue's file as that of its character device. `is_queue`: the path says that it is one.
fn show(found: &mut impl FileStatus, is_queue: bool) {
    if found.mode() != libc::S_IFREG | QUEUE_FILE_MODE || found.bytes() != 0 {
        return;
    }
    let Some(run) = run::current() else { return };
    if !is_queue && found.file_system() != run.registers.files.load(Ordering::Acquire) {
        return;
    }
    if let (seconds @ 1.., 0) = found.changed() {
        found.set_device(libc::S_IFCHR | QUEUE_FILE_MODE, seconds.cast_unsigned());
    }
}

/// Functions that return the status of an open file.
macro_rules! of_open_files {
    ($($name:ident = $text:literal;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(file: c_int, found: *mut libc::stat) -> c_int {
            let answer = next!($text as fn(c_int, *mut libc::stat) -> c_int; file, found);
            show_filled(answer, found, false);
            answer
        }
    )*};
}

of_open_files! {
    fstat = c"fstat";
    fstat64 = c"fstat64";
}

/// Calls a function for the file at a path, which is redirected if it belongs to a run without namespaces.
fn at_path<S: FileStatus>(
    path: *const c_char,
    found: *mut S,
    next: impl FnOnce(*const c_char) -> c_int,
) -> c_int {
    let own = paths::run_path(path);
    let is_queue = own.as_ref().is_some_and(paths::RunPath::is_queue);
    let answer = match own {
        Some(own) => own.with_file(next),
        None => next(path),
    };
    show_filled(answer, found, is_queue);
    answer
}

/// Functions that return the status of the file at a path.
macro_rules! of_paths {
    ($($name:ident = $text:literal;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, found: *mut libc::stat) -> c_int {
            at_path(path, found, |path| {
                next!($text as fn(*const c_char, *mut libc::stat) -> c_int; path, found)
            })
        }
    )*};
}

of_paths! {
    stat = c"stat";
    stat64 = c"stat64";
    lstat = c"lstat";
    lstat64 = c"lstat64";
}

/// Functions that return the status of the file at a path below a directory, or of an open file.
macro_rules! of_paths_below {
    ($($name:ident = $text:literal;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            directory: c_int, path: *const c_char, found: *mut libc::stat, flags: c_int,
        ) -> c_int {
            at_path(path, found, |path| {
                next!($text as fn(c_int, *const c_char, *mut libc::stat, c_int) -> c_int;
                    directory, path, found, flags)
            })
        }
    )*};
}

of_paths_below! {
    fstatat = c"fstatat";
    fstatat64 = c"fstatat64";
}

/// `statx` of the C library. It shows the file of a queue as a character device.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn statx(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    found: *mut libc::statx,
) -> c_int {
    // The kernel leaves fields out that are not requested.
    let needed = libc::STATX_TYPE | libc::STATX_MODE | libc::STATX_SIZE | libc::STATX_MTIME;
    let mask = if run::current().is_some() { mask | needed } else { mask };
    at_path(path, found, |path| {
        next!(c"statx" as fn(c_int, *const c_char, c_int, c_uint, *mut libc::statx) -> c_int;
            directory, path, flags, mask, found)
    })
}
