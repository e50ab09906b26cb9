//! The offloaders of a tenant's cores, for any application: which queue each uses, at what cost.

use super::{DsaPlan, QueueModeName, QueueTable};
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::contract::port::PortPlan;
use crate::facts::platform::{DsaClientFacts, DsaFacts};
use crate::kinds::dsa::DsaKeys;
use crate::kinds::root_port::{self, PortKeys};
use crate::text::error::InputError;
use model::device::dsa::portal::Portal;
use model::device::queues::QueueId;
use model::device::{DeviceId, DeviceQueues};
use model::root_complex::mmio::MmioPath;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::narrow::fit;
use units::{Cycles, LINE_BYTES, Picos};
use workload::driver::dsa::{BackOff, DsaClient, DsaClientConfig, PortalWrite, QueueLock};
use workload::driver::offloader::{
    DescriptorMemory, EngineQueue, Offloader, OffloaderConfig, WaitMode,
};
use workload::host_memory::Arena;

/// How a core waits for completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WaitName {
    /// The core polls the completion record.
    #[default]
    Poll,
    /// The core sleeps by UMWAIT until the record's line is written.
    Umwait,
    /// The core sleeps until an interrupt.
    Interrupt,
}

/// The pause before an ENQCMD is repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BackOffName {
    /// One PAUSE instruction.
    #[default]
    Pause,
    /// Doubled from one refusal to the next.
    Exponential,
}

/// Requirements of an application on its offloaders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OffloaderNeeds {
    /// The key by which the scenario asks for engines, for messages.
    pub key: &'static str,
    /// Number of descriptors in flight in each queue of a core.
    pub depth: u32,
    /// Number of members of the longest batch.
    pub most_members: u32,
    /// The key of the queues that each core uses in turn, and their number.
    pub queues_per_core: (&'static str, u32),
    /// How cores wait for completions.
    pub wait: WaitName,
    /// The pause before a core repeats an ENQCMD that a queue refused.
    pub back_off: BackOffName,
    /// Addresses of a portal that are used in turn.
    pub portal_addresses: u32,
    /// The key of a lock around each dedicated queue, empty if there is none, and whether it is set.
    pub lock: (&'static str, bool),
    /// Where descriptors and their records come from.
    pub origin: DescriptorMemory,
}

/// A client: a core's use of a queue.
#[derive(Clone, Debug)]
struct ClientPlan {
    instance: usize,
    /// Number among the portals of the instance.
    portal: usize,
    /// Number among the queues of the instance.
    queue: usize,
    has_lock: bool,
    config: DsaClientConfig,
}

/// The offloaders of all cores of a tenant.
#[derive(Clone, Debug)]
pub(crate) struct OffloadersPlan {
    config: OffloaderConfig,
    depth: u32,
    exchange: Cycles,
    /// The clients of each core.
    cores: Vec<Vec<ClientPlan>>,
    /// A stop on the mesh for each instance.
    pub ports: Vec<PortPlan>,
}

impl OffloadersPlan {
    /// Resolves the offloaders of a tenant's cores.
    ///
    /// # Errors
    /// If a key of the engines is out of range, cores share a dedicated queue without a lock, or the platform
    /// has no copy engine.
    pub(crate) fn resolve(
        input: &TenantInput<'_>,
        needs: &OffloaderNeeds,
    ) -> Result<Self, InputError> {
        let without = |table: &str| {
            let allowed =
                format!("needs a platform with a [{table}] table, such as sapphire-rapids-56");
            input.check.refuse(needs.key, &"dsa", allowed)
        };
        let facts = input.platform.dsa.as_ref().ok_or_else(|| without("dsa"))?;
        let costs = input.platform.dsa_client.as_ref().ok_or_else(|| without("dsa_client"))?;
        input.table::<DsaKeys>().dsa.check(&input.check, facts)?;
        let queues = queues_of_clients(input, needs)?;
        let cores = clients(input, &queues, needs, facts, costs)?;
        let ports = ports(input, &queues, facts)?;
        let config = OffloaderConfig {
            origin: needs.origin,
            prepare: Cycles(costs.prepare_cycles.value),
            prepare_member: Cycles(costs.prepare_member_cycles.value),
            most_members: needs.most_members,
            look: Cycles(costs.look_cycles.value),
            waiting: wait_mode(needs.wait, costs),
        };
        let exchange = Cycles(costs.lock_cycles.value);
        Ok(Self { config, depth: needs.depth, exchange, cores, ports })
    }

    /// Builds the offloader of each core, with all its lines in the tenant's memory. The machine receives the
    /// queues of the tenant's engines, which are the first of `devices`, in the order of [`Self::ports`].
    pub(crate) fn build<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
        devices: &[DeviceId],
    ) -> Vec<Offloader> {
        let mut locks = BTreeMap::new();
        let mut offloaders = Vec::new();
        for clients in &self.cores {
            let channels = clients.iter().map(|client| {
                let device = devices[client.instance];
                let queue = QueueId { device, queue: fit(client.portal) };
                let lock = client.has_lock.then(|| self.lock(client, &mut locks, builder.memory));
                EngineQueue::Dsa(DsaClient::new(client.config, queue, lock))
            });
            let channels: Vec<EngineQueue> = channels.collect();
            let descriptors = u64::from(self.depth) * channels.len() as u64;
            let page = builder.memory.page().0;
            let bytes = Offloader::arena_bytes(&self.config, descriptors, page);
            let mut arena = Arena::new(builder.memory.region(bytes));
            offloaders.push(Offloader::new(self.config, channels, self.depth, &mut arena));
        }
        for (instance, &device) in devices.iter().take(self.ports.len()).enumerate() {
            let own = self.cores.iter().flatten().filter(|client| client.instance == instance);
            let portals = vec![Portal::default(); own.count()];
            builder.queues.insert(device, DeviceQueues::Dsa(portals));
        }
        offloaders
    }

    /// The lock of a client's queue, which is allocated for the queue's first client.
    fn lock(
        &self,
        client: &ClientPlan,
        locks: &mut BTreeMap<(usize, usize), Rc<RefCell<QueueLock>>>,
        memory: &mut workload::host_memory::HostMemory,
    ) -> Rc<RefCell<QueueLock>> {
        let lock = locks.entry((client.instance, client.queue)).or_insert_with(|| {
            QueueLock::new(Arena::new(memory.region(LINE_BYTES)).place(LINE_BYTES), self.exchange)
        });
        Rc::clone(lock)
    }
}

