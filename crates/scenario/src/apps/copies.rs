//! What applications that copy have in common: who copies, the loop of a core, the queues of engines.

use crate::devices::dsa::offloaders::{BackOffName, OffloadersWanted, WaitName};
use crate::input::error::InputError;
use crate::plan::TenantInput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Cycles;
use workload::driver::core_mover::{CoreMoverConfig, Stores};
use workload::driver::offloader::Origin;

/// Who copies data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopierName {
    /// The core itself.
    #[default]
    Core,
    /// A data streaming accelerator.
    Dsa,
}

/// The loop of a core that copies. The application needs it for what is too small for engines too.
pub(super) fn core_copy(input: &TenantInput<'_>) -> Result<CoreMoverConfig, InputError> {
    let facts = input.platform.core_kernels.as_ref().ok_or_else(|| {
        let allowed = "needs a platform with a [core_kernels] table, such as sapphire-rapids-56";
        let application = input.tenant.keys.application.name();
        input.check.refuse("application", &application, allowed.into())
    })?;
    Ok(CoreMoverConfig {
        call: Cycles(facts.call_cycles.value),
        line: Cycles(facts.copy_cycles.value),
        stores: Stores::Cached,
    })
}

/// Engines whose cores poll, without a lock, by the key `by`.
pub(super) fn polled_engines(
    by: &'static str,
    queues_per_core: (&'static str, u32),
    (depth, most_members): (u32, u32),
) -> OffloadersWanted {
    OffloadersWanted {
        key: by,
        depth,
        most_members,
        queues_per_core,
        wait: WaitName::Poll,
        back_off: BackOffName::Pause,
        portal_addresses: 1,
        lock: ("", false),
        origin: Origin::FilledIn,
    }
}
