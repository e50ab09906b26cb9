//! Signals to the command, which are for its program.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::ffi::c_int;
use std::process::Child;
use std::thread::JoinHandle;

/// Signals that end a program, as a rule.
const ENDING: [c_int; 4] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];

/// Takes signals: the command stays until the program has ended.
pub struct Passer(SignalsInfo<signal_hook::iterator::exfiltrator::WithOrigin>);

/// Passes them on.
pub struct Passing {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Passer {
    /// From here on they are kept. What is ignored (`nohup`, a shell's background jobs) stays so, for the
    /// program as well: a handler would end that for it.
    pub fn new() -> Result<Self, Failure> {
        let taken = ENDING.into_iter().filter(|signal| !is_ignored(*signal));
        let signals = SignalsInfo::new(taken);
        signals.map(Self).map_err(|error| Failure::failed(format!("signals: {error}")))
    }

    /// Passes on what other processes send. The terminal sends its signals to the program, too.
    pub fn pass_to(self, program: &Child) -> Passing {
        let mut signals = self.0;
        let handle = signals.handle();
        let process = rustix::process::Pid::from_child(program);
        let pass = move || {
            for Origin { signal, cause, .. } in &mut signals {
                let is_sent = matches!(cause, Cause::Sent(_));
                let named = rustix::process::Signal::from_named_raw(signal);
                if let Some(signal) = named.filter(|_| is_sent) {
                    // A program that has ended needs none.
                    let _ = rustix::process::kill_process(process, signal);
                }
            }
        };
        // Without a thread signals are kept from both, and the program ends by itself.
        Passing { handle, thread: std::thread::Builder::new().spawn(pass).ok() }
    }
}

impl Passing {
    /// Ends it.
    pub fn end(self) {
        self.handle.close();
        // If it panicked, it has said so.
        drop(self.thread.map(JoinHandle::join));
    }
}

#[allow(unsafe_code)]
fn is_ignored(signal: c_int) -> bool {
    // SAFETY: the call fills the action in; a zeroed one is the default.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action.sa_sigaction == libc::SIG_IGN
    }
}
