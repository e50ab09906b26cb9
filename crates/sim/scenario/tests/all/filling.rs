//! Does a machine begin with the same caches whether they are filled or copied from a machine alike?
//!
//! A traced run sees each store, so it always fills its own. The first run of a beginning fills and
//! keeps it, later ones copy: all of them have to have the same result.

use crate::job_of;
use scenario::result::RunResult;
use scenario::{Job, RecordingRequest};
use std::ops::ControlFlow;
use units::{LINE_BYTES, LineAddr};

/// Lines of a buffer before its data: header, mbuf, private area, headroom.
const LINES_BEFORE_DATA: u64 = 1 + 2 + 2;
const SHORT: &str = "[run]\nbatch_packets = 512\nmin_batches = 10\nmax_batches = 10\n";

/// Machines whose fills are long enough to be kept. Some differ only in what does not matter before time
/// zero, as DDIO ways, others in one thing that does, as the ways of a core.
const BEGINNINGS: [&str; 14] = [
    "platform = \"skylake-gold-6140\"\n",
    "platform = \"skylake-gold-6140\"\nddio_ways = 0\n",
    "platform = \"skylake-gold-6140\"\nddio_ways = 6\npacket_bytes = 256\n",
    "platform = \"skylake-gold-6140\"\nrx_descriptors = 256\ncores = 2\n",
    "platform = \"skylake-gold-6140\"\nrx_descriptors = 256\ncores = 2\ncore_way_mask = 3\n",
    "platform = \"skylake-gold-6140\"\ninitial_content = \"pages-zeroed\"\npool_buffers = 9000\n",
    "platform = \"skylake-gold-6140\"\npool_buffers = 9000\n",
    "platform = \"skylake-gold-6140\"\nmemory_node = \"other-socket\"\n",
    "platform = \"skylake-gold-6140\"\n[[tenant]]\nname = \"b\"\napplication = \"memory-kernel\"\n\
        [tenant.memory_kernel]\nworking_set_bytes = 4194304\n",
    "platform = \"skylake-gold-6140\"\n[[tenant]]\nname = \"b\"\npool_buffers = 9000\n",
    "platform = \"haswell-e5-2667v3\"\n",
    "platform = \"cascade-lake-platinum-8260\"\n",
    "platform = \"sapphire-rapids-56\"\napplication = \"cachelib\"\n",
    "platform = \"skylake-gold-6140\"\napplication = \"key-value\"\n[key_value]\nitems = 100000\n",
];

fn run(text: &str, seed: u64, wanted: RecordingRequest) -> RunResult {
    let job: Job =
        job_of(&format!("{text}{SHORT}"), seed).unwrap_or_else(|error| panic!("{text}: {error}"));
    let run = job.run(wanted, |_| ControlFlow::Continue(()));
    run.unwrap_or_else(|failure| panic!("{text}, seed {seed}: {failure}"))
}

/// Metrics as text: a number that is none equals itself there.
fn metrics(text: &str, seed: u64, wanted: RecordingRequest) -> Vec<String> {
    let result = run(text, seed, wanted);
    result.metrics.iter().map(|(name, metric)| format!("{name}: {:?}", metric.value)).collect()
}

#[test]
fn copied_caches_give_the_results_of_filled_ones() {
    let traced = RecordingRequest { line: Some(LineAddr(1)), ..RecordingRequest::default() };
    for text in BEGINNINGS {
        for seed in 1..=soak::amount(1, 2) {
            let filled = metrics(text, seed, traced);
            for _ in 0..2 {
                assert_eq!(
                    metrics(text, seed, RecordingRequest::default()),
                    filled,
                    "{text}, seed {seed}"
                );
            }
        }
    }
}

#[test]
fn a_traced_line_tells_of_the_stores_that_fill_the_caches() {
    // The pool's lines are written before time zero, the one with a buffer's mbuf among them.
    let packet = RecordingRequest { packet: Some(0), ..RecordingRequest::default() };
    let data = run(BEGINNINGS[0], 1, packet).trace_address.expect("a packet arrives") / LINE_BYTES;
    let mbuf = RecordingRequest {
        line: Some(LineAddr(data - LINES_BEFORE_DATA + 1)),
        ..RecordingRequest::default()
    };
    run(BEGINNINGS[0], 1, RecordingRequest::default());
    let traced = run(BEGINNINGS[0], 1, mbuf).line_trace.expect("it is traced");
    assert!(traced.iter().any(|event| event.time_ns == 0.0 && event.operation == "store"));
}
