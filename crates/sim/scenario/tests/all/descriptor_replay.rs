//! Replays of logged descriptors: how long do they take, and what is refused?

use crate::job_of;
use crate::overload::value;
use scenario::result::{RunResult, StoppedBy};
use scenario::{Job, RecordingRequest};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

const PLATFORM: &str = "sapphire-rapids-56";

/// A file that is removed with its test.
pub struct Log(PathBuf);

impl Drop for Log {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

pub fn log(name: &str, text: &str) -> Log {
    let file = format!("skipline-descriptors-{}-{name}.jsonl", std::process::id());
    let path = std::env::temp_dir().join(file);
    std::fs::write(&path, text).expect("the temporary folder can be written");
    Log(path)
}

/// Copies of 4 KiB, one each `interval_ns`, by two portals in turn.
fn copies(count: u64, interval_ns: u64) -> String {
    let mut text = String::new();
    for number in 0..count {
        let (time, portal) = (number * interval_ns, number % 2);
        let (source, destination) =
            (0x7f00_0000_0000 + number % 8 * 4096, 0x7f00_1000_0000 + number % 8 * 4096);
        writeln!(
            text,
            "{{\"time_ns\": {time}, \"portal\": {portal}, \"opcode\": 3, \"flags\": 256, \
             \"bytes\": 4096, \"source\": \"{source:#x}\", \"destination\": \"{destination:#x}\"}}"
        )
        .expect("text takes more");
    }
    text
}

pub fn job(log: &Log, keys: &str) -> Result<Job, String> {
    let text = format!(
        "application = \"descriptor-replay\"\nplatform = \"{PLATFORM}\"\n\
         descriptor_replay.log = \"{}\"\n{keys}",
        log.0.display()
    );
    job_of(&text, 11).map_err(|error| error.to_string())
}

pub fn run(log: &Log, keys: &str) -> RunResult {
    let job = job(log, keys).expect("it is not refused");
    job.run(RecordingRequest::default(), |_| ControlFlow::Continue(())).expect("it ends")
}

#[test]
fn a_replay_ends_with_the_last_descriptor_and_keeps_the_times_of_the_log() {
    // More than a run has batches otherwise.
    let log = log("paced", &copies(3_000, 1_000));
    let paced = run(&log, "run.batch_packets = 256\nrun.max_batches = 10\nrun.min_batches = 10\n");
    assert_eq!(paced.stopped_by, StoppedBy::SourceEnded);
    assert_eq!(paced.packets, 3_000);
    let time = value(&paced, "replay_ns");
    assert!((2_999_000.0..2_999_000.0 + 3_000.0).contains(&time), "{time} ns");
    let fast = run(&log, "descriptor_replay.pace = \"back-to-back\"\n");
    assert_eq!(fast.packets, 3_000);
    let (fast, bytes) = (value(&fast, "replay_ns"), 3_000.0 * 4096.0);
    // No faster than the fabric of an instance, no slower than half of it.
    assert!((bytes / 31.0..bytes / 15.0).contains(&fast), "{fast} ns for {bytes} bytes");
}

#[test]
fn a_log_that_is_faster_than_the_engines_takes_as_long_as_they_do() {
    let log = log("fast", &copies(2_000, 10));
    let behind = value(&run(&log, ""), "replay_ns");
    let back_to_back =
        value(&run(&log, "descriptor_replay.pace = \"back-to-back\"\n"), "replay_ns");
    assert!((behind / back_to_back - 1.0).abs() < 0.02, "{behind} {back_to_back}");
}

#[test]
fn portals_are_divided_among_cores() {
    let log = log("cores", &copies(1_000, 0));
    let two = run(&log, "cores = 2\ndsa.queues = 2\ndsa.engines = 2\n");
    assert_eq!(two.packets, 1_000);
    let imbalance = value(&two, "load_imbalance");
    assert!((imbalance - 1.0).abs() < 1e-9, "each core has half of the descriptors: {imbalance}");
}

#[test]
fn bad_logs_and_keys_are_refused_with_file_and_line() {
    let bad = log("bad", &copies(2, 5).replace("\"opcode\": 3", "\"opcode\": 99"));
    let refusal = job(&bad, "").map(drop).expect_err("is refused");
    assert!(refusal.starts_with("a.toml: `descriptor_replay.log`: "), "{refusal}");
    assert!(refusal.contains("-bad.jsonl' has in line 1: `opcode` is 99"), "{refusal}");
    let missing = Log("/nowhere/log.jsonl".into());
    let refusal = job(&missing, "").map(drop).expect_err("is refused");
    assert!(refusal.contains("'/nowhere/log.jsonl' cannot be opened"), "{refusal}");
    let good = log("good", &copies(2, 5));
    let refusal = job(&good, "descriptor_replay.depth = 0\n").map(drop).expect_err("is refused");
    assert!(refusal.contains("allowed: 1 to 128"), "{refusal}");
    let refusal = job(&good, "packet_bytes = 64\n").map(drop).expect_err("is refused");
    assert!(refusal.contains("copy engines need no other device"), "{refusal}");
}

/// Submissions of a program to the software engine: each operation once, and a batch of two copies.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn what_is_submitted_to_the_software_engine_is_replayed() {
    use dsa::checks::QueueLimits;
    use dsa::descriptor::Descriptor;
    use dsa::hardware::Opcode;
    use dsa::hardware::capabilities::Capabilities;

