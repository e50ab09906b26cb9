//! Time without a packet costs no work: a capture that is silent for a day is replayed as fast as its packets.

use crate::keys::recordings::with_captures;
use scenario::{RecordingRequest, job};
use std::ops::ControlFlow;

/// Progress reports of a replay of 64 frames, and the time that it simulates, in s.
fn reports_and_seconds(capture: &str) -> (u64, f64) {
    let settings = [
        ("traffic.pcap", with_captures(capture)),
        ("traffic.loops", "1".into()),
        ("traffic.longest_gap_s", "86400".into()),
    ];
    let settings = settings.map(|(key, value)| (key.to_string(), value));
    let job = job("experiments/ddio-bench/l2fwd.toml", &settings, 1).expect("is valid");
    let mut reports = 0;
    let result = job.run(RecordingRequest::default(), |_| {
        reports += 1;
        ControlFlow::Continue(())
    });
    (reports, result.expect("finishes").simulated_ns / 1e9)
}

#[test]
fn an_idle_day_costs_no_steps() {
    let (without, short) = reports_and_seconds("PCAP");
    let (with, long) = reports_and_seconds("DAY");
    assert!(short < 1.0, "{short} s");
    assert!((86_000.0..87_000.0).contains(&long), "{long} s");
    // One slice more each time that something begins after a silence.
    assert!(with <= without + 16, "{with} reports with an idle day, {without} without one");
}
