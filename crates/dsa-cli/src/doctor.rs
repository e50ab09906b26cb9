//! `skipline-dsa doctor`: why there is no device, and what would give one.

mod machine;
mod software;

use crate::failure::Failure;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Say why no device can be used here, and which command would change that.
#[derive(clap::Args)]
pub struct Arguments {
    /// A program that shall run with a device.
    #[arg(value_name = "PROGRAM")]
    program: Option<OsString>,
}

/// One thing that a device needs.
struct Finding {
    what: &'static str,
    /// What is there.
    seen: String,
    /// How to repair it; `None`: it is as it should be.
    repair: Option<String>,
}

impl Finding {
    fn good(what: &'static str, seen: impl Into<String>) -> Self {
        Self { what, seen: seen.into(), repair: None }
    }

    fn bad(what: &'static str, seen: impl Into<String>, repair: impl Into<String>) -> Self {
        Self { what, seen: seen.into(), repair: Some(repair.into()) }
    }
}

/// Prints what is there and what is missing; the code is 1 if `skipline-dsa run` cannot work.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut out = std::io::stdout().lock();
    let (wanted, needed) = (software::wanted(), software::needed(arguments.program.as_deref()));
    let is_good = |findings: &[Finding]| findings.iter().all(|finding| finding.repair.is_none());
    let (is_whole, is_able) = (is_good(&wanted), is_good(&needed));
    let all: Vec<Finding> = wanted.into_iter().chain(needed).collect();
    print(&mut out, "A device in software (skipline-dsa run)", &all)?;
    let without = (!is_whole).then(|| software::WITHOUT.to_owned());
    for note in without.into_iter().chain(software::notes()) {
        writeln!(out, "  note  {note}")?;
    }
    print(&mut out, "A device of this machine", &machine::findings())?;
    Ok(ExitCode::from(u8::from(!is_able)))
}

fn print(out: &mut impl Write, title: &str, findings: &[Finding]) -> Result<(), Failure> {
    writeln!(out, "{title}")?;
    for Finding { what, seen, repair } in findings {
        let mark = if repair.is_none() { "ok" } else { "no" };
        writeln!(out, "  {mark:<4}  {what}: {seen}")?;
        if let Some(repair) = repair {
            writeln!(out, "        {repair}")?;
        }
    }
    Ok(())
}
