//! Copy engines: the table of their keys, their stops on the mesh, and the devices of the machine.

pub(crate) mod check;
mod metrics;
pub(crate) mod offloaders;

use crate::contract::device::DeviceModule;
use crate::contract::inert::Inert;
use crate::contract::limit::{Limit, LimitKind};
use crate::contract::metric::Metric;
use crate::contract::port::DevicePlace;
use crate::contract::sample::DeviceReading;
use crate::contract::tenant::TenantRef;
use crate::facts::platform::DsaFacts;
use metrics::CopyEngines;
use model::device::DeviceId;
use model::device::dsa::{
    Dsa, DsaConfig, DsaCounters, GroupConfig, LEAST_BUFFERS_PER_ENGINE, PortalConfig,
    QUEUE_ENTRIES, QueueMode, WorkQueueConfig,
};
use model::fabric::Fabric;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::narrow::fit;
use units::{Picos, RootPortId};

/// Instances of a tenant: a socket has four.
const INSTANCES: (u32, u32) = (1, 4);
/// Descriptors in a round of the arbiter.
const PRIORITY: (u32, u32) = (1, 15);
const ENTRIES: (u32, u32) = (1, QUEUE_ENTRIES);
/// Four for an engine, and more than any instance has.
const READ_BUFFERS: (u32, u32) = (LEAST_BUFFERS_PER_ENGINE, 4096);
/// More than any instance has.
const MOST: u32 = 64;
/// Keys of the only group. They have no effect if `dsa.groups` lists groups.
const OF_ONE_GROUP: [&str; 6] = [
    "dsa.engines",
    "dsa.queues",
    "dsa.queue_mode",
    "dsa.queue_entries",
    "dsa.threshold",
    "dsa.read_buffers",
];

/// The table of a tenant's copy engines.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct DsaKeys {
    /// Copy engines (DSA) and their queues.
    pub dsa: DsaTable,
}

/// Instances, and their configuration: one group, or a list of groups.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct DsaTable {
    /// Instances, each configured like this. Clients use them in turn.
    #[schemars(range(min = INSTANCES.0, max = INSTANCES.1))]
    pub instances: u32,
    /// Number of engines of the group.
    #[schemars(range(min = 1, max = MOST))]
    pub engines: u32,
    /// Work queues of the group. Clients use them in turn.
    #[schemars(range(min = 1, max = QUEUE_ENTRIES))]
    pub queues: u32,
    /// How descriptors reach the queues.
    pub queue_mode: QueueModeName,
    /// Number of entries of each queue.
    #[schemars(range(min = ENTRIES.0, max = ENTRIES.1))]
    pub queue_entries: u32,
    /// Entries in use from which a shared queue refuses descriptors. All of them by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = ENTRIES.0, max = ENTRIES.1))]
    pub threshold: Option<u32>,
    /// Read buffers that the group may use. All of them by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = READ_BUFFERS.0, max = READ_BUFFERS.1))]
    pub read_buffers: Option<u32>,
    /// Read buffers of all groups together that have use_read_buffer_limit. As many as there are by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = READ_BUFFERS.0, max = READ_BUFFERS.1))]
    pub read_buffer_limit: Option<u32>,
    /// Groups of engines and queues, in place of the one group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupTable>,
}

/// How descriptors reach a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum QueueModeName {
    /// MOVDIR64B, posted: one core for each queue.
    #[default]
    Dedicated,
    /// ENQCMD, answered: several cores may use the queue.
    Shared,
}

/// A group of engines and work queues.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct GroupTable {
    /// Numbers of the engines in the group.
    pub engines: Vec<u32>,
    /// Work queues of the group.
    pub queues: Vec<QueueTable>,
    /// Read buffers that no other group takes.
    #[serde(default)]
    #[schemars(range(min = 0, max = READ_BUFFERS.1))]
    pub read_buffers_reserved: u32,
    /// Read buffers that the group may use. By default all that are not reserved for other groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = READ_BUFFERS.0, max = READ_BUFFERS.1))]
    pub read_buffers: Option<u32>,
    /// Whether the group shares dsa.read_buffer_limit with other groups.
    #[serde(default)]
    pub use_read_buffer_limit: bool,
}

