//! Data operations by engines and by cores: is everything done once, does each way of offloading cost what it
//! must, and is what no engine has refused?

mod refusals;

use crate::job_of;
use crate::overload::value;
use crate::random_scenarios::part;
use proptest::prelude::*;
use scenario::result::RunResult;
use scenario::{InputError, Job, RecordingRequest};
use std::ops::ControlFlow;

const PLATFORM: &str = "sapphire-rapids-56";
/// Tolerance for the ends of a short run, which may add or take away work.
const ENDS: f64 = 0.03;
/// Tolerance, beside the interval of a run, for more of anything.
const NO_LESS: f64 = 0.97;
/// Share of its rate that a core keeps if descriptors end together: it fills in one after the other, and
/// engines have nothing to do meanwhile.
const BEAT: f64 = 0.85;

fn job(keys: &str) -> Result<Job, InputError> {
    let text = format!(
        "platform = \"{PLATFORM}\"\napplication = \"offload\"\n{keys}\n\
         run.batch_packets = 600\nrun.min_batches = 10\nrun.max_batches = 10\n"
    );
    job_of(&text, 1)
}

fn run(keys: &str) -> RunResult {
    let job = job(keys).unwrap_or_else(|refusal| panic!("{keys}: {refusal}"));
    let run = job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    run.unwrap_or_else(|failure| panic!("{keys}: {failure}"))
}

fn phase(result: &RunResult, name: &str) -> f64 {
    part(result, "offload_core_time", name)
}

fn is_near(value: f64, wanted: f64) -> bool {
    (value - wanted).abs() <= ENDS * wanted.max(1.0)
}

/// Each operation of 4 KiB: bytes that engines read and write for a byte of transfer.
const OPERATIONS: [(&str, f64, f64); 15] = [
    ("copy", 1.0, 1.0),
    ("fill", 0.0, 1.0),
    ("compare", 2.0, 0.0),
    ("compare-pattern", 1.0, 0.0),
    // A tenth of 512 words, 10 bytes for each of 51.
    ("create-delta", 2.0, 510.0 / 4096.0),
    ("apply-delta", 510.0 / 4096.0, 408.0 / 4096.0),
    ("dualcast", 1.0, 2.0),
    ("crc", 1.0, 0.0),
    ("copy-crc", 1.0, 1.0),
    // Eight bytes for each block of 512.
    ("dif-check", 520.0 / 512.0, 0.0),
    ("dif-insert", 1.0, 520.0 / 512.0),
    ("dif-strip", 520.0 / 512.0, 1.0),
    ("dif-update", 520.0 / 512.0, 520.0 / 512.0),
    ("cache-flush", 0.0, 0.0),
    ("no-op", 0.0, 0.0),
];

#[test]
fn engines_of_many_small_members_are_busy_all_the_time_and_no_longer() {
    let keys = "offload.transfer_bytes = 64\noffload.depth = 8\noffload.batch = 16\ncores = 2\ndsa.queues = 2";
    let result = run(keys);
    let busy: Vec<f64> = result
        .limits
        .iter()
        .filter(|limit| limit.resource.contains("pace of engines"))
        .map(|limit| limit.utilisation_percent)
        .collect();
    assert!(matches!(busy[..], [percent] if (95.0..=100.0).contains(&percent)), "{busy:?}");
}

#[test]
fn engines_read_and_write_what_each_operation_says() {
    for (operation, read, written) in OPERATIONS {
        let result = run(&format!("offload.operation = \"{operation}\"\noffload.depth = 4"));
        let per_operation =
            |name: &str| value(&result, name) * 1e3 / value(&result, "offload_mops");
        let (reads, writes) =
            (per_operation("dsa_read_gbytes_per_s"), per_operation("dsa_write_gbytes_per_s"));
        assert!(is_near(reads, 4096.0 * read), "{operation}: {reads} bytes read");
        assert!(is_near(writes, 4096.0 * written), "{operation}: {writes} bytes written");
        assert!(value(&result, "offload_failed_per_operation") == 0.0, "{operation}");
    }
}

