//! Does every key of every application act, or is it refused with the reason?
//!
//! Each key is changed for each application, alone or with what it needs, and the results are compared.

use scenario::{Job, Wanted, builtin, schema};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A platform that states what an application needs.
pub fn platform(application: &str) -> &'static str {
    match application {
        "ping-pong" => "cascade-lake-blog",
        "offload" | "vhost-switch" | "cachelib" | "descriptor-replay" | "message-passing"
        | "nvme-tcp-target" => "sapphire-rapids-56",
        _ => "skylake-gold-6140",
    }
}

/// A key, the other keys without which it is refused, and values of which one differs from the default
/// and is allowed.
pub type Change = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const RANDOM: (&str, &str) = ("traffic.pattern", "\"random\"");
const ON_OFF: (&str, &str) = ("traffic.arrivals", "\"on-off\"");
const DDIO_OFF: (&str, &str) = ("ddio_ways", "0");
const DYNAMIC: (&str, &str) = ("dynamic_ways.period_us", "2.0");
const GROWS: (&str, &str) = ("dynamic_ways.grow_above_misses_per_us", "0.2");
const SHRINKS: (&str, &str) = ("dynamic_ways.shrink_below_misses_per_us", "900");
const SHARED: (&str, &str) = ("dsa.queue_mode", "\"shared\"");
const ICE_LAKE: (&str, &str) = ("platform", "\"ice-lake-40\"");
const BY_CBDMA: (&str, &str) = ("offload.by", "\"cbdma\"");
const LIMITED: (&str, &str) = (
    "dsa.groups",
    "[{ engines = [0], queues = [{ entries = 32 }], use_read_buffer_limit = true }]",
);
const LARGE_RING: (&str, &str) = ("rx_descriptors", "4096");
const SIX_WAYS: (&str, &str) = ("ddio_ways", "6");
const LARGE_READS: (&str, &str) = ("nvme_tcp_target.read_bytes", "1048576");
const MANY_BLOCKS: (&str, &str) = ("block_io.buffers", "256");

