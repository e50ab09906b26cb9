//! `tune`: change a control. A dry run unless `--apply` is given.

mod asked;
pub mod crash;
mod judged;
pub mod view;

use std::time::Duration;

use clap::Args;
use host::monitor::Monitor;
use host::tune::{
    AppliedChange, ChangeOutcome, OmittedControl, StateDirectory, StateError, TuneApplyError,
    TunePlan, TunePlanError, TunePlanner, Verdict, affected_sockets, apply, apply_measured,
};
use serde::Serialize;

use crate::Context;
use crate::failure::{Ending, Failure};
use crate::guard::Guard;
use crate::hold::{Signals, check_nothing_pending, check_reaches_all, duration, put_back};
use crate::number::within;
use crate::output::{Format, Paint, emit, emit_error, emit_json};

use asked::{Control, plan};
pub use asked::{State, mask, request};
use judged::{Verification, judged};

/// Change a control; without --apply only show what would be written
///
/// Shows every register with its old and new value in words. With --apply each old value is put on the
/// disk first (journal), the register is written and read back, and the result is one of: set,
/// widened (more bits than asked), different, ignored, refused. With --verify the hit rate of device
/// writes is measured with the old value, with the new one, and with the old one again, which takes a
/// steady I/O load; then the new value is written for good. The result is "effective" (it changed both
/// times), "accepted, no effect observed" or "not judged".
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    control: Control,

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

    /// For people or for programs
    #[arg(long, global = true, value_enum, default_value_t)]
    format: Format,
}

/// The JSON output.
#[derive(Serialize)]
struct Report<'a> {
    plan: &'a TunePlan,
    applied: Option<&'a [AppliedChange]>,
    verification: Option<&'a Verification>,
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let planner = arguments.control.allowing(TunePlanner::new(&context.host).map_err(refused)?);
    let first = plan(&arguments.control, &planner).map_err(refused)?;
    if !arguments.apply {
        return show(arguments, &first, None, None);
    }
    let state = lock(context)?;
    // The one that had the lock may have changed the values that a plan begins at.
    let plan = plan(&arguments.control, &planner).map_err(refused)?;
    if arguments.r#for.is_some() {
        check_reaches_all(&plan)?;
        check_nothing_pending(context, &state)?;
    }
    let mut signals = arguments.r#for.map(|_| Signals::catch()).transpose()?;
    let guard = arguments.r#for.map(|_| Guard::start(context, &state)).transpose()?;
    let ended = change(arguments, context, &state, (&planner, &plan), &mut signals);
    if let Some(guard) = guard {
        guard.dismiss();
    }
    ended
}

/// Makes the change, tells what became of it, and holds it if that was asked.
fn change(
    arguments: &Arguments,
    context: &Context,
    state: &StateDirectory<'_>,
    (planner, plan): (&TunePlanner<'_>, &TunePlan),
    signals: &mut Option<Signals>,
) -> Result<(), Failure> {
    let window = Duration::from_millis(arguments.window);
    let monitor = arguments
        .verify
        .then(|| Monitor::prepare(&context.host, planner.generation(), planner.sockets()));
    let mut watch = crash::as_told(context.host.root.is_real());
    let mut applied = Vec::new();
    let (host, done) = (&context.host, &mut applied);
    let ended = match &monitor {
        Some(monitor) => {
            apply_measured(host, state, plan, (monitor, window), done, &mut watch).map(Some)
        }
        None => apply(host, state, plan, done, &mut watch).map(|()| None),
    };
    let around = ended.map_err(|error| {
        let was_written = applied.iter().any(|one| one.outcome.was_written());
        let failure = cut_short(arguments, plan, &applied, &error);
        match arguments.r#for {
            Some(_) => put_back_after((failure, was_written), context, state),
            None => failure,
        }
    })?;
    let verification = around.map(|around| {
        let touched = affected_sockets(host, &applied);
        judged(around, &applied, touched.as_deref(), arguments.window)
    });
    let shown = show(arguments, plan, Some(&applied), verification.as_ref());
    match (arguments.r#for, signals) {
        (Some(time), Some(signals)) => {
            // A change whose report cannot be written is not held.
            let is_held = ending(&applied, &plan.left_out, None).is_none() && shown.is_ok();
            let ended = held_for(context, state, signals, is_held.then_some(time));
            // A value that is not put back matters more than a report.
            ended?;
            shown?;
        }
        _ => shown.map_err(|failure| {
            failure.adding("the change was made all the same: `skipline-host restore` puts it back")
        })?,
    }
    let ending = ending(&applied, &plan.left_out, verification.as_ref());
    ending.map_or(Ok(()), |ending| Err(Failure::told(ending)))
}

