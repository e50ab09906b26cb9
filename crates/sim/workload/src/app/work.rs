//! Cost of software besides its memory accesses.
//!
//! Models: cycles outside memory stalls, and the instructions that retire in them.
//! Source: the platform's facts about applications.
//! Simplifies: each piece of software always costs the same.

use model::core::Core;
use units::Cycles;
use units::narrow::whole;

/// Cost of a piece of software.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Cycles outside memory stalls.
    pub cycles: Cycles,
    /// Number of instructions other than those that access memory.
    pub instructions: u64,
}

impl Work {
    /// Work of `cycles` cycles, in which `instructions_per_cycle` instructions retire per cycle.
    #[must_use]
    pub fn of_cycles(cycles: f64, instructions_per_cycle: f64) -> Self {
        let instructions = whole((cycles * instructions_per_cycle).round());
        Self { cycles: Cycles(cycles), instructions }
    }

    /// Does the work on a core.
    pub fn run_on(&self, core: &mut Core) {
        core.compute(self.cycles);
        core.retire(self.instructions);
    }
}
