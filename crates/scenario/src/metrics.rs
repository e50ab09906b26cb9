//! The promised result names, each a function of a sample.

use crate::sample::Sample;
use model::traffic::WIRE_OVERHEAD_BYTES;
use units::{Bytes, GbitPerSec, LINE_BYTES, Picos};

/// How a metric of several batches is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A rate or share: that of the whole measured time.
    Rate,
    /// A count: the total over the measured time.
    Count,
    /// A level: the mean of the readings at the ends of the batches.
    Level,
}

/// A metric of one number, or one number per part.
pub struct Metric {
    /// Its name in results.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// How batches combine.
    pub kind: Kind,
    /// The number, or the numbers by part.
    pub compute: Compute,
}

/// How a metric comes from a sample.
pub enum Compute {
    /// One number.
    One(fn(&Sample) -> f64),
    /// One number per named part.
    Parts(fn(&Sample) -> Vec<(String, f64)>),
}

/// All metrics but latency, which comes from histograms.
#[must_use]
pub fn all() -> Vec<Metric> {
    let mut metrics = cache_metrics();
    metrics.extend(packet_metrics());
    metrics.extend(memory_metrics());
    metrics
}

fn one(name: &'static str, unit: &'static str, kind: Kind, of: fn(&Sample) -> f64) -> Metric {
    Metric { name, unit, kind, compute: Compute::One(of) }
}

fn parts(
    name: &'static str,
    unit: &'static str,
    kind: Kind,
    of: fn(&Sample) -> Vec<(String, f64)>,
) -> Metric {
    Metric { name, unit, kind, compute: Compute::Parts(of) }
}

fn cache_metrics() -> Vec<Metric> {
    use Kind::{Count, Level, Rate};
    vec![
        one("pcie_write_hit_rate", "percent", Rate, |s| {
            percent(s.counters.pcie_write_hits, s.counters.pcie_write_misses)
        }),
        one("pcie_read_hit_rate", "percent", Rate, |s| {
            percent(s.counters.pcie_read_hits, s.counters.pcie_read_misses)
        }),
        one("pcie_write_hits", "lines", Count, |s| s.counters.pcie_write_hits as f64),
        one("pcie_write_misses", "lines", Count, |s| s.counters.pcie_write_misses as f64),
        one("pcie_partial_write_hits", "lines", Count, |s| {
            s.counters.pcie_partial_write_hits as f64
        }),
        one("pcie_partial_write_misses", "lines", Count, |s| {
            s.counters.pcie_partial_write_misses as f64
        }),
        one("pcie_read_hits", "lines", Count, |s| s.counters.pcie_read_hits as f64),
        one("pcie_read_misses", "lines", Count, |s| s.counters.pcie_read_misses as f64),
        parts("llc_misses_per_s", "1/s", Rate, |s| {
            per_core(s, |core| core.llc_load_misses as f64 / s.span.as_seconds())
        }),
        parts("llc_prefetch_misses_per_s", "1/s", Rate, |s| {
            per_core(s, |core| core.llc_prefetch_misses as f64 / s.span.as_seconds())
        }),
        parts("l2_misses_per_s", "1/s", Rate, |s| {
            per_core(s, |core| core.l2_misses as f64 / s.span.as_seconds())
        }),
        parts("llc_occupancy_bytes", "bytes", Level, |s| {
            let names = agent_names(s.cores.len());
            names.into_iter().zip(s.occupancy.iter().map(|&bytes| bytes as f64)).collect()
        }),
        parts("evictions", "lines", Count, evictions),
    ]
}

