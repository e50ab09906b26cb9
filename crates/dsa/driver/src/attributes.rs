//! The attributes of each node, and the conditions for them [K sysfs.c, its visibility rules].

use crate::{BusNode, Driver, IdxdDevice};
use dsa::hardware::capabilities::{grpcap, wqcap};
use std::sync::LazyLock;

/// An attribute: a file in a node's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Name of the attribute's file.
    pub name: &'static str,
    /// Whether programs can write the attribute.
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

/// Parses the names of a table. A star marks attributes that can be written.
fn table(names: &'static str) -> Vec<Attribute> {
    let attribute = |name: &'static str| Attribute {
        name: name.trim_end_matches('*'),
        writable: name.ends_with('*'),
    };
    names.split_whitespace().map(attribute).collect()
}

/// All attributes that a node of its kind may have.
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

/// Whether a device has an attribute, by its capabilities and its kernel.
fn has_attribute(device: &IdxdDevice, node: BusNode, attribute: &str) -> bool {
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
    /// The attributes of a node, in the order of the tables; empty if the node does not exist.
    #[must_use]
    pub fn attributes(&self, node: BusNode) -> Vec<Attribute> {
        if !self.has(node) {
            return Vec::new();
        }
        let device = &self.devices[node.device()];
        let all = attributes_of(node).iter().copied();
        all.filter(|attribute| has_attribute(device, node, attribute.name)).collect()
    }

    /// The attribute of a node with this name; `None` if the node does not have it.
    pub(crate) fn attribute(&self, node: BusNode, name: &str) -> Option<Attribute> {
        if !self.has(node) {
            return None;
        }
        let found = attributes_of(node).iter().find(|attribute| attribute.name == name)?;
        has_attribute(&self.devices[node.device()], node, found.name).then_some(*found)
    }
}

/// The current name of an attribute of read buffers, which older kernels call tokens; other names are
/// unchanged.
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

/// The name that an attribute of read buffers has on older kernels; `None` for other attributes.
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
