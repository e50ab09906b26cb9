//! Replays by cores beside those by engines: do they cost what the same operations cost elsewhere, and is
//! nothing lost between the two?

use crate::descriptor_replay::{job, log, run};
use crate::overload::run_on;
use scenario::result::{Numbers, ReplayResult, ReplayedPhaseResult, RunResult};

const PLATFORM: &str = "sapphire-rapids-56";
const SOURCE: u64 = 0x7f00_0000_0000;
const DESTINATION: u64 = 0x7f00_4000_0000;
const THIRD: u64 = 0x7f00_8000_0000;

/// Operations of a log, with the fields that each needs beside its addresses.
const WITH_DATA: [(u32, &str); 14] = [
    (3, ""),
    (4, ""),
    (5, ""),
    (6, ""),
    (7, ", \"record_bytes\": 80"),
    (8, ", \"record_bytes\": 80"),
    (9, ""),
    (16, ""),
    (17, ""),
    (18, ", \"block_bytes\": 512"),
    (19, ", \"block_bytes\": 512"),
    (20, ", \"block_bytes\": 512"),
    (21, ", \"block_bytes\": 512"),
    (32, ""),
];

/// A line of an operation on the same buffers each time.
fn line((opcode, fields): (u32, &str), bytes: u64, time_ns: u64, more: &str) -> String {
    format!(
        "{{\"time_ns\": {time_ns}, \"opcode\": {opcode}, \"flags\": 256, \"bytes\": {bytes}, \
         \"source\": \"{SOURCE:#x}\", \"destination\": \"{DESTINATION:#x}\", \
         \"third\": \"{THIRD:#x}\"{fields}{more}}}\n"
    )
}

/// So many of an operation, one each `interval_ns`.
fn lines(operation: (u32, &str), bytes: u64, count: u64, interval_ns: u64) -> String {
    let one = |number| line(operation, bytes, number * interval_ns, ", \"portal\": 0");
    (0..count).map(one).collect()
}

fn compared(name: &str, text: &str, keys: &str) -> ReplayResult {
    let mut result = run(&log(name, text), keys);
    assert_eq!(result.replays.len(), 1);
    result.replays.remove(0)
}

fn core_ns(phase: &ReplayedPhaseResult) -> f64 {
    phase.core_ns.expect("cores did it")
}

fn median_ns(result: &RunResult) -> f64 {
    match &result.metrics["latency_ns"].value {
        Numbers::Parts(parts) => parts["p50"],
        Numbers::One(_) => panic!("a latency has parts"),
    }
}

#[test]
fn a_core_takes_as_long_as_it_does_for_the_same_operations_of_the_application_offload() {
    let names = [(3, "copy"), (4, "fill"), (5, "compare"), (9, "dualcast"), (16, "crc")];
    for bytes in [256, 4096, 65_536] {
        for (opcode, name) in names {
            let elsewhere = run_on(
                PLATFORM,
                &format!(
                    "application = \"offload\"\noffload.by = \"core\"\noffload.buffers = 1\n\
                     offload.operation = \"{name}\"\noffload.transfer_bytes = {bytes}\n\
                     run.batch_packets = 200\nrun.min_batches = 10\nrun.max_batches = 10\n"
                ),
                11,
            );
            let text = lines((opcode, ""), bytes, 500, 0);
            let replay = compared("equal", &text, "descriptor_replay.by = \"core\"\n");
            let (ours, theirs) = (core_ns(&replay.total) / 500.0, median_ns(&elsewhere));
            // Theirs are whole nanoseconds; the first of ours find their buffers farther away.
            let most = 1.0 + 0.02 * theirs;
            assert!((ours - theirs).abs() < most, "{name} of {bytes}: {ours} and {theirs} ns");
        }
    }
}

/// Calls from 128 KiB on that Python 3.11 with numpy makes for `two = one.copy()` of 2 MiB, twelve times, with
/// `libskipline_dsa_preload.so`; times between them are shortened (docs/how-to/dsa-preload.md).
const OF_A_PRELOADED_PROGRAM: &str = include_str!("preloaded_numpy.jsonl");

#[test]
fn dsa_27_large_copies_of_an_unmodified_program_gain_by_the_preloaded_library() {
    let total = compared("preloaded", OF_A_PRELOADED_PROGRAM, "").total;
    let copies = total.operations.get("copy").copied().unwrap_or_default();
    assert_eq!((total.descriptors, copies), (14, 12));
    // The program waits for each call: it gains the difference.
    let (engines_ns, core_ns) = (total.engines_ns.expect("engines did it"), core_ns(&total));
    assert!(engines_ns < 0.6 * core_ns, "{engines_ns} and {core_ns} ns");
}