/// Keys of one work queue of the group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct QueueTable {
    /// How descriptors reach the queue.
    #[serde(default)]
    pub mode: QueueModeName,
    /// Number of entries of the queue.
    #[schemars(range(min = ENTRIES.0, max = ENTRIES.1))]
    pub entries: u32,
    /// Entries in use from which the queue refuses descriptors, if it is shared. All of them by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = ENTRIES.0, max = ENTRIES.1))]
    pub threshold: Option<u32>,
    /// Number of descriptors that the queue gives in a round of the arbiter. 1 by default.
    #[serde(default = "default_priority")]
    #[schemars(range(min = PRIORITY.0, max = PRIORITY.1))]
    pub priority: u32,
}

fn default_priority() -> u32 {
    1
}

impl Default for DsaTable {
    fn default() -> Self {
        Self {
            instances: 1,
            engines: 1,
            queues: 1,
            queue_mode: QueueModeName::default(),
            queue_entries: 32,
            threshold: None,
            read_buffers: None,
            read_buffer_limit: None,
            groups: Vec::new(),
        }
    }
}

/// A DSA instance, before the number of its root port is known.
#[derive(Clone, Debug)]
pub(crate) struct DsaPlan {
    config: DsaConfig,
    /// Engines of all groups.
    engines: u32,
}

/// Keys of the table `dsa` that have no effect beside others of the same table, each with the reason.
pub(crate) fn inert_keys(tenant: TenantRef<'_>) -> Vec<Inert> {
    let keys = &tenant.table::<DsaKeys>().dsa;
    if !keys.groups.is_empty() {
        let because = "dsa.groups says what each group has";
        let mut inert: Vec<Inert> = Inert::all(OF_ONE_GROUP, because).collect();
        if !keys.groups.iter().any(|group| group.use_read_buffer_limit) {
            let because = "no group has use_read_buffer_limit";
            inert.extend(Inert::all(["dsa.read_buffer_limit"], because));
        }
        return inert;
    }
    let because = "with one group, dsa.read_buffers is the limit";
    let mut inert: Vec<Inert> = Inert::all(["dsa.read_buffer_limit"], because).collect();
    if keys.queue_mode == QueueModeName::Dedicated {
        let because = "a dedicated queue refuses nothing: its client has credits";
        inert.extend(Inert::all(["dsa.threshold"], because));
    }
    inert
}

impl DsaTable {
    /// All groups, with the one that the simple keys describe.
    fn all_groups(&self) -> Vec<GroupTable> {
        if !self.groups.is_empty() {
            return self.groups.clone();
        }
        let queue = QueueTable {
            mode: self.queue_mode,
            entries: self.queue_entries,
            threshold: self.threshold,
            priority: 1,
        };
        vec![GroupTable {
            engines: (0..self.engines).collect(),
            queues: vec![queue; self.queues as usize],
            read_buffers_reserved: 0,
            read_buffers: self.read_buffers,
            use_read_buffer_limit: false,
        }]
    }

