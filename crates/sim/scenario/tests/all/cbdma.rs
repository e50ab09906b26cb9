//! The copy engine before the accelerator in scenarios: does it copy, is each key bounded, and is what it cannot
//! do refused with the reason?

use crate::job_of;
use crate::overload::value;
use scenario::result::RunResult;
use scenario::{InputError, Job, RecordingRequest, builtin};
use std::ops::ControlFlow;

const PLATFORM: &str = "ice-lake-40";
const BASE: &str = "application = \"offload\"\noffload.by = \"cbdma\"\noffload.data = \"llc\"\n\
    run.batch_packets = 256\nrun.min_batches = 10\nrun.max_batches = 10\n";

fn measured(keys: &str, name: &str) -> f64 {
    value(&run(keys), name)
}

fn job(platform: &str, keys: &str) -> Result<Job, InputError> {
    let text = format!("platform = \"{platform}\"\n{BASE}{keys}");
    job_of(&text, 3)
}

fn run(keys: &str) -> RunResult {
    let job = job(PLATFORM, keys).unwrap_or_else(|error| panic!("{error}"));
    job.run(RecordingRequest::default(), |_| ControlFlow::Continue(())).expect("it ends")
}

/// Why keys are refused.
fn refusal(platform: &str, keys: &str) -> String {
    job(platform, keys).expect_err("it is refused").to_string()
}

#[test]
fn what_is_copied_is_read_and_written_and_a_fill_reads_nothing() {
    let result = run("offload.depth = 8\n");
    let (moved, written) =
        (value(&result, "offload_gbytes_per_s"), value(&result, "cbdma_gbytes_per_s"));
    let read = value(&result, "cbdma_read_gbytes_per_s");
    assert!(moved > 0.5, "{moved}");
    // A descriptor that has been moved may not have been reaped, and the other way round.
    assert!((written / moved - 1.0).abs() < 0.02, "{written} {moved}");
    assert!((read / written - 1.0).abs() < 0.02, "{read} {written}");
    let fill = "offload.depth = 8\noffload.operation = \"fill\"\n";
    let result = run(fill);
    assert_eq!(value(&result, "cbdma_read_gbytes_per_s"), 0.0);
    assert!(value(&result, "cbdma_gbytes_per_s") > moved, "a fill waits for no source");
}

#[test]
fn channels_add_up_until_their_stop_on_the_mesh_is_full() {
    let rate = |channels: u32, depth: u32| {
        let keys = format!(
            "cbdma.channels = {channels}\noffload.depth = {depth}\noffload.transfer_bytes = 16384\n"
        );
        measured(&keys, "offload_gbytes_per_s")
    };
    let facts = builtin::platform("a.toml", PLATFORM).expect("it is built in");
    let facts = facts.cbdma.expect("it has the engine");
    let (one, two, all) = (rate(1, 8), rate(2, 8), rate(16, 8));
    assert!(two > 1.5 * one.min(facts.gbytes_per_s.value / 2.0), "{one} {two}");
    let most = facts.gbytes_per_s.value;
    assert!(all > 0.9 * most && all <= most, "{all} of {most}");
    assert!(rate(1, 8) > rate(1, 1), "a synchronous client waits for each copy");
}

#[test]
fn a_ring_bounds_the_descriptors_in_flight_and_one_entry_stays_free() {
    let rate = |entries: u32, depth: u32| {
        let keys = format!(
            "cbdma.ring_entries = {entries}\noffload.depth = {depth}\n\
             offload.transfer_bytes = 256\n"
        );
        measured(&keys, "offload_mops")
    };
    let (synchronous, in_two, in_many) = (rate(256, 1), rate(2, 64), rate(256, 64));
    assert!((in_two / synchronous - 1.0).abs() < 0.02, "{in_two} {synchronous}");
    assert!(in_many > 1.5 * in_two, "{in_many} {in_two}");
}

#[test]
fn a_core_that_waits_for_interrupts_sleeps_and_takes_longer() {
    let with = |wait: &str| run(&format!("offload.wait = \"{wait}\"\n"));
    let (poll, interrupt) = (with("poll"), with("interrupt"));
    let asleep = |result| value(result, "offload_asleep_percent");
    assert_eq!(asleep(&poll), 0.0);
    assert!(asleep(&interrupt) > 20.0, "{}", asleep(&interrupt));
    let rate = |result| value(result, "offload_mops");
    assert!(rate(&interrupt) < rate(&poll));
}

#[test]
fn what_channels_cannot_do_is_refused_with_key_value_and_reason() {
    for (keys, key, told) in [
        ("offload.operation = \"compare\"\n", "`offload.operation` = compare", "do nothing else"),
        ("offload.batch = 2\n", "`offload.batch` = 2", "has no lists"),
        ("offload.wait = \"umwait\"\n", "`offload.wait` = umwait", "no UMWAIT"),
        ("iommu = \"4K\"\n", "`iommu` = on", "physical addresses"),
        ("cbdma.channels = 17\n", "`cbdma.channels` = 17", "allowed: 16 channels"),
        ("cores = 4\ncbdma.channels = 5\n", "`cbdma.channels` = 5", "4 cores would have 20"),
        ("cbdma.channels = 0\n", "`cbdma.channels` = 0", "allowed: 1 to"),
        ("cbdma.ring_entries = 48\n", "`cbdma.ring_entries` = 48", "powers of two"),
        ("cbdma.ring_entries = 65536\n", "`cbdma.ring_entries` = 65536", "a page of 2097152 bytes"),
        ("cbdma.ring_entries = 1\n", "`cbdma.ring_entries` = 1", "allowed: 2 to 65536"),
        (
            "page_size = \"1G\"\noffload.buffers = 1\noffload.transfer_bytes = 2097152\n",
            "`offload.transfer_bytes` = 2097152",
            "allowed: 1 to 1048576 bytes of a descriptor",
        ),
        (
            "[[tenant]]\nname = \"second\"\n",
            "`offload.by` = cbdma",
            "for tenant `second` and for `main`",
        ),
        ("offload.cache_control = 1\n", "`offload.cache_control`", "ddio_ways decides"),
        ("offload.lock = true\n", "`offload.lock`", "a channel has one client"),
        ("dsa.engines = 2\n", "`dsa.engines`", "moved by a CBDMA"),
    ] {
        let refused = refusal(PLATFORM, keys);
        assert!(refused.starts_with("a.toml: "), "{refused}");
        assert!(refused.contains(key) && refused.contains(told), "{keys}: {refused}");
    }
    let refused = refusal("sapphire-rapids-56", "");
    assert!(refused.contains("`offload.by` = cbdma") && refused.contains("ice-lake-40"));
}