#[test]
fn sizes_divide_a_log_into_parts_whose_times_are_those_of_the_whole() {
    let sizes = [512, 65_536, 4096, 700, 1023, 1024, 65_536];
    let text: String =
        (0..42).map(|number| line((3, ""), sizes[number % 7], 0, ", \"portal\": 0")).collect();
    let keys = "descriptor_replay.pace = \"back-to-back\"\ndescriptor_replay.depth = 1\n";
    let by_sizes = format!("{keys}descriptor_replay.divide_by = \"sizes\"\n");
    let (whole, divided) = (compared("whole", &text, keys), compared("sizes", &text, &by_sizes));
    let part = |phase: &ReplayedPhaseResult| (phase.least_bytes, phase.descriptors, phase.bytes);
    assert_eq!(
        divided.phases.iter().map(part).collect::<Vec<_>>(),
        [
            (Some(512), 18, 6 * (512 + 700 + 1023)),
            (Some(1024), 6, 6 * 1024),
            (Some(4096), 6, 6 * 4096),
            (Some(65_536), 12, 12 * 65_536),
        ]
    );
    assert_eq!(part(&whole.phases[0]), (None, 42, divided.total.bytes));
    let times: [fn(&ReplayedPhaseResult) -> Option<f64>; 3] =
        [|it| it.engines_ns, |it| it.core_ns, |it| it.freed_cycles];
    for time in times {
        let (whole, parts) = (time(&whole.total).expect("is there"), time(&divided.total));
        assert!((whole - parts.expect("is there")).abs() < 1e-6 * whole, "{whole} {parts:?}");
    }
    // The gain of engines depends on the size: a part of large copies gains, one of small ones does not.
    let ratio = |phase: &ReplayedPhaseResult| phase.core_by_engines.expect("both were run");
    assert!(
        ratio(&divided.phases[0]) < 1.0 && ratio(&divided.phases[3]) > ratio(&divided.phases[0])
    );
}

#[test]
fn larger_operations_take_a_core_longer() {
    for operation in WITH_DATA {
        let mut before = 0.0;
        for bytes in [512, 4096, 16_384, 262_144] {
            let text = lines(operation, bytes, 50, 0);
            let keys = "descriptor_replay.by = \"core\"\n";
            let took = core_ns(&compared("monotone", &text, keys).total);
            // The bytes that a delta record of one size changes do not depend on the size of the data.
            let may_be_equal = operation.0 == 8;
            assert!(took > before || (may_be_equal && took >= before), "{operation:?} of {bytes}");
            before = took;
        }
    }
}

#[test]
fn both_runs_do_all_that_the_log_has() {
    let mut text = String::new();
    let mut bytes = 0;
    for (number, operation) in (0..).zip(WITH_DATA) {
        text.push_str(&line(operation, 4096, 1_000 * number, ", \"portal\": 0"));
        bytes += 4096;
    }
    let count = WITH_DATA.len() as u64;
    for by in ["both", "dsa", "core"] {
        let keys = format!("descriptor_replay.by = \"{by}\"\n");
        let mut result = run(&log("all", &text), &keys);
        assert_eq!(result.packets, count);
        let replay = result.replays.remove(0);
        assert_eq!((replay.total.descriptors, replay.total.bytes), (count, bytes), "{by}");
        assert_eq!(replay.total.operations.len(), WITH_DATA.len());
        assert_eq!(replay.total.engines_ns.is_some(), by != "core", "{by}");
        assert_eq!(replay.total.core_ns.is_some(), by != "dsa", "{by}");
        assert_eq!(replay.total.freed_cycles.is_some(), by == "both", "{by}");
        assert!(replay.notes.is_empty(), "the model has a time for all: {:?}", replay.notes);
    }
}

#[test]
fn what_a_core_would_not_do_is_said_and_not_priced() {
    let mut text = lines((0, ""), 0, 5, 100);
    text.push_str(&lines((2, ""), 0, 1, 0).replace("\"time_ns\": 0", "\"time_ns\": 900"));
    let replay = compared("nothing", &text, "");
    assert_eq!(replay.total.without_core_cost, 6);
    assert_eq!(replay.total.core_ns, Some(0.0));
    assert!(replay.total.engines_ns > Some(0.0));
    let note = &replay.notes[0];
    assert!(note.contains("no time of a core for 1 drain and 5 no-op"), "{note}");
}

#[test]
fn a_batch_costs_a_core_what_its_members_do() {
    let mut batches = String::new();
    for number in 0..64_u64 {
        let (batch, time) = (number / 8, number / 8 * 10_000);
        let more = format!(", \"portal\": 0, \"batch\": {batch}");
        batches.push_str(&line((3, ""), 4096, time, &more));
    }
    let alone = compared("alone", &lines((3, ""), 4096, 64, 0), "");
    let batches = compared("batches", &batches, "descriptor_replay.pace = \"back-to-back\"\n");
    assert_eq!(alone.total.core_ns, batches.total.core_ns);
    assert!(batches.total.offloading_ns < alone.total.offloading_ns, "one descriptor for eight");
}

