//! A tenant as results record it: all keys of all groups in one table, in a fixed order.

use super::Tenant;
use crate::contract::tenant::TenantKeys;
use crate::kinds::KindKeys;
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The order of keys in results. Keys that are not listed follow.
const ORDER: [&str; 41] = [
    "name",
    "application",
    "cores",
    "rx_descriptors",
    "packet_bytes",
    "buffer_bytes",
    "offered_gbps",
    "ddio_ways",
    "flow_control",
    "ddio_keeps_descriptors",
    "evict_on_dma_read",
    "socket",
    "nic_socket",
    "memory_node",
    "iommu",
    "rng_calls",
    "core_way_mask",
    "tx_descriptors",
    "internal_queue",
    "burst",
    "send_at_packets",
    "send_rest_after_polls",
    "pool_buffers",
    "pool_cache",
    "page_size",
    "initial_content",
    "nic",
    "ssd",
    "block_io",
    "warm_buffers",
    "mba_percent",
    "placement",
    "dynamic_ways",
    "traffic",
    "ping_pong",
    "l3_forward",
    "packet_sink",
    "packet_source",
    "chain",
    "key_value",
    "memory_kernel",
];

/// All groups as one table.
#[derive(Serialize)]
struct AllKeys<'t> {
    #[serde(flatten)]
    keys: &'t TenantKeys,
    #[serde(flatten)]
    kinds: &'t KindKeys,
}

/// Writes a tenant's keys in their order.
pub(super) fn serialize<S: Serializer>(tenant: &Tenant, serializer: S) -> Result<S::Ok, S::Error> {
    let Tenant { keys, kinds, stated: _ } = tenant;
    let text = serde_json::to_string(&AllKeys { keys, kinds }).map_err(Error::custom)?;
    let mut values: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(&text).map_err(Error::custom)?;
    let mut map = serializer.serialize_map(Some(values.len()))?;
    for key in ORDER {
        if let Some(value) = values.remove(key) {
            map.serialize_entry(key, &value)?;
        }
    }
    for (key, value) in &values {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::key_groups::names;

    #[test]
    fn every_listed_key_is_one_of_a_tenant_s() {
        let known = names::<Tenant>();
        for key in ORDER {
            assert!(known.iter().any(|name| name == key), "{key}");
        }
    }
}
