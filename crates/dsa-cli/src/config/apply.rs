//! `config apply`: gives devices the configuration of a file. A dry run unless `--apply` is given.

use super::foreseen::{Foreseen, read};
use super::{Context, Format, crash, of_change};
use crate::failure::Failure;
use dsa_config::change::{Options, change};
use std::io::Write;
use std::path::PathBuf;

/// Give devices the configuration of a file; without --apply only show what would be written.
///
/// What must be off is disabled, values are written, then all is enabled that the file enables: where it
/// does not say (`state`), queues with a type, a name and a group. With --apply what devices have is put
/// on the disk first (journal), and each write is read back; where one fails all is put back. After a
/// kill, or to undo it, `config reset` does the same.
#[derive(clap::Args)]
pub struct Arguments {
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

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let file = read(&arguments.file)?;
    let state = if arguments.apply {
        // What is refused is told without the right to write, and before anything is made.
        Foreseen::of(&arguments.file, &file, context)?.told(arguments, context)?;
        Some(context.lock()?)
    } else {
        None
    };
    // One that had the lock may have changed what the steps begin at.
    let foreseen = Foreseen::of(&arguments.file, &file, context)?.told(arguments, context)?;
    if let Some(state) = &state {
        let options = Options {
            disturbs: arguments.even_if_in_use,
            without_way_back: false,
            command: format!("config apply {}", arguments.file.display()),
        };
        let mut watch = crash::as_told(context.is_stand_in);
        change(&context.bus, state, &foreseen.wanted, &options, &mut watch)
            .map_err(|error| of_change(&error))?;
    }
    show(&foreseen, arguments, context).map_err(|failure| match arguments.apply {
        true => failure.adding("it was written all the same: `config reset` puts it back"),
        false => failure,
    })
}

impl Foreseen {
    /// Itself, if it can be written; otherwise it has said why not.
    fn told(self, arguments: &Arguments, context: &Context) -> Result<Self, Failure> {
        let ending = self.ending(arguments.even_if_in_use);
        if ending.is_err() {
            show(&self, &Arguments { apply: false, file: PathBuf::new(), ..*arguments }, context)?;
        }
        ending.map(|()| self)
    }
}

fn show(foreseen: &Foreseen, arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if context.format == Format::Json {
        return Ok(writeln!(out, "{:#}", foreseen.json(arguments.apply))?);
    }
    out.write_all(foreseen.text(true, arguments.even_if_in_use).as_bytes())?;
    let is_refused = foreseen.ending(arguments.even_if_in_use).is_err();
    if foreseen.is_so_already() {
        return Ok(());
    }
    if arguments.apply {
        writeln!(out, "{}", super::WRITTEN)?;
    } else if !is_refused {
        writeln!(out, "Dry run: nothing was written; --apply writes.")?;
    }
    Ok(())
}
