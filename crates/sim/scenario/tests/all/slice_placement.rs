//! Memory in chosen slices: headers of packets, popular items of a store, working sets.

use model::device::DeviceId;
use model::device::nic::rings::Buffer;
use model::mesh::Topology;
use model::tracer::{NoTrace, Tracer};
use proptest::prelude::*;
use scenario::result::{Numbers, RunResult};
use scenario::{InputError, Job, RecordingRequest, Scenario, ScenarioMachine, builtin};
use std::ops::ControlFlow;
use units::{LineAddr, Picos, SliceId, SocketId};

const HASWELL: &str = "haswell-e5-2667v3";
const SKYLAKE: &str = "skylake-gold-6134";

fn try_job(platform: &str, text: &str, seed: u64) -> Result<Job, InputError> {
    let text = format!("platform = \"{platform}\"\n{text}");
    let scenario = Scenario::read("the test", &text, &[])?;
    let facts = builtin::platform_with("the test", platform, &scenario.platform_facts())?;
    Job::new("the test", scenario, facts, platform, seed)
}

fn job(platform: &str, text: &str, seed: u64) -> Job {
    try_job(platform, text, seed).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(platform: &str, text: &str) -> String {
    try_job(platform, text, 1).expect_err("it must be refused").to_string()
}

fn run(platform: &str, text: &str) -> RunResult {
    let job = job(platform, text, 1);
    job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()))
        .expect("the watcher lets it end")
}

fn value(result: &RunResult, name: &str) -> f64 {
    match &result.metrics[name].value {
        Numbers::One(value) => *value,
        Numbers::Parts(_) => panic!("{name} has parts"),
    }
}

fn topology(platform: &str) -> Topology {
    let facts = builtin::platform("tests", platform).expect("is built in");
    facts.topology(platform).expect("is valid")
}

/// Buffers that a core has posted, and those with packets that it has not taken.
fn buffers<T: Tracer>(machine: &ScenarioMachine<T>, core: usize) -> Vec<Buffer> {
    let ring = &machine.queues.nic_pairs(DeviceId(0))[core].rx;
    let posted = ring.posted.iter().map(|(_, buffer)| *buffer);
    posted.chain(ring.packets.iter().map(|packet| packet.buffer)).collect()
}

/// Share of buffers of all cores whose `line` is in one of the `wanted` slices nearest to the core, before
/// the first packet and after some thousand.
fn share_placed(platform: &str, cores: usize, line: u64, wanted: usize, job: &Job) -> f64 {
    let nearest: Vec<Vec<SliceId>> =
        (0..cores).map(|core| topology(platform).nearest_slices(core as u8)).collect();
    let mut machine = job.machine(NoTrace);
    let (mut all, mut placed) = (0, 0);
    for until_us in [0, 100, 300] {
        machine.run(u64::MAX, Picos(until_us * 1_000_000));
        for (core, nearest) in nearest.iter().enumerate() {
            let buffers = buffers(&machine, core);
            assert!(!buffers.is_empty());
            all += buffers.len();
            let llc = machine.fabric.llc(SocketId(0));
            let slice = |first: LineAddr| llc.slice_of_set(llc.set_of(first.step(line)));
            let near = &nearest[..wanted];
            placed += buffers.iter().filter(|buffer| near.contains(&slice(buffer.data))).count();
        }
    }
    placed as f64 / all as f64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Line 0 has the headers of IPv4 and TCP, line 1 the end of those of IPv6 and TCP.
    #[test]
    fn slice_11_every_header_line_is_in_the_slice_nearest_to_the_core_that_polls(
        seed in any::<u64>(),
        cores in 1..=8usize,
        line in 0..2u64,
        descriptors in prop_oneof![Just(128), Just(1024)],
        annotations in 0..4u32,
    ) {
        let text = format!(
            "cores = {cores}\nrx_descriptors = {descriptors}\npacket_bytes = 200\noffered_gbps = 20\n\
             [placement]\nheader_slices = 1\nheader_line = {line}\n\
             [hardware.software]\nprivate_lines = {annotations}\nannotation_lines = 0\n"
        );
        let share = share_placed(HASWELL, cores, line, 1, &job(HASWELL, &text, seed));
        prop_assert_eq!(share, 1.0);
    }
}

