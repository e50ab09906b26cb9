//! Scenarios at random, for laws that hold in all of them: any machine, application, card and load, with
//! neighbours and co-runners. What a scenario may not be is refused, as a user would be told.

use proptest::prelude::*;
use proptest::sample::select;
use scenario::platform::{NicFacts, Platform};
use scenario::result::{Numbers, RunResult};
use scenario::{InputError, Job, RecordingRequest, Scenario, builtin};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::{ControlFlow, RangeInclusive};

/// Machines with cards of their own and costs of packet software.
const PLATFORMS: [&str; 7] = [
    "cascade-lake-platinum-8260",
    "gem5-ispass20",
    "haswell-e5-2667v3",
    "haswell-e5-2699v3",
    "ice-lake-40",
    "sapphire-rapids-56",
    "skylake-gold-6140",
];

/// Cards with links that each of those machines has.
const CARDS: [&str; 4] = ["connectx-4", "connectx-5", "e810", "xl710"];

const FORWARDERS: [&str; 3] = ["l2-forward", "l3-forward", "chain"];
const OTHERS: [&str; 11] = [
    "packet-sink",
    "packet-source",
    "key-value",
    "key-value-memory",
    "block-io",
    "memory-kernel",
    "offload",
    "vhost-switch",
    "cachelib",
    "message-passing",
    "nvme-tcp-target",
];
/// Those that copy, or digest data, by cores or engines.
const COPIERS: [&str; 5] =
    ["offload", "vhost-switch", "cachelib", "message-passing", "nvme-tcp-target"];
/// The machine with a DSA, and the one with a CBDMA.
const DSA: &str = "sapphire-rapids-56";
const CBDMA: &str = "ice-lake-40";

/// Keys of a tenant and their values, as `--set` takes them.
type Keys = Vec<(String, String)>;

/// A scenario in parts, so that a law can change one of them.
#[derive(Clone)]
pub struct Sketch {
    pub platform: &'static str,
    /// Facts of the platform that the scenario replaces, and keys of the machine.
    pub machine: Keys,
    pub tenants: Vec<Keys>,
    pub co_runners: Vec<Keys>,
}

/// The scenario as its file would be: a failing case can be run by hand.
impl fmt::Debug for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.text())
    }
}

fn lines(keys: &Keys) -> String {
    keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
}

/// Sets a key, in place of its value before.
pub fn set(keys: &mut Keys, key: &str, value: impl fmt::Display) {
    keys.retain(|(known, _)| known != key);
    keys.push((key.into(), value.to_string()));
}

impl Sketch {
    pub fn text(&self) -> String {
        let (main, others) = self.tenants.split_first().expect("there is a main tenant");
        let mut text = format!("platform = \"{}\"\n", self.platform);
        text += &lines(&self.machine);
        text += &lines(main);
        for other in others {
            text += &format!("[[tenant]]\n{}", lines(other));
        }
        for co_runner in &self.co_runners {
            text += &format!("[[co_runner]]\n{}", lines(co_runner));
        }
        text
    }

    pub fn job(&self, seed: u64) -> Result<Job, InputError> {
        let scenario = Scenario::read("a.toml", &self.text(), &[])?;
        let facts = scenario.platform_facts();
        let platform = builtin::platform_with("a.toml", self.platform, &facts)?;
        Job::new("a.toml", scenario, platform, self.platform, seed)
    }

    /// The result of a run, or why the scenario is refused.
    pub fn run(&self, seed: u64) -> Result<RunResult, InputError> {
        let run = self.job(seed)?.run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
        Ok(run.unwrap_or_else(|failure| panic!("{failure}: {self:?}")))
    }

    /// A copy whose machine has this key.
    pub fn with(&self, key: &str, value: impl fmt::Display) -> Self {
        let mut changed = self.clone();
        set(&mut changed.machine, key, value);
        changed
    }

    /// A copy whose tenant of this number has this key.
    pub fn with_of(&self, tenant: usize, key: &str, value: impl fmt::Display) -> Self {
        let mut changed = self.clone();
        set(&mut changed.tenants[tenant], key, value);
        changed
    }

    /// Drops the key that a refusal names, as in "a.toml: `tenant.0.burst`: ...": whether there is such a
    /// key.
    fn drop_refused(&mut self, refusal: &str) -> bool {
        let Some(named) = refusal.split('`').nth(1) else { return false };
        let named = named.split(" = ").next().unwrap_or(named);
        let (tenant, key) = match named
            .strip_prefix("tenant.")
            .and_then(|rest| rest.split_once('.'))
        {
            Some((number, key)) => (number.parse::<usize>().map_or(0, |number| number + 1), key),
            None => (0, named),
        };
        let Some(keys) = self.tenants.get_mut(tenant) else { return false };
        let before = keys.len();
        // Packets that are not chained need larger buffers.
        let of_chains = |known: &str| key == "scatter" && known == "buffer_bytes";
        keys.retain(|(known, _)| known != key && !of_chains(known));
        keys.len() < before
    }

