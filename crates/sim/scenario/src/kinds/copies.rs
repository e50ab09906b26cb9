//! Common pieces of applications that copy: the copier, the loop of a core, the engines of all cores.

use crate::contract::build::Builder;
use crate::contract::inert::{Inert, keys_of_devices};
use crate::contract::input::TenantInput;
use crate::contract::tenant::{PageSize, TenantMut, TenantRef};
use crate::facts::platform::CoreKernelFacts;
use crate::kinds::cbdma::CbdmaKeys;
use crate::kinds::dsa::offloaders::{BackOffName, OffloaderNeeds, OffloadersPlan, WaitName};
use crate::kinds::dsa::{self, DsaKeys, QueueModeName};
use crate::kinds::nic::NicKeys;
use crate::kinds::root_port::{IommuPages, PortKeys};
use crate::kinds::ssd::SsdKeys;
use crate::text::error::InputError;
use crate::text::key_groups::names;
use model::device::DeviceId;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::vec;
use units::Cycles;
use workload::driver::core_mover::{CoreMoverConfig, Stores};
use workload::driver::offloader::{DescriptorMemory, Offloader};

/// Copier of data: the core or a copy engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CopierName {
    /// The core itself.
    #[default]
    Core,
    /// A data streaming accelerator.
    Dsa,
}

/// The copy loop of a core. Applications with engines need it too, for copies that are too small for engines.
///
/// # Errors
/// If the platform has no `[core_kernels]` table.
pub(super) fn core_copy(input: &TenantInput<'_>) -> Result<CoreMoverConfig, InputError> {
    let facts = core_kernels(input, "application", &input.tenant.application())?;
    Ok(cached_loop(facts, facts.copy_cycles.value))
}

/// The CRC loop of a core, for which the tenant asks by `key` = `value`.
///
/// # Errors
/// If the platform has no `[core_kernels]` table.
pub(super) fn core_crc(
    input: &TenantInput<'_>,
    key: &str,
    value: &str,
) -> Result<CoreMoverConfig, InputError> {
    let facts = core_kernels(input, key, value)?;
    Ok(cached_loop(facts, facts.crc_cycles.value))
}

/// Costs of a core's loops on the platform, for which the tenant asks by `key` = `value`.
///
/// # Errors
/// If the platform has no `[core_kernels]` table.
pub(super) fn core_kernels<'a>(
    input: &TenantInput<'a>,
    key: &str,
    value: &str,
) -> Result<&'a CoreKernelFacts, InputError> {
    input.platform.core_kernels.as_ref().ok_or_else(|| {
        let allowed = "needs a platform with a [core_kernels] table, such as sapphire-rapids-56";
        input.check.refuse(key, &value, allowed.into())
    })
}

fn cached_loop(facts: &CoreKernelFacts, line_cycles: f64) -> CoreMoverConfig {
    CoreMoverConfig {
        call: Cycles(facts.call_cycles.value),
        line: Cycles(line_cycles),
        stores: Stores::Cached,
    }
}

/// Needs of cores that poll for completions and take no lock. Messages name the key `by`.
pub(super) fn polled_engines(
    by: &'static str,
    queues_per_core: (&'static str, u32),
    (depth, most_members): (u32, u32),
) -> OffloaderNeeds {
    OffloaderNeeds {
        key: by,
        depth,
        most_members,
        queues_per_core,
        wait: WaitName::Poll,
        back_off: BackOffName::Pause,
        portal_addresses: 1,
        lock: ("", false),
        origin: DescriptorMemory::FilledIn,
    }
}

/// The offloaders of an application whose copies engines make; `None` if its cores copy.
///
/// # Errors
/// If a key of the engines is out of range, or the platform has no copy engine.
pub(super) fn engines(
    input: &TenantInput<'_>,
    by: CopierName,
    needs: &OffloaderNeeds,
) -> Result<Option<OffloadersPlan>, InputError> {
    match by {
        CopierName::Core => Ok(None),
        CopierName::Dsa => OffloadersPlan::resolve(input, needs).map(Some),
    }
}

/// Builds the offloader of each core on the first of `devices`; empty if cores copy.
pub(super) fn offloaders<T: Tracer>(
    engines: Option<&OffloadersPlan>,
    builder: &mut Builder<'_, T>,
    devices: &[DeviceId],
) -> vec::IntoIter<Offloader> {
    engines.map(|engines| engines.build(builder, devices)).unwrap_or_default().into_iter()
}

/// Keys without effect on programs that copy. Such programs use no device but copy engines.
pub(super) fn inert_program_keys(tenant: TenantRef<'_>, by: CopierName) -> Vec<Inert> {
    if by == CopierName::Core {
        return keys_of_devices(tenant);
    }
    let others = [names::<NicKeys>(), names::<SsdKeys>(), names::<CbdmaKeys>()].concat();
    let mut inert: Vec<Inert> = Inert::all(others, "copy engines need no other device").collect();
    inert.extend(Inert::all(["placement"], "it is about the lines of packets"));
    inert.extend(dsa::inert_keys(tenant));
    inert
}

/// Records the defaults of programs for which engines copy: addresses are translated by the programs' own
/// pages, and cores share queues.
pub(super) fn fill_in_program_keys(tenant: &mut TenantMut<'_>, by: CopierName) {
    if by == CopierName::Core {
        return;
    }
    if !tenant.stated.contains("iommu") {
        tenant.table::<PortKeys>().iommu = match tenant.keys.page_size {
            PageSize::Huge2M => IommuPages::Huge2M,
            PageSize::Huge1G => IommuPages::Huge1G,
        };
    }
    share_queues(tenant);
}

/// Lets cores share queues of engines, unless the tenant states their mode.
pub(super) fn share_queues(tenant: &mut TenantMut<'_>) {
    if !tenant.stated.contains("dsa.queue_mode") {
        tenant.table::<DsaKeys>().dsa.queue_mode = QueueModeName::Shared;
    }
}
