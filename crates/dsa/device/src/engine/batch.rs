//! A batch: its members, executed by one engine or by several at the same time [S 3.8, 3.12].
//!
//! Engines take members in the order of the list, and end them in any order. A member with a fence is taken
//! when all members before it have ended. If one of those has failed, it and all behind it are abandoned.

use super::{DescriptorOrigin, EndedDescriptor, Execution, Outcome, SoftwareEngine};
use crate::checks::{Membership, QueueLimits};
use crate::descriptor::Descriptor;
use crate::hardware::capabilities::gencap;
use crate::hardware::status::{self, FaultOperand};
use crate::hardware::{DESCRIPTOR_BYTES, flags};
use crate::inject::{BatchInjection, Injection};
use crate::memory::absent_pages::{self, Absent};
use crate::memory::{self, Fault, Span};
use crate::record::Record;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Number of batches that have begun. It gives a batch its number in the event log.
static BATCHES: AtomicU8 = AtomicU8::new(0);

/// Engines that may help with a batch.
pub(crate) trait Crew {
    /// Offers a batch that begins.
    fn open(&self, batch: &Arc<RunningBatch>);
    /// Reports that the batch has members to take again, behind a fence.
    fn go_on(&self);
    /// Withdraws a batch that has no members to take any more.
    fn close(&self, batch: &Arc<RunningBatch>);
}

/// A batch that engines are executing.
#[derive(Debug)]
pub(crate) struct RunningBatch {
    list: u64,
    count: u32,
    limits: QueueLimits,
    membership: Membership,
    absent: Vec<Absent>,
    /// Faults to inject into its members.
    injection: Option<BatchInjection>,
    progress: Mutex<BatchProgress>,
    /// Signalled when no member is being executed, and when a fence is passed.
    changed: Condvar,
    /// Whether an engine may find a member to take. Read without the lock.
    has_work: AtomicBool,
    /// Whether the record of a member waits in the event log.
    holds: AtomicBool,
    number: u8,
}

#[derive(Debug, Default)]
struct BatchProgress {
    /// Number of the next member.
    next: u32,
    /// Number of members that engines have taken and not ended.
    running: u32,
    has_failed: bool,
    /// Whether the engine that has the batch waits: a signal costs a system call.
    is_awaited: bool,
    stopped: Option<Stop>,
}

#[derive(Clone, Copy, Debug)]
enum Stop {
    ListFault(Fault),
    /// A member with a fence, behind one that has failed.
    Abandoned,
}

enum NextMember {
    Member(Descriptor, u32),
    /// The next member has a fence, and members before it have not ended.
    Later,
    End,
}

/// A member that is being executed. If a panic drops it, it has failed.
struct RunningMember<'a>(&'a RunningBatch);

impl RunningMember<'_> {
    /// Ends the member and takes the next one, under one lock.
    fn then_take(self, has_failed: bool) -> NextMember {
        let batch = self.0;
        std::mem::forget(self);
        let mut progress = batch.progress();
        batch.end(&mut progress, has_failed);
        batch.take(&mut progress)
    }
}

impl Drop for RunningMember<'_> {
    fn drop(&mut self) {
        self.0.end(&mut self.0.progress(), true);
    }
}

