//! Checks of the keys of data operations, and which of them have no effect.

use super::by_cbdma;
use super::keys::{
    BUFFERS, DELTA_ENTRY, DELTA_PERCENT, DEPTH, DIF_BLOCK_BYTES, FaultsName, KernelName,
    MOST_MEMBERS, MOST_OFFSET_BYTES, MoverName, OffloadKeys, OperationName, PERCENT,
    PORTAL_ADDRESSES, TRANSFER_BYTES,
};
use crate::contract::inert::Inert;
use crate::contract::input::TenantInput;
use crate::contract::tenant::{TenantRef, memory_node};
use crate::kinds::cbdma::CbdmaKeys;
use crate::kinds::dsa::{self, DsaKeys, QueueModeName};
use crate::kinds::nic::NicKeys;
use crate::kinds::root_port::{IommuPages, PortKeys};
use crate::kinds::ssd::SsdKeys;
use crate::text::error::InputError;
use crate::text::key_groups::names;
use units::LINE_BYTES;

/// Regions of a set of buffers: source, second source or destination, third operand.
pub(super) const OPERANDS: usize = 3;
const MOST_MEMORY_BYTES: u64 = 16 << 30;

/// Keys of engines.
const OF_ENGINES: [&str; 11] = [
    "depth",
    "batch",
    "members_share_buffers",
    "queues_per_core",
    "wait",
    "back_off",
    "portal_addresses",
    "lock",
    "descriptors",
    "cache_control",
    "faults",
];

/// Keys without effect on a tenant.
pub(super) fn inert_keys(tenant: TenantRef<'_>) -> Vec<Inert> {
    let keys = tenant.table::<OffloadKeys>();
    let mut inert = Vec::new();
    let mut add = |names: &[&str], because: &str| {
        let named = names.iter().map(|name| format!("offload.{name}"));
        inert.extend(Inert::all(named, because));
    };
    if !keys.is_delta() {
        add(&["delta_percent"], "the operation has no delta record");
    }
    if keys.operation == OperationName::NoOp {
        let of_data = ["offset_bytes", "buffers", "data", "absent_percent", "transfer_bytes"];
        add(&of_data, "a no-op has no data");
    }
    match keys.fields() {
        (false, _) => add(&["source_node"], "the operation has no source"),
        (_, false) => add(&["destination_node"], "the operation has one source and no destination"),
        (true, true) => {}
    }
    let is_core = keys.by == MoverName::Core;
    let falls_back = keys.faults == FaultsName::Software && keys.absent_percent > 0;
    if !is_core && !falls_back {
        add(&["kernel"], "no core moves data");
    }
    if keys.batch == 1 {
        add(&["members_share_buffers"], "there are no batches");
    }
    if !is_core && keys.absent_percent == 0 {
        add(&["faults"], "all pages are present");
    }
    if !keys.writes() {
        add(&["cache_control"], "the operation writes no data");
    }
    if is_core {
        add(&OF_ENGINES, "the core moves the data itself");
        inert.extend(Inert::all(tenant.tables.device_keys(), "the core moves the data itself"));
        return inert;
    }
    if keys.by == MoverName::Cbdma {
        inert.extend(by_cbdma::inert_keys());
        return inert;
    }
    let modes = tenant.table::<DsaKeys>().dsa.modes();
    if !modes.contains(&QueueModeName::Dedicated) {
        let because = "no queue is dedicated: ENQCMD is answered, and needs no lock";
        add(&["portal_addresses", "lock"], because);
    }
    if !modes.contains(&QueueModeName::Shared) {
        add(&["back_off"], "no queue is shared: a dedicated one refuses nothing");
    }
    inert.extend(Inert::all(names::<CbdmaKeys>(), "the data is moved by a DSA"));
    let others = names::<NicKeys>().into_iter().chain(names::<SsdKeys>());
    inert.extend(Inert::all(others, "copy engines need no other device"));
    inert.extend(Inert::all(["placement"], "it is about the lines of packets"));
    inert.extend(dsa::inert_keys(tenant));
    inert
}

