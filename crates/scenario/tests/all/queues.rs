//! Packets of 64 bytes over one to sixteen queues of every card: do more queues give more, and each of them
//! the same?

use crate::overload::{run, value};
use crate::random_scenarios::measured;
use scenario::builtin;

/// Frame without FCS.
const PACKET_BYTES: u32 = 60;
const QUEUES: [u32; 5] = [1, 2, 4, 8, 16];

/// Millions of packets per second of a card with so many queues, and the busiest queue over the mean: at
/// least, as far as a run of this length tells.
fn rate(card: &str, queues: u32) -> (f64, f64) {
    let text = format!(
        "nic = \"{card}\"\ncores = {queues}\npacket_bytes = {PACKET_BYTES}\nrx_descriptors = 512\n\
         offered_gbps = {}\ncore_ghz = 3.0\nuncore_ghz = 2.4\n\
         [traffic]\npattern = \"fixed\"\nflows = 1024\nflow_rules = 1024\n\
         [run]\nbatch_packets = {}\nmax_batches = 10\n",
        line_rate_gbps(card),
        5000 * queues
    );
    let result = run(&text, 1);
    let (imbalance, interval) = measured(&result, "load_imbalance").expect("it has cores");
    (value(&result, "tx_mpps"), imbalance - interval)
}

fn line_rate_gbps(card: &str) -> f64 {
    let device = builtin::nic("the test", card).expect("it is built in");
    device.nic.line_rate_gbps.value
}

/// What is published of a card, or else its wire.
fn most_mpps(card: &str) -> f64 {
    let device = builtin::nic("the test", card).expect("it is built in");
    let wire = 1e3 * device.nic.line_rate_gbps.value / 8.0 / (f64::from(PACKET_BYTES) + 24.0);
    let published = device.nic.port_packets_per_s.map(|rate| rate.value / 1e6);
    published.map_or(wire, |published| published.min(wire))
}

#[test]
fn more_queues_send_more_and_share_equally() {
    let cards = builtin::nic_names();
    assert!(cards.iter().any(|card| card == "connectx-5"), "{cards:?}");
    let cards = cards.iter().filter(|card| soak::amount(*card == "connectx-5", true));
    for card in cards {
        let mut before = 0.0;
        for queues in QUEUES.into_iter().filter(|&queues| soak::amount(queues <= 4, true)) {
            let (mpps, imbalance) = rate(card, queues);
            println!("{card}, {queues} queues: {mpps:.1} Mpps, busiest {imbalance:.3}");
            assert!(mpps > 0.99 * before, "{card}: {before} Mpps, {mpps} with {queues} queues");
            assert!(mpps < 1.01 * most_mpps(card), "{card}, {queues} queues: {mpps} Mpps");
            assert!(imbalance < 1.03, "{card}, {queues} queues: {imbalance}");
            before = mpps;
        }
    }
}
