//! The interface between the rooms of applications and all that is above them.

use crate::contract::application_cores::ApplicationCores;
use crate::contract::build::Builder;
use crate::contract::inert::{Inert, keys_of_devices};
use crate::contract::input::TenantInput;
use crate::contract::metric::Metric;
use crate::contract::port::PortPlan;
use crate::contract::tenant::{MemoryNode, TenantMut, TenantRef};
use crate::text::error::InputError;
use model::tracer::Tracer;
use std::collections::BTreeMap;
use std::fmt::Debug;
use units::Picos;

/// Direction of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packets {
    /// There are no packets.
    None,
    /// The application only receives.
    Received,
    /// The application only sends.
    Sent,
    /// The application sends what it receives, or answers.
    Forwarded,
}

impl Packets {
    /// Whether packets arrive.
    #[must_use]
    pub(crate) fn are_received(self) -> bool {
        matches!(self, Self::Received | Self::Forwarded)
    }

    /// Whether packets leave, and a run therefore counts them.
    #[must_use]
    pub(crate) fn are_sent(self) -> bool {
        matches!(self, Self::Sent | Self::Forwarded)
    }
}

/// A part of a log of descriptors: those that are submitted between two long pauses, or those of like sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogPhase {
    /// The smallest of its sizes in bytes, if sizes divide the log.
    pub least_bytes: Option<u64>,
    /// Time at which the first was submitted.
    pub from: Picos,
    /// Time at which the last was submitted.
    pub until: Picos,
    /// Descriptors by operation, as `offload.operation` calls them.
    pub operations: BTreeMap<&'static str, u64>,
    /// Number of descriptors without data: the model has no time of a core for them.
    pub without_core_cost: u64,
}

/// The interface of each application's room: a value is the application with all of its configuration
/// resolved.
pub(crate) trait ApplicationModule: Sized + Clone + Debug {
    /// The direction of its packets.
    const PACKETS: Packets = Packets::None;
    /// Whether its memory can be filled before time zero as `initial_content = "store-filled"` asks.
    const FILLS_STORE: bool = false;
    /// Whether its cores move data by engines or by themselves: their results have metrics of that.
    const MOVES_DATA: bool = false;

    /// Metrics that only it has.
    const METRICS: &'static [Metric<ApplicationCores>] = &[];
    /// Whether the farthest tail of its latencies is reported: that of short and many requests.
    const HAS_FAR_TAIL: bool = false;

    /// The table of its keys in a scenario, if it has one.
    const TABLE: Option<&'static str> = None;

    /// Keys of devices and cores that have no effect on a tenant with it: by default, as it has no device,
    /// all keys of devices.
    fn inert(tenant: TenantRef<'_>) -> Vec<Inert> {
        keys_of_devices(tenant)
    }

    /// Memory nodes that it uses beside that of its tenant.
    fn memory_nodes(_tenant: TenantRef<'_>) -> Vec<MemoryNode> {
        Vec::new()
    }

    /// Records the application's defaults of keys that the tenant does not state.
    fn fill_in(_tenant: &mut TenantMut<'_>) {}

    /// Checks the keys of its table whose ranges do not depend on the tenant's application.
    ///
    /// # Errors
    /// Names the first value that is out of range.
    fn check_table(_input: &TenantInput<'_>) -> Result<(), InputError> {
        Ok(())
    }

    /// Leaves the operations that engines do to the cores, if the application's run is compared with
    /// one of cores alone. Returns whether it is.
    fn leave_to_cores(_tenant: &mut TenantMut<'_>) -> bool {
        false
    }

    /// Checks its keys, also against platform and devices, and resolves them.
    ///
    /// # Errors
    /// Names the first value that is out of range or contradicts another.
    fn plan(input: &TenantInput<'_>) -> Result<Self, InputError>;

    /// Its root ports with their devices.
    fn ports(&self) -> &[PortPlan] {
        &[]
    }

    /// Work after which a run ends: that of a replay, whose end is known.
    fn work_to_replay(&self) -> Option<u64> {
        None
    }

    /// The phases of the log of descriptors that it replays.
    fn phases_of_log(&self) -> &[LogPhase] {
        &[]
    }

    /// Puts software on the tenant's cores, and its memory into the machine's memory.
    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>);
}
