//! The limits of a run: how busy every resource was that requests queue for.

use crate::contract::limit::LimitKind;
use crate::contract::sample::Sample;
use crate::contract::tenant::MAIN;
use crate::plan::Plan;
use crate::plan::layout::Layout;
use crate::run::result::LimitResult;
use model::fabric::Resource;
use units::{CoreId, Id, Picos, RootPortId};

/// The utilisation of every resource in use, the busiest first. `resources` names those whose busy times
/// `measured` has, in the same order.
pub(super) fn limits(plan: &Plan, resources: &[Resource], measured: &Sample) -> Vec<LimitResult> {
    let layout = &plan.layout;
    let limit = |kind, resource, tenant: Option<usize>, busy: Picos| LimitResult {
        kind,
        resource,
        tenant: tenant.map(|number| layout.tenants[number].name.clone()),
        utilisation_percent: 100.0 * busy.as_ns() / measured.span.as_ns(),
    };
    let fabric = resources.iter().zip(&measured.busy).map(|(&resource, &busy)| {
        let name = resource.describe(|port: RootPortId| layout.ports[port.index()].name.clone());
        let tenant = resource.port().map(|port| layout.ports[port.index()].tenant);
        limit(kind(resource), name, tenant, busy)
    });
    let devices = plan.devices.iter().zip(&layout.devices).zip(&measured.devices);
    let devices = devices.flat_map(|((device, own), counted)| {
        let name = format!("{}{}", own.kind.key(), own.place.number);
        let tenant = own.tenant;
        let limits = device.limits(counted).into_iter();
        limits.map(move |part| limit(part.kind, part.named(&name), Some(tenant), part.busy))
    });
    let cores = (0..layout.tenants.len()).map(|tenant| {
        let (core, busy) = busiest_core(layout, tenant, measured);
        limit(LimitKind::Core, core, Some(tenant), busy)
    });
    let mut all: Vec<LimitResult> = cores.chain(fabric).chain(devices).collect();
    all.retain(|limit| limit.utilisation_percent > 0.0);
    all.sort_by(|one, other| other.utilisation_percent.total_cmp(&one.utilisation_percent));
    all
}

fn kind(resource: Resource) -> LimitKind {
    match resource {
        Resource::TowardsMemory(_) => LimitKind::LinkTowardsMemory,
        Resource::TowardsDevice(_) => LimitKind::LinkTowardsDevice,
        Resource::OwnWriteEntries(_) | Resource::WriteEntries(_) => LimitKind::WriteEntries,
        Resource::OwnReadEntries(_) | Resource::ReadEntries(_) => LimitKind::ReadEntries,
        Resource::PageWalks(_) => LimitKind::PageWalks,
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
