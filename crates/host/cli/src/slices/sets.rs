//! `slices sets`: recovers which address bits choose the set within a slice.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ::slices::SliceMap;
use ::slices::recovery::{HugePage, HugePageSize};
use ::slices::set_index::{
    EvictionAnswer, EvictionOracle, PlainSetIndex, SetIndexError, SetIndexPlan, recover,
};
use clap::Args;
use host::cpu::PackageId;
use host::probe_memory::{ProbeMemory, ProbePageSize};
use host::slices::{EvictionTest, SliceMachine};
use serde::Serialize;

use super::{MemoryArguments, no_counters, no_memory, read, wrong_slice_count};
use crate::HostContext;
use crate::failure::{Ending, HostFailure};
use crate::output::{TextOrJson, emit, emit_json};
use crate::signals::stop_flag;
use crate::value_parsers::small_number;
use units::LINE_BYTES;
use units::narrow::fit;

/// Find out which address bits choose the set of a line within its slice
///
/// Many lines of one slice, by a table of `slices map`, are loaded, and the time of a load of another one says
/// whether they evicted it. Lines alike in all bits within a page must evict one another; then each bit is turned
/// over. An index of contiguous bits is established; a hash is refused, with the bits that were found.
///
/// Without --apply it only says what it would load. With it no setting of the machine is changed, but programs
/// beside it lose lines of the cache. Needs root (physical addresses) and free huge pages: some 30 ways of lines
/// for each slice. Virtual machines are refused: their physical addresses are not the host's.
#[derive(Args)]
pub struct SetsArguments {
    /// The table that says which slice a line is in; published:NAME for a published one
    #[arg(long, value_name = "FILE", default_value = "slices.toml")]
    table: PathBuf,

    #[command(flatten)]
    memory: MemoryArguments,

    /// The socket whose cache is examined, as the kernel numbers it [default: the first]
    #[arg(long, value_name = "N", value_parser = small_number)]
    socket: Option<u32>,

    /// Load the lines
    #[arg(long)]
    apply: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    format: TextOrJson,
}

/// Lines from which the times of loads are learnt.
const LEARNT_LINES: u64 = 64;
/// Huge pages that give enough lines of one slice at an offset: three times the ways, in the least slice.
const PAGES_PER_LINE: f64 = 1.5;

/// The JSON output.
#[derive(Serialize)]
struct SetsReport<'a> {
    part: &'a str,
    table: &'a Path,
    slices: u32,
    ways: u32,
    sets_per_slice: u32,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lowest_bit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    highest_bit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    loads: u64,
}

/// The cache of a socket.
struct Cache {
    ways: u32,
    sets_per_slice: u32,
}

pub fn run(arguments: &SetsArguments, context: &HostContext) -> Result<(), HostFailure> {
    let file = read(&arguments.table)?;
    let shown = arguments.table.display();
    let map = SliceMap::new(&file)
        .map_err(|error| HostFailure::bad_input(format!("--table {shown}: {error}")))?;
    let machine = SliceMachine::read(&context.host, None, arguments.socket.map(PackageId))
        .map_err(no_counters)?;
    if machine.model.virtual_machine {
        return Err(HostFailure::refused(
            "this is a virtual machine: its physical addresses are not the host's, so that neither slices nor sets \
             can be told from them\n  remedy: run it on the host",
        ));
    }
    let slices = machine.slice_count(&context.host);
    if let Some(slices) = slices.filter(|slices| *slices != map.slices()) {
        return Err(wrong_slice_count(&arguments.table, map.slices(), slices));
    }
    let cache = cache(&machine, map.slices())?;
    let mut report = SetsReport {
        part: &machine.model.name,
        table: &arguments.table,
        slices: map.slices(),
        ways: cache.ways,
        sets_per_slice: cache.sets_per_slice,
        verdict: "dry-run",
        lowest_bit: None,
        highest_bit: None,
        reason: None,
        loads: 0,
    };
    if !arguments.apply {
        return show(arguments.format, &report, Ok(()));
    }
    let mut memory = arguments.memory.map(context, machine.cpu)?;
    memory.move_to(machine.cpu).map_err(no_memory)?;
    let pages = pages(memory.as_ref());
    let learnt = learnt_lines(&pages);
    let test = EvictionTest::learn(memory.as_mut(), &learnt).map_err(HostFailure::failed)?;
    let mut oracle = TimedEvictions { test, stop: &*stop_flag()? };
    let plan = SetIndexPlan { ways: cache.ways, sets_per_slice: cache.sets_per_slice, seed: 1 };
    let found = recover(&mut oracle, &map, &pages, plan);
    report.loads = oracle.test.loads();
    let ending = judge(&mut report, found)?;
    show(arguments.format, &report, ending)
}

