//! Threads that block the signals which portals raise.

use crate::client_queue::{ClientPortal, pages, works};
use crate::handlers;
use std::mem::MaybeUninit;

/// Blocks all signals in this thread; the mask before.
fn block_all() -> libc::sigset_t {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both calls fill a set in.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        let set = all.as_ptr();
        assert_eq!(libc::pthread_sigmask(libc::SIG_SETMASK, set, before.as_mut_ptr()), 0);
        before.assume_init()
    }
}

fn is_blocked(signal: i32) -> bool {
    let mut now = MaybeUninit::uninit();
    // SAFETY: the call fills the set in.
    unsafe {
        assert_eq!(libc::sigprocmask(libc::SIG_BLOCK, std::ptr::null(), now.as_mut_ptr()), 0);
        libc::sigismember(now.as_ptr(), signal) == 1
    }
}

const OWN: [i32; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL];

/// Several threads submit while they block everything; each sees the mask that it has set.
pub fn masks(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    std::thread::scope(|scope| {
        for number in 0..6 {
            let portal = &portal;
            scope.spawn(move || {
                let before = (number % 2 == 0).then(block_all);
                for _ in 0..200 {
                    works(portal);
                    assert!(OWN.iter().all(|signal| is_blocked(*signal) == before.is_some()));
                }
                if let Some(before) = before {
                    // SAFETY: the mask that was before.
                    unsafe {
                        libc::sigprocmask(
                            libc::SIG_SETMASK,
                            &raw const before,
                            std::ptr::null_mut(),
                        )
                    };
                    assert!(!OWN.iter().any(|signal| is_blocked(*signal)));
                    works(portal);
                }
            });
        }
    });
}

/// A fault whose signal the thread blocks ends the program, though it has a handler.
pub fn masked_fault(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    handlers::install(libc::SIGSEGV, 0);
    block_all();
    works(&portal);
    // SAFETY: it ends this program.
    unsafe { pages(1, libc::PROT_NONE).write_volatile(1) };
}

/// A thread begins with the mask of its creator, with signals that only seem to be blocked as well.
pub fn inherited(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    block_all();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            works(&portal);
            assert!(OWN.iter().all(|signal| is_blocked(*signal)));
        });
    });
    // SAFETY: no signal any more.
    unsafe {
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
    let own = std::thread::spawn(|| OWN.iter().any(|signal| is_blocked(*signal)));
    assert!(!own.join().expect("ends"));
}
