//! The answer of a run: its outcome and the causes, in a few sentences.

use crate::contract::application::Packets;
use crate::contract::limit::LimitKind;
use crate::facts::platform::Platform;
use crate::kinds::root_port::PortKeys;
use crate::run::metrics::prefix;
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
    /// Composes the answer: the outcome of each tenant and what limits it, and where DMA writes go.
    pub(crate) fn answer(&self) -> String {
        let tenants = self.tenants();
        let mut sentences: Vec<String> = Vec::new();
        let losing: Vec<&TenantFacts<'_>> = tenants.iter().filter(|one| one.loses()).collect();
        for tenant in &tenants {
            let outcome = tenant.outcome();
            let is_alone = tenants.len() == 1;
            sentences.push(if is_alone { outcome } else { tenant.named(&outcome) });
            if tenant.loses() {
                sentences.extend(tenant.cause());
            }
        }
        if losing.is_empty() {
            sentences.extend(tenants[0].busiest(tenants.len() == 1));
        }
        sentences.extend(self.cache(&tenants));
        format!("{}.", sentences.join(". "))
    }

    fn tenants(&self) -> Vec<TenantFacts<'_>> {
        self.scenario.tenants().map(|tenant| TenantFacts { facts: self, tenant }).collect()
    }

    fn number(&self, name: &str) -> f64 {
        let metric = self.metrics.get(name);
        metric.and_then(|metric| metric.value.number(None)).unwrap_or(f64::NAN)
    }

    /// The sentence about DMA writes: into the LLC, past it, or to memory.
    fn cache(&self, tenants: &[TenantFacts<'_>]) -> Option<String> {
        let with_devices: Vec<&TenantFacts<'_>> =
            tenants.iter().filter(|one| !one.number("ddio_ways").is_nan()).collect();
        let first = with_devices.first()?;
        let is_alone = with_devices.len() == 1;
        let sharing: Vec<&&TenantFacts<'_>> =
            with_devices.iter().filter(|tenant| tenant.shares_ways_with(first)).collect();
        // The rate of all devices has those in it that write into other ways, or into none.
        let of_all = !is_alone && sharing.len() == with_devices.len();
        let of_first = format!("{}:pcie_write_hit_rate", first.name());
        let hits = self.number(if of_all { "pcie_write_hit_rate" } else { &of_first });
        if hits.is_nan() {
            return None;
        }
        let ways = first.number("ddio_ways");
        if ways == 0.0 {
            let whose = if is_alone { String::new() } else { format!(" of {}", first.name()) };
            return Some(format!("DDIO is off: what devices{whose} write goes to memory"));
        }
        let writers = if of_all { "all devices write".into() } else { first.writers(is_alone) };
        let lines = format!("of the lines that {writers}");
        if hits >= HITS_PERCENT {
            return Some(format!("{} % {lines} hit the cache", three_digits(hits)));
        }
        let llc = &self.platform.llc;
        let way = f64::from(llc.slices.value * llc.sets_per_slice.value) * LINE_BYTES as f64;
        let rings: f64 = sharing.iter().filter_map(|tenant| tenant.ring_bytes()).sum();
        let (misses, held) = (three_digits(100.0 - hits), mebibytes(ways * way));
        let named = if ways == 1.0 { "way" } else { "ways" };
        if rings == 0.0 {
            let hold = if ways == 1.0 { "holds" } else { "hold" };
            let sentence =
                format!("{misses} % {lines} miss the cache: the {ways} DDIO {named} {hold} {held}");
            return Some(sentence);
        }
        let together = if sharing.iter().filter_map(|one| one.ring_bytes()).count() > 1 {
            "all rings together take"
        } else {
            "rings take"
        };
        let rings_text = mebibytes(rings);
        Some(if rings > ways * way {
            let hold = if ways == 1.0 { "holds" } else { "hold" };
            format!(
                "{misses} % {lines} miss the cache: {together} {rings_text}, the {ways} DDIO {named} {hold} {held}"
            )
        } else {
            format!(
                "{misses} % {lines} miss the cache, although {together} {rings_text} of the {held} of {ways} DDIO \
                 {named}"
            )
        })
    }
}

/// The facts of a run about one of its tenants.
#[derive(Clone, Copy)]
struct TenantFacts<'a> {
    facts: &'a AnswerFacts<'a>,
    tenant: &'a Tenant,
}