/// Instance and queue of each client of each core: clients use instances in turn, then the queues of each.
fn queues_of_clients(
    input: &TenantInput<'_>,
    needs: &OffloaderNeeds,
) -> Result<Vec<Vec<(usize, usize)>>, InputError> {
    let (table, cores) = (&input.table::<DsaKeys>().dsa, input.tenant.keys.cores);
    let (instances, of_each) = (table.instances as usize, table.all_queues().len());
    let all = fit(instances * of_each);
    let (key, per_core) = needs.queues_per_core;
    let what = "queues for each core, no more than all instances have";
    input.check.whole(key, per_core, (1, all), what)?;
    let has_dedicated = table.all_queues().iter().any(|it| it.mode == QueueModeName::Dedicated);
    let clients = cores * per_core;
    let (lock, is_locked) = needs.lock;
    if has_dedicated && clients > all && !is_locked {
        let by_lock = match lock {
            "" => String::new(),
            lock => format!(", or let threads share a queue by a lock: {lock} = true"),
        };
        let allowed = format!(
            "with {per_core} queues each; allowed: {all} queues in all, because a dedicated queue has one \
             client; raise dsa.queues or dsa.instances, or write dsa.queue_mode = \"shared\"{by_lock}"
        );
        return Err(input.check.refuse("cores", &cores, allowed));
    }
    let per_core = per_core as usize;
    let queue = |client: usize| (client % instances, client / instances % of_each);
    let of_core = |core: usize| (core * per_core..(core + 1) * per_core).map(queue).collect();
    Ok((0..cores as usize).map(of_core).collect())
}

