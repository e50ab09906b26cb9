//! A core as its software sees it: a clock, compute cycles, and memory accesses that overlap.
//!
//! Models: independent accesses in flight up to the line fill buffers, stores that retire through the
//! store buffer, software prefetches whose data the program waits for where it uses them.
//! Source: Intel optimization manual; line fill buffers 10 to 12 (platform file).
//! Simplifies: instruction fetch and branch misses are part of the compute cycles.

pub mod bandwidth_limit;

use crate::fabric::{AccessOutcome, Fabric};
use crate::occupancy::Slots;
use crate::root_complex::mmio::{Answer, MmioPath};
use crate::tracer::{Found, Tracer};
use bandwidth_limit::BandwidthLimit;
use units::{CoreId, Cycles, Gigahertz, LineAddr, Picos};

/// A core with a clock of its own.
#[derive(Clone, Debug)]
pub struct Core {
    id: CoreId,
    clock: Gigahertz,
    now: Picos,
    fill_buffers: Slots,
    issue: Picos,
    instructions: u64,
    limit: BandwidthLimit,
}

impl Core {
    /// Core `id` at time zero.
    #[must_use]
    pub fn new(id: CoreId, clock: Gigahertz, fill_buffers: u32) -> Self {
        let issue = Cycles(1.0).at(clock);
        let fill_buffers = Slots::new(fill_buffers);
        let (now, instructions, limit) = (Picos::ZERO, 0, BandwidthLimit::NONE);
        Self { id, clock, now, fill_buffers, issue, instructions, limit }
    }

    /// The same core with a limit on its traffic beyond L2.
    #[must_use]
    pub fn with_bandwidth_limit(self, limit: BandwidthLimit) -> Self {
        Self { limit, ..self }
    }

    /// Number of the core in the machine.
    #[must_use]
    pub fn id(&self) -> CoreId {
        self.id
    }

    /// The core's current time.
    #[must_use]
    pub fn now(&self) -> Picos {
        self.now
    }

    /// Idles until `time`, if that is later than now.
    pub fn wait_until(&mut self, time: Picos) {
        self.now = self.now.max(time);
    }

    /// Instructions retired: every access is one, [`Self::retire`] adds the others.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Counts instructions other than accesses; their time is part of the compute cycles.
    pub fn retire(&mut self, instructions: u64) {
        self.instructions += instructions;
    }

    /// The duration of `cycles` on this core.
    #[must_use]
    pub fn span_of(&self, cycles: Cycles) -> Picos {
        cycles.at(self.clock)
    }

    /// Computes for `cycles` without memory accesses.
    pub fn compute(&mut self, cycles: Cycles) {
        self.now += cycles.at(self.clock);
    }

    /// A posted write to a register of a device (a doorbell, MOVDIR64B): the core continues behind its
    /// store. Returns when the device sees the write.
    pub fn post(&mut self, path: &MmioPath) -> Picos {
        self.compute(path.store);
        path.seen(self.now)
    }

    /// A non-posted write (ENQCMD): the core waits for the answer of the device. `answer` receives the
    /// time at which the device sees the write.
    pub fn enqueue(&mut self, path: &MmioPath, answer: impl FnOnce(Picos) -> Answer) -> Answer {
        let seen = self.post(path);
        let answer = answer(seen);
        self.wait_until(path.back(seen));
        answer
    }

    /// A load whose value the next instruction needs.
    pub fn load<T: Tracer>(&mut self, fabric: &mut Fabric<T>, line: LineAddr) -> Found {
        let (start, served) = self.start(|at| fabric.core_read(self.id, line, at));
        let done = self.finish(start, served);
        self.wait_until(done);
        served.found
    }

    /// A load that later work does not wait for: out-of-order execution hides it. Returns when its
    /// value arrives.
    pub fn load_independent<T: Tracer>(&mut self, fabric: &mut Fabric<T>, line: LineAddr) -> Picos {
        let (start, served) = self.start(|at| fabric.core_read(self.id, line, at));
        self.finish(start, served)
    }

    /// A store: it retires through the store buffer while later work proceeds. Returns when the core
    /// may write the line.
    pub fn store<T: Tracer>(&mut self, fabric: &mut Fabric<T>, line: LineAddr) -> Picos {
        let (start, served) = self.start(|at| fabric.core_write(self.id, line, at));
        self.finish(start, served)
    }

    /// A non-temporal store of a whole line, whose fill buffer is taken for `longer` than the way to
    /// memory takes; returns when it is free.
    pub fn store_around<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        line: LineAddr,
        longer: Picos,
    ) -> Picos {
        let (start, served) = self.start(|at| fabric.core_write_around(self.id, line, at));
        self.finish(start, AccessOutcome { done: served.done + longer, ..served })
    }

    /// A software prefetch; returns when its line arrives, for [`Self::wait_until`].
    pub fn prefetch<T: Tracer>(&mut self, fabric: &mut Fabric<T>, line: LineAddr) -> Picos {
        let (start, served) = self.start(|at| fabric.core_prefetch(self.id, line, at));
        self.finish(start, served)
    }

    /// Runs an access at the time when the core issues it.
    fn start<R>(&self, access: impl FnOnce(Picos) -> R) -> (Picos, R) {
        let start = self.now + self.issue;
        (start, access(start))
    }

    /// Accounts for an access: the core continues after the issue. If all fill buffers are in use, it
    /// stalls until one is free. Returns when the access completes.
    fn finish(&mut self, start: Picos, served: AccessOutcome) -> Picos {
        self.instructions += 1;
        self.now = start;
        if served.found == Found::L1 {
            return served.done;
        }
        let free = self.fill_buffers.ready(start);
        // A request beyond L2 may have to wait in its fill buffer for the bandwidth controller.
        let sent = if served.found == Found::L2 { free } else { self.limit.let_out(free) };
        self.fill_buffers.occupy(sent + served.done.saturating_sub(start));
        self.now = free;
        served.done + (sent - free)
    }
}
