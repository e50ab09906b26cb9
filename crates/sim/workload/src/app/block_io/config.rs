//! Parameters and counters of a block I/O job.

use model::reading;
use units::{Cycles, Picos};

/// Order in which a job accesses blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockPattern {
    /// Any block, at random.
    Random,
    /// The next block.
    Sequential,
}

/// How the software learns of completions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CompletionMode {
    /// The software polls.
    Polling {
        /// Cycles of one poll.
        cycles: Cycles,
    },
    /// The software sleeps until an interrupt.
    Interrupt {
        /// Time from a completion's arrival in memory until the handler runs.
        delivery: Picos,
        /// Work of handler, wake-up and switch of context.
        cycles: Cycles,
    },
}

/// Parameters of a block I/O job, as fio has them: blocks, depth, mix, and costs.
#[derive(Clone, Copy, Debug)]
pub struct BlockIoConfig {
    /// Size of a block, a multiple of 4 KiB.
    pub block_bytes: u64,
    /// Most I/Os in flight.
    pub io_depth: u32,
    /// Share of reads, in percent.
    pub read_percent: u32,
    /// Order in which blocks are accessed.
    pub pattern: BlockPattern,
    /// Bytes of the device that are used, from its start.
    pub span_bytes: u64,
    /// Buffers, used in turn: at least `io_depth`, which is fio's number.
    pub buffers: u32,
    /// The core reads every line of a block that was read (verification, copy to a user).
    pub reads_data: bool,
    /// The core fills every line of a block before it writes the block.
    pub fills_data: bool,
    /// How the software learns of completions.
    pub completion: CompletionMode,
    /// Cycles of a core for a submission.
    pub submit_cycles: Cycles,
    /// Cycles of a core for a completion.
    pub complete_cycles: Cycles,
    /// Cycles of the application's work between two I/Os.
    pub work_cycles: Cycles,
    /// Seed of blocks and of the mix.
    pub seed: u64,
}

impl BlockIoConfig {
    /// Size of all buffers together, in bytes.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        u64::from(self.buffers) * self.block_bytes
    }
}

/// Counters of a block I/O job: I/Os, bytes and idle time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockIoCounters {
    /// Number of I/Os started.
    pub submitted: u64,
    /// Number of I/Os completed.
    pub completed: u64,
    /// Bytes of completed reads.
    pub read_bytes: u64,
    /// Bytes of completed writes.
    pub written_bytes: u64,
    /// Time in which the core had no work.
    pub idle: Picos,
}

reading!(BlockIoCounters { submitted, completed, read_bytes, written_bytes, idle });
