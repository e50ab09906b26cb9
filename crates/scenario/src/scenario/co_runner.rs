//! Cores that do nothing but touch memory.

use super::{MemoryKernelKeys, defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A memory kernel on cores after the forwarding ones.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CoRunnerKeys {
    /// How many cores run it, each with a working set of its own.
    #[serde(default = "defaults::cores")]
    pub cores: u32,
    /// What each does.
    #[serde(flatten)]
    pub kernel: MemoryKernelKeys,
    /// The socket of these cores.
    #[serde(default)]
    pub socket: u32,
    /// CAT mask of these cores. All ways by default.
    #[serde(default)]
    pub way_mask: Option<u32>,
    /// Memory bandwidth that these cores may use, of what they would use (Intel MBA).
    #[serde(default = "defaults::mba_percent")]
    pub mba_percent: u32,
    /// It primes and probes sets of the LLC, with lines out of its working set, instead of touching
    /// that in some order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeKeys>,
}

/// A co-runner that watches what I/O does to sets of the LLC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeKeys {
    /// Sets that it primes and then looks at, spread over the LLC.
    #[serde(default = "defaults::watched_sets")]
    pub watched_sets: u32,
    /// Time between priming and looking.
    #[serde(default = "defaults::probe_wait_us")]
    pub wait_us: f64,
}

/// Order in which a working set is touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessPattern {
    /// Any line, independent of the last.
    #[default]
    Random,
    /// One line after another.
    Sequential,
    /// Any line, known only when the last has arrived.
    PointerChase,
}
