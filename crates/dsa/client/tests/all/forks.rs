//! After a fork: the child's calls are right, its parent's jobs stay the parent's.

use crate::devices::{copy, pattern};
use crate::inside::{inside, plan};
use dsa_client::client::{OffloadClient, Options, Path};
use dsa_client::error::Error;
use dsa_client::statistics::Reason;

/// Runs `work` in a child, which ends with its answer.
fn in_child(work: impl FnOnce() -> bool) {
    // SAFETY: the child does what a test does, and ends without the parent's clean-up.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let is_right = work();
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(!is_right)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "{status:#x}");
    assert_eq!(libc::WEXITSTATUS(status), 0);
}

#[test]
fn a_child_uses_the_cpu_until_it_opens_a_client_of_its_own() {
    inside!(a_child_uses_the_cpu_until_it_opens_a_client_of_its_own);
    let queues = Some(vec!["wq0.1".to_owned()]);
    let options = Options { queues, ..Options::default() };
    let client = OffloadClient::open(&options).expect("is opened");
    let from = pattern(50_000);
    in_child(|| {
        let mut to = vec![0; from.len()];
        client.copy(&from, &mut to).expect("is copied");
        // SAFETY: memory of this function.
        let error = unsafe { client.run(&copy(&from, &mut to), Path::Device) };
        let error = error.expect_err("has no portal").to_string();
        assert!(error.contains("this process came of a fork"), "{error}");
        assert_eq!(client.statistics().by_reason(Reason::Forked).count, 1);
        let own = OffloadClient::open(&options).expect("is opened");
        to.fill(0);
        // SAFETY: as above.
        let by_own = unsafe { own.run(&copy(&from, &mut to), Path::Device) };
        from == to && by_own.is_ok_and(|outcome| outcome.device_bytes == 50_000)
    });
    let mut to = vec![0; from.len()];
    // SAFETY: as above.
    let by_device = unsafe { client.run(&copy(&from, &mut to), Path::Device) };
    assert_eq!(by_device.expect("succeeds").device_bytes, 50_000);
}

#[test]
fn a_job_of_the_parent_is_no_job_of_the_child() {
    let plan = plan("seed = 1\n[delays]\nrate = 1.0\nnanoseconds = 300000000\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(a_job_of_the_parent_is_no_job_of_the_child, "--inject", plan);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    let (from, mut to) = (pattern(50_000), vec![0; 50_000]);
    // SAFETY: the job is waited for.
    let mut job = unsafe { client.submit(&copy(&from, &mut to), Path::Device) }.expect("is begun");
    in_child(|| matches!(job.poll(), Some(Err(Error::Forked))));
    job.wait().expect("succeeds");
    assert!(from == to);
}
