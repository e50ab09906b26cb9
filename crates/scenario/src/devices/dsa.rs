//! Copy engines: the table of their keys, their stops on the mesh, and the devices of the machine.

pub(crate) mod metrics;

use super::{DevicePlan, Limit, PortPlan, root_port};
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::layout::DeviceLayout;
use crate::plan::TenantInput;
use crate::plan::inert::Inert;
use crate::platform::DsaFacts;
use crate::result::LimitKind;
use crate::scenario::Tenant;
use model::device::dsa::{
    Dsa, DsaConfig, DsaCounters, GroupConfig, LEAST_BUFFERS_PER_ENGINE, PortalConfig,
    QUEUE_ENTRIES, QueueMode, WorkQueueConfig,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use units::{LINE_BYTES, Picos, RootPortId};

/// The table of its keys, and the prefix of its names in results.
pub const KEY: &str = "dsa";

/// Instances of a tenant: a socket has four.
const INSTANCES: (u32, u32) = (1, 4);
/// Descriptors in a round of the arbiter.
const PRIORITY: (u32, u32) = (1, 15);
const ENTRIES: (u32, u32) = (1, QUEUE_ENTRIES);
/// Four for an engine, and more than any instance has.
const READ_BUFFERS: (u32, u32) = (LEAST_BUFFERS_PER_ENGINE, 4096);
/// More than any instance has.
const MOST: u32 = 64;
/// Keys of the one group that there is unless groups are listed.
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
pub struct DsaKeys {
    /// Copy engines.
    pub dsa: DsaTable,
}

/// Instances, and their configuration: one group, or a list of groups.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DsaTable {
    /// Instances, each configured like this. Cores use them in turn.
    #[schemars(range(min = INSTANCES.0, max = INSTANCES.1))]
    pub instances: u32,
    /// Engines of the group.
    #[schemars(range(min = 1, max = MOST))]
    pub engines: u32,
    /// Work queues of the group. Cores use them in turn.
    #[schemars(range(min = 1, max = QUEUE_ENTRIES))]
    pub queues: u32,
    /// How descriptors reach the queues.
    pub queue_mode: QueueModeName,
    /// Entries of each queue.
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
    /// Groups of engines and queues, in place of the one group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupTable>,
}

/// How descriptors reach a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueModeName {
    /// MOVDIR64B, posted: one core for each queue.
    #[default]
    Dedicated,
    /// ENQCMD, answered: several cores may use the queue.
    Shared,
}

/// A group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GroupTable {
    /// Numbers of its engines.
    pub engines: Vec<u32>,
    /// Its queues.
    pub queues: Vec<QueueTable>,
    /// Read buffers that no other group takes.
    #[serde(default)]
    #[schemars(range(min = 0, max = READ_BUFFERS.1))]
    pub read_buffers_reserved: u32,
    /// Read buffers that it may use. All that are not reserved for others by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = READ_BUFFERS.0, max = READ_BUFFERS.1))]
    pub read_buffers: Option<u32>,
}

/// A work queue.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct QueueTable {
    /// How descriptors reach it.
    #[serde(default)]
    pub mode: QueueModeName,
    /// Its entries.
    #[schemars(range(min = ENTRIES.0, max = ENTRIES.1))]
    pub entries: u32,
    /// Entries in use from which it refuses descriptors, if it is shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = ENTRIES.0, max = ENTRIES.1))]
    pub threshold: Option<u32>,
    /// Descriptors that it gives in a round of the arbiter.
    #[serde(default = "one")]
    #[schemars(range(min = PRIORITY.0, max = PRIORITY.1))]
    pub priority: u32,
}

fn one() -> u32 {
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
            groups: Vec::new(),
        }
    }
}

/// An instance, before the number of its root port is known.
#[derive(Clone, Debug)]
pub struct DsaPlan {
    config: DsaConfig,
    facts_engines: u32,
}

