//! The threads of a measurement.

use super::clock::{Clock, WORK, clock_cycles};
use super::operands::{ThreadOperands, check_memory, further_flags, run_on_cpu};
use super::queue_selection::{open_portal, queues_of_threads};
use super::rounds::BenchRounds;
use super::submission_lane::SubmissionLane;
use super::thread_counts::{ThreadCounts, merge_counts};
use crate::failure::Failure;
use crate::option_values::OperandPlacement;
use crate::options::BenchOptions;
use crate::point::BenchPoint;
use crate::results::BenchResult;
use dsa::hardware::Opcode;
use dsa_client::client::{OffloadClient, Options as ClientOptions};
use dsa_client::outcome::OffloadAnswer;
use dsa_client::portal::QueuePortal;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};
use units::narrow::usize_from;

/// Operands that the CPU has worked on, and the results of its operations.
type ExpectedResults = (ThreadOperands, Vec<OffloadAnswer>);

/// The data that all threads of a measurement share.
struct ThreadContext<'a> {
    options: &'a BenchOptions,
    point: &'a BenchPoint,
    cpu: OffloadClient,
    start: Barrier,
    /// Rounds over all descriptors that the first thread has finished, with those of the warm-up.
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
                portals.push(open_portal(queue, options)?);
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
    let (begun, cycles) = (Instant::now(), clock_cycles());
    let counts = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..point.threads as usize)
            .map(|number| {
                let portal = of_threads.get(number).map(|&at| (&portals[at], &context.locks[at]));
                scope.spawn(move || context.run_thread(number, portal))
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            watch(context.share_done(begun));
            std::thread::park_timeout(Duration::from_millis(20));
        }
        let ended = threads.into_iter().map(|thread| thread.join());
        let ended = ended
            .map(|end| end.unwrap_or_else(|_| Err(Failure::Failed("a thread ended early".into()))));
        ended.collect::<Result<Vec<ThreadCounts>, Failure>>()
    })?;
    let clock_ghz = (clock_cycles() - cycles) as f64 / begun.elapsed().as_nanos() as f64;
    Ok(merge_counts(point, &counts, clock_ghz))
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
        if !self.options.descriptor.verify {
            return Ok((operands, None));
        }
        let expected = make()?;
        // A drain in place of the last descriptor writes no operand.
        let each = expected.operations.iter().take(usize_from(self.operations_of_round()));
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
        lane.is_last_drain = self.options.descriptor.drain;
        let (entries, buffers) = (portal.queue().entries, self.options.buffers);
        let depth = self.point.depth_on(entries, buffers).min(buffers).min(entries);
        let mut rounds = self.rounds();
        let mut time = Duration::ZERO;
        let mut clock = Clock::new(self.options.out.phases);
        let mut from = Instant::now();
        while let Some(round) = rounds.next_round() {
            if round.is_first_measured {
                Self::end_all(&mut lane, &mut clock)?;
                clock = Clock::new(self.options.out.phases);
                (lane.retries, from) = (0, Instant::now());
            }
            if self.moves_operands() {
                operands.move_lines(self.options);
                from = Instant::now();
            }
            for descriptor in 0..buffers as usize {
                while lane.in_flight() >= depth as usize {
                    lane.end_oldest(&mut clock)?;
                }
                lane.submit(descriptor, &mut clock)?;
            }
            if self.moves_operands() {
                Self::end_all(&mut lane, &mut clock)?;
                time += if round.is_measured { from.elapsed() } else { Duration::ZERO };
            }
            self.note_round(number, rounds.done());
        }
        Self::end_all(&mut lane, &mut clock)?;
        let time = if self.moves_operands() { time } else { from.elapsed() };
        let operations = self.operations_of_round() * u64::from(rounds.measured());
        Ok(ThreadCounts { clock, time, operations, retries: lane.retries, depth })
    }

    fn end_all(lane: &mut SubmissionLane<'_>, clock: &mut Clock) -> Result<(), Failure> {
        while lane.in_flight() > 0 {
            lane.end_oldest(clock)?;
        }
        Ok(())
    }

    fn by_cpu(&self, number: usize, operands: &ThreadOperands) -> Result<ThreadCounts, Failure> {
        let mut rounds = self.rounds();
        let mut clock = Clock::new(self.options.out.phases);
        let mut time = Duration::ZERO;
        while let Some(round) = rounds.next_round() {
            if round.is_first_measured {
                (clock, time) = (Clock::new(self.options.out.phases), Duration::ZERO);
            }
            if self.moves_operands() {
                operands.move_lines(self.options);
            }
            let from = Instant::now();
            for operation in &operands.operations {
                let one = clock.now();
                run_on_cpu(&self.cpu, operation)?;
                clock.end_phase(WORK, one);
                clock.note_latency(one);
            }
            time += from.elapsed();
            self.note_round(number, rounds.done());
        }
        let operations = self.operations_of_round() * u64::from(rounds.measured());
        Ok(ThreadCounts { clock, time, operations, ..ThreadCounts::default() })
    }

    fn moves_operands(&self) -> bool {
        let it = &self.options.operands();
        it.source != OperandPlacement::Core || it.destination != OperandPlacement::Core
    }

    fn rounds(&self) -> BenchRounds {
        BenchRounds::new(&self.options.length, self.options.rounds())
    }

    /// Operations of a thread in a round; a drain is none.
    fn operations_of_round(&self) -> u64 {
        let descriptors = self.options.buffers - u32::from(self.options.descriptor.drain);
        u64::from(descriptors) * u64::from(self.point.batch)
    }

    fn note_round(&self, number: usize, done: u32) {
        if number == 0 {
            self.rounds.store(done, Ordering::Relaxed);
        }
    }

    /// Share of the measurement that is done, 0 to 1: of its rounds or of its time, whichever is nearer the
    /// end.
    fn share_done(&self, begun: Instant) -> f64 {
        let done = f64::from(self.rounds.load(Ordering::Relaxed));
        let all =
            self.options.rounds().map(|it| f64::from(it) + f64::from(self.options.length.warm_up));
        let of_rounds = all.map_or(0.0, |all| done / all);
        let seconds = self.options.length.seconds.map(f64::from);
        let of_time = seconds.map_or(0.0, |all| begun.elapsed().as_secs_f64() / all);
        of_rounds.max(of_time)
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
        Err(Failure::Failed(format!("-v 1: {name} has written other bytes than the CPU does")))
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
