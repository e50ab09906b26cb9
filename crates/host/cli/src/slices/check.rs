//! `slices check`: compares a known slice function with this machine.

use std::path::{Path, PathBuf};

use ::slices::comparison::{ComparisonError, ComparisonPlan, compare};
use ::slices::{SliceMap, TableFile};
use clap::Args;

use super::comparison_report::{ComparisonReport, TableOrigin};
use super::interruptible_oracle::{InterruptibleOracle, OracleError};
use super::oracle::{OracleArguments, OracleOutcome, SocketOracle};
use super::published::PublishedFunction;
use super::view::{SlicesReport, SlicesVerdict, show};
use super::{read, wrong_slice_count};
use crate::HostContext;
use crate::failure::{Ending, HostFailure};
use crate::output::TextOrJson;
use crate::value_parsers::within;
use units::narrow::fit;

/// Compare a known slice function with this machine by a few thousand questions
///
/// The oracle of `slices map` answers for random lines that the table covers, most of them once: where an
/// answer differs from the table, votes decide. The exit code is 0 if all agree, 4 if some differ, 6 if too
/// many have no clear answer or, without --apply where it is needed, nothing was asked. By timing, slices
/// agree up to their names.
///
/// Nothing of the machine is changed, but for registers of counters with --apply where the kernel offers no
/// event source (as `slices map` says). Needs root and free huge pages.
#[derive(Args)]
pub struct TableCheckArguments {
    /// The table, or published:NAME, like published:skx-18 [default: the one that is published for this CPU]
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    #[command(flatten)]
    oracle: OracleArguments,

    /// Lines to ask about
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = within(64..=1_000_000))]
    lines: u64,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    format: TextOrJson,
}

/// The table that is compared, and its origin.
struct KnownTable {
    file: TableFile,
    map: SliceMap,
    origin: TableOrigin,
}

pub fn run(arguments: &TableCheckArguments, context: &HostContext) -> Result<(), HostFailure> {
    let socket = SocketOracle::new(&arguments.oracle, context)?;
    let table = table(arguments.table.as_deref(), &socket, context)?;
    let socket = socket.with_table_slices(table.map.slices());
    let run = socket.run(|report, query, stop| {
        let plan = ComparisonPlan { addresses: fit(arguments.lines), seed: 1 };
        let most = arguments.lines.saturating_mul(256);
        let mut oracle = InterruptibleOracle::new(query, report.slices, most, stop.clone());
        let compared = compare(&mut oracle, &report.pages, &table.map, plan);
        report.questions = oracle.questions();
        compared
    })?;
    let format = arguments.format;
    let report = &run.report;
    let shown = match run.outcome {
        OracleOutcome::Answered(Ok(comparison)) => {
            let other_part = &table.file.table.part;
            let names_are_free = report.oracle == "timing";
            let compared = ComparisonReport::new(comparison, table.origin.clone(), names_are_free);
            if *other_part != report.part && compared.agrees != Some(true) {
                crate::output::emit_error(&format!("note: the table is for \"{other_part}\"\n"));
            }
            compared.show(format, report)
        }
        OracleOutcome::Answered(Err(error)) => failed(&error, &table, report, format),
        OracleOutcome::NotEnough(reason) => not_judged(format, report, reason),
        // Nothing was asked, so nothing agrees.
        OracleOutcome::DryRun(plan) => show(format, report, &SlicesVerdict::DryRun(&plan))
            .and(Err(HostFailure::reported(Ending::NotJudged))),
    };
    run.put_back.and(shown)
}

/// Reads the table of `--table`; without it takes the function that is published for the socket.
fn table(
    path: Option<&Path>,
    socket: &SocketOracle<'_>,
    context: &HostContext,
) -> Result<KnownTable, HostFailure> {
    let (file, origin) = match path {
        Some(path) => (read(path)?, TableOrigin::File(path.into())),
        None => match PublishedFunction::for_socket(socket, context) {
            PublishedFunction::Found(published, file) => {
                (*file, TableOrigin::Published(published.name))
            }
            PublishedFunction::NotUsable(published, reason) => {
                return Err(HostFailure::with_ending(
                    Ending::NotJudged,
                    format!(
                        "the published function {} is not taken for this machine's: {reason}; name a table \
                     with --table FILE",
                        published.name
                    ),
                ));
            }
            PublishedFunction::NotFound => {
                return Err(HostFailure::with_ending(
                    Ending::NotJudged,
                    "no slice function is published for this CPU and its number of slices; name a table \
                     with --table FILE (slices map makes one)",
                ));
            }
        },
    };
    let name = origin.name();
    let map = SliceMap::new(&file)
        .map_err(|error| HostFailure::bad_input(format!("--table {name}: {error}")))?;
    match (path, socket.slices()) {
        (Some(path), Some(slices)) if slices != map.slices() => {
            Err(wrong_slice_count(path, map.slices(), slices))
        }
        _ => Ok(KnownTable { file, map, origin }),
    }
}

fn failed(
    error: &ComparisonError<OracleError>,
    table: &KnownTable,
    report: &SlicesReport,
    format: TextOrJson,
) -> Result<(), HostFailure> {
    match error {
        ComparisonError::Oracle(OracleError::Stopped) => {
            let questions = report.questions;
            Err(HostFailure::interrupted(format!("interrupted after {questions} questions")))
        }
        ComparisonError::Oracle(silent @ OracleError::Silent(_)) => {
            not_judged(format, report, silent.to_string())
        }
        ComparisonError::NotCovered { .. } => Err(HostFailure::failed(format!(
            "{}: {error}\n  remedy: more pages, or a table of pages in the same memory",
            table.origin.name()
        ))),
        ComparisonError::Slices { .. } => {
            Err(HostFailure::bad_input(format!("--table {}: {error}", table.origin.name())))
        }
        ComparisonError::Oracle(_) => Err(HostFailure::failed(error)),
    }
}

fn not_judged(
    format: TextOrJson,
    report: &SlicesReport,
    reason: String,
) -> Result<(), HostFailure> {
    // `show` ends a verdict of too little evidence with exit code 1; this command has a code for it.
    match show(format, report, &SlicesVerdict::NotEnough(reason, "Nothing was compared.")) {
        Err(failure) if failure.has_ending(Ending::Failed) => {
            Err(HostFailure::reported(Ending::NotJudged))
        }
        other => other,
    }
}
