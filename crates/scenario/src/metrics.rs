//! The promised result names, each a function of a sample.

use crate::layout::Layout;
use crate::run::sample::{NicSample, Sample};
use crate::scenario::MAIN;
use model::counters::{CoreCounters, PortCounters, ProbeCounts};
use model::device::nvme::NvmeCounters;
use model::reading::Reading;
use model::software::Account;
use model::traffic::WIRE_OVERHEAD_BYTES;
use std::collections::BTreeMap;
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
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// How batches combine.
    pub kind: Kind,
    /// The number, or the numbers by part.
    pub compute: Compute,
}

/// A number of a sample.
type Number = Box<dyn Fn(&Sample) -> f64>;
/// Numbers of a sample by part.
type NamedNumbers = Box<dyn Fn(&Sample) -> Vec<(String, f64)>>;

/// How a metric comes from a sample.
pub enum Compute {
    /// One number.
    One(Number),
    /// One number per named part.
    Parts(NamedNumbers),
}

/// What a metric of a tenant is about: its NIC, and its cores among those of a sample.
#[derive(Clone, Debug)]
struct Place {
    prefix: String,
    cores: Vec<usize>,
    nic: Option<usize>,
    ssds: Vec<usize>,
    ports: Vec<usize>,
}

/// All metrics but latency, which comes from histograms: the machine's, then each tenant's.
#[must_use]
pub fn all(layout: &Layout, core_ghz: f64) -> Vec<Metric> {
    let mut metrics = cache_metrics(layout);
    metrics.extend(memory_metrics());
    metrics.extend(probe_metrics(layout));
    for (number, tenant) in layout.tenants.iter().enumerate() {
        let place = Place {
            prefix: prefix(&tenant.name),
            cores: tenant.cores.iter().map(|&core| usize::from(core)).collect(),
            nic: tenant.nic,
            ssds: tenant.ssds.clone(),
            ports: layout.ports_of(number).collect(),
        };
        metrics.extend(packet_metrics(&place));
        metrics.extend(storage_metrics(&place));
        metrics.extend(port_metrics(&place, layout));
        metrics.extend(core_metrics(&place));
        metrics.extend(counter_metrics(&place, core_ghz));
    }
    metrics
}

/// What the names of a tenant's metrics begin with.
#[must_use]
pub fn prefix(tenant: &str) -> String {
    if tenant == MAIN { String::new() } else { format!("{tenant}:") }
}

fn one(
    name: &str,
    unit: &'static str,
    kind: Kind,
    of: impl Fn(&Sample) -> f64 + 'static,
) -> Metric {
    Metric { name: name.into(), unit, kind, compute: Compute::One(Box::new(of)) }
}

fn parts(
    name: &str,
    unit: &'static str,
    kind: Kind,
    of: impl Fn(&Sample) -> Vec<(String, f64)> + 'static,
) -> Metric {
    Metric { name: name.into(), unit, kind, compute: Compute::Parts(Box::new(of)) }
}

fn cache_metrics(layout: &Layout) -> Vec<Metric> {
    use Kind::{Count, Level, Rate};
    let names = layout.agent_names();
    let owners = names.clone();
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
        parts("llc_software_prefetch_misses_per_s", "1/s", Rate, |s| {
            per_core(s, |core| {
                (core.llc_prefetch_misses - core.l2_prefetcher_misses) as f64 / s.span.as_seconds()
            })
        }),
        parts("l2_misses_per_s", "1/s", Rate, |s| {
            per_core(s, |core| core.l2_misses as f64 / s.span.as_seconds())
        }),
        parts("l2_load_misses_per_s", "1/s", Rate, |s| {
            per_core(s, |core| core.l2_load_misses as f64 / s.span.as_seconds())
        }),
        parts("llc_occupancy_bytes", "bytes", Level, move |s| {
            let bytes = s.occupancy.iter().map(|&bytes| bytes as f64);
            names.iter().cloned().zip(bytes).collect()
        }),
        parts("evictions", "lines", Count, move |s| evictions(s, &owners)),
        parts("work_per_s_by_core", "1/s", Rate, |s| {
            let work = s.software.iter().map(|core| core.work as f64 / s.span.as_seconds());
            (0..).map(|id: usize| format!("core{id}")).zip(work).collect()
        }),
        parts("instructions_per_s", "1/s", Rate, |s| {
            let each =
                s.software.iter().map(|core| counted(core.instructions) / s.span.as_seconds());
            (0..).map(|id: usize| format!("core{id}")).zip(each).collect()
        }),
    ]
}

