//! The parts of the machine that receive a tenant's software, memory and queues.

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

/// A tenant that is being built, and the parts of the machine that receive it.
pub(crate) struct Builder<'m, T: Tracer> {
    /// The machine.
    pub machine: &'m MachinePlan,
    /// The tenant, its cores and devices numbered.
    pub tenant: &'m TenantPlan,
    /// Memory of its node.
    pub memory: &'m mut HostMemory,
    /// Caches, which hold lines that software accesses before time zero.
    pub fabric: &'m mut Fabric<T>,
    /// Receives its software.
    pub software: &'m mut SoftwareByCore<T>,
    /// Receives the queues of its devices.
    pub queues: &'m mut DeviceQueuesById,
}
