//! `skipline-host calibrate`: measures this host and writes it as a platform of the simulator.

use crate::HostContext;
use crate::failure::HostFailure;
use crate::out_file::OutFile;
use crate::output::emit;
use crate::signals::stop_flag;
use crate::user_file::read_measurement;
use crate::value_parsers::within;
use host::Root;
use host::calibrate::{
    CalibratedPlatform, CalibrationPlan, CalibrationProgress, CoreToCore, Measurement,
    PagesObtained, Processor, format_bytes, lower_quartile, measure, platform,
};
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;
use units::narrow::fit;

/// Suffix of the file of a measurement beside its platform file.
const MEASURED: &str = ".measured.json";

/// The measurement that a directory tree in place of a machine contains: it has no caches to measure.
const DESCRIBED: &str = "measured.json";

/// Largest ratio over passes of the time of a line between two cores. Beyond it a hypervisor has moved the
/// processors: times within a cluster of cores and beyond it differ by more.
const MOST_RATIO: f64 = 3.0;

/// Measure this host's caches and memory; write them as a platform of the simulator.
///
/// A directory tree (--root DIR) has no caches: DIR/measured.json, a measurement of the machine that it
/// stands in for, is taken instead; --seconds and --cpu then change nothing.
#[derive(Debug, clap::Args)]
pub struct CalibrateArguments {
    /// The platform file; what was measured goes beside it, as FILE.measured.json without .toml,
    /// but not beside a pipe or a device.
    #[arg(long, value_name = "FILE", default_value = "this-host.toml")]
    out: PathBuf,
    /// Time to measure. The measurement ends with the pass in which the time is over.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = within(1..=3600))]
    seconds: u64,
    /// The processor to measure on [default: the last that this process may use].
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Measure nothing: make the platform from an earlier measurement.
    #[arg(long, value_name = "MEASURED", conflicts_with_all = ["seconds", "cpu"])]
    from: Option<PathBuf>,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t = CalibrateFormat::Table)]
    format: CalibrateFormat,
}

/// Format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CalibrateFormat {
    Table,
    Json,
}

/// Measures, or reads a measurement, and writes the platform file.
///
/// # Errors
/// If the input is bad, nothing could be measured, or a file cannot be written.
pub fn run(args: &CalibrateArguments, context: &HostContext) -> Result<(), HostFailure> {
    let out = OutFile::prepare(&args.out)?;
    let measured_file =
        out.is_kept().then(|| OutFile::prepare(&measurement_path(&args.out))).transpose()?;
    let (measurement, interrupted) = match &args.from {
        Some(file) => (read(file)?, false),
        None if !context.host.root.is_real() => (read_described(&context.host.root)?, false),
        None => measure_host(args, &context.host.root, measured_file.as_ref())?,
    };
    let calibrated = platform(&measurement).map_err(|error| {
        let kept = match &measured_file {
            Some(file) if args.from.is_none() => {
                format!("; what was measured is kept in {}", file.named().display())
            }
            _ => String::new(),
        };
        HostFailure::failed(format!("{error}{kept}"))
    })?;
    let is_earlier = args.from.is_some() || !context.host.root.is_real();
    if let (Some(file), true) = (&measured_file, is_earlier) {
        file.write(&measurement.to_json())?;
    }
    out.write(&calibrated.toml)?;
    let text = match args.format {
        CalibrateFormat::Table => table(&measurement, &calibrated, &out),
        CalibrateFormat::Json => measurement.to_json(),
    };
    emit(&format!("{text}\n"))?;
    if interrupted {
        let passes = measurement.passes;
        return Err(HostFailure::interrupted(format!(
            "interrupted; {passes} complete passes were kept"
        )));
    }
    Ok(())
}

/// Path of the measurement of a platform file. Only `.toml` is removed: text after another dot belongs to
/// the platform's name, so that two platforms never share a measurement.
fn measurement_path(platform: &Path) -> PathBuf {
    let named = platform.extension().is_some_and(|extension| extension == "toml");
    let mut name = if named { platform.with_extension("") } else { platform.to_path_buf() };
    name.as_mut_os_string().push(MEASURED);
    name
}