    #[repr(align(64))]
    struct Buffer([u8; 4 * 4096]);
    let mut buffer = Box::new(Buffer([0; 4 * 4096]));
    let base = buffer.0.as_mut_ptr() as u64;
    let (first, second, third) = (base, base + 4096, base + 2 * 4096);
    let part = Capabilities::VERSION_1;
    let limits = QueueLimits::of(&part);
    let mut recorded = dsa::log::Log::new(Vec::new(), part);
    let record = base + 3 * 4096;
    let made = |opcode| Descriptor::of(opcode).with_size(1024).recording(record);
    let both = |opcode| made(opcode).with_first(first).with_second(second);
    let copy = both(Opcode::Move);
    let mut all = vec![
        made(Opcode::NoOp).with_size(0),
        made(Opcode::Drain).with_size(0),
        both(Opcode::Fill),
        copy,
        both(Opcode::Compare),
        both(Opcode::ComparePattern),
        both(Opcode::CreateDelta).with_delta_record(third).with_most_delta_bytes(800),
        both(Opcode::ApplyDelta).with_delta_bytes(10),
        both(Opcode::Dualcast).with_second_destination(third),
        made(Opcode::Crc).with_first(first),
        both(Opcode::CopyCrc),
        both(Opcode::DifInsert),
        made(Opcode::DifCheck).with_first(second).with_size(1040).with_source_mask(0xffff),
        both(Opcode::DifStrip).with_first(second).with_second(third).with_size(1040),
        both(Opcode::DifUpdate).with_first(second).with_second(third).with_size(1040),
        made(Opcode::CacheFlush).with_second(second),
    ];
    let list = record + 64;
    for member in 0..2 {
        let at = (list - base) as usize + 64 * member;
        buffer.0[at..at + 64].copy_from_slice(&copy.0);
    }
    all.push(Descriptor::of(Opcode::Batch).with_first(list).with_size(2).recording(record));
    // No part does these: they have no line.
    all.push(made(Opcode::TranslationFetch));
    for (number, descriptor) in (0..).zip(&all) {
        recorded.submitted(1_000 * number, 0, descriptor, &limits).expect("memory takes it");
    }
    assert_eq!(recorded.skipped(), 1);
    let text = String::from_utf8(recorded.finish().expect("memory")).expect("text");
    assert_eq!(text.lines().count(), all.len());
    let result = run(&log("software", &text), "");
    assert_eq!(result.packets, all.len() as u64);
    let time = value(&result, "replay_ns");
    assert!((16_000.0..30_000.0).contains(&time), "{time} ns:\n{text}");
    let total = &result.replays[0].total;
    assert_eq!((total.descriptors, total.without_core_cost), (all.len() as u64, 2));
    assert!(total.core_ns > Some(1_000.0), "a core does what it can: {total:?}");
}
