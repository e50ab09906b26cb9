//! From facts and wishes to a machine: the only place that knows both.

mod applications;
mod control;
pub mod hardware;
mod key_value;
mod ping_pong;
mod rings;
mod slices;
mod software;
mod storage;
pub mod traffic;

use crate::equipment::Equipment;
use crate::layout::{Layout, RootPort};
use crate::platform::{PacketServer, Platform, SoftwareFacts};
use crate::scenario::{Application, InitialContent, Scenario, Tenant};
use hardware::{Hardware, Nodes};
use model::core::Core;
use model::device::nic::card::Nic;
use model::device::queues::{QueueId, Queues};
use model::device::{Device, DeviceQueues};
use model::fabric::{Fabric, PortConfig};
use model::machine::{Goal, Machine};
use model::software::Software;
use model::tracer::Tracer;
use software::Shared;
use std::collections::BTreeMap;
use traffic::Traffic;
use units::{Bytes, Gigahertz, WayMask};
use workload::host_memory::HostMemory;
use workload::traffic::Capture;

/// The machine of a scenario.
pub type ScenarioMachine<T> = Machine<Traffic, T>;

/// A resolved scenario and the facts that it runs on.
struct Plan<'a> {
    scenario: &'a Scenario,
    platform: &'a Platform,
    equipment: &'a [Equipment],
    layout: Layout,
    seed: u64,
}

/// Software of the cores that have been built so far, by core.
type Seats<T> = BTreeMap<u8, Box<dyn Software<T>>>;

/// Builds the machine of a resolved scenario, caches warm as at time zero. `equipment` and
/// `captures` have an entry per tenant.
///
/// # Panics
/// If the platform does not serve packets: resolving the scenario has checked that.
pub fn machine<T: Tracer>(
    scenario: &Scenario,
    platform: &Platform,
    equipment: &[Equipment],
    captures: &[Option<Capture>],
    seed: u64,
    tracer: T,
) -> ScenarioMachine<T> {
    let plan = Plan { scenario, platform, equipment, layout: Layout::of(scenario), seed };
    let mut fabric = Fabric::new(&plan.hardware().fabric(), tracer);
    let mut memories = plan.memories();
    let (mut devices, mut ssds) = (Vec::new(), Vec::new());
    let (mut queues, mut seats) = (Queues::default(), Seats::new());
    for (number, (tenant, capture)) in scenario.tenants().zip(captures).enumerate() {
        let memory = &mut memories[plan.node_of(tenant)];
        memory.use_pages(Bytes(tenant.page_size.bytes()));
        if tenant.application.uses_nic() {
            plan.build_software(number, memory, &mut fabric, &mut queues, &mut seats);
            devices.push(Device::from(plan.nic(number, capture.as_ref())));
        }
        if tenant.application == Application::KeyValueMemory {
            plan.build_store(number, memory, &mut seats);
        }
        if tenant.application == Application::MemoryKernel {
            plan.build_kernels(number, memory, &mut fabric, &mut seats);
        }
        if tenant.application.uses_ssds() {
            ssds.extend(plan.build_storage(number, memory, &mut fabric, &mut seats));
        }
    }
    // All NICs act before all SSDs where they act at the same time.
    for (ssd, pairs) in ssds {
        devices.push(Device::from(ssd));
        queues.push(DeviceQueues::Nvme(pairs));
    }
    for (keys, cores) in scenario.machine.co_runner.iter().zip(&plan.layout.co_runners) {
        let memory = &mut memories[keys.socket as usize];
        memory.use_pages(Bytes(scenario.main.page_size.bytes()));
        for &core in cores {
            seats.insert(core, plan.co_runner(keys, (core, cores), memory, &fabric));
        }
    }
    let software = seats.into_values().collect();
    Machine::new(fabric, devices, queues, software, plan.controllers(), plan.goal())
}