    /// Drops the last co-runner, or else the last tenant but the main one: too many for the machine.
    fn drop_last(&mut self) -> bool {
        let fewer = self.co_runners.pop().is_some();
        fewer || (self.tenants.len() > 1 && self.tenants.pop().is_some())
    }

    /// A key of a tenant.
    pub fn get(&self, tenant: usize, key: &str) -> Option<&str> {
        let found = self.tenants[tenant].iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }

    /// Packets of the main tenant in one batch.
    pub fn batch_packets(&self) -> u64 {
        let stated = self.machine.iter().find(|(key, _)| key == "run.batch_packets");
        let (_, packets) = stated.expect("every sketch states it");
        packets.parse().expect("packets are a whole number")
    }

    /// A number that a tenant states.
    pub fn number(&self, tenant: usize, key: &str) -> Option<f64> {
        self.get(tenant, key).and_then(|value| value.parse().ok())
    }
}

/// The facts of a platform.
pub fn facts(platform: &str) -> Platform {
    builtin::platform("a.toml", platform).expect("it is built in")
}

/// The value and the half width of the interval of a metric that is one number.
pub fn measured(result: &RunResult, name: &str) -> Option<(f64, f64)> {
    let metric = result.metrics.get(name)?;
    let Numbers::One(value) = metric.value else { panic!("{name} has parts") };
    let width = match &metric.ci95 {
        scenario::result::Intervals::One(width) => width.unwrap_or(0.0),
        scenario::result::Intervals::Parts(_) => panic!("{name} has parts"),
    };
    Some((value, width))
}

/// A part of a metric that has several.
pub fn part(result: &RunResult, name: &str, key: &str) -> f64 {
    match &result.metrics[name].value {
        Numbers::Parts(parts) => parts[key],
        Numbers::One(_) => panic!("{name} has no parts"),
    }
}

/// The card of a tenant.
pub fn card(sketch: &Sketch, tenant: usize) -> NicFacts {
    match sketch.get(tenant, "nic") {
        Some(card) => {
            let card = builtin::nic("a.toml", card.trim_matches('"')).expect("it is built in");
            card.nic
        }
        None => facts(sketch.platform).nic.expect("it has a card"),
    }
}

/// The line rate of the card of a tenant.
pub fn line_rate_gbps(sketch: &Sketch, tenant: usize) -> f64 {
    card(sketch, tenant).line_rate_gbps.value
}

