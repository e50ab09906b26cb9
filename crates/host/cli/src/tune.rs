//! `tune`: change a control. A dry run unless `--apply` is given.

mod control;
mod verification;
pub mod view;

use std::time::Duration;

use clap::Args;
use host::monitor::Monitor;
use host::tune::{
    AppliedChange, ChangeOutcome, OmittedControl, StateDirectory, StateError, TuneApplyError,
    TunePlan, TunePlanError, TunePlanner, Verdict, affected_sockets, apply, apply_measured,
    uncounted_port,
};
use serde::Serialize;

use crate::HostContext;
use crate::crash_point;
use crate::failure::{Ending, HostFailure};
use crate::output::{Paint, TextOrJson, emit, emit_error, emit_json};
use crate::signals::Signals;
use crate::temporary_settings::{
    check_nothing_pending, check_reaches_all, put_back, put_back_lines,
};
use crate::value_parsers::{duration, within};
use crate::watchdog::Watchdog;

pub use control::{SwitchState, mask, request};
use control::{TuneControl, plan};
use verification::{Verification, verify_effect};

/// Change a control; without --apply only show what would be written
///
/// Shows every register with its old and new value in words. With --apply each old value is put on the
/// disk first (journal), the register is written and read back, and the result is one of: set,
/// widened (more bits than asked), different, ignored, refused. With --verify the hit rate of device
/// writes is measured with the old value, with the new one, and with the old one again, which takes a
/// steady I/O load; then the new value is written for good. The result is "effective" (it changed both
/// times), "accepted, no effect observed" or "not judged".
#[derive(Args)]
pub struct TuneArguments {
    #[command(subcommand)]
    control: TuneControl,

    /// Write; without it nothing is written
    #[arg(long, global = true)]
    apply: bool,

    /// Measure hit rates before, with it and with the old value again, to see whether it has an effect
    #[arg(long, global = true, requires = "apply")]
    verify: bool,

    /// Hold the setting for this time (like 10m; ms, s, m or h), then put the old values back
    ///
    /// A signal, like Ctrl-C, puts them back earlier and ends with 130. Refused while changes of earlier
    /// commands are in the journal.
    #[arg(long, global = true, value_name = "TIME", requires = "apply", value_parser = duration)]
    r#for: Option<Duration>,

    /// Milliseconds of each of the fifteen windows that --verify measures
    #[arg(long, global = true, value_name = "MS", default_value_t = 200, value_parser = within(1..=60_000))]
    window: u64,

    /// Format of the output
    #[arg(long, global = true, value_enum, default_value_t)]
    format: TextOrJson,
}

/// The JSON output.
#[derive(Serialize)]
struct TuneReport<'a> {
    plan: &'a TunePlan,
    applied: Option<&'a [AppliedChange]>,
    verification: Option<&'a Verification>,
}

pub fn run(arguments: &TuneArguments, context: &HostContext) -> Result<(), HostFailure> {
    let planner =
        arguments.control.grant_permissions(TunePlanner::new(&context.host).map_err(plan_failure)?);
    let first = plan(&arguments.control, &planner).map_err(plan_failure)?;
    if !arguments.apply {
        return show(arguments, &first, None, None);
    }
    let state = lock(context)?;
    // The process that had the lock before may have changed the values that a plan starts from.
    let plan = plan(&arguments.control, &planner).map_err(plan_failure)?;
    if arguments.r#for.is_some() {
        check_reaches_all(&plan)?;
        check_nothing_pending(context, &state)?;
    }
    let mut signals = arguments.r#for.map(|_| Signals::catch()).transpose()?;
    let watchdog = arguments.r#for.map(|_| Watchdog::start(context, &state)).transpose()?;
    let ended = change(arguments, context, &state, (&planner, &plan), &mut signals);
    if let Some(watchdog) = watchdog {
        watchdog.dismiss();
    }
    ended
}

/// Makes the change, reports the outcome of each write, and with `--for` keeps the change for that time.
fn change(
    arguments: &TuneArguments,
    context: &HostContext,
    state: &StateDirectory<'_>,
    (planner, plan): (&TunePlanner<'_>, &TunePlan),
    signals: &mut Option<Signals>,
) -> Result<(), HostFailure> {
    let window = Duration::from_millis(arguments.window);
    let monitor = arguments
        .verify
        .then(|| Monitor::prepare(&context.host, planner.generation(), planner.sockets()));
    let mut hook = crash_point::step_hook(context.host.root.is_real());
    let mut applied = Vec::new();
    let (host, done) = (&context.host, &mut applied);
    let ended = match &monitor {
        Some(monitor) => {
            apply_measured(host, state, plan, (monitor, window), done, &mut hook).map(Some)
        }
        None => apply(host, state, plan, done, &mut hook).map(|()| None),
    };
    let around = ended.map_err(|error| {
        let was_written = applied.iter().any(|one| one.outcome.was_written());
        let failure = cut_short_failure(arguments, plan, &applied, &error);
        match arguments.r#for {
            Some(_) => put_back_after((failure, was_written), context, state),
            None => failure,
        }
    })?;
    let verification = around.map(|around| {
        let touched = affected_sockets(host, &applied);
        let uncounted = uncounted_port(host, &applied);
        verify_effect(around, (&applied, uncounted), touched.as_deref(), arguments.window)
    });
    let shown = show(arguments, plan, Some(&applied), verification.as_ref());
    match (arguments.r#for, signals) {
        (Some(time), Some(signals)) => {
            // A change whose report cannot be written is not held.
            let is_held = ending(&applied, &plan.left_out, None).is_none() && shown.is_ok();
            let ended = wait_and_put_back(context, state, signals, is_held.then_some(time));
            // A value that is not put back matters more than a report.
            ended?;
            shown?;
        }
        _ => shown.map_err(|failure| {
            failure
                .add_line("the change was made all the same: `skipline-host restore` puts it back")
        })?,
    }
    let ending = ending(&applied, &plan.left_out, verification.as_ref());
    ending.map_or(Ok(()), |ending| Err(HostFailure::reported(ending)))
}

