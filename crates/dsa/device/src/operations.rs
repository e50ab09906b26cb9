//! The operations: one file for each kind. Each takes a descriptor that has passed the checks, works on
//! the process's memory, and returns the completion record.
//!
//! An operation consists of units (bytes, blocks, entries). An operation that only reads first does all
//! of them at once. If that faults, [`UnitOperation`] finds the number of units that can be done, does
//! these, and reports the rest. An operation that writes finds that number before it begins: the last
//! unit that is reported as done is the last one that is written.

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
use crate::memory::{Fault, Span, absent_pages, guarded};
use crate::record::Record;
use units::narrow::fit;

/// Settings of the device for completion records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Whether records have fault information (GENCAP 12).
    pub fault_info: bool,
}

/// Makes tables that operations need, and looks at the CPU's features, before the first operation: a thread
/// that executes one in a signal handler can do neither.
pub(crate) fn prepare() {
    crc::prepare();
    dif::prepare();
    let _ = is_x86_feature_detected!("ermsb");
}

/// Executes a descriptor that has passed the checks. Batches and the order of drains are handled by the
/// engine.
pub(crate) fn execute(descriptor: &Descriptor, opcode: Opcode, manner: Manner) -> Record {
    match opcode {
        Opcode::NoOp | Opcode::Batch => Record::with_status(status::SUCCESS),
        Opcode::Drain => flush::read_back(descriptor, manner),
        Opcode::Move => copy::move_range(descriptor, manner),
        Opcode::Fill => copy::fill_range(descriptor, manner),
        Opcode::Dualcast => copy::dualcast(descriptor, manner),
        Opcode::Compare => compare::compare_ranges(descriptor, manner),
        Opcode::ComparePattern => compare::compare_pattern(descriptor, manner),
        Opcode::CreateDelta => delta::create_delta(descriptor, manner),
        Opcode::ApplyDelta => delta::apply_delta(descriptor, manner),
        Opcode::Crc => crc::compute_crc(descriptor, None, manner),
        Opcode::CopyCrc => crc::compute_crc(descriptor, Some(descriptor.second()), manner),
        Opcode::DifCheck => dif::check_blocks(descriptor, manner),
        Opcode::DifInsert => dif::insert_protection(descriptor, manner),
        Opcode::DifStrip => dif::strip_protection(descriptor, manner),
        Opcode::DifUpdate => dif::update_protection(descriptor, manner),
        Opcode::DixGenerate => dif::generate_dix(descriptor, manner),
        Opcode::CacheFlush => flush::flush_range(descriptor, manner),
        Opcode::TranslationFetch => flush::fetch_translations(descriptor, manner),
    }
}

/// Result of the work on some units.
#[derive(Clone, Copy)]
enum UnitsOutcome<S> {
    /// All units are done.
    Done(S),
    /// The work stopped before the last unit, with this record.
    Stopped(Record),
}

/// Attempts at an operation whose pages another thread unmaps while it runs.
const ATTEMPTS: u32 = 8;

/// An operation over units.
struct UnitOperation<'a> {
    units: u64,
    spans: &'a [Span],
    blocks_on_fault: bool,
    manner: Manner,
    /// Whether the operation gives the same bytes if it is repeated.
    is_repeatable: bool,
}

impl<'a> UnitOperation<'a> {
    fn new(descriptor: &Descriptor, units: u64, spans: &'a [Span], manner: Manner) -> Self {
        let blocks_on_fault = descriptor.has(flags::BLOCK_ON_FAULT);
        Self { units, spans, blocks_on_fault, manner, is_repeatable: true }
    }

    /// Does `work` on as many units as can be accessed. `complete` makes the record of all of them, `partial`
    /// adds the result of the given number of units to the record of a fault.
    fn run<S: Copy>(
        &self,
        work: impl Fn(u64) -> UnitsOutcome<S>,
        complete: impl Fn(S) -> Record,
        partial: impl Fn(Record, S, u64) -> Record,
    ) -> Record {
        let looks_first = |span: &Span| span.is_write() || span.passes_the_end(self.units);
        if absent_pages::is_any() || self.spans.iter().any(looks_first) {
            return self.run_where_accessible(work, complete, partial);
        }
        match guarded(|| work(self.units)) {
            Some(UnitsOutcome::Done(state)) => complete(state),
            Some(UnitsOutcome::Stopped(record)) => record,
            None => self.run_where_accessible(work, complete, partial),
        }
    }

    /// As [`Self::run`], but tests all pages first, also those whose bytes the work skips.
    fn run_where_accessible<S: Copy>(
        &self,
        work: impl Fn(u64) -> UnitsOutcome<S>,
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
                (Some(UnitsOutcome::Stopped(record)), _) => return record,
                (Some(UnitsOutcome::Done(state)), None) => return complete(state),
                (Some(UnitsOutcome::Done(state)), Some(fault)) => {
                    return partial(self.fault(fault), state, units);
                }
            }
        }
        self.fault(self.spans[0].fault_at(self.spans[0].address))
    }

    /// Number of units for which all spans can be accessed, and the fault behind them. If several spans
    /// end at the same unit, it is the fault of the first operand. No span is accessed beyond the limit
    /// of those before it.
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

/// The record of a fault. Nothing can make a page present, so a page request is reported as refused.
fn fault_record(blocks_on_fault: bool, fault: Fault, manner: Manner) -> Record {
    let code = if blocks_on_fault { status::PAGE_REQUEST_INVALID } else { status::PAGE_FAULT };
    Record::from_fault(code, fault, manner.fault_info)
}

/// A number of bytes or entries in the 32 bits of a record: transfers are below 4 GiB.
fn low(number: u64) -> u32 {
    fit(number)
}

/// The record of a result. If the descriptor has the flag to check the result, the status tells whether the
/// result is the expected one.
fn result_record(descriptor: &Descriptor, result: u8, is_expected: bool) -> Record {
    let checks = descriptor.has(flags::CHECK_RESULT);
    let code = if checks && !is_expected { status::FALSE_PREDICATE } else { status::SUCCESS };
    Record::with_status(code).with_result(result)
}
