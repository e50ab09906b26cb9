//! Children of a program, and programs that become others.

use crate::portal::{PAGE, Portal, map, works};
use std::os::unix::process::CommandExt;
use std::process::Command;

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
    let portal = Portal::of(&arguments[0]);
    works(&portal);
    for _ in 0..5 {
        let status = forked(|| {
            // The address space that has opened the file is another one.
            let error = map(&portal.file, PAGE).expect_err("is refused");
            assert_eq!(error.raw_os_error(), Some(libc::EPERM));
            let own = Portal::of(&arguments[0]);
            (0..20).for_each(|_| works(&own));
            let status = forked(|| works(&Portal::of(&arguments[0])));
            assert_eq!(status, 0);
        });
        assert_eq!(status, 0);
        works(&portal);
    }
}

/// A child has no portal of its parent's.
pub fn forked_portal(arguments: &[String]) {
    let portal = Portal::of(&arguments[0]);
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
    let portal = Portal::of(&arguments[0]);
    works(&portal);
    let own = std::env::current_exe().expect("is known");
    panic!("{}", Command::new(own).args(&arguments[1..]).exec());
}