/// Every key of a tenant.
#[rustfmt::skip]
pub const CHANGES: &[Change] = &[
    ("block_io.block_bytes", &[], &["4096"]),
    ("block_io.buffers", &[], &["64"]),
    ("block_io.completion", &[], &["\"poll\"", "\"polling\""]),
    ("block_io.depth", &[], &["2"]),
    ("block_io.fills_data", &[("block_io.read_percent", "50")], &["true"]),
    ("block_io.order", &[], &["\"sequential\""]),
    ("block_io.read_percent", &[], &["50"]),
    ("block_io.reads_data", &[], &["true"]),
    ("block_io.ssds", &[("cores", "2")], &["2"]),
    ("block_io.ssds_per_root_port", &[("cores", "2"), ("block_io.ssds", "2")], &["2"]),
    ("buffer_bytes", &[], &["9216"]),
    ("burst", &[], &["4"]),
    ("cbdma.channels", &[ICE_LAKE, BY_CBDMA], &["2"]),
    ("cbdma.ring_entries", &[ICE_LAKE, BY_CBDMA], &["4"]),
    ("cachelib.by", &[], &["\"dsa\""]),
    ("cachelib.get_percent", &[], &["50"]),
    ("cachelib.items", &[], &["4096"]),
    ("cachelib.large_percent", &[], &["20.0"]),
    ("cachelib.most_bytes", &[], &["65536"]),
    ("cachelib.threshold_bytes", &[BY_ENGINES], &["16384"]),
    ("cachelib.zipf", &[], &["0.5"]),
    ("chain.filter_rules", &[("chain.filtering", "\"software\"")], &["100"]),
    ("chain.filtering", &[], &["\"software\""]),
    ("chain.flow_table_entries", &[], &["1024"]),
    ("core_way_mask", &[], &["3"]),
    ("core_way_mask", &[("block_io.reads_data", "true"), MANY_BLOCKS], &["3"]),
    ("cores", &[], &["2", "3", "4"]),
    ("descriptor_replay.depth", &[], &["1"]),
    ("descriptor_replay.log", &[], &["\"OTHER\""]),
    ("descriptor_replay.pace", &[], &["\"back-to-back\""]),
    ("ddio_keeps_descriptors", &[DDIO_OFF], &["true"]),
    ("ddio_ways", &[], &["0", "7"]),
    ("dsa.engines", &[("offload.batch", "16"), ("offload.transfer_bytes", "64")], &["4"]),
    ("dsa.groups", &[], &["[{ engines = [0], queues = [{ entries = 2 }] }]"]),
    ("dsa.instances", &[("cores", "2"), SHARED], &["2"]),
    ("dsa.queue_entries", &[], &["2"]),
    ("dsa.queue_mode", &[], &["\"shared\""]),
    ("dsa.queues", &[("cores", "2")], &["2"]),
    ("dsa.read_buffer_limit", &[LIMITED], &["4"]),
    ("dsa.read_buffers", &[], &["4"]),
    ("dsa.threshold", &[("cores", "4"), SHARED, ("offload.depth", "32"), ("offload.transfer_bytes", "65536")], &["1"]),
    ("dynamic_ways.enabled", &[DYNAMIC], &["false"]),
    ("dynamic_ways.grow_above_misses_per_us", &[DYNAMIC], &["0.01", "1000"]),
    ("dynamic_ways.grow_above_misses_per_us", &[DYNAMIC, MANY_BLOCKS], &["0.01", "1000"]),
    ("dynamic_ways.grow_above_misses_per_us", &[DYNAMIC, LARGE_READS], &["0.01", "1000"]),
    ("dynamic_ways.max_ways", &[DYNAMIC, GROWS], &["3"]),
    ("dynamic_ways.max_ways", &[DYNAMIC, GROWS, MANY_BLOCKS], &["3"]),
    ("dynamic_ways.min_ways", &[DYNAMIC], &["4"]),
    ("dynamic_ways.period_us", &[], &["3.0"]),
    ("dynamic_ways.shrink_after_periods", &[DYNAMIC, SHRINKS, ("dynamic_ways.grow_above_misses_per_us", "1000")], &["1"]),
    ("dynamic_ways.shrink_after_periods", &[DYNAMIC, SHRINKS, MANY_BLOCKS, SIX_WAYS, ("dynamic_ways.grow_above_misses_per_us", "1000")], &["1"]),
    ("dynamic_ways.shrink_after_periods", &[DYNAMIC, SHRINKS, LARGE_READS, SIX_WAYS, ("dynamic_ways.grow_above_misses_per_us", "1000")], &["1"]),
    ("dynamic_ways.shrink_below_misses_per_us", &[DYNAMIC, LARGE_READS, SIX_WAYS, ("dynamic_ways.grow_above_misses_per_us", "1000")], &["900"]),
    ("dynamic_ways.shrink_below_misses_per_us", &[DYNAMIC, MANY_BLOCKS, SIX_WAYS, ("dynamic_ways.grow_above_misses_per_us", "1000")], &["900"]),
    ("dynamic_ways.shrink_below_misses_per_us", &[DYNAMIC, ("dynamic_ways.grow_above_misses_per_us", "1000")], &["900"]),
    ("evict_on_dma_read", &[DDIO_OFF], &["true"]),
    ("flow_control", &[], &["true"]),
    ("initial_content", &[], &["\"pages-zeroed\"", "\"empty\""]),
    ("internal_queue", &[], &["32"]),
    ("iommu", &[], &["\"4K\"", "\"2M\""]),
    ("key_value.get_percent", &[], &["50"]),
    ("key_value.items", &[], &["4096"]),
    ("key_value.key_bytes", &[], &["100"]),
    ("key_value.nearest_slices", &[("key_value.slice_aware_items", "1024"), ("key_value.items", "4096")], &["2"]),
    ("key_value.protocol", &[], &["\"plain\""]),
    ("key_value.slice_aware_items", &[("key_value.items", "4096")], &["1024"]),
    ("key_value.update_bytes", &[("key_value.get_percent", "50")], &["50"]),
    ("key_value.value_bytes", &[], &["400"]),
    ("key_value.writes", &[("key_value.get_percent", "50")], &["\"insert\""]),
    ("key_value.zipf", &[], &["0.5"]),
    ("l3_forward.networks", &[], &["16"]),
    ("l3_forward.payload", &[], &["\"read\""]),
    ("mba_percent", &[], &["10"]),
    ("memory_kernel.accesses_in_flight", &[], &["2"]),
    ("memory_kernel.cycles_per_access", &[], &["9.0"]),
    ("memory_kernel.isolated_slices", &[("cores", "2")], &["true"]),
    ("memory_kernel.nearest_slices", &[], &["2"]),
    ("memory_kernel.pattern", &[], &["\"sequential\""]),
    ("memory_kernel.slices", &[], &["[1]"]),
    ("memory_kernel.store_percent", &[], &["50"]),
    ("memory_kernel.working_set_bytes", &[], &["1048576"]),
    ("memory_node", &[], &["\"other-socket\""]),
    ("message_passing.by", &[], &["\"dsa\""]),
    ("message_passing.depth", &[PASSED_BY_ENGINES, SHORT_PIECES], &["1"]),
    ("message_passing.message_bytes", &[], &["4096"]),
    ("message_passing.pattern", &[], &["\"remote-write\""]),
    ("message_passing.segment_bytes", &[], &["4096"]),
    ("message_passing.segments", &[SHORT_PIECES], &["1"]),
    ("nic", &[], &["\"xl710\"", "\"connectx-6-dx\""]),
    ("nic_socket", &[], &["1"]),
    ("nvme_tcp_target.buffers", &[("nvme_tcp_target.depth", "64")], &["32"]),
    ("nvme_tcp_target.connections", &[], &["2"]),
    ("nvme_tcp_target.depth", &[], &["2"]),
    ("nvme_tcp_target.digest", &[], &["\"core\""]),
    ("nvme_tcp_target.digests", &[DIGESTED_BY_ENGINES], &["1"]),
    ("nvme_tcp_target.mtu_bytes", &[], &["9000"]),
    ("nvme_tcp_target.order", &[], &["\"sequential\""]),
    ("nvme_tcp_target.read_bytes", &[], &["65536"]),
    ("nvme_tcp_target.ssds", &[], &["2"]),
    ("nvme_tcp_target.ssds_per_root_port", &[], &["4"]),
    ("offered_gbps", &[], &["5.0"]),
    ("offload.absent_percent", &[], &["50"]),
    ("offload.back_off", &[("cores", "8"), SHARED, ("dsa.threshold", "1")], &["\"exponential\""]),
    ("offload.batch", &[], &["4"]),
    ("offload.buffers", &[], &["3"]),
    ("offload.by", &[], &["\"core\""]),
    ("offload.cache_control", &[], &["0"]),
    ("offload.data", &[], &["\"llc\"", "\"flushed\""]),
    ("offload.delta_percent", &[("offload.operation", "\"create-delta\"")], &["50"]),
    ("offload.depth", &[], &["1"]),
    ("offload.descriptors", &[], &["\"prepared\"", "\"allocated\""]),
    ("offload.destination_node", &[], &["\"other-socket\"", "\"cxl\""]),
    ("offload.faults", &[("offload.absent_percent", "50")], &["\"resubmit\"", "\"software\"", "\"touch\""]),
    ("offload.kernel", &[("offload.by", "\"core\"")], &["\"non-temporal\"", "\"rep-movsb\""]),
    ("offload.lock", &[("cores", "2")], &["true"]),
    ("offload.members_share_buffers", &[("offload.batch", "4")], &["true"]),
    ("offload.offset_bytes", &[("offload.transfer_bytes", "4096")], &["64"]),
    ("offload.operation", &[], &["\"fill\""]),
    ("offload.portal_addresses", &[("offload.transfer_bytes", "64")], &["2"]),
    ("offload.queues_per_core", &[("dsa.queues", "2")], &["2"]),
    ("offload.source_node", &[], &["\"other-socket\"", "\"cxl\""]),
    ("offload.transfer_bytes", &[], &["512"]),
    ("offload.wait", &[], &["\"umwait\"", "\"interrupt\""]),
    ("packet_bytes", &[], &["900"]),
    ("packet_sink.payload", &[], &["\"read\""]),
    ("packet_source.writes_payload", &[], &["false"]),
    ("page_size", &[], &["\"1G\""]),
    ("ping_pong.header_bytes", &[], &["100"]),
    ("ping_pong.message_bytes", &[], &["700"]),
    ("placement.bypass_unread", &[], &["true"]),
    ("placement.bypass_unread", &[LARGE_READS], &["true"]),
    ("placement.bypass_unread", &[LARGE_RING], &["true"]),
    ("placement.bypass_unread", &[MANY_BLOCKS], &["true"]),
    ("placement.bypass_when_backlogged", &[], &["16"]),
    ("placement.header_line", &[("placement.header_slices", "1")], &["2"]),
    ("placement.header_slices", &[], &["1"]),
    ("placement.headroom_lines", &[("placement.header_slices", "1")], &["20"]),
    ("placement.inject_lines", &[], &["1"]),
    ("placement.io_priority", &[], &["true"]),
    ("placement.io_priority", &[LARGE_READS], &["true"]),
    ("placement.io_priority", &[LARGE_RING], &["true"]),
    ("placement.io_priority", &[MANY_BLOCKS, ("block_io.reads_data", "true"), ("cores", "4")], &["true"]),
    ("placement.prefetch_hint_lines", &[DDIO_OFF], &["2"]),
    ("placement.push_to_l2_lines", &[], &["2"]),
    ("placement.replace_read_first", &[], &["true"]),
    ("placement.replace_read_first", &[LARGE_READS], &["true"]),
    ("placement.replace_read_first", &[LARGE_RING], &["true"]),
    ("placement.replace_read_first", &[MANY_BLOCKS], &["true"]),
    ("pool_buffers", &[], &["30000"]),
    ("pool_cache", &[], &["32"]),
    ("rng_calls", &[], &["50"]),
    ("rx_descriptors", &[], &["64"]),
    ("socket", &[], &["1"]),
    ("ssd", &[], &["\"xg5\""]),
    ("traffic.arrivals", &[RANDOM], &["\"poisson\""]),
    ("traffic.burst_packets", &[RANDOM, ON_OFF], &["8"]),
    ("traffic.cut_short", &[("traffic.pcap", "\"CUT\"")], &["true"]),
    ("traffic.flow_rules", &[("cores", "3")], &["64"]),
    ("traffic.flow_zipf", &[RANDOM, ("cores", "3")], &["1.1"]),
    ("traffic.flows", &[("cores", "3")], &["7"]),
    ("traffic.generator_threads", &[("cores", "3")], &["1"]),
    ("traffic.loops", &[PCAP], &["2"]),
    ("traffic.pattern", &[("cores", "3")], &["\"random\""]),
    ("traffic.pcap", &[], &["\"PCAP\""]),
    ("traffic.scale_to_gbps", &[PCAP], &["10.0"]),
    ("traffic.sizes", &[RANDOM], &["\"imix\""]),
    ("traffic.train_packets", &[("cores", "3")], &["3"]),
    ("traffic.turn_packets", &[("cores", "3"), ("traffic.train_packets", "3")], &["2"]),
    ("tx_descriptors", &[], &["64", "128"]),
    ("vhost_switch.by", &[], &["\"dsa\""]),
    ("vhost_switch.cache_control", &[SWITCHED_BY_ENGINES], &["0"]),
    ("vhost_switch.depth", &[SWITCHED_BY_ENGINES], &["1"]),
    ("vhost_switch.guest_cores", &[("cores", "4")], &["2"]),
    ("vhost_switch.guest_descriptors", &[], &["64"]),
    ("vhost_switch.queues", &[SWITCHED_BY_ENGINES, ("dsa.queues", "2")], &["2"]),
    ("warm_buffers", &[], &["200"]),
];
const BY_ENGINES: (&str, &str) = ("cachelib.by", "\"dsa\"");
const SWITCHED_BY_ENGINES: (&str, &str) = ("vhost_switch.by", "\"dsa\"");
const DIGESTED_BY_ENGINES: (&str, &str) = ("nvme_tcp_target.digest", "\"dsa\"");
const SHORT_PIECES: (&str, &str) = ("message_passing.segment_bytes", "1024");
const PASSED_BY_ENGINES: (&str, &str) = ("message_passing.by", "\"dsa\"");
const PCAP: (&str, &str) = ("traffic.pcap", "\"PCAP\"");

