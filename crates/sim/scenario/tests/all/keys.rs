//! Does every key of every application act, or is it refused with the reason?
//!
//! Each key is changed for each application, alone or with what it needs, and the results are compared.

pub mod changes;
pub mod recordings;

use changes::CHANGES;
use recordings::with_captures;
use scenario::{Job, RecordingRequest, builtin, schema};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A platform that states what an application needs.
pub fn platform(application: &str) -> &'static str {
    match application {
        "ping-pong" => "cascade-lake-blog",
        "offload" | "vhost-switch" | "cachelib" | "descriptor-replay" | "message-passing"
        | "nvme-tcp-target" => "sapphire-rapids-56",
        _ => "skylake-gold-6140",
    }
}

/// Keys that act in other scenarios than the short ones of this test, and why not in these.
const EXEMPT: &[(&str, &str, &str)] = &[
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
    ("vhost-switch", "placement.replace_read_first", "no line of its short run is chosen by it"),
    ("nvme-tcp-target", "placement.io_priority", "no line of its short run is chosen by it"),
    ("l2-forward", "placement.io_priority", "what it spares is not the least recently used"),
    ("chain", "placement.io_priority", "what it spares is not the least recently used"),
    ("block-io", "placement.io_priority", "what it spares is not the least recently used"),
    ("key-value", "placement.replace_read_first", "what was read is the least recently used"),
    ("block-io", "placement.replace_read_first", "what was read is the least recently used"),
    ("offload", "core_way_mask", "the lines of its descriptors stay in L2"),
    ("offload", "dynamic_ways.", "its few writes hit, so that a controller has nothing to do"),
    (
        "packet-source",
        "dynamic_ways.",
        "its few writes hit, so that a controller has nothing to do",
    ),
    (
        "packet-sink",
        "placement.io_priority",
        "its cores have few lines of their own, which evict no packets",
    ),
    ("ping-pong", "dynamic_ways.", "its few writes hit, so that a controller has nothing to do"),
    ("ping-pong", "placement.bypass_unread", "one message in flight evicts nothing that is unread"),
    ("ping-pong", "placement.io_priority", "nothing competes with one message in flight"),
    ("ping-pong", "placement.replace_read_first", "one message in flight fills no set"),
];

/// Keys that every scenario has, or that name things: what a change of them is for.
const NAMES: [&str; 2] = ["application", "name"];

/// Keys that an application needs, and keys with which its short run is loaded.
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

/// The metrics of a run and what it compares, or why it is refused.
fn metrics(application: &str, text: &str, set: &[(&str, &str)]) -> Result<String, String> {
    let set: Vec<(String, String)> =
        set.iter().map(|(key, value)| ((*key).into(), with_captures(value))).collect();
    let job = || -> Result<Job, scenario::InputError> {
        let read = scenario::Scenario::read("a.toml", text, &set)?;
        let stated = set.iter().find(|(key, _)| key == "platform");
        let name = stated.map_or(platform(application), |(_, name)| name.trim_matches('"'));
        let platform = builtin::platform("a.toml", name)?;
        Job::new("a.toml", read, platform, "the platform", 3)
    };
    let job = job().map_err(|error| error.to_string())?;
    let result = job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    let result = result.unwrap_or_else(|failure| panic!("{text}{set:?}: {failure}"));
    Ok(serde_json::to_string(&(&result.metrics, &result.replays)).expect("metrics are JSON"))
}

/// Those without the change, which many keys of an application are compared with: each is run once.
fn metrics_before(application: &str, text: &str, needs: &'static Set) -> Result<String, String> {
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let entry = {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let of = (application.to_owned(), needs);
        known.get_or_insert_default().entry(of).or_default().clone()
    };
    entry.get_or_init(|| metrics(application, text, needs)).clone()
}

/// Keys and values that a change needs.
type Set = [(&'static str, &'static str)];
/// Results by application and needs. The first of several threads finds each once.
type Known = HashMap<(String, &'static Set), Arc<OnceLock<Result<String, String>>>>;

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Acts,
    Refused(String),
    NoEffect,
}

/// The effect of a key of an application: it acts if any of its changes does.
fn outcome(application: &str, key: &str) -> Outcome {
    let text = base(application);
    let (mut refusal, mut is_accepted) = (None, false);
    for (_, needs, values) in CHANGES.iter().filter(|change| change.0 == key) {
        let before = match metrics_before(application, &text, needs) {
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
    let schema = schema::for_kind("scenario").expect("there is one");
    let mut keys = BTreeSet::new();
    leaves(&schema, &schema["$defs"]["Tenant"], "", &mut keys);
    for name in NAMES {
        assert!(keys.remove(name), "{name}");
    }
    let listed: BTreeSet<String> = CHANGES.iter().map(|(key, ..)| (*key).into()).collect();
    assert_eq!(listed, keys);
}

/// Every fourth key with each application, and every fourth application with each key, in a soak; others
/// with the next seeds. Else each key with one of the sixteen applications. By the sum of their numbers, so
/// that no key is left out because their count is even.
fn pairs() -> impl Iterator<Item = (String, &'static str)> {
    let schema = schema::for_kind("scenario").expect("there is one");
    let names = schema["$defs"]["Application"]["oneOf"].as_array().expect("a list").clone();
    let names = names.into_iter().map(|name| name["const"].as_str().expect("a name").to_owned());
    let keys: BTreeSet<&str> = CHANGES.iter().map(|change| change.0).collect();
    let (step, phase) = soak::amount((16, 0), (4, soak::seed(0)));
    names.zip(phase..).flat_map(move |(name, first)| {
        let looked_at = keys.clone().into_iter().zip(first..);
        let looked_at = looked_at.filter(move |(_, sum)| sum.is_multiple_of(step));
        looked_at.map(move |(key, _)| (name.clone(), key)).collect::<Vec<_>>()
    })
}

/// Every second of these pairs: two tests run at the same time.
fn every_key_acts_or_is_refused(first: usize) {
    act_or_are_refused(pairs().skip(first).step_by(2));
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
fn each_key_acts_or_is_refused_in_one_half_of_the_pairs() {
    every_key_acts_or_is_refused(0);
}

#[test]
fn each_key_acts_or_is_refused_in_the_other_half() {
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
        for key in own.into_iter().step_by(soak::amount(3, 1)) {
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
            ("co_runner.0.pointer_table", "true"),
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
    let schema = schema::for_kind("scenario").expect("there is one");
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
