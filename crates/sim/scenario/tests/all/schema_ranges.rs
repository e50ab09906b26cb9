//! Does the schema of scenarios state the ranges and names that a run keeps to?
//!
//! Each number is turned to its limits, which must be accepted in some scenario, and beyond them, which
//! must be refused in the same scenario by the name of the key.

use crate::keys::base;
use crate::keys::changes::CHANGES;
use crate::keys::recordings::with_captures;
use scenario::{Job, Scenario, builtin, schema};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Settings, as `--set` takes them.
type Settings = &'static [(&'static str, &'static str)];

/// Settings that a key needs beside the scenarios of `keys.rs` to reach its limits, if these depend on
/// platform, card or other keys.
#[rustfmt::skip]
const NEEDS: &[(&str, Settings)] = &[
    ("block_io.buffers", &[("block_io.depth", "1")]),
    ("block_io.ssds", &[("cores", "16")]),
    ("buffer_bytes", &[("packet_bytes", "60")]),
    ("cbdma.channels", &[("platform", "\"ice-lake-40\""), ("offload.by", "\"cbdma\""), ("hardware.cbdma.channels", "64")]),
    ("cbdma.ring_entries", &[("platform", "\"ice-lake-40\""), ("offload.by", "\"cbdma\""), ("page_size", "\"1G\"")]),
    ("cachelib.most_bytes", &[("cachelib.items", "256")]),
    ("co_runner.0.cores", &[("co_runner.0.socket", "1"), MOST_SLICES[0], MOST_SLICES[1], MOST_SLICES[2], MOST_SLICES[3]]),
    ("co_runner.0.nearest_slices", MOST_SLICES),
    ("co_runner.0.probe.wait_us", WATCHER),
    ("co_runner.0.probe.watched_sets", WATCHER),
    ("co_runner.0.slices", MOST_SLICES),
    ("co_runner.0.way_mask", MOST_WAYS),
    ("controller.grow_above_misses_per_us", &[("controller.shrink_below_misses_per_us", "0.0")]),
    ("controller.max_ways", MOST_WAYS),
    ("controller.min_ways", &[("hardware.llc.ways", "32"), ("controller.max_ways", "32")]),
    ("controller.shrink_below_misses_per_us", &[("controller.grow_above_misses_per_us", "10000.0")]),
    ("controller.stable_percent", &[("controller.kind", "\"iat\"")]),
    ("core_way_mask", MOST_WAYS),
    ("cores", MOST_SLICES),
    ("ddio_ways", MOST_WAYS),
    ("dsa.engines", &[("hardware.dsa.engines", "64"), ("hardware.dsa.read_buffers", "256")]),
    ("dsa.queues", &[("hardware.dsa.work_queues", "128"), ("dsa.queue_entries", "1")]),
    ("dsa.read_buffer_limit", &[("dsa.groups", "[{ engines = [0], queues = [{ entries = 32 }], use_read_buffer_limit = true }]"), ("hardware.dsa.read_buffers", "4096")]),
    ("dsa.read_buffers", &[("hardware.dsa.read_buffers", "4096")]),
    ("dsa.threshold", &[("dsa.queue_mode", "\"shared\""), ("dsa.queue_entries", "128")]),
    ("dynamic_ways.grow_above_misses_per_us", &[("dynamic_ways.shrink_below_misses_per_us", "0.0")]),
    ("dynamic_ways.max_ways", MOST_WAYS),
    ("dynamic_ways.min_ways", &[("hardware.llc.ways", "32"), ("dynamic_ways.max_ways", "32")]),
    ("dynamic_ways.shrink_below_misses_per_us", &[("dynamic_ways.grow_above_misses_per_us", "10000.0")]),
    ("event.0.ddio_ways", MOST_WAYS),
    ("event.0.threshold", &[("dsa.queue_mode", "\"shared\""), ("dsa.queue_entries", "128")]),
    ("key_value.items", &[("key_value.key_bytes", "1"), ("key_value.value_bytes", "1")]),
    ("key_value.nearest_slices", &[("key_value.slice_aware_items", "1"), MOST_SLICES[0], MOST_SLICES[1], MOST_SLICES[2]]),
    ("key_value.slice_aware_items", &[("key_value.items", "8388608"), ("key_value.key_bytes", "1"), ("key_value.value_bytes", "1")]),
    ("key_value.update_bytes", &[("key_value.items", "16"), ("key_value.value_bytes", "1048576")]),
    ("key_value.value_bytes", &[("key_value.items", "16")]),
    ("memory_kernel.nearest_slices", MOST_SLICES),
    ("memory_kernel.slices", MOST_SLICES),
    ("nvme_tcp_target.buffers", &[("hardware.nic.tx_packets_per_completion", "1")]),
    ("nvme_tcp_target.connections", &[("nvme_tcp_target.depth", "1"), ("rx_descriptors", "1024")]),
    ("nvme_tcp_target.depth", &[("nvme_tcp_target.connections", "1"), ("rx_descriptors", "1024")]),
    ("nvme_tcp_target.digests", &[("nvme_tcp_target.digest", "\"dsa\"")]),
    ("offered_gbps", &[("hardware.nic.line_rate_gbps", "10000.0")]),
    ("offload.buffers", &[("offload.transfer_bytes", "64")]),
    ("offload.queues_per_core", &[("dsa.instances", "4"), ("hardware.dsa.work_queues", "128"), ("dsa.queues", "128"), ("dsa.queue_entries", "1")]),
    ("offload.transfer_bytes", &[("page_size", "\"1G\""), ("offload.buffers", "1")]),
    ("packet_bytes", &[("hardware.software.buffer_data_bytes", "65536")]),
    ("ping_pong.message_bytes", &[("ping_pong.header_bytes", "60"), ("hardware.ping_pong.message_header_bytes", "0")]),
    ("ping_pong.message_bytes", &[("ping_pong.header_bytes", "14"), ("hardware.ping_pong.prefix_bytes", "0"), ("hardware.software.buffer_data_bytes", "65536")]),
    ("placement.bypass_when_backlogged", &[("rx_descriptors", "32768")]),
    ("placement.header_line", &[("placement.header_slices", "1")]),
    ("placement.header_slices", MOST_SLICES),
    ("pool_buffers", &[("rx_descriptors", "8"), ("pool_cache", "0"), ("burst", "1"), ("hardware.nic.tx_packets_per_completion", "1")]),
    ("prefetch.packets_ahead", &[("burst", "64")]),
    ("run.max_batches", &[]),
    ("run.min_batches", &[("run.max_batches", "1000")]),
    ("traffic.longest_gap_s", &[("traffic.pcap", "\"PCAP\"")]),
    ("traffic.scale_to_gbps", &[("traffic.pcap", "\"PCAP\""), ("hardware.nic.line_rate_gbps", "10000.0")]),
    ("tx_descriptors", &[("hardware.nic.tx_packets_per_completion", "1")]),
    ("vhost_switch.guest_cores", &[("cores", "56")]),
    ("vhost_switch.queues", &[("vhost_switch.by", "\"dsa\""), ("dsa.queues", "8"), ("dsa.queue_entries", "16")]),
    ("warm_buffers", &[("rx_descriptors", "32768")]),
];
const MOST_WAYS: Settings = &[("hardware.llc.ways", "32")];
/// A ring, which takes any number of cores and slices.
const MOST_SLICES: Settings = &[
    ("platform", "\"haswell-e5-2667v3\""),
    ("hardware.llc.slices", "256"),
    ("hardware.llc.slice_function", "\"balanced\""),
    ("hardware.cpu.cores", "63"),
];
/// Twice the LLC is the smallest working set of a watcher.
const WATCHER: Settings = &[
    ("platform", "\"haswell-e5-2667v3\""),
    ("co_runner.0.working_set_bytes", "4294967296"),
    ("co_runner.0.probe.wait_us", "1.0"),
    ("hardware.llc.sets_per_slice", "65536"),
    ("hardware.llc.slices", "16"),
];

