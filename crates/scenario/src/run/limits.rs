//! What limited a run: how busy every resource was that requests queue for.

use crate::layout::Layout;
use crate::plan::Plan;
use crate::result::{LimitKind, LimitResult};
use crate::run::sample::Sample;
use crate::scenario::MAIN;
use model::fabric::Resource;
use units::{CoreId, Id, Picos, RootPortId};

/// Every resource, the busiest first. `resources` names those whose times `measured` has.
pub(super) fn limits(plan: &Plan, resources: &[Resource], measured: &Sample) -> Vec<LimitResult> {
    let percent = |busy: Picos| 100.0 * busy.as_ns() / measured.span.as_ns();
    let limit =
        |kind, resource, busy| LimitResult { kind, resource, utilisation_percent: percent(busy) };
    let layout = &plan.layout;
    let fabric = resources.iter().zip(&measured.busy).map(|(&resource, &busy)| {
        let name = resource.describe(|port: RootPortId| layout.ports[port.index()].name.clone());
        limit(kind(resource), name, busy)
    });
    let devices = plan.devices.iter().zip(&layout.devices).zip(&measured.devices);
    let devices = devices.flat_map(|((device, layout), counted)| {
        let name = format!("{}{}", layout.kind.key(), layout.number);
        let limits = device.limits(counted).into_iter();
        limits.map(move |own| limit(LimitKind::Device, own.named(&name), own.busy))
    });
    let cores = (0..layout.tenants.len()).map(|tenant| {
        let (core, busy) = busiest_core(layout, tenant, measured);
        limit(LimitKind::Core, core, busy)
    });
    let mut all: Vec<LimitResult> = cores.chain(fabric).chain(devices).collect();
    all.retain(|limit| limit.utilisation_percent > 0.0);
    all.sort_by(|one, other| other.utilisation_percent.total_cmp(&one.utilisation_percent));
    all
}

fn kind(resource: Resource) -> LimitKind {
    match resource {
        Resource::TowardsMemory(_) | Resource::TowardsDevice(_) => LimitKind::Link,
        Resource::OwnWriteEntries(_)
        | Resource::OwnReadEntries(_)
        | Resource::WriteEntries(_)
        | Resource::ReadEntries(_) => LimitKind::Entries,
        Resource::PageWalks(_) => LimitKind::Translation,
        Resource::MemoryNode(_) => LimitKind::Memory,
        Resource::Upi => LimitKind::SocketLink,
    }
}

/// The core of a tenant that neither polled empty queues nor waited for a send ring for most of the time.
fn busiest_core(layout: &Layout, tenant: usize, measured: &Sample) -> (String, Picos) {
    let tenant = &layout.tenants[tenant];
    let busy = |core: &CoreId| {
        let account = &measured.software[core.index()];
        measured.span.saturating_sub(account.idle + account.sender_blocked)
    };
    let busiest = tenant.cores.iter().map(|core| (busy(core), core)).max_by_key(|(busy, _)| *busy);
    let (busy, core) = busiest.map_or((Picos::ZERO, 0), |(busy, core)| (busy, core.index()));
    let of = if tenant.name == MAIN { String::new() } else { format!(" of {}", tenant.name) };
    (format!("core {core}{of}"), busy)
}
