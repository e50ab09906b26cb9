//! `slices map`: writes the slice function as a table; learns it unless it is published.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::slices::TableFile;
use ::slices::published::Published;
use ::slices::recovery::{Recovered, RecoveryError, Settings, recover};
use clap::Args;

use super::interruptible_oracle::{InterruptibleOracle, OracleError};
use super::oracle::{Oracle, OracleArguments, OracleOutcome, SliceQuery, SocketOracle};
use super::published::PublishedFunction;
use super::view::{SlicesReport, SlicesVerdict, show};
use crate::HostContext;
use crate::failure::HostFailure;
use crate::out_file::OutFile;
use crate::output::TextOrJson;
use crate::value_parsers::within;

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
/// Learning needs root (physical addresses, counters) and free huge pages. In a virtual machine, physical
/// addresses are the guest's and counters are hidden: run it on the host.
#[derive(Args)]
pub struct MapArguments {
    /// The table file
    #[arg(long, value_name = "FILE", default_value = "slices.toml")]
    out: PathBuf,

    /// Learn the function, also where it is published
    #[arg(long)]
    recover: bool,

    #[command(flatten)]
    oracle: OracleArguments,

    /// Most questions to ask
    #[arg(long, value_name = "QUERIES", default_value_t = 4_000_000, value_parser = within(10_000..=10_000_000_000))]
    budget: u64,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    format: TextOrJson,
}

pub fn run(arguments: &MapArguments, context: &HostContext) -> Result<(), HostFailure> {
    let out = OutFile::prepare(&arguments.out)?;
    let socket = SocketOracle::new(&arguments.oracle, context)?;
    let map = MapCommand { arguments, out };
    if arguments.recover || arguments.oracle.oracle != Oracle::Auto {
        return map.learn(&socket, None);
    }
    match PublishedFunction::for_socket(&socket, context) {
        PublishedFunction::Found(published, file) => map.write_published(&socket, published, &file),
        PublishedFunction::NotUsable(published, reason) => {
            let name = published.name;
            map.learn(&socket, Some(format!("the published function {name} is not used: {reason}")))
        }
        PublishedFunction::NotFound => map.learn(&socket, None),
    }
}

/// The command with its prepared output file.
struct MapCommand<'a> {
    arguments: &'a MapArguments,
    out: OutFile,
}

impl MapCommand<'_> {
    fn write_published(
        &self,
        socket: &SocketOracle<'_>,
        published: &Published,
        file: &TableFile,
    ) -> Result<(), HostFailure> {
        self.out.write(&file.write())?;
        let report = socket.report("published", None, published.slices);
        let verdict = SlicesVerdict::Published(published.name, file, &self.arguments.out);
        show(self.arguments.format, &report, &verdict)
    }

    /// Learns the function and writes it; the note goes to the report.
    fn learn(&self, socket: &SocketOracle<'_>, note: Option<String>) -> Result<(), HostFailure> {
        let mut run = socket.run(|report, query, stop| self.recover(report, query, stop))?;
        run.report.notes.extend(note);
        let (format, report) = (self.arguments.format, &run.report);
        let shown = match run.outcome {
            OracleOutcome::Answered(recovered) => self.finish(report, recovered),
            OracleOutcome::NotEnough(reason) => {
                show(format, report, &SlicesVerdict::NotEnough(reason, "No table was written."))
            }
            OracleOutcome::DryRun(plan) => show(format, report, &SlicesVerdict::DryRun(&plan)),
        };
        run.put_back.and(shown)
    }

    fn recover(
        &self,
        report: &mut SlicesReport,
        query: &mut SliceQuery<'_>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Recovered, RecoveryError<OracleError>> {
        let budget = self.arguments.budget;
        let settings =
            Settings { most_questions: budget, ..Settings::new(&report.part, &report.source()) };
        let mut oracle = InterruptibleOracle::new(query, report.slices, budget, Arc::clone(stop));
        let recovered = recover(&mut oracle, &report.pages, &settings);
        report.questions = oracle.questions();
        recovered
    }

    /// Writes the table, if one was established, and shows the verdict.
    fn finish(
        &self,
        report: &SlicesReport,
        recovered: Result<Recovered, RecoveryError<OracleError>>,
    ) -> Result<(), HostFailure> {
        let format = self.arguments.format;
        let not_enough = |reason| {
            show(format, report, &SlicesVerdict::NotEnough(reason, "No table was written."))
        };
        match recovered {
            Ok(recovered) => {
                self.out.write(&recovered.file.write())?;
                show(format, report, &SlicesVerdict::Established(&recovered, &self.arguments.out))
            }
            Err(RecoveryError::NotEnoughEvidence(reason)) => not_enough(reason.to_string()),
            Err(RecoveryError::Oracle(silent @ OracleError::Silent(_))) => {
                not_enough(silent.to_string())
            }
            Err(RecoveryError::Oracle(OracleError::Stopped)) => Err(HostFailure::interrupted(
                format!("interrupted after {} questions; no table was written", report.questions),
            )),
            Err(RecoveryError::Oracle(error)) => Err(HostFailure::failed(error)),
            Err(error) => Err(HostFailure::failed(error)),
        }
    }
}
