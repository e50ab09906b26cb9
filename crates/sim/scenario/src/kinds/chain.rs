//! The stateful chain: filter, router, NAPT and load balancer, with separate flow tables on each core.

use crate::contract::application::Packets;
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::kinds::nic::Card;
use crate::kinds::packets::{PacketApplication, PollingCore};
use crate::text::check::Check;
use crate::text::error::InputError;
use model::software::Software;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::LINE_BYTES;
use workload::app::chain::{Chain, ChainCosts, FlowTable, RuleTree};
use workload::app::work::Work;
use workload::host_memory::{HostMemory, Region};

const FILTER_RULES: (u32, u32) = (1, 1 << 20);
const FLOWS: (u32, u32) = (8, 1 << 22);

/// Keys of the stateful chain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ChainKeys {
    /// Where packets are filtered.
    pub filtering: Filtering,
    /// Number of filter rules.
    #[schemars(range(min = FILTER_RULES.0, max = FILTER_RULES.1))]
    pub filter_rules: u32,
    /// Number of entries of each flow table of a core.
    #[schemars(range(min = FLOWS.0, max = FLOWS.1))]
    pub flow_table_entries: u32,
}

/// Where packets are filtered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Filtering {
    /// The cores walk the rules.
    Software,
    /// The NIC applies the rules: cores do no look-up.
    #[default]
    Offloaded,
}

impl Default for ChainKeys {
    fn default() -> Self {
        Self { filtering: Filtering::default(), filter_rules: 2423, flow_table_entries: 65_536 }
    }
}

impl ChainKeys {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("chain.filter_rules", self.filter_rules, FILTER_RULES, "rules")?;
        let flows = self.flow_table_entries;
        check.whole("chain.flow_table_entries", flows, FLOWS, "flows")
    }
}

/// A stateful chain, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct ChainPlan {
    costs: ChainCosts,
    filter: Option<Filter>,
    flow_table_entries: u32,
}

/// Filter rules that cores walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter {
    rules: u32,
    step: Work,
}

impl PacketApplication for ChainPlan {
    const PACKETS: Packets = Packets::Forwarded;
    const CHAINS: bool = true;
    const PREFETCHES: bool = true;
    const GATHERS: bool = true;
    const TABLE: Option<&'static str> = Some("chain");

    /// The filter and its rules, if the cores walk them.
    type Shared = Option<(Filter, Region)>;

    fn check_table(input: &TenantInput<'_>) -> Result<(), InputError> {
        input.table::<ChainKeys>().check(&input.check)
    }

    fn plan(input: &TenantInput<'_>, _card: &Card<'_>) -> Result<Self, InputError> {
        let (keys, costs) = (input.table::<ChainKeys>(), input.costs()?);
        let filter =
            Filter { rules: keys.filter_rules, step: costs.work(&costs.filter_step_cycles) };
        Ok(Self {
            costs: ChainCosts {
                router: costs.work(&costs.l3_forward_cycles),
                napt: costs.work(&costs.napt_cycles),
                load_balancer: costs.work(&costs.load_balancer_cycles),
                new_flow: costs.work(&costs.new_flow_cycles),
            },
            filter: (keys.filtering == Filtering::Software).then_some(filter),
            flow_table_entries: keys.flow_table_entries,
        })
    }

    fn share<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Self::Shared {
        self.filter.map(|filter| (filter, builder.memory.region(RuleTree::bytes(filter.rules))))
    }

    fn software<T: Tracer>(
        &self,
        shared: &Self::Shared,
        core: PollingCore<'_>,
        builder: &mut Builder<'_, T>,
    ) -> Box<dyn Software<T>> {
        let rules = |(filter, nodes): &(Filter, Region)| {
            RuleTree::new(filter.rules, nodes.clone(), filter.step)
        };
        let translations = flow_table(self.flow_table_entries, builder.memory);
        let servers = flow_table(self.flow_table_entries, builder.memory);
        let filter = shared.as_ref().map(rules);
        let scratch = core.arena.place(LINE_BYTES);
        core.handle(Chain::new(self.costs, filter, translations, servers, scratch))
    }
}

fn flow_table(capacity: u32, memory: &mut HostMemory) -> FlowTable {
    let (buckets, entries) = FlowTable::bytes(capacity);
    FlowTable::new(capacity, memory.region(buckets), memory.region(entries))
}