/// Keys that act in other scenarios than the short ones of this test, and why not in these.
const EXEMPT: [(&str, &str, &str); 11] = [
    ("message-passing", "core_way_mask", "messages of 8 KiB and their buffers stay in L2"),
    ("message-passing", "initial_content", "ranks write every buffer before the first batch"),
    ("descriptor-replay", "core_way_mask", "the lines of its descriptors stay in L2"),
    (
        "descriptor-replay",
        "dynamic_ways.",
        "its few writes hit, so that a controller has nothing to do",
    ),
    (
        "vhost-switch",
        "dynamic_ways.",
        "its writes hit from the start, so that a controller has nothing to do",
    ),
    ("offload", "core_way_mask", "the lines of its descriptors stay in L2"),
    ("offload", "dynamic_ways.", "its few writes hit, so that a controller has nothing to do"),
    (
        "packet-source",
        "dynamic_ways.",
        "its few writes hit, so that a controller has nothing to do",
    ),
    ("ping-pong", "placement.bypass_unread", "one message in flight evicts nothing that is unread"),
    ("ping-pong", "placement.io_priority", "nothing competes with one message in flight"),
    ("ping-pong", "placement.replace_read_first", "one message in flight fills no set"),
];

/// Keys that every scenario has, or that name things: what a change of them is for.
const NAMES: [&str; 2] = ["application", "name"];

