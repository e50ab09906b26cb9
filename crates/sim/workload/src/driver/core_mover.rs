//! Data operations as loops of a core: what a copy engine competes with, and falls back on.
//!
//! Models: loads and stores of all operands line by line, independent of each other; stores through the
//! caches or around them; `rep movsb`, whose microcode takes a while to begin; work for each line.
//! Source: Intel optimization manual (streaming stores, enhanced REP MOVSB).
//! Simplifies: `rep movsb` reads the lines that it overwrites, as other stores do; no instructions are
//! counted.

use model::core::Core;
use model::device::dsa::descriptor::{Descriptor, Operands, Operation};
use model::fabric::Fabric;
use model::tracer::Tracer;
use units::{Cycles, LINE_BYTES, Picos};

/// Lines that a core moves in a turn.
const LINES_PER_TURN: u64 = 16;

/// How a core stores a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stores {
    /// Through the core's caches.
    Cached,
    /// Around the core's caches, by non-temporal stores.
    NonTemporal {
        /// How much longer than the way to memory a fill buffer is taken.
        longer: Picos,
    },
}

/// Costs of the loop of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreMoverConfig {
    /// Cycles of a call, whatever its size.
    pub call: Cycles,
    /// Cycles for each line of the longest operand, memory apart.
    pub line: Cycles,
    /// How the core stores.
    pub stores: Stores,
}

/// Costs of the loops of a core, one for each operation of an engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreLoops {
    /// Cycles of a call, whatever its size.
    pub call: Cycles,
    /// Cycles of a line that is copied.
    pub copy: Cycles,
    /// Cycles of a line that is filled with a pattern.
    pub fill: Cycles,
    /// Cycles of a line of two sources that are compared.
    pub compare: Cycles,
    /// Cycles of a line that is compared with a pattern.
    pub compare_pattern: Cycles,
    /// Cycles of a line whose differences are found, or put in.
    pub delta: Cycles,
    /// Cycles of a line of a CRC-32C.
    pub crc: Cycles,
    /// Cycles of a line of protection information.
    pub dif: Cycles,
    /// Cycles of a line that is flushed.
    pub flush: Cycles,
    /// How the core stores.
    pub stores: Stores,
    /// The string instruction, if it copies and fills: its start, and a line.
    pub string: Option<(Cycles, Cycles)>,
}

impl CoreLoops {
    /// The loop of an operation; `None` of those that move no data: a core has nothing to do for them.
    #[must_use]
    pub fn mover(&self, operation: Operation) -> Option<CoreMoverConfig> {
        let both = |one: Cycles, other: Cycles| Cycles(one.0 + other.0);
        let line = match operation {
            Operation::NoOp | Operation::Drain => return None,
            Operation::Move => self.copy,
            Operation::Dualcast => both(self.copy, self.fill),
            Operation::Fill => self.fill,
            Operation::CacheFlush => self.flush,
            Operation::Compare => self.compare,
            Operation::ComparePattern => self.compare_pattern,
            Operation::CreateDelta { .. } | Operation::ApplyDelta { .. } => self.delta,
            Operation::Crc => self.crc,
            Operation::CopyCrc => both(self.crc, self.copy),
            Operation::DifCheck { .. } => self.dif,
            Operation::DifInsert { .. }
            | Operation::DifStrip { .. }
            | Operation::DifUpdate { .. } => both(self.dif, self.copy),
        };
        let is_plain = matches!(operation, Operation::Move | Operation::Fill);
        let (call, line) = match self.string.filter(|_| is_plain) {
            Some((start, line)) => (both(self.call, start), line),
            None => (self.call, line),
        };
        Some(CoreMoverConfig { call, line, stores: self.stores })
    }
}

/// The loop of a core.
#[derive(Debug)]
pub struct CoreMover {
    config: CoreMoverConfig,
    under_way: Option<MoveInFlight>,
}

#[derive(Debug)]
struct MoveInFlight {
    operands: Operands,
    /// The next line of the longest operand.
    line: u64,
    /// When the last data arrives.
    arrived: Picos,
}

impl CoreMover {
    /// A loop with these costs.
    #[must_use]
    pub fn new(config: CoreMoverConfig) -> Self {
        Self { config, under_way: None }
    }

    /// Whether an operation is under way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.under_way.is_some()
    }

    /// Calls the loop for an operation.
    pub fn begin(&mut self, core: &mut Core, operation: &Descriptor) {
        core.compute(self.config.call);
        let operands = operation.operands();
        self.under_way = Some(MoveInFlight { operands, line: 0, arrived: core.now() });
    }

    /// Moves some lines; returns whether the operation has ended.
    pub fn advance<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>) -> bool {
        let Some(MoveInFlight { operands, line, arrived }) = &mut self.under_way else {
            return true;
        };
        let all = operands.lines();
        let end = all.min(*line + LINES_PER_TURN);
        for line in *line..end {
            let last = access(core, fabric, operands, line, self.config.stores);
            *arrived = (*arrived).max(last);
            core.compute(self.config.line);
        }
        *line = end;
        if end < all {
            return false;
        }
        core.wait_until(*arrived);
        self.under_way = None;
        true
    }
}

/// Loads, stores or flushes the lines of all operands that belong to one line of the longest. Returns when
/// the last data of a load arrives.
fn access<T: Tracer>(
    core: &mut Core,
    fabric: &mut Fabric<T>,
    operands: &Operands,
    line: u64,
    stores: Stores,
) -> Picos {
    let all = operands.lines();
    // A shorter operand is accessed when its next line begins.
    let own = |bytes: u64| {
        let lines = bytes.div_ceil(LINE_BYTES);
        let at = line * lines / all;
        (line == 0 || (line - 1) * lines / all != at).then_some(at).filter(|&at| at < lines)
    };
    let mut arrived = core.now();
    for operand in operands.reads.iter().flatten() {
        if let Some(at) = own(operand.bytes) {
            arrived = arrived.max(core.load_independent(fabric, operand.first.step(at)));
        }
    }
    for operand in operands.writes.iter().flatten() {
        let Some(at) = own(operand.bytes) else { continue };
        match stores {
            Stores::Cached => drop(core.store(fabric, operand.first.step(at))),
            Stores::NonTemporal { longer } => {
                let done = core.store_around(fabric, operand.first.step(at), longer);
                arrived = arrived.max(done);
            }
        }
    }
    if let Some(operand) = operands.flushes {
        arrived = arrived.max(fabric.flush(operand.first.step(line), core.now()));
    }
    arrived
}
