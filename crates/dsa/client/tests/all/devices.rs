//! Operations of a device, by every method of submission, divided and undivided.

use crate::inside::{inside, plan};
use dsa::hardware::Opcode;
use dsa_client::client::{OffloadClient, Options, Path};
use dsa_client::operation::{CrcKind, OffloadOperation};
use dsa_client::outcome::OffloadAnswer;
use dsa_client::portal::{QueuePortal, SubmissionMethod};
use dsa_client::queues::SharingMode;
use dsa_client::wait::WaitMethod;

pub fn client(queues: &[&str], submission: SubmissionMethod) -> OffloadClient {
    let queues = Some(queues.iter().map(|name| (*name).to_owned()).collect());
    OffloadClient::open(&Options { queues, submission, ..Options::default() }).expect("is opened")
}

/// Bytes that depend on their position.
pub fn pattern(bytes: usize) -> Vec<u8> {
    let byte = |at: usize| u8::try_from((at * 131 + at / 256 * 7 + 7) % 256).expect("fits");
    (0..bytes).map(byte).collect()
}

pub fn copy(from: &[u8], to: &mut [u8]) -> OffloadOperation {
    OffloadOperation::copy(from.as_ptr() as u64, to.as_mut_ptr() as u64, from.len() as u64)
}

/// Runs an operation by a device.
pub fn by_device(client: &OffloadClient, operation: &OffloadOperation) -> OffloadAnswer {
    // SAFETY: the tests name memory that they own.
    let outcome = unsafe { client.run(operation, Path::Device) }.expect("succeeds");
    assert_eq!((outcome.device_bytes, outcome.cpu_bytes), (operation.bytes(), 0));
    outcome.answer
}

#[test]
fn each_way_of_submission_copies() {
    inside!(each_way_of_submission_copies);
    for queue in ["wq0.0", "wq0.1"] {
        for submission in
            [SubmissionMethod::Automatic, SubmissionMethod::Instruction, SubmissionMethod::Write]
        {
            let client = client(&[queue], submission);
            assert_eq!(client.portals()[0].is_mapped(), submission != SubmissionMethod::Write);
            for bytes in [1, 64, 4096, 70_001] {
                let (from, mut to) = (pattern(bytes), vec![0; bytes]);
                assert_eq!(by_device(&client, &copy(&from, &mut to)), OffloadAnswer::Done);
                assert!(from == to, "{queue} {submission:?} {bytes}");
            }
            assert_eq!(client.statistics().by_device(Opcode::Move).count, 4);
            assert_eq!(client.portals()[0].under_way(), 0);
        }
    }
}

#[test]
fn queues_are_what_sysfs_says() {
    inside!(queues_are_what_sysfs_says);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    let queues: Vec<_> = client.queues().collect();
    let names: Vec<_> = queues.iter().map(|queue| (queue.name.as_str(), queue.mode)).collect();
    assert_eq!(names, [("wq0.0", SharingMode::Dedicated), ("wq0.1", SharingMode::Shared)]);
    assert_eq!((queues[1].entries, queues[0].label.as_str()), (16, "dpdk_wq0.0"));
    assert!(queues[0].takes(Opcode::Batch) && !queues[0].takes(Opcode::DixGenerate));
    assert!(queues[0].is_enabled());
    std::fs::write("/sys/bus/dsa/drivers/user/unbind", "wq0.1").expect("is unbound");
    assert!(!queues[1].is_enabled());
}

/// A dedicated queue that another client has open is left out, with the reason.
#[test]
fn queues_that_cannot_be_opened_are_left_out_with_the_reason() {
    inside!(queues_that_cannot_be_opened_are_left_out_with_the_reason);
    let first = OffloadClient::open(&Options::default()).expect("is opened");
    let second = OffloadClient::open(&Options::default()).expect("is opened");
    assert_eq!((first.queues().count(), second.queues().count()), (2, 1));
    assert!(first.left_out().is_empty());
    let why = second.left_out()[0].to_string();
    assert!(why.contains("/dev/dsa/wq0.0") && why.contains("another one has it open"), "{why}");
}

