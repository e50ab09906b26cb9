//! Measurements on the device in software: this command again, below `skipline-dsa run`, with queues as the
//! options ask for.

use crate::failure::Failure;
use crate::json;
use crate::options::BenchOptions;
use crate::point::BenchPoint;
use crate::results::BenchResult;
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// Largest batch of a queue, and transfer of a descriptor: all that options allow.
const MOST_BATCH: u32 = 1024;
const MOST_TRANSFER_BYTES: u64 = 1 << 30;
/// Priority of the queues, the same for each.
const PRIORITY: u32 = 10;
/// Last lines of the error of the process below that a message repeats.
const LAST_LINES: usize = 3;

/// Measures a point below `skipline-dsa run`. `command` is the path of `skipline-dsa`.
///
/// # Errors
/// If the process below fails: its last lines, as bad input if it ended with 2.
pub fn measure(
    options: &BenchOptions,
    point: &BenchPoint,
    command: &Path,
) -> Result<BenchResult, Failure> {
    let failed = |what: &str, error: &std::io::Error| {
        Failure::Failed(format!("--on software: {what}: {error}"))
    };
    let directory =
        tempfile::tempdir().map_err(|error| failed("a directory for its files", &error))?;
    let (config, answers) =
        (directory.path().join("devices.json"), directory.path().join("answers.json"));
    std::fs::write(&config, configuration(options, point))
        .map_err(|error| failed("its devices", &error))?;
    let ran = Command::new(command)
        .arg("run")
        .args(["--quiet", "--devices", &point.instances.to_string(), "--config"])
        .arg(&config)
        .arg("--")
        .arg(command)
        .arg("bench")
        .args(command_line(options, point))
        .arg("--json")
        .arg(&answers)
        .output()
        .map_err(|error| failed(&command.display().to_string(), &error))?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        let message = format!("--on software: {}", last.trim_start_matches("error: "));
        return Err(match ran.status.code() {
            Some(2) => Failure::BadInput(message),
            _ => Failure::Failed(message),
        });
    }
    let text = std::fs::read_to_string(&answers).map_err(|error| failed("its results", &error))?;
    json::first_result(&text)
        .ok_or_else(|| Failure::Failed("--on software: its results are not complete".into()))
}

/// A configuration of accel-config with the queues of a point: one group in each device, all devices alike.
fn configuration(options: &BenchOptions, point: &BenchPoint) -> String {
    let mode = options.machine.queue_kind.name();
    let device = |device: u32| {
        let queue = |queue: u32| {
            let mut keys = json!({
                "dev": format!("wq{device}.{queue}"), "mode": mode, "size": point.configured_entries(),
                "group_id": 0, "priority": PRIORITY, "block_on_fault": 1,
                "max_batch_size": MOST_BATCH, "max_transfer_size": MOST_TRANSFER_BYTES,
                "type": "user", "driver_name": "user", "name": "bench",
            });
            if mode == "shared" {
                keys["threshold"] = point.configured_entries().into();
            }
            keys
        };
        let engine =
            |engine: u32| json!({"dev": format!("engine{device}.{engine}"), "group_id": 0});
        json!({
            "dev": format!("dsa{device}"),
            "groups": [{
                "dev": format!("group{device}.0"),
                "grouped_workqueues": (0..point.queues).map(queue).collect::<Vec<_>>(),
                "grouped_engines": (0..point.configured_engines()).map(engine).collect::<Vec<_>>(),
            }],
        })
    };
    let devices: Vec<_> = (0..point.instances).map(device).collect();
    serde_json::Value::from(devices).to_string()
}

/// The command line that measures one point on the queues of the run.
fn command_line(options: &BenchOptions, point: &BenchPoint) -> Vec<String> {
    let mut words = vec!["--on".to_owned(), "device".to_owned(), "--quiet".to_owned()];
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    let pair = |pair: [String; 2]| pair.join(",");
    add("-s", point.size_bytes.to_string());
    add("-b", point.batch.to_string());
    if let Some(depth) = point.depth {
        add("-q", depth.to_string());
    }
    add("--threads", point.threads.to_string());
    add("--instances", point.instances.to_string());
    add("--queues", point.queues.to_string());
    add("-n", options.buffers.to_string());
    add("-i", options.rounds().map_or("-1".to_owned(), |rounds| rounds.to_string()));
    if let Some(seconds) = options.length.seconds {
        add("-T", seconds.to_string());
    }
    add("-W", options.length.warm_up.to_string());
    add("-o", options.operation.name.to_owned());
    add("-w", options.machine.queue_kind.name().to_owned());
    add("--operands", options.operands().names());
    add("--flags", options.flags().to_string());
    add("--pages", options.pages().name().to_owned());
    if let Some(stride) = options.memory.stride {
        add("-t", stride.to_string());
    }
    add("-O", pair(options.memory.offsets.0.map(|offset| offset.to_string())));
    add("-D", options.descriptor.delta_percent.to_string());
    add("-v", u32::from(options.descriptor.verify).to_string());
    add("--wait", options.wait_method().name().to_owned());
    add("--descriptors", options.descriptor_source().name().to_owned());
    match options.memory.nodes {
        Some(nodes) => add("-S", pair(nodes.0.map(|node| node.to_string()))),
        None => {
            add("--source-node", options.memory.source_node.name().to_owned());
            add("--destination-node", options.memory.destination_node.name().to_owned());
        }
    }
    if let Some(cpus) = &options.cpus {
        let cpus: Vec<String> = cpus.0.iter().map(u32::to_string).collect();
        add("-k", cpus.join(","));
    }
    let flags = [
        (options.descriptor.move_portal, "-c"),
        (options.descriptor.drain, "-Y"),
        (options.out.phases, "--phases"),
        (options.machine.lock, "--lock"),
    ];
    words.extend(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.to_owned()));
    words
}