/// Every application.
const APPLICATIONS: [&str; 16] = [
    "l2-forward",
    "l3-forward",
    "packet-sink",
    "packet-source",
    "chain",
    "key-value",
    "key-value-memory",
    "memory-kernel",
    "block-io",
    "ping-pong",
    "offload",
    "vhost-switch",
    "cachelib",
    "descriptor-replay",
    "message-passing",
    "nvme-tcp-target",
];

/// Tables beside those of tenants, where a setting is about them.
const BESIDE: [(&str, &str); 3] = [
    ("controller.", "[controller]\nkind = \"threshold\"\n"),
    ("co_runner.", "[[co_runner]]\nworking_set_bytes = 65536\n"),
    ("event.", "[[event]]\nat_us = 1\nddio_ways = 4\n"),
];

/// Every key with its schema, of all tables. Keys of tenants are those at the top.
fn keys() -> BTreeMap<String, Value> {
    let whole = schema::for_kind("scenario").expect("there is one");
    let mut found = BTreeMap::new();
    collect(&whole, &whole, "", &mut found);
    found.retain(|key, _| !key.starts_with("tenant."));
    found
}

fn collect(whole: &Value, table: &Value, prefix: &str, found: &mut BTreeMap<String, Value>) {
    for (name, key) in table["properties"].as_object().expect("a table") {
        let choices = key["anyOf"].as_array().into_iter().flatten();
        let single = choices.clone().find(|one| one.get("$ref").is_some()).unwrap_or(key);
        let number = choices.clone().any(|one| one.get("items").is_some());
        let definition = single["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        match definition.map(|name| &whole["$defs"][name]) {
            Some(table) if table.get("properties").is_some() => {
                let list = if number { "0." } else { "" };
                collect(whole, table, &format!("{prefix}{name}.{list}"), found);
            }
            Some(names) => drop(found.insert(format!("{prefix}{name}"), names.clone())),
            None => drop(found.insert(format!("{prefix}{name}"), key.clone())),
        }
    }
}

