//! `tune`: searches a target for the sizes from which on a device does an operation sooner than the CPU, and
//! writes them as the file of thresholds that the library reads.

mod file;

use crate::Invocation;
use crate::failure::Failure;
use crate::measure;
use crate::operation::{self, BenchOperation, OPERATIONS};
use crate::option_values::{OperandPlacements, QueueKind};
use crate::options::BenchOptions;
use crate::point::{BenchPoint, MOST_DELTA_BYTES};
use crate::progress::ProgressDisplay;
use crate::real;
use crate::target::BenchTarget;
use crate::target_limits::check_target;
use crate::whole_file::ResultFile;
use clap::{Args as _, FromArgMatches};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

/// Thresholds are multiples of a line.
const LINE_BYTES: u64 = 64;
/// The modes that have a threshold, with the descriptors in flight: a thread that waits for each descriptor,
/// and one that goes on.
const MODES: [(&str, u32); 2] = [("synchronous", 1), ("asynchronous", 32)];

/// Find the sizes from which devices pay, and write them for the library.
#[derive(clap::Args, Clone, Debug)]
pub struct TuneOptions {
    /// The target that is measured: device, software or model:PLATFORM.
    #[arg(long, value_name = "TARGET", value_parser = BenchTarget::parse, default_value = "device")]
    pub on: BenchTarget,
    /// The file that is written; SKIPLINE_DSA_THRESHOLDS names it to the library.
    #[arg(long, short, value_name = "FILE.toml", default_value = "thresholds.toml")]
    pub output: PathBuf,
    /// Operations by name or number [default: all that have thresholds].
    #[arg(long, value_name = "OPERATIONS", value_delimiter = ',', value_parser = operation::parse)]
    pub operations: Vec<BenchOperation>,
    /// Sizes that are measured, each twice the one before.
    #[arg(long, value_name = "FROM-TO", default_value = "64-1M", value_parser = crate::option_values::SizeSweep::parse)]
    pub sizes: crate::option_values::SizeSweep,
    /// Kinds of queues [default: all that the target has]. The file has the largest threshold of all kinds
    /// that are measured.
    #[arg(short = 'w', long, value_name = "KINDS", value_delimiter = ',', value_parser = QueueKind::parse)]
    pub queue_kinds: Vec<QueueKind>,
    /// Where operands of the source and of the destination are before each operation: core (where they are),
    /// llc, flushed or prefetched.
    #[arg(long, value_name = "S,D", default_value = "flushed,flushed",
          value_parser = OperandPlacements::parse)]
    pub operands: OperandPlacements,
    /// Destinations of a device: to memory (0) or into the LLC (1).
    #[arg(long, value_name = "0|1", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1))]
    pub cache_control: u32,
    /// How often each thread goes through its buffers.
    #[arg(short = 'i', long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub iterations: u32,
    /// Do not report progress.
    #[arg(long)]
    pub quiet: bool,
}

/// The thresholds of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationThresholds {
    /// Operation that the thresholds apply to.
    pub operation: BenchOperation,
    /// The threshold in bytes for each kind of queue: synchronous, asynchronous; `None`: the device pays at
    /// no size.
    pub bytes: Vec<[Option<u64>; 2]>,
}

/// Searches for thresholds, prints them, and writes the file.
///
/// # Errors
/// If an option is refused, the target does not work, or the file cannot be written.
pub fn tune(
    options: &TuneOptions,
    call: &Invocation<'_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let cpu = options.on.clone().by_cpu();
    if cpu == options.on {
        let allowed =
            "allowed: device, software or model:PLATFORM, which are compared with their CPU";
        return Err(Failure::refused_value("--on", &options.on, allowed));
    }
    let operations: Vec<BenchOperation> = match options.operations.is_empty() {
        true => OPERATIONS.into_iter().filter(|it| it.threshold.is_some()).collect(),
        false => options.operations.clone(),
    };
    if let Some(without) = operations.iter().find(|it| it.threshold.is_none()) {
        let allowed = "it has no threshold: the CPU has no alternative to compare with";
        return Err(Failure::refused_value("--operations", without.name, allowed));
    }
    let output = ResultFile::prepare("--output", &options.output)?;
    let kinds = kinds(options)?;
    let steps = operations.len() * kinds.len() * MODES.len();
    let mut progress = ProgressDisplay::new(steps, options.quiet);
    let mut found = Vec::new();
    for operation in operations {
        let mut search = ThresholdSearch { options, cpu: &cpu, call, by_cpu: BTreeMap::new() };
        let mut bytes = Vec::new();
        for &kind in &kinds {
            let mut thresholds = [None; 2];
            for (threshold, (mode, depth)) in thresholds.iter_mut().zip(MODES) {
                let what = format!("{}, {}, {mode}", operation.name, kind.name());
                *threshold = search.threshold(operation, kind, depth, &mut |share| {
                    progress.update(&what, share);
                })?;
                progress.finish_step(&what);
            }
            bytes.push(thresholds);
        }
        found.push(OperationThresholds { operation, bytes });
    }
    output.write(&file::text(options, (&kinds, &found), call.words))?;
    let table = file::table(&kinds, &found);
    let text = format!("{table}written: {}\n", options.output.display());
    out.write_all(text.as_bytes()).map_err(|error| Failure::Failed(format!("output: {error}")))
}