fn read(file: &Path) -> Result<Measurement, HostFailure> {
    let name = file.display().to_string();
    let text = read_measurement(file)
        .map_err(|error| HostFailure::bad_input(format!("--from {name}: {error}")))?;
    Measurement::read(&name, &text).map_err(|error| HostFailure::bad_input(error.to_string()))
}

/// The measurement in a directory tree that stands in for a machine.
fn read_described(root: &Root) -> Result<Measurement, HostFailure> {
    let text = root.read_text(DESCRIBED).map_err(|error| {
        HostFailure::bad_input(format!(
            "--root: a directory tree has no caches to measure, and no earlier measurement here: \
             {error}; give --from, or leave --root out"
        ))
    })?;
    Measurement::read(DESCRIBED, &text).map_err(|error| HostFailure::bad_input(error.to_string()))
}

/// Measures this host; each complete pass is on disk before the next begins. The bool is whether a signal
/// has cut the measurement short.
fn measure_host(
    args: &CalibrateArguments,
    root: &Root,
    file: Option<&OutFile>,
) -> Result<(Measurement, bool), HostFailure> {
    let failed = |error: &dyn std::fmt::Display| HostFailure::failed(error.to_string());
    let processor = Processor::read(root).map_err(|error| failed(&error))?;
    let time = Duration::from_secs(args.seconds);
    let plan = CalibrationPlan::new(root, &processor, args.cpu, time)
        .map_err(|error| HostFailure::bad_input(error.to_string()))?;
    let stop = stop_flag()?;
    let mut unwritten = None;
    let mut bar = MeasurementProgress::new();
    let outcome = measure(&plan, processor, |progress| {
        bar.show(&progress);
        if let (Some(measurement), Some(file)) = (progress.complete, file)
            && let Err(failure) = file.write(&measurement.to_json())
        {
            unwritten = Some(failure);
            return ControlFlow::Break(());
        }
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    bar.clear();
    match (unwritten, outcome) {
        (Some(failure), _) => Err(failure),
        (None, Ok(measurement)) => Ok((measurement, stop.load(Ordering::Relaxed))),
        (None, Err(error)) if stop.load(Ordering::Relaxed) => Err(HostFailure::interrupted(error)),
        (None, Err(error)) => Err(failed(&error)),
    }
}

/// The line that shows the progress of a measurement; on a terminal only.
struct MeasurementProgress {
    shown: bool,
}

impl MeasurementProgress {
    fn new() -> Self {
        Self { shown: std::io::stderr().is_terminal() }
    }

    fn show(&mut self, progress: &CalibrationProgress<'_>) {
        if self.shown {
            let percent = 100.0 * progress.fraction;
            let passes = progress.passes;
            eprint!(
                "\r\x1b[Kmeasuring: {percent:3.0} %, {passes} passes complete (Ctrl-C keeps them)"
            );
        }
    }

    fn clear(&mut self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}

fn table(measurement: &Measurement, calibrated: &CalibratedPlatform, out: &OutFile) -> String {
    let mut text = String::new();
    let processor = &measurement.processor;
    let virtual_machine = if processor.virtual_machine { " (virtual machine)" } else { "" };
    let passes = match measurement.passes {
        1 => "1 pass".to_owned(),
        passes => format!("{passes} passes"),
    };
    let _ = writeln!(
        text,
        "{}{virtual_machine}, processor {} at {:.2} GHz, {} in {:.0} s\n",
        processor.name,
        measurement.cpu,
        measurement.clock_ghz(),
        passes,
        measurement.duration_s
    );
    text += &levels(measurement, calibrated);
    if calibrated.neighbours_fill_half {
        text += "\nNeighbouring lines that are prefetched fill half of L2 and LLC: they hold twice as much.\n";
    }
    let _ = writeln!(text, "\n{}", pages(measurement));
    for pair in &measurement.core_to_core {
        text += &line_between(pair);
    }
    text += &streams(measurement);
    let donor = &calibrated.donor;
    let _ = writeln!(
        text,
        "\nNot measurable, assumed as on {} ({}): the file marks each such number.",
        donor.platform, donor.because
    );
    if out.is_kept() {
        let shown = out.named().display();
        let _ = writeln!(
            text,
            "Platform: {shown}; compare it with the sizes kept aside: skipline host compare {shown}"
        );
    }
    text.trim_end().into()
}

fn line_between(pair: &CoreToCore) -> String {
    let ns = lower_quartile(&pair.latency_ns);
    let low_ns = pair.latency_ns.iter().copied().fold(f64::INFINITY, f64::min);
    let high_ns = pair.latency_ns.iter().copied().fold(0.0, f64::max);
    let moved = if high_ns > MOST_RATIO * low_ns {
        ": so different that a hypervisor has moved the processors among its own"
    } else {
        ""
    };
    format!(
        "A line goes from processor {} to {} in {ns:.0} ns ({low_ns:.0} to {high_ns:.0} over \
         passes{moved}).\n",
        pair.from, pair.to
    )
}

fn levels(measurement: &Measurement, calibrated: &CalibratedPlatform) -> String {
    let curve = &calibrated.curve;
    let mut text = "level   latency   found: holds up to   CPUID says\n".to_string();
    let edges = [curve.edge_bytes[0], curve.edge_bytes[1], calibrated.last_level.edge_bytes];
    for (level, name) in ["L1D", "L2", "LLC", "memory"].into_iter().enumerate() {
        let latency_ns = curve.latency_ns[level];
        let found = edges.get(level).map_or("-".into(), |edge| format_bytes(*edge));
        let reported = measurement.processor.cache(fit::<u32, _>(level) + 1).filter(|_| level < 3);
        let reported = reported.map_or("-".into(), |cache| {
            format!("{}, shared by {}", format_bytes(cache.size_bytes as f64), cache.shared_by)
        });
        let _ = writeln!(text, "{name:6} {latency_ns:6.2} ns   {found:>18}   {reported}");
    }
    text
}

fn pages(measurement: &Measurement) -> String {
    let pages = &measurement.pages;
    let obtained = match pages.obtained {
        PagesObtained::Reserved => "reserved huge pages (2 MiB)",
        PagesObtained::Transparent => "transparent huge pages (2 MiB)",
        PagesObtained::Small => {
            "small pages: no huge ones were available (as root: \
             echo madvise > /sys/kernel/mm/transparent_hugepage/enabled)"
        }
    };
    let small = pages.translation_bytes <= 4096;
    let behave = if small && pages.obtained != PagesObtained::Small {
        "but translations behave as 4 KiB ones: the hypervisor maps this machine's memory in small \
         pages; ask for huge pages behind it"
    } else {
        "and translations behave so"
    };
    format!(
        "Memory: {obtained}, {behave}\n(L1D hits take {:.2} ns side by side, {:.2} ns with a page \
         each). The chase visits whole groups of pages, so its latencies hold little of that.",
        pages.dense_ns, pages.sparse_ns
    )
}

fn streams(measurement: &Measurement) -> String {
    let mut text =
        "\n     array    read   write    copy   GB/s (copy: read + written)\n".to_string();
    // Other programs make a stream slower: the upper quartile of bandwidths is as lower_quartile as the lower
    // quartile of times.
    let best =
        |values: &[f64]| 1.0 / lower_quartile(&values.iter().map(|v| 1.0 / v).collect::<Vec<_>>());
    for stream in &measurement.bandwidth {
        let array = format_bytes(stream.array_bytes as f64);
        let [read, write, copy] =
            [&stream.read_gbytes_per_s, &stream.write_gbytes_per_s, &stream.copy_gbytes_per_s]
                .map(|values| best(values));
        let _ = writeln!(text, "{array:>10} {read:7.1} {write:7.1} {copy:7.1}");
    }
    text
}
