//! The answer of a run: its outcome and the causes, in a few sentences.

use crate::contract::application::Packets;
use crate::contract::limit::LimitKind;
use crate::facts::platform::Platform;
use crate::run::result::{LimitResult, MetricResult};
use crate::scenario::{Scenario, Tenant};
use std::collections::BTreeMap;
use units::LINE_BYTES;

/// A resource that is busy for this share of the time limits what passes it; queues before it grow.
const LIMITS_PERCENT: f64 = 90.0;
/// Waits for send rings above this share are a cause.
const BLOCKED_PERCENT: f64 = 10.0;
/// Losses below this share are not mentioned.
const LOSS_PERCENT: f64 = 0.05;
/// If less than this share of the received packets is sent, the answer mentions the rest.
const PASSED: f64 = 0.98;
/// Hit rates above this share leave nothing to explain.
const HITS_PERCENT: f64 = 95.0;

/// The facts of a run that its answer is composed of.
pub(super) struct AnswerFacts<'a> {
    pub scenario: &'a Scenario,
    pub platform: &'a Platform,
    pub metrics: &'a BTreeMap<String, MetricResult>,
    pub limits: &'a [LimitResult],
}

impl AnswerFacts<'_> {
    /// Composes the answer: the main tenant's outcome, the resource that limits the machine, and where DMA writes
    /// go.
    pub(crate) fn answer(&self) -> String {
        let sentences: Vec<String> =
            [Some(self.outcome()), self.limit(), self.cache()].into_iter().flatten().collect();
        format!("{}.", sentences.join(". "))
    }

    fn main(&self) -> &Tenant {
        &self.scenario.main
    }

    fn number(&self, name: &str) -> f64 {
        let metric = self.metrics.get(name);
        metric.and_then(|metric| metric.value.number(None)).unwrap_or(f64::NAN)
    }

    fn part(&self, name: &str, key: &str) -> f64 {
        let metric = self.metrics.get(name);
        metric.and_then(|metric| metric.value.number(Some(key))).unwrap_or(f64::NAN)
    }

    fn outcome(&self) -> String {
        let sent = self.number("throughput_gbps");
        if self.metrics.contains_key("one_way_latency_ns") {
            let median = self.part("one_way_latency_ns", "p50");
            return format!("Half of the messages arrive within {}", duration_text(median));
        }
        if self.metrics.contains_key("replay_ns") {
            let last = duration_text(self.number("replay_ns"));
            return format!("The last operation of the log ends after {last}");
        }
        if self.metrics.contains_key("target_reads_per_s") {
            return format!(
                "{} thousand reads are answered per second, half of them within {}",
                three_digits(self.number("target_reads_per_s") / 1e3),
                duration_text(self.part("latency_ns", "p50"))
            );
        }
        match self.main().application().packets() {
            Packets::Forwarded | Packets::Received => self.arrivals(),
            Packets::Sent => format!("{} Gbit/s are sent", three_digits(sent)),
            Packets::None if self.metrics.contains_key("ssd_read_gbytes_per_s") => format!(
                "SSDs read {} GB/s and write {} GB/s",
                three_digits(self.number("ssd_read_gbytes_per_s")),
                three_digits(self.number("ssd_write_gbytes_per_s")),
            ),
            Packets::None => {
                let is_offload = self.metrics.contains_key("offload_mops");
                let work = if is_offload { "operations" } else { "units of work" };
                format!(
                    "{} million {work} are done per second",
                    three_digits(self.number("work_per_s") / 1e6)
                )
            }
        }
    }

    /// Share of the packets that the card drops, in percent.
    fn loss_percent(&self) -> f64 {
        let dropped = self.number("rx_dropped");
        100.0 * dropped / (dropped + self.number("rx_packets"))
    }

    /// The share of the offered packets that was received, sent on or dropped.
    fn arrivals(&self) -> String {
        let offered = three_digits(self.number("offered_gbps"));
        let lost = self.loss_percent();
        if lost > LOSS_PERCENT {
            return format!("{} % of {offered} Gbit/s is dropped", three_digits(lost));
        }
        let paused = self.number("paused");
        if paused > LOSS_PERCENT {
            return format!(
                "{offered} Gbit/s arrive, and PAUSE frames stop the sender for {} % of the time",
                three_digits(paused)
            );
        }
        // Packets, not bytes: answers have other sizes than requests.
        let (received, sent) = (self.number("rx_packets"), self.number("tx_packets"));
        if self.main().application().packets() == Packets::Forwarded && sent < PASSED * received {
            let share = three_digits(100.0 * sent / received);
            return format!(
                "{share} % of the packets of {offered} Gbit/s leave; the rest waits or is filtered"
            );
        }
        format!("All of {offered} Gbit/s gets through")
    }

    /// The resource that limits the main tenant if it loses packets; otherwise the busiest one.
    fn limit(&self) -> Option<String> {
        let loses = self.loss_percent() > LOSS_PERCENT || self.number("paused") > LOSS_PERCENT;
        let is_its = |limit: &&LimitResult| {
            limit.tenant.as_deref().is_none_or(|of| of == self.main().keys.name)
        };
        // The rate of arrivals is no cause of losses.
        let is_cause = |limit: &&LimitResult| !(loses && limit.kind == LimitKind::WireIn);
        let LimitResult { kind, resource, utilisation_percent: busy, .. } =
            self.limits.iter().filter(is_its).find(is_cause)?;
        let share = three_digits(busy.min(100.0));
        if !loses {
            return Some(format!("Busiest: {resource}, {share} %"));
        }
        let is_busy = format!("{} {} {share} % busy", capitalise(resource), kind.verb());
        if *busy >= LIMITS_PERCENT {
            return Some(is_busy);
        }
        let blocked = self.part("time_in_regime", "sender_blocked");
        Some(if blocked >= BLOCKED_PERCENT {
            let share = three_digits(blocked);
            format!("The cores wait for the card's send queue {share} % of the time. {is_busy}")
        } else {
            format!("Nothing is busy all the time. Busiest: {resource}, {share} %")
        })
    }

    /// The sentence about DMA writes: into the LLC, past it, or to memory.
    fn cache(&self) -> Option<String> {
        let hits = self.number("main:pcie_write_hit_rate");
        if hits.is_nan() {
            return None;
        }
        let ways = self.number("ddio_ways");
        if ways == 0.0 {
            return Some("DDIO is off: what devices write goes to memory".into());
        }
        let lines = format!("of the lines that {}", self.writers());
        if hits >= HITS_PERCENT {
            return Some(format!("{} % {lines} hit the cache", three_digits(hits)));
        }
        let llc = &self.platform.llc;
        let way = f64::from(llc.slices.value * llc.sets_per_slice.value) * LINE_BYTES as f64;
        let rings = self.ring_bytes().map(|bytes| format!("rings take {}, ", mebibytes(bytes)));
        let hold = if ways == 1.0 { "way holds" } else { "ways hold" };
        Some(format!(
            "{} % {lines} miss the cache: {}the {ways} DDIO {hold} {}",
            three_digits(100.0 - hits),
            rings.unwrap_or_default(),
            mebibytes(ways * way)
        ))
    }

    /// The devices whose writes are counted, with their verb: the card, or several kinds.
    fn writers(&self) -> &'static str {
        let others = ["ssd_read_gbytes_per_s", "dsa_write_gbytes_per_s", "cbdma_gbytes_per_s"];
        let has_others = others.iter().any(|&name| self.metrics.contains_key(name));
        if self.main().application().packets().are_received() && !has_others {
            "the card writes"
        } else {
            "devices write"
        }
    }

    /// Bytes of the data lines that one turn through all receive rings of the main tenant writes.
    fn ring_bytes(&self) -> Option<f64> {
        let packets = self.number("rx_packets");
        if !self.main().application().packets().are_received() || packets.is_nan() || packets == 0.0
        {
            return None;
        }
        let line = LINE_BYTES as f64;
        let lines = (self.number("rx_bytes") / packets / line).ceil();
        let entries = self.main().kinds.devices.nic.rx_descriptors * self.main().keys.cores;
        Some(f64::from(entries) * lines * line)
    }
}

/// Capitalises the name of a resource for the start of a sentence.
fn capitalise(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

fn mebibytes(bytes: f64) -> String {
    format!("{} MiB", three_digits(bytes / f64::from(1 << 20)))
}

fn duration_text(ns: f64) -> String {
    if ns < 1000.0 {
        format!("{} ns", three_digits(ns))
    } else {
        format!("{} µs", three_digits(ns / 1e3))
    }
}

/// Formats a number with three digits, or as a whole number if it has more.
pub(super) fn three_digits(number: f64) -> String {
    let digits = match number.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_at_most() {
        let texts = [0.004, 0.126, 1.0, 12.34, 99.96, 1234.5].map(three_digits);
        assert_eq!(texts, ["0", "0.13", "1", "12.3", "100", "1234"]);
    }
}