/// Keys of the table that have no effect beside others of it.
pub(crate) fn inert(tenant: &Tenant) -> Vec<Inert> {
    let keys = &tenant.devices.dsa.dsa;
    if !keys.groups.is_empty() {
        let keys = OF_ONE_GROUP.map(String::from);
        return Inert::all(keys, "dsa.groups says what each group has").collect();
    }
    if keys.queue_mode == QueueModeName::Dedicated {
        let because = "a dedicated queue refuses nothing: its client has credits";
        return Inert::all(["dsa.threshold"], because).collect();
    }
    Vec::new()
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
        }]
    }

    /// Checks the configuration against what an instance has.
    fn check(&self, check: &Check<'_>, facts: &DsaFacts, cores: u32) -> Result<(), InputError> {
        check.whole("dsa.instances", self.instances, INSTANCES, "instances of a socket")?;
        let groups = self.all_groups();
        let listed = |number: usize, key: &str| match self.groups.is_empty() {
            true => format!("dsa.{key}"),
            false => format!("dsa.groups.{number}.{key}"),
        };
        let count = u32::try_from(groups.len()).unwrap_or(u32::MAX);
        check.whole("dsa.groups", count, (1, facts.groups.value), "groups of an instance")?;
        check_engines(check, facts, &groups, &listed)?;
        check_queues(check, facts, &groups, &listed)?;
        self.check_buffers(check, facts, &groups, &listed)?;
        let queues: u32 =
            self.instances * groups.iter().map(|it| it.queues.len()).sum::<usize>() as u32;
        let dedicated = groups.iter().flat_map(|it| &it.queues);
        let dedicated = dedicated.filter(|queue| queue.mode == QueueModeName::Dedicated).count();
        if dedicated > 0 && cores > queues {
            let allowed = format!(
                "allowed: at most {queues}, as many as queues, because a dedicated queue has one \
                 client; raise dsa.queues, or write dsa.queue_mode = \"shared\""
            );
            return Err(check.refuse("cores", &cores, allowed));
        }
        Ok(())
    }

    fn check_buffers(
        &self,
        check: &Check<'_>,
        facts: &DsaFacts,
        groups: &[GroupTable],
        listed: &dyn Fn(usize, &str) -> String,
    ) -> Result<(), InputError> {
        let total = facts.read_buffers.value;
        let reserved: u32 = groups.iter().map(|it| it.read_buffers_reserved).sum();
        for (number, group) in groups.iter().enumerate() {
            let own = group.read_buffers_reserved;
            check.whole(
                &listed(number, "read_buffers_reserved"),
                own,
                (0, total),
                "read buffers",
            )?;
            if reserved > total {
                let allowed = format!("allowed: {total} reserved by all groups together");
                let key = listed(number, "read_buffers_reserved");
                return Err(check.refuse(&key, &own, allowed));
            }
            let most = total - (reserved - own);
            let least = own.max(LEAST_BUFFERS_PER_ENGINE * group.engines.len() as u32);
            let allowed = group.read_buffers.unwrap_or(most);
            let what =
                "read buffers: no fewer than four for each engine, no more than others leave";
            check.whole(
                &listed(number, "read_buffers"),
                allowed,
                (least, most.max(least)),
                what,
            )?;
        }
        Ok(())
    }

    /// An instance for `portals` clients, each with the number of its queue among all queues.
    fn config(&self, facts: &DsaFacts, portals: &[usize], page_lines: u64) -> DsaConfig {
        let groups = self.all_groups();
        let total = facts.read_buffers.value;
        let reserved: u32 = groups.iter().map(|it| it.read_buffers_reserved).sum();
        let places: Vec<PortalConfig> = groups
            .iter()
            .enumerate()
            .flat_map(|(group, it)| {
                (0..it.queues.len()).map(move |queue| PortalConfig { group, queue })
            })
            .collect();
        DsaConfig {
            // The layout numbers root ports.
            port: RootPortId(0),
            portals: portals.iter().map(|&queue| places[queue]).collect(),
            read_buffers: total,
            descriptors_per_engine: facts.descriptors_per_engine.value,
            pages_ahead: facts.pages_ahead.value,
            page_lines,
            timing: facts.timing(),
            groups: groups
                .into_iter()
                .map(|group| GroupConfig {
                    queues: group.queues.iter().map(QueueTable::config).collect(),
                    engines: group.engines.len() as u32,
                    read_buffers_reserved: group.read_buffers_reserved,
                    read_buffers_allowed: group
                        .read_buffers
                        .unwrap_or(total - (reserved - group.read_buffers_reserved)),
                })
                .collect(),
        }
    }

    /// The queue of each client: instance, and number among its queues. Clients use instances in turn, then
    /// the queues of each.
    fn queues_of(&self, clients: u32) -> Vec<(usize, usize)> {
        let queues: usize = self.all_groups().iter().map(|it| it.queues.len()).sum();
        let instances = self.instances as usize;
        let queue = |client: usize| (client % instances, client / instances % queues);
        (0..clients as usize).map(queue).collect()
    }

    /// Mode and entries of the queue of each client.
    fn modes_of(&self, clients: u32) -> Vec<QueueTable> {
        let groups = self.all_groups();
        let queues: Vec<QueueTable> = groups.into_iter().flat_map(|group| group.queues).collect();
        self.queues_of(clients).into_iter().map(|(_, queue)| queues[queue].clone()).collect()
    }
}

impl QueueTable {
    fn config(&self) -> WorkQueueConfig {
        let threshold = self.threshold.unwrap_or(self.entries);
        WorkQueueConfig {
            mode: match self.mode {
                QueueModeName::Dedicated => QueueMode::Dedicated,
                QueueModeName::Shared => QueueMode::Shared { threshold },
            },
            size: self.entries,
            priority: self.priority,
        }
    }
}

