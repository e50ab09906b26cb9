//! Settings that are in force for a while and put back whatever happens: `run`, `steer`, `tune --for`.
//!
//! The machine's lock is held all the time, and the journal has had the old values since before the
//! first write: after a kill of the tool itself its watchdog puts them back, or `skipline-host restore`.

use std::time::Duration;

use host::tune::{
    DEFAULT_STATE, Journal, RestoreOptions, RestoreOutcome, RestoredControl, StateDirectory,
    StateError, TunePlan, other_journal_directories, restore,
};

use crate::HostContext;
use crate::crash_point;
use crate::failure::HostFailure;

/// Time to wait for the lock of resctrl when settings are put back: other programs hold it for
/// milliseconds, and any user can keep it.
const PUT_BACK_WAIT: Duration = Duration::from_secs(1);

/// Refuses temporary settings on top of earlier changes: those of the same journal would be put back with
/// them, those of another journal could not be told from them.
pub fn check_nothing_pending(
    context: &HostContext,
    state: &StateDirectory<'_>,
) -> Result<(), HostFailure> {
    let journal = state.read().map_err(state_failure)?;
    if !journal.entries.is_empty() {
        return Err(HostFailure::refused(
            "nothing was written: earlier changes are in the journal, and would be put back together \
             with what is held\n  remedy: skipline-host restore",
        ));
    }
    let root = &context.host.root;
    let mut elsewhere = other_journal_directories(root).map_err(state_failure)?;
    if !Journal::peek(root, DEFAULT_STATE).map_err(state_failure)?.entries.is_empty() {
        elsewhere.push(DEFAULT_STATE.into());
    }
    let own = context.state_dir().trim_matches('/');
    match elsewhere.iter().find(|path| path.trim_matches('/') != own) {
        None => Ok(()),
        Some(path) => Err(HostFailure::refused(format!(
            "nothing was written: earlier changes are in the journal of {}\n  remedy: skipline-host \
             restore --state-dir {path}",
            root.display_path(path).display()
        ))),
    }
}

/// The failure of a command that cannot use the state directory or its journal.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub fn state_failure(error: StateError) -> HostFailure {
    HostFailure::from_state(&error, &error)
}

/// Refuses a temporary setting that would not be in force at every control that it names: a program that
/// runs meanwhile would run under a mixture.
pub fn check_reaches_all(plan: &TunePlan) -> Result<(), HostFailure> {
    let lines: String = plan.left_out.iter().map(|one| format!("\n  {one}")).collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(HostFailure::refused(format!(
        "nothing was written: not every control of this setting can be reached{lines}\n  remedy: --device \
         BDF holds a setting at one root port, --socket ID at one socket"
    )))
}

/// Puts back every value of the journal, which contains the temporary settings and nothing else.
///
/// # Errors
/// If a value could not be put back, or another program has changed the control; it stays in the journal.
pub fn put_back(
    context: &HostContext,
    state: &StateDirectory<'_>,
) -> Result<Vec<RestoredControl>, HostFailure> {
    let mut restored = Vec::new();
    let mut hook = crash_point::step_hook(context.host.root.is_real());
    let options = RestoreOptions::default();
    state.wait_for_resctrl(context.wait.unwrap_or_default().max(PUT_BACK_WAIT));
    restore(&context.host, state, options, &mut restored, &mut hook).map_err(|error| {
        let failure = HostFailure::failed(error);
        failure.add_line("what is left stays in the journal: `skipline-host restore` tries again")
    })?;
    let left = restored.iter().filter(|one| !one.result.is_settled());
    let left: Vec<String> = left.map(why_left).collect();
    if left.is_empty() {
        return Ok(restored);
    }
    Err(HostFailure::failed(format!(
        "not put back: {}; it stays in the journal, and `skipline-host restore` tries again",
        left.join("; ")
    )))
}

/// A line for each control that was put back.
pub fn put_back_lines(restored: &[RestoredControl]) -> String {
    restored.iter().map(|one| format!("  {}: put back\n", one.place)).collect()
}

/// The control that was not put back, and the reason.
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
