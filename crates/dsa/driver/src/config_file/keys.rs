//! The keys of each kind of object.

use crate::BusNode;

/// Form of the values of a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// A whole number, no less than this.
    Number { least: i64 },
    /// One of some words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
    /// Any value: the key describes the device, and sets nothing.
    Shown,
    /// Structure of the file, which is read elsewhere.
    Structure,
}

/// A key of an object: the name of an attribute, if the key sets one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub name: &'static str,
    pub form: Form,
}

impl Key {
    pub fn is_set(&self) -> bool {
        !matches!(self.form, Form::Shown | Form::Structure)
    }
}

const fn key(name: &'static str, form: Form) -> Key {
    Key { name, form }
}

const NATURAL: Form = Form::Number { least: 0 };
const OR_NONE: Form = Form::Number { least: -1 };

const DEVICE: &[Key] = &[
    key("dev", Form::Structure),
    key("groups", Form::Structure),
    key("ungrouped_workqueues", Form::Structure),
    key("ungrouped workqueues", Form::Structure),
    key("ungrouped_engines", Form::Structure),
    key("state", Form::Structure),
    key("read_buffer_limit", NATURAL),
    key("event_log_size", NATURAL),
    key("max_groups", Form::Shown),
    key("max_work_queues", Form::Shown),
    key("max_engines", Form::Shown),
    key("work_queue_size", Form::Shown),
    key("numa_node", Form::Shown),
    key("errors", Form::Shown),
    key("op_cap", Form::Shown),
    key("gen_cap", Form::Shown),
    key("version", Form::Shown),
    key("max_read_buffers", Form::Shown),
    key("max_tokens", Form::Shown),
    key("max_batch_size", Form::Shown),
    key("ims_size", Form::Shown),
    key("max_transfer_size", Form::Shown),
    key("configurable", Form::Shown),
    key("pasid_enabled", Form::Shown),
    key("cdev_major", Form::Shown),
    key("clients", Form::Shown),
];

const GROUP: &[Key] = &[
    key("dev", Form::Structure),
    key("grouped_workqueues", Form::Structure),
    key("grouped_engines", Form::Structure),
    key("read_buffers_reserved", NATURAL),
    key("read_buffers_allowed", NATURAL),
    key("use_read_buffer_limit", NATURAL),
    key("traffic_class_a", OR_NONE),
    key("traffic_class_b", OR_NONE),
    key("desc_progress_limit", NATURAL),
    key("batch_progress_limit", NATURAL),
];

const QUEUE: &[Key] = &[
    key("dev", Form::Structure),
    key("state", Form::Structure),
    key("mode", Form::Word(&["shared", "dedicated"])),
    key("size", NATURAL),
    key("group_id", OR_NONE),
    key("priority", NATURAL),
    key("block_on_fault", NATURAL),
    key("max_batch_size", NATURAL),
    key("max_transfer_size", NATURAL),
    key("type", Form::Word(&["none", "kernel", "user"])),
    key("driver_name", Form::Text),
    key("name", Form::Text),
    key("threshold", NATURAL),
    key("ats_disable", NATURAL),
    key("prs_disable", NATURAL),
    key("op_config", Form::Text),
    key("enqcmds_retries", NATURAL),
    key("cdev_minor", Form::Shown),
    key("clients", Form::Shown),
    key("occupancy", Form::Shown),
];

const ENGINE: &[Key] = &[key("dev", Form::Structure), key("group_id", OR_NONE)];

/// The keys of a node's object.
pub(super) fn for_node(node: BusNode) -> &'static [Key] {
    match node {
        BusNode::Device(_) => DEVICE,
        BusNode::Group(..) => GROUP,
        BusNode::Queue(..) => QUEUE,
        BusNode::Engine(..) => ENGINE,
    }
}

/// The key of a node's object with this name; `None` if it is not allowed there.
pub(super) fn find(node: BusNode, name: &str) -> Option<&'static Key> {
    for_node(node).iter().find(|key| key.name == name)
}
