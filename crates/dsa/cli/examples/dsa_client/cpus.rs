//! A thread that polls on a CPU of its own.

use crate::client_queue::{ClientPortal, works};
use std::mem::{MaybeUninit, size_of};

fn cpus_of(thread: i32) -> libc::cpu_set_t {
    let mut own = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: the call fills the set in, whose bits begin as zero.
    unsafe {
        let size = size_of::<libc::cpu_set_t>();
        assert_eq!(libc::sched_getaffinity(thread, size, own.as_mut_ptr()), 0);
        own.assume_init()
    }
}

/// Maps a portal while it is pinned: engines have all CPUs of the program, and it keeps its own.
pub fn pinned(arguments: &[String]) {
    let all = cpus_of(0);
    let mut one = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: macros of the C library over sets, and a call that reads one.
    let one = unsafe {
        let first = (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &all));
        libc::CPU_SET(first.expect("it runs on one"), one.assume_init_mut());
        let one = one.assume_init();
        assert_eq!(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one), 0);
        one
    };
    let portal = ClientPortal::open(&arguments[0]);
    works(&portal);
    assert!(cpus_of(0) == one, "the program's own thread stays where it is");
    let name = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let threads = std::fs::read_dir("/proc/self/task").expect("is there");
    let threads: Vec<i32> = threads.filter_map(|entry| name(entry.ok()?)).collect();
    // SAFETY: a call without arguments.
    let own = unsafe { libc::gettid() };
    let engines: Vec<_> = threads.into_iter().filter(|thread| *thread != own).collect();
    assert!(!engines.is_empty());
    assert!(engines.into_iter().all(|engine| cpus_of(engine) == all), "engines wait for no CPU");
}
