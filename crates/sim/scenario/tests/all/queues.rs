//! Packets of 64 bytes over one to sixteen queues of every card: do more queues give more, and each of them
//! the same?

use crate::overload::{run, value};
use crate::random_scenarios::measured;
use scenario::builtin;

/// Frame without FCS.
const PACKET_BYTES: u32 = 60;
const QUEUES: [u32; 5] = [1, 2, 4, 8, 16];
/// Largest difference of levels: runs of this length repeat within 1 %.
const LEVEL: f64 = 0.98;

/// Measurements of a card with a number of queues.
#[derive(Clone, Copy, Default)]
struct Rate {
    /// Millions of packets per second.
    mpps: f64,
    /// The busiest queue over the mean: at least, as far as a run of this length tells.
    imbalance: f64,
    /// Lines that the card writes and reads for each packet.
    lines_per_packet: f64,
}

fn rate(card: &str, queues: u32) -> Rate {
    let text = format!(
        "nic = \"{card}\"\ncores = {queues}\npacket_bytes = {PACKET_BYTES}\nrx_descriptors = 512\n\
         offered_gbps = {}\ncore_ghz = 3.0\nuncore_ghz = 2.4\n\
         hardware.iio.slot_gtransfers_per_s = {}\n\
         [traffic]\npattern = \"fixed\"\nflows = 1024\nflow_rules = 1024\n\
         [run]\nbatch_packets = {}\nmax_batches = 10\n",
        line_rate_gbps(card),
        slot_gtransfers_per_s(card),
        5000 * queues
    );
    let result = run(&text, 1);
    let (imbalance, interval) = measured(&result, "load_imbalance").expect("it has cores");
    let kinds = [
        "pcie_write_hits",
        "pcie_write_misses",
        "pcie_partial_write_hits",
        "pcie_partial_write_misses",
        "pcie_read_hits",
        "pcie_read_misses",
    ];
    let lines: f64 = kinds.iter().map(|kind| value(&result, kind)).sum();
    Rate {
        mpps: value(&result, "tx_mpps"),
        imbalance: imbalance - interval,
        lines_per_packet: lines / value(&result, "rx_packets"),
    }
}

/// A slot as fast as the card, and no slower than the machine's own.
fn slot_gtransfers_per_s(card: &str) -> f64 {
    let device = builtin::nic("the test", card).expect("it is built in");
    device.pcie.gtransfers_per_s.value.max(8.0)
}

fn line_rate_gbps(card: &str) -> f64 {
    let device = builtin::nic("the test", card).expect("it is built in");
    device.nic.line_rate_gbps.value
}

/// The published packet rate of a card, or else that of its wire.
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
        let mut before = Rate::default();
        for queues in QUEUES.into_iter().filter(|&queues| soak::amount(queues <= 4, true)) {
            let now = rate(card, queues);
            let Rate { mpps, imbalance, lines_per_packet, .. } = now;
            println!(
                "{card}, {queues} queues: {mpps:.1} Mpps, busiest {imbalance:.3}, \
                 {lines_per_packet:.2} lines a packet"
            );
            let before_mpps = before.mpps;
            assert!(mpps > LEVEL * before_mpps, "{card}: {before_mpps} Mpps, {mpps} with {queues}");
            assert!(mpps < 1.01 * most_mpps(card), "{card}, {queues} queues: {mpps} Mpps");
            assert!(imbalance < 1.03, "{card}, {queues} queues: {imbalance}");
            before = now;
        }
    }
}
