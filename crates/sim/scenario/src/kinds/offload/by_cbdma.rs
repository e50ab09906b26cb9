//! Data operations by a CBDMA: which keys have no effect with it, and which values it refuses.

use super::keys::{MoverName, OffloadKeys, OperationName};
use crate::contract::inert::Inert;
use crate::contract::input::TenantInput;
use crate::contract::tenant::TenantRef;
use crate::kinds::cbdma;
use crate::kinds::dsa::DsaKeys;
use crate::kinds::nic::NicKeys;
use crate::kinds::root_port::PortKeys;
use crate::kinds::ssd::SsdKeys;
use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::key_groups::names;
use std::collections::BTreeMap;

/// Keys without effect on a tenant whose data a CBDMA moves.
pub(super) fn inert_keys() -> Vec<Inert> {
    let of_offload = [
        ("queues_per_core", "cbdma.channels says how many channels each core has"),
        ("back_off", "a doorbell is never refused"),
        ("portal_addresses", "a channel has one register for its doorbell"),
        ("lock", "a channel has one client"),
        ("descriptors", "the entries of a ring are filled in each time"),
        ("cache_control", "descriptors of a channel have none: ddio_ways decides"),
    ];
    let of_offload = of_offload.into_iter();
    let mut inert: Vec<Inert> = of_offload
        .flat_map(|(key, because)| Inert::all([format!("offload.{key}")], because))
        .collect();
    inert.extend(Inert::all(names::<DsaKeys>(), "the data is moved by a CBDMA"));
    let others = names::<NicKeys>().into_iter().chain(names::<SsdKeys>());
    inert.extend(Inert::all(others, "copy engines need no other device"));
    inert.extend(Inert::all(["placement"], "it is about the lines of packets"));
    inert
}

/// Checks that a descriptor of a channel can state the operation.
///
/// # Errors
/// Names the first key whose value a channel cannot do.
pub(super) fn check(keys: &OffloadKeys, input: &TenantInput<'_>) -> Result<(), InputError> {
    let check = &input.check;
    if !matches!(keys.operation, OperationName::Copy | OperationName::Fill) {
        let name = serde_json::to_value(keys.operation).unwrap_or_default();
        let name = name.as_str().unwrap_or_default().to_owned();
        let allowed = "allowed: \"copy\" and \"fill\" with offload.by = \"cbdma\", whose channels \
                       do nothing else";
        return Err(check.refuse("offload.operation", &name, allowed.into()));
    }
    if keys.batch > 1 {
        let allowed = "allowed: 1 with offload.by = \"cbdma\", because a channel takes its \
                       descriptors from a ring and has no lists of them";
        return Err(check.refuse("offload.batch", &keys.batch, allowed.into()));
    }
    let most = cbdma::facts(input)?.max_transfer_bytes.value;
    check.whole("offload.transfer_bytes", keys.transfer_bytes, (1, most), "bytes of a descriptor")
}

/// Checks that each socket has one tenant at most that uses its CBDMA.
///
/// # Errors
/// Names the second tenant that would use the CBDMA of a socket.
pub(crate) fn check_together(
    tenants: &[TenantRef<'_>],
    check: &Check<'_>,
) -> Result<(), InputError> {
    let mut owners: BTreeMap<u32, &str> = BTreeMap::new();
    let uses_it = |tenant: &&TenantRef<'_>| tenant.table::<OffloadKeys>().by == MoverName::Cbdma;
    for tenant in tenants.iter().filter(uses_it) {
        let socket = tenant.table::<PortKeys>().socket(tenant.keys.socket);
        if let Some(owner) = owners.insert(socket, &tenant.keys.name) {
            let allowed = format!(
                "for tenant `{}` and for `{owner}`; allowed: one tenant of a socket, whose copy \
                 engine they would share",
                tenant.keys.name
            );
            return Err(check.refuse("offload.by", &"cbdma", allowed));
        }
    }
    Ok(())
}
