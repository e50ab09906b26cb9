//! Faults of devices, which never change results.

use crate::devices::{copy, pattern, small_transfers};
use crate::inside::{inside, plan};
use dsa::hardware::Opcode;
use dsa_client::batch::OffloadBatch;
use dsa_client::client::{OffloadClient, Options, Path};
use dsa_client::error::Error;
use dsa_client::operation::OffloadOperation;
use dsa_client::set::Set;
use dsa_client::statistics::Reason;
use dsa_client::thresholds::Thresholds;

/// Copies of many sizes, some through each queue; the client's statistics are the answer.
fn copies(client: &OffloadClient, count: usize) {
    let from = pattern(20_000);
    for number in 0..count {
        let bytes = 1 + number * 97 % 20_000;
        let mut to = vec![0; bytes];
        // SAFETY: memory of this function.
        let copied = unsafe { client.run(&copy(&from[..bytes], &mut to), Path::Device) };
        let outcome = copied.expect("succeeds");
        assert_eq!(outcome.device_bytes + outcome.cpu_bytes, bytes as u64);
        assert!(to == from[..bytes]);
    }
}

#[test]
fn hardware_errors_end_at_the_cpu() {
    let plan = plan("seed = 2\n[hardware_errors]\nread_rate = 0.2\nwrite_rate = 0.2\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(hardware_errors_end_at_the_cpu, "--inject", plan);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    copies(&client, 200);
    assert!(client.statistics().by_reason(Reason::Hardware).count > 20);
}

#[test]
fn a_page_that_is_absent_again_and_again_ends_at_the_cpu() {
    let plan = plan("seed = 2\n[page_faults]\nrate = 1.0\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(a_page_that_is_absent_again_and_again_ends_at_the_cpu, "--inject", plan);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    copies(&client, 100);
    let statistics = client.statistics();
    assert!(statistics.by_reason(Reason::Fault).count > 0, "{statistics}");
}

/// Pieces of large operations wait for room one by one, and none is forgotten.
#[test]
fn parts_that_find_no_room_are_all_done_in_the_end() {
    let (config, plan) = (
        small_transfers(),
        plan("seed = 9\n[queue_full]\nrate = 0.6\n[page_faults]\nrate = 0.2\n"),
    );
    let (config, plan) = (config.path().to_str(), plan.path().to_str());
    let (config, plan) = (config.expect("is text"), plan.expect("is text"));
    inside!(parts_that_find_no_room_are_all_done_in_the_end, "--config", config, "--inject", plan);
    let client =
        OffloadClient::open(&Options { retries: 0, ..Options::default() }).expect("is opened");
    let from = pattern(150_000);
    let mut by_cpu = 0;
    for number in 0..40 {
        let bytes = 100_000 + number * 997;
        let mut to = vec![0; bytes];
        // SAFETY: memory of this function.
        let copied = unsafe { client.run(&copy(&from[..bytes], &mut to), Path::Device) };
        let outcome = copied.expect("succeeds");
        assert_eq!(outcome.device_bytes + outcome.cpu_bytes, bytes as u64);
        assert!(to == from[..bytes]);
        by_cpu += outcome.cpu_bytes;
    }
    let statistics = client.statistics();
    assert!(statistics.retries > 0);
    // A small piece whose one page faults four times in a row may go to the CPU; one that found no
    // room never does. The engine that is first decides which pieces fault.
    assert_eq!(statistics.by_reason(Reason::Full).count, 0, "{statistics}");
    assert_eq!(statistics.by_reason(Reason::Fault).bytes, by_cpu, "{statistics}");
    assert!(by_cpu < 400_000, "{statistics}");
}

/// A posted write that the queue drops has no record, and only a drain shows it.
#[test]
fn descriptors_that_a_queue_drops_are_found_and_done() {
    let plan = plan("seed = 4\n[queue_full]\nrate = 0.2\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(descriptors_that_a_queue_drops_are_found_and_done, "--inject", plan);
    let queues = Some(vec!["wq0.0".to_owned()]);
    let client = OffloadClient::open(&Options { queues, ..Options::default() }).expect("is opened");
    copies(&client, 20);
    assert!(client.statistics().by_reason(Reason::Lost).count > 0);
    assert_eq!(client.portals()[0].under_way(), 0);
}

/// Jobs that wait for room take each entry that becomes free, until lost descriptors occupy all of them.
#[test]
fn a_queue_whose_entries_are_all_lost_is_free_again() {
    let plan = plan("seed = 4\n[queue_full]\nrate = 0.4\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(a_queue_whose_entries_are_all_lost_is_free_again, "--inject", plan);
    let queues = Some(vec!["wq0.0".to_owned()]);
    let client = OffloadClient::open(&Options { queues, ..Options::default() }).expect("is opened");
    let from = pattern(5000);
    let mut copied = vec![vec![0; from.len()]; 200];
    let mut jobs = Set::new(&client);
    for (number, to) in copied.iter_mut().enumerate() {
        // SAFETY: memory of this function, which waits for all ends.
        let job = unsafe { client.submit(&copy(&from, to), Path::Device) };
        jobs.add(number, job.expect("is begun"));
    }
    while let Some(end) = jobs.wait() {
        assert!(end.result.is_ok());
    }
    assert!(copied.iter().all(|to| *to == from));
    let statistics = client.statistics();
    let entries = client.portals()[0].queue().entries;
    assert!(statistics.by_reason(Reason::Lost).count > entries.into(), "{statistics}");
    assert_eq!(client.portals()[0].under_way(), 0);
}

/// A descriptor that was lost after its job was dropped does not occupy its entry for ever.
#[test]
fn entries_of_jobs_that_were_dropped_come_back() {
    let plan = plan("seed = 4\n[queue_full]\nrate = 0.7\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(entries_of_jobs_that_were_dropped_come_back, "--inject", plan);
    let queues = Some(vec!["wq0.0".to_owned()]);
    let thresholds = Thresholds::uniform(1, 1, "test");
    let options = Options { queues, thresholds, ..Options::default() };
    let client = OffloadClient::open(&options).expect("is opened");
    while client.portals()[0].under_way() < client.portals()[0].queue().entries {
        drop(client.begin_copy(vec![1; 100], vec![0; 100]).expect("is begun"));
    }
    copies(&client, 5);
    assert!(client.portals()[0].under_way() < client.portals()[0].queue().entries);
    assert!(client.statistics().by_device(Opcode::Move).count > 0);
}

#[test]
fn a_device_that_halts_is_found_out_and_the_cpu_goes_on() {
    let plan = plan("seed = 4\n[reset]\nafter_descriptors = 10\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(a_device_that_halts_is_found_out_and_the_cpu_goes_on, "--inject", plan);
    let queues = Some(vec!["wq0.0".to_owned()]);
    let client = OffloadClient::open(&Options { queues, ..Options::default() }).expect("is opened");
    copies(&client, 14);
    let statistics = client.statistics();
    assert!(statistics.by_reason(Reason::Lost).count > 0, "{statistics}");
    assert!(statistics.by_device(Opcode::Move).count > 0, "{statistics}");
}

/// A shared queue that is disabled answers "retry": an automatic call goes to the CPU.
#[test]
fn a_queue_that_is_taken_away_is_no_harm() {
    inside!(a_queue_that_is_taken_away_is_no_harm);
    let queues = Some(vec!["wq0.1".to_owned()]);
    let client = OffloadClient::open(&Options { queues, ..Options::default() }).expect("is opened");
    copies(&client, 5);
    std::fs::write("/sys/bus/dsa/drivers/user/unbind", "wq0.1").expect("is unbound");
    let (from, mut to) = (pattern(100_000), vec![0; 100_000]);
    client.copy(&from, &mut to).expect("is copied");
    assert!(from == to);
    assert_eq!(client.statistics().by_reason(Reason::Full).count, 1);
}

/// An operation that insists on a device waits for room, but not for a queue that was disabled.
#[test]
fn insisting_on_a_queue_that_has_gone_ends_at_the_cpu() {
    inside!(insisting_on_a_queue_that_has_gone_ends_at_the_cpu);
    let queues = Some(vec!["wq0.1".to_owned()]);
    let client = OffloadClient::open(&Options { queues, ..Options::default() }).expect("is opened");
    std::fs::write("/sys/bus/dsa/drivers/user/unbind", "wq0.1").expect("is unbound");
    copies(&client, 1);
    let (from, mut to) = (pattern(100), vec![0; 300]);
    let mut batch = OffloadBatch::new();
    to.chunks_mut(100).for_each(|own| batch.add(copy(&from, own)));
    // SAFETY: memory of this function.
    let ends = unsafe { client.run_batch(&batch, Path::Device) }.expect("is begun");
    assert!(ends.iter().all(Result::is_ok) && to.chunks(100).all(|own| own == from));
    assert_eq!(client.statistics().by_reason(Reason::Lost).count, 4);
}

/// A copy within overlapping ranges that a device has begun cannot be repeated.
#[test]
fn a_move_within_itself_that_fails_is_reported_and_an_automatic_one_never_begins() {
    let plan = plan("seed = 2\n[hardware_errors]\nwrite_rate = 1.0\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(
        a_move_within_itself_that_fails_is_reported_and_an_automatic_one_never_begins,
        "--inject",
        plan
    );
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    let mut memory = pattern(9000);
    let base = memory.as_mut_ptr() as u64;
    let within = OffloadOperation::copy(base, base + 100, 8000);
    // SAFETY: memory of this function.
    let error = unsafe { client.run(&within, Path::Device) }.expect_err("fails");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    let mut right = memory.clone();
    right.copy_within(0..8000, 100);
    // SAFETY: as above.
    unsafe { client.run(&within, Path::Automatic) }.expect("succeeds");
    assert!(memory == right);
    assert_eq!(client.statistics().by_reason(Reason::Overlap).count, 1);
}