/// The kinds of queues that are measured: those of the options, else those that the target has.
fn kinds(options: &TuneOptions) -> Result<Vec<QueueKind>, Failure> {
    if !options.queue_kinds.is_empty() {
        return Ok(options.queue_kinds.clone());
    }
    let all = vec![QueueKind::Dedicated, QueueKind::Shared];
    if options.on == BenchTarget::Device { real::queue_kinds() } else { Ok(all) }
}

/// A search for the thresholds of one operation. The CPU is measured once for each size.
struct ThresholdSearch<'a> {
    options: &'a TuneOptions,
    cpu: &'a BenchTarget,
    call: &'a Invocation<'a>,
    by_cpu: BTreeMap<u64, f64>,
}

impl ThresholdSearch<'_> {
    /// The size from which on the device is not slower: between the largest size at which it is slower and
    /// the next one, found by bisection of the list of sizes; `None`: the device is slower at all sizes.
    fn threshold(
        &mut self,
        operation: BenchOperation,
        kind: QueueKind,
        depth: u32,
        watch: &mut dyn FnMut(f64),
    ) -> Result<Option<u64>, Failure> {
        let most = if operation.name.ends_with("delta") { MOST_DELTA_BYTES } else { u64::MAX };
        let whole = |size: &u64| size.is_multiple_of(operation.multiple_bytes) && *size <= most;
        let sizes: Vec<u64> = self.options.sizes.0.iter().copied().filter(whole).collect();
        let (mut slower, mut faster) = (None, None);
        let (mut low, mut high) = (0, sizes.len());
        let steps = f64::from(usize::BITS - sizes.len().leading_zeros());
        let mut measured = 0.0;
        while low < high {
            let middle = usize::midpoint(low, high);
            let size = sizes[middle];
            watch(measured / steps);
            measured += 1.0;
            let gain = self.gain(operation, kind, depth, size)?;
            if gain < 0.0 {
                (slower, low) = (Some((size, gain)), middle + 1);
            } else {
                (faster, high) = (Some((size, gain)), middle);
            }
        }
        Ok(match (slower, faster) {
            (_, None) => None,
            (None, Some((size, _))) => Some(size),
            (Some(slower), Some(faster)) => Some(between(slower, faster)),
        })
    }

    /// The gain of the device as a share of the CPU's rate: 1 is twice as fast, a negative number slower.
    fn gain(
        &mut self,
        operation: BenchOperation,
        kind: QueueKind,
        depth: u32,
        size: u64,
    ) -> Result<f64, Failure> {
        let cpu = match self.by_cpu.get(&size) {
            Some(rate) => *rate,
            None => {
                let rate = self.rate(self.cpu, operation, kind, 1, size)?;
                self.by_cpu.insert(size, rate);
                rate
            }
        };
        Ok(self.rate(&self.options.on, operation, kind, depth, size)? / cpu - 1.0)
    }

    fn rate(
        &self,
        target: &BenchTarget,
        operation: BenchOperation,
        kind: QueueKind,
        depth: u32,
        size: u64,
    ) -> Result<f64, Failure> {
        let flags = if self.options.cache_control == 1 { "0x100" } else { "0" };
        let words = [
            "-o",
            operation.name,
            "-w",
            kind.name(),
            "-q",
            &depth.to_string(),
            "-s",
            &size.to_string(),
            "--operands",
            &self.options.operands.names(),
            "--flags",
            flags,
            "-i",
            &self.options.iterations.to_string(),
            "-n",
            "32",
            "-v",
            "0",
        ]
        .map(str::to_owned);
        let options = parse_options(&words)?;
        let point: BenchPoint = options.points()?[0];
        check_target(&options, &point, target)?;
        let answer =
            measure::measure_point(&options, &point, target, self.call.command, &mut |_| {})?;
        Ok(answer.gbytes_per_s)
    }
}

/// Parses the options of `bench`.
///
/// # Errors
/// If clap refuses the command line: its message.
pub fn parse_options(words: &[String]) -> Result<BenchOptions, Failure> {
    let command = BenchOptions::augment_args(clap::Command::new("bench").no_binary_name(true));
    let refused = |error: clap::Error| Failure::BadInput(error.to_string().trim_end().to_owned());
    let matches = command.try_get_matches_from(words).map_err(refused)?;
    BenchOptions::from_arg_matches(&matches).map_err(refused)
}

/// The size where the gain is zero, on a logarithmic scale, as whole lines.
fn between((below, loss): (u64, f64), (above, gain): (u64, f64)) -> u64 {
    let (from, to) = ((below as f64).log2(), (above as f64).log2());
    let at = from + (to - from) * loss / (loss - gain);
    // A size between two others: it fits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let bytes = at.exp2().ceil() as u64;
    bytes.next_multiple_of(LINE_BYTES).min(above)
}

#[cfg(test)]
mod tests {
    use super::{between, parse_options};

    #[test]
    fn a_threshold_lies_between_the_sizes_around_it_in_whole_lines() {
        assert_eq!(between((4096, -0.5), (8192, 0.5)), 5824);
        assert_eq!(between((4096, -0.000_001), (8192, 0.5)), 4160);
        assert_eq!(between((64, -0.5), (128, 0.000_001)), 128);
    }

    #[test]
    fn options_are_those_of_the_command_line() {
        let options = parse_options(&["-s64".into(), "-w1".into()]).expect("are valid");
        assert_eq!(options.sizes, [64]);
        assert!(parse_options(&["-s".into(), "x".into()]).is_err());
    }
}