/// Ways and sets of the socket's cache, as the kernel describes it.
fn cache(machine: &SliceMachine, slices: u32) -> Result<Cache, HostFailure> {
    let Some(described) = machine.socket.caches.first() else {
        return Err(HostFailure::failed("the kernel does not describe the last-level cache"));
    };
    let lines = described.size_bytes / LINE_BYTES;
    let all_ways = u64::from(described.ways) * u64::from(slices);
    let sets = lines / all_ways.max(1);
    if !sets.is_power_of_two() || sets * all_ways != lines {
        return Err(HostFailure::refused(format!(
            "the cache has {lines} lines, which {slices} slices of {} ways do not divide into sets of a power of \
             two: its index is not one of plain bits",
            described.ways
        )));
    }
    Ok(Cache { ways: described.ways, sets_per_slice: fit(sets) })
}

fn pages(memory: &dyn ProbeMemory) -> Vec<HugePage> {
    let size = |size| match size {
        ProbePageSize::TwoMiB => HugePageSize::TwoMiB,
        ProbePageSize::OneGiB => HugePageSize::OneGiB,
    };
    memory
        .pages()
        .iter()
        .map(|page| HugePage { start: page.start, size: size(page.size) })
        .collect()
}

/// Lines of several pages and offsets, which do not evict one another.
fn learnt_lines(pages: &[HugePage]) -> Vec<u64> {
    let line = |(number, page): (u64, &HugePage)| page.start + number * 7 * LINE_BYTES;
    (0..LEARNT_LINES).zip(pages.iter().cycle()).map(line).collect()
}

/// Eviction tests by timing, until the user stops them.
struct TimedEvictions<'a> {
    test: EvictionTest<'a>,
    stop: &'a AtomicBool,
}

/// The user stopped the tests.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Interrupted;

impl EvictionOracle for TimedEvictions<'_> {
    type Error = Interrupted;

    fn evicts(&mut self, target: u64, lines: &[u64]) -> Result<EvictionAnswer, Interrupted> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Interrupted);
        }
        Ok(match self.test.evicts(target, lines) {
            Some(true) => EvictionAnswer::Evicted,
            Some(false) => EvictionAnswer::Kept,
            None => EvictionAnswer::Unclear,
        })
    }
}

/// Enters the verdict; returns how the command ends.
fn judge(
    report: &mut SetsReport<'_>,
    found: Result<PlainSetIndex, SetIndexError<Interrupted>>,
) -> Result<Result<(), HostFailure>, HostFailure> {
    match found {
        Ok(index) => {
            report.verdict = "established";
            (report.lowest_bit, report.highest_bit) =
                (Some(index.lowest_bit), Some(index.highest_bit));
            Ok(Ok(()))
        }
        Err(SetIndexError::Oracle(Interrupted)) => {
            Err(HostFailure::interrupted(format!("interrupted after {} loads", report.loads)))
        }
        Err(error @ (SetIndexError::Pages { .. } | SetIndexError::NotCovered(_))) => {
            let pages = PAGES_PER_LINE * 3.0 * f64::from(report.ways) * f64::from(report.slices);
            Err(HostFailure::failed(format!("{error}\n  remedy: --pages {pages:.0}")))
        }
        Err(error) => {
            report.verdict = "not established";
            report.reason = Some(error.to_string());
            Ok(Err(HostFailure::reported(Ending::NotJudged)))
        }
    }
}

fn show(
    format: TextOrJson,
    report: &SetsReport<'_>,
    ending: Result<(), HostFailure>,
) -> Result<(), HostFailure> {
    match format {
        TextOrJson::Json => emit_json(report)?,
        TextOrJson::Text => emit(&text(report))?,
    }
    ending
}

fn text(report: &SetsReport<'_>) -> String {
    let SetsReport { part, slices, ways, sets_per_slice, loads, .. } = report;
    let head = format!(
        "Sets of {part}\n  cache       {slices} slices of {sets_per_slice} sets of {ways} ways\n"
    );
    let rest = match (report.verdict, report.lowest_bit, report.highest_bit, &report.reason) {
        (_, Some(lowest_bit), Some(highest_bit), _) => {
            let index = PlainSetIndex { lowest_bit, highest_bit };
            format!("  asked       {loads} loads\n  index       {index}\nEstablished.\n")
        }
        (_, _, _, Some(reason)) => {
            format!("  asked       {loads} loads\n  reason      {reason}\nNot established.\n")
        }
        _ => format!(
            "  would load  {} lines of one slice at a time, of {sets_per_slice} sets, and time one more\n\
             Nothing was loaded; --apply does it.\n",
            3 * ways
        ),
    };
    head + &rest
}
