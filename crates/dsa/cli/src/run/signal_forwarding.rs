//! Forwards signals of the command to its program.

use crate::failure::CommandFailure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::ffi::c_int;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The signals that are forwarded: those that usually end a program.
const ENDING: [c_int; 4] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];

/// Catches the signals, so that the command stays until the program has ended.
pub struct SignalCatcher(SignalsInfo<signal_hook::iterator::exfiltrator::WithOrigin>);

/// A thread that forwards signals.
pub struct SignalForwarding {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl SignalCatcher {
    /// Catches the signals from now on. Signals that are ignored (`nohup`, a shell's background jobs) stay
    /// so, also for the program: it would not inherit that from a handler.
    pub fn new() -> Result<Self, CommandFailure> {
        let taken = ENDING.into_iter().filter(|signal| !is_ignored(*signal));
        let signals = SignalsInfo::new(taken);
        signals.map(Self).map_err(|error| CommandFailure::failed(format!("signals: {error}")))
    }

    /// Forwards signals that other processes send. Signals of the terminal reach the program without that.
    pub fn forward_to(self, program: &Child) -> SignalForwarding {
        let mut signals = self.0;
        let handle = signals.handle();
        let process = rustix::process::Pid::from_child(program);
        let forward = move || {
            for Origin { signal, cause, .. } in &mut signals {
                let is_sent = matches!(cause, Cause::Sent(_));
                let named = rustix::process::Signal::from_named_raw(signal);
                if let Some(signal) = named.filter(|_| is_sent) {
                    // The program may have ended.
                    let _ = rustix::process::kill_process(process, signal);
                }
            }
        };
        // If no thread can be had, signals reach neither, and the program ends by itself.
        SignalForwarding { handle, thread: std::thread::Builder::new().spawn(forward).ok() }
    }
}

impl SignalForwarding {
    /// Ends the forwarding of signals.
    pub fn end(self) {
        self.handle.close();
        // A panic of the thread was printed already.
        drop(self.thread.map(JoinHandle::join));
    }
}

/// Whether a signal has come that usually ends a program. Once caught, signals no longer end the command
/// by themselves: what it does after its program has ended has to ask.
#[derive(Clone)]
pub struct EndingSignal(Arc<AtomicBool>);

impl EndingSignal {
    /// Takes note of signals from now on, but of those that are ignored.
    pub fn watch() -> Result<Self, CommandFailure> {
        let come = Arc::new(AtomicBool::new(false));
        for signal in ENDING.into_iter().filter(|signal| !is_ignored(*signal)) {
            signal_hook::flag::register(signal, Arc::clone(&come))
                .map_err(|error| CommandFailure::failed(format!("signals: {error}")))?;
        }
        Ok(Self(come))
    }

    pub fn has_come(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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
