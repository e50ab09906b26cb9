//! The operations: one file for each kind. Each takes a descriptor that has passed the checks, works on
//! the process's memory, and returns the completion record.
//!
//! An operation consists of units (bytes, blocks, entries). One that only reads first does all of them
//! at once; if that meets a fault, [`Job`] finds how many units can be done, does these, and reports the
//! rest. One that writes finds that out before it begins: the last unit that is reported as done is the
//! last one that is written.

mod compare;
mod copy;
mod crc;
mod delta;
mod dif;
mod flush;
mod guard;

pub(crate) use dif::block_bytes;

use crate::descriptor::Descriptor;
use crate::hardware::{Opcode, flags, status};
use crate::memory::{Fault, Span, absent, guarded};
use crate::record::Record;
use units::narrow::fit;

/// What the device and the queue say of faults and results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Whether records have fault information (GENCAP 12).
    pub fault_info: bool,
}

/// Executes a descriptor that has passed the checks; batches and drains are the engine's.
pub(crate) fn execute(descriptor: &Descriptor, opcode: Opcode, manner: Manner) -> Record {
    match opcode {
        Opcode::NoOp | Opcode::Batch => Record::of(status::SUCCESS),
        Opcode::Drain => flush::read_back(descriptor, manner),
        Opcode::Move => copy::moved(descriptor, manner),
        Opcode::Fill => copy::filled(descriptor, manner),
        Opcode::Dualcast => copy::dualcast(descriptor, manner),
        Opcode::Compare => compare::ranges(descriptor, manner),
        Opcode::ComparePattern => compare::pattern(descriptor, manner),
        Opcode::CreateDelta => delta::created(descriptor, manner),
        Opcode::ApplyDelta => delta::applied(descriptor, manner),
        Opcode::Crc => crc::computed(descriptor, None, manner),
        Opcode::CopyCrc => crc::computed(descriptor, Some(descriptor.second()), manner),
        Opcode::DifCheck => dif::checked(descriptor, manner),
        Opcode::DifInsert => dif::inserted(descriptor, manner),
        Opcode::DifStrip => dif::stripped(descriptor, manner),
        Opcode::DifUpdate => dif::updated(descriptor, manner),
        Opcode::DixGenerate => dif::generated(descriptor, manner),
        Opcode::CacheFlush => flush::flushed(descriptor, manner),
        Opcode::TranslationFetch => flush::fetched(descriptor, manner),
    }
}

/// How the work on some units ended.
#[derive(Clone, Copy)]
enum Work<S> {
    /// All units are done.
    Done(S),
    /// It ended before, for a reason of its own.
    Stopped(Record),
}

/// Attempts at an operation whose pages another thread takes away while it runs.
const ATTEMPTS: u32 = 8;

/// An operation over units.
struct Job<'a> {
    units: u64,
    spans: &'a [Span],
    blocks_on_fault: bool,
    manner: Manner,
    /// Whether what is done again gives the same bytes.
    is_repeatable: bool,
}

impl<'a> Job<'a> {
    fn new(descriptor: &Descriptor, units: u64, spans: &'a [Span], manner: Manner) -> Self {
        let blocks_on_fault = descriptor.has(flags::BLOCK_ON_FAULT);
        Self { units, spans, blocks_on_fault, manner, is_repeatable: true }
    }

    /// Does `work` on as many units as can be accessed. `complete` writes the record of all of them,
    /// `partial` adds to the record of a fault what the given number of units came to.
    fn run<S: Copy>(
        &self,
        work: impl Fn(u64) -> Work<S>,
        complete: impl Fn(S) -> Record,
        partial: impl Fn(Record, S, u64) -> Record,
    ) -> Record {
        let looks_first = |span: &Span| span.is_write() || span.passes_the_end(self.units);
        if absent::is_any() || self.spans.iter().any(looks_first) {
            return self.run_where_accessible(work, complete, partial);
        }
        match guarded(|| work(self.units)) {
            Some(Work::Done(state)) => complete(state),
            Some(Work::Stopped(record)) => record,
            None => self.run_where_accessible(work, complete, partial),
        }
    }

    /// As [`Self::run`], and looks at all pages first: also at those whose bytes the work passes over.
    fn run_where_accessible<S: Copy>(
        &self,
        work: impl Fn(u64) -> Work<S>,
        complete: impl Fn(S) -> Record,
        partial: impl Fn(Record, S, u64) -> Record,
    ) -> Record {
        for attempt in 0..=ATTEMPTS {
            let (reach, fault) = self.reach();
            // Pages that come and go for ever end as a fault of the first unit.
            let units = if attempt == ATTEMPTS { 0 } else { reach };
            let fault = fault
                .or((units < self.units).then(|| self.spans[0].fault_at(self.spans[0].address)));
            match (guarded(|| work(units)), fault) {
                (None, _) if !self.is_repeatable => break,
                (None, _) => {}
                (Some(Work::Stopped(record)), _) => return record,
                (Some(Work::Done(state)), None) => return complete(state),
                (Some(Work::Done(state)), Some(fault)) => {
                    return partial(self.fault(fault), state, units);
                }
            }
        }
        self.fault(self.spans[0].fault_at(self.spans[0].address))
    }

    /// How many units all spans can be accessed for, and the fault behind them: that of the first
    /// operand, if several end at the same unit. No span is accessed beyond what those before it allow.
    fn reach(&self) -> (u64, Option<Fault>) {
        let begun = (self.units, None);
        self.spans.iter().fold(begun, |(units, fault), span| match span.reach(units) {
            (_, None) => (units, fault),
            reached => reached,
        })
    }

    fn fault(&self, fault: Fault) -> Record {
        fault_record(self.blocks_on_fault, fault, self.manner)
    }
}

/// The record of a fault. No service could make a page present, so a request for one is refused.
fn fault_record(blocks_on_fault: bool, fault: Fault, manner: Manner) -> Record {
    let code = if blocks_on_fault { status::PAGE_REQUEST_INVALID } else { status::PAGE_FAULT };
    Record::of_fault(code, fault, manner.fault_info)
}

/// A number of bytes or entries as a record has it: transfers are below 4 GiB.
fn low(number: u64) -> u32 {
    fit(number)
}

/// A record of success; where the descriptor checks its result, one that says whether it is expected.
fn judged(descriptor: &Descriptor, result: u8, is_expected: bool) -> Record {
    let checks = descriptor.has(flags::CHECK_RESULT);
    let code = if checks && !is_expected { status::FALSE_PREDICATE } else { status::SUCCESS };
    Record::of(code).with_result(result)
}