/// Metrics of what goes through a tenant's NIC.
fn packet_metrics(place: &Place) -> Vec<Metric> {
    use Kind::{Count, Rate};
    let Some(nic) = place.nic else { return Vec::new() };
    let name = |name: &str| format!("{}{name}", place.prefix);
    let count = |metric: &str, unit, of: fn(&NicSample) -> u64| {
        one(&name(metric), unit, Count, move |s| of(&s.nics[nic]) as f64)
    };
    let rate = |metric: &str, unit, of: fn(&NicSample, Picos) -> f64| {
        one(&name(metric), unit, Rate, move |s| of(&s.nics[nic], s.span))
    };
    vec![
        rate("throughput_gbps", "Gbit/s", |n, span| wire_gbps(n.tx_packets, n.tx_bytes, span)),
        rate("offered_gbps", "Gbit/s", |n, span| {
            wire_gbps(n.rx.offered_packets, n.rx.offered_bytes, span)
        }),
        rate("received_gbps", "Gbit/s", |n, span| wire_gbps(n.rx.packets, n.rx.bytes, span)),
        rate("rx_mpps", "Mpps", |n, span| per_microsecond(n.rx.packets, span)),
        rate("tx_mpps", "Mpps", |n, span| per_microsecond(n.tx_packets, span)),
        count("rx_packets", "packets", |n| n.rx.packets),
        count("rx_bytes", "bytes", |n| n.rx.bytes),
        count("tx_packets", "packets", |n| n.tx_packets),
        count("tx_bytes", "bytes", |n| n.tx_bytes),
        count("rx_dropped", "packets", |n| n.rx.dropped_no_descriptor + n.rx.dropped_buffer_full),
        parts(&name("rx_dropped_by_cause"), "packets", Count, move |s| {
            let rx = &s.nics[nic].rx;
            vec![
                ("no_descriptor".into(), rx.dropped_no_descriptor as f64),
                ("buffer_full".into(), rx.dropped_buffer_full as f64),
            ]
        }),
        count("pause_frames", "frames", |n| n.rx.pause_frames),
        rate("paused", "percent", |n, span| 100.0 * n.rx.paused.as_ns() / span.as_ns()),
        parts(&name("pcie_utilisation"), "percent", Rate, move |s| {
            let share = |busy: Picos| 100.0 * busy.as_ns() / s.span.as_ns();
            let (up, down) = s.nics[nic].link_busy;
            vec![("up".into(), share(up)), ("down".into(), share(down))]
        }),
        rate("iio_occupancy_lines", "lines", |n, span| n.iio_occupied.as_ns() / span.as_ns()),
    ]
}

/// Metrics of a tenant's SSDs.
fn storage_metrics(place: &Place) -> Vec<Metric> {
    use Kind::Rate;
    if place.ssds.is_empty() {
        return Vec::new();
    }
    let rate = |metric: &str, of: fn(&NvmeCounters) -> u64| {
        let ssds = place.ssds.clone();
        one(&format!("{}{metric}", place.prefix), "GB/s", Rate, move |s| {
            let bytes: u64 = ssds.iter().map(|&ssd| of(&s.ssds[ssd])).sum();
            bytes as f64 / s.span.as_ns()
        })
    };
    vec![
        rate("ssd_read_gbytes_per_s", |ssd| ssd.bytes_to_host),
        rate("ssd_write_gbytes_per_s", |ssd| ssd.bytes_from_host),
    ]
}

/// Metrics of a tenant's root ports. The main tenant's are the machine's own where it is alone; else
/// they have its name, because the plain names stand for all devices together.
fn port_metrics(place: &Place, layout: &Layout) -> Vec<Metric> {
    use Kind::{Level, Rate};
    let Some(&first) = place.ports.first() else { return Vec::new() };
    let ways = format!("{}ddio_ways", place.prefix);
    let mut metrics = vec![one(&ways, "ways", Level, move |s| f64::from(s.ports[first].ddio_ways))];
    if layout.tenants.len() > 1 {
        let own = if place.prefix.is_empty() { format!("{MAIN}:") } else { place.prefix.clone() };
        let rate = |metric: &str, of: fn(&PortCounters) -> (u64, u64)| {
            let ports = place.ports.clone();
            one(&format!("{own}{metric}"), "percent", Rate, move |s| {
                let each = ports.iter().map(|&port| of(&s.ports[port].counters));
                let (hits, misses) =
                    each.fold((0, 0), |sum, port| (sum.0 + port.0, sum.1 + port.1));
                percent(hits, misses)
            })
        };
        metrics.push(rate("pcie_write_hit_rate", |port| (port.write_hits, port.write_misses)));
        metrics.push(rate("pcie_read_hit_rate", |port| (port.read_hits, port.read_misses)));
    }
    metrics
}

