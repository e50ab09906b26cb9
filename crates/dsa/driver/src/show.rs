//! The texts of attributes [K sysfs.c].

use crate::attributes::current_name;
use crate::queue::shown_operations;
use crate::{
    BusNode, CDEV_MAJOR, DeviceState, Driver, Errno, HardwareAccess, IdxdEngine, IdxdGroup,
    QueueType, WorkQueueMode,
};
use dsa::hardware::capabilities::wqcap;
use std::fmt::Write;

impl Driver {
    /// Reads an attribute. Returns its text with a newline.
    ///
    /// # Errors
    /// `ENOENT` if the node or the attribute does not exist, `EOPNOTSUPP` or `ENXIO` if the attribute
    /// does not have a value now.
    pub fn read(
        &self,
        node: BusNode,
        attribute: &str,
        hardware: &dyn HardwareAccess,
    ) -> Result<String, Errno> {
        self.attribute(node, attribute).ok_or(Errno::ENOENT)?;
        let attribute = current_name(attribute);
        let device = &self.devices[node.device()];
        let mut text = match node {
            BusNode::Device(number) => self.show_device(number, attribute, hardware)?,
            BusNode::Queue(number, queue) => self.show_queue(number, queue, attribute, hardware)?,
            BusNode::Group(number, group) => match attribute {
                "work_queues" => {
                    names(device.queues_of(group).map(|it| BusNode::Queue(number, it)))
                }
                "engines" => names(device.engines_of(group).map(|it| BusNode::Engine(number, it))),
                _ => show_group(&device.groups[group], attribute)?,
            },
            BusNode::Engine(_, engine) => show_engine(&device.engines[engine], attribute)?,
        };
        // A list without names is an empty file.
        if !matches!(attribute, "work_queues" | "engines") || !text.is_empty() {
            text.push('\n');
        }
        Ok(text)
    }

    fn show_device(
        &self,
        number: usize,
        attribute: &str,
        hardware: &dyn HardwareAccess,
    ) -> Result<String, Errno> {
        let device = &self.devices[number];
        let can = device.capabilities();
        Ok(match attribute {
            "version" => hexadecimal(can.version.into()),
            "gen_cap" => hexadecimal(can.gen_cap),
            "max_groups" => can.groups.to_string(),
            "max_work_queues" => can.work_queues.to_string(),
            "max_work_queues_size" => can.queue_entries.to_string(),
            "max_engines" => can.engines.to_string(),
            "max_batch_size" => can.most_batch().to_string(),
            "max_transfer_size" => can.most_transfer_bytes().to_string(),
            "max_read_buffers" => can.read_buffers.to_string(),
            "numa_node" => device.part.numa_node.to_string(),
            "cdev_major" => CDEV_MAJOR.to_string(),
            "clients" => {
                let queues = 0..device.queues.len();
                queues.map(|queue| self.clients(number, queue)).sum::<usize>().to_string()
            }
            "configurable" => u8::from(device.is_configurable()).to_string(),
            "pasid_enabled" => u8::from(device.pasid_enabled()).to_string(),
            "op_cap" => words([shown_operations(can), 0, 0, 0]),
            "errors" => words(hardware.software_error(number)),
            "state" => match device.state {
                DeviceState::Disabled => "disabled",
                DeviceState::Enabled => "enabled",
                DeviceState::Halted => "halted",
            }
            .to_owned(),
            "cmd_status" => hexadecimal(device.command_status.0.into()),
            "read_buffer_limit" => device.read_buffer_limit.to_string(),
            "event_log_size" => device.event_log_size.to_string(),
            "dsacaps" => {
                let [low, middle, high] = can.dsa_caps;
                format!("{high:016x},{middle:016x},{low:016x}")
            }
            _ => return Err(Errno::ENOENT),
        })
    }

    fn show_queue(
        &self,
        number: usize,
        queue: usize,
        attribute: &str,
        hardware: &dyn HardwareAccess,
    ) -> Result<String, Errno> {
        let device = &self.devices[number];
        let own = &device.queues[queue];
        Ok(match attribute {
            "state" => if own.enabled { "enabled" } else { "disabled" }.to_owned(),
            "clients" => self.clients(number, queue).to_string(),
            "occupancy" if !device.capabilities().queues_have(wqcap::OCCUPANCY) => {
                return Err(Errno::EOPNOTSUPP);
            }
            "occupancy" => hardware.occupancy(number, queue).to_string(),
            "cdev_minor" => own.cdev_minor.ok_or(Errno::ENXIO)?.to_string(),
            "group_id" => group_id(own.group),
            "mode" => match own.mode {
                WorkQueueMode::Shared => "shared",
                WorkQueueMode::Dedicated => "dedicated",
            }
            .to_owned(),
            "size" => own.size.to_string(),
            "priority" => own.priority.to_string(),
            "threshold" => own.threshold.to_string(),
            "block_on_fault" => u8::from(own.block_on_fault).to_string(),
            "type" => match own.kind {
                QueueType::None => "none",
                QueueType::Kernel => "kernel",
                QueueType::User => "user",
            }
            .to_owned(),
            "name" => own.name.clone(),
            "driver_name" => own.driver_name.clone(),
            "max_transfer_size" => own.most_transfer_bytes.to_string(),
            "max_batch_size" => own.most_batch.to_string(),
            "ats_disable" => u8::from(own.ats_disable).to_string(),
            "prs_disable" => u8::from(own.prs_disable).to_string(),
            "enqcmds_retries" if own.mode == WorkQueueMode::Dedicated => {
                return Err(Errno::EOPNOTSUPP);
            }
            "enqcmds_retries" => own.enqcmds_retries.to_string(),
            "op_config" => words([own.operations, 0, 0, 0]),
            _ => return Err(Errno::ENOENT),
        })
    }
}

fn show_group(group: &IdxdGroup, attribute: &str) -> Result<String, Errno> {
    Ok(match attribute {
        "read_buffers_reserved" => group.read_buffers_reserved.to_string(),
        "read_buffers_allowed" => group.read_buffers_allowed.to_string(),
        "use_read_buffer_limit" => u8::from(group.use_read_buffer_limit).to_string(),
        "traffic_class_a" => group.traffic_class_a.to_string(),
        "traffic_class_b" => group.traffic_class_b.to_string(),
        "desc_progress_limit" => group.desc_progress_limit.to_string(),
        "batch_progress_limit" => group.batch_progress_limit.to_string(),
        _ => return Err(Errno::ENOENT),
    })
}

fn show_engine(engine: &IdxdEngine, attribute: &str) -> Result<String, Errno> {
    match attribute {
        "group_id" => Ok(group_id(engine.group)),
        _ => Err(Errno::ENOENT),
    }
}

fn group_id(group: Option<usize>) -> String {
    group.map_or_else(|| "-1".to_owned(), |group| group.to_string())
}

fn names(nodes: impl Iterator<Item = BusNode>) -> String {
    nodes.map(|node| node.to_string()).collect::<Vec<_>>().join(" ")
}

/// `%#x`, which prints 0 without a prefix.
fn hexadecimal(number: u64) -> String {
    if number == 0 { "0".to_owned() } else { format!("{number:#x}") }
}

/// 256 bits as `%*pb` prints them: words of 32 bits, the most significant first.
fn words(bits: [u64; 4]) -> String {
    bits.iter().rev().fold(String::new(), |mut text, word| {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}{:08x},{:08x}", word >> 32, word & 0xffff_ffff);
        text
    })
}
