//! What others have measured on real copy engines, and the same in the model: the test `dsa_calibrated`
//! judges it, and the example `dsa_calibration` prints it.
//!
//! Rows of github taooceros/accel-datapath@e91ad01 (hw-eval/results*.json; Xeon Gold 6438M, one core, two
//! engines, copies from the CPU's caches into the LLC, buffers from malloc), of DSA-2LM (USENIX ATC'25) and
//! of github chanbengz/dsa-reversing@4f655b2 (HPCA'26, DSAssassin).

use scenario::result::{Numbers, RunResult};
use scenario::{Job, RecordingRequest, Scenario, builtin};
use std::ops::ControlFlow;

const PLATFORM: &str = "sapphire-rapids-56";

/// Largest deviation of rates, and of latencies, from measured ones.
pub const RATE: f64 = 0.10;
pub const LATENCY: f64 = 0.15;

/// A measured value and how the model gets its own.
pub struct Row {
    pub name: &'static str,
    /// Keys beside those of the test system.
    keys: &'static str,
    of: fn(&RunResult) -> f64,
    /// Least and largest value of runs that contradict each other, equal if there is one; 0 as the least
    /// of an upper bound.
    pub measured: (f64, f64),
    pub limit: f64,
}

impl Row {
    /// The value of the model.
    pub fn simulated(&self) -> f64 {
        self.simulated_with("")
    }

    /// The value of a changed model: `more` are keys beside the row's.
    pub fn simulated_with(&self, more: &str) -> f64 {
        (self.of)(&run(&format!("{}\n{more}", self.keys)))
    }

    /// Deviation from the measured value, or from the nearer end of the span.
    pub fn deviation(&self, simulated: f64) -> f64 {
        simulated / simulated.clamp(self.measured.0, self.measured.1) - 1.0
    }
}

fn run(keys: &str) -> RunResult {
    // A threshold of one, as in the source: a descriptor is taken while the queue holds none.
    let shared = if keys.contains("shared") { "dsa.threshold = 1\n" } else { "" };
    let text = format!(
        "platform = \"{PLATFORM}\"\napplication = \"offload\"\ncore_ghz = 2.2\n\
         dsa.engines = 2\ndsa.queue_entries = 64\n{shared}{keys}\n\
         run.batch_packets = 2048\nrun.min_batches = 10\nrun.max_batches = 10\n"
    );
    let read = Scenario::read("a.toml", &text, &[]).expect("the scenario is valid");
    let platform = builtin::platform_with("a.toml", PLATFORM, &read.platform_facts())
        .expect("it is built in, and what is replaced exists");
    let job = Job::new("a.toml", read, platform, "the platform", 1).expect("it is accepted");
    let run = job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    run.unwrap_or_else(|failure| panic!("{keys}: {failure}"))
}

fn number(result: &RunResult, name: &str) -> f64 {
    match &result.metrics[name].value {
        Numbers::One(number) => *number,
        Numbers::Parts(_) => panic!("{name} has several numbers"),
    }
}

fn part(result: &RunResult, name: &str, part: &str) -> f64 {
    match &result.metrics[name].value {
        Numbers::Parts(parts) => parts[part],
        Numbers::One(_) => panic!("{name} is one number"),
    }
}

fn mops(result: &RunResult) -> f64 {
    number(result, "offload_mops")
}

/// From the submission until the core has read the record. The source's clock starts when members are filled
/// in; one descriptor is in flight, so that the time of preparation is its share of the period.
fn latency(result: &RunResult) -> f64 {
    let prepared = part(result, "offload_core_time", "prepare") / 100.0;
    part(result, "latency_ns", "p50") * (1.0 - prepared)
}

/// The core's time for a posted descriptor.
fn submission(result: &RunResult) -> f64 {
    part(result, "offload_core_time", "submit") / 100.0 * 1e3 / mops(result)
}

/// From the answer to an ENQCMD until the record is seen.
fn wait(result: &RunResult) -> f64 {
    part(result, "offload_core_time", "wait") / 100.0 * 1e3 / mops(result)
}

const fn rate(name: &'static str, keys: &'static str, measured: f64) -> Row {
    Row { name, keys, of: mops, measured: (measured, measured), limit: RATE }
}