/// The plan of a scenario, or why it is refused.
fn planned(application: &str, settings: &[(&str, &str)]) -> Result<(), String> {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(key, value)| ((*key).into(), with_captures(value))).collect();
    let about = |table: &str| settings.iter().any(|(key, _)| key.starts_with(table));
    let beside = BESIDE.iter().filter(|(table, _)| about(table)).map(|(_, text)| *text);
    let text = format!("{}{}", base(application), beside.collect::<String>());
    let job = || -> Result<Job, scenario::InputError> {
        let read = Scenario::read("a.toml", &text, &settings)?;
        let facts = read.platform_facts();
        let platform = builtin::platform_with("a.toml", read.platform_name(), &facts)?;
        Job::new("a.toml", read, platform, "the platform", 3)
    };
    job().map(drop).map_err(|error| error.to_string())
}

/// Scenarios in which a key may be stated: for any application, with what it needs.
fn scenarios(key: &str) -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    let changes = CHANGES.iter().filter(|change| change.0 == key).map(|change| change.1.to_vec());
    let own = NEEDS.iter().filter(|need| need.0 == key).map(|need| need.1.to_vec());
    let needs: Vec<Vec<_>> = [Vec::new()].into_iter().chain(own).chain(changes).collect();
    let with = |needs: Vec<_>| APPLICATIONS.map(|application| (application, needs.clone()));
    needs.into_iter().flat_map(with).collect()
}

/// In some scenario `within` is accepted and `beyond` is refused by the name of the key.
fn is_a_limit(key: &str, within: &str, beyond: &str) -> Result<(), String> {
    let mut told = BTreeSet::new();
    for (application, needs) in scenarios(key) {
        let with = |value| {
            let mut settings = needs.clone();
            settings.push((key, value));
            planned(application, &settings)
        };
        match (with(within), with(beyond)) {
            (Ok(()), Err(refusal)) if refusal.contains(&format!("`{key}")) => return Ok(()),
            (Ok(()), other) => return Err(format!("{key} = {beyond}: {other:?}")),
            (Err(refusal), _) => drop(told.insert(refusal)),
        }
    }
    told.retain(|refusal| !refusal.contains("would have no effect"));
    Err(format!("{key} = {within} is refused: {told:#?}"))
}

