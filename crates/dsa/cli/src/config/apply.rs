//! `config apply`: gives devices the configuration of a file; a dry run unless `--apply` is given.

use super::preview::{ChangePreview, read};
use super::{ConfigContext, ConfigFormat, change_failure, crash};
use crate::failure::CommandFailure;
use dsa_config::change::{ChangeOptions, change};
use std::io::Write;
use std::path::PathBuf;

/// Give devices the configuration of a file; without --apply only show what would be written.
///
/// Devices and queues that must be off are disabled, values are written, then all is enabled that the file
/// enables: where it has no `state`, queues with a type, a name and a group. With --apply the present
/// configuration is put on the disk first (journal), and each write is read back; where one fails all is put
/// back. After a kill, or to undo it, `config reset` does the same.
#[derive(clap::Args)]
pub struct ApplyArguments {
    /// The file, as `accel-config save-config` and `config show --format json` write it; - reads it from
    /// the input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write; without it nothing is written.
    #[arg(long, visible_alias = "write")]
    apply: bool,
    /// Disable queues also while programs have them open.
    #[arg(long)]
    even_if_in_use: bool,
}

pub fn run(arguments: &ApplyArguments, context: &ConfigContext) -> Result<(), CommandFailure> {
    let file = read(&arguments.file)?;
    let state = if arguments.apply {
        // Refusals are reported also to users without the right to write, and before any file is created.
        ChangePreview::for_file(&arguments.file, &file, context)?.or_report(arguments, context)?;
        Some(context.lock()?)
    } else {
        None
    };
    // Until the lock was taken another process may have changed the configuration that the steps begin at.
    let preview =
        ChangePreview::for_file(&arguments.file, &file, context)?.or_report(arguments, context)?;
    if let Some(state) = &state {
        let options = ChangeOptions {
            disturbs: arguments.even_if_in_use,
            without_way_back: false,
            command: format!("config apply {}", arguments.file.display()),
        };
        let mut watch = crash::kill_at_point(context.is_stand_in);
        change(&context.bus, state, &preview.wanted, &options, &mut watch)
            .map_err(|error| change_failure(&error))?;
    }
    show(&preview, arguments, context).map_err(|failure| match arguments.apply {
        true => failure.with_line(
            "the configuration was written nevertheless: `config reset` puts the former one back",
        ),
        false => failure,
    })
}

impl ChangePreview {
    /// Returns the preview if the change is permitted; otherwise shows it, which tells why not, and fails.
    fn or_report(
        self,
        arguments: &ApplyArguments,
        context: &ConfigContext,
    ) -> Result<Self, CommandFailure> {
        let verdict = self.verdict(arguments.even_if_in_use);
        if verdict.is_err() {
            show(
                &self,
                &ApplyArguments { apply: false, file: PathBuf::new(), ..*arguments },
                context,
            )?;
        }
        verdict.map(|()| self)
    }
}

fn show(
    preview: &ChangePreview,
    arguments: &ApplyArguments,
    context: &ConfigContext,
) -> Result<(), CommandFailure> {
    let mut out = std::io::stdout().lock();
    if context.format == ConfigFormat::Json {
        return Ok(writeln!(out, "{:#}", preview.json(arguments.apply))?);
    }
    out.write_all(preview.text(true, arguments.even_if_in_use).as_bytes())?;
    let is_refused = preview.verdict(arguments.even_if_in_use).is_err();
    if preview.changes_nothing() {
        return Ok(());
    }
    if arguments.apply {
        writeln!(out, "{}", super::AFTER_WRITE)?;
    } else if !is_refused {
        writeln!(out, "Dry run: nothing was written; --apply writes.")?;
    }
    Ok(())
}
