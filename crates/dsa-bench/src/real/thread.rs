//! What each thread does and measures.

use super::clock::{Clock, WORK};
use super::found::{open, queues_of_threads};
use super::lane::Lane;
use super::operands::{Operands, by_cpu, check_memory, further_flags};
use crate::answer::Answer;
use crate::choices::{Operand, Wait};
use crate::failure::Failure;
use crate::options::Options;
use crate::point::Point;
use dsa::hardware::Opcode;
use dsa_client::client::{Client, Options as ClientOptions};
use dsa_client::outcome::Answer as Outcome;
use dsa_client::portal::Portal;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

/// What a thread has measured.
#[derive(Default)]
struct Count {
    clock: Clock,
    time: Duration,
    operations: u64,
    retries: u64,
}

/// Operands that the CPU has worked on, and what its operations came to.
type Expected = (Operands, Vec<Outcome>);

/// What all threads of a measurement have in common.
struct Ask<'a> {
    options: &'a Options,
    point: &'a Point,
    cpu: Client,
    start: Barrier,
    /// Rounds that the first thread has done.
    rounds: AtomicU32,
    /// Locks of portals, if threads take turns.
    locks: Vec<Mutex<()>>,
}

/// Asks the CPU of this machine, or queues that are found. `watch` hears which share is done.
pub(crate) fn ask(
    options: &Options,
    point: &Point,
    by_cpu: bool,
    watch: &mut dyn FnMut(f64),
) -> Result<Answer, Failure> {
    if options.waits() == Wait::Interrupt {
        let allowed = "only models have interrupts; allowed here: poll, umwait";
        return Err(Failure::of_option("--wait", "interrupt", allowed));
    }
    check_memory(options, point)?;
    let queues = if by_cpu { Vec::new() } else { queues_of_threads(options, point)? };
    let mut portals: Vec<Portal> = Vec::new();
    let mut of_threads = Vec::new();
    for queue in queues {
        // A dedicated queue is opened once; threads that share it take turns.
        let is_open = |portal: &Portal| portal.queue().name == queue.name;
        let number = match portals.iter().position(is_open) {
            Some(number) => number,
            None => {
                portals.push(open(queue)?);
                portals.len() - 1
            }
        };
        of_threads.push(number);
    }
    refuse_batches(&portals, point)?;
    let none = ClientOptions { queues: Some(Vec::new()), ..ClientOptions::default() };
    let ask = Ask {
        options,
        point,
        cpu: Client::open(&none).map_err(|error| Failure::Failed(error.to_string()))?,
        start: Barrier::new(point.threads as usize),
        rounds: AtomicU32::new(0),
        locks: portals.iter().map(|_| Mutex::new(())).collect(),
    };
    let (ask, portals) = (&ask, &portals);
    let counts = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..point.threads as usize)
            .map(|number| {
                let portal = of_threads.get(number).map(|&at| (&portals[at], &ask.locks[at]));
                scope.spawn(move || ask.thread(number, portal))
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            let done = ask.rounds.load(Ordering::Relaxed);
            watch(f64::from(done) / f64::from(options.iterations));
            std::thread::park_timeout(Duration::from_millis(20));
        }
        let ended = threads.into_iter().map(|thread| thread.join());
        let ended = ended
            .map(|end| end.unwrap_or_else(|_| Err(Failure::Failed("a thread ended early".into()))));
        ended.collect::<Result<Vec<Count>, Failure>>()
    })?;
    Ok(answer(point, &counts))
}