impl OffloadKeys {
    pub(super) fn check(&self, input: &TenantInput<'_>) -> Result<(), InputError> {
        let check = &input.check;
        check.whole("offload.transfer_bytes", self.transfer_bytes, TRANSFER_BYTES, "bytes")?;
        let offset = self.offset_bytes;
        check.whole("offload.offset_bytes", offset, (0, MOST_OFFSET_BYTES), "bytes")?;
        if !offset.is_multiple_of(LINE_BYTES) {
            let allowed = format!("allowed: multiples of a line of {LINE_BYTES} bytes");
            return Err(check.refuse("offload.offset_bytes", &offset, allowed));
        }
        check.whole("offload.buffers", self.buffers, BUFFERS, "sets of buffers")?;
        check.whole("offload.depth", self.depth, DEPTH, "descriptors in flight")?;
        check.whole("offload.cache_control", self.cache_control, (0, 1), "")?;
        check.whole("offload.delta_percent", self.delta_percent, DELTA_PERCENT, "percent")?;
        check.whole("offload.absent_percent", self.absent_percent, PERCENT, "percent")?;
        let addresses = self.portal_addresses;
        let what = "addresses, the lines of a portal";
        check.whole("offload.portal_addresses", addresses, PORTAL_ADDRESSES, what)?;
        let most = input.platform.dsa.as_ref().map_or(MOST_MEMBERS, |dsa| dsa.max_batch.value);
        check.whole("offload.batch", self.batch, (1, most), "operations of a batch")?;
        for (key, node) in [
            ("offload.source_node", self.source_node),
            ("offload.destination_node", self.destination_node),
        ] {
            memory_node(check, key, node.unwrap_or_default(), input.platform)?;
        }
        if self.by == MoverName::Cbdma {
            by_cbdma::check(self, input)?;
        }
        self.check_operation(input)?;
        self.check_faults(input)?;
        self.check_memory(input)
    }

    fn check_operation(&self, input: &TenantInput<'_>) -> Result<(), InputError> {
        let (check, bytes) = (&input.check, self.transfer_bytes);
        if self.is_dif() && !bytes.is_multiple_of(DIF_BLOCK_BYTES) {
            let allowed = format!("allowed: multiples of a block of {DIF_BLOCK_BYTES} bytes");
            return Err(check.refuse("offload.transfer_bytes", &bytes, allowed));
        }
        if self.is_delta() && !bytes.is_multiple_of(DELTA_ENTRY.1) {
            let allowed = format!("allowed: multiples of {} bytes", DELTA_ENTRY.1);
            return Err(check.refuse("offload.transfer_bytes", &bytes, allowed));
        }
        if self.operation == OperationName::NoOp && self.by == MoverName::Core {
            let allowed = "only with offload.by = \"dsa\": a core has no descriptors".into();
            return Err(check.refuse("offload.operation", &"no-op", allowed));
        }
        let plain = matches!(self.operation, OperationName::Copy | OperationName::Fill);
        match self.kernel {
            KernelName::RepMovsb if !plain => {
                let allowed = "string instructions only copy and fill".into();
                Err(check.refuse("offload.kernel", &"rep-movsb", allowed))
            }
            KernelName::NonTemporal if !self.writes() => {
                let allowed = "only of operations that write data".into();
                Err(check.refuse("offload.kernel", &"non-temporal", allowed))
            }
            _ => Ok(()),
        }
    }

    /// Faults need a translation, and the rest of an operation a uniform one.
    fn check_faults(&self, input: &TenantInput<'_>) -> Result<(), InputError> {
        if self.absent_percent == 0 || self.by == MoverName::Core {
            return Ok(());
        }
        let check = &input.check;
        if input.table::<PortKeys>().iommu == IommuPages::Off {
            let allowed = "allowed: 0 with iommu = \"off\", as physical pages are present";
            return Err(check.refuse(
                "offload.absent_percent",
                &self.absent_percent,
                allowed.into(),
            ));
        }
        if !self.ends_at_absent_page() {
            return Ok(());
        }
        let allowed = if self.batch > 1 {
            "not with offload.batch above 1: the record of a batch does not say where its members end"
        } else if !self.descriptor().operation.is_uniform() {
            "not with protection information or delta records: block or touch"
        } else {
            return Ok(());
        };
        let value = if self.faults == FaultsName::Software { "software" } else { "resubmit" };
        Err(check.refuse("offload.faults", &value, allowed.into()))
    }

    fn check_memory(&self, input: &TenantInput<'_>) -> Result<(), InputError> {
        let check = &input.check;
        let page = input.tenant.keys.page_size.bytes();
        if self.offset_bytes + self.operand_bytes() > page {
            let allowed = format!("allowed: operands within a page of {page} bytes; see page_size");
            return Err(check.refuse("offload.transfer_bytes", &self.transfer_bytes, allowed));
        }
        let cores = u64::from(input.tenant.keys.cores);
        let all = cores * u64::from(self.buffers) * OPERANDS as u64 * self.operand_bytes();
        check.whole("offload.buffers", all, (0, MOST_MEMORY_BYTES), "bytes of all buffers")
    }
}
