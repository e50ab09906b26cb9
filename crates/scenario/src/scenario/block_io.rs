//! Block I/O on SSDs: what a fio-like job is told.

use super::defaults;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of block I/O. Every core of the tenant runs one job with a queue pair of its own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BlockIoKeys {
    /// SSDs; the jobs are dealt out to them in turn.
    #[serde(default = "defaults::one")]
    pub ssds: u32,
    /// SSDs behind one root port, whose link they share.
    #[serde(default = "defaults::one")]
    pub ssds_per_root_port: u32,
    /// Size of a block.
    #[serde(default = "defaults::block_bytes")]
    pub block_bytes: u64,
    /// I/Os in flight of each job.
    #[serde(default = "defaults::io_depth")]
    pub depth: u32,
    /// Share of reads.
    #[serde(default = "defaults::all_percent")]
    pub read_percent: u32,
    /// Which block comes next.
    #[serde(default)]
    pub order: BlockOrder,
    /// Buffers of each job that are used in turn. As many as I/Os in flight by default, as fio has.
    #[serde(default)]
    pub buffers: Option<u32>,
    /// How completions are seen.
    #[serde(default)]
    pub completion: CompletionKind,
    /// The core reads every line of a block that was read (verification, copy to a user).
    #[serde(default)]
    pub reads_data: bool,
    /// The core writes every line of a block before it is written.
    #[serde(default)]
    pub fills_data: bool,
}

/// Which block comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockOrder {
    /// Any.
    #[default]
    Random,
    /// The one behind the last.
    Sequential,
}

/// How the software learns of completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionKind {
    /// It sleeps until an interrupt.
    #[default]
    Interrupt,
    /// It looks again and again.
    Polling,
}

impl Default for BlockIoKeys {
    fn default() -> Self {
        Self {
            ssds: 1,
            ssds_per_root_port: 1,
            block_bytes: defaults::block_bytes(),
            depth: defaults::io_depth(),
            read_percent: defaults::all_percent(),
            order: BlockOrder::default(),
            buffers: None,
            completion: CompletionKind::default(),
            reads_data: false,
            fills_data: false,
        }
    }
}