impl TenantFacts<'_> {
    fn name(&self) -> &str {
        &self.tenant.keys.name
    }

    /// A sentence about the tenant, with its name.
    fn named(&self, sentence: &str) -> String {
        format!("{}: {sentence}", self.name())
    }

    fn metric(&self, name: &str) -> Option<&MetricResult> {
        self.facts.metrics.get(&format!("{}{name}", prefix(self.name())))
    }

    fn number(&self, name: &str) -> f64 {
        self.metric(name).and_then(|metric| metric.value.number(None)).unwrap_or(f64::NAN)
    }

    fn part(&self, name: &str, key: &str) -> f64 {
        self.metric(name).and_then(|metric| metric.value.number(Some(key))).unwrap_or(f64::NAN)
    }

    fn has(&self, name: &str) -> bool {
        self.metric(name).is_some()
    }

    fn port(&self) -> &PortKeys {
        &self.tenant.kinds.devices.port
    }

    /// The socket of the tenant's devices.
    fn socket(&self) -> u32 {
        self.port().socket(self.tenant.keys.socket)
    }

    /// Whether the devices of two tenants allocate in the same ways.
    fn shares_ways_with(&self, other: &Self) -> bool {
        let writes = |one: &Self| one.number("ddio_ways") > 0.0;
        self.socket() == other.socket() && writes(self) && writes(other)
    }

    fn outcome(&self) -> String {
        let sent = self.number("throughput_gbps");
        if self.has("one_way_latency_ns") {
            let median = self.part("one_way_latency_ns", "p50");
            return format!("Half of the messages arrive within {}", duration_text(median));
        }
        if self.has("replay_ns") {
            let last = duration_text(self.number("replay_ns"));
            return format!("The last operation of the log ends after {last}");
        }
        if self.has("target_reads_per_s") {
            return format!(
                "{} thousand reads are answered per second, half of them within {}",
                three_digits(self.number("target_reads_per_s") / 1e3),
                duration_text(self.part("latency_ns", "p50"))
            );
        }
        match self.tenant.application().packets() {
            Packets::Forwarded | Packets::Received => self.arrivals(),
            Packets::Sent => format!("{} Gbit/s are sent", three_digits(sent)),
            Packets::None if self.has("ssd_read_gbytes_per_s") => format!(
                "SSDs read {} GB/s and write {} GB/s",
                three_digits(self.number("ssd_read_gbytes_per_s")),
                three_digits(self.number("ssd_write_gbytes_per_s")),
            ),
            Packets::None => {
                let work = if self.has("offload_mops") { "operations" } else { "units of work" };
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

    /// Whether packets are lost, or held back by PAUSE frames.
    fn loses(&self) -> bool {
        self.loss_percent() > LOSS_PERCENT || self.number("paused") > LOSS_PERCENT
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
        let packets = self.tenant.application().packets();
        if packets == Packets::Forwarded && sent < PASSED * received {
            let share = three_digits(100.0 * sent / received);
            return format!(
                "{share} % of the packets of {offered} Gbit/s leave; the rest waits or is filtered"
            );
        }
        if packets == Packets::Received {
            return format!("All of {offered} Gbit/s is received");
        }
        format!("All of {offered} Gbit/s gets through")
    }

    /// Limits of the tenant, and of what it shares, the busiest first.
    fn limits(&self) -> impl Iterator<Item = &LimitResult> {
        let is_its = |limit: &&LimitResult| {
            limit.tenant.as_deref().is_none_or(|of| of == self.tenant.keys.name)
        };
        self.facts.limits.iter().filter(is_its)
    }

    /// The resource that limits a tenant which loses packets.
    fn cause(&self) -> Option<String> {
        // The rate of arrivals is no cause of losses.
        let LimitResult { kind, resource, utilisation_percent: busy, .. } =
            self.limits().find(|limit| limit.kind != LimitKind::WireIn)?;
        let share = three_digits(busy.min(100.0));
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

    /// The busiest resource: of the tenant, or of the machine if it has others, whose cores may be busy for
    /// nothing.
    fn busiest(&self, is_alone: bool) -> Option<String> {
        let all = self.facts.limits.iter();
        let busiest = if is_alone {
            self.limits().next()?
        } else {
            let shared = |limit: &&LimitResult| {
                limit.kind != LimitKind::Core || limit.tenant.as_deref() == Some(self.name())
            };
            all.filter(shared).max_by(|one, other| {
                one.utilisation_percent.total_cmp(&other.utilisation_percent)
            })?
        };
        let share = three_digits(busiest.utilisation_percent.min(100.0));
        Some(format!("Busiest: {}, {share} %", busiest.resource))
    }

    /// The devices whose writes are counted, with their verb: the card, or several kinds; with the tenant's name
    /// if others have devices, too.
    fn writers(&self, is_alone: bool) -> String {
        let others = ["ssd_read_gbytes_per_s", "dsa_write_gbytes_per_s", "cbdma_gbytes_per_s"];
        let has_others = others.iter().any(|&name| self.has(name));
        let is_card = self.tenant.application().packets().are_received() && !has_others;
        let whose = if is_alone { String::new() } else { format!(" of {}", self.name()) };
        if is_card { format!("the card{whose} writes") } else { format!("devices{whose} write") }
    }

    /// Bytes of the data lines that one turn through all receive rings of the tenant writes.
    fn ring_bytes(&self) -> Option<f64> {
        let packets = self.number("rx_packets");
        let is_received = self.tenant.application().packets().are_received();
        if !is_received || packets.is_nan() || packets == 0.0 {
            return None;
        }
        let line = LINE_BYTES as f64;
        let lines = (self.number("rx_bytes") / packets / line).ceil();
        let nic = &self.tenant.kinds.devices.nic;
        let entries = nic.rx_descriptors * self.tenant.keys.cores * nic.ports;
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
