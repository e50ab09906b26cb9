//! The operations of a thread on operands of its own, and the check of what they have written.

use super::memory::{BufferRegion, check_node, find_node, own_node};
use crate::failure::Failure;
use crate::operation::{DELTA_ENTRY, PROTECTED_BLOCK, record_bytes};
use crate::option_values::{BLOCK_ON_FAULT, CACHE_CONTROL};
use crate::options::BenchOptions;
use crate::point::BenchPoint;
use dsa::hardware::Opcode;
use dsa_client::client::{OffloadClient, Path};
use dsa_client::operation::{CrcKind, OffloadOperation, ProtectionTags};
use dsa_client::outcome::OffloadAnswer;
use units::narrow::{fit, usize_from};

/// Room behind the last operand of a region: offsets are within a page of 4 KiB.
const MOST_OFFSET_BYTES: u64 = 4096;
const PATTERN: u64 = 0x0123_4567_89ab_cdef;

/// The operands of a thread, and the operations on them.
pub struct ThreadOperands {
    /// Three regions: sources; second sources or destinations; second destinations or delta records.
    regions: [BufferRegion; 3],
    /// The operations, each on a set of operands of its own.
    pub operations: Vec<OffloadOperation>,
}

impl ThreadOperands {
    /// Allocates and fills in operands for `count` operations of a point. `cpu` prepares inputs that are
    /// themselves results: protected blocks, delta records.
    ///
    /// # Errors
    /// If the system does not have the memory that the options ask for, or `cpu` fails.
    pub fn new(
        options: &BenchOptions,
        point: &BenchPoint,
        count: u32,
        cpu: &OffloadClient,
    ) -> Result<Self, Failure> {
        let nodes = buffer_nodes(options)?;
        let stride = stride(options, point);
        let bytes = usize_from(stride * u64::from(count) + MOST_OFFSET_BYTES);
        let [first, second, third] =
            nodes.map(|node| BufferRegion::new(bytes, options.pages(), node));
        let mut own = Self { regions: [first?, second?, third?], operations: Vec::new() };
        own.fill_in(options, point);
        let offsets = offsets(options);
        for number in 0..u64::from(count) {
            let mut at = own.regions.each_ref().map(|it| it.address() + number * stride);
            at.iter_mut().zip(offsets).for_each(|(at, offset)| *at += offset);
            let operation = own.operation(options, point, at, cpu)?;
            let flags = options.flags();
            let operation =
                if flags & CACHE_CONTROL != 0 { operation.to_cache() } else { operation };
            own.operations.push(operation);
        }
        Ok(own)
    }

    /// Fills in the contents of the sources.
    fn fill_in(&mut self, options: &BenchOptions, point: &BenchPoint) {
        let name = options.operation.name;
        let words = point.size_bytes / DELTA_ENTRY.0;
        let differing = u64::from(options.descriptor.delta_percent) * words / 100;
        for (number, region) in self.regions.iter_mut().enumerate() {
            let is_source = number == 0
                || number == 1 && matches!(name, "compare" | "create-delta" | "apply-delta");
            if !is_source {
                continue;
            }
            let offset = usize_from(offsets(options)[number]);
            for set in region.bytes()[offset..].chunks_mut(usize_from(stride(options, point))) {
                for (at, word) in set.chunks_exact_mut(8).enumerate() {
                    let at = at as u64;
                    let mixed = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let differs = number == 1 && name == "create-delta" && at < differing.max(1);
                    let value = if name == "compare-pattern" { PATTERN } else { mixed };
                    word.copy_from_slice(&(if differs { !value } else { value }).to_le_bytes());
                }
            }
        }
    }

    fn operation(
        &mut self,
        options: &BenchOptions,
        point: &BenchPoint,
        [first, second, third]: [u64; 3],
        cpu: &OffloadClient,
    ) -> Result<OffloadOperation, Failure> {
        let bytes = point.size_bytes;
        let protected = bytes / PROTECTED_BLOCK.0 * (PROTECTED_BLOCK.0 + PROTECTED_BLOCK.1);
        let (kind, tags) = (CrcKind::default(), ProtectionTags::default());
        let pair = (first, second);
        let record_bytes: u32 = fit(record_bytes(bytes));
        let protect = |to: u64| OffloadOperation::dif_insert((third, to), bytes, 0, tags);
        Ok(match options.operation.name {
            "copy" => OffloadOperation::copy(first, second, bytes),
            "fill" => OffloadOperation::fill(second, PATTERN, bytes),
            "compare" => OffloadOperation::compare(first, second, bytes),
            "compare-pattern" => OffloadOperation::compare_pattern(first, PATTERN, bytes),
            "create-delta" => OffloadOperation::create_delta(pair, bytes, (third, record_bytes)),
            "apply-delta" => {
                let made = self.delta_record(options, point, [first, second, third], cpu)?;
                OffloadOperation::apply_delta((third, made), second, bytes)
            }
            "dualcast" => OffloadOperation::dualcast(first, second, third, bytes),
            "crc" => OffloadOperation::crc(kind, 0, first, bytes),
            "copy-crc" => OffloadOperation::copy_crc(kind, 0, pair, bytes),
            "dif-insert" => OffloadOperation::dif_insert(pair, bytes, 0, tags),
            "dif-check" => {
                run_on_cpu(cpu, &protect(first))?;
                OffloadOperation::dif_check(first, protected, 0, tags)
            }
            "dif-strip" => {
                run_on_cpu(cpu, &protect(first))?;
                OffloadOperation::dif_strip(pair, protected, 0, tags)
            }
            "dif-update" => {
                run_on_cpu(cpu, &protect(first))?;
                OffloadOperation::dif_update(pair, protected, 0, (tags, tags))
            }
            "cache-flush" => OffloadOperation::flush(second, bytes),
            _ => OffloadOperation::no_op(),
        })
    }

