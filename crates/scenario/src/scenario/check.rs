//! Ranges of the keys of a scenario that belong to no kind of device and no application, and
//! contradictions among them.

use super::{MAIN, MemoryNode, RunKeys, Scenario, event};
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::layout::{Layout, SOCKETS};
use crate::plan::TenantInput;
use crate::platform::{GHZ, Platform};
use model::attribution::Owner;
use std::collections::BTreeSet;
use units::narrow::fit;

pub(crate) use event::check as events;

/// Percent of the memory bandwidth.
pub(crate) const MBA_PERCENT: (u32, u32) = (10, 100);
/// Number of the last socket.
pub(crate) const LAST_SOCKET: u32 = 1;
pub(super) const BATCH_PACKETS: (u64, u64) = (8, 1 << 24);
pub(super) const BATCHES: (u32, u32) = (10, 1000);
/// Half width of an interval, in points or percent.
pub(super) const INTERVAL: (f64, f64) = (1e-3, 100.0);
const _: () = assert!(LAST_SOCKET as usize + 1 == SOCKETS);

/// Checks the keys of the machine, and the names of tenants.
pub(crate) fn machine(scenario: &Scenario, check: &Check<'_>) -> Result<(), InputError> {
    let machine = &scenario.machine;
    check.number("core_ghz", machine.core_ghz.unwrap_or(1.0), GHZ)?;
    check.number("uncore_ghz", machine.uncore_ghz.unwrap_or(1.0), GHZ)?;
    names(scenario, check)
}

/// Checks the keys that every tenant has.
pub(crate) fn tenant(input: &TenantInput<'_>) -> Result<(), InputError> {
    let (keys, check, platform) = (&input.tenant.keys, &input.check, input.platform);
    let cores = platform.cpu.cores.value;
    check.whole("cores", keys.cores, (1, cores), "cores of the platform")?;
    way_mask(check, "core_way_mask", keys.core_way_mask.unwrap_or(1), platform.llc.ways.value)?;
    socket(check, "socket", keys.socket, platform)?;
    memory_node(check, "memory_node", keys.memory_node, platform)?;
    check.whole("mba_percent", keys.mba_percent, MBA_PERCENT, "percent")
}

/// A memory node that the platform has.
pub(crate) fn memory_node(
    check: &Check<'_>,
    key: &str,
    node: MemoryNode,
    platform: &Platform,
) -> Result<(), InputError> {
    match node {
        MemoryNode::OtherSocket if platform.upi.is_none() => {
            let allowed = "a second socket needs a platform with a [upi] table".into();
            Err(check.refuse(key, &"other-socket", allowed))
        }
        MemoryNode::Cxl if platform.cxl.is_none() => {
            let allowed = "needs a platform with a [cxl] table".into();
            Err(check.refuse(key, &"cxl", allowed))
        }
        _ => Ok(()),
    }
}

/// Names are part of the names of results.
fn names(scenario: &Scenario, check: &Check<'_>) -> Result<(), InputError> {
    let mut seen = BTreeSet::from([MAIN]);
    for (number, tenant) in scenario.tenant.iter().enumerate() {
        let (key, name) = (format!("tenant.{number}.name"), &tenant.keys.name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            let allowed = "allowed: letters, digits, - and _".into();
            return Err(check.refuse(&key, name, allowed));
        }
        if !seen.insert(name) {
            let allowed = "another tenant has this name; the top-level keys are `main`".into();
            return Err(check.refuse(&key, name, allowed));
        }
    }
    Ok(())
}

/// Each socket has enough cores for all that run there.
pub(crate) fn cores(
    scenario: &Scenario,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    let cores = platform.cpu.cores.value;
    for socket in 0..fit(SOCKETS) {
        let tenants = scenario.tenants().filter(|tenant| tenant.keys.socket == socket);
        let used: u32 = tenants.map(|tenant| tenant.keys.cores).sum();
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

/// Each socket has enough owner numbers for its own cores in use and all root ports of the machine.
pub(crate) fn owners(layout: &Layout, check: &Check<'_>) -> Result<(), InputError> {
    let (cores, ports) = (layout.cores[0].max(layout.cores[1]), layout.ports.len());
    let most = usize::from(Owner::MOST).saturating_sub(ports);
    if cores as usize > most {
        let allowed = format!(
            "allowed: up to {most} beside {ports} root ports: lower `cores`, or let devices share \
             ports"
        );
        return Err(check.refuse("cores", &cores, allowed));
    }
    Ok(())
}

/// A socket that the platform has.
pub(crate) fn socket(
    check: &Check<'_>,
    key: &str,
    socket: u32,
    platform: &Platform,
) -> Result<(), InputError> {
    check.whole(key, socket, (0, LAST_SOCKET), "")?;
    if socket > 0 && platform.upi.is_none() {
        let allowed = "a second socket needs a platform with a [upi] table".into();
        return Err(check.refuse(key, &socket, allowed));
    }
    Ok(())
}

/// A mask that CAT accepts for an LLC of `ways` ways.
pub(crate) fn way_mask(
    check: &Check<'_>,
    key: &str,
    mask: u32,
    ways: u32,
) -> Result<(), InputError> {
    // 64 bits, because all of 32 ways are a mask.
    let wide = u64::from(mask);
    let contiguous = mask != 0 && ((wide >> mask.trailing_zeros()) + 1).is_power_of_two();
    if contiguous && wide < 1 << ways {
        return Ok(());
    }
    let all = (1u64 << ways) - 1;
    let allowed = format!("allowed: 0x1 to {all:#x}, contiguous ways, as CAT requires");
    Err(check.refuse(key, &format!("{mask:#x}"), allowed))
}

/// Length of a run.
pub(crate) fn run(run: &RunKeys, check: &Check<'_>) -> Result<(), InputError> {
    check.whole("run.batch_packets", run.batch_packets, BATCH_PACKETS, "packets")?;
    check.whole("run.min_batches", run.min_batches, BATCHES, "batches")?;
    let what = "batches, no fewer than run.min_batches";
    check.whole("run.max_batches", run.max_batches, (run.min_batches, BATCHES.1), what)?;
    let points = run.hit_rate_interval_points;
    check.number("run.hit_rate_interval_points", points, INTERVAL)?;
    let percent = run.throughput_interval_percent;
    check.number("run.throughput_interval_percent", percent, INTERVAL)
}
