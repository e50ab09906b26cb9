//! Operations under way: taken once, in sets, with time limits, dropped.

use crate::devices::{copy, pattern};
use crate::inside::{inside, plan};
use dsa_client::client::{OffloadClient, Options, Path};
use dsa_client::set::Set;
use std::time::Duration;

#[test]
fn ends_of_a_set_come_once_each_with_their_tags() {
    inside!(ends_of_a_set_come_once_each_with_their_tags);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    let from = pattern(9000);
    let mut to: Vec<Vec<u8>> = (0..100).map(|n| vec![0; 80 + 89 * n]).collect();
    let mut set = Set::new(&client);
    for (number, own) in to.iter_mut().enumerate() {
        // SAFETY: all ends are taken below.
        let job = unsafe { client.submit(&copy(&from[..own.len()], own), Path::Device) };
        set.add(number, job.expect("is begun"));
    }
    assert_eq!(set.len(), 100);
    let mut tags: Vec<usize> = std::iter::from_fn(|| set.wait())
        .map(|end| {
            end.result.expect("succeeds");
            end.tag
        })
        .collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..100).collect::<Vec<_>>());
    assert!(set.is_empty() && to.iter().all(|own| *own == from[..own.len()]));
}

/// An operation that takes longer than its caller wants to wait.
#[test]
fn a_time_limit_leaves_the_operation_under_way_and_a_dropped_job_its_memory() {
    let plan = plan("seed = 1\n[delays]\nrate = 1.0\nnanoseconds = 400000000\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(
        a_time_limit_leaves_the_operation_under_way_and_a_dropped_job_its_memory,
        "--inject",
        plan
    );
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    let (from, mut to) = (pattern(10_000), vec![0; 10_000]);
    // SAFETY: the job is waited for.
    let mut job = unsafe { client.submit(&copy(&from, &mut to), Path::Device) }.expect("is begun");
    assert!(job.wait_for(Duration::ZERO).is_none() && !job.has_ended());
    job.wait().expect("succeeds");
    assert!(from == to);
    assert_eq!(client.statistics().abandoned, 0);

    let dropped = client.begin_copy(from.clone(), to).expect("is begun");
    drop(dropped);
    assert_eq!(client.statistics().abandoned, 1);
    // The device still writes the record and the buffer, which both are there.
    let (from, to) =
        client.begin_copy(from, vec![0; 10_000]).expect("is begun").wait().expect("ends");
    assert!(from == to);
}

/// Entries of a dedicated queue come back when the device has ended what was dropped.
#[test]
fn dropped_jobs_do_not_use_a_queue_up() {
    let plan = plan("seed = 1\n[delays]\nrate = 1.0\nnanoseconds = 1000000\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(dropped_jobs_do_not_use_a_queue_up, "--inject", plan);
    let queues = Some(vec!["wq0.0".to_owned()]);
    let client = OffloadClient::open(&Options { queues, ..Options::default() }).expect("is opened");
    let from = pattern(5000);
    for round in 0..100 {
        drop(client.begin_copy(from.clone(), vec![0; 5000]).expect("is begun"));
        let mut to = vec![0; 5000];
        // SAFETY: memory of this function.
        let copied = unsafe { client.run(&copy(&from, &mut to), Path::Device) };
        assert_eq!(copied.expect("succeeds").device_bytes, 5000, "{round}");
    }
    assert!(client.statistics().abandoned > 50);
}

#[test]
fn buffers_that_a_copy_owned_come_back() {
    inside!(buffers_that_a_copy_owned_come_back);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    let mut copying = client.begin_copy(pattern(70_000), vec![1; 70_001]).expect("is begun");
    while !copying.has_ended() {
        std::thread::yield_now();
    }
    let (from, to) = copying.wait().expect("succeeds");
    assert!(from == to[..70_000] && to[70_000] == 1);
    let error = client.begin_copy(vec![0; 3], vec![0; 2]).err().expect("is refused");
    assert_eq!(error.to_string(), "memory move: 3 bytes do not fit into 2");
}