#[test]
fn phases_are_divided_by_pauses_and_add_up() {
    let mut text = lines((3, ""), 16_384, 20, 500);
    for number in 0..30 {
        text.push_str(&line((16, ""), 8192, 200_000 + number * 300, ", \"portal\": 1"));
    }
    let replay = compared("phases", &text, "");
    let phases = &replay.phases;
    assert_eq!(phases.len(), 2);
    assert_eq!((phases[0].descriptors, phases[1].descriptors), (20, 30));
    assert_eq!((phases[0].from_ns, phases[0].until_ns), (0.0, 9_500.0));
    assert_eq!((phases[1].from_ns, phases[1].until_ns), (200_000.0, 208_700.0));
    assert_eq!(phases[1].operations.keys().collect::<Vec<_>>(), ["crc"]);
    for of in [
        |phase: &ReplayedPhaseResult| phase.engines_ns,
        |phase: &ReplayedPhaseResult| phase.offloading_ns,
        |phase: &ReplayedPhaseResult| phase.core_ns,
        |phase: &ReplayedPhaseResult| phase.freed_cycles,
    ] {
        let [one, other] = [of(&phases[0]), of(&phases[1])].map(|part| part.expect("both ran"));
        let all = of(&replay.total).expect("both ran");
        assert!((one + other - all).abs() < 1e-6 * all.abs(), "{one} + {other} = {all}");
    }
    for phase in phases.iter().chain([&replay.total]) {
        let [engines, offloading, core] = [phase.engines_ns, phase.offloading_ns, phase.core_ns]
            .map(|part| part.expect("both ran"));
        assert!(offloading > 0.0 && offloading < engines, "{phase:?}");
        assert_eq!(phase.core_by_engines, Some(core / engines));
        assert_eq!(phase.freed_cycles, Some((core - offloading) * replay.core_ghz));
    }
    let one = compared("one", &text, "descriptor_replay.most_phases = 1\n");
    assert_eq!((one.phases.len(), one.phases[0].descriptors), (1, 50));
}

#[test]
fn engines_are_under_way_no_longer_than_the_replay_takes_and_no_shorter_than_the_data() {
    let text = lines((3, ""), 65_536, 100, 0);
    let mut result = run(&log("busy", &text), "");
    let replay = result.replays.remove(0);
    let all = crate::overload::value(&result, "replay_ns");
    let engines = replay.total.engines_ns.expect("engines ran");
    assert!((100.0 * 65_536.0 / 31.0..=all + 1.0).contains(&engines), "{engines} of {all} ns");
    // With nothing between them, the replay is that time.
    assert!(engines > 0.99 * all, "{engines} of {all} ns");
}

#[test]
fn cores_share_the_portals_of_a_log_as_they_do_with_engines() {
    let mut text = String::new();
    for number in 0..200 {
        let more = format!(", \"portal\": {}", number % 2);
        text.push_str(&line((16, ""), 4096, 0, &more));
    }
    let keys = "descriptor_replay.by = \"core\"\ndescriptor_replay.pace = \"back-to-back\"\n";
    let one = run(&log("one-core", &text), keys);
    let two = run(&log("two-cores", &text), &format!("{keys}cores = 2\n"));
    let [one_ns, two_ns] = [&one, &two].map(|it| crate::overload::value(it, "replay_ns"));
    assert!((two_ns / one_ns - 0.5).abs() < 0.05, "{one_ns} and {two_ns} ns");
    let [one, two] = [&one, &two].map(|it| core_ns(&it.replays[0].total));
    assert!((two / one - 1.0).abs() < 0.05, "the same work: {one} and {two} ns");
}

#[test]
fn a_core_begins_no_operation_before_the_log_does() {
    let text = lines((3, ""), 4096, 10, 50_000);
    let result = run(&log("paced", &text), "descriptor_replay.by = \"core\"\n");
    let time = crate::overload::value(&result, "replay_ns");
    assert!((450_000.0..452_000.0).contains(&time), "{time} ns");
    assert!(core_ns(&result.replays[0].total) < 10_000.0);
}

#[test]
fn the_answer_names_both_and_settings_of_engines_stay_out_of_the_second_run() {
    let text = lines((3, ""), 4096, 100, 0);
    let keys = "dsa.engines = 2\ncores = 2\ndsa.queues = 2\nddio_ways = 3\n\
                [[event]]\nat_us = 2\nddio_ways = 4\n";
    let result = run(&log("answer", &text), keys);
    assert!(result.answer.contains("times as long"), "{}", result.answer);
    assert!(result.answer.starts_with("Engines take "), "{}", result.answer);
    assert!(result.answer.contains("The last operation of the log ends"), "{}", result.answer);
    assert!(result.replays[0].total.core_ns.is_some());
}

#[test]
fn keys_of_the_other_run_are_refused_where_there_is_one() {
    let text = log("refused", &lines((3, ""), 4096, 2, 5));
    for (keys, key) in [
        ("descriptor_replay.by = \"core\"\ndsa.engines = 2\n", "`dsa.engines`"),
        ("descriptor_replay.by = \"core\"\ndescriptor_replay.depth = 2\n", ".depth`"),
        ("descriptor_replay.by = \"dsa\"\ndescriptor_replay.kernel = \"cached\"\n", ".kernel`"),
        ("descriptor_replay.pause_us = 0\n", ".pause_us`"),
        ("descriptor_replay.most_phases = 0\n", ".most_phases`"),
    ] {
        let refusal = job(&text, keys).map(drop).expect_err("is refused");
        assert!(refusal.contains(key), "{keys}: {refusal}");
    }
}
