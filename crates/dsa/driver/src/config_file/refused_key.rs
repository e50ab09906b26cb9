//! The key that caused a refusal of the device, for which the device has only a code.

use crate::{BusNode, CommandStatus, IdxdDevice, WorkQueueMode};

/// A key that was refused, its value, and the allowed values.
pub(super) struct RefusedKey {
    pub node: BusNode,
    pub attribute: &'static str,
    pub value: String,
    pub allowed: String,
}

/// The first key because of which a device is not enabled.
pub(super) fn for_device(
    device: &IdxdDevice,
    node: BusNode,
    status: CommandStatus,
) -> Option<RefusedKey> {
    let number = node.device();
    match status {
        CommandStatus::HALF_A_GROUP => (0..device.groups.len()).find_map(|group| {
            let queues = device.queues_of(group).next().is_some();
            let engines = device.engines_of(group).next().is_some();
            let (attribute, allowed) = match (queues, engines) {
                (true, false) => ("grouped_engines", "an engine or more, for a group with queues"),
                (false, true) => {
                    ("grouped_workqueues", "a queue or more, for a group with engines")
                }
                _ => return None,
            };
            let node = BusNode::Group(number, group);
            Some(RefusedKey { node, attribute, value: String::new(), allowed: allowed.to_owned() })
        }),
        CommandStatus::READ_BUFFERS => for_read_buffers(device, number),
        CommandStatus::DRIVER_NO_SHARED => {
            let is_shared = |queue: &crate::IdxdQueue| {
                queue.group.is_some() && queue.mode == WorkQueueMode::Shared
            };
            let queue = device.queues.iter().position(is_shared)?;
            let node = BusNode::Queue(number, queue);
            let allowed = "dedicated, where shared virtual memory is off".to_owned();
            Some(RefusedKey { node, attribute: "mode", value: "shared".to_owned(), allowed })
        }
        _ => None,
    }
}

/// The group whose read buffers are too few, or more than the other groups leave.
fn for_read_buffers(device: &IdxdDevice, number: usize) -> Option<RefusedKey> {
    let free = device.free_read_buffers();
    let mut limited = 0;
    for (index, group) in device.groups.iter().enumerate() {
        let least = 4 * device.engines_of(index).count();
        if least == 0 {
            continue;
        }
        limited += if group.use_read_buffer_limit { least } else { 0 };
        let (from, to) =
            (least.max(group.read_buffers_reserved.into()), group.read_buffers_reserved + free);
        let allowed = usize::from(group.read_buffers_allowed);
        if !(from..=to.into()).contains(&allowed) {
            return Some(RefusedKey {
                node: BusNode::Group(number, index),
                attribute: "read_buffers_allowed",
                value: group.read_buffers_allowed.to_string(),
                allowed: format!("{from} to {to}, with what other groups have reserved"),
            });
        }
    }
    Some(RefusedKey {
        node: BusNode::Device(number),
        attribute: "read_buffer_limit",
        value: device.read_buffer_limit.to_string(),
        allowed: format!("{limited} or more: 4 for each engine of the groups that use it"),
    })
}

/// The attribute of a queue that a status refers to.
pub(super) fn for_queue(status: CommandStatus) -> Option<&'static str> {
    Some(match status {
        CommandStatus::DRIVER_NO_GROUP => "group_id",
        CommandStatus::DRIVER_NO_NAME => "name",
        CommandStatus::DRIVER_NO_THRESHOLD => "threshold",
        CommandStatus::DRIVER_NO_SVM | CommandStatus::QUEUE_MODE => "mode",
        CommandStatus::DRIVER_NO_DRIVER_NAME => "driver_name",
        CommandStatus::DRIVER_NO_IOMMU => "type",
        CommandStatus::QUEUE_SIZE => "size",
        CommandStatus::QUEUE_PRIORITY => "priority",
        CommandStatus::QUEUE_BLOCK_ON_FAULT => "block_on_fault",
        CommandStatus::QUEUE_BATCH => "max_batch_size",
        CommandStatus::QUEUE_TRANSFER => "max_transfer_size",
        CommandStatus::QUEUE_PRS => "prs_disable",
        _ => return None,
    })
}