/// What an application needs to be stated, and keys with which its short run is loaded.
pub fn base(application: &str) -> String {
    let own = match application {
        "memory-kernel" => "memory_kernel.working_set_bytes = 33554432\n",
        "block-io" => "ssd = \"p4800x\"\n",
        "key-value" => "packet_bytes = 128\nkey_value.items = 65536\n",
        "key-value-memory" => "key_value.items = 65536\n",
        "ping-pong" => "",
        "offload" => "offload.depth = 8\noffload.transfer_bytes = 1024\n",
        "packet-source" => "packet_bytes = 300\n",
        "message-passing" => "message_passing.message_bytes = 8192\n",
        "nvme-tcp-target" => "ssd = \"p4800x\"\nrx_descriptors = 512\n",
        "cachelib" => "cachelib.items = 16384\n",
        "descriptor-replay" => {
            let log = with_captures("descriptor_replay.log = \"LOG\"\n");
            return format!("{}{log}", base_of(application, ""));
        }
        _ => "packet_bytes = 300\nrx_descriptors = 256\n",
    };
    base_of(application, own)
}

fn base_of(application: &str, own: &str) -> String {
    format!(
        "platform = \"{}\"\napplication = \"{application}\"\n{own}\
         run.batch_packets = 300\nrun.min_batches = 10\nrun.max_batches = 10\n",
        platform(application)
    )
}

