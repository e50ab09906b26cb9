//! Simulated machines: a scenario of the application `offload` is made of the options, and simulated.

use crate::failure::Failure;
use crate::option_values::{CACHE_CONTROL, MemoryNode, OperandPlacement, QueueKind};
use crate::options::BenchOptions;
use crate::point::BenchPoint;
use crate::results::{BenchResult, CLOCK_GHZ, DEPTH, PHASES};
use scenario::result::RunResult;
use scenario::{InputError, Job, RecordingRequest, Scenario, builtin};
use std::fmt::Write;
use std::ops::ControlFlow;

/// The name that messages have in place of a file.
const FILE: &str = "skipline-dsa bench";
/// Transfer bytes of a batch of operations, within these numbers of operations. As in the experiments
/// of ASPLOS'24.
const BATCH_BYTES: u64 = 512 << 10;
const BATCH_OPERATIONS: (u64, u64) = (8, 256);
/// Batches of operations of a run, and of one whose batches are large.
const BATCHES: u32 = 10;
const FEW_BATCHES: u32 = 4;
const LARGE_BATCH_BYTES: u64 = 64 << 20;
/// Lines of a portal's page, which a thread writes in turn with `-c`.
const PORTAL_ADDRESSES: u32 = 64;
/// Sets of buffers of a core, at most.
const MOST_BUFFERS: u64 = 1 << 16;

/// Simulates a point on the machine `platform`: on its engines or, with `by_core`, on its cores. `watch` is
/// called with the share of the run that is done, 0 to 1.
///
/// # Errors
/// If the machine does not support what the options ask for, or the run makes no progress.
pub fn measure(
    options: &BenchOptions,
    point: &BenchPoint,
    platform: &str,
    by_core: bool,
    watch: &mut dyn FnMut(f64),
) -> Result<BenchResult, Failure> {
    let text = scenario_of(options, point, platform, by_core)?;
    let (job, clock_ghz) = job(&text, options).map_err(|error| refusal(&error))?;
    let ran = job.run(RecordingRequest::default(), |progress| {
        watch(progress.fraction);
        ControlFlow::Continue(())
    });
    let result = ran.map_err(|failure| Failure::Failed(format!("{platform}: {failure}")))?;
    let mut answer = answer(&result, options, point, by_core);
    answer.further.insert(CLOCK_GHZ.into(), clock_ghz);
    Ok(answer)
}

/// The run of a scenario, and the clock of the machine's cores in GHz.
fn job(text: &str, options: &BenchOptions) -> Result<(Job, f64), InputError> {
    let scenario = Scenario::read(FILE, text, &options.machine.settings)?;
    let name = scenario.platform_name().to_owned();
    let platform = builtin::platform_with(FILE, &name, &scenario.platform_facts())?;
    let core_ghz = platform.cpu.core_ghz.value;
    Ok((Job::new(FILE, scenario, platform, &name, options.machine.seed)?, core_ghz))
}

/// The scenario of a point, as the text of a file for `skipline run`.
///
/// # Errors
/// If scenarios do not support what the options ask for.
pub fn scenario_of(
    options: &BenchOptions,
    point: &BenchPoint,
    platform: &str,
    by_core: bool,
) -> Result<String, Failure> {
    let operands = options.operands();
    let mut text = format!("platform = {platform:?}\napplication = \"offload\"\n");
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "{key} = {value}");
    };
    let word = |word: &str| format!("{word:?}");
    let number = |number: u64| number.to_string();
    line("cores", &number(point.threads.into()));
    line("offload.operation", &word(options.operation.name));
    if options.operation.opcode != 0 {
        line("offload.transfer_bytes", &number(point.size_bytes));
        let buffers = u64::from(options.buffers) * u64::from(point.batch);
        line("offload.buffers", &number(buffers.min(MOST_BUFFERS)));
        line("offload.data", &word(operands.source.name()));
        let [offset_bytes, _] = options.memory.offsets.0;
        if offset_bytes > 0 {
            line("offload.offset_bytes", &number(offset_bytes));
        }
    }
    if operands.source != OperandPlacement::Core {
        line("initial_content", &word("empty"));
    }
    if options.operation.name.ends_with("delta") {
        line("offload.delta_percent", &number(options.descriptor.delta_percent.into()));
    }
    let nodes = ["offload.source_node", "offload.destination_node"].into_iter();
    for (key, node) in nodes.zip(options.model_nodes()) {
        if node != MemoryNode::Local {
            line(key, &word(node.name()));
        }
    }
    if by_core {
        line("offload.by", &word("core"));
    } else {
        write_engine_keys(options, point, &mut line);
    }
    line("run.batch_packets", &number(operations_of_batch(options, point)));
    line("run.min_batches", &number(batches(options, point).into()));
    line("run.max_batches", &number(batches(options, point).into()));
    Ok(text)
}

/// Writes the keys that only engines have.
fn write_engine_keys(options: &BenchOptions, point: &BenchPoint, line: &mut dyn FnMut(&str, &str)) {
    let machine = &options.machine;
    line("iommu", &format!("{:?}", options.pages().name()));
    line("offload.depth", &depth(options, point).to_string());
    line("offload.batch", &point.batch.to_string());
    line("offload.wait", &format!("{:?}", options.wait_method().name()));
    line("offload.descriptors", &format!("{:?}", options.descriptor_source().name()));
    if options.operation.writes {
        let cache_control = u32::from(options.flags() & CACHE_CONTROL != 0);
        line("offload.cache_control", &cache_control.to_string());
    }
    if machine.lock {
        line("offload.lock", "true");
    }
    line("dsa.instances", &point.instances.to_string());
    line("dsa.engines", &point.configured_engines().to_string());
    line("dsa.queues", &point.queues.to_string());
    line("dsa.queue_entries", &point.configured_entries().to_string());
    match options.machine.queue_kind {
        QueueKind::Shared => line("dsa.queue_mode", "\"shared\""),
        QueueKind::Dedicated if options.descriptor.move_portal => {
            line("offload.portal_addresses", &PORTAL_ADDRESSES.to_string());
        }
        QueueKind::Dedicated => {}
    }
}

