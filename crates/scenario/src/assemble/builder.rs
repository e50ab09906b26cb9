//! What a tenant's software, memory and queues are built into.

use crate::plan::{MachinePlan, TenantPlan};
use model::device::{DeviceId, DeviceQueues};
use model::fabric::Fabric;
use model::software::Software;
use model::tracer::Tracer;
use std::collections::BTreeMap;
use units::CoreId;
use workload::host_memory::HostMemory;

/// Software of the cores that have been built so far, by core.
pub(crate) type SoftwareByCore<T> = BTreeMap<CoreId, Box<dyn Software<T>>>;

/// Queues of the devices that have been built so far.
pub(crate) type DeviceQueuesById = BTreeMap<DeviceId, DeviceQueues>;

/// A tenant that is being built, and the parts of the machine that it is built into.
pub(crate) struct Builder<'m, T: Tracer> {
    /// The machine.
    pub machine: &'m MachinePlan,
    /// The tenant, its cores and devices numbered.
    pub tenant: &'m TenantPlan,
    /// Memory of its node.
    pub memory: &'m mut HostMemory,
    /// Caches, which hold what software touches before time zero.
    pub fabric: &'m mut Fabric<T>,
    /// Where its software goes.
    pub software: &'m mut SoftwareByCore<T>,
    /// Where the queues of its devices go.
    pub queues: &'m mut DeviceQueuesById,
}
