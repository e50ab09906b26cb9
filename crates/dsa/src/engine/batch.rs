//! A batch: its members, executed by one engine or by several at the same time [S 3.8, 3.12].
//!
//! Engines take members in the order of the list, and end them in any. A member with a fence is taken
//! when all before it have ended; if one of them has failed, it and all behind it are abandoned.

use super::{At, Ended, Engine, Outcome, With};
use crate::checks::{Place, QueueLimits};
use crate::descriptor::Descriptor;
use crate::hardware::capabilities::gencap;
use crate::hardware::status::{self, Operand};
use crate::hardware::{DESCRIPTOR_BYTES, flags};
use crate::inject::{Draws, Trouble};
use crate::memory::absent::{self, Absent};
use crate::memory::{self, Fault, Span};
use crate::record::Record;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Batches that have begun: the last one's number tells it from others in the event log.
static BATCHES: AtomicU8 = AtomicU8::new(0);

/// Engines that may help with a batch.
pub(crate) trait Crew {
    /// A batch begins.
    fn open(&self, batch: &Arc<Batch>);
    /// It has work again, behind a fence.
    fn go_on(&self);
    /// It has none any more.
    fn close(&self, batch: &Arc<Batch>);
}

/// A batch that engines are executing.
#[derive(Debug)]
pub(crate) struct Batch {
    list: u64,
    count: u32,
    limits: QueueLimits,
    place: Place,
    absent: Vec<Absent>,
    /// What its members meet.
    trouble: Option<Trouble>,
    progress: Mutex<Progress>,
    /// Signalled when no member is being executed, and when a fence is passed.
    changed: Condvar,
    /// Whether an engine may find a member to take: looked at without the lock.
    has_work: AtomicBool,
    /// Whether the record of a member waits in the event log.
    holds: AtomicBool,
    number: u8,
}

#[derive(Debug, Default)]
struct Progress {
    /// Number of the next member.
    next: u32,
    /// Members that engines have and have not ended.
    running: u32,
    has_failed: bool,
    /// Whether the engine that has the batch waits. A signal costs a call of the system.
    is_awaited: bool,
    stopped: Option<Stop>,
}

#[derive(Clone, Copy, Debug)]
enum Stop {
    ListFault(Fault),
    /// At a fence.
    Abandoned,
}

enum Next {
    Member(Descriptor, u32),
    /// Behind a fence, and those before it have not ended.
    Later,
    End,
}

/// A member that is being executed. Dropped by a panic, it has failed.
struct Running<'a>(&'a Batch);

impl Running<'_> {
    /// Ends it and takes the next, under one lock.
    fn then_take(self, has_failed: bool) -> Next {
        let batch = self.0;
        std::mem::forget(self);
        let mut progress = batch.progress();
        batch.end(&mut progress, has_failed);
        batch.take(&mut progress)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.end(&mut self.0.progress(), true);
    }
}

