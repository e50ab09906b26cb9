//! The threads of a measurement.

use super::clock::{Clock, WORK};
use super::operands::{ThreadOperands, check_memory, further_flags, run_on_cpu};
use super::queue_selection::{open_portal, queues_of_threads};
use super::submission_lane::SubmissionLane;
use crate::failure::Failure;
use crate::option_values::{OperandPlacement, WaitMethod};
use crate::options::BenchOptions;
use crate::point::BenchPoint;
use crate::results::BenchResult;
use dsa::hardware::Opcode;
use dsa_client::client::{OffloadClient, Options as ClientOptions};
use dsa_client::outcome::OffloadAnswer;
use dsa_client::portal::QueuePortal;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

/// The measurements of one thread.
#[derive(Default)]
struct ThreadCounts {
    clock: Clock,
    time: Duration,
    operations: u64,
    retries: u64,
}

/// Operands that the CPU has worked on, and the results of its operations.
type ExpectedResults = (ThreadOperands, Vec<OffloadAnswer>);

/// The data that all threads of a measurement share.
struct ThreadContext<'a> {
    options: &'a BenchOptions,
    point: &'a BenchPoint,
    cpu: OffloadClient,
    start: Barrier,
    /// Rounds over all descriptors that the first thread has finished.
    rounds: AtomicU32,
    /// A lock for each portal, for threads that share a dedicated queue.
    locks: Vec<Mutex<()>>,
}

/// Measures a point on queues of this system or, with `by_cpu`, on its CPU. `watch` is called with the share
/// of the rounds that are done, 0 to 1.
///
/// # Errors
/// If this machine does not support what the options ask for, or an operation fails.
pub(crate) fn measure(
    options: &BenchOptions,
    point: &BenchPoint,
    by_cpu: bool,
    watch: &mut dyn FnMut(f64),
) -> Result<BenchResult, Failure> {
    if options.wait_method() == WaitMethod::Interrupt {
        let allowed = "only models have interrupts; allowed here: poll, umwait";
        return Err(Failure::refused_value("--wait", "interrupt", allowed));
    }
    check_memory(options, point)?;
    let queues = if by_cpu { Vec::new() } else { queues_of_threads(options, point)? };
    let mut portals: Vec<QueuePortal> = Vec::new();
    let mut of_threads = Vec::new();
    for queue in queues {
        // A dedicated queue is opened once; threads that share it take turns.
        let is_open = |portal: &QueuePortal| portal.queue().name == queue.name;
        let number = match portals.iter().position(is_open) {
            Some(number) => number,
            None => {
                portals.push(open_portal(queue)?);
                portals.len() - 1
            }
        };
        of_threads.push(number);
    }
    refuse_batches(&portals, point)?;
    let none = ClientOptions { queues: Some(Vec::new()), ..ClientOptions::default() };
    let context = ThreadContext {
        options,
        point,
        cpu: OffloadClient::open(&none).map_err(|error| Failure::Failed(error.to_string()))?,
        start: Barrier::new(point.threads as usize),
        rounds: AtomicU32::new(0),
        locks: portals.iter().map(|_| Mutex::new(())).collect(),
    };
    let (context, portals) = (&context, &portals);
    let counts = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..point.threads as usize)
            .map(|number| {
                let portal = of_threads.get(number).map(|&at| (&portals[at], &context.locks[at]));
                scope.spawn(move || context.run_thread(number, portal))
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            let done = context.rounds.load(Ordering::Relaxed);
            watch(f64::from(done) / f64::from(options.iterations));
            std::thread::park_timeout(Duration::from_millis(20));
        }
        let ended = threads.into_iter().map(|thread| thread.join());
        let ended = ended
            .map(|end| end.unwrap_or_else(|_| Err(Failure::Failed("a thread ended early".into()))));
        ended.collect::<Result<Vec<ThreadCounts>, Failure>>()
    })?;
    Ok(answer(point, &counts))
}

/// Refuses batches where a queue would never take them, and would look full for ever.
fn refuse_batches(portals: &[QueuePortal], point: &BenchPoint) -> Result<(), Failure> {
    match portals.iter().find(|portal| point.batch > 1 && !portal.takes(Opcode::Batch)) {
        None => Ok(()),
        Some(portal) => Err(Failure::Failed(format!(
            "-b {}: {} gets its descriptors by write(), through which the driver lets no batches of DSA \
             1.0: allowed: -b 1, or let programs map its portal (root, CAP_SYS_RAWIO)",
            point.batch,
            portal.queue().name
        ))),
    }
}