/// The metrics of a run, or why it is refused.
fn metrics(application: &str, text: &str, set: &[(&str, &str)]) -> Result<String, String> {
    let set: Vec<(String, String)> =
        set.iter().map(|(key, value)| ((*key).into(), with_captures(value))).collect();
    let job = || -> Result<Job, scenario::InputError> {
        let read = scenario::scenario::Scenario::read("a.toml", text, &set)?;
        let stated = set.iter().find(|(key, _)| key == "platform");
        let name = stated.map_or(platform(application), |(_, name)| name.trim_matches('"'));
        let platform = builtin::platform("a.toml", name)?;
        Job::new("a.toml", read, platform, "the platform", 3)
    };
    let job = job().map_err(|error| error.to_string())?;
    let result = job.run(Wanted::default(), |_| ControlFlow::Continue(()));
    let result = result.unwrap_or_else(|failure| panic!("{text}{set:?}: {failure}"));
    Ok(serde_json::to_string(&result.metrics).expect("metrics are JSON"))
}

/// A value with the paths of captures in place of PCAP and CUT, which ends within its last packet, and those
/// of logs of descriptors in place of LOG and OTHER.
pub fn with_captures(value: &str) -> String {
    let names = ["PCAP", "CUT", "LOG", "OTHER"];
    let named = names.iter().zip(recordings());
    named.fold(value.to_owned(), |text, (name, path)| {
        text.replace(name, &path.display().to_string())
    })
}

