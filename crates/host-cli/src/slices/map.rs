//! `slices map`: learns the slice function, or takes it where it is published, and writes it as a table.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::slices::TableFile;
use ::slices::published::Published;
use ::slices::recovery::{Recovered, RecoveryError, Settings, recover};
use clap::Args;

use super::asking::{AskError, Asking};
use super::oracle::{Ask, Asked, Oracle, OracleArguments, Outcome};
use super::published::Known;
use super::view::{Report, Verdict, show};
use crate::Context;
use crate::failure::Failure;
use crate::number::within;
use crate::out_file::OutFile;
use crate::output::Format;

/// Write the slice function of this machine as a table: the published one, or learn it
///
/// Where a function is published for the CPU model and its number of slices, nothing has to be learnt:
/// that table is written (`slices check` compares it with the machine). Elsewhere, with --recover, and
/// with an --oracle of your choice, lines of huge pages are loaded and flushed over and over while the
/// counters of all slices run: the slice with most look-ups has the line. Single answers may be wrong:
/// every decision is a vote, the result is compared with fresh addresses, and the table states its
/// evidence and the addresses for which it holds. What is not established is not written: the verdict is
/// then "not enough evidence".
///
/// Through perf (a kernel with the uncore driver) nothing of the machine is changed. Without it the
/// counters' own control registers have to be written: without --apply that is only shown; with it each old
/// value is journalled on the disk first, and put back at the end, after Ctrl-C and after errors;
/// `skipline-host restore` puts them back after a kill.
///
/// To learn needs root (physical addresses, counters) and free huge pages. In a virtual machine, physical
/// addresses are the guest's and counters are hidden: run it on the host.
#[derive(Args)]
pub struct Arguments {
    /// The table file
    #[arg(long, value_name = "FILE", default_value = "slices.toml")]
    out: PathBuf,

    /// Learn the function, also where it is published
    #[arg(long)]
    recover: bool,

    #[command(flatten)]
    asked: OracleArguments,

    /// Most questions to ask
    #[arg(long, value_name = "QUERIES", default_value_t = 4_000_000, value_parser = within(10_000..=10_000_000_000))]
    budget: u64,

    /// For people or for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let out = OutFile::prepare(&arguments.out)?;
    let asked = Asked::new(&arguments.asked, context)?;
    let map = Map { arguments, out };
    if arguments.recover || arguments.asked.oracle != Oracle::Auto {
        return map.learn(&asked, None);
    }
    match Known::of(&asked, context) {
        Known::Function(published, file) => map.take(&asked, published, &file),
        Known::NotHere(published, reason) => {
            let name = published.name;
            map.learn(&asked, Some(format!("the published function {name} is not used: {reason}")))
        }
        Known::Nothing => map.learn(&asked, None),
    }
}

struct Map<'a> {
    arguments: &'a Arguments,
    out: OutFile,
}

impl Map<'_> {
    fn take(
        &self,
        asked: &Asked<'_>,
        published: &Published,
        file: &TableFile,
    ) -> Result<(), Failure> {
        self.out.write(&file.write())?;
        let report = asked.report("published", None, published.slices);
        let verdict = Verdict::Published(published.name, file, &self.arguments.out);
        show(self.arguments.format, &report, &verdict)
    }

    fn learn(&self, asked: &Asked<'_>, note: Option<String>) -> Result<(), Failure> {
        let mut told = asked.ask(|report, ask, stop| self.recover(report, ask, stop))?;
        told.report.notes.extend(note);
        let format = self.arguments.format;
        let shown = match told.outcome {
            Outcome::Answered(found) => self.finish(&told.report, found),
            Outcome::NotEnough(reason) => {
                show(format, &told.report, &Verdict::NotEnough(reason, "No table was written."))
            }
            Outcome::DryRun(plan) => show(format, &told.report, &Verdict::DryRun(&plan)),
        };
        told.put_back.and(shown)
    }

    fn recover(
        &self,
        report: &mut Report,
        ask: &mut Ask<'_>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Recovered, RecoveryError<AskError>> {
        let budget = self.arguments.budget;
        let settings =
            Settings { most_questions: budget, ..Settings::new(&report.part, &report.source()) };
        let mut oracle = Asking::new(ask, report.slices, budget, Arc::clone(stop));
        let found = recover(&mut oracle, &report.pages, &settings);
        report.questions = oracle.asked();
        found
    }

    fn finish(
        &self,
        report: &Report,
        found: Result<Recovered, RecoveryError<AskError>>,
    ) -> Result<(), Failure> {
        let format = self.arguments.format;
        let not_enough =
            |reason| show(format, report, &Verdict::NotEnough(reason, "No table was written."));
        match found {
            Ok(recovered) => {
                self.out.write(&recovered.file.write())?;
                show(format, report, &Verdict::Established(&recovered, &self.arguments.out))
            }
            Err(RecoveryError::NotEnoughEvidence(reason)) => not_enough(reason.to_string()),
            Err(RecoveryError::Oracle(silent @ AskError::Silent(_))) => {
                not_enough(silent.to_string())
            }
            Err(RecoveryError::Oracle(AskError::Stopped)) => Err(Failure::interrupted(format!(
                "interrupted after {} questions; no table was written",
                report.questions
            ))),
            Err(RecoveryError::Oracle(error)) => Err(Failure::failed(error)),
            Err(error) => Err(Failure::failed(error)),
        }
    }
}
