//! `doctor`: what can be seen and changed here, in one screen.

use clap::Args;
use host::doctor::{DoctorCheck, Examination, Finding, examine};

use crate::Context;
use crate::failure::Failure;
use crate::output::{Format, Paint, emit, emit_json, wrapped};

/// Columns of the widest line.
const WIDTH: usize = 100;
/// Columns before what was found.
const INDENT: usize = 29;

/// Say what can be seen and changed on this machine, and if not, why not and what would allow it
///
/// Everything is tried (a register is read, an event opened, a plan made), and nothing is written.
#[derive(Args)]
pub struct Arguments {
    /// For people or for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let examined = examine(&context.host, context.state_dir());
    match arguments.format {
        Format::Json => emit_json(&examined)?,
        Format::Text => emit(&screen(&examined, Paint::of_stdout()))?,
    }
    Ok(())
}

fn screen(examined: &Examination, paint: Paint) -> String {
    let mut text = paint.heading(&examined.machine) + "\n";
    for (heading, checks) in [("SEEN", &examined.seen), ("CHANGED", &examined.changed)] {
        text += &format!("{}\n", paint.heading(heading));
        text += &checks.iter().map(|check| lines(check, paint)).collect::<String>();
    }
    text + &match examined.changes_pending {
        0 => "No changes are in force.\n".to_owned(),
        n => {
            let words = format!("{n} changes in force; `skipline-host restore` puts them back");
            let held = paint.quiet("(a `run` or `tune --for` that still runs does so at its end)");
            format!("{}\n{held}\n", paint.warning(words))
        }
    }
}

fn lines(check: &DoctorCheck, paint: Paint) -> String {
    let (word, about, remedy) = match &check.finding {
        Finding::Yes { note } => (paint.good("yes"), note.as_deref().unwrap_or_default(), None),
        Finding::No { reason, remedy } => {
            (paint.warning("no "), reason.as_str(), remedy.as_deref())
        }
    };
    let mut text = format!("  {:<23}{word} ", check.what);
    let about = wrapped(about, WIDTH - INDENT);
    text += &about.join(&format!("\n{:INDENT$}", ""));
    text = text.trim_end().to_owned() + "\n";
    for (index, line) in
        remedy.into_iter().flat_map(|it| wrapped(it, WIDTH - INDENT - 2)).enumerate()
    {
        let mark = if index == 0 { "→ " } else { "  " };
        text += &format!("{:INDENT$}{}\n", "", paint.quiet(format!("{mark}{line}")));
    }
    text
}