#[test]
fn slice_11_without_the_policy_headers_are_in_all_slices() {
    let text = "cores = 8\nrx_descriptors = 1024\n";
    let share = share_placed(HASWELL, 8, 0, 1, &job(HASWELL, text, 1));
    assert!((share - 0.125).abs() < 0.02, "{share}");
}

#[test]
fn slice_11_with_less_headroom_than_it_takes_fewer_headers_are_near() {
    let text = "rx_descriptors = 1024\n[placement]\nheader_slices = 1\nheadroom_lines = 3\n";
    let share = share_placed(HASWELL, 1, 0, 1, &job(HASWELL, text, 1));
    assert!((0.4..0.6).contains(&share), "four of eight lines can be reached: {share}");
}

/// Eighteen slices: sixteen lines of headroom reach one of the three nearest for nearly all buffers.
#[test]
fn slice_12_headers_are_near_on_a_mesh_too() {
    let text = "cores = 8\nrx_descriptors = 256\n[placement]\nheader_slices = 3\n";
    let share = share_placed(SKYLAKE, 8, 0, 3, &job(SKYLAKE, text, 1));
    assert!(share > 0.93, "{share}");
    let text = format!("{text}headroom_lines = 255\n");
    let share = share_placed(SKYLAKE, 8, 0, 3, &job(SKYLAKE, &text, 1));
    assert_eq!(share, 1.0);
}

#[test]
fn slice_12_placing_headers_leaves_the_hit_rates_as_they_are() {
    let hit_rates = |placement: &str| {
        let text = format!(
            "cores = 4\nrx_descriptors = 512\noffered_gbps = 90\n\
             run = {{ batch_packets = 8192, max_batches = 12 }}\n{placement}"
        );
        let result = run(SKYLAKE, &text);
        ["pcie_write_hit_rate", "pcie_read_hit_rate"].map(|name| value(&result, name))
    };
    let plain = hit_rates("");
    let placed = hit_rates("[placement]\nheader_slices = 3\n");
    assert!(plain[0] < 99.0, "a ring that misses at times: {plain:?}");
    // Buffers with room to move data are longer, so that a ring's lines lie otherwise in the sets.
    for (plain, placed) in plain.into_iter().zip(placed) {
        assert!((plain - placed).abs() < 5.0, "{plain} and {placed} %");
    }
}

const KERNEL: &str = "application = \"memory-kernel\"\npage_size = \"1G\"\n\
                      run = { batch_packets = 4096, max_batches = 10 }\n";

/// Nanoseconds of an access, one after another, to an array that is in the LLC only.
fn access_ns(keys: &str) -> f64 {
    let text = format!(
        "{KERNEL}[memory_kernel]\nworking_set_bytes = 1048576\npattern = \"sequential\"\n\
         accesses_in_flight = 1\ncycles_per_access = 0\n{keys}"
    );
    1e9 / value(&run(HASWELL, &text), "work_per_s")
}

#[test]
fn an_array_in_one_slice_is_as_far_as_that_slice() {
    let topology = topology(HASWELL);
    for slice in [0, 1, 6] {
        let (core_clock, uncore_clock) = (units::Gigahertz(3.2), units::Gigahertz(3.0));
        let latency = topology.latency(0, SliceId(slice)).at(core_clock, uncore_clock).as_ns();
        // A cycle to issue the next one.
        let expected = latency + 1.0 / 3.2;
        let got = access_ns(&format!("slices = [{slice}]\n"));
        assert!((got - expected).abs() < 0.01, "slice {slice}: {got} and {expected} ns");
    }
    let nearest = access_ns("nearest_slices = 1\n");
    assert!((nearest - access_ns("slices = [0]\n")).abs() < 1e-9);
}

#[test]
fn isolated_slices_leave_a_core_what_others_fill() {
    // Eight arrays of 2 MiB: one slice of 2.5 MiB for each.
    let text = |keys: &str| {
        format!(
            "cores = 8\n{KERNEL}[memory_kernel]\nworking_set_bytes = 2097152\n\
             accesses_in_flight = 1\n{keys}"
        )
    };
    // Long enough for what was there at time zero to be no matter.
    let longer = |keys: &str| text(keys).replace("batch_packets = 4096", "batch_packets = 32768");
    let missed = |keys: &str| value(&run(HASWELL, &longer(keys)), "llc_load_miss_ratio");
    assert!(missed("isolated_slices = true\n") < 0.01);
    assert!(missed("slices = [0, 1, 2]\n") > 30.0, "16 MiB in 7.5");
}

