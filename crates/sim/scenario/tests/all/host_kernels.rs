//! The kernels with which a host measures itself, on known machines.

use scenario::KernelJob;
use std::ops::ControlFlow;

fn kernels(sizes: &[u64], translation_bytes: u64) -> String {
    format!(
        r#"{{"working_set_bytes": {sizes:?}, "pair_lines": 2, "page_bytes": 4096,
             "window_pages": 32, "translation_bytes": {translation_bytes},
             "array_bytes": [65536], "core_to_core": true}}"#
    )
}

fn latencies_ns(machine: &str, sizes: &[u64], translation_bytes: u64) -> Vec<f64> {
    let job = KernelJob::new(machine, &kernels(sizes, translation_bytes), 1).unwrap();
    job.run(|_| ControlFlow::Continue(())).unwrap().latency_ns
}

#[test]
fn a_chase_on_each_level_takes_that_levels_latency() {
    // 4 and 14 cycles at 3 GHz; 33 uncore cycles at 2.4 GHz more.
    let expected = [4.0 / 3.0, 14.0 / 3.0, 14.0 / 3.0 + 33.0 / 2.4];
    // In huge pages the sets fill evenly, up to the last line of a level.
    let found = latencies_ns("three-level-lru", &[32 << 10, 1 << 20, 16 << 20], 2 << 20);
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 0.002 * expected, "{found} for {expected}");
    }
}

#[test]
fn scattered_small_pages_overfill_sets_of_l2_below_its_capacity() {
    let sizes = [768 << 10];
    let (huge, small) = (
        latencies_ns("three-level-lru", &sizes, 2 << 20)[0],
        latencies_ns("three-level-lru", &sizes, 4096)[0],
    );
    assert!(small > 1.05 * huge, "{small} {huge}");
}

#[test]
fn a_machine_with_one_core_has_no_line_between_cores() {
    let of = |machine: &str| {
        let job = KernelJob::new(machine, &kernels(&[4096], 4096), 1).unwrap();
        job.run(|_| ControlFlow::Continue(())).unwrap()
    };
    assert_eq!(of("three-level-lru").core_to_core_ns, None);
    let two = of("skylake-gold-6140");
    assert!(two.core_to_core_ns.unwrap() > 20.0);
    assert!(two.streams[0].read_gbytes_per_s > 0.0);
}

#[test]
fn a_watcher_can_stop_the_kernels() {
    let job = KernelJob::new("three-level-lru", &kernels(&[4096, 8192], 4096), 1).unwrap();
    assert!(job.run(|_| ControlFlow::Break(())).is_err());
}

#[test]
fn kernels_that_cannot_be_are_refused_by_key() {
    for (kernels, told) in [
        (kernels(&[64], 4096), "working_set_bytes"),
        (kernels(&[4096], 100), "translation_bytes"),
        ("{}".into(), "kernels"),
    ] {
        let error = KernelJob::new("three-level-lru", &kernels, 1).err().unwrap().to_string();
        assert!(error.contains(told), "{error}");
    }
}