fn packet_metrics() -> Vec<Metric> {
    use Kind::{Count, Rate};
    vec![
        one("throughput_gbps", "Gbit/s", Rate, |s| wire_gbps(s.tx_packets, s.tx_bytes, s.span)),
        one("offered_gbps", "Gbit/s", Rate, |s| {
            wire_gbps(s.rx.offered_packets, s.rx.offered_bytes, s.span)
        }),
        one("rx_mpps", "Mpps", Rate, |s| per_microsecond(s.rx.packets, s.span)),
        one("tx_mpps", "Mpps", Rate, |s| per_microsecond(s.tx_packets, s.span)),
        one("rx_packets", "packets", Count, |s| s.rx.packets as f64),
        one("rx_bytes", "bytes", Count, |s| s.rx.bytes as f64),
        one("tx_packets", "packets", Count, |s| s.tx_packets as f64),
        one("tx_bytes", "bytes", Count, |s| s.tx_bytes as f64),
        one("rx_dropped", "packets", Count, |s| {
            (s.rx.dropped_no_descriptor + s.rx.dropped_buffer_full) as f64
        }),
        parts("rx_dropped_by_cause", "packets", Count, |s| {
            vec![
                ("no_descriptor".into(), s.rx.dropped_no_descriptor as f64),
                ("buffer_full".into(), s.rx.dropped_buffer_full as f64),
            ]
        }),
        // Flow control is off on this port: it has sent no PAUSE frame (DEVIATIONS.md, 8).
        one("pause_frames", "frames", Count, |_| 0.0),
        parts("time_in_regime", "percent", Rate, |s| {
            let core_time = s.span.as_ns() * s.cores.len() as f64;
            vec![
                ("ring_full".into(), 100.0 * s.rx.ring_full.as_ns() / s.span.as_ns()),
                ("sender_blocked".into(), 100.0 * s.sender_blocked.as_ns() / core_time),
                ("idle".into(), 100.0 * s.idle.as_ns() / core_time),
            ]
        }),
    ]
}

fn memory_metrics() -> Vec<Metric> {
    use Kind::Rate;
    vec![
        one("dram_read_gbytes_per_s", "GB/s", Rate, |s| gbytes_per_s(s.dram_lines.0, s.span)),
        one("dram_write_gbytes_per_s", "GB/s", Rate, |s| gbytes_per_s(s.dram_lines.1, s.span)),
        one("cxl_read_gbytes_per_s", "GB/s", Rate, |s| gbytes_per_s(s.cxl_lines.0, s.span)),
        one("cxl_write_gbytes_per_s", "GB/s", Rate, |s| gbytes_per_s(s.cxl_lines.1, s.span)),
        one("other_socket_gbytes_per_s", "GB/s", Rate, |s| {
            gbytes_per_s(s.counters.remote_lines, s.span)
        }),
        parts("pcie_utilisation", "percent", Rate, |s| {
            let share = |busy: Picos| 100.0 * busy.as_ns() / s.span.as_ns();
            vec![("up".into(), share(s.link_busy.0)), ("down".into(), share(s.link_busy.1))]
        }),
        one("iio_occupancy_lines", "lines", Rate, |s| s.iio_occupied.as_ns() / s.span.as_ns()),
    ]
}

/// Names of agents in results: cores, then the NIC.
#[must_use]
pub fn agent_names(cores: usize) -> Vec<String> {
    (0..cores).map(|core| format!("core{core}")).chain([String::from("nic0")]).collect()
}

fn per_core(
    sample: &Sample,
    of: impl Fn(&model::counters::CoreCounters) -> f64,
) -> Vec<(String, f64)> {
    sample.cores.iter().enumerate().map(|(id, core)| (format!("core{id}"), of(core))).collect()
}

fn evictions(sample: &Sample) -> Vec<(String, f64)> {
    let names = agent_names(sample.cores.len());
    let mut cells = Vec::new();
    for (cell, &count) in sample.evictions.iter().enumerate() {
        let (pair, read) = (cell / 2, cell % 2 == 1);
        let (evictor, owner) = (&names[pair / names.len()], &names[pair % names.len()]);
        let state = if read { "read" } else { "unread" };
        cells.push((format!("{evictor}>{owner}:{state}"), count as f64));
    }
    cells
}

/// Not a number, null in JSON, if nothing was counted.
fn percent(hits: u64, misses: u64) -> f64 {
    100.0 * hits as f64 / (hits + misses) as f64
}

fn wire_gbps(packets: u64, bytes: u64, span: Picos) -> f64 {
    GbitPerSec::from_transfer(Bytes(bytes + packets * WIRE_OVERHEAD_BYTES), span).0
}

fn per_microsecond(count: u64, span: Picos) -> f64 {
    if span == Picos::ZERO { 0.0 } else { count as f64 / (span.as_ns() / 1e3) }
}

fn gbytes_per_s(lines: u64, span: Picos) -> f64 {
    if span == Picos::ZERO { 0.0 } else { (lines * LINE_BYTES) as f64 / span.as_ns() }
}