/// A capture of 64 frames of 200 bytes, one each microsecond; the same without its last byte; logs of
/// descriptors of 4 KiB and of 1 KiB.
fn recordings() -> &'static [PathBuf; 4] {
    static WRITTEN: OnceLock<[PathBuf; 4]> = OnceLock::new();
    let write = || {
        let header: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1];
        let mut bytes: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
        for packet in 0..64_u32 {
            let record: [u32; 4] = [0, packet, 200, 200];
            bytes.extend(record.iter().flat_map(|word| word.to_le_bytes()));
            bytes.extend((0..200).map(|byte: u32| (byte + packet).to_le_bytes()[0]));
        }
        let cut = bytes[..bytes.len() - 1].to_vec();
        let logs = [4096, 1024].map(|size| descriptors(size).into_bytes());
        let [log, other] = logs;
        let files =
            [("whole.pcap", bytes), ("cut.pcap", cut), ("4k.jsonl", log), ("1k.jsonl", other)];
        files.map(|(name, content)| {
            let file = format!("skipline-keys-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(file);
            fs::write(&path, content).expect("the temporary folder can be written");
            path
        })
    };
    WRITTEN.get_or_init(write)
}

/// A log of 600 copies by four portals, 50 ns apart.
fn descriptors(bytes: u64) -> String {
    let line = |number: u64| {
        let (time, portal, page) = (number * 50, number % 4, number % 64 * 4096);
        let (source, destination) = (0x1000_0000 + page, 0x2000_0000 + page);
        format!(
            "{{\"time_ns\": {time}, \"portal\": {portal}, \"opcode\": 3, \"flags\": 256, \
             \"bytes\": {bytes}, \"source\": \"{source:#x}\", \"destination\": \"{destination:#x}\"}}\n"
        )
    };
    (0..600).map(line).collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Acts,
    Refused(String),
    NoEffect,
}

/// What becomes of a key of an application: it acts if any of its changes does.
fn outcome(application: &str, key: &str) -> Outcome {
    let text = base(application);
    let (mut refusal, mut is_accepted) = (None, false);
    for (_, needs, values) in CHANGES.iter().filter(|change| change.0 == key) {
        let before = match metrics(application, &text, needs) {
            Ok(before) => before,
            Err(reason) => {
                // A key that permits what is refused otherwise, by its name, acts.
                let permits = |value| {
                    let set: Vec<_> = needs.iter().copied().chain([(key, value)]).collect();
                    reason.contains(key) && metrics(application, &text, &set).is_ok()
                };
                if values.iter().any(|&value| permits(value)) {
                    return Outcome::Acts;
                }
                refusal = Some(reason);
                continue;
            }
        };
        for value in *values {
            let mut set = needs.to_vec();
            set.push((key, value));
            match metrics(application, &text, &set) {
                Ok(after) if after != before => return Outcome::Acts,
                Ok(_) => is_accepted = true,
                Err(reason) => refusal = Some(reason),
            }
        }
    }
    if is_accepted { Outcome::NoEffect } else { Outcome::Refused(refusal.unwrap_or_default()) }
}

