//! The command line: short options as dsa-perf-micros has them, each with a long name, and what all targets
//! need beside them.

use crate::operation::{self, BenchOperation};
use crate::option_values::{
    CpuList, DescriptorSource, MemoryNode, OperandPlacements, PageSize, QueueKind, SizeSweep,
    WaitMethod, parse_flags, parse_setting,
};
use crate::sizes;
use crate::target::BenchTarget;
use std::path::PathBuf;

/// Measure operations on devices, on CPUs and on simulated machines by the same command line.
#[derive(clap::Args, Clone, Debug)]
pub struct BenchOptions {
    /// The targets that do the operations, several side by side: `device` (queues of this machine, or of
    /// `skipline-dsa run`), `software` (the same below `skipline-dsa run`), `cpu` (this machine's),
    /// `model:PLATFORM` (the copy engines of a simulated machine), `cpu-model:PLATFORM` (its cores).
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = BenchTarget::parse,
          default_value = "device")]
    pub on: Vec<BenchTarget>,
    /// Transfer sizes of an operation; K, M and G are powers of two.
    #[arg(short = 's', long = "size", value_name = "BYTES", value_delimiter = ',',
          value_parser = sizes::parse)]
    pub sizes: Vec<u64>,
    /// Sizes from one to another, doubled each time, or FROM-TO*FACTOR.
    #[arg(long, value_name = "FROM-TO", value_parser = SizeSweep::parse, conflicts_with = "sizes")]
    pub sweep_size: Option<SizeSweep>,
    /// Descriptors of a thread, each with buffers of its own.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 32,
          value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub buffers: u32,
    /// Operations of a descriptor: more than 1 is a batch.
    #[arg(short = 'b', long = "batch", value_name = "N", value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub batches: Vec<u32>,
    /// How often each thread goes through its buffers; a simulation ends sooner, when it knows enough.
    #[arg(short = 'i', long, value_name = "N", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub iterations: u32,
    /// The operation, by name or by the number that descriptors have for it, such as 3 or 0x10.
    #[arg(short = 'o', long, value_name = "OPERATION", default_value = "copy",
          value_parser = operation::parse)]
    pub operation: BenchOperation,
    /// Descriptors of a thread in flight. Without it 1; with -c all of -n, up to 128.
    #[arg(short = 'q', long = "depth", value_name = "N", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=128))]
    pub depths: Vec<u32>,
    /// Asynchronous: several descriptors in flight.
    #[arg(short = 'c', long = "async")]
    pub is_async: bool,
    /// Taken for the sake of scripts, without effect: descriptors are always submitted again as soon as they
    /// have ended.
    #[arg(short = 'j', hide_short_help = true)]
    pub continuous: bool,
    /// Threads. Without it one for each CPU of -k, else one for each instance.
    #[arg(short = 't', short_alias = 'T', long = "threads", value_name = "N", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Vec<u32>,
    /// CPUs for threads, in turn, such as 5-8,10.
    #[arg(short = 'k', long, value_name = "CPUS", value_parser = CpuList::parse)]
    pub cpus: Option<CpuList>,
    /// The kind of queue: 0 dedicated, 1 shared.
    #[arg(short = 'w', long, value_name = "KIND", default_value = "0", value_parser = QueueKind::parse)]
    pub queue_kind: QueueKind,
    /// Let the CPU do the operation: `cpu` in place of devices, `cpu-model` in place of `model`.
    #[arg(short = 'm', long)]
    pub by_cpu: bool,
    /// Where operands of the source and of the destination are before each operation: F in memory only, L in
    /// the LLC, C where the CPU and earlier operations leave them.
    #[arg(short = 'z', long = "operands", value_name = "S,D", default_value = "C,C",
          value_parser = OperandPlacements::parse)]
    pub operands: OperandPlacements,
    /// Flags of each descriptor beside those that its end needs: 0x2 block on fault, 0x100 destinations into
    /// the LLC.
    #[arg(short = 'x', long, value_name = "FLAGS", default_value = "0", value_parser = parse_flags)]
    pub flags: u32,
    /// Pages of the buffers: 4K, 2M or 1G.
    #[arg(short = 'p', short_aliases = ['S', 'l'], long = "pages", value_name = "BYTES", default_value = "4K",
          ignore_case = true)]
    pub pages: PageSize,
    /// Share of 8-byte words that differ, for delta records.
    #[arg(short = 'D', long, value_name = "PERCENT", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub delta_percent: u32,
    /// Taken for the sake of scripts, without effect: descriptors are prepared once anyway.
    #[arg(short = 'f', hide_short_help = true)]
    pub fast: bool,
    /// Taken for the sake of scripts, without effect.
    #[arg(short = 'Y', value_name = "VALUE", num_args = 0..=1, require_equals = false,
          allow_hyphen_values = false, hide_short_help = true)]
    pub ignored: Option<Option<String>>,
    /// Sleep in UMWAIT instead of polling; short for --wait umwait.
    #[arg(short = 'u', conflicts_with = "wait")]
    pub umwait: bool,
    /// How a thread waits for the completion of a descriptor.
    #[arg(long, value_name = "WAY", default_value = "poll")]
    pub wait: WaitMethod,
    /// Compare the results of operations with those of the CPU.
    #[arg(short = 'v', long)]
    pub verify: bool,
    /// Also print where the time of a thread goes: allocate, prepare, submit, wait. Descriptors are then
    /// allocated for each operation unless --descriptors says otherwise.
    #[arg(long)]
    pub phases: bool,
    /// How often descriptors are made: `prepared` once and submitted again, `filled-in` for each operation,
    /// or `allocated` for each.
    #[arg(long, value_name = "HOW")]
    pub descriptors: Option<DescriptorSource>,
    /// Devices and memory.
    #[command(flatten)]
    pub machine: MachineOptions,
    /// Outputs.
    #[command(flatten)]
    pub out: OutOptions,
}

/// Options on the devices and the memory that are used.
#[derive(clap::Args, Clone, Debug)]
pub struct MachineOptions {
    /// Engines of the group of each queue. `device` uses such groups alone; the others are configured so.
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=4))]
    pub engines: Vec<u32>,
    /// Instances that threads use in turn.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=4))]
    pub instances: Vec<u32>,
    /// Queues of each instance. Without it as many as threads need.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub queues: Option<u32>,
    /// Entries of each queue. Without it 32, or what the instance has for each of more than 4 queues.
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=128))]
    pub queue_entries: Vec<u32>,
    /// Threads take turns on a dedicated queue, behind a lock.
    #[arg(long)]
    pub lock: bool,
    /// Memory of sources.
    #[arg(long, value_name = "NODE", default_value = "local")]
    pub source_node: MemoryNode,
    /// Memory of destinations, and of second sources.
    #[arg(long, value_name = "NODE", default_value = "local")]
    pub destination_node: MemoryNode,
    /// Further keys of the scenario that a model simulates, such as ddio_ways=8 or dsa.read_buffers=24.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_setting)]
    pub settings: Vec<(String, String)>,
    /// Seed of what a model draws at random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Options on the outputs.
#[derive(clap::Args, Clone, Debug)]
pub struct OutOptions {
    /// Also write all results to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also draw throughput over transfer size into this file.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Do not report progress.
    #[arg(long)]
    pub quiet: bool,
}
