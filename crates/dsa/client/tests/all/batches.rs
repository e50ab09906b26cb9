//! Batches: divided where queues are small, in order with fences, repaired member by member.

use crate::devices::{client, copy, pattern, small_transfers};
use crate::inside::{inside, plan};
use dsa::hardware::Opcode;
use dsa_client::batch::OffloadBatch;
use dsa_client::client::{OffloadClient, Options, Path};
use dsa_client::error::Error;
use dsa_client::operation::OffloadOperation;
use dsa_client::portal::{QueuePortal, SubmissionMethod};
use dsa_client::queues::{SharingMode, UserQueue};
use dsa_client::statistics::Reason;
use dsa_client::thresholds::Thresholds;

#[test]
fn lists_longer_than_a_queue_allows_are_divided_and_large_members_go_alone() {
    let config = small_transfers();
    let config = config.path().to_str().expect("is text");
    inside!(
        lists_longer_than_a_queue_allows_are_divided_and_large_members_go_alone,
        "--config",
        config
    );
    // Batches of at most four, transfers of at most 4 KiB.
    let client = client(&["wq0.0", "wq0.1"], SubmissionMethod::Automatic);
    let from = pattern(20_000);
    for count in [0, 1, 2, 4, 5, 11] {
        let mut to: Vec<Vec<u8>> =
            (0..count).map(|n| vec![0; [100, 4096, 20_000][n % 3]]).collect();
        let mut batch = OffloadBatch::new();
        for own in &mut to {
            batch.add(copy(&from[..own.len()], own));
        }
        // SAFETY: memory of this function.
        let ends = unsafe { client.run_batch(&batch, Path::Device) }.expect("is begun");
        assert!(ends.len() == count && ends.iter().all(Result::is_ok));
        assert!(to.iter().all(|own| *own == from[..own.len()]), "{count}");
    }
}

/// A chain of copies, each of what the one before has written, is in order with fences: with late and
/// failing members as well.
#[test]
fn fences_keep_a_chain_in_order_whatever_fails() {
    let plan = plan(
        "seed = 3\n[page_faults]\nrate = 0.1\n[hardware_errors]\nread_rate = 0.05\n\
         [delays]\nrate = 0.2\nnanoseconds = 20000\n",
    );
    let plan = plan.path().to_str().expect("is text");
    inside!(fences_keep_a_chain_in_order_whatever_fails, "--inject", plan);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    for round in 0..100 {
        let mut memory: Vec<Vec<u8>> = (0..24).map(|_| vec![0; 700]).collect();
        memory[0] = pattern(700);
        let mut batch = OffloadBatch::new();
        for at in 1..memory.len() {
            let (from, to) = (memory[at - 1].as_ptr() as u64, memory[at].as_mut_ptr() as u64);
            batch.add_behind_fence(OffloadOperation::copy(from, to, 700));
        }
        // SAFETY: as above.
        let ends = unsafe { client.run_batch(&batch, Path::Device) }.expect("is begun");
        assert!(ends.iter().all(Result::is_ok));
        assert!(memory[23] == memory[0], "round {round}");
    }
    let statistics = client.statistics();
    assert!(
        statistics.by_reason(Reason::Hardware).count > 0 && statistics.pages > 0,
        "{statistics}"
    );
}

/// Members whose sizes are not multiples of the unit of their pieces.
#[test]
fn members_that_fault_half_way_are_done_to_their_last_byte() {
    let plan = plan("seed = 8\n[page_faults]\nrate = 0.5\n[hardware_errors]\nwrite_rate = 0.2\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(members_that_fault_half_way_are_done_to_their_last_byte, "--inject", plan);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    for round in 0..200_usize {
        let mut to: Vec<Vec<u8>> = (0..16).map(|n| vec![0; 4075 + 13 * n + round]).collect();
        let mut batch = OffloadBatch::new();
        for own in &mut to {
            let at = own.as_mut_ptr() as u64;
            batch.add(OffloadOperation::fill(at, 0x0807_0605_0403_0201, own.len() as u64));
        }
        // SAFETY: memory of this function.
        let ends = unsafe { client.run_batch(&batch, Path::Device) }.expect("is begun");
        assert!(ends.iter().all(Result::is_ok));
        let is_right = |(at, byte): (usize, &u8)| usize::from(*byte) == at % 8 + 1;
        assert!(to.iter().all(|own| own.iter().enumerate().all(is_right)), "round {round}");
    }
    assert!(client.statistics().by_reason(Reason::Hardware).count > 0);
}