impl RunningBatch {
    /// A batch that has passed the checks. Pages that are absent for it are absent for its members.
    pub fn new(
        descriptor: &Descriptor,
        limits: &QueueLimits,
        membership: Membership,
        injection: Option<Injection<'_>>,
    ) -> Self {
        let has_failed = descriptor.has(flags::BATCH_ERROR);
        Self {
            list: descriptor.first(),
            count: descriptor.size(),
            limits: *limits,
            membership,
            absent: absent_pages::all(),
            injection: injection.map(|injection| injection.for_members()),
            progress: Mutex::new(BatchProgress { has_failed, ..BatchProgress::default() }),
            changed: Condvar::new(),
            has_work: AtomicBool::new(true),
            holds: AtomicBool::new(false),
            number: BATCHES.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Number among the batches being executed, of which there are fewer than 256.
    pub fn number(&self) -> u8 {
        self.number
    }

    pub fn has_work(&self) -> bool {
        self.has_work.load(Ordering::Acquire)
    }

    /// Executes the members. Returns the record, and whether the record of a member waits in the event log.
    pub fn run(self, engine: &SoftwareEngine, (crew, watch): Execution<'_>) -> (Record, bool) {
        match crew {
            None => self.run_alone(engine, watch),
            Some(crew) => self.run_with(crew, engine, watch),
        }
    }

    /// Executes the members without helpers: the lock of the batch is not needed.
    fn run_alone(
        self,
        engine: &SoftwareEngine,
        watch: &mut dyn FnMut(&EndedDescriptor<'_>),
    ) -> (Record, bool) {
        let mut progress = std::mem::take(&mut *self.progress());
        while let NextMember::Member(member, number) = self.take(&mut progress) {
            let has_failed = self.execute(engine, (&member, number), watch);
            self.end(&mut progress, has_failed);
        }
        self.record(&progress, engine)
    }

    /// Executes members until all have ended, also those that helpers have taken.
    fn run_with(
        self,
        crew: &dyn Crew,
        engine: &SoftwareEngine,
        watch: &mut dyn FnMut(&EndedDescriptor<'_>),
    ) -> (Record, bool) {
        struct Open<'a>(Arc<RunningBatch>, &'a dyn Crew);

        impl Drop for Open<'_> {
            fn drop(&mut self) {
                self.1.close(&self.0);
            }
        }

        let open = Open(Arc::new(self), crew);
        let own = &open.0;
        crew.open(own);
        while let NextMember::Later = own.work(crew, engine, watch) {
            drop(own.wait_while(|progress| progress.running > 0 && !own.has_work()));
        }
        let progress = own.wait_while(|progress| progress.running > 0);
        own.record(&progress, engine)
    }

    /// Executes members with an engine that has nothing else to do, until there are none to take.
    pub fn help(
        &self,
        crew: &dyn Crew,
        engine: &SoftwareEngine,
        watch: &mut dyn FnMut(&EndedDescriptor<'_>),
    ) {
        absent_pages::without(&self.absent, || self.work(crew, engine, watch));
    }

    /// Executes members until there are none to take. Returns the reason.
    fn work(
        &self,
        crew: &dyn Crew,
        engine: &SoftwareEngine,
        watch: &mut dyn FnMut(&EndedDescriptor<'_>),
    ) -> NextMember {
        let mut next = self.take(&mut self.progress());
        while let NextMember::Member(member, number) = next {
            let running = RunningMember(self);
            if member.has(flags::FENCE) {
                self.changed.notify_all();
                crew.go_on();
            }
            let has_failed = self.execute(engine, (&member, number), watch);
            next = running.then_take(has_failed);
        }
        next
    }

    /// Executes a member. Returns whether it has failed.
    #[inline]
    fn execute(
        &self,
        engine: &SoftwareEngine,
        (member, number): (&Descriptor, u32),
        watch: &mut dyn FnMut(&EndedDescriptor<'_>),
    ) -> bool {
        let mut execute = |error| {
            let batch = Some(self.number);
            let at = DescriptorOrigin {
                membership: self.membership,
                member: Some(number),
                batch,
                error,
                members: None,
            };
            engine.execute_at(member, &self.limits, at, (None, watch))
        };
        let outcome = match &self.injection {
            None => execute(None),
            Some(injection) => injection.draw_for_member(number).inflict(member, execute),
        };
        if matches!(outcome, Outcome::Held { .. }) {
            // The engine that ends the batch reads it behind the lock under which this member ends.
            self.holds.store(true, Ordering::Relaxed);
        }
        outcome.record().status() != status::SUCCESS
    }

    #[inline]
    fn take(&self, progress: &mut BatchProgress) -> NextMember {
        let next = self.next(progress);
        let found = matches!(next, NextMember::Member(..));
        if found {
            progress.next += 1;
            progress.running += 1;
        }
        self.has_work.store(found, Ordering::Release);
        next
    }

    fn end(&self, progress: &mut BatchProgress, has_failed: bool) {
        progress.running -= 1;
        progress.has_failed |= has_failed;
        if progress.running == 0 && progress.is_awaited {
            self.changed.notify_all();
        }
    }

    #[inline]
    fn next(&self, progress: &mut BatchProgress) -> NextMember {
        let number = progress.next;
        if progress.stopped.is_some() || number == self.count {
            return NextMember::End;
        }
        let address = self.list.wrapping_add(u64::from(number) * DESCRIPTOR_BYTES as u64);
        // Addresses end at 2^64.
        let is_there = address >= self.list;
        let member = is_there.then(|| memory::read(address)).flatten().map(Descriptor);
        let Some(member) = member else {
            let fault = Span::read(FaultOperand::First, address, 1).fault_at(address);
            progress.stopped = Some(Stop::ListFault(fault));
            return NextMember::End;
        };
        match member.has(flags::FENCE) {
            true if progress.running > 0 => NextMember::Later,
            true if progress.has_failed => {
                progress.stopped = Some(Stop::Abandoned);
                NextMember::End
            }
            _ => NextMember::Member(member, number),
        }
    }

    /// The record of the batch (members done, whether one has failed), and whether the record of a member
    /// waits.
    fn record(&self, progress: &BatchProgress, engine: &SoftwareEngine) -> (Record, bool) {
        let record = match progress.stopped {
            None if !progress.has_failed => Record::with_status(status::SUCCESS),
            None | Some(Stop::Abandoned) => Record::with_status(status::BATCH_MEMBER_FAILED),
            Some(Stop::ListFault(fault)) => {
                Record::from_fault(status::BATCH_LIST_FAULT, fault, engine.manner().fault_info)
            }
        };
        let result = engine.capabilities.has(gencap::BATCH_CONTINUATION) && progress.has_failed;
        let record = record.with_completed(progress.next).with_result(u8::from(result));
        (record, self.holds.load(Ordering::Relaxed))
    }

    /// Waits for other engines while `busy` is true.
    fn wait_while(&self, busy: impl Fn(&BatchProgress) -> bool) -> MutexGuard<'_, BatchProgress> {
        let mut progress = self.progress();
        progress.is_awaited = true;
        let busy = |progress: &mut BatchProgress| busy(progress);
        let waited = self.changed.wait_while(progress, busy);
        let mut progress = waited.unwrap_or_else(PoisonError::into_inner);
        progress.is_awaited = false;
        progress
    }

    fn progress(&self) -> MutexGuard<'_, BatchProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
