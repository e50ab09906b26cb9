//! Points: the sets of conditions that are measured, one after the other. Options with several values make a
//! point for each combination.

use crate::failure::Failure;
use crate::option_values::QueueKind;
use crate::options::BenchOptions;
use crate::sizes;
use std::fmt::Write;

/// The transfer size without `-s`, as the specification's examples and the paper have it.
const DEFAULT_BYTES: u64 = 4096;
/// The largest transfer of delta records: their offsets have 16 bits, of eight bytes each.
pub const MOST_DELTA_BYTES: u64 = 512 << 10;
/// Entries of a queue in the paper, and of all queues of an instance together.
const ENTRIES: u32 = 32;
const ALL_ENTRIES: u32 = 128;

/// One set of conditions under which a target is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchPoint {
    /// Transfer size of an operation, in bytes.
    pub size_bytes: u64,
    /// Operations of a descriptor; more than 1 is a batch.
    pub batch: u32,
    /// Number of descriptors of each thread in flight, as `-q` says; `None`: all that the thread has, up to the
    /// entries of its queue.
    pub depth: Option<u32>,
    /// Threads that submit, or do the operations themselves.
    pub threads: u32,
    /// Engines of the group of each queue; `None`: 1, or as many as a device has.
    pub engines: Option<u32>,
    /// Number of instances (devices) that threads use in turn.
    pub instances: u32,
    /// Number of queues of each instance.
    pub queues: u32,
    /// Entries of each queue; `None`: a default ([`Self::configured_entries`]), or as many as a device has.
    pub queue_entries: Option<u32>,
}

impl BenchPoint {
    /// Engines of a group where this program configures the devices (software, models): 1 by default.
    #[must_use]
    pub fn configured_engines(&self) -> u32 {
        self.engines.unwrap_or(1)
    }

    /// Entries of each queue where this program configures the devices (software, models): 32 by default, or
    /// an equal share of 128 with more than 4 queues.
    #[must_use]
    pub fn configured_entries(&self) -> u32 {
        self.queue_entries.unwrap_or(ENTRIES.min(ALL_ENTRIES / self.queues.max(1)))
    }

    /// Descriptors of a thread in flight on a queue with `entries`, if the thread has `buffers` descriptors.
    #[must_use]
    pub fn depth_on(&self, entries: u32, buffers: u32) -> u32 {
        self.depth.unwrap_or(buffers.min(entries))
    }

    /// The conditions as options of the command line, without those that have their default.
    #[must_use]
    pub fn conditions(&self) -> String {
        let mut text = format!("-s {}", sizes::show(self.size_bytes));
        let mut add = |option: &str, value: Option<u32>, default: u32| {
            if let Some(value) = value.filter(|&value| value != default) {
                let _ = write!(text, " {option} {value}");
            }
        };
        add("-b", Some(self.batch), 1);
        add("-q", self.depth, 0);
        add("--threads", Some(self.threads), 1);
        add("--engines", self.engines, 0);
        add("--instances", Some(self.instances), 1);
        add("--queue-entries", self.queue_entries, 0);
        text
    }
}

impl BenchOptions {
    /// All combinations of the options' values, in the order in which the command line has them.
    ///
    /// # Errors
    /// If a value contradicts another one: the message names the option and what is allowed.
    pub fn points(&self) -> Result<Vec<BenchPoint>, Failure> {
        self.refused.refuse()?;
        self.check_length()?;
        let mut points = Vec::new();
        for &instances in &self.machine.instances {
            for engines in each_or_none(&self.machine.engines) {
                for queue_entries in each_or_none(&self.machine.queue_entries) {
                    for threads in self.threads_with(instances) {
                        for &batch in &self.batches {
                            for depth in each_or_none(&self.depths) {
                                for size_bytes in self.sizes_used() {
                                    let queues = self.queues_with(threads, instances);
                                    points.push(BenchPoint {
                                        size_bytes,
                                        batch,
                                        depth,
                                        threads,
                                        engines,
                                        instances,
                                        queues,
                                        queue_entries,
                                    });
                                }
                            }
                        }
                    }
                }
            }
        }
        for point in &points {
            self.check(point)?;
        }
        Ok(points)
    }