/// Descriptors of a thread in flight.
fn depth(options: &BenchOptions, point: &BenchPoint) -> u32 {
    point.depth_on(point.configured_entries(), options.buffers)
}

/// Operations of a batch: at least as many as are in flight; else the beginning and the end of the run
/// would count as throughput.
fn operations_of_batch(options: &BenchOptions, point: &BenchPoint) -> u64 {
    let (least, most) = BATCH_OPERATIONS;
    let by_size = (BATCH_BYTES / point.size_bytes.max(1)).clamp(least, most);
    let of_queues = point.configured_entries() * point.queues * point.instances;
    let descriptors =
        u64::from((depth(options, point) * point.threads).min(of_queues.max(point.threads)));
    by_size.max(descriptors * u64::from(point.batch))
}

/// Batches of a run: [`FEW_BATCHES`] if each has more than [`LARGE_BATCH_BYTES`], else [`BATCHES`].
fn batches(options: &BenchOptions, point: &BenchPoint) -> u32 {
    let bytes = operations_of_batch(options, point).saturating_mul(point.size_bytes);
    if bytes > LARGE_BATCH_BYTES { FEW_BATCHES } else { BATCHES }
}

/// A refusal of the scenario, with options in place of the scenario's keys.
fn refusal(error: &InputError) -> Failure {
    const OPTIONS: [(&str, &str); 16] = [
        ("offload.transfer_bytes", "-s"),
        ("offload.buffers", "-n"),
        ("offload.depth", "-q"),
        ("offload.batch", "-b"),
        ("offload.offset_bytes", "-O"),
        ("offload.cache_control", "-f"),
        ("offload.operation", "-o"),
        ("offload.source_node", "--source-node"),
        ("offload.destination_node", "--destination-node"),
        ("offload.by", "--on"),
        ("cores", "--threads"),
        ("dsa.engines", "--engines"),
        ("dsa.queues", "--queues"),
        ("dsa.queue_entries", "--queue-entries"),
        ("dsa.instances", "--instances"),
        ("iommu", "--pages"),
    ];
    let option = |key: &str| OPTIONS.iter().find(|(own, _)| own == &key).map(|(_, option)| option);
    match error {
        InputError::OutOfRange { key, value, allowed, .. } if option(key).is_some() => {
            let option = option(key).unwrap_or(&"");
            Failure::BadInput(format!("{option} {value}: {allowed} (the scenario's `{key}`)"))
        }
        InputError::WrongValue { key, reason, .. } if option(key).is_some() => {
            let option = option(key).unwrap_or(&"");
            Failure::BadInput(format!("{option}: {reason} (the scenario's `{key}`)"))
        }
        _ => Failure::BadInput(error.to_string()),
    }
}

fn answer(
    result: &RunResult,
    options: &BenchOptions,
    point: &BenchPoint,
    by_core: bool,
) -> BenchResult {
    let number = |name: &str, part: Option<&str>| {
        result.metrics.get(name).and_then(|metric| metric.value.number(part))
    };
    let percent = |phase: &str| number("offload_core_time", Some(phase)).unwrap_or(0.0);
    let kops = number("offload_mops", None).unwrap_or(0.0) * 1e3;
    let thread_ns = f64::from(point.threads) * 1e6 / kops;
    let known =
        PHASES.iter().map(|phase| ((*phase).to_owned(), percent(phase) / 100.0 * thread_ns));
    let mut further = std::collections::BTreeMap::new();
    let names = [
        ("asleep_percent", "offload_asleep_percent"),
        ("refused_percent", "dsa_refused_percent"),
        ("translations_per_operation", "dsa_translations_per_operation"),
        ("dram_read_gbytes_per_s", "dram_read_gbytes_per_s"),
        ("dram_write_gbytes_per_s", "dram_write_gbytes_per_s"),
    ];
    for (name, metric) in names {
        if let Some(value) = number(metric, None).filter(|value| value.is_finite()) {
            further.insert(name.to_owned(), value);
        }
    }
    if !by_core {
        further.insert(DEPTH.into(), depth(options, point).into());
    }
    further.insert("simulated_ns".into(), result.simulated_ns - result.warmup_ns);
    let fitted = result.fitted_parameters.iter();
    BenchResult {
        gbytes_per_s: number("offload_gbytes_per_s", None).unwrap_or(0.0),
        kops_per_s: kops,
        cpu_percent: if by_core { 100.0 } else { 100.0 - percent("wait") },
        latency_p50_ns: number("latency_ns", Some("p50")),
        latency_p99_ns: number("latency_ns", Some("p99")),
        phases_ns: known.filter(|(_, ns)| ns.is_finite()).collect(),
        further,
        operations: u64::from(batches(options, point)) * operations_of_batch(options, point),
        fitted: fitted.map(|it| (it.key.clone(), it.fitted_on.clone())).collect(),
    }
}
