//! Which attributes each node has, on which parts [K sysfs.c, its visibility rules].

use crate::{Device, Driver, Node};
use dsa::hardware::capabilities::{grpcap, wqcap};

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

/// The names in a table, of which those with a star can be written.
fn table(names: &'static str) -> impl Iterator<Item = Attribute> {
    names
        .split_whitespace()
        .map(|name| Attribute { name: name.trim_end_matches('*'), writable: name.ends_with('*') })
}

/// Whether the part has what the attribute is about.
fn is_there(device: &Device, node: Node, attribute: &str) -> bool {
    let can = device.capabilities();
    match (node, attribute) {
        (Node::Device(_), "event_log_size") => can.has_event_log(),
        (Node::Device(_), "dsacaps") => can.version >= 0x300,
        (Node::Queue(..), "ats_disable") => can.queues_have(wqcap::ATS),
        (Node::Queue(..), "prs_disable") => can.queues_have(wqcap::PRS),
        (Node::Queue(..), "op_config") => can.queues_have(wqcap::OPERATIONS),
        (Node::Group(..), "desc_progress_limit" | "batch_progress_limit") => {
            can.groups_have(grpcap::PROGRESS_LIMIT)
        }
        _ => true,
    }
}

impl Driver {
    /// The attributes of a node, in the order of the tables; none if there is no such node.
    #[must_use]
    pub fn attributes(&self, node: Node) -> Vec<Attribute> {
        if !self.has(node) {
            return Vec::new();
        }
        let device = &self.devices[node.device()];
        let names = match node {
            Node::Device(_) => DEVICE,
            Node::Queue(..) => QUEUE,
            Node::Group(..) => GROUP,
            Node::Engine(..) => ENGINE,
        };
        table(names).filter(|attribute| is_there(device, node, attribute.name)).collect()
    }

    /// One of them.
    pub(crate) fn attribute(&self, node: Node, name: &str) -> Option<Attribute> {
        self.attributes(node).into_iter().find(|attribute| attribute.name == name)
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
