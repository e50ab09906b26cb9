//! Telemetry of copy engines: are the counters of each instance what a trace of every line shows, and does a
//! timeline show who holds the LLC?

use crate::job_of;
use model::tracer::{Event, Found, LineOperation, Tracer};
use scenario::result::Numbers;
use scenario::{Job, RecordingRequest, Scenario, ScenarioMachine, builtin, metrics, read_sample};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use units::{LineAddr, Picos};

/// Lines of devices by agent, operation and outcome, from the trace alone.
#[derive(Clone, Debug, Default)]
struct TracedByAgent {
    counts: BTreeMap<(u8, &'static str), u64>,
}

impl Tracer for TracedByAgent {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        let in_llc = matches!(event.found, Found::LlcHit(_) | Found::MovedToLlc(_));
        let kind = match event.operation {
            LineOperation::DmaWriteFull if in_llc => "write_hits",
            LineOperation::DmaWriteFull => "write_misses",
            LineOperation::DmaWritePartial => "partial",
            LineOperation::DmaRead if event.found.is_memory() => "read_misses",
            LineOperation::DmaRead => "read_hits",
            _ => return,
        };
        *self.counts.entry((event.agent.0, kind)).or_default() += 1;
    }

    fn packet_arrives(&mut self, _first: LineAddr, _lines: u64) {}
    fn packet_leaves(&mut self, _first: LineAddr) {}
}

fn job(platform: &str, keys: &str) -> Job {
    let text = format!(
        "platform = \"{platform}\"\napplication = \"offload\"\nrun.batch_packets = 500\n\
         run.min_batches = 10\nrun.max_batches = 10\noffload.transfer_bytes = 4096\n{keys}"
    );
    job_of(&text, 3).unwrap_or_else(|error| panic!("{error}"))
}

/// Bytes that all engines of a machine have read and written, descriptors and records apart, and bytes of
/// descriptors that they have fetched.
fn bytes(machine: &ScenarioMachine<TracedByAgent>) -> (u64, u64, u64) {
    let mut sum = (0, 0, 0);
    for device in &machine.devices {
        if let Some(dsa) = device.as_dsa() {
            let it = dsa.counters_at(machine.now());
            sum = (sum.0 + it.bytes_read, sum.1 + it.bytes_written, sum.2 + it.list_bytes);
        }
        if let Some(cbdma) = device.as_cbdma() {
            let it = cbdma.counters_at(machine.now());
            sum = (sum.0 + it.bytes_read, sum.1 + it.bytes_written, sum.2 + it.descriptor_bytes);
        }
    }
    sum
}

#[test]
fn dsa_29_the_counters_of_each_engine_equal_the_traced_events() {
    for (platform, keys, engines) in [
        ("sapphire-rapids-56", "cores = 3\ndsa.instances = 3\noffload.depth = 8\n", 3),
        (
            "sapphire-rapids-56",
            "cores = 2\ndsa.instances = 2\noffload.depth = 4\noffload.batch = 8\n\
             offload.operation = \"dualcast\"\noffload.data = \"flushed\"\n",
            2,
        ),
        (
            "ice-lake-40",
            "cores = 2\noffload.by = \"cbdma\"\ncbdma.channels = 2\noffload.depth = 4\n",
            1,
        ),
    ] {
        let job = job(platform, keys);
        let mut machine = job.machine(TracedByAgent::default());
        // Counters forget what happened before time zero; the trace does not.
        let before = machine.fabric.tracer.clone();
        let start = read_sample(&machine);
        machine.run(3_000, Picos::NEVER);
        let sample = read_sample(&machine);
        assert_eq!(start.span, Picos::ZERO);
        let metric = metrics::all(&job.plan().layout, 2.0)
            .into_iter()
            .find(|metric| metric.name == "engine_lines")
            .expect("engines have it");
        let Numbers::Parts(counted) = metric.numbers(&sample) else { panic!("it has parts") };
        assert_eq!(counted.len(), 4 * engines);
        let names = job.plan().layout.agent_names();
        let traced = |key: &(u8, &'static str)| {
            let of = |tracer: &TracedByAgent| tracer.counts.get(key).copied().unwrap_or_default();
            of(&machine.fabric.tracer) - of(&before)
        };
        let mut lines = (0, 0);
        for (number, name) in (0u8..).zip(&names).filter(|(_, name)| !name.starts_with("core")) {
            for kind in ["read_hits", "read_misses", "write_hits", "write_misses"] {
                let traced = traced(&(number, kind));
                assert_eq!(counted[&format!("{name}:{kind}")], traced as f64, "{name}: {kind}");
                let sum = if kind.starts_with("read") { &mut lines.0 } else { &mut lines.1 };
                *sum += traced;
            }
            let reads = traced(&(number, "read_hits")) + traced(&(number, "read_misses"));
            assert!(reads > 10_000, "{name}: {reads}");
        }
        let (read, written, described) = bytes(&machine);
        assert_eq!((64 * lines.0, 64 * lines.1), (read + described, written), "{platform}");
    }
}