/// Values at a limit of a key and just beyond it.
fn turned(key: &Value) -> Vec<(String, String)> {
    if let Some(values) = key["enum"].as_array() {
        let numbers = values.iter().filter_map(Value::as_u64);
        return numbers.map(|one| (one.to_string(), (one + 1).to_string())).collect();
    }
    let limit = |name: &str| key[name].as_f64().unwrap_or_else(|| panic!("no {name}: {key}"));
    let (least, most) = (limit("minimum"), limit("maximum"));
    if is(key, "integer") {
        let step = key["multipleOf"].as_f64().unwrap_or(1.0);
        return vec![
            (least.to_string(), (least - step).to_string()),
            (most.to_string(), (most + step).to_string()),
        ];
    }
    // With a point, also where it is whole.
    let text = |number: f64| format!("{number:?}");
    vec![
        (text(least), text(if least == 0.0 { -1e-9 } else { least * 0.999 })),
        (text(most), text(most * 1.001)),
    ]
}

fn is(key: &Value, kind: &str) -> bool {
    let kinds = key["type"].as_array().cloned().unwrap_or_else(|| vec![key["type"].clone()]);
    kinds.contains(&kind.into())
}

#[test]
fn a_run_keeps_to_the_ranges_of_the_schema() {
    let (mut turned_keys, mut wrong) = (0, Vec::new());
    let step = soak::amount(2, 1);
    for (name, key) in keys().into_iter().step_by(step) {
        let (key, listed) = if is(&key, "array") { (&key["items"], true) } else { (&key, false) };
        if !is(key, "integer") && !is(key, "number") {
            continue;
        }
        turned_keys += 1;
        for (within, beyond) in turned(key) {
            // A list of which another element allows any value.
            let before = if name == "traffic.load" { "1.0, " } else { "" };
            let text = |value: String| if listed { format!("[{before}{value}]") } else { value };
            wrong.extend(is_a_limit(&name, &text(within), &text(beyond)).err());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(turned_keys > 75 / step, "{turned_keys} keys are numbers");
}

/// The names that a schema lists.
fn names(key: &Value) -> Vec<String> {
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|list| key[list].as_array()).flatten();
    let all = std::iter::once(key).chain(choices);
    let listed = all.flat_map(|one| match one["enum"].as_array() {
        Some(several) => several.clone(),
        None => one.get("const").into_iter().cloned().collect(),
    });
    listed.filter_map(|name| name.as_str().map(String::from)).collect()
}

#[test]
fn a_run_knows_the_names_of_the_schema_and_no_others() {
    let mut named = Vec::new();
    for (key, of) in keys() {
        let known = names(&of);
        if known.is_empty() {
            continue;
        }
        for name in &known {
            // A name may be refused for other reasons than that it is not known.
            let found = planned("block-io", &[(&key, &format!("\"{name}\""))]).err();
            let unknown = ["expected one of", "known", "no such"];
            let refused = found.filter(|told| unknown.iter().any(|word| told.contains(word)));
            assert_eq!(refused, None, "{key} = {name}");
        }
        let told = planned("block-io", &[(&key, "\"nonsense\"")]).expect_err("it is not known");
        assert!(told.contains(&format!("`{key}`")), "{told}");
        named.push(key);
    }
    for key in ["application", "nic", "platform", "ssd", "traffic.pattern"] {
        assert!(named.iter().any(|name| name == key), "{key} of {named:?}");
    }
    assert_eq!(names(&keys()["nic"]), builtin::nic_names());
    assert_eq!(names(&keys()["ssd"]), builtin::ssd_names());
    assert_eq!(names(&keys()["platform"]), builtin::platform_names());
}
