//! `config show`: the present configuration, as a table or as a file of accel-config.

use super::{ConfigContext, ConfigFormat, parse_device_name};
use crate::failure::CommandFailure;
use dsa_config::bus::clients;
use dsa_config::machine::MachineDevices;
use idxd::config_file::SavedConfig;
use idxd::{BusNode, DeviceState, IdxdQueue, QueueType, WorkQueueMode};
use std::fmt::Write as _;
use std::io::Write;

/// Show the present configuration of devices.
///
/// `--format json` writes a file of accel-config, which `config apply`, `accel-config load-config`
/// and `skipline-dsa run --config` take: with the state of devices and queues, and without queues that
/// have no configuration.
#[derive(clap::Args)]
pub struct ShowArguments {
    /// Only these devices.
    #[arg(long, value_name = "DEVICE", value_parser = parse_device_name)]
    device: Vec<BusNode>,
}

pub fn run(arguments: &ShowArguments, context: &ConfigContext) -> Result<(), CommandFailure> {
    let machine = context.read_machine()?;
    let numbers = context.select_devices(&machine, &arguments.device)?;
    let mut out = std::io::stdout().lock();
    if context.format == ConfigFormat::Json {
        let saved = SavedConfig::from_devices(&machine.driver, &numbers);
        out.write_all(saved.without_defaults(&machine.driver).to_json().as_bytes())?;
        return Ok(());
    }
    for number in numbers {
        out.write_all(device(&machine, number, context).as_bytes())?;
    }
    Ok(())
}

const HEADERS: [&str; 12] = [
    "queue",
    "state",
    "group",
    "mode",
    "size",
    "threshold",
    "priority",
    "type",
    "transfer",
    "batch",
    "clients",
    "name",
];

fn device(machine: &MachineDevices, number: usize, context: &ConfigContext) -> String {
    let own = &machine.driver.devices()[number];
    let can = own.capabilities();
    let state = match own.state() {
        DeviceState::Enabled => "enabled",
        DeviceState::Disabled => "disabled",
        DeviceState::Halted => "halted",
    };
    let mut text = format!(
        "dsa{number}  {state}, version {:#x}, node {}, {} queues with {} entries, {} engines, {} read \
         buffers\n",
        can.version,
        own.part().numa_node,
        can.work_queues,
        can.queue_entries,
        can.engines,
        can.read_buffers
    );
    let mut rows = vec![HEADERS.map(str::to_owned)];
    let mut without = Vec::new();
    for (index, queue) in own.queues().iter().enumerate() {
        let node = BusNode::Queue(number, index);
        let is_without = !queue.is_enabled()
            && queue.group().is_none()
            && queue.size() == 0
            && queue.kind() == QueueType::None;
        if is_without {
            without.push(node.to_string());
        } else {
            rows.push(row(node, queue, context));
        }
    }
    if rows.len() > 1 {
        text += &table(&rows);
    }
    if !without.is_empty() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  without configuration: {}", without.join(" "));
    }
    for (index, group) in own.groups().iter().enumerate() {
        let engines = own.engines().iter().enumerate();
        let engines: Vec<String> = engines
            .filter(|(_, engine)| engine.group() == Some(index))
            .map(|(engine, _)| format!("engine{number}.{engine}"))
            .collect();
        let has_queues = own.queues().iter().any(|queue| queue.group() == Some(index));
        if !engines.is_empty() || has_queues {
            let engines =
                if engines.is_empty() { "no engine".to_owned() } else { engines.join(" ") };
            let limited = if group.use_read_buffer_limit() {
                format!(", of the device's limit of {}", own.read_buffer_limit())
            } else {
                String::new()
            };
            let _ = writeln!(
                text,
                "  group{number}.{index}  {engines}; {} to {} read buffers{limited}",
                group.read_buffers_reserved(),
                group.read_buffers_allowed()
            );
        }
    }
    text
}

fn row(node: BusNode, queue: &IdxdQueue, context: &ConfigContext) -> [String; 12] {
    let dash = || "-".to_owned();
    let shared = queue.mode() == WorkQueueMode::Shared;
    let kind = match queue.kind() {
        QueueType::None => "none",
        QueueType::Kernel => "kernel",
        QueueType::User => "user",
    };
    [
        node.to_string(),
        if queue.is_enabled() { "enabled" } else { "disabled" }.to_owned(),
        queue.group().map_or_else(dash, |group| group.to_string()),
        if shared { "shared" } else { "dedicated" }.to_owned(),
        queue.size().to_string(),
        if shared { queue.threshold().to_string() } else { dash() },
        queue.priority().to_string(),
        kind.to_owned(),
        bytes(queue.most_transfer_bytes()),
        queue.most_batch().to_string(),
        clients(&context.bus, node).map_or_else(|_| dash(), |count| count.to_string()),
        queue.name().to_owned(),
    ]
}

/// A size that is a power of two, in the largest unit.
fn bytes(count: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(bits, _)| count >= 1 << bits);
    unit.map_or_else(|| format!("{count} B"), |(bits, unit)| format!("{} {unit}", count >> bits))
}

/// Columns as wide as their widest cell; the last is a name, of any width.
fn table(rows: &[[String; 12]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..HEADERS.len()).map(width).collect();
    let line = |row: &[String; 12]| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