impl Batch {
    /// A batch that has passed the checks; pages that are absent for it are so for its members.
    pub fn new(
        descriptor: &Descriptor,
        limits: &QueueLimits,
        place: Place,
        draws: Option<Draws<'_>>,
    ) -> Self {
        let has_failed = descriptor.has(flags::BATCH_ERROR);
        Self {
            list: descriptor.first(),
            count: descriptor.size(),
            limits: *limits,
            place,
            absent: absent::all(),
            trouble: draws.map(|draws| draws.keep()),
            progress: Mutex::new(Progress { has_failed, ..Progress::default() }),
            changed: Condvar::new(),
            has_work: AtomicBool::new(true),
            holds: AtomicBool::new(false),
            number: BATCHES.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Its number among those under way, of which there are fewer than 256.
    pub fn number(&self) -> u8 {
        self.number
    }

    pub fn has_work(&self) -> bool {
        self.has_work.load(Ordering::Acquire)
    }

    /// Executes the members; returns the record, and whether one of a member waits in the event log.
    pub fn run(self, engine: &Engine, (crew, watch): With<'_>) -> (Record, bool) {
        match crew {
            None => self.run_alone(engine, watch),
            Some(crew) => self.run_with(crew, engine, watch),
        }
    }

    /// No other engine looks at the batch: its lock is not needed.
    fn run_alone(self, engine: &Engine, watch: &mut dyn FnMut(&Ended<'_>)) -> (Record, bool) {
        let mut progress = std::mem::take(&mut *self.progress());
        while let Next::Member(member, number) = self.take(&mut progress) {
            let has_failed = self.execute(engine, (&member, number), watch);
            self.end(&mut progress, has_failed);
        }
        self.record(&progress, engine)
    }

    /// Executes members until all have ended, also those that others of the crew have taken.
    fn run_with(
        self,
        crew: &dyn Crew,
        engine: &Engine,
        watch: &mut dyn FnMut(&Ended<'_>),
    ) -> (Record, bool) {
        struct Open<'a>(Arc<Batch>, &'a dyn Crew);

        impl Drop for Open<'_> {
            fn drop(&mut self) {
                self.1.close(&self.0);
            }
        }

        let open = Open(Arc::new(self), crew);
        let own = &open.0;
        crew.open(own);
        while let Next::Later = own.work(crew, engine, watch) {
            drop(own.wait_while(|progress| progress.running > 0 && !own.has_work()));
        }
        let progress = own.wait_while(|progress| progress.running > 0);
        own.record(&progress, engine)
    }

    /// Executes members with an engine that has nothing else to do, while there are some to take.
    pub fn help(&self, crew: &dyn Crew, engine: &Engine, watch: &mut dyn FnMut(&Ended<'_>)) {
        absent::without(&self.absent, || self.work(crew, engine, watch));
    }

    /// Executes members until there is none to take.
    fn work(&self, crew: &dyn Crew, engine: &Engine, watch: &mut dyn FnMut(&Ended<'_>)) -> Next {
        let mut next = self.take(&mut self.progress());
        while let Next::Member(member, number) = next {
            let running = Running(self);
            if member.has(flags::FENCE) {
                self.changed.notify_all();
                crew.go_on();
            }
            let has_failed = self.execute(engine, (&member, number), watch);
            next = running.then_take(has_failed);
        }
        next
    }

    /// Executes a member; returns whether it has failed.
    #[inline]
    fn execute(
        &self,
        engine: &Engine,
        (member, number): (&Descriptor, u32),
        watch: &mut dyn FnMut(&Ended<'_>),
    ) -> bool {
        let mut execute = |error| {
            let batch = Some(self.number);
            let at = At { place: self.place, member: Some(number), batch, error, members: None };
            engine.execute_at(member, &self.limits, at, (None, watch))
        };
        let outcome = match &self.trouble {
            None => execute(None),
            Some(trouble) => trouble.of_member(number).meet(member, execute),
        };
        if matches!(outcome, Outcome::Held { .. }) {
            // Who ends the batch reads it behind the lock under which this member ends.
            self.holds.store(true, Ordering::Relaxed);
        }
        outcome.record().status() != status::SUCCESS
    }

    #[inline]
    fn take(&self, progress: &mut Progress) -> Next {
        let next = self.next(progress);
        let found = matches!(next, Next::Member(..));
        if found {
            progress.next += 1;
            progress.running += 1;
        }
        self.has_work.store(found, Ordering::Release);
        next
    }

    fn end(&self, progress: &mut Progress, has_failed: bool) {
        progress.running -= 1;
        progress.has_failed |= has_failed;
        if progress.running == 0 && progress.is_awaited {
            self.changed.notify_all();
        }
    }

    #[inline]
    fn next(&self, progress: &mut Progress) -> Next {
        let number = progress.next;
        if progress.stopped.is_some() || number == self.count {
            return Next::End;
        }
        let address = self.list.wrapping_add(u64::from(number) * DESCRIPTOR_BYTES as u64);
        // Addresses end at 2^64.
        let is_there = address >= self.list;
        let member = is_there.then(|| memory::read(address)).flatten().map(Descriptor);
        let Some(member) = member else {
            let fault = Span::read(Operand::First, address, 1).fault_at(address);
            progress.stopped = Some(Stop::ListFault(fault));
            return Next::End;
        };
        match member.has(flags::FENCE) {
            true if progress.running > 0 => Next::Later,
            true if progress.has_failed => {
                progress.stopped = Some(Stop::Abandoned);
                Next::End
            }
            _ => Next::Member(member, number),
        }
    }

    /// How many members are done, and whether one has failed; whether the record of one waits.
    fn record(&self, progress: &Progress, engine: &Engine) -> (Record, bool) {
        let record = match progress.stopped {
            None if !progress.has_failed => Record::of(status::SUCCESS),
            None | Some(Stop::Abandoned) => Record::of(status::BATCH_MEMBER_FAILED),
            Some(Stop::ListFault(fault)) => {
                Record::of_fault(status::BATCH_LIST_FAULT, fault, engine.manner().fault_info)
            }
        };
        let says = engine.capabilities.has(gencap::BATCH_CONTINUATION) && progress.has_failed;
        let record = record.with_completed(progress.next).with_result(u8::from(says));
        (record, self.holds.load(Ordering::Relaxed))
    }

    /// Waits for other engines.
    fn wait_while(&self, busy: impl Fn(&Progress) -> bool) -> MutexGuard<'_, Progress> {
        let mut progress = self.progress();
        progress.is_awaited = true;
        let busy = |progress: &mut Progress| busy(progress);
        let waited = self.changed.wait_while(progress, busy);
        let mut progress = waited.unwrap_or_else(PoisonError::into_inner);
        progress.is_awaited = false;
        progress
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
