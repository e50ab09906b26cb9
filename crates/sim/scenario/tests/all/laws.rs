//! Laws that hold in every scenario: what a change may not worsen, what stays equal, what is conserved
//! and what bounds it. Each is tried in scenarios at random.

mod links;

use crate::random_scenarios::{
    Sketch, any_scenario, card, facts, forwarder, line_rate_gbps, measured, pair, part, set,
};
use model::device::Device;
use model::device::nic::rx::RxCounters;
use model::tracer::NoTrace;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use scenario::result::{Numbers, RunResult};
use scenario::{InputError, RecordingRequest, RunProgress, read_sample};
use std::ops::ControlFlow;
use units::Picos;

/// Tolerance for runs of this length beside their intervals.
const TOLERANCE: f64 = 0.02;
/// From when queues have filled, and how often a machine is looked at, every 500 ns.
const FILLED_US: f64 = 500.0;
const LOOKS: u32 = 1000;
/// The share of time for which a resource can be busy, and what sums of fractions add to it.
const ALWAYS_PERCENT: f64 = 100.0 + 1e-6;
/// How many times longer a run may become until it has settled.
const LONGER: [u64; 3] = [4, 16, 64];
/// The longest time from when a card has read a packet until it has left on the wire.
const READ_TO_WIRE_NS: f64 = 5000.0;
/// Equal shares: the largest difference.
const SHARES: f64 = 0.03;