fn leaves(schema: &Value, of: &Value, prefix: &str, keys: &mut BTreeSet<String>) {
    for (name, property) in of["properties"].as_object().expect("a table") {
        let alternatives = property["anyOf"].as_array();
        let inner = alternatives.and_then(|all| all.iter().find(|one| one.get("$ref").is_some()));
        let reference = inner.unwrap_or(property)["$ref"].as_str();
        let definition = reference.map(|path| &schema["$defs"][path.rsplit('/').next().unwrap()]);
        match definition {
            Some(table) if table.get("properties").is_some() => {
                leaves(schema, table, &format!("{prefix}{name}."), keys);
            }
            _ => drop(keys.insert(format!("{prefix}{name}"))),
        }
    }
}

#[test]
fn the_list_of_changes_has_every_key_of_a_tenant() {
    let schema = schema::of("scenario").expect("there is one");
    let mut keys = BTreeSet::new();
    leaves(&schema, &schema["$defs"]["Tenant"], "", &mut keys);
    for name in NAMES {
        assert!(keys.remove(name), "{name}");
    }
    let listed: BTreeSet<String> = CHANGES.iter().map(|(key, ..)| (*key).into()).collect();
    assert_eq!(listed, keys);
}

/// Every key with every application in a soak, else every eighth pair.
fn pairs() -> impl Iterator<Item = (usize, String, &'static str)> {
    let schema = schema::of("scenario").expect("there is one");
    let names = schema["$defs"]["Application"]["oneOf"].as_array().expect("a list").clone();
    let names = names.into_iter().map(|name| name["const"].as_str().expect("a name").to_owned());
    let keys: BTreeSet<&str> = CHANGES.iter().map(|change| change.0).collect();
    let all =
        names.flat_map(move |name| keys.clone().into_iter().map(move |key| (name.clone(), key)));
    let step = soak::amount(8_usize, 1);
    let numbered = (0..).zip(all).map(|(number, (name, key))| (number, name, key));
    numbered.filter(move |(number, ..)| number % step == 0)
}

/// Pairs of which half of them, by number, are looked at.
fn every_key_acts_or_is_refused(odd: usize) {
    let half = pairs().filter(|(number, ..)| (number / soak::amount(8_usize, 1)) % 2 == odd);
    act_or_are_refused(half.map(|(_, application, key)| (application, key)));
}