    /// An instance for `portals` clients, each with the number of its queue among all queues.
    /// Thresholds of shared queues change at the times of `thresholds`.
    fn config(
        &self,
        facts: &DsaFacts,
        portals: &[usize],
        page_lines: u64,
        thresholds: &[(Picos, u32)],
    ) -> DsaConfig {
        let groups = self.all_groups();
        let total = facts.read_buffers.value;
        let reserved: u32 = groups.iter().map(|it| it.read_buffers_reserved).sum();
        let queues: Vec<PortalConfig> = groups
            .iter()
            .enumerate()
            .flat_map(|(group, it)| {
                (0..it.queues.len()).map(move |queue| PortalConfig { group, queue })
            })
            .collect();
        DsaConfig {
            // The layout numbers root ports.
            port: RootPortId(0),
            portals: portals.iter().map(|&queue| queues[queue]).collect(),
            read_buffers: total,
            read_buffer_limit: self.read_buffer_limit,
            descriptors_per_engine: facts.descriptors_per_engine.value,
            pages_ahead: facts.pages_ahead.value,
            page_lines,
            timing: facts.timing(),
            groups: groups
                .into_iter()
                .map(|group| GroupConfig {
                    queues: group.queues.iter().map(|it| it.config(facts, thresholds)).collect(),
                    engines: fit(group.engines.len()),
                    read_buffers_reserved: group.read_buffers_reserved,
                    read_buffers_allowed: group
                        .read_buffers
                        .unwrap_or(total - (reserved - group.read_buffers_reserved)),
                    uses_read_buffer_limit: group.use_read_buffer_limit,
                })
                .collect(),
        }
    }

    /// The modes of all work queues of an instance.
    pub(crate) fn modes(&self) -> Vec<QueueModeName> {
        self.all_queues().iter().map(|queue| queue.mode).collect()
    }

    /// Entries of the smallest shared queue, if there is one.
    pub(crate) fn smallest_shared(&self) -> Option<u32> {
        let shared = |queue: &QueueTable| queue.mode == QueueModeName::Shared;
        self.all_queues().into_iter().filter(shared).map(|queue| queue.entries).min()
    }

    /// All queues of an instance.
    fn all_queues(&self) -> Vec<QueueTable> {
        self.all_groups().into_iter().flat_map(|group| group.queues).collect()
    }
}

impl QueueTable {
    fn config(&self, facts: &DsaFacts, thresholds: &[(Picos, u32)]) -> WorkQueueConfig {
        let threshold = self.threshold.unwrap_or(self.entries);
        WorkQueueConfig {
            mode: match self.mode {
                QueueModeName::Dedicated => QueueMode::Dedicated,
                QueueModeName::Shared => QueueMode::Shared { threshold },
            },
            size: self.entries,
            priority: self.priority,
            max_batch: facts.max_batch.value,
            max_transfer_bytes: facts.max_transfer_bytes.value,
            thresholds: thresholds.to_vec(),
        }
    }
}

impl DeviceModule for DsaPlan {
    const KEY: &'static str = "dsa";
    const IS_PART_OF_PLATFORM: bool = true;
    const IS_COPY_ENGINE: bool = true;
    const METRICS: &'static [Metric<CopyEngines>] = metrics::METRICS;

    type Device = Dsa;
    type Reading = DsaCounters;
    type Subject = CopyEngines;

    fn subject(ids: &[DeviceId]) -> CopyEngines {
        CopyEngines { ids: ids.to_vec() }
    }

    fn read<T: Tracer>(device: &Dsa, _fabric: &Fabric<T>, now: Picos) -> DsaCounters {
        device.counters_at(now)
    }

    /// Limits of an instance: the pace of its engines, and their waits for read buffers.
    fn limits(&self, counted: &DsaCounters) -> Vec<Limit> {
        let engines = u64::from(self.engines);
        vec![
            // A batch takes a turn of its engine's batch unit, and each of its two or more members one
            // of the front: the unit is never the busier of the two.
            Limit::new(
                LimitKind::CopyEngines,
                "the pace of engines of {}",
                Picos(counted.front_busy.0 / engines),
            ),
            Limit::new(
                LimitKind::ReadBuffers,
                "read buffers of {}",
                Picos(counted.buffer_wait.0 / engines),
            ),
        ]
    }

    /// Builds the instance behind the root port that the layout gives it.
    fn build(&self, place: &DevicePlace) -> Dsa {
        Dsa::new(DsaConfig { port: place.port, ..self.config.clone() })
    }
}

impl DeviceReading for DsaCounters {}