#[test]
fn a_member_that_fails_is_reported_at_its_place_and_the_others_are_done() {
    inside!(a_member_that_fails_is_reported_at_its_place_and_the_others_are_done);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    let (from, mut to, mut last) = (pattern(300), vec![0; 300], vec![0; 300]);
    let mut batch = OffloadBatch::new();
    batch.add(copy(&from, &mut to));
    batch.add(OffloadOperation::copy(0x10_0000, last.as_mut_ptr() as u64, 300));
    batch.add(OffloadOperation::copy(from.as_ptr() as u64, last.as_mut_ptr() as u64, 300));
    // SAFETY: memory of this function, and an address that is not mapped.
    let ends = unsafe { client.run_batch(&batch, Path::Device) }.expect("is begun");
    assert!(ends[0].is_ok() && ends[2].is_ok());
    let address = match &ends[1] {
        Err(Error::Fault { address, is_write: false, .. }) => *address,
        other => panic!("{other:?}"),
    };
    assert_eq!(address, 0x10_0000);
    assert!(to == from && last == from);
}

#[test]
fn small_lists_go_to_the_cpu_and_large_ones_of_small_members_to_a_device() {
    inside!(small_lists_go_to_the_cpu_and_large_ones_of_small_members_to_a_device);
    let thresholds = Thresholds::uniform(1000, 1000, "a test");
    let client =
        OffloadClient::open(&Options { thresholds, ..Options::default() }).expect("is opened");
    let from = pattern(100);
    for (count, by_device) in [(9, 0), (10, 10)] {
        let mut to = vec![0; 100 * count];
        let mut batch = OffloadBatch::new();
        to.chunks_mut(100).for_each(|own| batch.add(copy(&from, own)));
        // SAFETY: as above.
        unsafe { client.run_batch(&batch, Path::Automatic) }.expect("is begun");
        assert!(to.chunks(100).all(|own| own == from));
        assert_eq!(client.statistics().by_device(Opcode::Move).count, by_device);
    }
}

/// The driver of version 1 lets no batch through `write`: its members are submitted one by one.
#[test]
fn lists_without_the_instructions_are_done_member_by_member() {
    inside!(lists_without_the_instructions_are_done_member_by_member);
    let client = client(&["wq0.0", "wq0.1"], SubmissionMethod::Write);
    let from = pattern(70_000);
    let mut to = vec![0; from.len()];
    let mut batch = OffloadBatch::new();
    for (own, part) in to.chunks_mut(10_000).zip(from.chunks(10_000)) {
        batch.add(copy(part, own));
    }
    // SAFETY: memory of this function.
    let ends = unsafe { client.run_batch(&batch, Path::Device) }.expect("is begun");
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    assert!(to == from);
    assert_eq!(client.statistics().by_device(Opcode::Move).count, 7);
    assert_eq!(client.statistics().by_device(Opcode::Batch).count, 0);
}

/// Nothing of /dev/null can be mapped, as of a queue whose portal is not for this program.
#[test]
fn batches_go_through_write_from_version_2_on() {
    let devices = tempfile::tempdir().expect("there is room");
    std::os::unix::fs::symlink("/dev/null", devices.path().join("wq0.0")).expect("is new");
    let takes = |version: u64, how: SubmissionMethod| {
        let queue = UserQueue {
            name: "wq0.0".into(),
            device: "dsa0".into(),
            label: String::new(),
            mode: SharingMode::Dedicated,
            entries: 16,
            most_transfer_bytes: 1 << 20,
            most_batch: 32,
            node: None,
            operations: Opcode::Batch.bit(),
            version,
            gen_cap: 0,
            directory: devices.path().into(),
            device_directory: devices.path().into(),
        };
        QueuePortal::open(queue, devices.path(), how).expect("can be opened").takes(Opcode::Batch)
    };
    for how in [SubmissionMethod::Write, SubmissionMethod::Automatic] {
        assert!(!takes(0x100, how) && takes(0x200, how), "{how:?}");
    }
}
