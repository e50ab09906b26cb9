//! Is the simulated memory as fast, and as slow under load, as that of measured machines?
//!
//! Of each machine, the idle latency and the sustained read bandwidth chose one parameter each (path to
//! the controller, idle time after a burst). The curve in between, its knee and the mixes of reads and
//! writes follow from timing values, but for three of the four machines the curve also chose between
//! two kinds of modules (see the tables): their knees are predictions of one bit less.

mod load;
mod machines;

use load::{Load, Outcome, run};
use machines::{Machine, cascade_lake, haswell, ice_lake, skylake};
use units::Picos;

/// Idle latency.
const IDLE_TOLERANCE: f64 = 0.05;
/// Sustained read bandwidth, and the knee of the curve.
const CURVE_TOLERANCE: f64 = 0.10;
/// Latency at each measured point up to the knee.
const POINT_TOLERANCE: f64 = 0.10;
/// Bandwidth of mixes of reads and writes, which are predicted.
const MIX_TOLERANCE: f64 = 0.10;
/// The knee is where latency passes this multiple of the idle latency.
const KNEE: f64 = 1.33;

const SPAN: Picos = Picos(600_000_000);
const SEED: u64 = 1;

fn load(machine: &Machine, streams: usize) -> Load {
    Load {
        streams,
        lines_in_flight: 2 * machine.fill_buffers,
        gbytes_per_s: None,
        written_of_four: 0,
        latency_chain: false,
        span: SPAN,
    }
}

/// Mean latency of dependent random reads on otherwise idle memory, in ns.
fn idle_ns(machine: &Machine) -> f64 {
    let chain = Load { latency_chain: true, span: Picos(10 * SPAN.0), ..load(machine, 0) };
    run(&machine.memory, &chain, SEED).latency_ns
}

/// Bandwidth of all cores when `written_of_four` of four lines are written.
fn bandwidth(machine: &Machine, written_of_four: u64) -> Outcome {
    let all_cores = Load { written_of_four, ..load(machine, machine.cores) };
    run(&machine.memory, &all_cores, SEED)
}

/// The measured curve of one socket: traffic in GB/s, latency in ns.
fn measured_curve(machine: &Machine) -> Vec<(f64, f64)> {
    machine.measured.loaded_latency.iter().map(|&(traffic, ns)| (traffic / 2.0, ns)).collect()
}

/// The simulated curve: one core measures latency, the others make traffic. Traffic is requested at the
/// measured points and at every twentieth of the sustained bandwidth from 30 % on.
fn simulated_curve(machine: &Machine) -> Vec<(f64, f64)> {
    let between = (6..=20).map(|part| f64::from(part) / 20.0 * machine.measured.read_gbytes_per_s);
    let asked = measured_curve(machine).into_iter().map(|point| point.0).chain(between);
    let one = |gbytes_per_s| {
        let others = load(machine, machine.cores - 1);
        let outcome =
            run(&machine.memory, &Load { gbytes_per_s, latency_chain: true, ..others }, SEED);
        (outcome.gbytes_per_s, outcome.latency_ns)
    };
    let mut curve: Vec<(f64, f64)> = asked.map(Some).chain([None]).map(one).collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    curve
}

/// Latency of a curve at `traffic`; none beyond its end.
fn latency_at(curve: &[(f64, f64)], traffic: f64) -> Option<f64> {
    let after = curve.partition_point(|point| point.0 <= traffic);
    match after {
        0 => Some(curve[0].1),
        _ if after == curve.len() => None,
        _ => Some(interpolate(curve[after - 1], curve[after], traffic)),
    }
}

/// Traffic at which a curve first passes `latency_ns`.
fn traffic_at(curve: &[(f64, f64)], latency_ns: f64) -> Option<f64> {
    let turned = |point: (f64, f64)| (point.1, point.0);
    let two = curve.windows(2).find(|two| two[0].1 <= latency_ns && latency_ns < two[1].1)?;
    Some(interpolate(turned(two[0]), turned(two[1]), latency_ns))
}