pub fn cases(slice: u32, whole: u32) -> ProptestConfig {
    ProptestConfig {
        cases: soak::amount(slice, whole),
        max_shrink_iters: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// The result, of a scenario that must not be refused.
fn run(sketch: &Sketch) -> RunResult {
    settled(sketch).unwrap_or_else(|refusal| panic!("{refusal}: {sketch:?}"))
}

/// The result of a run that is long enough: while a ring or a cache still fills, more of anything may be
/// more to fill.
fn settled(sketch: &Sketch) -> Result<RunResult, InputError> {
    let mut result = sketch.run(1)?;
    for times in LONGER {
        if result.settled {
            break;
        }
        result = sketch.with("run.batch_packets", times * sketch.batch_packets()).run(1)?;
    }
    Ok(result)
}

fn gbps(result: &RunResult) -> (f64, f64) {
    measured(result, "throughput_gbps").expect("it sends packets")
}

fn number(result: &RunResult, name: &str) -> f64 {
    measured(result, name).map_or(f64::NAN, |(value, _)| value)
}

/// `after` is no less than `before`, intervals and tolerance apart.
fn is_no_less(after: (f64, f64), before: (f64, f64)) -> bool {
    after.0 + after.1 + before.1 >= before.0 * (1.0 - TOLERANCE)
}

fn are_equal(one: (f64, f64), other: (f64, f64)) -> bool {
    (one.0 - other.0).abs() <= SHARES * one.0.max(other.0) + one.1 + other.1
}

/// Does the result name what costs throughput under more load: packets that are evicted before they are
/// read (ATC'20, section 4.2: leaky DMA)?
fn leaks_more(after: &RunResult, before: &RunResult) -> bool {
    let rises = |name: &str, sign: f64| {
        let risen = sign * (number(after, name) - number(before, name));
        risen > 2.0
    };
    rises("pcie_write_hit_rate", -1.0)
        || rises("pcie_read_hit_rate", -1.0)
        || rises("llc_load_miss_ratio", 1.0)
}

proptest! {
    #![proptest_config(cases(4, 14))]

    #[test]
    fn more_load_gives_no_less_throughput_unless_packets_leak(
        sketch in forwarder(1), share in 0.05..0.6_f64, factor in 1.1..3.0_f64,
    ) {
        let line_rate = line_rate_gbps(&sketch, 0);
        let offered = |share: f64| sketch.with_of(0, "offered_gbps", (share * line_rate).min(line_rate));
        let (before, after) = (run(&offered(share)), run(&offered(share * factor)));
        let fine = is_no_less(gbps(&after), gbps(&before));
        // Leaks cost some of the throughput, and not most of it.
        let leaks = leaks_more(&after, &before) && gbps(&after).0 > 0.6 * gbps(&before).0;
        prop_assert!(fine || leaks, "{:?} before, {:?}", gbps(&before), gbps(&after));
    }
}

/// A change of a machine that gives a forwarder more of something.
#[derive(Clone, Copy, Debug)]
enum More {
    DdioWays,
    Channels,
    LinkSpeed,
    LlcSets,
    CoreClock,
    UncoreClock,
    FewerCoRunners,
}

impl More {
    const ALL: [Self; 7] = [
        Self::DdioWays,
        Self::Channels,
        Self::LinkSpeed,
        Self::LlcSets,
        Self::CoreClock,
        Self::UncoreClock,
        Self::FewerCoRunners,
    ];

    fn apply(self, sketch: &Sketch) -> Sketch {
        let platform = facts(sketch.platform);
        let pcie = || platform.pcie.as_ref().expect("it has a link");
        match self {
            Self::DdioWays => {
                let ways = sketch.number(0, "ddio_ways").expect("it is stated");
                let most = f64::from(platform.llc.ways.value);
                sketch.with_of(0, "ddio_ways", (ways + 3.0).min(most))
            }
            Self::Channels => {
                sketch.with("hardware.dram.channels", 2 * platform.dram.channels.value)
            }
            Self::LinkSpeed => {
                let speed = 2.0 * pcie().gtransfers_per_s.value;
                sketch.with("hardware.pcie.gtransfers_per_s", format!("{speed:.1}"))
            }
            Self::LlcSets => {
                sketch.with("hardware.llc.sets_per_slice", 2 * platform.llc.sets_per_slice.value)
            }
            Self::CoreClock => sketch.with("core_ghz", 1.2 * platform.cpu.core_ghz.value),
            Self::UncoreClock => sketch.with("uncore_ghz", 1.2 * platform.cpu.uncore_ghz.value),
            Self::FewerCoRunners => {
                let mut fewer = sketch.clone();
                fewer.co_runners.pop();
                fewer
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(1, 7))]

    #[test]
    fn more_of_a_resource_gives_no_less_throughput(
        sketch in forwarder(1), more in proptest::sample::select(More::ALL.to_vec()),
    ) {
        let larger = more.apply(&sketch);
        if let Ok(after) = settled(&larger) {
            let (before, after) = (gbps(&run(&sketch)), gbps(&after));
            prop_assert!(is_no_less(after, before), "{more:?}: {before:?} before, {after:?}");
        }
    }
}

/// The main tenant's packets go to its queues by rules: RSS would give one more than another. What they
/// need fits their ways, or there are none: near the capacity of the ways the places of pages decide
/// how much each ring leaks, and differ from ring to ring.
fn equally_offered(sketch: &Sketch) -> Sketch {
    let cores = sketch.number(0, "cores").unwrap_or(1.0);
    let flows = 64.0 * cores;
    let ways = if sketch.number(0, "ddio_ways") == Some(0.0) { 0 } else { 6 };
    let mut fixed = sketch.clone();
    fixed.tenants[0].retain(|(key, _)| !key.starts_with("traffic."));
    fixed
        .with("run.batch_packets", 3000.0 * cores)
        .with_of(0, "rx_descriptors", 128)
        .with_of(0, "ddio_ways", ways)
        .with_of(0, "traffic.pattern", "\"fixed\"")
        .with_of(0, "traffic.flows", flows)
        .with_of(0, "traffic.flow_rules", flows)
}

proptest! {
    #![proptest_config(cases(1, 5))]

    #[test]
    fn equal_tenants_get_equal_shares(sketch in forwarder(1)) {
        // At random times: of two clocks in step one could be late at each meeting.
        let mut twice = equally_offered(&sketch)
            .with_of(0, "traffic.pattern", "\"random\"")
            .with_of(0, "traffic.arrivals", "\"poisson\"");
        let mut second = twice.tenants[0].clone();
        set(&mut second, "name", "\"second\"");
        twice.tenants.push(second);
        if let Ok(result) = settled(&twice) {
            let second = measured(&result, "second:throughput_gbps").expect("it sends packets");
            prop_assert!(are_equal(gbps(&result), second), "{:?} and {second:?}", gbps(&result));
        }
    }

    #[test]
    fn equally_offered_queues_get_equal_shares(sketch in forwarder(1), cores in 2..6_u32) {
        if let Ok(result) = settled(&equally_offered(&sketch.with_of(0, "cores", cores))) {
            let (busiest, interval) = measured(&result, "load_imbalance").expect("it has cores");
            prop_assert!(busiest - interval < 1.0 + SHARES, "{busiest} +- {interval}");
        }
    }
}

proptest! {
    #![proptest_config(cases(1, 4))]

    #[test]
    fn the_order_of_tenants_does_not_matter(sketch in pair()) {
        prop_assume!(sketch.tenants.len() == 2);
        let sketch = sketch.with("run.batch_packets", 8000);
        let mut swapped = sketch.clone();
        swapped.tenants.swap(0, 1);
        for keys in &mut swapped.tenants {
            keys.retain(|(key, _)| key != "name");
        }
        set(&mut swapped.tenants[1], "name", "\"other0\"");
        if let (Ok(before), Ok(after)) = (sketch.run(1), swapped.run(1)) {
            for (one, other) in [("", "other0:"), ("other0:", "")] {
                let of = |result, prefix| measured(result, &format!("{prefix}work_per_s")).expect("work");
                let (before, after) = (of(&before, one), of(&after, other));
                // A run ends when the main tenant has settled; the other may still warm up.
                prop_assume!([before, after].iter().all(|(work, interval)| *interval < 0.02 * work));
                prop_assert!(are_equal(before, after), "{one}: {before:?} before, {after:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(1, 6))]

    #[test]
    fn a_second_card_on_a_socket_of_its_own_doubles_the_throughput(sketch in forwarder(0)) {
        let alone = run(&sketch);
        let mut twice = sketch.clone();
        let mut second = twice.tenants[0].clone();
        for (key, value) in [("name", "\"second\""), ("socket", "1"), ("nic_socket", "1")] {
            set(&mut second, key, value);
        }
        twice.tenants.push(second);
        if let Ok(both) = settled(&twice) {
            let second = measured(&both, "second:throughput_gbps").expect("it sends packets");
            for each in [gbps(&both), second] {
                prop_assert!(are_equal(each, gbps(&alone)), "{each:?}, alone {:?}", gbps(&alone));
            }
        }
    }
}

/// Metrics of every tenant of this name.
fn of_tenants<'r>(result: &'r RunResult, name: &'r str) -> impl Iterator<Item = (&'r str, f64)> {
    let named = result.metrics.iter().filter_map(move |(full, metric)| match metric.value {
        Numbers::One(value) => Some((full.strip_suffix(name)?, value)),
        Numbers::Parts(_) => None,
    });
    named.filter(|(prefix, _)| prefix.is_empty() || prefix.ends_with(':'))
}

/// The bound that a scenario cannot exceed, computed by hand from its keys and its platform.
pub fn stays_within_bounds(sketch: &Sketch, result: &RunResult) -> TestCaseResult {
    let platform = facts(sketch.platform);
    let dram = &platform.dram;
    // A burst of 64 B takes eight transfers of a bus of 8 B.
    let gbytes_per_s = f64::from(dram.channels.value) * 8.0 * dram.mega_transfers_per_s.value / 1e3;
    let sockets = if sketch.text().contains("socket = 1") { 2.0 } else { 1.0 };
    let moved =
        number(result, "dram_read_gbytes_per_s") + number(result, "dram_write_gbytes_per_s");
    prop_assert!(moved <= 1.01 * sockets * gbytes_per_s, "{moved} of {gbytes_per_s} GB/s");
    for (tenant, _) in sketch.tenants.iter().enumerate() {
        let prefix = if tenant == 0 { String::new() } else { format!("other{}:", tenant - 1) };
        let Some((gbps, _)) = measured(result, &format!("{prefix}throughput_gbps")) else {
            continue;
        };
        let card = card(sketch, tenant);
        // A packet counts as sent when the card has read it: its buffer may fill during the run.
        let span_ns = result.simulated_ns - result.warmup_ns;
        let filling_gbps = 8.0 * card.tx_buffer_bytes.value as f64 / span_ns;
        let most = 1.001 * card.line_rate_gbps.value + filling_gbps;
        prop_assert!(gbps <= most, "{gbps} of {most} Gbit/s");
        for direction in ["up", "down"] {
            let busy = part(result, &format!("{prefix}pcie_utilisation"), direction);
            prop_assert!((0.0..=ALWAYS_PERCENT).contains(&busy), "{direction}: {busy} %");
        }
    }
    for limit in &result.limits {
        let busy = limit.utilisation_percent;
        prop_assert!((0.0..=ALWAYS_PERCENT).contains(&busy), "{}: {busy} %", limit.resource);
    }
    for rate in ["pcie_write_hit_rate", "pcie_read_hit_rate", "llc_load_miss_ratio"] {
        for (tenant, percent) in of_tenants(result, rate) {
            let fine = percent.is_nan() || (0.0..=100.0).contains(&percent);
            prop_assert!(fine, "{tenant}{rate}: {percent}");
        }
    }
    let entries =
        platform.iio.as_ref().map_or(0, |iio| iio.write_entries.value + iio.read_entries.value);
    for (tenant, lines) in of_tenants(result, "iio_occupancy_lines") {
        prop_assert!(
            lines <= f64::from(entries) + 1.0,
            "{tenant}: {lines} lines in {entries} entries"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(3, 18))]

    #[test]
    fn every_run_ends_and_stays_within_bounds(sketch in any_scenario()) {
        let job = sketch.with("run.batch_packets", 256).with("run.max_batches", 10).job(1);
        let mut last = RunProgress { packets: 0, fraction: 0.0, simulated_ns: 0.0 };
        let result = job.unwrap().run(RecordingRequest::default(), |now| {
            assert!(now.packets >= last.packets && now.simulated_ns >= last.simulated_ns, "{now:?} after {last:?}");
            assert!(now.simulated_ns > last.simulated_ns || now.packets >= last.packets);
            last = now;
            ControlFlow::Continue(())
        });
        prop_assert!(result.is_ok(), "{:?}", result.err());
        stays_within_bounds(&sketch, &result.unwrap())?;
    }
}

proptest! {
    #![proptest_config(cases(4, 14))]

    #[test]
    fn packets_are_conserved_and_keep_littles_law(sketch in forwarder(1)) {
        // Packets wait for a small part of the time only, so that few are there at its ends.
        let ring = sketch.number(0, "rx_descriptors").unwrap_or(128.0).min(128.0);
        let job = sketch.with_of(0, "rx_descriptors", ring).job(1).expect("it is not refused");
        let mut machine = job.machine(NoTrace);
        let mut run_until = |us: f64| {
            machine.run_slice(u64::MAX, Picos::from_ns(1e3 * us), u64::MAX);
            let nic =
                machine.devices.iter_mut().find_map(Device::as_nic_mut).expect("it has a card");
            let latencies = nic.egress.take_latencies();
            (nic.port.counters, nic.egress.packets, latencies, read_sample(&machine).backlog)
        };
        let dropped_of = |rx: &RxCounters| rx.dropped();
        let (rx, sent_before, _, _) = run_until(FILLED_US);
        let dropped_before = dropped_of(&rx);
        let first = rx.offered_packets - dropped_before - sent_before;
        let (mut held, mut waited_ns) = (0, 0.0);
        let (mut sent, mut dropped, mut last) = (sent_before, dropped_before, first);
        for look in 1..=LOOKS {
            let (rx, now_sent, latencies, backlog) = run_until(FILLED_US + 0.5 * f64::from(look));
            prop_assert_eq!(rx.packets, now_sent + backlog, "received, and sent or held");
            waited_ns += latencies.mean() * latencies.len() as f64;
            (sent, dropped) = (now_sent, dropped_of(&rx));
            last = rx.offered_packets - dropped - sent;
            held += last;
        }
        let mean_held = held as f64 / f64::from(LOOKS);
        // The law is about queues that neither fill nor empty, and that packets leave as they should:
        // some wait in the card and are dropped.
        prop_assume!(last.abs_diff(first) as f64 <= 0.1 * mean_held + 50.0);
        prop_assume!((dropped - dropped_before) * 50 <= sent - sent_before);
        let span_ns = 500.0 * f64::from(LOOKS);
        // Rate times mean latency; a packet counts as sent when the card has read it.
        let most = waited_ns / span_ns;
        let least = most - (sent - sent_before) as f64 / span_ns * READ_TO_WIRE_NS;
        let slack = 0.1 * most + 2.0;
        prop_assert!(
            (least - slack..=most + slack).contains(&mean_held),
            "{mean_held} packets, by the law {least} to {most}"
        );
    }
}
