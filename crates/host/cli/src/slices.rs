//! `slices`: learns and checks the slice function of the last-level cache, and measures distances of slices.

mod check;
mod comparison_report;
mod interruptible_oracle;
mod latency;
mod map;
mod oracle;
mod published;
mod sets;
mod view;

use std::path::Path;

use ::slices::TableFile;
use clap::{Args, Subcommand, ValueEnum};
use host::cpu::CpuId;
use host::probe_memory::{ProbeMemory, ProbeMemoryError, ProbePageSize};
use host::slices::CountersError;

use crate::HostContext;
use crate::failure::HostFailure;
use crate::user_file::read_table;
use crate::value_parsers::within;
use units::narrow::usize_from;

/// Find out which slice of the last-level cache each line is in, and how far slices are from cores
#[derive(Args)]
pub struct SlicesArguments {
    #[command(subcommand)]
    command: SlicesCommand,
}

#[derive(Subcommand)]
enum SlicesCommand {
    Map(map::MapArguments),
    Check(check::TableCheckArguments),
    #[command(visible_alias = "nearest")]
    Latency(latency::LatencyArguments),
    Sets(sets::SetsArguments),
}

pub fn run(arguments: &SlicesArguments, context: &HostContext) -> Result<(), HostFailure> {
    match &arguments.command {
        SlicesCommand::Map(arguments) => map::run(arguments, context),
        SlicesCommand::Check(arguments) => check::run(arguments, context),
        SlicesCommand::Latency(arguments) => latency::run(arguments, context),
        SlicesCommand::Sets(arguments) => sets::run(arguments, context),
    }
}

/// The huge pages whose lines are used.
#[derive(Args)]
struct MemoryArguments {
    /// Huge pages to use [default: as many as are free, up to 64]
    ///
    /// The table holds for the addresses that the pages and their differences reach: more pages, spread
    /// over more of the memory, cover more addresses.
    #[arg(long, value_name = "N", value_parser = within(1..=4096))]
    pages: Option<u64>,

    /// Size of the huge pages
    #[arg(long, value_enum, default_value_t)]
    page_size: PageSizeArgument,
}

/// Size of the huge pages, as an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum PageSizeArgument {
    /// 2 MiB
    #[default]
    #[value(name = "2m")]
    TwoMiB,
    /// 1 GiB
    #[value(name = "1g")]
    OneGiB,
}

const DEFAULT_PAGES: u64 = 64;

impl MemoryArguments {
    /// Maps the pages near the processor.
    ///
    /// # Errors
    /// If there are none, or fewer than `--pages` asks for.
    fn map(&self, context: &HostContext, cpu: CpuId) -> Result<Box<dyn ProbeMemory>, HostFailure> {
        let size = match self.page_size {
            PageSizeArgument::TwoMiB => ProbePageSize::TwoMiB,
            PageSizeArgument::OneGiB => ProbePageSize::OneGiB,
        };
        let wanted = usize_from(self.pages.unwrap_or(DEFAULT_PAGES));
        let memory = context.host.memory.map(size, wanted, cpu).map_err(no_memory)?;
        let got = memory.pages().len();
        if self.pages.is_some() && got < wanted {
            return Err(HostFailure::failed(format!(
                "--pages {wanted}: only {got} huge pages are available\n  remedy: reserve more of them, or \
                 ask for fewer"
            )));
        }
        Ok(memory)
    }
}

/// Reads the table of `--table`: a file, or published:NAME.
fn read(path: &Path) -> Result<TableFile, HostFailure> {
    let shown = path.display();
    let bad =
        |error: &dyn std::fmt::Display| HostFailure::bad_input(format!("--table {shown}: {error}"));
    if let Some(published) = ::slices::published::from_path(path) {
        return Ok(published.map_err(|error| bad(&error))?.file());
    }
    let text = read_table(path).map_err(|error| {
        HostFailure::bad_input(format!(
            "--table {shown}: {error}; make it with skipline-host slices map"
        ))
    })?;
    TableFile::read(&text).map_err(|error| bad(&error))
}

fn wrong_slice_count(table: &Path, has: u32, slices: u32) -> HostFailure {
    HostFailure::bad_input(format!(
        "--table {}: has {has} slices, a socket of this machine has {slices}: it is for another CPU model",
        table.display()
    ))
}

fn no_memory(error: ProbeMemoryError) -> HostFailure {
    match &error {
        ProbeMemoryError::Hidden => HostFailure::refused(error),
        ProbeMemoryError::File { error: file } => HostFailure::from_file(file, &error),
        _ => HostFailure::failed(error),
    }
}

fn no_counters(error: CountersError) -> HostFailure {
    match error {
        CountersError::BadRequest(message) => HostFailure::bad_input(message),
        CountersError::Refused { error: ref file } => HostFailure::from_file(file, &error),
        CountersError::Program(error) => HostFailure::from_program(&error),
        CountersError::NotHere(_)
        | CountersError::OnlyPerf { .. }
        | CountersError::SeveralDies(_) => HostFailure::refused(error),
    }
}