/// Refuses batches that a queue would never take: it would look full for ever.
fn refuse_batches(portals: &[Portal], point: &Point) -> Result<(), Failure> {
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

impl Ask<'_> {
    fn thread(
        &self,
        number: usize,
        portal: Option<(&Portal, &Mutex<()>)>,
    ) -> Result<Count, Failure> {
        let prepared = self.prepared(number);
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

    /// Operands, and others that the CPU has worked on, if results are to be compared.
    fn prepared(&self, number: usize) -> Result<(Operands, Option<Expected>), Failure> {
        if let Some(cpus) = &self.options.cpus {
            pin(cpus.0[number % cpus.0.len()])?;
        }
        let count = self.options.buffers * self.point.batch;
        let make = || Operands::new(self.options, self.point, count, &self.cpu);
        let operands = make()?;
        if !self.options.verify {
            return Ok((operands, None));
        }
        let expected = make()?;
        let each = expected.operations.iter();
        let answers =
            each.map(|operation| by_cpu(&self.cpu, operation)).collect::<Result<_, _>>()?;
        Ok((operands, Some((expected, answers))))
    }

    /// Rounds over all descriptors. Operands that are to be out of caches go there between rounds, in no
    /// time of the measurement; else rounds follow each other without a gap.
    fn by_queue(
        &self,
        number: usize,
        (operands, answers): (&Operands, &[Outcome]),
        portal: &Portal,
        lock: &Mutex<()>,
    ) -> Result<Count, Failure> {
        let batch = self.point.batch as usize;
        let mut lane = Lane::new(portal, &operands.operations, batch);
        lane.lock = self.options.machine.lock.then_some(lock);
        lane.wait = self.options.waits();
        lane.origin = self.options.descriptors_used();
        lane.flags = further_flags(self.options);
        lane.expected = answers;
        let depth = self.point.depth.min(self.options.buffers).min(portal.queue().entries) as usize;
        let mut count = Count { clock: Clock::new(self.options.phases), ..Count::default() };
        let mut clock = Clock::new(self.options.phases);
        let mut from = Instant::now();
        for round in 0..self.options.iterations {
            if self.has_to_send() {
                operands.send(self.options);
                from = Instant::now();
            }
            for descriptor in 0..self.options.buffers as usize {
                while lane.in_flight() >= depth {
                    lane.end_oldest(&mut clock)?;
                }
                lane.submit(descriptor, &mut clock)?;
            }
            let is_last = round + 1 == self.options.iterations;
            if self.has_to_send() || is_last {
                while lane.in_flight() > 0 {
                    lane.end_oldest(&mut clock)?;
                }
                count.time += from.elapsed();
            }
            self.told(number, round);
        }
        count.operations = self.operations();
        count.retries = lane.retries;
        count.clock = clock;
        Ok(count)
    }

    fn by_cpu(&self, number: usize, operands: &Operands) -> Result<Count, Failure> {
        let mut count = Count { clock: Clock::new(self.options.phases), ..Count::default() };
        for round in 0..self.options.iterations {
            if self.has_to_send() {
                operands.send(self.options);
            }
            let from = Instant::now();
            for operation in &operands.operations {
                let one = count.clock.now();
                by_cpu(&self.cpu, operation)?;
                count.clock.end(WORK, one);
                count.clock.latency(one);
            }
            count.time += from.elapsed();
            self.told(number, round);
        }
        count.operations = self.operations();
        Ok(count)
    }

    fn has_to_send(&self) -> bool {
        let it = &self.options.operands;
        it.source != Operand::Core || it.destination != Operand::Core
    }

    /// Operations of a thread.
    fn operations(&self) -> u64 {
        let each = u64::from(self.options.buffers) * u64::from(self.point.batch);
        each * u64::from(self.options.iterations)
    }

    fn told(&self, number: usize, round: u32) {
        if number == 0 {
            self.rounds.store(round, Ordering::Relaxed);
        }
    }

    fn verify(&self, mut operands: Operands, expected: Option<Expected>) -> Result<(), Failure> {
        let Some((mut expected, _)) = expected else { return Ok(()) };
        if operands.is_equal(&mut expected) {
            return Ok(());
        }
        let name = self.options.operation.name;
        Err(Failure::Failed(format!("-v: {name} has left other bytes than the CPU does")))
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
        Failure::of_option("-k", cpu, &allowed)
    })
}

fn answer(point: &Point, counts: &[Count]) -> Answer {
    let rate = |count: &Count| count.operations as f64 / count.time.as_secs_f64();
    let operations: u64 = counts.iter().map(|count| count.operations).sum();
    let per_s: f64 = counts.iter().map(rate).sum();
    let mut clock = Clock::new(counts.iter().any(|count| count.clock.has_phases));
    counts.iter().for_each(|count| clock.add(&count.clock));
    let time: f64 = counts.iter().map(|count| count.time.as_secs_f64()).sum();
    let waiting = clock.waiting().as_secs_f64();
    let retries: u64 = counts.iter().map(|count| count.retries).sum();
    let further = [("retries_per_operation", retries as f64 / operations as f64)];
    Answer {
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