/// Puts back a temporary change that failed half-way. The failure returned is that of the change, or, if a
/// value could not be put back, that one: it matters more.
fn put_back_after(
    (failure, was_written): (HostFailure, bool),
    context: &HostContext,
    state: &StateDirectory<'_>,
) -> HostFailure {
    match put_back(context, state) {
        Ok(_) if was_written => failure.add_line("what was written before is put back"),
        Ok(_) => failure,
        Err(left) => {
            emit_error(&format!("error: {}\n", failure.message()));
            left
        }
    }
}

/// Waits for the end of the time or a signal, then puts the old values back. Without a time (a control
/// did not take the value that was asked for) they are put back at once.
fn wait_and_put_back(
    context: &HostContext,
    state: &StateDirectory<'_>,
    signals: &mut Signals,
    time: Option<Duration>,
) -> Result<(), HostFailure> {
    let mut is_interrupted = false;
    if let Some(time) = time {
        emit_error(&format!("held for {} s; Ctrl-C puts it back now\n", time.as_secs_f64()));
        is_interrupted = signals.wait(time)?;
    }
    let restored = put_back(context, state)?;
    emit_error(&put_back_lines(&restored));
    if is_interrupted { Err(HostFailure::reported(Ending::Interrupted)) } else { Ok(()) }
}

/// Takes the machine's lock before anything is written.
pub fn lock(context: &HostContext) -> Result<StateDirectory<'_>, HostFailure> {
    context.lock(context.state_dir()).map_err(lock_failure)
}

/// The exit reason of a change that did not end as asked: the worst outcome of a write first, then
/// controls that the change did not reach, then the verdict of hit rates. `None` if it ended as asked.
pub fn ending(
    applied: &[AppliedChange],
    left_out: &[OmittedControl],
    verification: Option<&Verification>,
) -> Option<Ending> {
    let write_ending = |one: &AppliedChange| match one.outcome {
        ChangeOutcome::Refused { .. } => Some(Ending::Refused),
        ChangeOutcome::NotReadBack { .. } => Some(Ending::Failed),
        _ if one.outcome.is_as_requested() => None,
        _ => Some(Ending::NotAsAsked),
    };
    // A write whose value could not be read back comes last in `applied`.
    if let Some(ending) = applied.iter().rev().find_map(write_ending) {
        return Some(ending);
    }
    if !left_out.is_empty() {
        return Some(Ending::NotAsAsked);
    }
    if applied.iter().all(|one| !one.outcome.was_written()) {
        return None;
    }
    match verification?.verdict {
        Verdict::Effective { .. } => None,
        Verdict::NoEffectObserved { .. } => Some(Ending::NoEffect),
        Verdict::NotJudged { .. } => Some(Ending::NotJudged),
        Verdict::Refused => Some(Ending::Refused),
    }
}

fn lock_failure(error: StateError) -> HostFailure {
    match error {
        StateError::BadDirectory(_) => HostFailure::bad_input(error),
        other => HostFailure::from_state(&other, format!("nothing was written: {other}")),
    }
}

/// The failure of a change that an error cut short. Values written before the error stay written, are in
/// the journal, and are shown.
fn cut_short_failure(
    arguments: &TuneArguments,
    plan: &TunePlan,
    applied: &[AppliedChange],
    error: &TuneApplyError,
) -> HostFailure {
    if !applied.iter().any(|one| one.outcome.was_written()) {
        return HostFailure::from_apply(error, format!("nothing was written: {error}"));
    }
    let failure = HostFailure::from_apply(error, error);
    // The error itself is reported even if this cannot be shown.
    let _ = show(arguments, plan, Some(applied), None);
    match arguments.r#for {
        Some(_) => failure,
        None => failure.add_line(
            "what was written before is in the journal: `skipline-host restore` puts it back",
        ),
    }
}

/// The failure of a command whose change cannot be planned on this machine.
pub fn plan_failure(error: TunePlanError) -> HostFailure {
    match error {
        TunePlanError::BadRequest(message) => HostFailure::bad_input(message),
        TunePlanError::NoControl(message) => HostFailure::refused(message),
        TunePlanError::Unreadable { error: ref file, .. } => HostFailure::from_file(file, &error),
    }
}

fn show(
    arguments: &TuneArguments,
    plan: &TunePlan,
    applied: Option<&[AppliedChange]>,
    verification: Option<&Verification>,
) -> Result<(), HostFailure> {
    match arguments.format {
        TextOrJson::Json => emit_json(&TuneReport { plan, applied, verification })?,
        TextOrJson::Text => {
            let paint = Paint::for_stdout();
            let mut text = view::plan(plan, paint);
            text += &match applied {
                Some(applied) => {
                    view::applied((applied, &plan.left_out), arguments.r#for.is_none(), paint)
                }
                None => view::dry_run(plan, paint),
            };
            if let Some(verification) = verification {
                text += &view::verification(verification, paint);
            }
            emit(&text)?;
        }
    }
    Ok(())
}