#[test]
fn popular_items_near_the_core_are_read_sooner() {
    // A MiB of items, all alike: four times L2, less than half of a slice.
    let requests = |keys: &str| {
        let text = format!(
            "application = \"key-value-memory\"\nrun = {{ batch_packets = 8192, max_batches = 10 }}\n\
             [key_value]\nitems = 8192\nkey_bytes = 8\nvalue_bytes = 64\nget_percent = 100\nzipf = 0\n{keys}\
             [hardware.applications]\nkey_value_socket_cycles = 0\nkey_value_client_bytes = 0\n"
        );
        value(&run(HASWELL, &text), "work_per_s")
    };
    let gain = requests("slice_aware_items = 8192\n") / requests("") - 1.0;
    assert!((0.02..0.2).contains(&gain), "{gain}");
}

#[test]
fn keys_that_do_not_go_together_are_refused_with_what_would() {
    let text = refused(HASWELL, "[placement]\nheader_line = 1\n");
    assert!(text.contains("placement.header_line"), "{text}");
    assert!(text.contains("only with placement.header_slices"), "{text}");
    let text = refused(HASWELL, "[placement]\nheader_slices = 9\n");
    assert!(text.contains("placement.header_slices") && text.contains('8'), "{text}");
    let text =
        refused(HASWELL, "application = \"packet-source\"\nplacement = { header_slices = 1 }\n");
    assert!(text.contains("applications that receive packets"), "{text}");
    let text = refused(HASWELL, "application = \"memory-kernel\"\n");
    assert!(text.contains("[memory_kernel] table"), "{text}");
    let both = "working_set_bytes = 64\nnearest_slices = 1\nslices = [0]\n";
    let text = refused(HASWELL, &format!("{KERNEL}[memory_kernel]\n{both}"));
    assert!(text.contains("memory_kernel.slices") && text.contains("nearest_slices"), "{text}");
    let text = refused(HASWELL, "[[co_runner]]\nworking_set_bytes = 64\nslices = [8]\n");
    assert!(text.contains("co_runner.0.slices") && text.contains('7'), "{text}");
    let store = "application = \"key-value-memory\"\n[key_value]\n";
    let text = refused(HASWELL, &format!("{store}nearest_slices = 1\n"));
    assert!(text.contains("only with key_value.slice_aware_items"), "{text}");
    let text = refused(HASWELL, &format!("{store}slice_aware_items = 9\nwrites = \"insert\"\n"));
    assert!(text.contains("insert"), "{text}");
}

/// Millions of accesses per second of eight cores, each over 2 MiB, by the slices of its working set and
/// whether it reads its lines' addresses from a table.
fn million_accesses_per_s(keys: &str) -> f64 {
    let text = format!(
        "application = \"memory-kernel\"\ncores = 8\npage_size = \"1G\"\n\
         [memory_kernel]\nworking_set_bytes = 2097152\ncycles_per_access = 16.0\n{keys}\n\
         [run]\nbatch_packets = 16384\nmax_batches = 10\n"
    );
    value(&run(HASWELL, &text), "work_per_s") / 1e6
}

#[test]
fn addresses_from_a_table_cost_accesses_and_leave_near_slices_their_worth() {
    let stores = "store_percent = 100\naccesses_in_flight = 1";
    let table = "pointer_table = true";
    let (alone, behind_table) =
        (million_accesses_per_s(stores), million_accesses_per_s(&format!("{stores}\n{table}")));
    assert!(behind_table < 0.99 * alone, "{behind_table} and {alone}");
    let near = million_accesses_per_s(&format!("{stores}\n{table}\nisolated_slices = true"));
    assert!(near > 1.1 * behind_table, "{near} and {behind_table}");
    let refusal = refused(
        HASWELL,
        "application = \"memory-kernel\"\n[memory_kernel]\nworking_set_bytes = 65536\n\
         pattern = \"sequential\"\npointer_table = true",
    );
    assert!(refusal.contains("only with memory_kernel.pattern = \"random\""), "{refusal}");
}