/// The clients of each core, with the credits that each has.
fn clients(
    input: &TenantInput<'_>,
    queues: &[Vec<(usize, usize)>],
    needs: &OffloaderNeeds,
    facts: &DsaFacts,
    costs: &DsaClientFacts,
) -> Result<Vec<Vec<ClientPlan>>, InputError> {
    let tables = input.table::<DsaKeys>().dsa.all_queues();
    let mut portals = BTreeMap::new();
    let mut client = |&(instance, queue): &(usize, usize)| {
        let portal = portals.entry(instance).or_insert(0_usize);
        let number = *portal;
        *portal += 1;
        let table = &tables[queue];
        let sharers = queues.iter().flatten().filter(|&&it| it == (instance, queue)).count();
        let sharers: u32 = fit(sharers);
        let is_dedicated = table.mode == QueueModeName::Dedicated;
        if is_dedicated && sharers > table.entries {
            let allowed = format!(
                "allowed: up to {} that share a dedicated queue, one for each of its entries",
                table.entries
            );
            return Err(input.check.refuse("cores", &input.tenant.keys.cores, allowed));
        }
        let config = client_config(table, sharers, needs, facts, costs);
        let has_lock = is_dedicated && needs.lock.1;
        Ok(ClientPlan { instance, portal: number, queue, has_lock, config })
    };
    queues.iter().map(|own| own.iter().map(&mut client).collect()).collect()
}

/// A client of a queue. A dedicated queue gives credits for its entries.
fn client_config(
    table: &QueueTable,
    sharers: u32,
    needs: &OffloaderNeeds,
    facts: &DsaFacts,
    costs: &DsaClientFacts,
) -> DsaClientConfig {
    let (write, store, credits) = match table.mode {
        QueueModeName::Dedicated => {
            let interval = Picos::from_ns(costs.post_interval_ns.value);
            let write = PortalWrite::Posted { interval, addresses: needs.portal_addresses };
            (write, costs.post_cycles.value, table.entries / sharers)
        }
        QueueModeName::Shared => {
            let first = Cycles(costs.pause_cycles.value);
            let most = match needs.back_off {
                BackOffName::Pause => first,
                BackOffName::Exponential => Cycles(costs.back_off_most_cycles.value),
            };
            let write = PortalWrite::Answered(BackOff { first, most });
            (write, costs.enqueue_cycles.value, needs.depth)
        }
    };
    let one_way = Picos::from_ns(facts.portal_ns.value);
    DsaClientConfig { write, path: MmioPath { one_way, store: Cycles(store) }, credits }
}

fn wait_mode(wait: WaitName, costs: &DsaClientFacts) -> WaitMode {
    match wait {
        WaitName::Poll => WaitMode::Poll,
        WaitName::Umwait => WaitMode::Umwait { wake: Cycles(costs.umwait_wake_cycles.value) },
        WaitName::Interrupt => WaitMode::Interrupt {
            delivery: Picos::from_ns(costs.interrupt_delivery_ns.value),
            wake: Cycles(costs.interrupt_cycles.value),
        },
    }
}

/// The instances, with a portal for each client.
fn ports(
    input: &TenantInput<'_>,
    queues: &[Vec<(usize, usize)>],
    facts: &DsaFacts,
) -> Result<Vec<PortPlan>, InputError> {
    let table = &input.table::<DsaKeys>().dsa;
    let iio = input.facts("iio", input.platform.iio.as_ref())?;
    let page = input.table::<PortKeys>().iommu.bytes();
    let page_lines = page.unwrap_or(input.tenant.keys.page_size.bytes()) / LINE_BYTES;
    let events = input.changes.iter();
    let thresholds: Vec<(Picos, u32)> =
        events.filter_map(|event| Some((event.at, event.threshold?))).collect();
    let port = |instance: usize| {
        let own = queues.iter().flatten().filter(|&&(of, _)| of == instance);
        let portals: Vec<usize> = own.map(|&(_, queue)| queue).collect();
        let engines = table.all_groups().iter().map(|it| it.engines.len()).sum::<usize>();
        let plan = DsaPlan {
            config: table.config(facts, &portals, page_lines, &thresholds),
            engines: fit(engines),
        };
        let extra = Picos::from_ns(iio.dram_read_extra_ns.value);
        root_port::plan(input, facts.attachment(extra), vec![plan])
    };
    (0..table.instances as usize).map(port).collect()
}
