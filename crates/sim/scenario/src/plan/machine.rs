//! The machine of a plan, from scenario, platform and layout.

use crate::contract::hardware::{Hardware, Nodes};
use crate::contract::machine::MachinePlan;
use crate::contract::port::PortPlan;
use crate::facts::platform::{Platform, SoftwareFacts};
use crate::plan::layout::Layout;
use crate::scenario::Scenario;
use crate::text::error::InputError;
use model::core::bandwidth_limit::BandwidthLimit;
use units::{Bytes, CoreId, Gigahertz, Id, WayMask};

/// The machine of a checked scenario.
///
/// # Errors
/// If ring or mesh do not match cores and slices.
pub(super) fn machine<'p>(
    scenario: &Scenario,
    platform: &Platform,
    layout: &Layout,
    ports: impl Iterator<Item = &'p PortPlan>,
    seed: u64,
) -> Result<MachinePlan, InputError> {
    let machine = &scenario.machine;
    let nodes = nodes(scenario);
    let core_clock = Gigahertz(machine.core_ghz.unwrap_or(platform.cpu.core_ghz.value));
    let uncore = Gigahertz(machine.uncore_ghz.unwrap_or(platform.cpu.uncore_ghz.value));
    let topology = platform.topology(&machine.platform)?;
    let llc = &platform.llc;
    let software = platform.software.as_ref();
    let main = nodes.number(scenario.main.keys.memory_node, scenario.main.keys.socket);
    let seed_of_node = |node| if node == main { seed } else { tenant_seed(seed, node + 1) };
    let hardware = Hardware {
        platform,
        topology: &topology,
        core: core_clock,
        uncore,
        cores: layout.cores,
        core_way_masks: core_way_masks(scenario, layout, llc.all_ways_mask()),
        ports: ports.map(|port| port.config.clone()).collect(),
        nodes,
        seed,
    };
    Ok(MachinePlan {
        fabric: hardware.fabric(),
        core_clock,
        llc_lines: u64::from(llc.slices.value * llc.sets_per_slice.value * llc.ways.value),
        seed,
        fill_buffers: platform.cpu.fill_buffers.value,
        bandwidth_limits: bandwidth_limits(scenario, layout),
        topology,
        numbers_in_socket: cores(layout).map(|core| layout.number_in_socket(core)).collect(),
        nodes,
        page: Bytes(scenario.main.keys.page_size.bytes()),
        pages: software.map(SoftwareFacts::page_placement).unwrap_or_default(),
        memory_seeds: (0..nodes.count()).map(seed_of_node).collect(),
    })
}

/// Tenants draw different random numbers; the main one uses the run's own seed.
pub(super) fn tenant_seed(seed: u64, tenant: u64) -> u64 {
    seed.wrapping_add(tenant.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Memory nodes and sockets that a scenario uses.
pub(super) fn nodes(scenario: &Scenario) -> Nodes {
    Nodes { other_socket: scenario.uses_other_socket(), cxl: scenario.uses_cxl() }
}

fn cores(layout: &Layout) -> impl Iterator<Item = CoreId> {
    (0..layout.all_cores()).map(CoreId::at)
}

fn core_way_masks(scenario: &Scenario, layout: &Layout, all_ways: u32) -> Vec<WayMask> {
    let tenants = scenario.tenants().map(|tenant| tenant.keys.core_way_mask);
    let co_runners = scenario.machine.co_runner.iter().map(|keys| keys.way_mask);
    let masks = tenants.chain(co_runners).map(|mask| WayMask(mask.unwrap_or(all_ways)));
    of_cores(masks, layout, WayMask(all_ways))
}

/// Limit of each core's traffic beyond its L2.
fn bandwidth_limits(scenario: &Scenario, layout: &Layout) -> Vec<BandwidthLimit> {
    let tenants = scenario.tenants().map(|tenant| tenant.keys.mba_percent);
    let co_runners = scenario.machine.co_runner.iter().map(|keys| keys.mba_percent);
    let limits = tenants.chain(co_runners).map(BandwidthLimit::percent);
    of_cores(limits, layout, BandwidthLimit::NONE)
}

/// The value of each core, from those of all tenants and then of all co-runners.
fn of_cores<V: Copy>(values: impl Iterator<Item = V>, layout: &Layout, default: V) -> Vec<V> {
    let mut all = vec![default; layout.all_cores()];
    let cores = layout.tenants.iter().map(|tenant| &tenant.cores).chain(&layout.co_runners);
    for (value, cores) in values.zip(cores) {
        for &core in cores {
            all[core.index()] = value;
        }
    }
    all
}