/// What was to be held and was cut short is put back; a value that is not put back matters more than why.
fn put_back_after(
    (failure, was_written): (Failure, bool),
    context: &Context,
    state: &StateDirectory<'_>,
) -> Failure {
    match put_back(context, state) {
        Ok(_) if was_written => failure.adding("what was written before is put back"),
        Ok(_) => failure,
        Err(left) => {
            emit_error(&format!("error: {}\n", failure.message()));
            left
        }
    }
}

/// Holds what was written for a time, or until a signal, and puts it back. What is not as asked is not
/// held.
fn held_for(
    context: &Context,
    state: &StateDirectory<'_>,
    signals: &mut Signals,
    time: Option<Duration>,
) -> Result<(), Failure> {
    let mut is_interrupted = false;
    if let Some(time) = time {
        emit_error(&format!("held for {} s; Ctrl-C puts it back now\n", time.as_secs_f64()));
        is_interrupted = signals.wait(time)?;
    }
    let restored = put_back(context, state)?;
    let lines = restored.iter().map(|one| format!("  {}: put back\n", one.place));
    emit_error(&lines.collect::<String>());
    if is_interrupted { Err(Failure::told(Ending::Interrupted)) } else { Ok(()) }
}

/// Takes the machine's lock before anything is written.
pub fn lock(context: &Context) -> Result<StateDirectory<'_>, Failure> {
    context.lock(context.state_dir()).map_err(unlocked)
}

/// How it ended, if not as asked: what became of the writes first, then controls that the change did
/// not reach, then what hit rates say.
pub fn ending(
    applied: &[AppliedChange],
    left_out: &[OmittedControl],
    verification: Option<&Verification>,
) -> Option<Ending> {
    let of_write = |one: &AppliedChange| match one.outcome {
        ChangeOutcome::Refused { .. } => Some(Ending::Refused),
        ChangeOutcome::NotReadBack { .. } => Some(Ending::Failed),
        _ if one.outcome.is_as_requested() => None,
        _ => Some(Ending::NotAsAsked),
    };
    // What could not be made sure of comes last of all in `applied`.
    if let Some(ending) = applied.iter().rev().find_map(of_write) {
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

fn unlocked(error: StateError) -> Failure {
    match error {
        StateError::BadDirectory(_) => Failure::bad_input(error),
        other => Failure::of_state(&other, format!("nothing was written: {other}")),
    }
}

/// What was written before the error stays, is in the journal, and is shown.
fn cut_short(
    arguments: &Arguments,
    plan: &TunePlan,
    applied: &[AppliedChange],
    error: &TuneApplyError,
) -> Failure {
    if !applied.iter().any(|one| one.outcome.was_written()) {
        return Failure::of_apply(error, format!("nothing was written: {error}"));
    }
    let failure = Failure::of_apply(error, error);
    // The error itself is what to tell, also where this cannot be shown.
    let _ = show(arguments, plan, Some(applied), None);
    match arguments.r#for {
        Some(_) => failure,
        None => failure.adding(
            "what was written before is in the journal: `skipline-host restore` puts it back",
        ),
    }
}

pub fn refused(error: TunePlanError) -> Failure {
    match error {
        TunePlanError::BadRequest(message) => Failure::bad_input(message),
        TunePlanError::NoControl(message) => Failure::refused(message),
        TunePlanError::Unreadable { error: ref file, .. } => Failure::of_file(file, &error),
    }
}

fn show(
    arguments: &Arguments,
    plan: &TunePlan,
    applied: Option<&[AppliedChange]>,
    verification: Option<&Verification>,
) -> Result<(), Failure> {
    match arguments.format {
        Format::Json => emit_json(&Report { plan, applied, verification })?,
        Format::Text => {
            let paint = Paint::of_stdout();
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
