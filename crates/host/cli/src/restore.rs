//! `restore`: put back what was changed.

use clap::Args;
use host::tune::{
    Journal, RestoreOptions, RestoreOutcome, RestoredControl, other_journal_directories, preview,
    restore,
};
use serde::Serialize;

use crate::HostContext;
use crate::crash_point;
use crate::failure::{Ending, HostFailure};
use crate::output::{Paint, TextOrJson, emit, emit_json};
use crate::temporary_settings::state_failure;
use crate::watchdog;

/// Put back every value that tune changed, newest first
///
/// Works from the journal, also after a crash in the middle of a change. A control that another program
/// has changed since is left alone unless --all is given. Changes from before a reboot are dropped:
/// the reboot has reset them. What cannot be put back stays in the journal until --forget. Without
/// --state-dir a journal in another directory is found too; where there are several, the others are named.
#[derive(Args)]
pub struct RestoreArguments {
    /// Also put back controls that another program has changed since
    #[arg(long)]
    all: bool,

    /// Put back all values that can be, and drop the others from the journal
    #[arg(long)]
    forget: bool,

    /// Only show what would be done, from the present values of the controls
    #[arg(long)]
    dry_run: bool,

    /// Be the watchdog of a process with temporary settings, whose lock and connection this process has
    #[arg(long, hide = true)]
    after_holder: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    format: TextOrJson,
}

/// The JSON output.
#[derive(Serialize)]
struct RestoreReport<'a> {
    /// Whether nothing was written: `restored` is then the outcome that a restore would have.
    dry_run: bool,
    /// The directory of the journal.
    state_dir: &'a str,
    /// Directories with a journal that this command does not read.
    elsewhere: &'a [String],
    restored: &'a [RestoredControl],
}

/// The journal that is put back, and the directories of journals that are not.
struct JournalSelection {
    state_dir: String,
    journal: Journal,
    elsewhere: Vec<String>,
}

/// Selects the journal of `--state-dir`; without that option the default journal, or, if that is empty and
/// there is exactly one other, the other one.
fn select_journal(context: &HostContext) -> Result<JournalSelection, HostFailure> {
    let root = &context.host.root;
    let state_dir = context.state_dir().to_owned();
    let journal = Journal::peek(root, &state_dir).map_err(state_failure)?;
    if context.asked_state_dir.is_some() {
        return Ok(JournalSelection { state_dir, journal, elsewhere: Vec::new() });
    }
    let elsewhere = other_journal_directories(root).map_err(state_failure)?;
    match elsewhere.as_slice() {
        [only] if journal.entries.is_empty() => {
            let journal = Journal::peek(root, only).map_err(state_failure)?;
            Ok(JournalSelection { state_dir: only.clone(), journal, elsewhere: Vec::new() })
        }
        _ => Ok(JournalSelection { state_dir, journal, elsewhere }),
    }
}

pub fn run(arguments: &RestoreArguments, context: &HostContext) -> Result<(), HostFailure> {
    if arguments.after_holder {
        return watchdog::run(context);
    }
    let JournalSelection { state_dir, journal, elsewhere } = select_journal(context)?;
    let mut restored = Vec::new();
    let mut ended = Ok(());
    if arguments.dry_run {
        restored = preview(&context.host, &journal, arguments.all).map_err(HostFailure::failed)?;
    } else if !journal.entries.is_empty() {
        // Without a journal there is nothing to lock, and no directory is created.
        let state = context.lock(&state_dir).map_err(state_failure)?;
        let mut hook = crash_point::step_hook(context.host.root.is_real());
        let options = RestoreOptions { all: arguments.all, forget: arguments.forget };
        ended = restore(&context.host, &state, options, &mut restored, &mut hook);
    }
    if let (Err(error), true) = (&ended, restored.is_empty()) {
        return Err(HostFailure::from_apply(error, error));
    }
    match arguments.format {
        TextOrJson::Json => emit_json(&RestoreReport {
            dry_run: arguments.dry_run,
            state_dir: &state_dir,
            elsewhere: &elsewhere,
            restored: &restored,
        })?,
        TextOrJson::Text if restored.is_empty() && !journal.entries.is_empty() => {
            emit("Nothing to put back: every control was given its first value again.\n")?;
        }
        TextOrJson::Text => emit(&text(&restored, arguments, context, &state_dir))?,
    }
    if arguments.format == TextOrJson::Text {
        emit(&other_journal_lines(&elsewhere, context))?;
    }
    ended.map_err(|error| HostFailure::from_apply(&error, &error))?;
    let all_settled = restored.iter().all(|one| one.result.is_settled());
    let all_settled = (all_settled || arguments.forget) && elsewhere.is_empty();
    if all_settled || arguments.dry_run {
        Ok(())
    } else {
        Err(HostFailure::reported(Ending::Failed))
    }
}

/// Journals that are still to be put back, with the command for each.
fn other_journal_lines(elsewhere: &[String], context: &HostContext) -> String {
    let line = |path: &String| {
        let shown = context.host.root.display_path(path);
        let head = format!("There is another journal in {}:", shown.display());
        format!("{head} skipline-host restore --state-dir {path}\n")
    };
    elsewhere.iter().map(line).collect()
}

fn text(
    restored: &[RestoredControl],
    arguments: &RestoreArguments,
    context: &HostContext,
    state_dir: &str,
) -> String {
    let directory = context.host.root.display_path(state_dir.trim_matches('/'));
    if restored.is_empty() {
        return format!("Nothing to put back: there is no journal in {}.\n", directory.display());
    }
    let paint = Paint::for_stdout();
    let mut text = String::new();
    if state_dir != context.state_dir() {
        text += &format!("The journal is in {}.\n", directory.display());
    }
    for one in restored {
        text += &format!("  {}: {}\n", one.place, result(one, arguments, paint));
    }
    if arguments.dry_run {
        text += &format!("{}\n", paint.good("Dry run: nothing was written."));
    }
    text
}

fn result(one: &RestoredControl, arguments: &RestoreArguments, paint: Paint) -> String {
    let old = one.entry.old;
    let command = &one.entry.command;
    let stays = if arguments.forget {
        "; dropped from the journal"
    } else {
        "; it stays in the journal until --forget"
    };
    match &one.result {
        RestoreOutcome::PutBack { value } if arguments.dry_run => {
            paint.good(format!("would be put back to {value:#x} (changed by `{command}`)"))
        }
        RestoreOutcome::PutBack { value } => paint.good(format!("put back to {value:#x}")),
        RestoreOutcome::WasBack { holds } => paint.good(format!("is {holds:#x} already")),
        RestoreOutcome::Rebooted => {
            paint.quiet("not written: the machine was rebooted since, which reset it")
        }
        RestoreOutcome::SwitchedOff => {
            paint.quiet("not written: I/O allocation is off again, as it was before")
        }
        RestoreOutcome::ChangedByOthers { holds } if arguments.forget => {
            paint.warning(format!("left alone: another program set it to {holds:#x}{stays}"))
        }
        RestoreOutcome::ChangedByOthers { holds } => paint.warning(format!(
            "left alone: another program set it to {holds:#x}; --all puts it back to {old:#x}{stays}"
        )),
        RestoreOutcome::Failed { reason } => paint.warning(format!("not put back: {reason}{stays}")),
    }
}