impl<'a> Plan<'a> {
    fn server(&self, tenant: usize) -> PacketServer<'a> {
        let server = self.equipment[tenant].server(self.platform, "");
        server.expect("a resolved scenario's platform has a NIC")
    }

    fn tenant(&self, number: usize) -> &'a Tenant {
        self.scenario.tenants().nth(number).expect("the layout has no more tenants")
    }

    /// What counts as progress: what the main tenant is there for.
    fn goal(&self) -> Goal {
        if self.scenario.main.application.forwards_packets() {
            return Goal::Device(self.layout.nic_device(0));
        }
        let cores = &self.layout.tenants[0].cores;
        let first = usize::from(cores[0]);
        Goal::Work(first..first + cores.len())
    }

    /// Lines that an LLC holds: what was touched before the last so many is gone from it.
    fn llc_lines(&self) -> u64 {
        let llc = &self.platform.llc;
        u64::from(llc.slices.value * llc.sets_per_slice.value * llc.ways.value)
    }

    fn core_clock(&self) -> Gigahertz {
        let wanted = self.scenario.machine.core_ghz;
        Gigahertz(wanted.unwrap_or(self.platform.cpu.core_ghz.value))
    }

    fn core(&self, id: u8) -> Core {
        let core = Core::new(id, self.core_clock(), self.platform.cpu.fill_buffers.value);
        core.with_bandwidth_limit(self.bandwidth_limit(id))
    }

    /// Tenants draw different random numbers; the main one those of the run's own seed.
    fn seed_of(&self, tenant: usize) -> u64 {
        self.seed.wrapping_add((tenant as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Memory nodes and sockets that this scenario touches.
    fn nodes(&self) -> Nodes {
        Nodes { other_socket: self.scenario.uses_other_socket(), cxl: self.scenario.uses_cxl() }
    }

    fn node_of(&self, tenant: &Tenant) -> usize {
        self.nodes().number(tenant.memory_node, tenant.socket) as usize
    }

    fn hardware(&self) -> Hardware<'_> {
        let (scenario, platform) = (self.scenario, self.platform);
        let all_ways = platform.llc.all_ways_mask();
        let mut core_way_masks = vec![WayMask(all_ways); self.layout.all_cores()];
        let tenants = scenario.tenants().map(|tenant| tenant.core_way_mask);
        let co_runners = scenario.machine.co_runner.iter().map(|keys| keys.way_mask);
        let cores = self.layout.tenants.iter().map(|tenant| &tenant.cores);
        let all_cores = cores.chain(&self.layout.co_runners);
        for (mask, cores) in tenants.chain(co_runners).zip(all_cores) {
            for &core in cores {
                core_way_masks[usize::from(core)] = WayMask(mask.unwrap_or(all_ways));
            }
        }
        Hardware {
            platform,
            core: self.core_clock(),
            uncore: Gigahertz(scenario.machine.uncore_ghz.unwrap_or(platform.cpu.uncore_ghz.value)),
            cores: self.layout.cores,
            core_way_masks,
            ports: self.layout.ports.iter().map(|port| self.root_port(port)).collect(),
            nodes: self.nodes(),
            seed: self.seed,
        }
    }

    /// A root port with the link of its devices.
    fn root_port(&self, port: &RootPort) -> PortConfig {
        let (tenant, server) = (self.tenant(port.tenant), self.server(port.tenant));
        let ssd = self.equipment[port.tenant].ssd.as_ref();
        let link = match ssd.filter(|_| tenant.application.uses_ssds()) {
            Some(ssd) => ssd.link(),
            None => hardware::link_config(&server),
        };
        PortConfig { link, ..hardware::port(tenant, self.platform, &server) }
    }

    /// Memory of every node.
    fn memories(&self) -> Vec<HostMemory> {
        let count = self.nodes().count();
        let page = Bytes(self.scenario.main.page_size.bytes());
        let main = self.node_of(&self.scenario.main) as u64;
        let seed =
            |node: u64| if node == main { self.seed } else { self.seed_of(node as usize + 1) };
        let software = self.platform.software.as_ref();
        let placement = software.map(SoftwareFacts::page_placement).unwrap_or_default();
        let memory = |node| {
            let mut memory = HostMemory::in_node(page, seed(node), node, count);
            memory.place_pages(placement);
            memory
        };
        (0..count).map(memory).collect()
    }

    /// Puts a tenant's software on its cores and its queues into memory.
    fn build_software<T: Tracer>(
        &self,
        number: usize,
        memory: &mut HostMemory,
        fabric: &mut Fabric<T>,
        queues: &mut Queues,
        seats: &mut Seats<T>,
    ) {
        let tenant = self.tenant(number);
        let cores = &self.layout.tenants[number].cores;
        let server = self.server(number);
        let pool = software::pool(tenant, &server, memory, cores[0], fabric);
        self.place_headers(tenant, cores, &mut pool.borrow_mut());
        let shape = rings::queue_shape(tenant, server.nic);
        let mut arena = rings::arena(tenant, &shape, memory);
        let table = applications::shared_table(tenant, memory);
        let items_apart = self.items_apart(tenant, cores, memory);
        if let (InitialContent::StoreFilled, Some(store)) = (tenant.initial_content, &table) {
            self.fill_store(tenant, store, items_apart.as_ref(), fabric, cores[0]);
        }
        let shared = Shared { tenant, server, pool, table, items_apart };
        let device = self.layout.nic_device(self.nic_number(number));
        let mut pairs: Vec<_> = cores.iter().map(|_| shape.place(&mut arena)).collect();
        for (queue, (pair, &core)) in pairs.iter_mut().zip(cores).enumerate() {
            let id = QueueId { device, queue: queue as u16 };
            let places = (&mut arena, &mut *memory);
            let software = self.software(&shared, fabric, pair, (core, id), places);
            seats.insert(core, software);
        }
        queues.push(DeviceQueues::Nic(pairs));
    }

    fn nic_number(&self, tenant: usize) -> usize {
        self.layout.tenants[tenant].nic.expect("it uses one")
    }

    fn nic(&self, number: usize, capture: Option<&Capture>) -> Nic<Traffic> {
        let tenant = self.tenant(number);
        let (server, seed) = (self.server(number), self.seed_of(number));
        let source = match (tenant.application, &self.platform.ping_pong) {
            (Application::PingPong, Some(facts)) => traffic::client(tenant, facts, seed),
            _ => traffic::source(tenant, &server, capture, seed),
        };
        let port = self.layout.nics[self.nic_number(number)];
        let mut config = server.nic.config(tenant.flow_control);
        config.bypass_backlog = tenant.placement.bypass_when_backlogged;
        let mut nic = Nic::new(port, &config, source, tenant.cores as usize);
        let queue_of = |rule: u32| Some((rule % tenant.cores) as u16);
        nic.port.steering_mut().set_rules((0..tenant.traffic.flow_rules).map(queue_of).collect());
        nic
    }
}
