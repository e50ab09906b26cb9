//! Allowed values of attributes, for messages: the driver refuses a value only with an error number.

use crate::device::LEAST_EVENT_LOG;
use crate::queue::{DRIVER_NAME_BYTES, MOST_PRIORITY, MOST_RETRIES, NAME_BYTES};
use crate::store::{MOST_PROGRESS_LIMIT, MOST_TRAFFIC_CLASS};
use crate::{BusNode, IdxdDevice, WorkQueueMode};
use dsa::hardware::capabilities::gencap;

/// Range of an attribute in the present state of the device; `None` if it is not known.
pub(super) fn range(device: &IdxdDevice, node: BusNode, attribute: &str) -> Option<String> {
    let can = device.capabilities();
    let (least, most): (i64, u64) = match (node, attribute) {
        (BusNode::Queue(_, queue), "threshold")
            if device.queues()[queue].mode() == WorkQueueMode::Dedicated =>
        {
            return Some("0: a dedicated queue has none".to_owned());
        }
        (BusNode::Queue(..), "name" | "driver_name") => {
            let most = if attribute == "name" { NAME_BYTES } else { DRIVER_NAME_BYTES };
            return Some(format!("a text of 1 to {most} bytes"));
        }
        (BusNode::Queue(..), "mode") => return Some("shared, dedicated".to_owned()),
        (BusNode::Queue(..), "op_config") => {
            return Some("words in hexadecimal with bits of the device's op_cap alone".to_owned());
        }
        (_, "block_on_fault" | "ats_disable" | "prs_disable" | "use_read_buffer_limit") => (0, 1),
        (BusNode::Group(_, group), "read_buffers_reserved") => {
            let own = device.groups()[group].read_buffers_reserved();
            (0, u64::from(own + device.free_read_buffers()))
        }
        (BusNode::Group(_, group), "read_buffers_allowed") => {
            let own = device.groups()[group].read_buffers_reserved();
            let least = (4 * device.engines_of(group).count()).max(own.into());
            let least = i64::try_from(least).unwrap_or(i64::MAX);
            (least, u64::from(own + device.free_read_buffers()))
        }
        (BusNode::Device(_), "read_buffer_limit") => (0, can.read_buffers.into()),
        (BusNode::Device(_), "event_log_size") => (LEAST_EVENT_LOG.into(), u16::MAX.into()),
        (BusNode::Group(..), "traffic_class_a" | "traffic_class_b") => {
            (0, MOST_TRAFFIC_CLASS.into())
        }
        (BusNode::Group(..), "desc_progress_limit" | "batch_progress_limit") => {
            (0, MOST_PROGRESS_LIMIT.into())
        }
        (BusNode::Queue(..) | BusNode::Engine(..), "group_id") => (-1, u64::from(can.groups) - 1),
        (BusNode::Queue(_, queue), "size") => {
            (0, u64::from(can.queue_entries).saturating_sub(device.entries_beside(queue)))
        }
        (BusNode::Queue(_, queue), "threshold") => (1, device.queues()[queue].size().into()),
        // The driver takes 0, and the device then does not enable the queue.
        (BusNode::Queue(..), "priority") => (1, MOST_PRIORITY.into()),
        (BusNode::Queue(..), "enqcmds_retries") => (0, MOST_RETRIES.into()),
        (BusNode::Queue(..), "max_transfer_size") => (1, can.most_transfer_bytes()),
        (BusNode::Queue(..), "max_batch_size") => (1, can.most_batch().into()),
        _ => return None,
    };
    Some(format!("{least} to {most}"))
}

/// The only value that a device accepts for an attribute, with the reason; `None` if others are possible.
pub(super) fn only(device: &IdxdDevice, node: BusNode, attribute: &str) -> Option<&'static str> {
    if !device.is_configurable() {
        return Some("what is there: the device is not configurable");
    }
    Some(match (node, attribute) {
        (_, own) if device.part.without.contains(&own) => "nothing: this kernel does not have it",
        (BusNode::Queue(..), "block_on_fault")
            if !device.capabilities().has(gencap::BLOCK_ON_FAULT) =>
        {
            "0: the device cannot block on faults"
        }
        (BusNode::Queue(..), "block_on_fault") => "0 where prs_disable is 1",
        (BusNode::Queue(..), "enqcmds_retries") => "nothing: a dedicated queue has none",
        (BusNode::Queue(..), "name") => "nothing: a kernel queue with a PASID has no name",
        (BusNode::Group(..), "traffic_class_a" | "traffic_class_b") => {
            "1 on versions 1 and 2, unless the module idxd is loaded with tc_override=1"
        }
        (BusNode::Group(..), "use_read_buffer_limit") => {
            "0 while read_buffer_limit of the device is 0"
        }
        (BusNode::Device(_), "read_buffer_limit") => "0: the device has no such limit",
        (_, own) => {
            let lacks = ["event_log_size", "ats_disable", "prs_disable", "op_config"];
            let lacks = lacks.contains(&own) || own.ends_with("progress_limit");
            return lacks.then_some("nothing: this part does not have it");
        }
    })
}