    /// Makes a delta record in the third operand, between the second operand and a copy of it with some words
    /// changed; returns the record's bytes.
    fn delta_record(
        &mut self,
        options: &BenchOptions,
        point: &BenchPoint,
        [first, second, third]: [u64; 3],
        cpu: &OffloadClient,
    ) -> Result<u32, Failure> {
        let differing =
            u64::from(options.descriptor.delta_percent) * (point.size_bytes / DELTA_ENTRY.0) / 100;
        let bytes = differing.max(1) * DELTA_ENTRY.0;
        // The first operand becomes the second with other words in front.
        run_on_cpu(cpu, &OffloadOperation::fill(first, !PATTERN, bytes))?;
        let most: u32 = fit(record_bytes(point.size_bytes));
        let create =
            OffloadOperation::create_delta((second, first), point.size_bytes, (third, most));
        match run_on_cpu(cpu, &create)? {
            OffloadAnswer::Delta { bytes, is_cut: false } => Ok(bytes),
            other => Err(Failure::Failed(format!("a delta record for -o apply-delta: {other:?}"))),
        }
    }

    /// Moves the lines of all operands into the caches or out of them, as `-z` says.
    pub fn move_lines(&self, options: &BenchOptions) {
        self.regions[0].move_lines(options.operands().source);
        self.regions[1].move_lines(options.operands().destination);
        self.regions[2].move_lines(options.operands().destination);
    }

    /// Whether another set of operands has the same contents.
    pub fn is_equal(&mut self, other: &mut Self) -> bool {
        let pairs = self.regions.iter_mut().zip(&mut other.regions);
        pairs.into_iter().all(|(own, other)| own.bytes() == other.bytes())
    }
}

/// Flags of descriptors that the library's operations do not set: block on fault.
pub fn further_flags(options: &BenchOptions) -> u32 {
    let has_data = !matches!(options.operation.name, "no-op");
    if has_data { options.flags() & BLOCK_ON_FAULT } else { 0 }
}

/// Has the CPU do an operation on operands of this module; returns its result.
///
/// # Errors
/// If the operation fails.
pub fn run_on_cpu(
    cpu: &OffloadClient,
    operation: &OffloadOperation,
) -> Result<OffloadAnswer, Failure> {
    // SAFETY: all operations of this module name its own regions, which live longer.
    #[allow(unsafe_code)]
    let outcome = unsafe { cpu.run(operation, Path::Cpu) };
    outcome.map(|outcome| outcome.answer).map_err(|error| Failure::Failed(error.to_string()))
}

/// Distance in bytes of one operand to the next one in its region: that of `-t`, or without gaps.
fn stride(options: &BenchOptions, point: &BenchPoint) -> u64 {
    options.memory.stride.unwrap_or_else(|| options.operation.stride_bytes(point.size_bytes))
}

/// Distances of the operands of each region from the starts of their buffers.
fn offsets(options: &BenchOptions) -> [u64; 3] {
    let [source, destination] = options.memory.offsets.0;
    [source, destination, destination]
}

/// The memory node of each region, with the option that names it; `None`: that of the thread.
fn buffer_nodes(options: &BenchOptions) -> Result<[Option<(&'static str, u32)>; 3], Failure> {
    let own = own_node();
    let memory = &options.memory;
    let [source, destination] = match memory.nodes {
        Some(nodes) => [check_node(nodes.0[0])?, check_node(nodes.0[1])?],
        None => [
            find_node("--source-node", memory.source_node, own)?,
            find_node("--destination-node", memory.destination_node, own)?,
        ],
    };
    Ok([source, destination, destination])
}

/// Refuses operands that do not fit into the free memory of this machine: those of all threads, twice if
/// results are compared.
pub fn check_memory(options: &BenchOptions, point: &BenchPoint) -> Result<(), Failure> {
    let sets = u64::from(options.buffers) * u64::from(point.batch) * u64::from(point.threads);
    let each = 3 * stride(options, point);
    let needed =
        u128::from(sets) * u128::from(each) * if options.descriptor.verify { 2 } else { 1 };
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<u128> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    match kib {
        Some(kib) if needed > kib << 10 => {
            let allowed = format!(
                "buffers of all threads need {} MiB, and {} MiB are free; fewer, or a smaller -s, -b or --threads",
                needed >> 20,
                kib >> 10
            );
            Err(Failure::refused_value("-n", options.buffers, &allowed))
        }
        _ => Ok(()),
    }
}

/// The opcode of the operation that the command line names.
pub fn opcode(options: &BenchOptions) -> Opcode {
    Opcode::from_code(options.operation.opcode).unwrap_or(Opcode::NoOp)
}
