//! `config reset`: puts back what devices had before the first change of ours, or takes all that they
//! have.

use super::foreseen::Foreseen;
use super::{Context, Format, crash, device_name, of_change, of_state};
use crate::failure::Failure;
use dsa_config::change::{Options, change};
use dsa_config::restore::{RestoreOptions, Restored, Restoring, preview, restore};
use idxd::Node;
use idxd::saved::Saved;
use serde_json::json;
use std::io::Write;

/// Put back what devices had before `config apply`, also after a crash in the middle of it.
///
/// Works from the journal. A device that another program has changed since is left alone unless --all is
/// given. Where the machine was booted since nothing is put back: the boot has unconfigured the devices.
#[derive(clap::Args)]
#[command(visible_alias = "restore")]
pub struct Arguments {
    /// Instead, disable devices and take all of their configuration; `config reset` undoes that too.
    #[arg(long, conflicts_with_all = ["all", "forget"])]
    factory: bool,
    /// Only these devices, of --factory.
    #[arg(long, value_name = "DEVICE", requires = "factory", value_parser = device_name)]
    device: Vec<Node>,
    /// Also what another program has changed since.
    #[arg(long)]
    all: bool,
    /// Put back what can be, and drop the rest from the journal.
    #[arg(long)]
    forget: bool,
    /// Only show what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Disable queues also while programs have them open.
    #[arg(long)]
    even_if_in_use: bool,
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    if arguments.factory {
        return factory(arguments, context);
    }
    let journal = context.place.peek().map_err(|error| of_state(&error))?;
    let mut restored = Vec::new();
    let mut ended = Ok(());
    if arguments.dry_run {
        restored =
            preview(&context.bus, &journal, arguments.all).map_err(|error| of_change(&error))?;
    } else if !journal.entries.is_empty() {
        // Without a journal there is nothing to lock, and nothing is made.
        let state = context.lock()?;
        let options = RestoreOptions {
            all: arguments.all,
            forget: arguments.forget,
            disturbs: arguments.even_if_in_use,
        };
        let mut watch = crash::as_told(context.is_stand_in);
        ended = restore(&context.bus, &state, options, &mut restored, &mut watch);
    }
    if restored.is_empty() && ended.is_ok() {
        let at = context.place.directory.display();
        if context.format == Format::Text {
            writeln!(std::io::stdout(), "Nothing to put back: there is no journal in {at}.")?;
            return Ok(());
        }
    }
    show(&restored, arguments, context)?;
    ended.map_err(|error| of_change(&error))?;
    let is_settled = restored.iter().all(|one| one.result.is_settled());
    let is_done = is_settled || arguments.forget || arguments.dry_run;
    if is_done { Ok(()) } else { Err(Failure::told(1)) }
}

fn show(restored: &[Restored], arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if context.format == Format::Json {
        let devices: Vec<_> = restored
            .iter()
            .map(|one| {
                json!({
                    "device": one.entry.device, "changed_by": one.entry.command,
                    "result": words(&one.result, arguments), "settled": one.result.is_settled(),
                })
            })
            .collect();
        let report = json!({
            "schema_version": 1, "dry_run": arguments.dry_run,
            "state_dir": context.place.directory, "devices": devices,
        });
        return Ok(writeln!(out, "{report:#}")?);
    }
    for one in restored {
        writeln!(out, "{}: {}", one.entry.device, words(&one.result, arguments))?;
    }
    if arguments.dry_run {
        writeln!(out, "Dry run: nothing was written.")?;
    }
    Ok(())
}

fn words(result: &Restoring, arguments: &Arguments) -> String {
    let stays = if arguments.forget {
        "dropped from the journal"
    } else {
        "it stays in the journal until --forget"
    };
    match result {
        Restoring::PutBack(steps) if arguments.dry_run => {
            format!("would be put back, in {steps} step(s)")
        }
        Restoring::PutBack(steps) => format!("put back, in {steps} step(s)"),
        Restoring::WasBack => "has what it had before already".to_owned(),
        Restoring::Rebooted => {
            "not written: the machine was booted since, which has unconfigured it".to_owned()
        }
        Restoring::ChangedByOthers(what) => {
            format!(
                "left alone: another program has changed it since ({what}); --all puts it back; {stays}"
            )
        }
        Restoring::Failed(error) => format!("not put back: {error}; {stays}"),
        Restoring::NoWay(why) => format!("not put back: {why}; {stays}"),
    }
}

/// Takes all that devices have.
fn factory(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let state = if arguments.dry_run { None } else { Some(context.lock()?) };
    let machine = context.machine()?;
    let numbers = context.chosen(&machine, &arguments.device)?;
    let wanted = Saved::unconfigured(&machine.driver, &numbers);
    let foreseen = Foreseen::to("--factory".to_owned(), &machine, context, wanted)?;
    let mut out = std::io::stdout().lock();
    let disturbs = arguments.even_if_in_use;
    match context.format {
        Format::Text => out.write_all(foreseen.text(true, disturbs).as_bytes())?,
        Format::Json => writeln!(out, "{:#}", foreseen.json(state.is_some()))?,
    }
    foreseen.ending(disturbs)?;
    let Some(state) = state else { return Ok(()) };
    let command = "config reset --factory".to_owned();
    let options = Options { disturbs, without_way_back: true, command };
    let mut watch = crash::as_told(context.is_stand_in);
    change(&context.bus, &state, &foreseen.wanted, &options, &mut watch)
        .map_err(|error| of_change(&error))?;
    if context.format == Format::Text && !foreseen.is_so_already() {
        writeln!(out, "{}", super::WRITTEN)?;
    }
    Ok(())
}