/// Engines exist, and each is in one group.
fn check_engines(
    check: &Check<'_>,
    facts: &DsaFacts,
    groups: &[GroupTable],
    listed: &dyn Fn(usize, &str) -> String,
) -> Result<(), InputError> {
    let engines = facts.engines.value;
    let mut used = BTreeSet::new();
    for (number, group) in groups.iter().enumerate() {
        let key = listed(number, "engines");
        let what = "engines of a group, no more than an instance has";
        check.whole(&key, group.engines.len() as u32, (1, engines), what)?;
        for &engine in &group.engines {
            check.whole(&key, engine, (0, engines - 1), "numbers of engines")?;
            if !used.insert(engine) {
                let allowed = "is in two groups: an engine serves one".into();
                return Err(check.refuse(&key, &engine, allowed));
            }
        }
    }
    Ok(())
}

/// Queues exist, and their entries fit the instance.
fn check_queues(
    check: &Check<'_>,
    facts: &DsaFacts,
    groups: &[GroupTable],
    listed: &dyn Fn(usize, &str) -> String,
) -> Result<(), InputError> {
    let all: u32 = groups.iter().map(|group| group.queues.len() as u32).sum();
    let entries: u32 =
        groups.iter().flat_map(|it| &it.queues).map(|it| it.entries.min(1 << 20)).sum();
    for (number, group) in groups.iter().enumerate() {
        let key = listed(number, "queues");
        let what = "queues of a group";
        check.whole(&key, group.queues.len() as u32, (1, facts.work_queues.value), what)?;
        if all > facts.work_queues.value {
            let allowed = format!("allowed: {} in all groups", facts.work_queues.value);
            return Err(check.refuse(&key, &all, allowed));
        }
        for queue in &group.queues {
            let key = listed(number, "queue_entries");
            check.whole(&key, queue.entries, ENTRIES, "entries of a queue")?;
            if entries > QUEUE_ENTRIES {
                let allowed = format!("allowed: {QUEUE_ENTRIES} entries of all queues together");
                return Err(check.refuse(&key, &entries, allowed));
            }
            let threshold = queue.threshold.unwrap_or(queue.entries);
            let what = "entries, no more than the queue has";
            check.whole(&listed(number, "threshold"), threshold, (1, queue.entries), what)?;
            let key = listed(number, "priority");
            check.whole(&key, queue.priority, PRIORITY, "descriptors in a round")?;
        }
    }
    Ok(())
}

/// What a tenant's cores use.
pub(crate) struct Instances {
    /// A stop on the mesh for each instance.
    pub ports: Vec<PortPlan>,
    /// Instance of each core, number among its portals, and the queue behind it.
    pub clients: Vec<(usize, usize, QueueTable)>,
}

/// The instances of a tenant, with a portal for each of its cores.
///
/// # Errors
/// If a key is out of range, or the platform has no copy engine.
pub(crate) fn plan(input: &TenantInput<'_>) -> Result<Instances, InputError> {
    let Some(facts) = &input.platform.dsa else {
        let allowed = "needs a platform with a [dsa] table, such as sapphire-rapids-56".into();
        return Err(input.check.refuse("offload.by", &"dsa", allowed));
    };
    let iio = input.table("iio", input.platform.iio.as_ref())?;
    let (keys, cores) = (&input.tenant.devices.dsa.dsa, input.tenant.keys.cores);
    keys.check(&input.check, facts, cores)?;
    let page = input.tenant.devices.port.iommu.bytes();
    let page_lines = page.unwrap_or(input.tenant.keys.page_size.bytes()) / LINE_BYTES;
    let mut portals = vec![Vec::new(); keys.instances as usize];
    let mut clients = Vec::new();
    for ((instance, queue), table) in keys.queues_of(cores).into_iter().zip(keys.modes_of(cores)) {
        clients.push((instance, portals[instance].len(), table));
        portals[instance].push(queue);
    }
    let ports = portals.iter().map(|portals| {
        let plan = DsaPlan {
            config: keys.config(facts, portals, page_lines),
            facts_engines: keys.all_groups().iter().map(|it| it.engines.len() as u32).sum(),
        };
        let extra = Picos::from_ns(iio.dram_read_extra_ns.value);
        root_port::plan(input, facts.attachment(extra), vec![DevicePlan::Dsa(plan)])
    });
    Ok(Instances { ports: ports.collect::<Result<_, _>>()?, clients })
}

impl DsaPlan {
    /// The pace of its engines, and their waits for read buffers.
    pub(super) fn limits(&self, counted: &DsaCounters) -> Vec<Limit> {
        let engines = u64::from(self.facts_engines);
        let taken = counted.completed + counted.members_completed;
        let interval = self.config.timing.descriptor_interval;
        vec![
            Limit::new(
                LimitKind::CopyEngines,
                "the pace of engines of {}",
                Picos(interval.0 * taken / engines),
            ),
            Limit::new(
                LimitKind::ReadBuffers,
                "read buffers of {}",
                Picos(counted.buffer_wait.0 / engines),
            ),
        ]
    }

    /// The instance, behind the root port of the layout.
    pub(super) fn build(&self, layout: &DeviceLayout) -> Dsa {
        Dsa::new(DsaConfig { port: layout.port, ..self.config.clone() })
    }
}
