//! The default configuration, for devices without a file.

use super::{NodeSettings, SavedConfig};
use crate::BusNode;
use dsa::hardware::capabilities::{Capabilities, gencap, wqcap};

/// Size of a queue in entries: the kernel's default.
const ENTRIES: u16 = 16;
/// Priority of a queue: that of the files in accel-config's package.
const PRIORITY: u8 = 10;

impl SavedConfig {
    /// The default configuration: on each device a dedicated queue whose name DPDK looks for, and a
    /// shared queue for all other programs. The dedicated queue has one engine, the shared queue all
    /// others.
    ///
    /// On a device with one engine or one group both queues share it. A queue that the device does not
    /// have is left out.
    #[must_use]
    pub fn default_for(parts: &[Capabilities]) -> Self {
        let devices = parts.iter().enumerate();
        let entries = devices.flat_map(|(device, part)| default_device(device, part)).collect();
        Self { entries, ..Self::default() }
    }
}

fn default_device(device: usize, part: &Capabilities) -> Vec<NodeSettings> {
    let modes = [("dedicated", wqcap::DEDICATED), ("shared", wqcap::SHARED)];
    let modes: Vec<&str> = modes
        .into_iter()
        .filter(|&(_, feature)| part.queues_have(feature))
        .map(|(mode, _)| mode)
        .take(part.work_queues.into())
        .collect();
    let groups = modes.len().min(part.engines.into()).min(part.groups.into());
    let mut entries = vec![entry(BusNode::Device(device), Vec::new())];
    if groups == 0 {
        return entries;
    }
    for (number, mode) in modes.iter().enumerate() {
        let size = ENTRIES.min(part.queue_entries / modes.len().max(1).try_into().unwrap_or(1));
        entries.push(default_queue(device, number, part, mode, size, number.min(groups - 1)));
    }
    for group in 0..groups {
        entries.push(entry(BusNode::Group(device, group), Vec::new()));
    }
    for engine in 0..usize::from(part.engines) {
        let group = engine.min(groups - 1);
        let settings = vec![("group_id", group.to_string())];
        entries.push(entry(BusNode::Engine(device, engine), settings));
    }
    entries
}

fn default_queue(
    device: usize,
    number: usize,
    part: &Capabilities,
    mode: &str,
    size: u16,
    group: usize,
) -> NodeSettings {
    let dedicated = mode == "dedicated";
    let name = if dedicated { format!("dpdk_wq{device}.{number}") } else { "shared".to_owned() };
    let batch = if dedicated { 1024 } else { crate::queue::DEFAULT_BATCH };
    let mut settings = vec![
        ("mode", mode.to_owned()),
        ("size", size.to_string()),
        ("group_id", group.to_string()),
        ("priority", PRIORITY.to_string()),
        ("block_on_fault", u8::from(part.has(gencap::BLOCK_ON_FAULT)).to_string()),
        ("max_batch_size", batch.min(part.most_batch()).to_string()),
        ("max_transfer_size", part.most_transfer_bytes().to_string()),
        ("type", "user".to_owned()),
        ("driver_name", "user".to_owned()),
        ("name", name),
    ];
    if !dedicated {
        // Two entries stay for the kernel, which may fill a queue to its size.
        settings.push(("threshold", size.saturating_sub(2).max(1).to_string()));
    }
    entry(BusNode::Queue(device, number), settings)
}

fn entry(node: BusNode, settings: Vec<(&'static str, String)>) -> NodeSettings {
    NodeSettings { node, settings, enabled: None }
}