/// Jobs under way at the same time are on both queues, in proportion to their sizes.
#[test]
fn work_is_spread_over_all_queues() {
    let plan = plan("seed = 1\n[delays]\nrate = 1.0\nnanoseconds = 50000000\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(work_is_spread_over_all_queues, "--inject", plan);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    let from = pattern(100);
    let mut to = vec![[0; 100]; 16];
    let mut jobs = Vec::new();
    for own in &mut to {
        // SAFETY: all jobs are waited for.
        let job = unsafe { client.submit(&copy(&from, own), Path::Device) };
        jobs.push(job.expect("is begun"));
    }
    let under_way: Vec<u32> = client.portals().iter().map(QueuePortal::under_way).collect();
    assert_eq!(under_way, [8, 8]);
    assert!(jobs.into_iter().all(|job| job.wait().is_ok()));
    assert!(to.iter().all(|own| own[..] == from[..]));
}

/// Memory that the kernel has given no page yet is an operand like any other.
#[test]
fn pages_that_were_never_touched_need_no_pinning() {
    inside!(pages_that_were_never_touched_need_no_pinning);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    let bytes = 64 << 12;
    // SAFETY: a new mapping, where the kernel likes.
    let pages = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let both = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), bytes, both, flags, -1, 0)
    };
    assert!(pages != libc::MAP_FAILED);
    let from = pattern(bytes);
    let copy = OffloadOperation::copy(from.as_ptr() as u64, pages as u64, bytes as u64);
    assert_eq!(by_device(&client, &copy), OffloadAnswer::Done);
    // SAFETY: the mapping, which the device has written.
    assert!(unsafe { std::slice::from_raw_parts(pages.cast::<u8>(), bytes) } == from);
}

/// A parent and its child give the same address to the same shared queue.
#[test]
fn equal_addresses_of_two_processes_are_different_memory() {
    inside!(equal_addresses_of_two_processes_are_different_memory);
    let (from, mut to) = (vec![1_u8; 5000], vec![0_u8; 5000]);
    let mut from_of_child = from.clone();
    let queues = ["wq0.1"];
    // SAFETY: the child does what a test does, and ends without the parent's clean-up.
    let child = unsafe { libc::fork() };
    if child == 0 {
        from_of_child.fill(2);
        let within =
            OffloadOperation::copy(from_of_child.as_ptr() as u64, to.as_mut_ptr() as u64, 5000);
        by_device(&client(&queues, SubmissionMethod::Automatic), &within);
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(to != from_of_child)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child");
    assert!(to.iter().all(|byte| *byte == 0), "the child's bytes are here");
    by_device(&client(&queues, SubmissionMethod::Automatic), &copy(&from, &mut to));
    assert!(to == from);
}

#[test]
fn a_thread_can_wait_for_the_line_of_its_record() {
    inside!(a_thread_can_wait_for_the_line_of_its_record);
    let client = OffloadClient::open(&Options { wait: WaitMethod::Line, ..Options::default() })
        .expect("is opened");
    for _ in 0..20 {
        let (from, mut to) = (pattern(100_000), vec![0; 100_000]);
        by_device(&client, &copy(&from, &mut to));
        assert!(from == to);
    }
}

/// Configuration of two shared queues whose largest transfer is 4 KiB.
const SMALL_TRANSFERS: &str = r#"[{
  "dev": "dsa0",
  "groups": [
    {"dev": "group0.0", "grouped_workqueues": [
      {"dev": "wq0.0", "mode": "shared", "size": 16, "group_id": 0, "priority": 5,
       "block_on_fault": 0, "type": "user", "name": "one", "driver_name": "user", "threshold": 8,
       "max_batch_size": 4, "max_transfer_size": 4096},
      {"dev": "wq0.1", "mode": "shared", "size": 16, "group_id": 0, "priority": 5,
       "block_on_fault": 0, "type": "user", "name": "two", "driver_name": "user", "threshold": 8,
       "max_batch_size": 4, "max_transfer_size": 4096}],
     "grouped_engines": [{"dev": "engine0.0", "group_id": 0}, {"dev": "engine0.1", "group_id": 0}]}]
}]"#;