#[test]
fn dsa_40_a_timeline_shows_how_engines_and_cores_share_the_llc() {
    let run = |keys: &str| {
        let keys = format!("cores = 2\ndsa.instances = 2\noffload.depth = 8\n{keys}");
        let wanted = RecordingRequest::default();
        job("sapphire-rapids-56", &keys).run(wanted, |_| ControlFlow::Continue(())).expect("ends")
    };
    assert!(run("").timeline.is_empty());
    let timeline = run("run.timeline = true\noffload.buffers = 4096\n").timeline;
    assert_eq!(timeline.len(), 10);
    let of = |agent: &str| -> Vec<f64> {
        let name = format!("llc_occupancy_bytes.{agent}");
        timeline.iter().map(|point| point.metrics[&name]).collect()
    };
    for agent in ["dsa0", "dsa1"] {
        let held = of(agent);
        assert!(held[9] > 4.0 * held[0].max(1.0), "new buffers fill its ways: {agent} {held:?}");
    }
    assert_eq!(of("core0").len(), 10);
    assert!(timeline.is_sorted_by_key(|point| point.until_ns.to_bits()));
}

/// Values of a metric in each batch of a run with this event half way.
fn over_time(keys: &str, event: &str, metric: &str) -> Vec<(f64, f64)> {
    let text = format!("{keys}offload.depth = 16\noffload.buffers = 2048\n{event}");
    let run = job("sapphire-rapids-56", &text)
        .run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    let timeline = run.expect("it ends").timeline;
    timeline.iter().map(|point| (point.until_ns, point.metrics[metric])).collect()
}

#[test]
fn an_event_sends_the_destinations_of_later_descriptors_to_memory() {
    let event = "[[event]]\nat_us = 300\ncache_control = 0\n";
    let held = over_time("", event, "llc_occupancy_bytes.dsa0");
    let (before, after) = held.split_at(held.partition_point(|(until, _)| *until < 300e3));
    assert!(before.len() > 1 && after.len() > 2, "{held:?}");
    assert!(before.is_sorted_by_key(|it| it.1.to_bits()), "the ways fill: {before:?}");
    // Lines written to memory leave the LLC; completion records still enter it.
    let (most, last) = (before[before.len() - 1].1, after[after.len() - 1].1);
    assert!(last < 0.8 * most, "{held:?}");
}

#[test]
fn an_event_changes_the_threshold_of_shared_queues() {
    let keys = "cores = 4\ndsa.queue_mode = \"shared\"\n";
    let event = "[[event]]\nat_us = 200\nthreshold = 1\n";
    let refused = over_time(keys, event, "dsa_queue_entries");
    let early = refused[0].1;
    let late = refused[refused.len() - 1].1;
    assert!(early > 2.0 && late <= 1.0, "{refused:?}");
}

#[test]
fn events_that_act_on_nothing_are_refused_with_the_reason() {
    let refusal = |keys: &str| {
        let text = format!("platform = \"sapphire-rapids-56\"\n{keys}");
        let facts = builtin::platform("a.toml", "sapphire-rapids-56").expect("it is built in");
        let scenario = Scenario::read("a.toml", &text, &[]).expect("it is read");
        let job = Job::new("a.toml", scenario, facts, "the platform", 3);
        job.expect_err("it is refused").to_string()
    };
    let offload = "application = \"offload\"\n";
    for (keys, event, key, told) in [
        (offload, "", "`event.0.at_us` = 5", "changes nothing"),
        ("", "cache_control = 0", "`event.0.cache_control` = 0", "another application"),
        (offload, "cache_control = 2", "`event.0.cache_control` = 2", "allowed: 0 to 1"),
        (
            "application = \"offload\"\noffload.operation = \"compare\"\n",
            "cache_control = 0",
            "`event.0.cache_control` = 0",
            "writes no data",
        ),
        (offload, "threshold = 4", "`event.0.threshold` = 4", "no queue is shared"),
        ("", "threshold = 4", "`event.0.threshold` = 4", "moved by their card"),
        (
            "application = \"offload\"\ndsa.queue_mode = \"shared\"\ndsa.queue_entries = 8\n",
            "threshold = 9",
            "`event.0.threshold` = 9",
            "allowed: 1 to 8",
        ),
        (offload, "threshold = 129", "`event.0.threshold` = 129", "allowed: 1 to 128"),
    ] {
        let refused = refusal(&format!("{keys}[[event]]\nat_us = 5\n{event}\n"));
        assert!(refused.contains(key) && refused.contains(told), "{event}: {refused}");
    }
}
