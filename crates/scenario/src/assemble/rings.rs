//! A tenant's queues in host memory.

use crate::platform::NicFacts;
use crate::scenario::{Application, Tenant};
use workload::driver::queues::QueueShape;
use workload::host_memory::{Arena, HostMemory};

/// Room for the application's own buffer of a core: no larger than a packet buffer may be.
fn application_bytes(application: Application) -> u64 {
    match application {
        Application::PingPong => 64 << 10,
        _ => 0,
    }
}

/// A queue pair of a tenant, as the driver of its NIC lays it out.
#[must_use]
pub fn queue_shape(tenant: &Tenant, nic: &NicFacts) -> QueueShape {
    let default = || nic.default_tx_packets(tenant.cores);
    let tx_packets = tenant.tx_descriptors.unwrap_or_else(default);
    nic.queue_shape(tenant.cores, tenant.rx_descriptors, tx_packets)
}

/// Room for all queues of a tenant.
pub fn arena(tenant: &Tenant, shape: &QueueShape, memory: &mut HostMemory) -> Arena {
    let own = application_bytes(tenant.application);
    let bytes = shape.bytes() + u64::from(tenant.internal_queue) * 8 + own;
    let bytes = bytes * u64::from(tenant.cores);
    // Rings do not cross pages: twice the room is always enough.
    Arena::new(memory.region(2 * bytes.next_multiple_of(memory.page().0)))
}
