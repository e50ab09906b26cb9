//! Data operations as loops of a core: what a copy engine competes with, and falls back on.
//!
//! Models: loads and stores of all operands line by line, independent of each other; stores through the
//! caches or around them; `rep movsb`, whose microcode takes a while to begin; work for each line.
//! Source: Intel optimization manual (streaming stores, enhanced REP MOVSB).
//! Simplifies: `rep movsb` reads the lines that it overwrites, as other stores do; no instructions are
//! counted.

use model::core::Core;
use model::device::dsa::descriptor::{Descriptor, Operands};
use model::fabric::Fabric;
use model::tracer::Tracer;
use units::{Cycles, LINE_BYTES, Picos};

/// Lines that a core moves in a turn.
const LINES_PER_TURN: u64 = 16;

/// How a core stores a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stores {
    /// Through its caches.
    Cached,
    /// Around them.
    NonTemporal {
        /// How much longer than the way to memory a fill buffer is taken.
        longer: Picos,
    },
}

/// Costs of the loop of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreMoverConfig {
    /// A call, whatever its size.
    pub call: Cycles,
    /// Work for each line of the longest operand, memory apart.
    pub line: Cycles,
    /// How it stores.
    pub stores: Stores,
}

/// The loop of a core.
#[derive(Debug)]
pub struct CoreMover {
    config: CoreMoverConfig,
    under_way: Option<UnderWay>,
}

#[derive(Debug)]
struct UnderWay {
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
        self.under_way = Some(UnderWay { operands, line: 0, arrived: core.now() });
    }

    /// Moves some lines; returns whether the operation has ended.
    pub fn advance<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>) -> bool {
        let Some(UnderWay { operands, line, arrived }) = &mut self.under_way else { return true };
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