pub fn small_transfers() -> tempfile::NamedTempFile {
    crate::inside::plan(SMALL_TRANSFERS)
}

#[test]
fn what_is_larger_than_a_descriptor_is_divided() {
    let config = small_transfers();
    let config = config.path().to_str().expect("is text");
    inside!(what_is_larger_than_a_descriptor_is_divided, "--config", config);
    let client = client(&["wq0.0", "wq0.1"], SubmissionMethod::Automatic);
    let bytes = 50_003;
    let (from, mut to) = (pattern(bytes), vec![0; bytes]);
    by_device(&client, &copy(&from, &mut to));
    assert!(from == to);
    assert_eq!(client.statistics().by_device(Opcode::Move).count, 13);

    let fill = OffloadOperation::fill(to.as_mut_ptr() as u64, 0x0807_0605_0403_0201, bytes as u64);
    by_device(&client, &fill);
    let right = |(at, byte): (usize, &u8)| usize::from(*byte) == at % 8 + 1;
    assert!(to.iter().enumerate().all(right));

    let crc = OffloadOperation::crc(CrcKind::default(), 0, from.as_ptr() as u64, bytes as u64);
    assert_eq!(by_device(&client, &crc), OffloadAnswer::Crc(crc32c(&from).into()));

    let mut other = from.clone();
    other[49_999] ^= 1;
    let compare =
        OffloadOperation::compare(from.as_ptr() as u64, other.as_ptr() as u64, bytes as u64);
    assert_eq!(by_device(&client, &compare), OffloadAnswer::Differs { at: 49_999 });
}

#[test]
fn overlapping_moves_of_several_descriptors_are_right_in_both_directions() {
    let config = small_transfers();
    let config = config.path().to_str().expect("is text");
    inside!(
        overlapping_moves_of_several_descriptors_are_right_in_both_directions,
        "--config",
        config
    );
    let client = client(&["wq0.0", "wq0.1"], SubmissionMethod::Automatic);
    for (from, to) in [(0, 100), (100, 0), (0, 4096), (5000, 1), (0, 9000), (7, 7)] {
        let mut memory = pattern(40_000);
        let mut expected = memory.clone();
        expected.copy_within(from..from + 30_000, to);
        let base = memory.as_mut_ptr() as u64;
        by_device(&client, &OffloadOperation::copy(base + from as u64, base + to as u64, 30_000));
        assert!(memory == expected, "{from} to {to}");
    }
}

/// CRC-32C bit by bit.
pub fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        let step = |crc: u32, _| crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
        (0..8).fold(crc ^ u32::from(*byte), step)
    })
}

#[test]
fn the_crc_of_the_check_string_is_the_published_one() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
}

#[test]
fn threads_share_a_client_and_a_dedicated_queue_is_never_overrun() {
    inside!(threads_share_a_client_and_a_dedicated_queue_is_never_overrun);
    let client = client(&["wq0.0"], SubmissionMethod::Automatic);
    std::thread::scope(|scope| {
        for thread in 0..6_usize {
            let client = &client;
            scope.spawn(move || {
                let from = pattern(3000 + thread);
                for _ in 0..200 {
                    let mut to = vec![0; from.len()];
                    by_device(client, &copy(&from, &mut to));
                    assert!(from == to);
                }
            });
        }
    });
    assert_eq!(client.statistics().by_device(Opcode::Move).count, 1200);
    let errors = std::fs::read_to_string("/sys/bus/dsa/devices/dsa0/errors").expect("is there");
    assert!(errors.split(',').all(|word| word.trim() == "00000000"), "{errors}");
}
