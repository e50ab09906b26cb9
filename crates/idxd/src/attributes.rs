//! Which attributes each node has, on which parts [K sysfs.c, its visibility rules].

use crate::{BusNode, Driver, IdxdDevice};
use dsa::hardware::capabilities::{grpcap, wqcap};
use std::sync::LazyLock;

/// A file in a node's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: &'static str,
    /// Whether it can be written.
    pub writable: bool,
}

const DEVICE: &str = "version gen_cap max_groups max_work_queues max_work_queues_size max_engines \
    max_batch_size max_transfer_size max_read_buffers max_tokens numa_node cdev_major clients \
    configurable pasid_enabled op_cap errors state cmd_status* read_buffer_limit* token_limit* \
    event_log_size* dsacaps";
const QUEUE: &str = "state clients occupancy cdev_minor group_id* mode* size* priority* threshold* \
    block_on_fault* type* name* driver_name* max_transfer_size* max_batch_size* ats_disable* \
    prs_disable* enqcmds_retries* op_config*";
const GROUP: &str = "work_queues engines read_buffers_reserved* tokens_reserved* \
    read_buffers_allowed* tokens_allowed* use_read_buffer_limit* use_token_limit* \
    traffic_class_a* traffic_class_b* desc_progress_limit* batch_progress_limit*";
const ENGINE: &str = "group_id*";

/// The attributes of a table, of which those with a star can be written.
fn table(names: &'static str) -> Vec<Attribute> {
    let attribute = |name: &'static str| Attribute {
        name: name.trim_end_matches('*'),
        writable: name.ends_with('*'),
    };
    names.split_whitespace().map(attribute).collect()
}

/// All that a node of a kind may have.
fn attributes_of(node: BusNode) -> &'static [Attribute] {
    static TABLES: LazyLock<[Vec<Attribute>; 4]> =
        LazyLock::new(|| [DEVICE, QUEUE, GROUP, ENGINE].map(table));
    let [device, queue, group, engine] = &*TABLES;
    match node {
        BusNode::Device(_) => device,
        BusNode::Queue(..) => queue,
        BusNode::Group(..) => group,
        BusNode::Engine(..) => engine,
    }
}

/// Whether the part has what the attribute is about.
fn is_there(device: &IdxdDevice, node: BusNode, attribute: &str) -> bool {
    let can = device.capabilities();
    if device.part.without.contains(&attribute) {
        return false;
    }
    match (node, attribute) {
        (BusNode::Device(_), "event_log_size") => can.has_event_log(),
        (BusNode::Device(_), "dsacaps") => can.version >= 0x300,
        (BusNode::Queue(..), "ats_disable") => can.queues_have(wqcap::ATS),
        (BusNode::Queue(..), "prs_disable") => can.queues_have(wqcap::PRS),
        (BusNode::Queue(..), "op_config") => can.queues_have(wqcap::OPERATIONS),
        (BusNode::Group(..), "desc_progress_limit" | "batch_progress_limit") => {
            can.groups_have(grpcap::PROGRESS_LIMIT)
        }
        _ => true,
    }
}

impl Driver {
    /// The attributes of a node, in the order of the tables; none if there is no such node.
    #[must_use]
    pub fn attributes(&self, node: BusNode) -> Vec<Attribute> {
        if !self.has(node) {
            return Vec::new();
        }
        let device = &self.devices[node.device()];
        let all = attributes_of(node).iter().copied();
        all.filter(|attribute| is_there(device, node, attribute.name)).collect()
    }

    /// One of them.
    pub(crate) fn attribute(&self, node: BusNode, name: &str) -> Option<Attribute> {
        if !self.has(node) {
            return None;
        }
        let found = attributes_of(node).iter().find(|attribute| attribute.name == name)?;
        is_there(&self.devices[node.device()], node, found.name).then_some(*found)
    }
}

/// The name that an attribute of read buffers has now; older kernels called them tokens.
pub(crate) fn current_name(attribute: &str) -> &str {
    match attribute {
        "max_tokens" => "max_read_buffers",
        "token_limit" => "read_buffer_limit",
        "tokens_reserved" => "read_buffers_reserved",
        "tokens_allowed" => "read_buffers_allowed",
        "use_token_limit" => "use_read_buffer_limit",
        other => other,
    }
}

/// The name that an attribute of read buffers had on older kernels.
#[must_use]
pub fn former_name(attribute: &str) -> Option<&'static str> {
    match attribute {
        "max_read_buffers" => Some("max_tokens"),
        "read_buffer_limit" => Some("token_limit"),
        "read_buffers_reserved" => Some("tokens_reserved"),
        "read_buffers_allowed" => Some("tokens_allowed"),
        "use_read_buffer_limit" => Some("use_token_limit"),
        _ => None,
    }
}