impl ThreadContext<'_> {
    fn run_thread(
        &self,
        number: usize,
        portal: Option<(&QueuePortal, &Mutex<()>)>,
    ) -> Result<ThreadCounts, Failure> {
        let prepared = self.prepare(number);
        // All threads get here, also those that have failed.
        self.start.wait();
        let (operands, expected) = prepared?;
        let counted = match portal {
            Some((portal, lock)) => {
                let answers = expected.as_ref().map_or(&[][..], |(_, answers)| answers);
                self.by_queue(number, (&operands, answers), portal, lock)?
            }
            None => self.by_cpu(number, &operands)?,
        };
        self.verify(operands, expected)?;
        Ok(counted)
    }

    /// Pins the thread and makes its operands; if results are to be compared, also those of the CPU.
    fn prepare(&self, number: usize) -> Result<(ThreadOperands, Option<ExpectedResults>), Failure> {
        if let Some(cpus) = &self.options.cpus {
            pin(cpus.0[number % cpus.0.len()])?;
        }
        let count = self.options.buffers * self.point.batch;
        let make = || ThreadOperands::new(self.options, self.point, count, &self.cpu);
        let operands = make()?;
        if !self.options.verify {
            return Ok((operands, None));
        }
        let expected = make()?;
        let each = expected.operations.iter();
        let answers =
            each.map(|operation| run_on_cpu(&self.cpu, operation)).collect::<Result<_, _>>()?;
        Ok((operands, Some((expected, answers))))
    }

    /// Measures rounds over all descriptors. Operands are moved to their placement between rounds, which is
    /// not timed; without a placement rounds follow each other without a gap.
    fn by_queue(
        &self,
        number: usize,
        (operands, answers): (&ThreadOperands, &[OffloadAnswer]),
        portal: &QueuePortal,
        lock: &Mutex<()>,
    ) -> Result<ThreadCounts, Failure> {
        let batch = self.point.batch as usize;
        let mut lane = SubmissionLane::new(portal, &operands.operations, batch);
        lane.lock = self.options.machine.lock.then_some(lock);
        lane.wait = self.options.wait_method();
        lane.origin = self.options.descriptor_source();
        lane.flags = further_flags(self.options);
        lane.expected = answers;
        let depth = self.point.depth.min(self.options.buffers).min(portal.queue().entries) as usize;
        let mut count =
            ThreadCounts { clock: Clock::new(self.options.phases), ..ThreadCounts::default() };
        let mut clock = Clock::new(self.options.phases);
        let mut from = Instant::now();
        for round in 0..self.options.iterations {
            if self.moves_operands() {
                operands.move_lines(self.options);
                from = Instant::now();
            }
            for descriptor in 0..self.options.buffers as usize {
                while lane.in_flight() >= depth {
                    lane.end_oldest(&mut clock)?;
                }
                lane.submit(descriptor, &mut clock)?;
            }
            let is_last = round + 1 == self.options.iterations;
            if self.moves_operands() || is_last {
                while lane.in_flight() > 0 {
                    lane.end_oldest(&mut clock)?;
                }
                count.time += from.elapsed();
            }
            self.note_round(number, round);
        }
        count.operations = self.operations();
        count.retries = lane.retries;
        count.clock = clock;
        Ok(count)
    }

    fn by_cpu(&self, number: usize, operands: &ThreadOperands) -> Result<ThreadCounts, Failure> {
        let mut count =
            ThreadCounts { clock: Clock::new(self.options.phases), ..ThreadCounts::default() };
        for round in 0..self.options.iterations {
            if self.moves_operands() {
                operands.move_lines(self.options);
            }
            let from = Instant::now();
            for operation in &operands.operations {
                let one = count.clock.now();
                run_on_cpu(&self.cpu, operation)?;
                count.clock.end_phase(WORK, one);
                count.clock.note_latency(one);
            }
            count.time += from.elapsed();
            self.note_round(number, round);
        }
        count.operations = self.operations();
        Ok(count)
    }

    fn moves_operands(&self) -> bool {
        let it = &self.options.operands;
        it.source != OperandPlacement::Core || it.destination != OperandPlacement::Core
    }

    /// Operations of a thread.
    fn operations(&self) -> u64 {
        let each = u64::from(self.options.buffers) * u64::from(self.point.batch);
        each * u64::from(self.options.iterations)
    }

    fn note_round(&self, number: usize, round: u32) {
        if number == 0 {
            self.rounds.store(round, Ordering::Relaxed);
        }
    }

    fn verify(
        &self,
        mut operands: ThreadOperands,
        expected: Option<ExpectedResults>,
    ) -> Result<(), Failure> {
        let Some((mut expected, _)) = expected else { return Ok(()) };
        if operands.is_equal(&mut expected) {
            return Ok(());
        }
        let name = self.options.operation.name;
        Err(Failure::Failed(format!("-v: {name} has written other bytes than the CPU does")))
    }
}

fn pin(cpu: u32) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    let number = cpu as usize;
    if number < CpuSet::MAX_CPU {
        set.set(number);
    }
    sched_setaffinity(None, &set).map_err(|error| {
        let allowed = format!("{error}; allowed: CPUs of this machine that the process may use");
        Failure::refused_value("-k", cpu, &allowed)
    })
}

fn answer(point: &BenchPoint, counts: &[ThreadCounts]) -> BenchResult {
    let rate = |count: &ThreadCounts| count.operations as f64 / count.time.as_secs_f64();
    let operations: u64 = counts.iter().map(|count| count.operations).sum();
    let per_s: f64 = counts.iter().map(rate).sum();
    let mut clock = Clock::new(counts.iter().any(|count| count.clock.has_phases));
    counts.iter().for_each(|count| clock.merge(&count.clock));
    let time: f64 = counts.iter().map(|count| count.time.as_secs_f64()).sum();
    let waiting = clock.waiting_time().as_secs_f64();
    let retries: u64 = counts.iter().map(|count| count.retries).sum();
    let further = [("retries_per_operation", retries as f64 / operations as f64)];
    BenchResult {
        gbytes_per_s: per_s * point.size_bytes as f64 / 1e9,
        kops_per_s: per_s / 1e3,
        cpu_percent: 100.0 * (1.0 - waiting / time).clamp(0.0, 1.0),
        latency_p50_ns: clock.percentile(0.5),
        latency_p99_ns: clock.percentile(0.99),
        phases_ns: clock.per_operation(operations),
        further: further.into_iter().map(|(name, it)| (name.to_owned(), it)).collect(),
        operations,
        fitted: BTreeMap::new(),
    }
}
