//! Options that a target cannot carry out. They are refused before anything is measured.

use crate::failure::Failure;
use crate::option_values::{MemoryNode, OperandPlacement, WaitMethod};
use crate::options::BenchOptions;
use crate::point::BenchPoint;
use crate::sizes;
use crate::target::BenchTarget;

const LINE_BYTES: u64 = 64;

/// Checks that a target can measure a point.
///
/// # Errors
/// If an option has no meaning on the target: the option, its value, and what is allowed.
pub fn check_target(
    options: &BenchOptions,
    point: &BenchPoint,
    target: &BenchTarget,
) -> Result<(), Failure> {
    check_stride(options, point, target)?;
    check_offsets(options)?;
    let is_model = matches!(target, BenchTarget::Model(_) | BenchTarget::ModelCpu(_));
    let has_queues = matches!(target, BenchTarget::Device | BenchTarget::Software);
    if options.descriptor.drain && !has_queues {
        return Err(refuse_on(target, "-Y", "it has no drain", "device and software take one"));
    }
    if has_queues && options.wait_method() == WaitMethod::Interrupt {
        let allowed = "only models have interrupts; allowed here: poll, pause, umwait";
        return Err(Failure::refused_value("--wait", "interrupt", allowed));
    }
    if is_model { check_model(options, target) } else { Ok(()) }
}

fn refuse_on(target: &BenchTarget, option: &str, why: &str, instead: &str) -> Failure {
    Failure::BadInput(format!("{option} with --on {target}: {why}; {instead}"))
}

fn check_model(options: &BenchOptions, target: &BenchTarget) -> Result<(), Failure> {
    let refuse = |option: &str, why: &str, allowed: &str| {
        Err(refuse_on(target, option, why, &format!("allowed: {allowed}")))
    };
    let operands = options.operands();
    let shown = format!("-z or --operands {}", operands.names());
    if operands.source == OperandPlacement::Prefetched
        || operands.destination == OperandPlacement::Prefetched
    {
        return refuse(&shown, "a model prefetches no operands", "D,D or F,F, or no -z");
    }
    if operands.source != operands.destination {
        let why = "a model has all operands in the same state";
        return refuse(&shown, why, "D,D or F,F, or no -z");
    }
    let is_engine = matches!(target, BenchTarget::Model(_));
    if is_engine && options.wait_method() == WaitMethod::Pause {
        let why = "a model polls without PAUSE";
        return refuse("-x 0x80 or --wait pause", why, "no -x, or 0x100 (UMWAIT)");
    }
    let [source, destination] = options.memory.offsets.0;
    if source != destination || !source.is_multiple_of(LINE_BYTES) {
        let why = "a model has one offset for all buffers, in lines";
        return refuse(
            &format!("-O {source},{destination}"),
            why,
            "multiples of 64, such as 64,64",
        );
    }
    for node in options.memory.nodes.iter().flat_map(|pair| pair.0) {
        if node > 1 {
            let why = "a model has node 0, where its engines are, and node 1, the other socket";
            let allowed = "0 and 1; memory behind CXL is --source-node cxl";
            return refuse(&format!("-S {node}"), why, allowed);
        }
    }
    Ok(())
}

/// Records and data of deltas are words.
fn check_offsets(options: &BenchOptions) -> Result<(), Failure> {
    let [source, destination] = options.memory.offsets.0;
    let is_delta = options.operation.name.ends_with("delta");
    if is_delta && !(source.is_multiple_of(8) && destination.is_multiple_of(8)) {
        let allowed = format!("allowed with -o {}: multiples of 8", options.operation.name);
        return Err(Failure::refused_value("-O", format!("{source},{destination}"), &allowed));
    }
    Ok(())
}

/// Buffers of a thread do not overlap; those of a model follow each other without gaps.
fn check_stride(
    options: &BenchOptions,
    point: &BenchPoint,
    target: &BenchTarget,
) -> Result<(), Failure> {
    let Some(stride) = options.memory.stride else { return Ok(()) };
    let operation = options.operation;
    let (least, multiple) =
        (operation.stride_bytes(point.size_bytes), operation.stride_multiple_bytes());
    let shown = sizes::show(stride);
    if stride < least || !stride.is_multiple_of(multiple) {
        let allowed = format!(
            "buffers of -s {} would overlap, or are not aligned; allowed: multiples of {multiple} from \
             {least} bytes on",
            sizes::show(point.size_bytes)
        );
        return Err(Failure::refused_value("-t", shown, &allowed));
    }
    let is_model = matches!(target, BenchTarget::Model(_) | BenchTarget::ModelCpu(_));
    if is_model && stride != least {
        let why = "buffers of a model follow each other without gaps";
        let instead = format!("allowed: {least}, or no -t");
        return Err(refuse_on(target, &format!("-t {shown}"), why, &instead));
    }
    Ok(())
}

impl BenchOptions {
    /// The memory of sources and of destinations in a model: of `-S`, or by name.
    #[must_use]
    pub fn model_nodes(&self) -> [MemoryNode; 2] {
        let by_number = |node| if node == 0 { MemoryNode::Local } else { MemoryNode::OtherSocket };
        match self.memory.nodes {
            Some(nodes) => nodes.0.map(by_number),
            None => [self.memory.source_node, self.memory.destination_node],
        }
    }
}