/// What a timeline shows of a batch.
#[must_use]
pub fn timeline(layout: &Layout, core_ghz: f64, sample: &Sample) -> BTreeMap<String, f64> {
    const SHOWN: [&str; 5] =
        ["pcie_write_hit_rate", "pcie_read_hit_rate", "throughput_gbps", "work_per_s", "ddio_ways"];
    let shown = all(layout, core_ghz).into_iter().filter(|metric| {
        let name = metric.name.rsplit(':').next().unwrap_or_default();
        SHOWN.contains(&name)
    });
    let number = |metric: Metric| match metric.compute {
        Compute::One(of) => Some((metric.name, of(sample))),
        Compute::Parts(_) => None,
    };
    shown.filter_map(number).collect()
}

/// Metrics of what a tenant's cores do.
fn core_metrics(place: &Place) -> Vec<Metric> {
    use Kind::Rate;
    let name = |name: &str| format!("{}{name}", place.prefix);
    let (cores, nic) = (place.cores.clone(), place.nic);
    let (own, shares) = (place.cores.clone(), place.cores.clone());
    vec![
        parts(&name("time_in_regime"), "percent", Rate, move |s| {
            let core_time = s.span.as_ns() * cores.len() as f64;
            let sum = |of: fn(&Account) -> Picos| -> f64 {
                cores.iter().map(|&core| of(&s.software[core]).as_ns()).sum()
            };
            let ring_full = nic.map(|nic| {
                ("ring_full".into(), 100.0 * s.nics[nic].rx.ring_full.as_ns() / s.span.as_ns())
            });
            let blocked = 100.0 * sum(|core| core.sender_blocked) / core_time;
            let idle = 100.0 * sum(|core| core.idle) / core_time;
            let of_cores = [("sender_blocked".into(), blocked), ("idle".into(), idle)];
            ring_full.into_iter().chain(of_cores).collect()
        }),
        one(&name("work_per_s"), "1/s", Rate, move |s| {
            let work: u64 = own.iter().map(|&core| s.software[core].work).sum();
            work as f64 / s.span.as_seconds()
        }),
        // The most loaded core against the mean.
        one(&name("load_imbalance"), "ratio", Rate, move |s| {
            let work = || shares.iter().map(|&core| s.software[core].work);
            let most = work().max().unwrap_or_default() as f64;
            most * shares.len() as f64 / work().sum::<u64>() as f64
        }),
    ]
}

/// A count as metrics have it: null where nothing was counted.
fn counted(count: Option<u64>) -> f64 {
    count.map_or(f64::NAN, |count| count as f64)
}

/// What `perf stat` would say of a tenant's cores; of instructions only where their software counts them all.
fn counter_metrics(place: &Place, core_ghz: f64) -> Vec<Metric> {
    let name = |name: &str| format!("{}{name}", place.prefix);
    let (cores, own) = (place.cores.clone(), place.cores.clone());
    vec![
        one(&name("ipc"), "1", Kind::Rate, move |s| {
            let retired = cores.iter().map(|&core| s.software[core].instructions).sum();
            counted(retired) / (s.span.as_ns() * core_ghz * cores.len() as f64)
        }),
        one(&name("llc_load_miss_ratio"), "percent", Kind::Rate, move |s| {
            let sum = |of: fn(&CoreCounters) -> u64| -> u64 {
                own.iter().map(|&core| of(&s.cores[core])).sum()
            };
            let (missed, asked) =
                (sum(|core| core.llc_load_misses), sum(|core| core.l2_load_misses));
            100.0 * missed as f64 / asked as f64
        }),
    ]
}

/// What processes that watch cache sets have seen; a detection is right if a device has placed a line.
fn probe_metrics(layout: &Layout) -> Vec<Metric> {
    if layout.probes.is_empty() {
        return Vec::new();
    }
    let metric = |name: &str, unit, of: fn(&ProbeCounts, Picos) -> f64| {
        let cores = layout.probes.clone();
        one(name, unit, Kind::Rate, move |s| {
            let mut all = ProbeCounts::default();
            for &core in &cores {
                all = all.plus(&s.software[usize::from(core)].probes);
            }
            of(&all, s.span)
        })
    };
    vec![
        metric("probes_per_s", "1/s", |p, span| p.probes() as f64 / span.as_seconds()),
        metric("probe_io_rate", "percent", |p, _| percent(p.with_io(), p.without_io())),
        metric("probe_detection_rate", "percent", |p, _| {
            let detected = p.true_positives + p.false_positives;
            percent(detected, p.probes() - detected)
        }),
        metric("probe_true_positive_rate", "percent", |p, _| {
            percent(p.true_positives, p.false_negatives)
        }),
        metric("probe_false_positive_rate", "percent", |p, _| {
            percent(p.false_positives, p.true_negatives)
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
    ]
}

fn per_core(sample: &Sample, of: impl Fn(&CoreCounters) -> f64) -> Vec<(String, f64)> {
    sample.cores.iter().enumerate().map(|(id, core)| (format!("core{id}"), of(core))).collect()
}

fn evictions(sample: &Sample, names: &[String]) -> Vec<(String, f64)> {
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