/// Short runs: laws ask for a direction, not for digits. A law that compares runs repeats those that have
/// not settled.
fn machine() -> impl Strategy<Value = Keys> {
    Just(vec![
        ("run.batch_packets".into(), "600".into()),
        ("run.min_batches".into(), "10".into()),
        ("run.max_batches".into(), "14".into()),
    ])
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn key(name: &str, value: impl fmt::Display) -> (String, String) {
    (name.into(), value.to_string())
}

/// Cards, rings and packets. A ring of fewer than four bursts runs dry at moments that depend on
/// everything.
fn packets() -> impl Strategy<Value = Keys> {
    let load = (0.02..1.0_f64, select(vec![60_u32, 64, 128, 300, 590, 1024, 1500, 1514]));
    let rings = (8..11_u32, select(vec![1_u32, 4, 16, 32, 64]));
    let card = proptest::option::weighted(0.5, select(CARDS.to_vec()));
    (load, rings, card, (traffic(), buffers()), 0..12_u32).prop_map(
        |((share, bytes), (ring, burst), card, (traffic, buffers), ddio_ways)| {
            // The share becomes Gbit/s once the card's line rate is known.
            let mut keys = vec![
                key("offered_gbps", share),
                key("packet_bytes", bytes),
                key("rx_descriptors", 1 << ring),
                key("burst", burst),
                key("ddio_ways", ddio_ways),
            ];
            keys.extend(card.map(|card| key("nic", quoted(card))));
            keys.extend(traffic);
            keys.extend(buffers);
            keys
        },
    )
}

/// The pool, and what is prefetched: each key in one of four scenarios.
fn buffers() -> impl Strategy<Value = Keys> {
    let stated = |values: Vec<&'static str>| proptest::option::weighted(0.25, select(values));
    let keys = [
        ("headroom_bytes", vec!["0", "256"]),
        ("pool_cache", vec!["0", "1", "32", "512"]),
        ("pool_call_buffers", vec!["1", "8"]),
        ("pool_placement", vec!["\"aligned\"", "\"by-set\""]),
        ("prefetch.packets_ahead", vec!["0", "1", "4"]),
        ("prefetch.packet_lines", vec!["0", "2"]),
        ("prefetch.mbuf_lines", vec!["2"]),
        ("scatter", vec!["true"]),
    ];
    Vec::from(keys.map(|(name, values)| stated(values).prop_map(move |value| (name, value))))
        .prop_map(|chosen| {
            let chosen = chosen.into_iter().filter_map(|(name, value)| Some(key(name, value?)));
            let mut chosen: Keys = chosen.collect();
            if chosen.iter().any(|(name, _)| name == "scatter") {
                // Small ones, so that most packets take several.
                chosen.push(key("buffer_bytes", 512));
            }
            if chosen.iter().any(|(name, _)| name == "pool_placement") {
                // Fewer candidates are compared in less time.
                chosen.push(key("pool_buffers", 8191));
            }
            chosen
        })
}

fn traffic() -> impl Strategy<Value = Keys> {
    let pattern = select(vec!["trains", "fixed", "random"]);
    let random =
        (select(vec!["even", "poisson", "on-off"]), select(vec!["fixed", "imix", "campus"]));
    (pattern, random, 1..5000_u32).prop_map(|(pattern, (arrivals, sizes), flows)| {
        let mut keys = vec![key("traffic.pattern", quoted(pattern)), key("traffic.flows", flows)];
        if pattern == "random" {
            keys.push(key("traffic.arrivals", quoted(arrivals)));
            keys.push(key("traffic.sizes", quoted(sizes)));
        }
        keys
    })
}

/// A tenant with an application of this list.
fn tenant(applications: Vec<&'static str>) -> impl Strategy<Value = Keys> {
    let blocks = (1..4_u32, 0..8_u32, 0..6_u32, 0..=100_u32);
    (select(applications), 1..5_u32, packets(), blocks, 16..26_u32).prop_map(
        |(application, cores, packets, (ssds, depth, block, reads), working_set)| {
            let mut keys = vec![key("application", quoted(application)), key("cores", cores)];
            match application {
                "block-io" => keys.extend([
                    key("ssd", quoted("p4800x")),
                    key("block_io.ssds", ssds.min(cores)),
                    key("block_io.depth", 1 << depth),
                    key("block_io.block_bytes", 4096 << block),
                    key("block_io.read_percent", reads),
                ]),
                "memory-kernel" => {
                    keys.push(key("memory_kernel.working_set_bytes", 1_u64 << working_set));
                }
                "key-value-memory" => keys.push(key("key_value.items", 65_536)),
                "offload" => keys.extend([
                    key("offload.transfer_bytes", 64_u64 << (working_set - 16)),
                    key("offload.depth", 1 << (depth / 2)),
                    key("offload.batch", 1 << block),
                    key("offload.data", quoted(["core", "llc", "flushed"][ssds as usize - 1])),
                    key("offload.cache_control", reads % 2),
                    key("dsa.queue_mode", quoted(["dedicated", "shared"][reads as usize / 2 % 2])),
                    key("dsa.queues", cores),
                ]),
                "nvme-tcp-target" => keys.extend([
                    key("ssd", quoted("xg5")),
                    key("nvme_tcp_target.ssds", ssds),
                    key("nvme_tcp_target.depth", 1 << (depth / 2)),
                    key("nvme_tcp_target.read_bytes", 4096 << block),
                ]),
                "cachelib" => keys.push(key("cachelib.items", 4_096)),
                "message-passing" => {
                    keys.push(key("message_passing.message_bytes", 64_u64 << (working_set - 16)));
                }
                "key-value" => {
                    keys.extend(packets);
                    keys.push(key("key_value.items", 65_536));
                }
                _ => keys.extend(packets),
            }
            keys
        },
    )
}

fn co_runner() -> impl Strategy<Value = Keys> {
    (1..4_u32, 16..26_u32, any::<bool>()).prop_map(|(cores, working_set, random)| {
        vec![
            key("cores", cores),
            key("working_set_bytes", 1_u64 << working_set),
            key("pattern", quoted(if random { "random" } else { "sequential" })),
        ]
    })
}

/// A scenario of these applications, with as many neighbours and co-runners at most; only those that are
/// not refused.
fn sketch(
    applications: Vec<&'static str>,
    neighbours: RangeInclusive<usize>,
    co_runners: usize,
) -> impl Strategy<Value = Sketch> {
    let all: Vec<&str> = FORWARDERS.into_iter().chain(OTHERS).collect();
    let others = proptest::collection::vec(tenant(all), neighbours);
    let beside = proptest::collection::vec(co_runner(), 0..=co_runners);
    let parts = (select(PLATFORMS.to_vec()), machine(), tenant(applications), others, beside);
    parts.prop_map(|(platform, machine, main, others, co_runners)| {
        let mut tenants = vec![main];
        for (number, mut other) in others.into_iter().enumerate() {
            set(&mut other, "name", quoted(&format!("other{number}")));
            tenants.push(other);
        }
        fitted(Sketch { platform, machine, tenants, co_runners }, 0)
    })
}

/// Makes shares of the line rate Gbit/s, keeps ways within the machine's, and drops keys that are refused;
/// tenants before `first` are fitted already.
fn fitted(mut sketch: Sketch, first: usize) -> Sketch {
    let ways = f64::from(facts(sketch.platform).llc.ways.value);
    for tenant in first..sketch.tenants.len() {
        let Some(share) = sketch.number(tenant, "offered_gbps") else { continue };
        let gbps = share * line_rate_gbps(&sketch, tenant);
        let ddio = sketch.number(tenant, "ddio_ways").unwrap_or(0.0).min(ways);
        let keys = &mut sketch.tenants[tenant];
        set(keys, "offered_gbps", format!("{gbps:.3}"));
        set(keys, "ddio_ways", ddio);
    }
    for keys in &mut sketch.tenants[first..] {
        let application = keys.iter().find(|(name, _)| name == "application");
        let application = application.map_or("", |(_, value)| value.trim_matches('"')).to_owned();
        if !COPIERS.contains(&application.as_str()) {
            continue;
        }
        let by = match (application.as_str(), sketch.platform) {
            ("nvme-tcp-target", platform) if platform != DSA && platform != CBDMA => continue,
            (_, DSA) => "dsa",
            ("offload", CBDMA) => "cbdma",
            (_, CBDMA) => "core",
            // No costs of copies are known there.
            _ => {
                keys.retain(|(name, _)| name == "cores" || name == "name");
                set(keys, "application", "\"memory-kernel\"");
                set(keys, "memory_kernel.working_set_bytes", 1_u64 << 22);
                continue;
            }
        };
        let who = if application == "nvme-tcp-target" { "digest" } else { "by" };
        set(keys, &format!("{}.{who}", application.replace('-', "_")), quoted(by));
    }
    while let Err(refusal) = sketch.job(1) {
        let dropped = sketch.drop_refused(&refusal.to_string());
        assert!(dropped || sketch.drop_last(), "{refusal}: {sketch:?}");
    }
    sketch
}

/// Any scenario.
pub fn any_scenario() -> impl Strategy<Value = Sketch> {
    sketch(FORWARDERS.into_iter().chain(OTHERS).collect(), 0..=2, 2)
}

/// Two tenants that forward packets which come at random times and go to the queues by rules. Both state
/// all that the second would inherit.
pub fn pair() -> impl Strategy<Value = Sketch> {
    let two = (forwarder(0), tenant(FORWARDERS.to_vec()));
    two.prop_map(|(mut both, mut second)| {
        set(&mut second, "name", quoted("other0"));
        both.tenants.push(second);
        for keys in &mut both.tenants {
            keys.retain(|(key, _)| !key.starts_with("traffic."));
            let cores: u32 = keys
                .iter()
                .find_map(|(key, value)| (key == "cores").then(|| value.parse().ok())?)
                .unwrap_or(1);
            for (name, value) in [
                ("pattern", quoted("random")),
                ("arrivals", quoted("poisson")),
                ("flows", (64 * cores).to_string()),
                ("flow_rules", (64 * cores).to_string()),
            ] {
                set(keys, &format!("traffic.{name}"), value);
            }
            for (name, value) in [("nic", "\"connectx-5\""), ("packet_bytes", "590")] {
                if !keys.iter().any(|(key, _)| key == name) {
                    set(keys, name, value);
                }
            }
        }
        keep_what_both_state(&mut both);
        fitted(both, 1)
    })
}

/// Drops keys that one of two tenants states alone: the second one would inherit what the main one states,
/// and the other way round it would not.
fn keep_what_both_state(both: &mut Sketch) {
    let of =
        |tenant: &Keys| -> BTreeSet<String> { tenant.iter().map(|(key, _)| key.clone()).collect() };
    let stated: Vec<BTreeSet<String>> = both.tenants.iter().map(of).collect();
    for keys in &mut both.tenants {
        keys.retain(|(key, _)| key == "name" || stated.iter().all(|of| of.contains(key)));
    }
}

/// A forwarder alone, or beside co-runners.
pub fn forwarder(co_runners: usize) -> impl Strategy<Value = Sketch> {
    sketch(FORWARDERS.to_vec(), 0..=0, co_runners)
}
