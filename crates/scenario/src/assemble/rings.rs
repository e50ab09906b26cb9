//! A tenant's queues in host memory, and its NIC's configuration.

use crate::platform::NicFacts;
use crate::scenario::Tenant;
use model::device::nic::NicConfig;
use model::device::nic::rings::{
    COMPLETION_BYTES, DOORBELL_BYTES, QueuePair, RX_DESCRIPTOR_BYTES, Ring, RxRing, TX_ENTRY_BYTES,
    TxRequest, TxRing,
};
use std::collections::VecDeque;
use units::{GbitPerSec, Picos};
use workload::host_memory::{Arena, HostMemory};

/// Room for all queues of a tenant.
pub fn arena(tenant: &Tenant, memory: &mut HostMemory) -> Arena {
    let bytes = ring_bytes(tenant) * u64::from(tenant.cores);
    // Rings do not cross pages: twice the room is always enough.
    Arena::new(memory.region(2 * bytes.next_multiple_of(memory.page().0)))
}

/// The configuration of a NIC.
#[must_use]
pub fn nic_config(nic: &NicFacts) -> NicConfig {
    NicConfig {
        line_rate: GbitPerSec(nic.line_rate_gbps.value),
        rx_buffer_bytes: nic.rx_buffer_bytes.value,
        rx_pipeline: Picos::from_ns(nic.rx_pipeline_ns.value),
        rx_descriptors_prefetched: nic.rx_descriptors_prefetched.value,
        rx_descriptors_per_fetch: nic.rx_descriptors_per_fetch.value,
        packets_per_completion: nic.packets_per_completion.value,
        completion_gather: Picos::from_ns(nic.completion_gather_ns.value),
        doorbell: Picos::from_ns(nic.doorbell_ns.value),
        read_pipeline: Picos::from_ns(nic.read_pipeline_ns.value),
        tx_pipeline: Picos::from_ns(nic.tx_pipeline_ns.value),
        tx_queue_entries: nic.tx_queue_entries.value,
        tx_packets_per_completion: nic.tx_packets_per_completion.value,
    }
}

/// Entries of the send ring for `packets` packets in bursts: what multi-packet requests need.
fn tx_entries(tenant: &Tenant) -> u32 {
    let packets = tenant.tx_descriptors.unwrap_or(256);
    // Requests of single packets need an entry each.
    packets.max(TxRequest::entries_for(u64::from(tenant.burst)) as u32)
}

fn ring_bytes(tenant: &Tenant) -> u64 {
    Ring::bytes(tenant.rx_descriptors, RX_DESCRIPTOR_BYTES + COMPLETION_BYTES)
        + Ring::bytes(tx_entries(tenant), TX_ENTRY_BYTES + COMPLETION_BYTES)
        + u64::from(tenant.internal_queue) * 8
        + 8 * units::LINE_BYTES
}

/// The queues of one core.
pub fn queue_pair(tenant: &Tenant, arena: &mut Arena) -> QueuePair {
    let mut ring = |entries: u32, entry_bytes: u64| Ring {
        first: arena.place(Ring::bytes(entries, entry_bytes)),
        entries,
        entry_bytes,
    };
    let rx_descriptors = ring(tenant.rx_descriptors, RX_DESCRIPTOR_BYTES);
    let rx_completions = ring(tenant.rx_descriptors, COMPLETION_BYTES);
    let requests = ring(tx_entries(tenant), TX_ENTRY_BYTES);
    let tx_completions = ring(tx_entries(tenant), COMPLETION_BYTES);
    QueuePair {
        rx: RxRing {
            descriptors: rx_descriptors,
            completions: rx_completions,
            doorbell: arena.place(DOORBELL_BYTES),
            posted: VecDeque::new(),
            completed: VecDeque::new(),
        },
        tx: TxRing {
            requests,
            completions: tx_completions,
            doorbell: arena.place(DOORBELL_BYTES),
            queued: VecDeque::new(),
            completed: VecDeque::new(),
        },
    }
}