const fn batch_latency(name: &'static str, keys: &'static str, measured: f64) -> Row {
    Row { name, keys, of: latency, measured: (measured, measured), limit: LATENCY }
}

/// Copies of 8, 64, 256 and 4096 B: rates are of buffers from malloc, those of 4 KiB cross a page; latencies
/// of batches are of one page.
pub const ROWS: [Row; 23] = [
    rate(
        "64 B, depth 128, dedicated [Mops/s]",
        "offload.transfer_bytes = 64\noffload.depth = 128\noffload.buffers = 128",
        9.3827,
    ),
    rate(
        "64 B, depth 16, dedicated [Mops/s]",
        "offload.transfer_bytes = 64\noffload.depth = 16\noffload.buffers = 16",
        9.3446,
    ),
    rate(
        "64 B, depth 2, dedicated [Mops/s]",
        "offload.transfer_bytes = 64\noffload.depth = 2\noffload.buffers = 2",
        3.3361,
    ),
    Row {
        measured: (1.7156, 1.7225),
        ..rate(
            "64 B, depth 1, dedicated [Mops/s]",
            "offload.transfer_bytes = 64\noffload.buffers = 1",
            0.0,
        )
    },
    rate(
        "8 B, depth 1, dedicated [Mops/s]",
        "offload.transfer_bytes = 8\noffload.buffers = 1",
        1.8143,
    ),
    rate(
        "256 B, depth 1, dedicated [Mops/s]",
        "offload.transfer_bytes = 256\noffload.buffers = 1",
        1.5978,
    ),
    Row {
        measured: (0.855, 1.0639),
        ..rate(
            "4096 B, depth 1, dedicated [Mops/s]",
            "offload.offset_bytes = 64\noffload.buffers = 1",
            0.0,
        )
    },
    Row {
        measured: (3.1148, 3.5665),
        ..rate(
            "4096 B, depth 4, dedicated [Mops/s]",
            "offload.offset_bytes = 64\noffload.depth = 4\noffload.buffers = 4",
            0.0,
        )
    },
    rate(
        "4096 B, depth 32, dedicated [Mops/s]",
        "offload.offset_bytes = 64\noffload.depth = 32\noffload.buffers = 32",
        7.3175,
    ),
    // Two runs. No row has a CRC with cache control 1, or a plain copy with cache control 0: what both cost
    // together counts as the CRC's.
    Row {
        measured: (1.3743, 1.4409),
        ..rate(
            "4096 B with CRC to memory, depth 2, dedicated [Mops/s]",
            "offload.operation = \"copy-crc\"\noffload.cache_control = 0\noffload.offset_bytes = 64\n\
             offload.depth = 2\noffload.buffers = 2",
            0.0,
        )
    },
    rate(
        "4096 B, batch 128, depth 16, dedicated [Mops/s]",
        "offload.offset_bytes = 64\noffload.depth = 16\noffload.buffers = 16\noffload.batch = 128\n\
         offload.members_share_buffers = true",
        7.2841,
    ),
    rate(
        "4096 B, batch 256, depth 1, dedicated [Mops/s]",
        "offload.offset_bytes = 64\noffload.buffers = 1\noffload.batch = 256\n\
         offload.members_share_buffers = true",
        6.3142,
    ),
    rate(
        "8 B, batch 256, depth 16, dedicated [Mops/s]",
        "offload.transfer_bytes = 8\noffload.depth = 16\noffload.buffers = 16\noffload.batch = 256\n\
         offload.members_share_buffers = true",
        47.8026,
    ),
    rate(
        "64 B, depth 128, shared [Mops/s]",
        "offload.transfer_bytes = 64\noffload.depth = 128\noffload.buffers = 128\n\
         dsa.queue_mode = \"shared\"",
        5.2803,
    ),
    rate(
        "64 B, depth 1, shared [Mops/s]",
        "offload.transfer_bytes = 64\noffload.buffers = 1\ndsa.queue_mode = \"shared\"",
        1.749,
    ),
    // The same kind of run as that of the dedicated queue, which another one contradicts by 24 %.
    Row {
        measured: (0.8554, 1.0639),
        ..rate(
            "4096 B, depth 1, shared [Mops/s]",
            "offload.offset_bytes = 64\noffload.buffers = 1\ndsa.queue_mode = \"shared\"",
            0.0,
        )
    },
    batch_latency("batch of 2 x 4096 B [ns]", "offload.batch = 2\noffload.buffers = 1", 1466.0),
    batch_latency("batch of 32 x 4096 B [ns]", "offload.batch = 32\noffload.buffers = 1", 5994.0),
    batch_latency(
        "batch of 1024 x 4096 B [ns]",
        "offload.batch = 1024\noffload.buffers = 1",
        148_660.0,
    ),
    batch_latency("descriptor without work [ns]", "offload.operation = \"no-op\"", 506.0),
    // First test of its run, before the uncore's clock had risen: upper bounds.
    Row {
        measured: (0.0, 694.0),
        ..batch_latency(
            "no-op, shared [ns]",
            "offload.operation = \"no-op\"\ndsa.queue_mode = \"shared\"",
            0.0,
        )
    },
    Row {
        measured: (0.0, 675.0),
        ..batch_latency("no-op, dedicated [ns]", "offload.operation = \"no-op\"", 0.0)
    },
    Row {
        name: "submission by MOVDIR64B [ns]",
        keys: "offload.offset_bytes = 64",
        of: submission,
        measured: (6.0, 6.0),
        limit: LATENCY,
    },
];

