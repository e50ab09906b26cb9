//! `slices check`: whether a known slice function is that of this machine.

use std::path::{Path, PathBuf};

use ::slices::comparison::{ComparisonError, Plan, compare};
use ::slices::{SliceMap, TableFile};
use clap::Args;

use super::asking::{AskError, Asking};
use super::compared::{Compared, Shown};
use super::oracle::{Asked, OracleArguments, Outcome};
use super::published::Known;
use super::view::{Report, Verdict, show};
use super::{of_another_part, read};
use crate::Context;
use crate::failure::{Ending, Failure};
use crate::number::within;
use crate::output::Format;
use units::narrow::fit;

/// Compare a known slice function with this machine by a few thousand questions
///
/// Random lines that the table covers are asked about as `slices map` does it, most of them once: where the
/// answer is not the table's, votes decide. The exit code is 0 if all agree, 4 if some differ, 6 if too many
/// have no clear answer or, without --apply where it is needed, nothing was asked. By timing, slices agree
/// up to their names.
///
/// Nothing of the machine is changed, but for registers of counters with --apply where the kernel offers no
/// event source (as `slices map` says). Needs root and free huge pages.
#[derive(Args)]
pub struct Arguments {
    /// The table, or published:NAME, like published:skx-18 [default: the one that is published for this CPU]
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    #[command(flatten)]
    asked: OracleArguments,

    /// Lines to ask about
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = within(64..=1_000_000))]
    lines: u64,

    /// For people or for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A table and where it is from.
struct Table {
    file: TableFile,
    map: SliceMap,
    from: Shown,
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let asked = Asked::new(&arguments.asked, context)?;
    let table = table(arguments.table.as_deref(), &asked, context)?;
    let asked = asked.with_slices_of_table(table.map.slices());
    let told = asked.ask(|report, ask, stop| {
        let plan = Plan { addresses: fit(arguments.lines), seed: 1 };
        let most = arguments.lines.saturating_mul(256);
        let mut oracle = Asking::new(ask, report.slices, most, stop.clone());
        let compared = compare(&mut oracle, &report.pages, &table.map, plan);
        report.questions = oracle.asked();
        compared
    })?;
    let format = arguments.format;
    let report = &told.report;
    let shown = match told.outcome {
        Outcome::Answered(Ok(comparison)) => {
            let other_part = &table.file.table.part;
            let compared = Compared::of(comparison, table.from.clone(), report.oracle == "timing");
            if *other_part != report.part && compared.agrees != Some(true) {
                crate::output::emit_error(&format!("note: the table is for \"{other_part}\"\n"));
            }
            compared.show(format, report)
        }
        Outcome::Answered(Err(error)) => failed(&error, &table, report, format),
        Outcome::NotEnough(reason) => not_judged(format, report, reason),
        // Nothing was asked, so nothing agrees.
        Outcome::DryRun(plan) => {
            show(format, report, &Verdict::DryRun(&plan)).and(Err(Failure::told(Ending::NotJudged)))
        }
    };
    told.put_back.and(shown)
}

fn table(path: Option<&Path>, asked: &Asked<'_>, context: &Context) -> Result<Table, Failure> {
    let (file, from) = match path {
        Some(path) => (read(path)?, Shown::File(path.into())),
        None => match Known::of(asked, context) {
            Known::Function(published, file) => (*file, Shown::Published(published.name)),
            Known::NotHere(published, reason) => {
                return Err(Failure::ended(
                    Ending::NotJudged,
                    format!(
                        "the published function {} is not taken for this machine's: {reason}; name a table \
                     with --table FILE",
                        published.name
                    ),
                ));
            }
            Known::Nothing => {
                return Err(Failure::ended(
                    Ending::NotJudged,
                    "no slice function is published for this CPU and its number of slices; name a table \
                     with --table FILE (slices map makes one)",
                ));
            }
        },
    };
    let name = from.name();
    let map = SliceMap::new(&file)
        .map_err(|error| Failure::bad_input(format!("--table {name}: {error}")))?;
    match (path, asked.slices()) {
        (Some(path), Some(slices)) if slices != map.slices() => {
            Err(of_another_part(path, map.slices(), slices))
        }
        _ => Ok(Table { file, map, from }),
    }
}

fn failed(
    error: &ComparisonError<AskError>,
    table: &Table,
    report: &Report,
    format: Format,
) -> Result<(), Failure> {
    match error {
        ComparisonError::Oracle(AskError::Stopped) => {
            let asked = report.questions;
            Err(Failure::interrupted(format!("interrupted after {asked} questions")))
        }
        ComparisonError::Oracle(silent @ AskError::Silent(_)) => {
            not_judged(format, report, silent.to_string())
        }
        ComparisonError::NotCovered { .. } => Err(Failure::failed(format!(
            "{}: {error}\n  remedy: more pages, or a table of pages in the same memory",
            table.from.name()
        ))),
        ComparisonError::Slices { .. } => {
            Err(Failure::bad_input(format!("--table {}: {error}", table.from.name())))
        }
        ComparisonError::Oracle(_) => Err(Failure::failed(error)),
    }
}

fn not_judged(format: Format, report: &Report, reason: String) -> Result<(), Failure> {
    // The failure of a verdict that is not enough is 1; this command has a code for it.
    match show(format, report, &Verdict::NotEnough(reason, "Nothing was compared.")) {
        Err(told) if told.is(Ending::Failed) => Err(Failure::told(Ending::NotJudged)),
        other => other,
    }
}