#[test]
fn a_core_does_every_operation_with_the_same_metrics() {
    for (operation, ..) in OPERATIONS.iter().filter(|(name, ..)| *name != "no-op") {
        let result = run(&format!("offload.operation = \"{operation}\"\noffload.by = \"core\""));
        assert!(value(&result, "offload_mops") > 0.1, "{operation}");
        let gbytes = value(&result, "offload_mops") * 4.096;
        assert!(is_near(value(&result, "offload_gbytes_per_s"), gbytes), "{operation}");
        assert!(phase(&result, "work") > 99.0, "{operation}");
        assert!(part(&result, "latency_ns", "p50") > 50.0, "{operation}");
    }
}

#[test]
fn string_instructions_and_stores_around_the_caches_have_their_own_speed() {
    let by = |kernel: &str, bytes: u32, data: &str| {
        let keys = format!(
            "offload.by = \"core\"\noffload.kernel = \"{kernel}\"\noffload.transfer_bytes = {bytes}\n\
             offload.data = \"{data}\"\noffload.buffers = 8"
        );
        run(&keys)
    };
    // The start of a string instruction: 35 cycles of 0.5 ns.
    let [cached, string] =
        ["cached", "rep-movsb"].map(|kernel| part(&by(kernel, 256, "core"), "latency_ns", "mean"));
    assert!((10.0..25.0).contains(&(string - cached)), "{cached} and {string} ns");
    // Around the caches a destination is not read: a line less of DRAM reads for each two.
    let [cached, around] = ["cached", "non-temporal"].map(|kernel| {
        let result = by(kernel, 65_536, "flushed");
        value(&result, "dram_read_gbytes_per_s") / value(&result, "offload_gbytes_per_s")
    });
    assert!(is_near(cached, 2.0) && is_near(around, 1.0), "{cached} and {around}");
}

#[test]
fn flushed_data_is_read_from_memory_by_every_mover_alike() {
    for by in ["dsa", "core"] {
        let of = |data: &str| {
            let keys = format!(
                "offload.by = \"{by}\"\noffload.data = \"{data}\"\noffload.operation = \"crc\"\n\
                 offload.transfer_bytes = 16384"
            );
            run(&keys)
        };
        let [core, llc, flushed] = ["core", "llc", "flushed"].map(of);
        let reads = |result: &RunResult| {
            value(result, "dram_read_gbytes_per_s") / value(result, "offload_gbytes_per_s")
        };
        assert!(is_near(reads(&flushed), 1.0), "{by}: {}", reads(&flushed));
        assert!(reads(&llc) < ENDS && reads(&core) < ENDS, "{by}: {}", reads(&llc));
        let rate = |result: &RunResult| value(result, "offload_mops");
        assert!(rate(&flushed) < rate(&llc), "{by}");
    }
    // A core's own caches are nearer than the LLC; to an engine they are not.
    let core = |data: &str| {
        value(&run(&format!("offload.by = \"core\"\noffload.data = \"{data}\"")), "offload_mops")
    };
    assert!(core("core") > 1.05 * core("llc"));
}

#[test]
fn remote_memory_and_cxl_are_farther_for_every_mover() {
    // Through memory on both sides: what goes into the LLC waits for no memory.
    for (by, own) in [("dsa", "offload.cache_control = 0"), ("core", "")] {
        let latency = |source: &str, destination: &str| {
            let keys = format!(
                "offload.by = \"{by}\"\noffload.data = \"flushed\"\noffload.source_node = \"{source}\"\n\
                 offload.destination_node = \"{destination}\"\n{own}"
            );
            // Banks of DRAM make two humps of it.
            part(&run(&keys), "latency_ns", "mean")
        };
        let local = latency("local", "local");
        let remote = latency("other-socket", "local");
        let cxl = latency("cxl", "local");
        assert!(local + 40.0 < remote && remote + 40.0 < cxl, "{by}: {local}, {remote}, {cxl} ns");
        assert!(latency("local", "cxl") > local + 40.0, "{by}");
    }
}

