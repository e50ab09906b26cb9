//! Whether a queue and its device are enabled, read in any code: nothing is allocated, no lock is taken.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The files in sysfs with the states of a queue and of its device.
#[derive(Debug)]
pub struct QueueStateFiles([Option<CString>; 2]);

impl QueueStateFiles {
    /// The files in the directories of a queue and its device. Only this function allocates.
    #[must_use]
    pub fn new(queue: &Path, device: &Path) -> Self {
        let file = |directory: &Path| CString::new(directory.join("state").as_os_str().as_bytes());
        Self([queue, device].map(|directory| file(directory).ok()))
    }

    /// Whether the queue and its device are enabled; true if the system does not report it.
    #[must_use]
    pub fn are_enabled(&self) -> bool {
        self.0.iter().flatten().all(|file| without_cancellation(|| has_state_enabled(file)))
    }
}

/// Whether a file has the state "enabled"; true if it cannot be read.
fn has_state_enabled(file: &CStr) -> bool {
    let mut text = [0_u8; 16];
    // SAFETY: the name ends with zero; the buffer has that size; this function owns the file.
    let read = unsafe {
        let file = libc::open(file.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            // A process may have no file descriptor left; a queue that was removed has no file.
            return std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOENT);
        }
        let read = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        read
    };
    read <= 0 || text.starts_with(b"enabled")
}

/// Runs work with cancellation disabled: its system calls would end a thread with a pending cancellation,
/// which takes effect later.
pub fn without_cancellation<R>(work: impl FnOnce() -> R) -> R {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    const DISABLED: c_int = 1;
    let mut before = 0;
    // SAFETY: both calls change a mark of this thread.
    unsafe { pthread_setcancelstate(DISABLED, &raw mut before) };
    let result = work();
    // SAFETY: as above.
    unsafe { pthread_setcancelstate(before, &raw mut before) };
    result
}

#[cfg(test)]
mod tests {
    use super::QueueStateFiles;

    #[test]
    fn a_queue_is_enabled_unless_a_file_states_otherwise_or_is_gone() {
        let directory = tempfile::tempdir().expect("there is room");
        let [queue, device] = ["wq0.0", "dsa0"].map(|name| directory.path().join(name));
        for folder in [&queue, &device] {
            std::fs::create_dir(folder).expect("is new");
            std::fs::write(folder.join("state"), "enabled\n").expect("is new");
        }
        let files = QueueStateFiles::new(&queue, &device);
        assert!(files.are_enabled());
        std::fs::write(device.join("state"), "disabled\n").expect("is there");
        assert!(!files.are_enabled());
        std::fs::write(device.join("state"), "").expect("is there");
        assert!(files.are_enabled(), "a file that has no state yet");
        std::fs::remove_file(queue.join("state")).expect("is there");
        assert!(!files.are_enabled());
    }
}