    fn sizes_used(&self) -> Vec<u64> {
        match &self.sweep_size {
            Some(sweep) => sweep.0.clone(),
            None if self.sizes.is_empty() => vec![DEFAULT_BYTES],
            None => self.sizes.clone(),
        }
    }

    fn threads_with(&self, instances: u32) -> Vec<u32> {
        if !self.threads.is_empty() {
            return self.threads.clone();
        }
        let cpus = self.cpus.as_ref().map(|cpus| units::narrow::fit(cpus.0.len()));
        vec![cpus.unwrap_or(instances)]
    }

    /// Queues of each instance: a dedicated queue has one client, unless threads share it by a lock; a shared
    /// queue has any number.
    fn queues_with(&self, threads: u32, instances: u32) -> u32 {
        let needed = match self.machine.queue_kind {
            QueueKind::Dedicated if !self.machine.lock => threads.div_ceil(instances),
            _ => 1,
        };
        self.machine.queues.unwrap_or(needed)
    }

    fn check_length(&self) -> Result<(), Failure> {
        if self.rounds().is_none() && self.length.seconds.is_none() {
            let allowed = "a measurement without end; allowed: -i -1 with -T SECONDS";
            return Err(Failure::refused_value("-i", -1, allowed));
        }
        if self.descriptor.drain && self.buffers < 2 {
            let allowed =
                "the last descriptor becomes a drain, so that one is left to measure: -n 2 or more";
            return Err(Failure::refused_value("-n", self.buffers, &format!("with -Y {allowed}")));
        }
        Ok(())
    }

    fn check(&self, point: &BenchPoint) -> Result<(), Failure> {
        let (operation, size) = (self.operation, point.size_bytes);
        let shown = sizes::show(size);
        if size == 0 && operation.opcode != 0 || size > 1 << 30 {
            return Err(Failure::refused_value("-s", shown, "allowed: 1 to 1G"));
        }
        if !size.is_multiple_of(operation.multiple_bytes) {
            let (name, multiple) = (operation.name, operation.multiple_bytes);
            let allowed = format!("allowed with -o {name}: multiples of {multiple} bytes");
            return Err(Failure::refused_value("-s", shown, &allowed));
        }
        if operation.name.ends_with("delta") && size > MOST_DELTA_BYTES {
            let allowed = format!("allowed with -o {}: up to 512K", operation.name);
            return Err(Failure::refused_value("-s", shown, &allowed));
        }
        let kind = self.machine.queue_kind;
        if kind == QueueKind::Dedicated && !self.machine.lock {
            let queues = point.queues * point.instances;
            if point.threads > queues {
                let allowed = format!(
                    "a dedicated queue has one client, and there are {queues}; allowed: up to {queues} \
                     threads, more --queues or --instances, -w 1 (shared), or --lock"
                );
                return Err(Failure::refused_value("--threads", point.threads, &allowed));
            }
        }
        if self.machine.lock && kind == QueueKind::Shared {
            let allowed = "allowed with -w 0: ENQCMD is answered, and needs no lock".to_owned();
            return Err(Failure::BadInput(format!("--lock with -w 1: {allowed}")));
        }
        if point.queues > 8 {
            let allowed =
                "an instance has 8 queues: fewer threads, more --instances, or -w 1 (shared)";
            return Err(Failure::refused_value("--threads", point.threads, allowed));
        }
        let entries = point.configured_entries() * point.queues;
        if entries > ALL_ENTRIES {
            let allowed = format!(
                "{} queues of so many are {entries}; allowed: {ALL_ENTRIES} in all queues of an instance",
                point.queues
            );
            return Err(Failure::refused_value(
                "--queue-entries",
                point.configured_entries(),
                &allowed,
            ));
        }
        Ok(())
    }
}

/// Each value; without values one `None`.
fn each_or_none(values: &[u32]) -> Vec<Option<u32>> {
    if values.is_empty() { vec![None] } else { values.iter().copied().map(Some).collect() }
}
