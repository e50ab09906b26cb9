//! From a tenant's application keys and the platform's costs to what a core does with packets.

use super::Plan;
use super::software::{Shared, extra_cycles};
use crate::platform::ApplicationFacts;
use crate::scenario::{Application, Filtering, PayloadUse, Tenant};
use model::software::Software;
use model::tracer::Tracer;
use std::rc::Rc;
use units::{Cycles, LINE_BYTES};
use workload::app::chain::{Chain, ChainCosts, FlowTable, RuleTree};
use workload::app::l2_forward::L2Forward;
use workload::app::l3_forward::{L3Forward, PacketSink, Payload, ROUTE_BYTES};
use workload::app::packet_generator::{PacketGenerator, PacketGeneratorConfig};
use workload::app::packet_loop::{Drivers, Handler, PacketLoop, PacketLoopConfig};
use workload::host_memory::{Arena, HostMemory, Region};

/// The table that all cores of a tenant read, if its application has one.
pub fn shared_table(tenant: &Tenant, memory: &mut HostMemory) -> Option<Region> {
    match tenant.application {
        Application::L3Forward => {
            Some(memory.region(u64::from(tenant.l3_forward.networks) * ROUTE_BYTES))
        }
        Application::Chain if tenant.chain.filtering == Filtering::Software => {
            Some(memory.region(RuleTree::bytes(tenant.chain.filter_rules)))
        }
        Application::KeyValue => Some(memory.region(tenant.key_value.shape(tenant.cores).bytes())),
        _ => None,
    }
}

impl Plan<'_> {
    pub(super) fn facts(&self) -> &ApplicationFacts {
        self.platform.applications.as_ref().expect("resolving the scenario has asked for them")
    }

    /// What a tenant's application does on a core.
    pub(super) fn application<T: Tracer>(
        &self,
        shared: &Shared<'_>,
        id: u8,
        drivers: Drivers,
        arena: &mut Arena,
        memory: &mut HostMemory,
    ) -> Box<dyn Software<T>> {
        let tenant = shared.tenant;
        match tenant.application {
            Application::L2Forward => {
                let handler = Self::l2_forward(shared);
                self.packet_loop(shared, id, drivers, handler)
            }
            Application::L3Forward => {
                let handler = self.l3_forward(shared);
                self.packet_loop(shared, id, drivers, handler)
            }
            Application::Chain => {
                let handler = self.chain(shared, arena, memory);
                self.packet_loop(shared, id, drivers, handler)
            }
            Application::KeyValue => {
                let handler = self.key_value_server(shared, id);
                self.packet_loop(shared, id, drivers, handler)
            }
            Application::PacketSource => Box::new(self.generator(shared, id, drivers)),
            Application::PingPong => Box::new(self.ping_pong(shared, id, drivers, arena, memory)),
            Application::BlockIo | Application::KeyValueMemory | Application::MemoryKernel => {
                unreachable!("it has no queue pairs of a NIC")
            }
            Application::PacketSink => {
                let facts = self.facts();
                let work = facts.work(&facts.packet_sink_cycles);
                let handler = PacketSink { work, payload: payload(tenant.packet_sink.payload) };
                self.packet_loop(shared, id, drivers, handler)
            }
        }
    }

    fn packet_loop<T: Tracer, H: Handler + 'static>(
        &self,
        shared: &Shared<'_>,
        id: u8,
        drivers: Drivers,
        handler: H,
    ) -> Box<dyn Software<T>> {
        let config = PacketLoopConfig {
            burst: shared.tenant.burst as usize,
            poll_cycles: Cycles(shared.server.software.poll_cycles.value),
            extra_cycles: extra_cycles(shared),
        };
        Box::new(PacketLoop::new(config, handler, self.core(id), drivers))
    }

    fn l2_forward(shared: &Shared<'_>) -> L2Forward {
        let software = shared.server.software;
        L2Forward {
            cycles_per_packet: Cycles(software.l2_forward_cycles_per_packet.value),
            annotation_lines: u64::from(software.annotation_lines.value),
            pool: Rc::clone(&shared.pool),
        }
    }

    fn l3_forward(&self, shared: &Shared<'_>) -> L3Forward {
        let (keys, facts) = (&shared.tenant.l3_forward, self.facts());
        let table = shared.table.clone().expect("an L3 forwarder has routes");
        let work = facts.work(&facts.l3_forward_cycles);
        L3Forward::new(work, payload(keys.payload), table, u64::from(keys.networks))
    }

    fn generator(&self, shared: &Shared<'_>, id: u8, drivers: Drivers) -> PacketGenerator {
        let (tenant, facts) = (shared.tenant, self.facts());
        let config = PacketGeneratorConfig {
            burst: tenant.burst as usize,
            packet_bytes: tenant.packet_bytes,
            writes_payload: tenant.packet_source.writes_payload,
            work: facts.work(&facts.packet_source_cycles),
            poll_cycles: Cycles(shared.server.software.poll_cycles.value),
        };
        PacketGenerator::new(config, self.core(id), drivers.pool, drivers.tx, drivers.queue)
    }

    fn chain(&self, shared: &Shared<'_>, arena: &mut Arena, memory: &mut HostMemory) -> Chain {
        let (keys, facts) = (&shared.tenant.chain, self.facts());
        let costs = ChainCosts {
            router: facts.work(&facts.l3_forward_cycles),
            napt: facts.work(&facts.napt_cycles),
            load_balancer: facts.work(&facts.load_balancer_cycles),
            new_flow: facts.work(&facts.new_flow_cycles),
        };
        let step = facts.work(&facts.filter_step_cycles);
        let filter = shared.table.clone();
        let filter = filter.map(|nodes| RuleTree::new(keys.filter_rules, nodes, step));
        let (translations, servers) = (
            flow_table(keys.flow_table_entries, memory),
            flow_table(keys.flow_table_entries, memory),
        );
        Chain::new(costs, filter, translations, servers, arena.place(LINE_BYTES))
    }
}

fn flow_table(capacity: u32, memory: &mut HostMemory) -> FlowTable {
    let (buckets, entries) = FlowTable::bytes(capacity);
    FlowTable::new(capacity, memory.region(buckets), memory.region(entries))
}

fn payload(wanted: PayloadUse) -> Payload {
    match wanted {
        PayloadUse::Untouched => Payload::Untouched,
        PayloadUse::Read => Payload::Read,
    }
}