#[test]
fn all_time_of_a_core_belongs_to_a_phase() {
    for keys in [
        "",
        "offload.descriptors = \"allocated\"",
        "offload.descriptors = \"prepared\"",
        "offload.depth = 8\noffload.batch = 4",
        "offload.wait = \"umwait\"",
    ] {
        let result = run(keys);
        let phases = ["allocate", "touch", "prepare", "lock", "submit", "wait", "work"];
        let all: f64 = phases.iter().map(|name| phase(&result, name)).sum();
        assert!((99.0..100.1).contains(&all), "{keys}: {all} %");
    }
    let result = run("offload.descriptors = \"allocated\"");
    assert!(phase(&result, "allocate") > phase(&run(""), "allocate") + 10.0);
    // Filling a descriptor in costs less than all the rest, and nothing once it is prepared.
    assert!(phase(&result, "prepare") < phase(&result, "wait"));
    let batches = "offload.batch = 16\noffload.transfer_bytes = 256\n";
    let prepared = run(&format!("{batches}offload.descriptors = \"prepared\""));
    let filled_in = run(batches);
    assert!(phase(&prepared, "prepare") < 0.1 && phase(&filled_in, "prepare") > 5.0);
    let rate = |result: &RunResult| value(result, "offload_mops");
    assert!(rate(&prepared) > 1.05 * rate(&filled_in));
    assert!(prepared.answer.contains(" million operations are done per second"));
    // The rest of a copy that ended at an absent page has no prepared descriptor.
    let resubmit = "offload.absent_percent = 20\noffload.faults = \"resubmit\"\n\
                    offload.descriptors = \"prepared\"";
    assert!(phase(&run(resubmit), "prepare") > 0.2);
}

#[test]
fn a_core_sleeps_while_it_waits_unless_it_polls() {
    let waits = ["poll", "umwait", "interrupt"];
    let [poll, umwait, interrupt] = waits.map(|wait| run(&format!("offload.wait = \"{wait}\"")));
    let asleep = |result: &RunResult| value(result, "offload_asleep_percent");
    assert_eq!(asleep(&poll), 0.0);
    for result in [&umwait, &interrupt] {
        assert!(
            asleep(result) > 0.5 * phase(result, "wait") && asleep(result) < phase(result, "wait")
        );
    }
    let latency = |result: &RunResult| part(result, "latency_ns", "p50");
    assert!(latency(&poll) < latency(&umwait) && latency(&umwait) < latency(&interrupt));
}

#[test]
fn the_phases_of_descriptors_add_up_to_their_latency() {
    let result = run("");
    let phases = ["submit", "queue", "translate", "move", "record", "notice"];
    let mean = |name: &str| part(&result, &format!("descriptor_{name}_ns"), "mean");
    let sum: f64 = phases.iter().map(|name| mean(name)).sum();
    let latency = part(&result, "latency_ns", "mean");
    assert!((sum - latency).abs() < 0.03 * latency, "{sum} and {latency} ns");
    // One descriptor at a time waits for no other.
    assert!(mean("queue") < 1.0);
}

#[test]
fn a_portal_address_takes_a_descriptor_each_hundred_nanoseconds() {
    let rate = |addresses: u32| {
        let keys = format!(
            "offload.transfer_bytes = 64\noffload.depth = 32\ndsa.engines = 4\n\
             offload.portal_addresses = {addresses}"
        );
        value(&run(&keys), "offload_mops")
    };
    assert!((8.9..9.4).contains(&rate(1)), "{}", rate(1));
    assert!(rate(2) > 1.25 * rate(1), "{}", rate(2));
}

#[test]
fn threads_share_a_dedicated_queue_by_a_lock() {
    let of = |cores: u32, keys: &str| {
        let keys =
            format!("cores = {cores}\noffload.transfer_bytes = 64\noffload.depth = 4\n{keys}");
        run(&keys)
    };
    let alone = of(1, "offload.lock = true");
    let four = of(4, "offload.lock = true");
    let own = of(4, "dsa.queues = 4");
    assert!(phase(&four, "lock") > 2.0 * phase(&alone, "lock"), "{}", phase(&four, "lock"));
    assert_eq!(phase(&own, "lock"), 0.0);
    assert!(value(&four, "offload_mops") < value(&own, "offload_mops"));
}

