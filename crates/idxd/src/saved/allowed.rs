//! What a value may be that a driver refuses with no more than EINVAL.

use crate::device::LEAST_EVENT_LOG;
use crate::queue::MOST_PRIORITY;
use crate::store::{MOST_PROGRESS_LIMIT, MOST_TRAFFIC_CLASS};
use crate::{Device, Node};

/// The range of an attribute as things are; `None` for those that are no numbers.
pub(super) fn range(device: &Device, node: Node, attribute: &str) -> Option<String> {
    let can = device.capabilities();
    let (least, most): (i64, u64) = match (node, attribute) {
        (Node::Device(_), "read_buffer_limit") => (0, can.read_buffers.into()),
        (Node::Device(_), "event_log_size") => (LEAST_EVENT_LOG.into(), u16::MAX.into()),
        (Node::Group(..), "traffic_class_a" | "traffic_class_b") => (0, MOST_TRAFFIC_CLASS.into()),
        (Node::Group(..), "desc_progress_limit" | "batch_progress_limit") => {
            (0, MOST_PROGRESS_LIMIT.into())
        }
        (Node::Queue(..) | Node::Engine(..), "group_id") => (-1, u64::from(can.groups) - 1),
        (Node::Queue(_, queue), "size") => {
            (0, u64::from(can.queue_entries).saturating_sub(device.entries_beside(queue)))
        }
        (Node::Queue(_, queue), "threshold") => (1, device.queues()[queue].size().into()),
        // The driver takes 0, and the device then does not enable the queue.
        (Node::Queue(..), "priority") => (1, MOST_PRIORITY.into()),
        (Node::Queue(..), "max_transfer_size") => (1, can.most_transfer_bytes()),
        (Node::Queue(..), "max_batch_size") => (1, can.most_batch().into()),
        _ => return None,
    };
    Some(format!("{least} to {most}"))
}
