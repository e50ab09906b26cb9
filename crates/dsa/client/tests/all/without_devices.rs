//! On a machine without a device the CPU executes all operations, and statistics have the reason.

use dsa_client::client::{OffloadClient, Options, Path};
use dsa_client::error::Error;
use dsa_client::operation::OffloadOperation;
use dsa_client::statistics::Reason;

fn nowhere() -> Options {
    Options { sysfs: "/nowhere".into(), ..Options::default() }
}

#[test]
fn all_is_done_by_the_cpu_and_the_statistics_say_so() {
    let client = OffloadClient::open(&nowhere()).expect("needs no device");
    let from = vec![7; 10_000];
    let mut to = vec![0; 10_000];
    client.copy(&from, &mut to).expect("is copied");
    assert_eq!(from, to);
    client.copy(&from[..5], &mut to[..5]).expect("is copied");
    let statistics = client.statistics();
    assert_eq!(statistics.by_reason(Reason::NoQueue).bytes, 10_000);
    assert_eq!(statistics.by_reason(Reason::Small).bytes, 5);
    assert_eq!(client.queues().count(), 0);
    assert!(statistics.to_string().contains("CPU, no queue: 1 (10000 B)"), "{statistics}");
}

#[test]
fn who_wants_a_device_is_told_that_there_is_none() {
    let client = OffloadClient::open(&nowhere()).expect("needs no device");
    let (from, mut to) = ([1_u8; 64], [0_u8; 64]);
    let copy = OffloadOperation::copy(from.as_ptr() as u64, to.as_mut_ptr() as u64, 64);
    // SAFETY: arrays of this function.
    let error = unsafe { client.run(&copy, Path::Device) }.expect_err("there is none");
    assert!(matches!(error, Error::NoDevice(_)), "{error}");
    assert!(error.to_string().contains("memory move: no work queue is open"), "{error}");
    let options = Options { queues: Some(vec!["wq0.0".to_owned()]), ..nowhere() };
    let error = OffloadClient::open(&options).err().expect("is refused");
    assert_eq!(
        error.to_string(),
        "wq0.0: no such work queue is enabled for user programs; no queue is"
    );
}

#[test]
fn slices_of_different_lengths_are_refused_and_empty_ones_are_not() {
    let client = OffloadClient::open(&nowhere()).expect("needs no device");
    let error = client.copy(&[1, 2], &mut [0; 3]).expect_err("is refused");
    assert!(error.to_string().contains("2 and 3 bytes"), "{error}");
    client.copy(&[], &mut []).expect("is nothing");
    client.fill(&mut [], 1).expect("is nothing");
    assert_eq!(client.crc32c(5, &[]).expect("is nothing"), 5);
    assert_eq!(client.first_difference(&[], &[]).expect("is nothing"), None);
}

#[test]
fn broken_files_of_sysfs_are_named() {
    let tree = tempfile::TempDir::new().expect("can be created");
    for (file, text) in [
        ("dsa0/state", "enabled\n"),
        ("wq0.0/type", "user\n"),
        ("wq0.0/state", "enabled\n"),
        ("wq0.0/mode", "shared\n"),
        ("wq0.0/size", "many\n"),
    ] {
        let path = tree.path().join(file);
        std::fs::create_dir_all(path.parent().expect("has one")).expect("can be created");
        std::fs::write(path, text).expect("is written");
    }
    let options = Options { sysfs: tree.path().to_owned(), ..Options::default() };
    let error = OffloadClient::open(&options).err().expect("is refused").to_string();
    assert!(error.ends_with("wq0.0/size: \"many\" is not a number"), "{error}");
}
