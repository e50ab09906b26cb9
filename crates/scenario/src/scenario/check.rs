//! Ranges of scenario keys, and what does not go together.

mod application;
mod co_runner;
mod packets;

use super::placement;
use super::{Application, IommuPages, MAIN, MemoryNode, RunKeys, Scenario, Tenant};
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::platform::{PacketServer, Platform};
use std::collections::BTreeSet;

/// Sockets that a machine has at most.
const SOCKETS: u32 = 2;

/// Checks every value of a scenario whose defaults are filled in.
pub(super) fn scenario(
    scenario: &Scenario,
    file: &str,
    platform: &Platform,
    servers: &[PacketServer<'_>],
) -> Result<(), InputError> {
    let check = Check { file };
    let machine = &scenario.machine;
    check.number("core_ghz", machine.core_ghz.unwrap_or(1.0), (0.1, 10.0))?;
    check.number("uncore_ghz", machine.uncore_ghz.unwrap_or(1.0), (0.1, 10.0))?;
    names(scenario, &check)?;
    tenant(&scenario.main, &check, platform, &servers[0])?;
    for (keys, server) in scenario.tenant.iter().zip(&servers[1..]) {
        let place = format!("{file}, tenant `{}`", keys.name);
        tenant(keys, &Check { file: &place }, platform, server)?;
    }
    for (number, keys) in machine.co_runner.iter().enumerate() {
        co_runner::co_runner(&format!("co_runner.{number}"), keys, &check, platform)?;
    }
    cores(scenario, &check, platform)?;
    stores(scenario, &check)?;
    let tenants: Vec<&Tenant> = scenario.tenants().collect();
    placement::check_events(&machine.event, &tenants, &check, platform)?;
    run(&machine.run, &check)
}

fn tenant(
    tenant: &Tenant,
    check: &Check<'_>,
    platform: &Platform,
    server: &PacketServer<'_>,
) -> Result<(), InputError> {
    let cores = platform.cpu.cores.value;
    check.whole("cores", tenant.cores, (1, cores), "cores of the platform")?;
    let ways = platform.llc.ways.value;
    check.whole("ddio_ways", tenant.ddio_ways.unwrap_or(0), (0, ways), "ways of the LLC")?;
    check.whole("rng_calls", tenant.rng_calls, (0, 1_000_000), "calls")?;
    mask(check, "core_way_mask", tenant.core_way_mask.unwrap_or(1), ways)?;
    policies(tenant, check, platform)?;
    placement::check_tenant(tenant, check, platform)?;
    if tenant.application == Application::PingPong {
        application::ping_pong(tenant, check, platform, server)?;
    }
    application::application(tenant, check, platform)?;
    if tenant.application == Application::KeyValue {
        application::answers(tenant, check, server)?;
    }
    if tenant.application.uses_ssds() {
        application::block_io(&tenant.block_io, check, tenant.cores)?;
    }
    if tenant.application.uses_nic() {
        packets::queues(tenant, check, server)?;
        packets::pool(tenant, check, server)?;
        packets::traffic(tenant, check, server)?;
    }
    Ok(())
}

/// All stores together fit the simulated memory beside everything else.
fn stores(scenario: &Scenario, check: &Check<'_>) -> Result<(), InputError> {
    let with_store = scenario.tenants().filter(|tenant| tenant.application.has_store());
    let bytes: u64 = with_store.map(|tenant| tenant.key_value.shape(tenant.cores).bytes()).sum();
    let what = "bytes of all stores: lower key_value.items or key_value.value_bytes";
    check.whole("key_value.items", bytes, (0, super::key_value::MOST_BYTES), what)
}

/// Names go into the names of results.
fn names(scenario: &Scenario, check: &Check<'_>) -> Result<(), InputError> {
    let mut seen = BTreeSet::from([MAIN]);
    for (number, tenant) in scenario.tenant.iter().enumerate() {
        let key = format!("tenant.{number}.name");
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if tenant.name.is_empty() || !tenant.name.chars().all(plain) {
            let allowed = "allowed: letters, digits, - and _".into();
            return Err(check.refuse(&key, &tenant.name, allowed));
        }
        if !seen.insert(&tenant.name) {
            let allowed = "another tenant has this name; the top-level keys are `main`".into();
            return Err(check.refuse(&key, &tenant.name, allowed));
        }
    }
    Ok(())
}

/// The cores of each socket are enough for all that run there.
fn cores(scenario: &Scenario, check: &Check<'_>, platform: &Platform) -> Result<(), InputError> {
    let cores = platform.cpu.cores.value;
    for socket in 0..SOCKETS {
        let tenants = scenario.tenants().filter(|tenant| tenant.socket == socket);
        let used: u32 = tenants.map(|tenant| tenant.cores).sum();
        let beside = scenario.machine.co_runner.iter().filter(|keys| keys.socket == socket);
        let wanted: u32 = beside.map(|keys| keys.cores).sum();
        if used > cores {
            let allowed = format!(
                "all tenants of socket {socket} together; it has {cores} cores: lower `cores`"
            );
            return Err(check.refuse("cores", &used, allowed));
        }
        if used + wanted > cores {
            let left = cores - used;
            let allowed = format!("the tenants leave {left} of {cores} cores: lower `cores`");
            return Err(check.refuse("co_runner.cores", &wanted, allowed));
        }
    }
    Ok(())
}

/// Keys that only work with DDIO off, or with parts that the platform must have.
fn policies(tenant: &Tenant, check: &Check<'_>, platform: &Platform) -> Result<(), InputError> {
    if tenant.ddio_ways != Some(0) {
        let allowed = "only with ddio_ways = 0";
        for (key, on) in [
            ("ddio_keeps_descriptors", tenant.ddio_keeps_descriptors),
            ("evict_on_dma_read", tenant.evict_on_dma_read),
        ] {
            if on {
                return Err(check.refuse(key, &on, allowed.into()));
            }
        }
    }
    socket(check, "socket", tenant.socket, platform)?;
    socket(check, "nic_socket", tenant.nic_socket(), platform)?;
    if tenant.memory_node == MemoryNode::OtherSocket && platform.upi.is_none() {
        let allowed = "a second socket needs a platform with a [upi] table".into();
        return Err(check.refuse("memory_node", &"other-socket", allowed));
    }
    if tenant.memory_node == MemoryNode::Cxl && platform.cxl.is_none() {
        let allowed = "needs a platform with a [cxl] table".into();
        return Err(check.refuse("memory_node", &"cxl", allowed));
    }
    if tenant.iommu != IommuPages::Off && platform.iommu.is_none() {
        let allowed = "needs a platform with an [iommu] table".into();
        return Err(check.refuse("iommu", &"on", allowed));
    }
    Ok(())
}

fn socket(
    check: &Check<'_>,
    key: &str,
    socket: u32,
    platform: &Platform,
) -> Result<(), InputError> {
    check.whole(key, socket, (0, SOCKETS - 1), "")?;
    if socket > 0 && platform.upi.is_none() {
        let allowed = "a second socket needs a platform with a [upi] table".into();
        return Err(check.refuse(key, &socket, allowed));
    }
    Ok(())
}

fn mask(check: &Check<'_>, key: &str, mask: u32, ways: u32) -> Result<(), InputError> {
    let contiguous = mask != 0 && (mask >> mask.trailing_zeros()).wrapping_add(1).is_power_of_two();
    if contiguous && u64::from(mask) < 1 << ways {
        return Ok(());
    }
    let all = (1u64 << ways) - 1;
    let allowed = format!("allowed: 0x1 to {all:#x}, contiguous ways, as CAT requires");
    Err(check.refuse(key, &format!("{mask:#x}"), allowed))
}

fn run(run: &RunKeys, check: &Check<'_>) -> Result<(), InputError> {
    check.whole("run.batch_packets", run.batch_packets, (256, 1 << 24), "packets")?;
    check.whole("run.min_batches", run.min_batches, (10, 1000), "batches")?;
    let what = "batches, no fewer than run.min_batches";
    check.whole("run.max_batches", run.max_batches, (run.min_batches, 1000), what)?;
    let points = run.hit_rate_interval_points;
    check.number("run.hit_rate_interval_points", points, (1e-3, 100.0))?;
    let percent = run.throughput_interval_percent;
    check.number("run.throughput_interval_percent", percent, (1e-3, 100.0))
}