fn act_or_are_refused(pairs: impl Iterator<Item = (String, &'static str)>) {
    let (mut acting, mut refused, mut idle) = (0, 0, Vec::new());
    for (application, key) in pairs {
        match outcome(&application, key) {
            Outcome::Acts => acting += 1,
            Outcome::Refused(reason) => {
                assert!(reason.starts_with("a.toml: `"), "{application}, {key}: {reason}");
                refused += 1;
            }
            Outcome::NoEffect => {
                let exempt =
                    EXEMPT.iter().any(|(of, keys, _)| *of == application && key.starts_with(keys));
                if !exempt {
                    idle.push(format!("{application}: {key}"));
                }
            }
        }
    }
    println!("{acting} pairs act, {refused} are refused");
    assert!(idle.is_empty(), "no effect: {idle:#?}");
}

#[test]
fn every_even_key_acts_or_is_refused() {
    every_key_acts_or_is_refused(0);
}

#[test]
fn every_odd_key_acts_or_is_refused() {
    every_key_acts_or_is_refused(1);
}

/// They are many, and most of them act on data operations only.
#[test]
fn every_own_key_of_an_application_that_copies_acts() {
    let own =
        ["vhost-switch", "cachelib", "descriptor-replay", "message-passing", "nvme-tcp-target"];
    for application in own {
        let table = format!("{}.", application.replace('-', "_"));
        let own: BTreeSet<&str> =
            CHANGES.iter().map(|change| change.0).filter(|key| key.starts_with(&table)).collect();
        assert!(own.len() > 2, "{application} has keys of its own");
        for key in own {
            assert_eq!(outcome(application, key), Outcome::Acts, "{key}");
        }
    }
}

#[test]
fn every_key_of_copy_engines_acts_on_data_operations() {
    let own = |key: &&str| ["offload.", "dsa.", "cbdma."].iter().any(|of| key.starts_with(of));
    let keys: BTreeSet<&str> = CHANGES.iter().map(|change| change.0).filter(own).collect();
    act_or_are_refused(keys.into_iter().map(|key| ("offload".into(), key)));
    for key in ["offload.lock", "offload.back_off", "offload.faults", "dsa.threshold"] {
        assert_eq!(outcome("offload", key), Outcome::Acts, "{key}");
    }
}

/// A base of tables beside a forwarder, and a change of each of their keys.
struct Beside {
    tables: &'static str,
    definition: &'static str,
    changes: &'static [(&'static str, &'static str)],
}

const BESIDE: [Beside; 2] = [
    Beside {
        tables: "[[co_runner]]\ncores = 2\nworking_set_bytes = 33554432\nstore_percent = 20\n",
        definition: "CoRunnerKeys",
        changes: &[
            ("co_runner.0.accesses_in_flight", "2"),
            ("co_runner.0.cores", "1"),
            ("co_runner.0.cycles_per_access", "9.0"),
            ("co_runner.0.isolated_slices", "true"),
            ("co_runner.0.mba_percent", "10"),
            ("co_runner.0.nearest_slices", "2"),
            ("co_runner.0.pattern", "\"sequential\""),
            ("co_runner.0.slices", "[1]"),
            ("co_runner.0.socket", "1"),
            ("co_runner.0.store_percent", "90"),
            ("co_runner.0.way_mask", "3"),
            ("co_runner.0.working_set_bytes", "1048576"),
        ],
    },
    Beside {
        tables: "[[tenant]]\nname = \"second\"\n\
                 [[event]]\nat_us = 100\nddio_ways = 0\n",
        definition: "EventKeys",
        changes: &[
            ("event.0.at_us", "20.0"),
            ("event.0.ddio_keeps_descriptors", "true"),
            ("event.0.ddio_ways", "8"),
            ("event.0.tenant", "\"second\""),
        ],
    },
];

/// `tests/all/probe.rs` turns the keys of a watcher, `engine_telemetry.rs` those of copy engines.
const ELSEWHERE: [&str; 3] = ["probe.", "cache_control", "threshold"];

#[test]
fn every_key_of_a_co_runner_and_an_event_acts() {
    let schema = schema::of("scenario").expect("there is one");
    for Beside { tables, definition, changes } in BESIDE {
        let mut keys = BTreeSet::new();
        leaves(&schema, &schema["$defs"][definition], "", &mut keys);
        keys.retain(|key| !ELSEWHERE.iter().any(|elsewhere| key.starts_with(elsewhere)));
        let changed = changes.iter().map(|(key, _)| key.split_once(".0.").expect("a table").1);
        assert_eq!(changed.map(str::to_owned).collect::<BTreeSet<_>>(), keys);
        let text = format!("{}{tables}", base("l2-forward"));
        let before = metrics("l2-forward", &text, &[]).expect("it is not refused");
        for change in changes {
            let after = metrics("l2-forward", &text, &[*change]).expect("it is not refused");
            assert_ne!(after, before, "{change:?}");
        }
    }
}
