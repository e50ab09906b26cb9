//! Signals that end this program, caught so that it can put old values back first.

use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::failure::HostFailure;

/// Whether this program was started with the signal ignored, as nohup does.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Signals that end a program which has old values to put back: SIGINT, SIGTERM, SIGQUIT, SIGHUP.
///
/// SIGHUP is left out if nohup has made this program ignore it. Shells make programs that they start with
/// `&` ignore SIGINT and SIGQUIT; these two still have to end temporary settings, so they always count.
pub fn ending_signals() -> impl Iterator<Item = i32> {
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    [SIGINT, SIGTERM, SIGQUIT].into_iter().chain(hangup)
}

/// A flag that is set by each of the [`ending_signals`].
pub fn stop_flag() -> Result<Arc<AtomicBool>, HostFailure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in ending_signals() {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(HostFailure::failed)?;
    }
    Ok(stop)
}

/// The [`ending_signals`], caught from the creation of this value on; it waits for them.
pub struct Signals(UnixStream);

impl Signals {
    /// Catches the [`ending_signals`] from now on.
    pub fn catch() -> Result<Self, HostFailure> {
        let (read, write) = UnixStream::pair().map_err(HostFailure::failed)?;
        for signal in ending_signals() {
            let write = write.try_clone().map_err(HostFailure::failed)?;
            signal_hook::low_level::pipe::register(signal, write).map_err(HostFailure::failed)?;
        }
        Ok(Self(read))
    }

    /// Whether a signal has arrived, or arrives within `time`, which may be zero.
    pub fn poll(&mut self, time: Duration) -> Result<bool, HostFailure> {
        // A socket takes a timeout of zero for no timeout at all.
        self.wait(time.max(Duration::from_millis(1)))
    }

    /// Waits for a signal or the end of the time, which must not be zero; returns whether it was a signal.
    pub fn wait(&mut self, time: Duration) -> Result<bool, HostFailure> {
        self.0.set_read_timeout(Some(time)).map_err(HostFailure::failed)?;
        loop {
            match self.0.read(&mut [0]) {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    return Ok(false);
                }
                Err(error) => return Err(HostFailure::failed(error)),
            }
        }
    }
}
