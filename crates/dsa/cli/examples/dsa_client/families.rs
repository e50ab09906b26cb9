//! Children of a program, and programs that become others.

use crate::client_queue::{ClientPortal, PAGE, map, works};
use crate::misuse::fill_queue;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs `work` in a forked child; its end, as `wait` has it.
fn forked(work: impl FnOnce()) -> i32 {
    // SAFETY: this program has one thread of its own, and those of the library, which a fork is made for.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        // SAFETY: no handlers of the parent run.
        unsafe { libc::_exit(i32::from(ended.is_err())) };
    }
    let mut status = 0;
    // SAFETY: the child is this process's own.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}

/// A child opens a queue itself, also the one of its parent; both go on.
pub fn forks(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    works(&portal);
    for _ in 0..5 {
        let status = forked(|| {
            // The address space that has opened the file is another one.
            let error = map(&portal.file, PAGE).expect_err("is refused");
            assert_eq!(error.raw_os_error(), Some(libc::EPERM));
            let own = ClientPortal::open(&arguments[0]);
            (0..20).for_each(|_| works(&own));
            let status = forked(|| works(&ClientPortal::open(&arguments[0])));
            assert_eq!(status, 0);
        });
        assert_eq!(status, 0);
        works(&portal);
    }
}

/// A child has no portal of its parent's.
pub fn forked_portal(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let status = forked(|| {
        // SAFETY: the default action, in place of the one of Rust's runtime.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        // SAFETY: it ends this program.
        unsafe { portal.at(0).write_volatile(1) };
    });
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:#x}");
    works(&portal);
}

/// QUEUE SCENARIO...: a program with a portal becomes another one.
pub fn executes(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    works(&portal);
    let own = std::env::current_exe().expect("is known");
    panic!("{}", Command::new(own).args(&arguments[1..]).exec());
}

/// QUEUE PROGRAM...: a program that has filled a queue becomes another one.
pub fn executes_busy(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    assert!(!fill_queue(&portal).is_empty());
    panic!("{}", Command::new(&arguments[1]).args(&arguments[2..]).exec());
}

/// QUEUE: children that are forked while another thread submits have a queue that works.
pub fn forks_while_submitting(arguments: &[String]) {
    let (portal, stops) = (ClientPortal::open(&arguments[0]), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stops.load(Ordering::Relaxed) {
                works(&portal);
            }
        });
        for _ in 0..40 {
            let status = forked(|| {
                let own = ClientPortal::open(&arguments[0]);
                (0..6).for_each(|_| works(&own));
            });
            assert_eq!(status, 0);
        }
        stops.store(true, Ordering::Relaxed);
    });
}
