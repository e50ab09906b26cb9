//! `doctor`: one screen that lists what can be seen and changed on this machine.

use clap::Args;
use host::doctor::{DoctorCheck, Examination, Finding, examine};

use crate::HostContext;
use crate::failure::HostFailure;
use crate::output::{Paint, TextOrJson, emit, emit_json, wrapped};

/// Columns of the widest line.
const WIDTH: usize = 100;
/// Columns before the text of a finding.
const INDENT: usize = 29;

/// Report what can be seen and changed on this machine; where not, the reason and the remedy
///
/// Each item is tried (a register is read, an event opened, a plan made), and nothing is written.
#[derive(Args)]
pub struct HostDoctorArguments {
    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    format: TextOrJson,
}

pub fn run(arguments: &HostDoctorArguments, context: &HostContext) -> Result<(), HostFailure> {
    let examined = examine(&context.host, context.state_dir());
    match arguments.format {
        TextOrJson::Json => emit_json(&examined)?,
        TextOrJson::Text => emit(&screen(&examined, Paint::for_stdout()))?,
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