/// Rows of the same source that chose nothing.
pub const LEFT_OUT: [Row; 2] = [
    Row {
        measured: (6.5549, 7.0075),
        ..rate(
            "4096 B with CRC to memory, depth 16, dedicated [Mops/s]",
            "offload.operation = \"copy-crc\"\noffload.cache_control = 0\noffload.offset_bytes = 64\n\
             offload.depth = 16\noffload.buffers = 16",
            0.0,
        )
    },
    Row {
        measured: (6.6787, 7.3505),
        ..rate(
            "4096 B, batch 32, depth 4, dedicated [Mops/s]",
            "offload.offset_bytes = 64\noffload.depth = 4\noffload.buffers = 4\noffload.batch = 32\n\
             offload.members_share_buffers = true",
            0.0,
        )
    },
];

/// Rows that the model is known to miss, by up to 20 %: it takes descriptors of a busy shared queue, and
/// short batches one after the other, too fast. No variant that was tried repairs them without spoiling
/// others: one batch at a time in each engine makes pairs slower than single descriptors.
pub const MISSED: [Row; 4] = [
    rate(
        "4096 B with CRC to memory, depth 4, shared [Mops/s]",
        "offload.operation = \"copy-crc\"\noffload.cache_control = 0\noffload.offset_bytes = 64\n\
         offload.depth = 4\noffload.buffers = 4\ndsa.queue_mode = \"shared\"",
        2.5162,
    ),
    rate(
        "4096 B, depth 4, shared [Mops/s]",
        "offload.offset_bytes = 64\noffload.depth = 4\noffload.buffers = 4\ndsa.queue_mode = \"shared\"",
        3.1571,
    ),
    rate(
        "4096 B, depth 32, shared [Mops/s]",
        "offload.offset_bytes = 64\noffload.depth = 32\noffload.buffers = 32\n\
         dsa.queue_mode = \"shared\"",
        4.6767,
    ),
    Row {
        measured: (5.5282, 6.1154),
        ..rate(
            "4096 B, batch 8, depth 4, dedicated [Mops/s]",
            "offload.offset_bytes = 64\noffload.depth = 4\noffload.buffers = 4\noffload.batch = 8\n\
             offload.members_share_buffers = true",
            0.0,
        )
    },
];

/// Median waits for a no-op behind its ENQCMD, in cycles of a clock that the source does not state: with the
/// translation of its record's page in the engine, and without.
const WAITS: (f64, f64) = (488.0, 1026.0);

/// The ratio of those waits, measured and in the model.
pub fn ratio_of_waits() -> (f64, f64) {
    let keys = "offload.operation = \"no-op\"\ndsa.queue_mode = \"shared\"";
    let apart = run(&format!("{keys}\noffload.descriptors = \"allocated\""));
    (WAITS.1 / WAITS.0, wait(&apart) / wait(&run(keys)))
}
