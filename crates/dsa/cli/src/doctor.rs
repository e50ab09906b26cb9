//! `skipline-dsa doctor`: the reasons why no device can be used, and the commands that change that.

mod machine;
mod software;

use crate::failure::CommandFailure;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Report why no device can be used here, and which command would change that.
#[derive(clap::Args)]
pub struct DoctorArguments {
    /// A program that is to run with a device.
    #[arg(value_name = "PROGRAM")]
    program: Option<OsString>,
}

/// One requirement of a device, and whether this system meets it.
struct DoctorFinding {
    what: &'static str,
    /// The state of this system.
    state: String,
    /// The command or setting that would meet the requirement; `None`: it is met.
    repair: Option<String>,
}

impl DoctorFinding {
    fn good(what: &'static str, state: impl Into<String>) -> Self {
        Self { what, state: state.into(), repair: None }
    }

    fn bad(what: &'static str, state: impl Into<String>, repair: impl Into<String>) -> Self {
        Self { what, state: state.into(), repair: Some(repair.into()) }
    }
}

/// Prints all requirements and whether they are met; the exit code is 1 if `skipline-dsa run` cannot work.
pub fn run(arguments: &DoctorArguments) -> Result<ExitCode, CommandFailure> {
    let mut out = std::io::stdout().lock();
    let (wanted, needed) = (software::wanted(), software::needed(arguments.program.as_deref()));
    let is_good =
        |findings: &[DoctorFinding]| findings.iter().all(|finding| finding.repair.is_none());
    let (is_whole, is_able) = (is_good(&wanted), is_good(&needed));
    let all: Vec<DoctorFinding> = wanted.into_iter().chain(needed).collect();
    print(&mut out, "A device in software (skipline-dsa run)", &all)?;
    let without = (!is_whole).then(|| software::WITHOUT.to_owned());
    for note in without.into_iter().chain(software::notes()) {
        writeln!(out, "  note  {note}")?;
    }
    print(&mut out, "A device of this machine", &machine::findings())?;
    Ok(ExitCode::from(u8::from(!is_able)))
}

fn print(
    out: &mut impl Write,
    title: &str,
    findings: &[DoctorFinding],
) -> Result<(), CommandFailure> {
    writeln!(out, "{title}")?;
    for DoctorFinding { what, state, repair } in findings {
        let mark = if repair.is_none() { "ok" } else { "no" };
        writeln!(out, "  {mark:<4}  {what}: {state}")?;
        if let Some(repair) = repair {
            writeln!(out, "        {repair}")?;
        }
    }
    Ok(())
}
