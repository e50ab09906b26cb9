//! The conditions that several options set together.

use crate::option_values::{
    CACHE_CONTROL, DescriptorSource, OperandPlacement, OperandPlacements, PageSize, WaitMethod,
};
use crate::options::BenchOptions;
use crate::perf_micros::{Iterations, MiscellaneousBits};

/// Rounds without `-i` and `-T`.
const DEFAULT_ROUNDS: u32 = 1000;

impl BenchOptions {
    /// How a thread waits for the completion of a descriptor: as `--wait` or `-x` says, else it polls.
    #[must_use]
    pub fn wait_method(&self) -> WaitMethod {
        let by_bits = match self.descriptor.miscellaneous {
            MiscellaneousBits::Polls => WaitMethod::Poll,
            MiscellaneousBits::Pauses => WaitMethod::Pause,
            MiscellaneousBits::Umwaits => WaitMethod::Umwait,
        };
        self.descriptor.wait.unwrap_or(by_bits)
    }

    /// How often descriptors are made: as `--descriptors` says. Without it `prepared`, or with `--phases`
    /// `allocated`, as the phases of an offload include the allocation.
    #[must_use]
    pub fn descriptor_source(&self) -> DescriptorSource {
        let default =
            if self.out.phases { DescriptorSource::Allocated } else { DescriptorSource::Prepared };
        self.descriptor.descriptors.unwrap_or(default)
    }

    /// Flags of each descriptor: those of `--flags`, and cache control with `-f`.
    #[must_use]
    pub fn flags(&self) -> u32 {
        let cache_control = if self.descriptor.cache_control { CACHE_CONTROL } else { 0 };
        self.descriptor.flags | cache_control
    }

    /// Where operands are before each operation: as `-z` or `--operands` says, else where they are.
    #[must_use]
    pub fn operands(&self) -> OperandPlacements {
        let unmoved = OperandPlacements {
            source: OperandPlacement::Core,
            destination: OperandPlacement::Core,
        };
        self.memory.operand_letters.or(self.memory.operands).unwrap_or(unmoved)
    }

    /// Pages of the buffers: as `-l` or `--pages` says.
    #[must_use]
    pub fn pages(&self) -> PageSize {
        self.memory.huge_pages.unwrap_or(self.memory.pages)
    }

    /// Rounds of a measurement: those of `-i`. `None`: until the time of `-T` is over, which is so without `-i`
    /// as well.
    #[must_use]
    pub fn rounds(&self) -> Option<u32> {
        match self.length.iterations {
            Some(Iterations::Count(rounds)) => Some(rounds),
            Some(Iterations::UntilTime) => None,
            None if self.length.seconds.is_some() => None,
            None => Some(DEFAULT_ROUNDS),
        }
    }
}
