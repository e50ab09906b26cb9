//! Machines of the library, expanded into a directory of their own.

use std::fs;

use tempfile::TempDir;

/// Turin with masks for I/O, which the kernel forgets when allocation is switched off.
pub const CONFINED: &str = "turin, confined";

pub fn machine(name: &str) -> TempDir {
    let directory = expanded(name.strip_suffix(", confined").unwrap_or(name), &[]);
    if name == CONFINED {
        let info = directory.path().join("sys/fs/resctrl/info/L3");
        fs::write(info.join("io_alloc"), "enabled\n").expect("the switch");
        fs::write(info.join("io_alloc_cbm"), "0=000f;1=00f0;2=0003;3=0003\n").expect("the masks");
    }
    directory
}

/// In memory, where there is such a file system: machines have thousands of small files.
pub fn empty_directory() -> TempDir {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    directory.expect("a temporary directory")
}

/// A machine with failures.
pub fn expanded(name: &str, failures: &[&str]) -> TempDir {
    let directory = empty_directory();
    fake_machines::expand(name, failures, directory.path()).expect("a machine");
    directory
}
