//! What a block I/O job is told, and what it counts.

use model::reading;
use units::{Cycles, Picos};

/// Which block comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockPattern {
    /// Any.
    Random,
    /// The one behind the last.
    Sequential,
}

/// How the software learns of completions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CompletionMode {
    /// It looks again and again.
    Polling {
        /// Work of one look.
        cycles: Cycles,
    },
    /// It sleeps until an interrupt.
    Interrupt {
        /// From a completion's arrival in memory until the handler runs.
        delivery: Picos,
        /// Work of handler, wake-up and switch of context.
        cycles: Cycles,
    },
}

/// What the job does.
#[derive(Clone, Copy, Debug)]
pub struct BlockIoConfig {
    /// Size of a block, a multiple of 4 KiB.
    pub block_bytes: u64,
    /// I/Os in flight.
    pub io_depth: u32,
    /// Share of reads, in percent.
    pub read_percent: u32,
    /// Which block comes next.
    pub pattern: BlockPattern,
    /// The part of the device that is used.
    pub span_bytes: u64,
    /// Buffers that are used in turn: at least `io_depth`, which is what fio has.
    pub buffers: u32,
    /// The core reads every line of a block that was read (verification, copy to a user).
    pub reads_data: bool,
    /// The core writes every line of a block before it is written.
    pub fills_data: bool,
    /// How completions are seen.
    pub completion: CompletionMode,
    /// Work of a submission.
    pub submit_cycles: Cycles,
    /// Work of a completion.
    pub complete_cycles: Cycles,
    /// Work of the application between two I/Os.
    pub work_cycles: Cycles,
    /// Seed of blocks and of the mix.
    pub seed: u64,
}

impl BlockIoConfig {
    /// Bytes of all buffers.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        u64::from(self.buffers) * self.block_bytes
    }
}

/// What the job has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockIoCounters {
    /// I/Os begun.
    pub submitted: u64,
    /// I/Os completed.
    pub completed: u64,
    /// Bytes of completed reads.
    pub read_bytes: u64,
    /// Bytes of completed writes.
    pub written_bytes: u64,
    /// Time without work.
    pub idle: Picos,
}

reading!(BlockIoCounters { submitted, completed, read_bytes, written_bytes, idle });
