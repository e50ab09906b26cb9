//! `restore`: put back what was changed.

use clap::Args;
use host::tune::{Journal, Restored, Restoring, StateDirectory, restore};
use serde::Serialize;

use crate::Context;
use crate::failure::Failure;
use crate::output::{Format, Paint, emit, emit_json};

/// Put back every value that tune changed, newest first
///
/// Works from the journal, also after a crash in the middle of a change. A control that somebody else
/// has changed since is left alone unless --all is given. Changes from before a reboot are dropped:
/// the reboot has reset them.
#[derive(Args)]
pub struct Arguments {
    /// Also what somebody else has changed since
    #[arg(long)]
    all: bool,

    /// Only show what would be put back
    #[arg(long)]
    dry_run: bool,

    /// For people or for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct Report<'a> {
    restored: &'a [Restored],
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    if arguments.dry_run {
        return show_journal(arguments, context);
    }
    // Without a journal there is nothing to lock, and nothing is made.
    let journal = Journal::peek(&context.host.root, &context.state_dir).map_err(Failure::failed)?;
    let restored = if journal.entries.is_empty() {
        Vec::new()
    } else {
        let state = StateDirectory::lock(&context.host.root, &context.state_dir)
            .map_err(Failure::failed)?;
        let mut watch = crate::tune::crash::as_told(context.host.root.is_real());
        restore(&context.host, &state, arguments.all, &mut watch).map_err(Failure::failed)?
    };
    match arguments.format {
        Format::Json => emit_json(&Report { restored: &restored })?,
        Format::Text => emit(&text(&restored, Paint::of_stdout()))?,
    }
    if restored.iter().all(|one| one.result.is_settled()) { Ok(()) } else { Err(Failure::told()) }
}

fn show_journal(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let journal = Journal::peek(&context.host.root, &context.state_dir).map_err(Failure::failed)?;
    if arguments.format == Format::Json {
        return Ok(emit_json(&journal)?);
    }
    let mut text = String::new();
    for entry in journal.entries.iter().rev() {
        text += &format!("  {}: {:#x} (by `{}`)\n", entry.target, entry.old, entry.command);
    }
    if text.is_empty() {
        text += "Nothing to put back.\n";
    }
    Ok(emit(&text)?)
}

fn text(restored: &[Restored], paint: Paint) -> String {
    if restored.is_empty() {
        return "Nothing to put back.\n".to_owned();
    }
    let mut text = String::new();
    for one in restored {
        let old = one.entry.old;
        let result = match &one.result {
            Restoring::PutBack => paint.good(format!("put back to {old:#x}")),
            Restoring::WasBack => paint.good(format!("is {old:#x} already")),
            Restoring::Rebooted => {
                paint.quiet("not written: the machine was rebooted since, which reset it")
            }
            Restoring::ChangedByOthers { holds } => paint.warning(format!(
                "left alone: somebody else set it to {holds:#x}; --all puts it back to {old:#x}"
            )),
            Restoring::Failed { reason } => paint.warning(format!("not put back: {reason}")),
        };
        text += &format!("  {}: {result}\n", one.place);
    }
    text
}
