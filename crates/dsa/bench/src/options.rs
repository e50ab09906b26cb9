//! The command line. A short option means what it means in dsa-perf-micros, or is refused
//! ([`crate::refused_options`]); the options of this program alone have long names only.

use crate::operation::{self, BenchOperation};
use crate::option_values::{
    CpuList, DescriptorSource, MemoryNode, OperandPlacements, PageSize, QueueKind, SizeSweep,
    WaitMethod, parse_flags, parse_setting,
};
use crate::perf_micros::{
    Iterations, MiscellaneousBits, NodePair, OffsetPair, parse_huge_pages, parse_operand_letters,
    parse_switch,
};
use crate::refused_options::RefusedOptions;
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
    /// The operation, by name or by the number that descriptors have for it, such as 3 or 0x10.
    #[arg(short = 'o', long, value_name = "OPERATION", default_value = "copy",
          value_parser = operation::parse)]
    pub operation: BenchOperation,
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
    /// Descriptors of a thread in flight; 1 is synchronous. Without it all of -n, up to the entries of the
    /// queue.
    #[arg(short = 'q', long = "depth", value_name = "N", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=128))]
    pub depths: Vec<u32>,
    /// Submit again as soon as a descriptor has ended: it is always so here.
    #[arg(short = 'j', hide_short_help = true)]
    pub continuous: bool,
    /// Threads, each with descriptors of its own. Without it one for each CPU of -k, else one for each instance.
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Vec<u32>,
    /// CPUs for threads, in turn, such as 5-8,10.
    #[arg(short = 'k', long, value_name = "CPUS", value_parser = CpuList::parse)]
    pub cpus: Option<CpuList>,
    /// Let the CPU do the operation: `cpu` in place of devices, `cpu-model` in place of `model`.
    #[arg(short = 'm', long)]
    pub by_cpu: bool,
    /// The length of a measurement.
    #[command(flatten)]
    pub length: LengthOptions,
    /// Descriptors, and how a thread waits for them.
    #[command(flatten)]
    pub descriptor: DescriptorOptions,
    /// Buffers of the operations.
    #[command(flatten)]
    pub memory: MemoryOptions,
    /// Devices and their queues.
    #[command(flatten)]
    pub machine: MachineOptions,
    /// Outputs.
    #[command(flatten)]
    pub out: OutOptions,
    /// Options that are refused.
    #[command(flatten)]
    pub refused: RefusedOptions,
}

/// Options on the length of a measurement. A simulation ends when it knows enough, whatever they say.
#[derive(clap::Args, Clone, Debug)]
pub struct LengthOptions {
    /// How often each thread goes through its descriptors [default: 1000]; -1: until the time of -T is over. A
    /// simulation ends sooner, when it knows enough.
    #[arg(short = 'i', long, value_name = "N", allow_hyphen_values = true,
          value_parser = Iterations::parse)]
    pub iterations: Option<Iterations>,
    /// Seconds after which a measurement ends. A simulation ends sooner, when it knows enough.
    #[arg(short = 'T', long, value_name = "SECONDS",
          value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub seconds: Option<u32>,
    /// Rounds before those that are measured. A simulation has a warm-up of its own.
    #[arg(short = 'W', long, value_name = "N", default_value_t = 0)]
    pub warm_up: u32,
}

