//! `slices latency`: measures the latency of each slice from each core.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use ::slices::SliceMap;
use clap::Args;
use host::cpu::{CpuId, PackageId, sockets};
use host::probe_memory::ProbeMemory;
use host::slices::{CoreToSliceLatency, LatencyPlan, SliceMachine, measure_latencies};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use super::{MemoryArguments, no_counters, no_memory, read, wrong_slice_count};
use crate::HostContext;
use crate::failure::HostFailure;
use crate::out_file::OutFile;
use crate::output::{Paint, TextOrJson, emit, emit_json};
use crate::progress_line::ProgressLine;
use crate::signals::stop_flag;
use crate::value_parsers::{small_number, within};
use units::narrow::usize_from;

/// Measure how long loads take from each core to each slice, and which slices are nearest
///
/// Lines of each slice, by a table of `slices map`, are evicted from L1 and L2 and loaded from every
/// processor in turn. Slices are those of the processor's own socket. Cycles are those of the time stamp
/// counter. No setting of the machine is changed. Needs root (physical addresses) and free huge pages.
#[derive(Args)]
pub struct LatencyArguments {
    /// The table that says which slice a line is in; published:NAME for a published one
    #[arg(long, value_name = "FILE", default_value = "slices.toml")]
    table: PathBuf,

    /// Write the latencies to this file, for the library's nearest slices
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    memory: MemoryArguments,

    /// The socket whose memory is loaded, as the kernel numbers it [default: the first]
    #[arg(long, value_name = "N", value_parser = small_number)]
    socket: Option<u32>,

    /// Loads of each line from each processor
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = within(1..=10_000))]
    samples: u64,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    format: TextOrJson,
}

/// Lines that are measured of each slice.
const LINES_OF_SLICE: usize = 16;
/// Nearest slices in a row of the table for people.
const NEAREST: usize = 4;

/// The JSON output.
#[derive(Serialize)]
struct LatencyReport<'a> {
    part: &'a str,
    table: &'a Path,
    /// The CPU model of the table, if it differs from this machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    other_part: Option<&'a String>,
    out: Option<&'a Path>,
    cycles_of: &'static str,
    latencies: &'a [CoreToSliceLatency],
    nearest: Vec<NearestSlices>,
    /// Whether slices differ by more than the loads of one slice.
    tells_apart: bool,
}

/// The nearest slices of a processor, nearest first.
#[derive(Serialize)]
struct NearestSlices {
    cpu: CpuId,
    slices: Vec<u16>,
}

