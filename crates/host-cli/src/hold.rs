//! Settings that are held for a while and put back whatever happens: `run`, and `tune --for`.
//!
//! The machine's lock is held all the time, and the journal has had the old values since before the
//! first write: after a kill of the tool itself its guard puts them back, or `skipline-host restore`.

use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use host::tune::{
    DEFAULT_STATE, Journal, RestoreOptions, RestoreOutcome, RestoredControl, StateDirectory,
    StateError, TunePlan, other_journal_directories, restore,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::Context;
use crate::failure::Failure;

/// Longest time that settings are held.
const MOST_S: u64 = 30 * 24 * 3600;

/// Reads a duration like 10m: a whole number of ms, s, m or h.
pub fn duration(text: &str) -> Result<Duration, String> {
    let allowed = "allowed: a whole number with its unit (ms, s, m or h), like 10m, up to 720h";
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| allowed.to_owned())?;
    let milliseconds = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => None,
    };
    milliseconds
        .filter(|ms| (1..=MOST_S * 1000).contains(ms))
        .map(Duration::from_millis)
        .ok_or_else(|| allowed.to_owned())
}

/// Refuses to hold settings on top of earlier changes: those of the same journal would be put back with
/// them, those of another one could not be told from them.
pub fn check_nothing_pending(context: &Context, state: &StateDirectory<'_>) -> Result<(), Failure> {
    let journal = state.read().map_err(of_state)?;
    if !journal.entries.is_empty() {
        return Err(Failure::refused(
            "nothing was written: earlier changes are in the journal, and would be put back together \
             with what is held\n  remedy: skipline-host restore",
        ));
    }
    let root = &context.host.root;
    let mut elsewhere = other_journal_directories(root).map_err(of_state)?;
    if !Journal::peek(root, DEFAULT_STATE).map_err(of_state)?.entries.is_empty() {
        elsewhere.push(DEFAULT_STATE.into());
    }
    let own = context.state_dir().trim_matches('/');
    match elsewhere.iter().find(|path| path.trim_matches('/') != own) {
        None => Ok(()),
        Some(path) => Err(Failure::refused(format!(
            "nothing was written: earlier changes are in the journal of {}\n  remedy: skipline-host \
             restore --state-dir {path}",
            root.display_path(path).display()
        ))),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub fn of_state(error: StateError) -> Failure {
    Failure::of_state(&error, &error)
}

/// Refuses to hold a setting that would not be in force at every control that it is about: what runs
/// under it would run under another one.
pub fn check_reaches_all(plan: &TunePlan) -> Result<(), Failure> {
    let lines: String = plan.left_out.iter().map(|one| format!("\n  {one}")).collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "nothing was written: not every control of this setting can be reached{lines}\n  remedy: --device \
         BDF holds the setting at one root port"
    )))
}

/// Whether this program was started with the signal ignored, as nohup does.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Signals that end a program which has something to put back.
///
/// What nohup has ignored stays so. Shells ignore SIGINT and SIGQUIT in what they start with `&`, where
/// they still have to end what is held.
pub fn ending_signals() -> impl Iterator<Item = i32> {
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    [SIGINT, SIGTERM, SIGQUIT].into_iter().chain(hangup)
}

/// Set by the signals that end a program.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in ending_signals() {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(Failure::failed)?;
    }
    Ok(stop)
}

/// Signals that end what is held, caught from now on.
pub struct Signals(UnixStream);

impl Signals {
    pub fn catch() -> Result<Self, Failure> {
        let (read, write) = UnixStream::pair().map_err(Failure::failed)?;
        for signal in ending_signals() {
            let write = write.try_clone().map_err(Failure::failed)?;
            signal_hook::low_level::pipe::register(signal, write).map_err(Failure::failed)?;
        }
        Ok(Self(read))
    }

    /// Whether a signal has come, or comes within `time`.
    pub fn came(&mut self, time: Duration) -> Result<bool, Failure> {
        // A timeout of nothing would be none.
        self.wait(time.max(Duration::from_millis(1)))
    }

    /// Waits for a signal or the end of the time; whether it was a signal.
    pub fn wait(&mut self, time: Duration) -> Result<bool, Failure> {
        self.0.set_read_timeout(Some(time)).map_err(Failure::failed)?;
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
                Err(error) => return Err(Failure::failed(error)),
            }
        }
    }
}

/// Puts back everything of the journal, which has what was held and nothing else.
pub fn put_back(
    context: &Context,
    state: &StateDirectory<'_>,
) -> Result<Vec<RestoredControl>, Failure> {
    let mut restored = Vec::new();
    let mut watch = crate::tune::crash::as_told(context.host.root.is_real());
    let options = RestoreOptions::default();
    restore(&context.host, state, options, &mut restored, &mut watch).map_err(Failure::failed)?;
    let left = restored.iter().filter(|one| !one.result.is_settled());
    let left: Vec<String> = left.map(why_left).collect();
    if left.is_empty() {
        return Ok(restored);
    }
    Err(Failure::failed(format!(
        "not put back: {}; it stays in the journal, and `skipline-host restore` tries again",
        left.join("; ")
    )))
}

fn why_left(one: &RestoredControl) -> String {
    let why = match &one.result {
        RestoreOutcome::ChangedByOthers { holds } => {
            format!("another program set it to {holds:#x}")
        }
        RestoreOutcome::Failed { reason } => reason.clone(),
        // These are settled.
        RestoreOutcome::PutBack { .. }
        | RestoreOutcome::WasBack { .. }
        | RestoreOutcome::Rebooted
        | RestoreOutcome::SwitchedOff => String::new(),
    };
    format!("{} ({why})", one.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_and_an_end() {
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("720h"), Ok(Duration::from_secs(MOST_S)));
        for text in ["", "10", "m", "0s", "-1s", "1.5h", "721h", "99999999999999999h", "5 m", "3d"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
