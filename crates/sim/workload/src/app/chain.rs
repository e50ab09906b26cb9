//! The stateful service chain: router, NAPT, load balancer.
//!
//! Models: a filter that the core walks or that the NIC applies; NAPT and load balancer, each with a
//! flow table of its own per core: the bucket is read, the flow's entry read and written, the header
//! rewritten; a new flow takes the next server in turn.
//! Source: ATC'20, section 6 (2423 filter rules, NAPT, round-robin load balancer); EuroSys'19.
//! Simplifies: flows never time out; a full table drops its oldest flow.

mod flow_table;
mod rules;

pub use flow_table::{FlowTable, FoundFlow};
pub use rules::RuleTree;

use super::packet_loop::{Fate, Handler};
use super::work::Work;
use model::core::Core;
use model::device::nic::rings::Packet;
use model::fabric::Fabric;
use model::tracer::Tracer;
use units::LineAddr;

/// Work that each function of the chain does for a packet.
#[derive(Clone, Copy, Debug)]
pub struct ChainCosts {
    /// Work to route a packet, without the filter.
    pub router: Work,
    /// Work to translate a packet's address.
    pub napt: Work,
    /// Work to find a packet's server.
    pub load_balancer: Work,
    /// Work to insert a new flow, in each of the two tables.
    pub new_flow: Work,
}

/// The chain on one core.
#[derive(Debug)]
pub struct Chain {
    costs: ChainCosts,
    /// None if the NIC filters.
    filter: Option<RuleTree>,
    translations: FlowTable,
    servers: FlowTable,
    /// The line with the load balancer's next server.
    turn: LineAddr,
}

impl Chain {
    /// A chain with empty flow tables.
    #[must_use]
    pub fn new(
        costs: ChainCosts,
        filter: Option<RuleTree>,
        translations: FlowTable,
        servers: FlowTable,
        turn: LineAddr,
    ) -> Self {
        Self { costs, filter, translations, servers, turn }
    }

    fn route<T: Tracer>(&self, core: &mut Core, fabric: &mut Fabric<T>, packet: &Packet) {
        core.load(fabric, packet.buffer.data);
        if let Some(filter) = &self.filter {
            filter.classify(core, fabric, packet.rss_hash);
        }
        self.costs.router.run_on(core);
    }
}

impl Handler for Chain {
    fn handle<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        packet: &Packet,
    ) -> Fate {
        self.route(core, fabric, packet);
        let stages = [
            (&mut self.translations, self.costs.napt, None),
            (&mut self.servers, self.costs.load_balancer, Some(self.turn)),
        ];
        for (table, work, turn) in stages {
            let flow = table.find(core, fabric, packet.rss_hash);
            if flow.is_new {
                self.costs.new_flow.run_on(core);
                if let Some(turn) = turn {
                    core.load(fabric, turn);
                    core.store(fabric, turn);
                }
            } else {
                core.load(fabric, flow.entry);
            }
            core.store(fabric, flow.entry);
            core.store(fabric, packet.buffer.data);
            work.run_on(core);
        }
        Fate::Send(packet.bytes)
    }
}
