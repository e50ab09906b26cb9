//! The copy engine beside what others have measured on real ones: what its times were chosen on.
//!
//! Conditions of the rows: Xeon Gold 6438M, one core, two engines, copies from the LLC into the LLC. Rates lie
//! within 10 %, latencies within 15 %; where two runs of the source contradict each other, between them.

use crate::overload::{run_on, value};
use crate::random_scenarios::part;

const PLATFORM: &str = "sapphire-rapids-56";

const RATE: f64 = 0.10;
const LATENCY: f64 = 0.15;

/// A row of github taooceros/accel-datapath@e91ad01, hw-eval/results*.json.
struct Row {
    bytes: u32,
    depth: u32,
    batch: u32,
    mode: &'static str,
    /// Least and largest measured value, equal if there is one.
    measured: (f64, f64),
}

const fn row(bytes: u32, depth: u32, batch: u32, mode: &'static str, measured: f64) -> Row {
    Row { bytes, depth, batch, mode, measured: (measured, measured) }
}

/// Throughput in million operations per second.
const RATES: [Row; 14] = [
    row(64, 128, 1, "dedicated", 9.3827),
    row(64, 16, 1, "dedicated", 9.3446),
    row(64, 2, 1, "dedicated", 3.3361),
    row(8, 1, 1, "dedicated", 1.8143),
    Row { bytes: 64, depth: 1, batch: 1, mode: "dedicated", measured: (1.7156, 1.7225) },
    row(256, 1, 1, "dedicated", 1.5978),
    Row { bytes: 4096, depth: 1, batch: 1, mode: "dedicated", measured: (0.855, 1.0639) },
    Row { bytes: 4096, depth: 4, batch: 1, mode: "dedicated", measured: (3.1148, 3.5665) },
    row(4096, 32, 1, "dedicated", 7.3175),
    row(4096, 16, 128, "dedicated", 7.2841),
    row(8, 16, 256, "dedicated", 47.8026),
    row(64, 128, 1, "shared", 5.2803),
    row(64, 1, 1, "shared", 1.749),
    row(4096, 1, 1, "shared", 0.8554),
];

/// Median latency of a batch in ns, from its submission to the look at its record.
const LATENCIES: [Row; 3] = [
    row(4096, 1, 2, "dedicated", 1466.0),
    row(4096, 1, 32, "dedicated", 5994.0),
    row(4096, 1, 1024, "dedicated", 148_660.0),
];

fn text(row: &Row, buffers: u32, offset_bytes: u32) -> String {
    // A threshold of one, as in the source: a descriptor is taken while the queue holds none.
    let threshold = if row.mode == "shared" { "dsa.threshold = 1\n" } else { "" };
    format!(
        "application = \"offload\"\ncore_ghz = 2.2\n\
         offload.transfer_bytes = {}\noffload.depth = {}\noffload.batch = {}\n\
         offload.buffers = {buffers}\noffload.offset_bytes = {offset_bytes}\ndsa.engines = 2\ndsa.queue_entries = 64\n\
         dsa.queue_mode = \"{}\"\n{threshold}\
         run.batch_packets = 2048\nrun.min_batches = 10\nrun.max_batches = 10\n",
        row.bytes, row.depth, row.batch, row.mode
    )
}

/// Deviation from the measured value, or from the nearer end of the span.
fn deviation(simulated: f64, (least, most): (f64, f64)) -> f64 {
    let nearest = simulated.clamp(least, most);
    simulated / nearest - 1.0
}

fn judge(rows: &[Row], limit: f64, simulate: fn(&Row) -> f64) {
    let mut beyond = Vec::new();
    for row in rows {
        let simulated = simulate(row);
        let deviation = deviation(simulated, row.measured);
        let line = format!(
            "{} B, depth {}, batch {}, {}: {simulated:.4} for {:?}, {:+.1} %",
            row.bytes,
            row.depth,
            row.batch,
            row.mode,
            row.measured,
            100.0 * deviation
        );
        println!("{line}");
        if deviation.abs() > limit {
            beyond.push(line);
        }
    }
    assert!(beyond.is_empty(), "{beyond:#?}");
}

#[test]
fn rates_are_those_of_real_copy_engines() {
    judge(&RATES, RATE, |row| {
        // One buffer for each slot, and for each member of a batch; from malloc: those of 4 KiB cross a
        // page.
        let result = run_on(PLATFORM, &text(row, row.depth.min(64) * row.batch, 64), 1);
        value(&result, "dsa_mops")
    });
}

#[test]
fn latencies_of_batches_are_those_of_real_copy_engines() {
    judge(&LATENCIES, LATENCY, |row| {
        // The same 4 KiB for all members.
        let result = run_on(PLATFORM, &text(row, 1, 0), 1);
        part(&result, "latency_ns", "p50")
    });
}
