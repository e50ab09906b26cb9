//! The queue of a file, by its descriptor or its inode number.

use crate::run::{self, CurrentRun};
use crate::without_namespaces;
use dsa_run::{IDENTIFY, Identity};
use libc::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

/// Identifies the queue of an open file; `None` for all other files.
pub fn identify(file: c_int) -> Option<Identity> {
    let run = run::current()?;
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the call fills the status in, if it succeeds. Only files of the supervisor get the ioctl, as
    // its number may mean another thing to another driver.
    unsafe {
        if libc::fstat(file, status.as_mut_ptr()) != 0
            || status.assume_init_ref().st_dev != run.registers.files.load(Ordering::Acquire)
        {
            return None;
        }
        if run.requests.is_some() {
            return without_namespaces::identify(run, status.assume_init_ref().st_ino);
        }
        let mut identity = Identity::default();
        let answer = libc::ioctl(file, IDENTIFY.into(), &raw mut identity);
        (answer == 0).then_some(identity)
    }
}

/// Identifies the queue of a mapped file by its inode number; `None` if the process has no descriptor of it any
/// more, or has inherited the mapping.
pub fn identify_inode(run: &CurrentRun, inode: u64) -> Option<Identity> {
    let identity = if run.requests.is_some() {
        without_namespaces::identify(run, inode)?
    } else {
        (0..MOST_DESCRIPTORS).find_map(|file| {
            let mut status = MaybeUninit::<libc::stat>::uninit();
            // SAFETY: the call fills the status in, if it succeeds.
            let is_own = unsafe {
                libc::fstat(file, status.as_mut_ptr()) == 0
                    && status.assume_init_ref().st_ino == inode
            };
            is_own.then(|| identify(file)).flatten()
        })?
    };
    // SAFETY: a system call without arguments.
    (identity.process == unsafe { libc::getpid() }.cast_unsigned()).then_some(identity)
}

/// File descriptors that are looked at for the file of a mapping.
const MOST_DESCRIPTORS: c_int = 4096;
