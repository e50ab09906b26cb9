//! The parts of the machine that receive a tenant's software, memory and queues.

use crate::contract::filling::Filling;
use crate::contract::machine::MachinePlan;
use crate::contract::tenant::MemoryNode;
use model::device::{DeviceId, DeviceQueues};
use model::software::Software;
use model::tracer::Tracer;
use std::collections::BTreeMap;
use units::narrow::usize_from;
use units::{Bytes, CoreId, RootPortId};
use workload::host_memory::HostMemory;

/// Cores, devices and memory of a tenant.
#[derive(Clone, Debug)]
pub(crate) struct TenantResources {
    /// Cores of the tenant.
    pub cores: Vec<CoreId>,
    /// Devices of the tenant.
    pub devices: Vec<DeviceId>,
    /// Root ports of the devices.
    pub ports: Vec<RootPortId>,
    /// The memory node of its buffers and rings.
    pub node: usize,
    /// Pages of its buffers and rings.
    pub page: Bytes,
}

/// Software of the cores that have been built so far, by core.
pub(crate) type SoftwareByCore<T> = BTreeMap<CoreId, Box<dyn Software<T>>>;

/// Queues of the devices that have been built so far.
pub(crate) type DeviceQueuesById = BTreeMap<DeviceId, DeviceQueues>;

/// A tenant that is being built, and the parts of the machine that receive it.
pub(crate) struct Builder<'m, T: Tracer> {
    /// Plan of the machine that is built.
    pub machine: &'m MachinePlan,
    /// The tenant, its cores and devices numbered.
    pub tenant: &'m TenantResources,
    /// Memory of the tenant's own node.
    pub memory: &'m mut HostMemory,
    /// Memory of the other nodes, by number; none for its own.
    pub elsewhere: Vec<Option<&'m mut HostMemory>>,
    /// Caches, which hold lines that software accesses before time zero.
    pub caches: &'m mut Filling<T>,
    /// Software of each core; receives that of the tenant.
    pub software: &'m mut SoftwareByCore<T>,
    /// Receives the queues of its devices.
    pub queues: &'m mut DeviceQueuesById,
}

impl<T: Tracer> Builder<'_, T> {
    /// Memory of a node, seen from a core of `socket`; that of the tenant's own node by default.
    pub(crate) fn memory_of(&mut self, node: Option<MemoryNode>, socket: u32) -> &mut HostMemory {
        let number = node.map(|node| usize_from(self.machine.nodes.number(node, socket)));
        let other = number.and_then(|number| self.elsewhere[number].as_deref_mut());
        other.unwrap_or(self.memory)
    }
}
