//! Buffers that are freed: which of their lines does a core read?

use scenario::{RecordingRequest, job};
use std::ops::ControlFlow;

const L2FWD: &str = "experiments/ddio-bench/l2fwd.toml";
const LINES: &str = "hardware.software.freed_mbuf_lines";

/// Line operations of all agents per packet, with this many lines read at freeing.
fn operations_per_packet(lines: &str, more: &[(&str, &str)]) -> f64 {
    let settings = [
        ("rx_descriptors", "512"),
        ("offered_gbps", "20"),
        ("run.batch_packets", "4096"),
        ("run.min_batches", "10"),
        ("run.max_batches", "10"),
        (LINES, lines),
    ];
    let all = settings.iter().chain(more);
    let owned: Vec<_> = all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let job = job(L2FWD, &owned, 1).expect("the scenario is valid");
    let result =
        job.run(RecordingRequest::default(), |_| ControlFlow::Continue(())).expect("it ends");
    result.line_ops as f64 / result.packets as f64
}

#[test]
fn a_second_line_of_an_mbuf_is_read_once_for_each_packet_that_is_sent_or_dropped() {
    for application in ["l2-forward", "packet-sink"] {
        let keys = [("application", application)];
        let more = operations_per_packet("2", &keys) - operations_per_packet("1", &keys);
        assert!((0.9..1.1).contains(&more), "{application}: {more} more operations");
    }
}

#[test]
fn an_mbuf_has_two_lines() {
    let owned = [(LINES.to_owned(), "3".to_owned())];
    let refused = job(L2FWD, &owned, 1).expect_err("an mbuf has two").to_string();
    assert!(
        refused.contains("`hardware.software.freed_mbuf_lines` = 3: allowed: 1 to 2"),
        "{refused}"
    );
}