fn interpolate((x0, y0): (f64, f64), (x1, y1): (f64, f64), x: f64) -> f64 {
    y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}

fn compare(what: &str, simulated: f64, measured: f64, tolerance: f64) {
    let error = simulated / measured - 1.0;
    println!(
        "  {what:<34} {simulated:7.1} simulated {measured:7.1} measured {:+6.1} %",
        100.0 * error
    );
    assert!(error.abs() <= tolerance, "{what}: {simulated:.1} for {measured:.1}");
}

fn compare_idle_and_sustained(machine: &Machine) {
    println!("{}", machine.name);
    compare(
        "idle latency, ns (fitted)",
        idle_ns(machine),
        machine.measured.idle_ns,
        IDLE_TOLERANCE,
    );
    let reads = bandwidth(machine, 0);
    let sustained = machine.measured.read_gbytes_per_s;
    compare("all reads, GB/s (fitted)", reads.gbytes_per_s, sustained, CURVE_TOLERANCE);
    let peak = machine.memory.peak_gbytes_per_s();
    assert!(reads.gbytes_per_s < peak, "{} of {peak}", reads.gbytes_per_s);
    let counters = reads.counters;
    let lines = counters.lines_read as f64;
    println!(
        "  {:.0} % of the peak; {:.0} % row hits, {:.0} % conflicts, {:.1} % held back by refresh",
        100.0 * reads.gbytes_per_s / peak,
        100.0 * counters.row_hits as f64 / lines,
        100.0 * counters.row_conflicts as f64 / lines,
        100.0 * counters.refresh_waits as f64 / lines
    );
}

fn compare_curve(machine: &Machine) {
    let (measured, simulated) = (measured_curve(machine), simulated_curve(machine));
    let level = KNEE * machine.measured.idle_ns;
    let knee = traffic_at(&measured, level).expect("the measured curve passes its knee");
    for &(traffic, ns) in &measured {
        let what = format!("latency at {traffic:.1} GB/s, ns");
        // Beyond the knee the curve is too steep for latencies to be compared: only shown.
        let tolerance = if traffic <= knee { POINT_TOLERANCE } else { f64::INFINITY };
        match latency_at(&simulated, traffic) {
            Some(simulated_ns) => compare(&what, simulated_ns, ns, tolerance),
            None => println!("  {what:<34}  beyond the simulated curve {ns:7.1} measured"),
        }
    }
    let simulated_knee = traffic_at(&simulated, level).unwrap_or_default();
    compare("knee, GB/s", simulated_knee, knee, CURVE_TOLERANCE);
}

fn compare_mixes(machine: &Machine) {
    if let Some(both) = machine.measured.three_to_one {
        let simulated = bandwidth(machine, 1).gbytes_per_s;
        compare("3 reads : 1 write, GB/s", simulated, both / 2.0, MIX_TOLERANCE);
    }
    let simulated = bandwidth(machine, 2).gbytes_per_s;
    compare("1 read : 1 write, GB/s", simulated, machine.measured.one_to_one / 2.0, MIX_TOLERANCE);
}

fn compare_all(machine: &Machine) {
    compare_idle_and_sustained(machine);
    compare_curve(machine);
    compare_mixes(machine);
}

#[test]
fn haswell_with_four_channels_is_as_fast_as_measured() {
    compare_all(&haswell());
}

#[test]
fn skylake_with_six_channels_is_as_fast_as_measured() {
    compare_all(&skylake());
}

#[test]
fn cascade_lake_with_six_channels_is_as_fast_as_measured() {
    compare_all(&cascade_lake());
}

#[test]
fn ice_lake_with_eight_channels_is_as_fast_as_measured() {
    compare_all(&ice_lake());
}

#[test]
fn a_curve_is_read_between_its_points() {
    let curve = [(1.0, 90.0), (3.0, 100.0), (5.0, 160.0)];
    assert_eq!(latency_at(&curve, 2.0), Some(95.0));
    assert_eq!(latency_at(&curve, 6.0), None);
    assert_eq!(traffic_at(&curve, 130.0), Some(4.0));
    assert_eq!(traffic_at(&curve, 200.0), None);
}
