//! `slices`: which slice of the last-level cache each line is in, and how far slices are.

mod asking;
mod check;
mod compared;
mod latency;
mod map;
mod oracle;
mod published;
mod view;

use std::path::Path;

use ::slices::TableFile;
use clap::{Args, Subcommand, ValueEnum};
use host::cpu::CpuId;
use host::probe_memory::{ProbeMemory, ProbeMemoryError, ProbePageSize};
use host::slices::CountersError;

use crate::Context;
use crate::failure::Failure;
use crate::number::within;
use units::narrow::usize_from;

/// Find out which slice of the last-level cache each line is in, and how far slices are from cores
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Map(map::Arguments),
    Check(check::Arguments),
    #[command(visible_alias = "nearest")]
    Latency(latency::Arguments),
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    match &arguments.command {
        Command::Map(arguments) => map::run(arguments, context),
        Command::Check(arguments) => check::run(arguments, context),
        Command::Latency(arguments) => latency::run(arguments, context),
    }
}

/// The memory that is asked about.
#[derive(Args)]
struct MemoryArguments {
    /// Huge pages to use [default: as many as are free, up to 64]
    ///
    /// The table holds for the addresses that the pages and their differences reach: more pages in more
    /// places say more.
    #[arg(long, value_name = "N", value_parser = within(1..=4096))]
    pages: Option<u64>,

    /// Their size
    #[arg(long, value_enum, default_value_t)]
    page_size: PageSize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum PageSize {
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
    fn map(&self, context: &Context, cpu: CpuId) -> Result<Box<dyn ProbeMemory>, Failure> {
        let size = match self.page_size {
            PageSize::TwoMiB => ProbePageSize::TwoMiB,
            PageSize::OneGiB => ProbePageSize::OneGiB,
        };
        let wanted = usize_from(self.pages.unwrap_or(DEFAULT_PAGES));
        let memory = context.host.memory.map(size, wanted, cpu).map_err(no_memory)?;
        let got = memory.pages().len();
        if self.pages.is_some() && got < wanted {
            return Err(Failure::failed(format!(
                "--pages {wanted}: only {got} huge pages are available\n  remedy: reserve more of them, or \
                 ask for fewer"
            )));
        }
        Ok(memory)
    }
}

fn read(path: &Path) -> Result<TableFile, Failure> {
    let shown = path.display();
    let bad =
        |error: &dyn std::fmt::Display| Failure::bad_input(format!("--table {shown}: {error}"));
    if let Some(published) = ::slices::published::of_path(path) {
        return Ok(published.map_err(|error| bad(&error))?.file());
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::bad_input(format!(
            "--table {shown}: {error}; make it with skipline-host slices map"
        ))
    })?;
    TableFile::read(&text).map_err(|error| bad(&error))
}

fn of_another_part(table: &Path, has: u32, slices: u32) -> Failure {
    Failure::bad_input(format!(
        "--table {}: has {has} slices, a socket of this machine has {slices}: it is another part's",
        table.display()
    ))
}

fn no_memory(error: ProbeMemoryError) -> Failure {
    match &error {
        ProbeMemoryError::Hidden => Failure::refused(error),
        ProbeMemoryError::File { error: file } => Failure::of_file(file, &error),
        _ => Failure::failed(error),
    }
}

fn no_counters(error: CountersError) -> Failure {
    match error {
        CountersError::BadRequest(message) => Failure::bad_input(message),
        CountersError::Refused { error: ref file } => Failure::of_file(file, &error),
        CountersError::Program(error) => Failure::of_program(&error),
        CountersError::NotHere(_)
        | CountersError::OnlyPerf { .. }
        | CountersError::SeveralDies(_) => Failure::refused(error),
    }
}
