//! `config reset`: restores the configuration before the first change by `config apply`, or with --factory
//! removes all configuration.

use super::preview::ChangePreview;
use super::{ConfigContext, ConfigFormat, change_failure, crash, parse_device_name, state_failure};
use crate::failure::CommandFailure;
use dsa_config::change::{ChangeOptions, change};
use dsa_config::restore::{ConfigRestoreOptions, RestoreResult, RestoredDevice, preview, restore};
use idxd::BusNode;
use idxd::config_file::SavedConfig;
use serde_json::json;
use std::io::Write;

/// Put back the configuration before `config apply`, also after a crash in the middle of it.
///
/// Works from the journal. A device that another program has changed since is left alone unless --all is
/// given. Where the machine was booted since nothing is put back: the boot has unconfigured the devices.
#[derive(clap::Args)]
#[command(visible_alias = "restore")]
pub struct ResetArguments {
    /// Instead, disable devices and remove all of their configuration; `config reset` undoes that too.
    #[arg(long, conflicts_with_all = ["all", "forget"])]
    factory: bool,
    /// Only these devices (with --factory).
    #[arg(long, value_name = "DEVICE", requires = "factory", value_parser = parse_device_name)]
    device: Vec<BusNode>,
    /// Also put back devices that another program has changed since.
    #[arg(long)]
    all: bool,
    /// Put back what is possible, and drop the rest from the journal.
    #[arg(long)]
    forget: bool,
    /// Only show what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Disable queues also while programs have them open.
    #[arg(long)]
    even_if_in_use: bool,
}

pub fn run(arguments: &ResetArguments, context: &ConfigContext) -> Result<(), CommandFailure> {
    if arguments.factory {
        return factory(arguments, context);
    }
    let journal = context.place.peek().map_err(|error| state_failure(&error))?;
    let mut restored = Vec::new();
    let mut ended = Ok(());
    if arguments.dry_run {
        restored = preview(&context.bus, &journal, arguments.all)
            .map_err(|error| change_failure(&error))?;
    } else if !journal.entries.is_empty() {
        // Without a journal there is nothing to lock, and no file is created.
        let state = context.lock()?;
        let options = ConfigRestoreOptions {
            all: arguments.all,
            forget: arguments.forget,
            disturbs: arguments.even_if_in_use,
        };
        let mut watch = crash::kill_at_point(context.is_stand_in);
        ended = restore(&context.bus, &state, options, &mut restored, &mut watch);
    }
    if restored.is_empty() && ended.is_ok() {
        let directory = context.place.directory();
        let at = directory.display();
        if context.format == ConfigFormat::Text {
            writeln!(std::io::stdout(), "Nothing to put back: there is no journal in {at}.")?;
            return Ok(());
        }
    }
    show(&restored, arguments, context)?;
    ended.map_err(|error| change_failure(&error))?;
    let is_settled = restored.iter().all(|one| one.result.is_settled());
    let is_done = is_settled || arguments.forget || arguments.dry_run;
    if is_done { Ok(()) } else { Err(CommandFailure::silent(1)) }
}

fn show(
    restored: &[RestoredDevice],
    arguments: &ResetArguments,
    context: &ConfigContext,
) -> Result<(), CommandFailure> {
    let mut out = std::io::stdout().lock();
    if context.format == ConfigFormat::Json {
        let devices: Vec<_> = restored
            .iter()
            .map(|one| {
                json!({
                    "device": one.entry.device, "changed_by": one.entry.command,
                    "result": outcome_text(&one.result, arguments), "settled": one.result.is_settled(),
                })
            })
            .collect();
        let report = json!({
            "schema_version": 1, "dry_run": arguments.dry_run,
            "state_dir": context.place.directory(), "devices": devices,
        });
        return Ok(writeln!(out, "{report:#}")?);
    }
    for one in restored {
        writeln!(out, "{}: {}", one.entry.device, outcome_text(&one.result, arguments))?;
    }
    if arguments.dry_run {
        writeln!(out, "Dry run: nothing was written.")?;
    }
    Ok(())
}

fn outcome_text(result: &RestoreResult, arguments: &ResetArguments) -> String {
    let stays = if arguments.forget {
        "dropped from the journal"
    } else {
        "it stays in the journal until --forget"
    };
    match result {
        RestoreResult::PutBack(steps) if arguments.dry_run => {
            format!("would be put back, in {steps} step(s)")
        }
        RestoreResult::PutBack(steps) => format!("put back, in {steps} step(s)"),
        RestoreResult::WasBack => "already has its former configuration".to_owned(),
        RestoreResult::Rebooted => {
            "not written: the machine was booted since, which has unconfigured it".to_owned()
        }
        RestoreResult::ChangedByOthers(what) => {
            format!(
                "left alone: another program has changed it since ({what}); --all puts it back; {stays}"
            )
        }
        RestoreResult::Failed(error) => format!("not put back: {error}; {stays}"),
        RestoreResult::NoWay(why) => format!("not put back: {why}; {stays}"),
    }
}

/// Disables devices and removes all of their configuration.
fn factory(arguments: &ResetArguments, context: &ConfigContext) -> Result<(), CommandFailure> {
    let state = if arguments.dry_run { None } else { Some(context.lock()?) };
    let machine = context.read_machine()?;
    let numbers = context.select_devices(&machine, &arguments.device)?;
    let wanted = SavedConfig::unconfigured(&machine.driver, &numbers);
    let preview =
        ChangePreview::for_configuration("--factory".to_owned(), &machine, context, wanted)?;
    let mut out = std::io::stdout().lock();
    let disturbs = arguments.even_if_in_use;
    match context.format {
        ConfigFormat::Text => out.write_all(preview.text(true, disturbs).as_bytes())?,
        ConfigFormat::Json => writeln!(out, "{:#}", preview.json(state.is_some()))?,
    }
    preview.verdict(disturbs)?;
    let Some(state) = state else { return Ok(()) };
    let command = "config reset --factory".to_owned();
    let options = ChangeOptions { disturbs, without_way_back: true, command };
    let mut watch = crash::kill_at_point(context.is_stand_in);
    change(&context.bus, &state, &preview.wanted, &options, &mut watch)
        .map_err(|error| change_failure(&error))?;
    if context.format == ConfigFormat::Text && !preview.changes_nothing() {
        writeln!(out, "{}", super::AFTER_WRITE)?;
    }
    Ok(())
}