/// Options on descriptors.
#[derive(clap::Args, Clone, Debug)]
pub struct DescriptorOptions {
    /// Move the address of a dedicated queue's portal from one descriptor to the next.
    #[arg(short = 'c', long)]
    pub move_portal: bool,
    /// Set the flag cache control of each descriptor: destinations go into the LLC.
    #[arg(short = 'f', long)]
    pub cache_control: bool,
    /// Flags of each descriptor by their bits: 0x2 block on fault, 0x100 cache control, as -f.
    #[arg(long, value_name = "FLAGS", default_value = "0", value_parser = parse_flags)]
    pub flags: u32,
    /// Make the last descriptor of each round a drain (not on models).
    #[arg(short = 'Y', long)]
    pub drain: bool,
    /// How a thread waits, as a mask: 0x80 with PAUSE between two reads, 0x100 in UMWAIT.
    #[arg(short = 'x', value_name = "MASK", default_value = "0",
          value_parser = MiscellaneousBits::parse)]
    pub miscellaneous: MiscellaneousBits,
    /// How a thread waits for the completion of a descriptor [default: poll, or as -x says].
    #[arg(long, value_name = "WAY", conflicts_with = "miscellaneous")]
    pub wait: Option<WaitMethod>,
    /// How often descriptors are made: `prepared` once and submitted again, `filled-in` for each operation,
    /// or `allocated` for each.
    #[arg(long, value_name = "HOW")]
    pub descriptors: Option<DescriptorSource>,
    /// Compare the results of operations with those of the CPU: 0 off, 1 on. A model has no data.
    #[arg(short = 'v', long, value_name = "0|1", num_args = 0..=1, action = clap::ArgAction::Set,
          default_value = "1", default_missing_value = "1", value_parser = parse_switch)]
    pub verify: bool,
    /// Share of 8-byte words that differ, for delta records.
    #[arg(short = 'D', long, value_name = "PERCENT", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub delta_percent: u32,
}

/// Options on buffers.
#[derive(clap::Args, Clone, Debug)]
pub struct MemoryOptions {
    /// Sources and destinations before each round: P they are prefetched, D demoted to the LLC, F flushed.
    /// Without it they stay where they are.
    #[arg(short = 'z', value_name = "S,D", value_parser = parse_operand_letters)]
    pub operand_letters: Option<OperandPlacements>,
    /// The same by name: core (where they are), llc, flushed or prefetched.
    #[arg(long, value_name = "S,D", value_parser = OperandPlacements::parse,
          conflicts_with = "operand_letters")]
    pub operands: Option<OperandPlacements>,
    /// Distance from one buffer to the next; a model has them without gaps.
    #[arg(short = 't', long, value_name = "BYTES", value_parser = sizes::parse)]
    pub stride: Option<u64>,
    /// Distances of sources and of destinations from the starts of their buffers, in bytes.
    #[arg(short = 'O', long, value_name = "S,D", default_value = "0",
          value_parser = OffsetPair::parse)]
    pub offsets: OffsetPair,
    /// Huge pages: 0 of 2 MiB, 1 of 1 GiB.
    #[arg(short = 'l', value_name = "0|1", value_parser = parse_huge_pages, conflicts_with = "pages")]
    pub huge_pages: Option<PageSize>,
    /// Pages of the buffers: 4K, 2M or 1G.
    #[arg(long, value_name = "BYTES", default_value = "4K", ignore_case = true)]
    pub pages: PageSize,
    /// NUMA nodes of sources and of destinations, by number; a model has 0, where its engines are, and 1.
    #[arg(short = 'S', long, value_name = "S,D", value_parser = NodePair::parse,
          conflicts_with_all = ["source_node", "destination_node"])]
    pub nodes: Option<NodePair>,
    /// Memory of sources.
    #[arg(long, value_name = "NODE", default_value = "local")]
    pub source_node: MemoryNode,
    /// Memory of destinations, and of second sources.
    #[arg(long, value_name = "NODE", default_value = "local")]
    pub destination_node: MemoryNode,
}

/// Options on devices and queues.
#[derive(clap::Args, Clone, Debug)]
pub struct MachineOptions {
    /// The kind of queue: 0 dedicated, 1 shared.
    #[arg(short = 'w', long, value_name = "KIND", default_value = "0", value_parser = QueueKind::parse)]
    pub queue_kind: QueueKind,
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
    /// Also print where the time of a thread goes: allocate, prepare, submit, wait. Descriptors are then
    /// allocated for each operation unless --descriptors says otherwise.
    #[arg(long)]
    pub phases: bool,
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
