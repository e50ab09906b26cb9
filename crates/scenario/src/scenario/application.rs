//! Applications, and the keys that belong to one of them.

use super::defaults;
use crate::input::check::Check;
use crate::input::error::InputError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the cores run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Application {
    /// Run-to-completion L2 forwarder.
    #[default]
    L2Forward,
    /// L3 forwarder: routing table, headers rewritten.
    L3Forward,
    /// Receiver that drops every packet after a look at its header.
    PacketSink,
    /// Sender at the rate that its send ring takes; nothing arrives.
    PacketSource,
    /// Stateful chain: router, NAPT, load balancer.
    Chain,
    /// Key-value store whose requests are packets, as memcached over a kernel-bypass stack. Requests
    /// are packet_bytes long, answers as the values demand.
    KeyValue,
    /// Key-value store whose clients are on the same machine and always have a request, as redis under
    /// YCSB. Nothing arrives, and packet_bytes, offered_gbps and traffic mean nothing to it.
    KeyValueMemory,
    /// Loads and stores over a working set: what a co-runner does, but measured. Nothing arrives.
    MemoryKernel,
    /// Block I/O at a fixed depth, as fio does it.
    BlockIo,
    /// Echo server with one client that waits for each answer. Its packets are ping_pong.message_bytes
    /// and headers long; packet_bytes, offered_gbps and traffic mean nothing to it.
    PingPong,
}

impl Application {
    /// Whether packets come or go.
    #[must_use]
    pub fn uses_nic(self) -> bool {
        !matches!(self, Self::BlockIo | Self::KeyValueMemory | Self::MemoryKernel)
    }

    /// Whether packets come.
    #[must_use]
    pub fn receives(self) -> bool {
        self.uses_nic() && self != Self::PacketSource
    }

    /// Whether blocks come and go.
    #[must_use]
    pub fn uses_ssds(self) -> bool {
        self == Self::BlockIo
    }

    /// Whether it is a key-value store.
    #[must_use]
    pub fn has_store(self) -> bool {
        matches!(self, Self::KeyValue | Self::KeyValueMemory)
    }

    /// Whether what it sends counts as progress of a run, not what it has worked on.
    #[must_use]
    pub fn forwards_packets(self) -> bool {
        self.uses_nic() && self != Self::PacketSink
    }

    /// Whether the platform must say what it costs.
    #[must_use]
    pub fn needs_costs(self) -> bool {
        match self {
            Self::L2Forward | Self::BlockIo | Self::PingPong | Self::MemoryKernel => false,
            Self::L3Forward
            | Self::PacketSink
            | Self::PacketSource
            | Self::Chain
            | Self::KeyValue
            | Self::KeyValueMemory => true,
        }
    }
}

/// What happens to the lines of a packet after the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PayloadUse {
    /// Nothing: the application looks at headers.
    #[default]
    Untouched,
    /// They are read.
    Read,
}

/// Keys of the L3 forwarder.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct L3ForwardKeys {
    /// Consecutive /24 networks over which destinations are spread.
    #[serde(default = "defaults::networks")]
    pub networks: u32,
    /// What it does with payload.
    #[serde(default)]
    pub payload: PayloadUse,
}

impl Default for L3ForwardKeys {
    fn default() -> Self {
        Self { networks: defaults::networks(), payload: PayloadUse::default() }
    }
}

/// Keys of the packet sink.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PacketSinkKeys {
    /// What it does with payload.
    #[serde(default)]
    pub payload: PayloadUse,
}

/// Keys of the packet source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PacketSourceKeys {
    /// Whether cores write whole packets, or their first line only.
    #[serde(default = "defaults::writes_payload")]
    pub writes_payload: bool,
}

impl Default for PacketSourceKeys {
    fn default() -> Self {
        Self { writes_payload: defaults::writes_payload() }
    }
}

/// Who filters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Filtering {
    /// The cores walk the rules.
    Software,
    /// The NIC has taken the rules over: cores look nothing up.
    #[default]
    Offloaded,
}

/// Keys of the stateful chain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChainKeys {
    /// Who filters.
    #[serde(default)]
    pub filtering: Filtering,
    /// Filter rules.
    #[serde(default = "defaults::filter_rules")]
    pub filter_rules: u32,
    /// Flows that each flow table of a core holds.
    #[serde(default = "defaults::flow_table_entries")]
    pub flow_table_entries: u32,
}

impl Default for ChainKeys {
    fn default() -> Self {
        Self {
            filtering: Filtering::default(),
            filter_rules: defaults::filter_rules(),
            flow_table_entries: defaults::flow_table_entries(),
        }
    }
}

impl L3ForwardKeys {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("l3_forward.networks", self.networks, (1, 1 << 24), "/24 networks")
    }
}

impl ChainKeys {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("chain.filter_rules", self.filter_rules, (1, 1 << 20), "rules")?;
        let flows = self.flow_table_entries;
        check.whole("chain.flow_table_entries", flows, (8, 1 << 22), "flows")
    }
}