#[test]
fn a_shared_queue_refuses_and_back_off_asks_it_less_often() {
    let retries = |back_off: &str| {
        let keys = format!(
            "cores = 8\noffload.transfer_bytes = 65536\noffload.depth = 8\noffload.buffers = 8\n\
             dsa.queue_mode = \"shared\"\ndsa.queue_entries = 8\ndsa.threshold = 1\n\
             offload.back_off = \"{back_off}\""
        );
        let result = run(&keys);
        assert!(value(&result, "dsa_refused_percent") > 1.0);
        value(&result, "offload_retries_per_operation")
    };
    assert!(retries("exponential") < 0.7 * retries("pause"), "{}", retries("pause"));
}

#[test]
fn absent_pages_are_waited_for_resubmitted_done_by_the_core_or_touched_before() {
    let of = |faults: &str, keys: &str| {
        run(&format!(
            "offload.transfer_bytes = 16384\noffload.absent_percent = 20\n\
             offload.faults = \"{faults}\"\n{keys}"
        ))
    };
    let [block, resubmit, software, touch] =
        ["block", "resubmit", "software", "touch"].map(|faults| of(faults, ""));
    let failed = |result: &RunResult| value(result, "offload_failed_per_operation");
    let of_core = |result: &RunResult| value(result, "offload_page_faults_per_operation");
    let of_engine = |result: &RunResult| value(result, "dsa_page_faults_per_operation");
    // Of eight pages of source and destination a fifth is absent.
    assert!((1.4..1.8).contains(&of_core(&touch)), "{}", of_core(&touch));
    assert!(failed(&touch) == 0.0 && of_engine(&touch) == 0.0);
    assert!(failed(&block) == 0.0 && of_core(&block) == 0.0 && of_engine(&block) > 1.2);
    assert!((1.0..1.8).contains(&failed(&resubmit)), "{}", failed(&resubmit));
    assert!((1.4..1.8).contains(&of_core(&resubmit)), "{}", of_core(&resubmit));
    // The first absent page ends the descriptor, and the core does all that follows.
    assert!((0.7..0.95).contains(&failed(&software)), "{}", failed(&software));
    assert!(phase(&software, "work") > 10.0);
    // The operating system's answer to a device takes far longer than a core's own fault.
    let rate = |result: &RunResult| value(result, "offload_mops");
    for other in [&resubmit, &software, &touch] {
        assert!(rate(other) > 5.0 * rate(&block));
    }
    // Whoever does it, every byte is moved once: what engines do not write, the core has.
    let written =
        value(&resubmit, "dsa_write_gbytes_per_s") / value(&resubmit, "offload_gbytes_per_s");
    assert!(is_near(written, 1.0), "{written}");
    let written =
        value(&software, "dsa_write_gbytes_per_s") / value(&software, "offload_gbytes_per_s");
    assert!((0.2..0.9).contains(&written), "{written}");
}

/// A configuration that does not yet have what is to help.
fn any_configuration() -> impl Strategy<Value = (u32, u32, u32, u32)> {
    (6_u32..15, 0_u32..5, prop::sample::select(vec![1_u32, 1, 4, 16]), 1_u32..4)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: soak::amount(3, 30),
        max_shrink_iters: 20,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn more_engines_buffers_and_descriptors_in_flight_never_hurt(
        (log_bytes, log_depth, batch, engines) in any_configuration(),
    ) {
        let of = |log_bytes: u32, engines: u32, depth: u32, buffers: u32| {
            let keys = format!(
                "offload.transfer_bytes = {}\noffload.depth = {depth}\noffload.batch = {batch}\n\
                 offload.buffers = 32\ndsa.engines = {engines}\ndsa.read_buffers = {buffers}",
                1 << log_bytes
            );
            value(&run(&keys), "offload_mops")
        };
        let rate = |engines: u32, depth: u32| of(log_bytes, engines, depth, 16 + 4 * engines);
        let (depth, base) = (1 << log_depth, rate(engines, 1 << log_depth));
        // Buffers are looked at where the engine always has work and limits.
        let with_buffers = |buffers: u32| of(log_bytes.max(12), engines, 32, buffers);
        for (what, least, more, less) in [
            ("engines", BEAT, rate(engines + 1, depth), base),
            ("depth", BEAT, rate(engines, 2 * depth), base),
            ("buffers", NO_LESS, with_buffers(96), with_buffers(16 + 4 * engines)),
        ] {
            prop_assert!(more > least * less, "{what}: {more} after {less}");
        }
    }
}