pub fn run(arguments: &LatencyArguments, context: &HostContext) -> Result<(), HostFailure> {
    let out = arguments.out.as_deref().map(OutFile::prepare).transpose()?;
    let file = read(&arguments.table)?;
    let shown = arguments.table.display();
    let map = SliceMap::new(&file)
        .map_err(|error| HostFailure::bad_input(format!("--table {shown}: {error}")))?;
    let machine = SliceMachine::read(&context.host, None, arguments.socket.map(PackageId))
        .map_err(no_counters)?;
    if let Some(slices) =
        machine.slice_count(&context.host).filter(|slices| *slices != map.slices())
    {
        return Err(wrong_slice_count(&arguments.table, map.slices(), slices));
    }
    let cpus = processors(context)?;
    let mut memory = arguments.memory.map(context, machine.cpu)?;
    let lines = lines_of_slices(memory.as_ref(), &map)?;
    let plan = LatencyPlan { cpus, lines, samples: usize_from(arguments.samples) };
    let stop = stop_flag()?;
    let mut line = ProgressLine::new();
    let measured = measure_latencies(memory.as_mut(), &plan, |done| {
        line.show(|| format!("measuring: {done} of {} processors", plan.cpus.len()));
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    drop(line);
    let latencies = measured.map_err(no_memory)?;
    if latencies.is_empty() {
        return Err(HostFailure::interrupted("interrupted; no latencies were written"));
    }
    // Distances within the noise would look like an order to the reader of the file.
    let tells_apart = tells_apart(&latencies, &plan.cpus);
    let out = out.filter(|_| tells_apart);
    if let Some(out) = &out {
        out.write(&latency_file(&machine.model.name, &latencies))?;
    }
    let report = LatencyReport {
        part: &machine.model.name,
        table: &arguments.table,
        other_part: (file.table.part != machine.model.name).then_some(&file.table.part),
        out: out.as_ref().map(OutFile::named),
        cycles_of: "time stamp counter",
        latencies: &latencies,
        nearest: plan.cpus.iter().map(|&cpu| nearest(&latencies, cpu)).collect(),
        tells_apart,
    };
    match arguments.format {
        TextOrJson::Json => emit_json(&report)?,
        TextOrJson::Text => emit(&text(&report, Paint::for_stdout()))?,
    }
    match arguments.out.as_deref().filter(|_| !tells_apart) {
        Some(out) => Err(within_noise(out)),
        None => Ok(()),
    }
}

fn within_noise(out: &Path) -> HostFailure {
    HostFailure::failed(format!(
        "{}: not written, since differences between slices are within the noise",
        out.display()
    ))
}

/// All processors, from 0 without gaps: the file has a row for each.
fn processors(context: &HostContext) -> Result<Vec<CpuId>, HostFailure> {
    let sockets = sockets(&context.host.root).map_err(HostFailure::failed)?;
    let mut cpus: Vec<CpuId> = sockets.into_iter().flat_map(|socket| socket.cpus).collect();
    cpus.sort_unstable();
    match (0..).map(CpuId).zip(&cpus).find(|(number, cpu)| number != *cpu) {
        None => Ok(cpus),
        Some((missing, _)) => Err(HostFailure::failed(format!(
            "processor {missing} is offline, and latencies have a row for each\n  remedy: echo 1 > \
             /sys/devices/system/cpu/cpu{missing}/online"
        ))),
    }
}

/// Random lines of the pages, [`LINES_OF_SLICE`] for each slice.
fn lines_of_slices(memory: &dyn ProbeMemory, map: &SliceMap) -> Result<Vec<Vec<u64>>, HostFailure> {
    const MOST_TRIES: usize = 1 << 20;
    let mut lines = vec![Vec::new(); map.slices() as usize];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let pages = memory.pages();
    let mut missing = lines.len() * LINES_OF_SLICE;
    let mut not_covered = 0;
    for _ in 0..MOST_TRIES {
        let page = pages[random.next_u32() as usize % pages.len()];
        let line = page.start
            + random.next_u64() % page.size.bytes() / units::LINE_BYTES * units::LINE_BYTES;
        match map.slice_of(line) {
            Ok(slice) if lines[usize::from(slice.0)].len() < LINES_OF_SLICE => {
                lines[usize::from(slice.0)].push(line);
                missing -= 1;
                if missing == 0 {
                    return Ok(lines);
                }
            }
            Ok(_) => {}
            Err(_) => not_covered += 1,
        }
    }
    Err(HostFailure::failed(format!(
        "the pages have too few lines of some slices ({:.0} % of them are not covered by the table)\n  \
         remedy: slices map again with more pages",
        100.0 * f64::from(not_covered) / MOST_TRIES as f64
    )))
}

/// The latencies in the file format of the slices library: a row for each processor, a column for each
/// slice.
fn latency_file(part: &str, latencies: &[CoreToSliceLatency]) -> String {
    let quoted = |text: &str| serde_json::Value::String(text.into()).to_string();
    let version = env!("CARGO_PKG_VERSION");
    let source = format!(
        "skipline-host {version} slices latency: medians of loads after L1 and L2 were emptied, in cycles of \
         the time stamp counter"
    );
    let mut text = format!(
        "part = {}\nsource = {}\nkind = \"measured\"\ncycles = [\n",
        quoted(part),
        quoted(&source)
    );
    for row in latencies.chunk_by(|one, other| one.cpu == other.cpu) {
        let row: Vec<String> = row.iter().map(|latency| format!("{:.1}", latency.cycles)).collect();
        let _ = writeln!(text, "  [{}],", row.join(", "));
    }
    text + "]\n"
}

/// The latencies of a processor, nearest slice first.
fn sorted_latencies(latencies: &[CoreToSliceLatency], cpu: CpuId) -> Vec<&CoreToSliceLatency> {
    let mut sorted: Vec<&CoreToSliceLatency> =
        latencies.iter().filter(|latency| latency.cpu == cpu).collect();
    sorted.sort_by(|one, other| one.cycles.total_cmp(&other.cycles));
    sorted
}

fn nearest(latencies: &[CoreToSliceLatency], cpu: CpuId) -> NearestSlices {
    let slices = sorted_latencies(latencies, cpu).iter().map(|latency| latency.slice).collect();
    NearestSlices { cpu, slices }
}

/// Whether, for most processors, the farthest slice is farther than the nearest by more than the spread of
/// the middle half of the loads to one slice.
fn tells_apart(latencies: &[CoreToSliceLatency], cpus: &[CpuId]) -> bool {
    let clear = |cpu: &&CpuId| {
        let sorted = sorted_latencies(latencies, **cpu);
        let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return false };
        let spread = |latency: &CoreToSliceLatency| latency.high_cycles - latency.low_cycles;
        last.cycles - first.cycles > spread(first).max(spread(last))
    };
    2 * cpus.iter().filter(clear).count() > cpus.len()
}

fn text(report: &LatencyReport<'_>, paint: Paint) -> String {
    let mut text = paint.heading(format!("Slices of {} by distance", report.part)) + "\n";
    let _ = writeln!(
        text,
        "  processor   nearest slices (cycles of the time stamp counter)   farthest"
    );
    for NearestSlices { cpu, .. } in &report.nearest {
        let sorted = sorted_latencies(report.latencies, *cpu);
        let shown =
            |latency: &&CoreToSliceLatency| format!("{} ({:.0})", latency.slice, latency.cycles);
        let near: Vec<String> = sorted.iter().take(NEAREST).map(shown).collect();
        let far = sorted.last().map(shown).unwrap_or_default();
        let _ = writeln!(text, "  {cpu:>9}   {:<51} {far}", near.join(", "));
    }
    if let Some(part) = report.other_part {
        let note =
            format!("The table is for \"{part}\": if that is another CPU model, slices are wrong.");
        let _ = writeln!(text, "{}", paint.warning(note));
    }
    if !report.tells_apart {
        let note = "Differences between slices are within the noise: these orders mean nothing.";
        let _ = writeln!(text, "{}", paint.warning(note));
    }
    if let Some(out) = report.out {
        let _ = writeln!(text, "Latencies: {}", out.display());
    }
    text
}
